//! Tests that every command that the documents and the help texts show can be typed.

use crate::cli::Cli;
use crate::{built_in_plans, workload_files};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::path::Path;
use trueput_record::plan::Contender;
use trueput_record::published;
use trueput_runner::Registry;

/// The words of every `trueput …` command in the fenced blocks of a Markdown text, or in a help
/// text.
fn commands(text: &str, is_markdown: bool) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let (mut is_code, mut whole) = (!is_markdown, String::new());
    for line in text.lines() {
        if let Some(kind) = line
            .trim_start()
            .strip_prefix("```")
            .filter(|_| is_markdown)
        {
            is_code = ["sh", "console"].contains(&kind) && !is_code;
            continue;
        }
        if !is_code {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(begun) => whole += begun,
            None => lines.push(std::mem::take(&mut whole) + line),
        }
    }
    let first = |line: &String| {
        let line = line.trim_start();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        line.starts_with("trueput ") || line.contains("| trueput ")
    };
    let words = |line: String| {
        let words = shell_words(&line);
        let program = words.iter().position(|word| word == "trueput");
        program.map(|at| words[at..].to_vec())
    };
    lines.into_iter().filter(first).filter_map(words).collect()
}

/// The words of a line up to a comment, a redirection or a pipe.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, _) =
        (Vec::new(), None, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '>' | '<' | '|') if words.iter().any(|word| word == "trueput") => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The reason why a documented command does not run; `None` if it does.
fn mistake(words: &[String], registry: &Registry) -> Option<String> {
    if let Err(error) = Cli::try_parse_from(words) {
        let is_shown = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        return (!is_shown).then(|| error.to_string());
    }
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1)
    };
    let plan = match words.get(1..).unwrap_or_default() {
        [command, plan, ..] if ["run", "ledger", "ablation"].contains(&command.as_str()) => {
            Some(plan)
        }
        [plan, action, named, ..] if plan == "plan" && action != "list" => Some(named),
        _ => None,
    };
    let plan = plan.filter(|plan| !plan.starts_with('-') && !is_there(plan, registry));
    let engines = after("--engine")
        .into_iter()
        .flat_map(|list| list.split(','));
    let mut names = engines.map(|one| Contender::parse(one).engine);
    let engine = names.find(|name| name != "present" && registry.engine(name).is_err());
    plan.map(|plan| format!("no plan or workload '{plan}'"))
        .or(engine.map(|name| format!("no engine '{name}'")))
}

/// Whether a plan, a workload or a published table has that name.
fn is_there(named: &str, registry: &Registry) -> bool {
    // A reader's own file.
    let own = ["mine.toml", "plan.toml"].contains(&named);
    let table = named.strip_prefix("published/");
    own || built_in_plans::named(named).is_some()
        || workload_files::named(named).is_some()
        || registry.workload(named).is_ok()
        || table.is_some_and(|id| published::named(id).is_ok())
}

fn help_texts(command: &clap::Command) -> Vec<String> {
    let own = command.get_after_help().map(ToString::to_string);
    let of_others = command.get_subcommands().flat_map(help_texts);
    own.into_iter().chain(of_others).collect()
}

#[test]
fn every_command_that_is_shown_can_be_typed() {
    let registry = crate::registry();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let documents = ["README.md", "docs/COMMANDS.md", "docs/TUTORIAL.md"];
    let shown = documents.map(|name| (name, commands(&document(name), true)));
    let helps = help_texts(&Cli::command()).into_iter();
    let helps = helps.map(|text| ("--help", commands(&text, false)));
    let mut counts = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for (place, commands) in shown.into_iter().chain(helps) {
        *counts.entry(place).or_insert(0) += commands.len();
        for words in commands {
            // The reader is to name one.
            let words: Vec<_> = words
                .into_iter()
                .map(|word| {
                    if word == "COMMAND" {
                        "run".to_owned()
                    } else {
                        word
                    }
                })
                .collect();
            let reason = mistake(&words, &registry);
            wrong.extend(reason.map(|reason| format!("{place}: {}: {reason}", words.join(" "))));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(counts["README.md"] >= 6, "{counts:?}");
    assert!(counts["docs/COMMANDS.md"] >= 35, "{counts:?}");
    assert!(counts["docs/TUTORIAL.md"] >= 7, "{counts:?}");
    assert!(counts["--help"] >= 40, "{counts:?}");
}

#[test]
fn a_command_that_has_rotted_is_found() {
    let text = "```sh\ntrueput run first-look --enginee lmdb   # 'all'\n\
        trueput run first-look \\\n  \
        --repeat 2 > a\n$ echo '1 2' | trueput threen1\ntrueput run frist-look\n\
        trueput run micro --engine lmbd\n```\ntrueput gone\n```text\ntrueput gone\n```\n";
    let found = commands(text, true);
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found[1], ["trueput", "run", "first-look", "--repeat", "2"]);
    assert_eq!(found[2], ["trueput", "threen1"]);
    let registry = crate::registry();
    let mistakes: Vec<_> = found
        .iter()
        .map(|words| mistake(words, &registry))
        .collect();
    assert!(
        mistakes[0]
            .as_ref()
            .is_some_and(|reason| reason.contains("--enginee"))
    );
    assert_eq!((&mistakes[1], &mistakes[2]), (&None, &None));
    assert_eq!(
        mistakes[3].as_deref(),
        Some("no plan or workload 'frist-look'")
    );
    assert_eq!(mistakes[4].as_deref(), Some("no engine 'lmbd'"));
}
