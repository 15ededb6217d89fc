//! Several builds of one engine in one run, and builds with assertions, which are not comparable.

mod support;

use support::{failed, report, spec, terminal, valid};
use trueput_analysis::{Format, Style};
use trueput_record::{Durability, TrialRecord, TrialSpec};

const NEW: &str = "/opt/engines/rocksdb-11.8.1/librocksdb.so";
const OLD: &str = "/usr/lib/librocksdb.so.7.8.3";

/// A trial of RocksDB in the library at `path`, which the plan names where `named`.
fn rocksdb(cell: u32, version: &str, path: &str, named: bool, assertions: bool) -> TrialRecord {
    let build = named.then(|| path.into());
    let spec = TrialSpec {
        build,
        ..spec(cell, "rocksdb", Durability::Async, 1)
    };
    let mut trial = valid(spec, 100_000.0 / f64::from(cell + 1));
    if let Some(engine) = &mut trial.engine {
        engine.version = version.to_owned();
        engine.origin = path.to_owned();
        engine.sha256 = format!("{cell}c").repeat(32);
        engine.assertions = Some(assertions);
    }
    trial
}

fn both() -> Vec<TrialRecord> {
    vec![
        rocksdb(0, "11.8.1", NEW, false, false),
        rocksdb(1, "7.8.3", OLD, true, true),
    ]
}

fn markdown(trials: Vec<TrialRecord>) -> String {
    report(trials).render(Format::Markdown, Style::default())
}

#[test]
fn two_builds_of_an_engine_are_told_apart_by_version_with_their_files_below() {
    let text = terminal(&report(both()), 200);
    for part in [
        "rocksdb 11.8.1",
        "rocksdb 7.8.3",
        "rocksdb 11.8.1: version 11.8.1, /opt/engines/rocksdb-11.8.1/librocksdb.so, SHA-256 0c0c",
        "rocksdb 7.8.3: version 7.8.3, /usr/lib/librocksdb.so.7.8.3, SHA-256 1c1c",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    assert!(!text.contains("rocksdb@"), "{text}");
}

#[test]
fn one_build_alone_bears_the_engines_name() {
    for named in [false, true] {
        let text = markdown(vec![rocksdb(0, "11.8.1", NEW, named, false)]);
        assert!(text.contains("| 1 | rocksdb | 11.8.1 |"), "{text}");
        assert!(text.contains(NEW), "{text}");
    }
}

#[test]
fn builds_of_one_version_are_told_apart_by_file_else_by_path() {
    let relative = "/opt/librelative.so";
    let text = markdown(vec![
        rocksdb(0, "1.23", NEW, false, false),
        rocksdb(1, "1.23", relative, true, false),
    ]);
    assert!(text.contains("| rocksdb 1.23 (librelative.so) |"), "{text}");
    let same_name = "/elsewhere/librocksdb.so";
    let text = markdown(vec![
        rocksdb(0, "1.23", NEW, false, false),
        rocksdb(1, "1.23", same_name, true, false),
    ]);
    assert!(
        text.contains("| rocksdb@/elsewhere/librocksdb.so |"),
        "{text}"
    );
}

#[test]
fn a_build_that_never_opened_keeps_the_name_that_the_plan_gave() {
    let mut trials = both();
    let dead = failed(trials[1].spec.clone(), "loading the engine: no");
    trials[1] = TrialRecord {
        engine: None,
        ..dead
    };
    let text = markdown(trials);
    assert!(text.contains("| rocksdb 11.8.1 |"), "{text}");
    assert!(text.contains("FAILED"), "{text}");
}

#[test]
fn a_library_with_assertions_is_flagged_in_every_format() {
    let report = report(both());
    let warning = "rocksdb 7.8.3 [assertions]: built with assertions: not comparable.";
    for format in [Format::Terminal, Format::Markdown] {
        let text = report.render(format, Style::default());
        let unescaped = text.replace('\\', "");
        assert!(unescaped.contains(warning), "{text}");
        assert!(unescaped.contains("rocksdb 7.8.3 [assertions]"), "{text}");
        assert!(!unescaped.contains("rocksdb 11.8.1 [assertions]"), "{text}");
    }
    let csv = report.render(Format::Csv, Style::default());
    let marked: Vec<_> = csv
        .lines()
        .filter(|line| line.contains(",built with assertions: not comparable,assertions,"))
        .collect();
    assert_eq!(marked.len(), 1, "{csv}");
    assert!(marked[0].contains(OLD) && marked[0].contains(&"1c".repeat(32)));
    let json = report.render(Format::Json, Style::default());
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let builds = &document["rankings"][0]["builds"];
    assert_eq!(builds[0]["warning"], serde_json::Value::Null);
    assert_eq!(
        builds[1]["warning"],
        "built with assertions: not comparable"
    );
    assert_eq!(builds[1]["sha256"], "1c".repeat(32));
    let cells = &document["rankings"][0]["cells"];
    assert_eq!(cells[1]["assertions"], true);
    assert_eq!(cells[0].get("marks"), None);
    assert_eq!(cells[1]["marks"][0]["label"], "assertions");
    assert_eq!(cells[1]["marks"][0]["comparable"], false);
    assert_eq!(cells[1]["origin"], OLD);
}

#[test]
fn a_library_without_assertions_or_of_which_none_can_be_told_is_not_flagged() {
    let mut trials = vec![rocksdb(0, "11.8.1", NEW, false, false)];
    for assertions in [Some(false), None] {
        trials[0].engine.as_mut().unwrap().assertions = assertions;
        for format in [Format::Terminal, Format::Markdown, Format::Csv] {
            let text = report(trials.clone()).render(format, Style::default());
            assert!(!text.contains("built with assertions"), "{text}");
            assert!(!text.contains("[assertions]"), "{text}");
        }
    }
}
