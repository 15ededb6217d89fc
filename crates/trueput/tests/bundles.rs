//! Bundles that were made by hand, and damaged ones.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::Path;
use std::process::Command;
use support::copies::{copied, made, set_rate};
use support::{Bench, refusal, stderr, stdout};

/// Two copies of a run in the folder `copies`; their names.
fn copies(bench: &Bench) -> [String; 2] {
    let run = made(bench);
    ["one", "two"].map(|name| {
        let path = copied(bench, &run, name, |trial| set_rate(trial, 1.0));
        let name = Path::new(&path).file_name().unwrap();
        name.to_str().unwrap().to_owned()
    })
}

/// Packs with the system's own tar.
fn tar(bench: &Bench, folder: &str, archive: &str, what: &[&str]) {
    let mut tar = Command::new("tar");
    tar.args(["-czf", archive, "-C", folder]).args(what);
    assert!(tar.current_dir(bench.path()).status().unwrap().success());
}

#[test]
fn a_run_that_was_packed_by_hand_is_read_however_its_paths_begin() {
    let bench = Bench::new();
    let [one, _] = copies(&bench);
    let folder = format!("copies/{one}");
    let expected = stdout(&bench.run(&["report", &folder]));
    let packed = [
        ("copies", format!("./{one}")),
        ("copies", one),
        (".", format!("./{folder}")),
        (folder.as_str(), ".".to_owned()),
    ];
    for (at, what) in packed {
        tar(&bench, at, "by-hand.tar.gz", &[&what]);
        let report = bench.run(&["report", "by-hand.tar.gz"]);
        assert_eq!(stdout(&report), expected, "{what}: {}", stderr(&report));
    }
}

#[test]
fn an_archive_of_two_runs_is_refused_and_both_are_named() {
    let bench = Bench::new();
    let [one, two] = copies(&bench);
    tar(&bench, "copies", "both.tar.gz", &[&one, &two]);
    let said = refusal(&bench.run(&["report", "both.tar.gz"]));
    let why = format!("it holds 2 runs: {one}, {two}; make one bundle of each");
    assert!(
        said.contains("both.tar.gz") && said.contains(&why),
        "{said}"
    );
    // The control: what lies beside a run and is none is no run's.
    std::fs::remove_file(bench.path().join("copies").join(&two).join("run.json")).unwrap();
    tar(&bench, "copies", "one.tar.gz", &[&two, &one]);
    let alone = stdout(&bench.run(&["report", &format!("copies/{one}")]));
    assert_eq!(stdout(&bench.run(&["report", "one.tar.gz"])), alone);
}

#[test]
fn a_damaged_manifest_in_a_bundle_is_said_to_be_the_bundles() {
    let bench = Bench::new();
    let [one, _] = copies(&bench);
    let manifest = bench.path().join("copies").join(&one).join("run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    tar(&bench, "copies", "torn.tar.gz", &[&one]);
    let said = refusal(&bench.run(&["report", "torn.tar.gz"]));
    assert!(said.contains("torn.tar.gz, run.json:"), "{said}");
    assert!(
        !said.contains("/.tmp"),
        "a temporary folder is named: {said}"
    );
}
