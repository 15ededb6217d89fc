//! `trueput history` on folders in which not all is whole, and every command on folders whose texts
//! were written to mislead.

use crate::support::{
    Bench, CommandLine, assert_contains,
    copies::{at_factor, made},
    expect_code, stderr, stdout,
};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use trueput_record::text::needs_escape;
use trueput_record::{RunManifest, TrialRecord};

#[test]
fn a_run_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let bench = Bench::new();
    let run = made(&bench);
    let copies = ["whole", "broken", "packed"];
    let [_, broken, packed] = copies.map(|name| at_factor(&bench, &run, name, 1.0));
    let manifest = Path::new(&broken).join("run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    bench.run_expecting(0, &["bundle", &packed, "--output", "copies/packed.tar.gz"]);
    std::fs::remove_dir_all(&packed).unwrap();
    bench.write("copies/torn.tar.gz", "no archive");

    let document = bench.json_of("history copies --json");
    let points = document["series"][0]["points"].as_array().unwrap().iter();
    let mut runs: Vec<_> = points.map(|point| point["run"].as_str().unwrap()).collect();
    runs.sort_unstable();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[0].ends_with("-whole"), "{runs:?}");
    assert_eq!(runs[1], "copies/packed.tar.gz");
    let skipped = document["skipped"].as_array().unwrap().iter();
    let skipped: Vec<_> = skipped.map(|reason| reason.as_str().unwrap()).collect();
    let reason = "-broken: unreadable, skipped";
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert_contains(skipped[0], &[reason]);
    assert_contains(skipped[1], &["torn.tar.gz: unreadable, skipped"]);
    assert_contains(
        &stdout(&bench.run_expecting(0, "history copies")),
        &[reason],
    );
    assert_contains(&bench.refusal_of(&["history", &broken]), &[reason]);
}

/// Clears a screen, sets a title, turns the direction of text, and breaks lines.
const HOSTILE: &str =
    "=x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\u{202e}\u{2066}\u{200b}\u{2028}\u{7f}\r\nrow";

/// Puts the text behind every text of a document that is still sound then, and counts them.
fn spoil(document: &mut Value, is_sound: impl Fn(Value) -> bool) -> usize {
    let mut spoiled = 0;
    for path in texts(document, String::new()) {
        let text = document.pointer(&path).unwrap().as_str();
        let text = text.unwrap().to_owned();
        *document.pointer_mut(&path).unwrap() = format!("{text}{HOSTILE}").into();
        if is_sound(document.clone()) {
            spoiled += 1;
        } else {
            *document.pointer_mut(&path).unwrap() = text.into();
        }
    }
    spoiled
}

/// Where the texts of a document are. What names files or other lines of the folder is left as it
/// is: a folder in which that does not fit is refused before anything of it is shown.
fn texts(document: &Value, path: String) -> Vec<String> {
    const NAMES: [&str; 6] = ["id", "kind", "started_at", "workload", "file", "headlines"];
    let parts: Vec<(String, &Value)> = match document {
        Value::String(_) => return vec![path],
        Value::Array(all) => {
            let numbers = (0..all.len()).map(|at| at.to_string());
            numbers.zip(all).collect()
        }
        Value::Object(all) => all.iter().map(|(name, one)| (name.clone(), one)).collect(),
        _ => return Vec::new(),
    };
    let named = parts
        .into_iter()
        .filter(|(name, _)| !NAMES.contains(&name.as_str()));
    let below = named.flat_map(|(name, one)| {
        let name = name.replace('~', "~0").replace('/', "~1");
        texts(one, format!("{path}/{name}"))
    });
    below.collect()
}

/// Makes a run's folder hostile, and returns its path.
fn spoiled(bench: &Bench, name: &str) -> String {
    let run = made(bench);
    let folder = at_factor(bench, &run, name, 1.0);
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
fn assert_shown(output: &Output) {
    for said in [stdout(output), stderr(output)] {
        let said = said.replace("\r\n", "\n");
        let hidden = said.chars().find(|&c| needs_escape(c) && c != '\n');
        assert_eq!(hidden, None, "{said:?}");
    }
}

#[test]
fn texts_written_to_mislead_are_shown_as_what_they_are_by_every_command() {
    let bench = Bench::new();
    let folder = spoiled(&bench, "hostile");
    let untouched = bench.run_path();
    for line in [
        format!("report {folder} --charts always"),
        format!("report {folder} --format markdown"),
        format!("report {folder} --format csv"),
        format!("report {folder} --format json"),
        format!("export {folder} --format csv"),
        format!("export {folder} --format jsonl"),
        format!("export {folder} --format openmetrics"),
        format!("history {folder}"),
        format!("history {folder} --json"),
    ] {
        let output = expect_code(0, bench.run(&line));
        assert_shown(&output);
        let said = stdout(&output);
        let is_escaped = ["\\u{1b}", "\\u001b"]
            .iter()
            .any(|sign| said.contains(sign));
        assert!(is_escaped, "{line}: {said}");
    }
    let plan = format!("plans/{HOSTILE}.toml");
    bench.write(&plan, &format!("workload = \"{HOSTILE}\"\n"));
    for line in [
        format!("compare {folder} {folder}"),
        format!("compare {folder} {folder} --markdown"),
        format!("compare {folder} {folder} --json"),
        format!("run --resume {folder}"),
        format!("report {folder} --html page.html"),
    ] {
        assert_shown(&bench.run(&line));
    }
    let setting = format!("{HOSTILE}=1");
    let contenders = format!("compare {folder} --contenders");
    let bundle = format!("bundle {folder} --output");
    // The hostile text has white space.
    for (line, last) in [
        (contenders.as_str(), HOSTILE),
        (&bundle, HOSTILE),
        ("run", &plan),
        ("plan check", &plan),
        ("run threen1 --engine", HOSTILE),
        ("run threen1 --engine lmdb --set", &setting),
        ("ledger micro --engine lmdb --step", HOSTILE),
        ("published", HOSTILE),
        ("knobs", HOSTILE),
        ("", HOSTILE),
        ("clean --work", HOSTILE),
    ] {
        assert_shown(&bench.run(&[&line.words()[..], &[last]].concat()));
    }
    assert_shown(&bench.run_with("threen1", HOSTILE));
    let page = std::fs::read_to_string(bench.path().join("page.html")).unwrap();
    // The page's own libraries have some in their strings; a page of nothing hostile says which.
    bench.run_expecting(0, &format!("report {untouched} --html benign.html"));
    let benign = std::fs::read_to_string(bench.path().join("benign.html")).unwrap();
    let hidden = |page: &str| {
        page.chars()
            .filter(|&c| needs_escape(c) && c != '\n')
            .count()
    };
    assert_eq!(hidden(&page), hidden(&benign));
}

#[test]
fn json_has_the_values_of_the_record_whatever_they_are() {
    let bench = Bench::new();
    let folder = spoiled(&bench, "hostile");
    let document = bench.json_of(&["report", &folder, "--format", "json"]);
    assert!(document.to_string().contains('\u{202e}'));
}

#[test]
fn a_long_input_is_quoted_in_part_and_the_message_says_how_much_is_left_out() {
    let bench = Bench::new();
    let long = "finish ".repeat(1_000);
    for line in [
        "run threen1 --engine",
        "run",
        "run threen1 --engine lmdb --set",
        "report",
    ] {
        let line = bench.refusal_of(&[&line.words()[..], &[&long]].concat());
        assert_contains(&line, &["more characters)"]);
        assert!(line.chars().count() < 1_000, "{}: {line}", line.len());
    }
}
