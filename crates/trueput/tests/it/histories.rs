//! `trueput history` on folders in which not all is whole, and every command on folders whose texts
//! were written to mislead.

use crate::support::{
    Bench,
    copies::{copied, made, set_rate},
    refusal, stderr, stdout,
};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use trueput_record::text::is_hidden;
use trueput_record::{RunManifest, TrialRecord};

#[test]
fn a_run_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let bench = Bench::new();
    let run = made(&bench);
    let copy = |name: &str| copied(&bench, &run, name, |trial| set_rate(trial, 1.0));
    let (_, broken, packed) = (copy("whole"), copy("broken"), copy("packed"));
    let manifest = Path::new(&broken).join("run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    let bundle = bench.run(&["bundle", &packed, "--output", "copies/packed.tar.gz"]);
    assert_eq!(bundle.status.code(), Some(0), "{}", stderr(&bundle));
    std::fs::remove_dir_all(&packed).unwrap();
    bench.write("copies/torn.tar.gz", "no archive");

    let output = bench.run(&["history", "copies", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["series"][0]["points"].as_array().unwrap();
    let mut runs: Vec<&str> = points
        .iter()
        .map(|point| point["run"].as_str().unwrap())
        .collect();
    runs.sort_unstable();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[0].ends_with("-whole"), "{runs:?}");
    assert_eq!(runs[1], "copies/packed.tar.gz");
    let left_out: Vec<&str> = document["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|why| why.as_str().unwrap())
        .collect();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out[0].contains("-broken: unreadable, skipped"));
    assert!(left_out[1].contains("torn.tar.gz: unreadable, skipped"));
    let shown = stdout(&bench.run(&["history", "copies"]));
    assert!(shown.contains("-broken: unreadable, skipped"), "{shown}");

    let alone = bench.run(&["history", &broken]);
    assert!(refusal(&alone).contains("-broken: unreadable, skipped"));
}

/// Clears a screen, sets a title, turns the direction of text, and breaks lines.
const HOSTILE: &str =
    "=x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\u{202e}\u{2066}\u{200b}\u{2028}\u{7f}\r\nrow";

/// Puts the text behind every text of a document that is still sound then, and counts them.
fn spoil(document: &mut Value, is_sound: impl Fn(Value) -> bool) -> usize {
    let mut spoiled = 0;
    for path in texts(document, String::new()) {
        let text = document
            .pointer(&path)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        *document.pointer_mut(&path).unwrap() = format!("{text}{HOSTILE}").into();
        if is_sound(document.clone()) {
            spoiled += 1;
        } else {
            *document.pointer_mut(&path).unwrap() = text.into();
        }
    }
    spoiled
}

/// Where the texts of a document are. What names files or other lines of the folder is left alone:
/// a folder in which that does not fit is refused before anything of it is shown.
fn texts(document: &Value, path: String) -> Vec<String> {
    const NAMES: [&str; 6] = ["id", "kind", "started_at", "workload", "file", "headlines"];
    let below = |(name, value): (String, &Value)| match NAMES.contains(&name.as_str()) {
        true => Vec::new(),
        false => texts(
            value,
            format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
        ),
    };
    match document {
        Value::String(_) => vec![path],
        Value::Array(all) => {
            let all = all.iter().enumerate();
            all.flat_map(|(at, one)| below((at.to_string(), one)))
                .collect()
        }
        Value::Object(all) => {
            let all = all.iter();
            all.flat_map(|(name, one)| below((name.clone(), one)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Makes a run's folder hostile, and returns where it is.
fn spoiled(bench: &Bench, name: &str) -> String {
    let run = made(bench);
    let folder = copied(bench, &run, name, |trial| set_rate(trial, 1.0));
    let lines = Path::new(&folder).join("trials.jsonl");
    let mut specs = Vec::new();
    let mut text = String::new();
    for line in std::fs::read_to_string(&lines).unwrap().lines() {
        let mut trial: Value = serde_json::from_str(line).unwrap();
        let is_trial = |one| serde_json::from_value::<TrialRecord>(one).is_ok();
        assert!(spoil(&mut trial, is_trial) > 5, "{trial}");
        specs.push(trial["spec"].clone());
        text += &format!("{trial}\n");
    }
    std::fs::write(&lines, text).unwrap();
    let file = Path::new(&folder).join("run.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let is_manifest = |one| serde_json::from_value::<RunManifest>(one).is_ok();
    assert!(spoil(&mut manifest, is_manifest) > 5, "{manifest}");
    manifest["trials"] = specs.into();
    std::fs::write(&file, manifest.to_string()).unwrap();
    folder
}

/// Asserts that a command wrote nothing that acts on a terminal.
fn assert_shown(arguments: &[&str], output: &Output) {
    for said in [stdout(output), stderr(output)] {
        let said = said.replace("\r\n", "\n");
        let hidden = said.chars().find(|&c| is_hidden(c) && c != '\n');
        assert_eq!(hidden, None, "{arguments:?}: {said:?}");
    }
}

#[test]
fn texts_written_to_mislead_are_shown_as_what_they_are_by_every_command() {
    let bench = Bench::new();
    let folder = spoiled(&bench, "hostile");
    let untouched = bench.run_folder().path().to_str().unwrap().to_owned();
    let shows: &[&[&str]] = &[
        &["report", &folder, "--charts", "always"],
        &["report", &folder, "--format", "markdown"],
        &["report", &folder, "--format", "csv"],
        &["report", &folder, "--format", "json"],
        &["export", &folder, "--format", "csv"],
        &["export", &folder, "--format", "jsonl"],
        &["export", &folder, "--format", "openmetrics"],
        &["history", &folder],
        &["history", &folder, "--json"],
    ];
    for arguments in shows {
        let output = bench.run(arguments);
        assert_shown(arguments, &output);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        let escaped = ["\\u{1b}", "\\u001b"].map(|sign| stdout(&output).contains(sign));
        assert!(
            escaped.contains(&true),
            "{arguments:?}: {}",
            stdout(&output)
        );
    }
    bench.write(
        &format!("plans/{HOSTILE}.toml"),
        &format!("workload = \"{HOSTILE}\"\n"),
    );
    let plan = format!("plans/{HOSTILE}.toml");
    let setting = format!("{HOSTILE}=1");
    let mut others: Vec<Vec<&str>> = [
        &["compare", &folder, &folder][..],
        &["compare", &folder, &folder, "--markdown"],
        &["compare", &folder, &folder, "--json"],
        &["compare", &folder, "--contenders", HOSTILE],
        &["run", "--resume", &folder],
        &["bundle", &folder, "--output", HOSTILE],
        &["report", &folder, "--html", "page.html"],
        &["run", &plan],
        &["plan", "check", &plan],
        &["run", "threen1", "--engine", HOSTILE],
        &["run", "threen1", "--engine", "lmdb", "--set", &setting],
        &["ledger", "micro", "--engine", "lmdb", "--step", HOSTILE],
        &["published", HOSTILE],
        &["knobs", HOSTILE],
        &[HOSTILE],
    ]
    .map(<[&str]>::to_vec)
    .to_vec();
    others.push(vec!["clean", "--work", HOSTILE]);
    for arguments in others {
        assert_shown(&arguments, &bench.run(&arguments));
    }
    assert_shown(&["threen1"], &bench.run_with(&["threen1"], HOSTILE));
    let page = std::fs::read_to_string(bench.path().join("page.html")).unwrap();
    // The page's own libraries have some in their strings; a page of nothing hostile says which.
    let benign = bench.run(&["report", &untouched, "--html", "benign.html"]);
    assert_eq!(benign.status.code(), Some(0), "{}", stderr(&benign));
    let benign = std::fs::read_to_string(bench.path().join("benign.html")).unwrap();
    let hidden = |page: &str| page.chars().filter(|&c| is_hidden(c) && c != '\n').count();
    assert_eq!(hidden(&page), hidden(&benign));
}

#[test]
fn json_has_the_values_of_the_record_whatever_they_are() {
    let bench = Bench::new();
    let folder = spoiled(&bench, "hostile");
    let output = bench.run(&["report", &folder, "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document.to_string().contains('\u{202e}'));
}

#[test]
fn a_long_input_is_quoted_in_part_and_the_message_says_how_much_is_left_out() {
    let bench = Bench::new();
    let long = "finish ".repeat(1_000);
    for arguments in [
        vec!["run", "threen1", "--engine", long.as_str()],
        vec!["run", &long],
        vec!["run", "threen1", "--engine", "lmdb", "--set", &long],
        vec!["report", &long],
    ] {
        let line = refusal(&bench.run(&arguments));
        assert!(line.contains("more characters)"), "{line}");
        assert!(line.chars().count() < 1_000, "{}: {line}", line.len());
    }
}
