//! A run folder keeps its records through crashes and careless changes.

use crate::support::{end, manifest, record};
use std::fs::{OpenOptions, read, read_to_string, write};
use std::io::Write;
use trueput_record::folder::RunFolder;
use trueput_record::skipped::SkipKind;
use trueput_record::{Error, FORMAT_VERSION, Outcome, RunManifest, TrialRecord};

fn numbered(number: u64) -> TrialRecord {
    let mut record = record();
    record.spec.id = format!("{number:04}");
    record.spec.seed = number;
    record
}

/// A new run folder in a results folder that is removed at the end of the test.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
fn new_folder() -> (tempfile::TempDir, RunFolder) {
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&results.path().join("results"), &manifest()).unwrap();
    (results, folder)
}

#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
fn append_bytes(folder: &RunFolder, bytes: &[u8]) {
    let path = folder.path().join("trials.jsonl");
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

fn ids(trials: &[TrialRecord]) -> Vec<&str> {
    trials.iter().map(|trial| trial.spec.id.as_str()).collect()
}

#[test]
fn a_folder_gives_back_the_manifest_it_was_made_with() {
    let (_results, folder) = new_folder();
    let name = folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert_eq!(name, "20261121T204500Z-first-look");
    let (_, back) = RunFolder::open(folder.path()).unwrap();
    assert_eq!(back, manifest());
}

#[test]
fn trials_read_back_to_the_last_bit_in_the_order_in_which_they_ended() {
    let (_results, folder) = new_folder();
    assert_eq!(folder.trials().unwrap().trials, []);
    for number in [3, 1, 2] {
        folder.append(&numbered(number)).unwrap();
    }
    let stored = folder.trials().unwrap();
    assert_eq!(stored.trials, [3, 1, 2].map(numbered));
    assert_eq!(stored.damaged, []);
    let lines = read_to_string(folder.path().join("trials.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 3, "a line per trial");
}

#[test]
fn every_outcome_reads_back() {
    let (_results, folder) = new_folder();
    let outcomes = [
        Outcome::Valid,
        Outcome::Invalid {
            reasons: vec!["one".to_owned(), "two".to_owned()],
        },
        Outcome::Failed {
            reason: "worker 2 was killed by SIGKILL".to_owned(),
            bad_input: true,
        },
        Outcome::Interrupted,
    ];
    for outcome in &outcomes {
        let bare = TrialRecord {
            outcome: outcome.clone(),
            measurement: None,
            ..record()
        };
        folder.append(&bare).unwrap();
    }
    let back: Vec<_> = folder
        .trials()
        .unwrap()
        .trials
        .into_iter()
        .map(|trial| trial.outcome)
        .collect();
    assert_eq!(back, outcomes);
}

#[test]
fn a_line_that_a_crash_tore_is_named_and_the_next_one_is_not_glued_to_it() {
    let (_results, folder) = new_folder();
    folder.append(&numbered(1)).unwrap();
    append_bytes(&folder, b"{\"format\":1,\"spec\":{\"id\":\"0002");
    let torn = folder.trials().unwrap();
    assert_eq!(ids(&torn.trials), ["0001"]);
    assert_eq!(torn.damaged[0].line, 2);
    folder.append(&numbered(3)).unwrap();
    let stored = folder.trials().unwrap();
    assert_eq!(ids(&stored.trials), ["0001", "0003"]);
    assert_eq!(
        stored.damaged.len(),
        1,
        "the torn line stays, and stays named"
    );
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_the_rest_is_read() {
    let (_results, folder) = new_folder();
    folder.append(&numbered(1)).unwrap();
    append_bytes(
        &folder,
        b"\xff\xfe not JSON, not even text\n{\"format\":1}\n",
    );
    folder.append(&numbered(4)).unwrap();
    let stored = folder.trials().unwrap();
    assert_eq!(ids(&stored.trials), ["0001", "0004"]);
    let lines: Vec<_> = stored.damaged.iter().map(|damaged| damaged.line).collect();
    assert_eq!(lines, [2, 3]);
    assert!(
        stored.damaged[1].message.contains("missing field"),
        "{:?}",
        stored.damaged
    );
}

#[test]
fn fields_that_a_later_writer_of_the_same_format_adds_are_passed_over() {
    let (_results, folder) = new_folder();
    let mut line = serde_json::to_value(record()).unwrap();
    line["mood"] = "good".into();
    append_bytes(&folder, format!("{line}\n").as_bytes());
    assert_eq!(folder.trials().unwrap().trials, [record()]);
}

#[test]
fn a_skipped_level_of_an_older_run_is_known_by_its_words() {
    let level = "redb does not support durability 'async'; it supports sync, buffered";
    let mut manifest = manifest();
    manifest.skipped = vec!["lmdb is not installed".to_owned(), level.to_owned()];
    let kinds = |manifest: &RunManifest| {
        let parts = manifest.skipped_parts();
        parts.map(|part| part.kind).collect::<Vec<_>>()
    };
    manifest.skipped_kinds = Vec::new();
    assert_eq!(kinds(&manifest), [SkipKind::Other, SkipKind::Level]);
    manifest.skipped_kinds = vec![SkipKind::Other, SkipKind::Other];
    assert_eq!(kinds(&manifest), manifest.skipped_kinds);
}

#[test]
fn a_manifest_of_a_newer_format_is_refused() {
    let (_results, folder) = new_folder();
    let path = folder.path().join("run.json");
    write(
        &path,
        format!("{{\"format\": {}, \"anything\": 1}}", FORMAT_VERSION + 1),
    )
    .unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NewerFormat {
                found: 3,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("use a newer trueput"), "{error}");
}

#[test]
fn a_line_of_a_newer_format_is_refused_whether_or_not_it_could_be_read() {
    for bytes in [
        "{\"format\": 3, \"anything\": 1}\n".to_owned(),
        newer_but_readable(),
    ] {
        let (_results, folder) = new_folder();
        folder.append(&record()).unwrap();
        append_bytes(&folder, bytes.as_bytes());
        let error = folder.trials().unwrap_err();
        assert!(
            matches!(error, Error::NewerFormat { found: 3, .. }),
            "{error}"
        );
    }
}

fn newer_but_readable() -> String {
    let newer = TrialRecord {
        format: FORMAT_VERSION + 1,
        ..record()
    };
    serde_json::to_string(&newer).unwrap_or_default() + "\n"
}

#[test]
fn what_is_no_run_folder_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let missing = empty.path().join("nowhere");
    for path in [empty.path(), &missing] {
        let message = RunFolder::open(path).unwrap_err().to_string();
        assert!(message.contains("not a run folder"), "{message}");
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}

#[test]
fn a_manifest_that_cannot_be_used_is_refused_with_its_line() {
    let (_results, folder) = new_folder();
    write(
        folder.path().join("run.json"),
        "{\"format\": 1,\n\"name\": 7}\n",
    )
    .unwrap();
    let message = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("run.json:2:"), "{message}");
}

#[test]
fn a_run_that_never_began_is_told_from_a_damaged_one() {
    let (_results, folder) = new_folder();
    let said = || RunFolder::open(folder.path()).unwrap_err().to_string();
    let manifest = folder.path().join("run.json");
    assert!(!folder.path().join("run.json.next").exists());
    write(&manifest, "").unwrap();
    assert!(said().contains("its run never began"), "{}", said());
    std::fs::remove_file(&manifest).unwrap();
    assert!(said().contains("its run never began"), "{}", said());
    // Control: a run with a trial has begun.
    folder.append(&record()).unwrap();
    assert!(said().contains("it has no run.json"), "{}", said());
    write(&manifest, "").unwrap();
    assert!(said().contains("run.json:1:"), "{}", said());
}

#[test]
fn two_runs_that_start_in_one_second_get_a_folder_each_and_nothing_is_overwritten() {
    let results = tempfile::tempdir().unwrap();
    let first = RunFolder::create(results.path(), &manifest()).unwrap();
    first.append(&record()).unwrap();
    let before = read(first.path().join("trials.jsonl")).unwrap();
    let second = RunFolder::create(results.path(), &manifest()).unwrap();
    let third = RunFolder::create(results.path(), &manifest()).unwrap();
    assert!(second.path().ends_with("20261121T204500Z-first-look-2"));
    assert!(third.path().ends_with("20261121T204500Z-first-look-3"));
    assert_eq!(read(first.path().join("trials.jsonl")).unwrap(), before);
    assert_eq!(first.trials().unwrap().trials.len(), 1);
    assert_eq!(second.trials().unwrap().trials.len(), 0);
}

#[test]
fn a_file_in_the_place_of_a_folder_is_left_alone() {
    let results = tempfile::tempdir().unwrap();
    let taken = results.path().join("20261121T204500Z-first-look");
    write(&taken, "mine").unwrap();
    let folder = RunFolder::create(results.path(), &manifest()).unwrap();
    assert!(folder.path().ends_with("20261121T204500Z-first-look-2"));
    assert_eq!(read_to_string(taken).unwrap(), "mine");
}

#[test]
fn a_run_is_one_writers_at_a_time_and_anybodys_to_read() {
    let (_parent, folder) = new_folder();
    let lock = folder.lock().unwrap();
    let error = folder.lock().unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert!(folder.trials().is_ok());
    drop(lock);
    folder.lock().unwrap();
}

#[test]
fn a_run_has_not_ended_until_it_says_so_and_may_say_so_again() {
    let (_results, folder) = new_folder();
    assert_eq!(folder.end().unwrap(), None);
    let stopped = trueput_record::folder::RunEnd {
        stop_reason: None,
        complete: false,
        ..end()
    };
    folder.finish(&stopped).unwrap();
    assert_eq!(folder.end().unwrap(), Some(stopped));
    folder.finish(&end()).unwrap();
    assert_eq!(folder.end().unwrap(), Some(end()));
    write(folder.path().join("end.json"), "half a fi").unwrap();
    assert!(folder.end().is_err());
}

#[test]
fn histograms_have_a_folder_of_their_own() {
    let (_results, folder) = new_folder();
    let path = folder.histogram_path("0001");
    assert!(path.ends_with("histograms/0001.hlog"));
    assert!(path.parent().unwrap().is_dir());
}

#[test]
fn a_folder_without_its_file_of_trials_has_none_yet_and_takes_them() {
    let (_results, folder) = new_folder();
    std::fs::remove_file(folder.path().join("trials.jsonl")).unwrap();
    assert_eq!(folder.trials().unwrap(), Default::default());
    let _lock = folder.lock().unwrap();
    folder.append(&numbered(1)).unwrap();
    assert_eq!(ids(&folder.trials().unwrap().trials), ["0001"]);
}

#[test]
fn a_trial_id_that_is_a_path_is_not_looked_up() {
    let (_place, folder) = new_folder();
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path().join("log.hlog"), "no log").unwrap();
    let absolute = elsewhere.path().join("log");
    for id in [
        absolute.to_str().unwrap(),
        "/a",
        "../a",
        "..",
        "",
        "a/b",
        "a\0b",
    ] {
        let error = folder.histograms(id).unwrap_err().to_string();
        assert!(error.contains("is not a trial id"), "{id}: {error}");
    }
    assert!(folder.histograms("0001-lmdb_a.b").unwrap().is_none());
}

#[test]
fn more_lines_than_the_attempts_of_a_run_are_refused() {
    let (_place, folder) = new_folder();
    let mut short = numbered(1);
    short.measurement = None;
    folder.append(&short).unwrap();
    let path = folder.path().join("trials.jsonl");
    let line = read_to_string(&path).unwrap();
    write(&path, line.repeat(40_001)).unwrap();
    let error = folder.trials().unwrap_err().to_string();
    assert!(error.contains("more than 40000 trials"), "{error}");
}
