//! Trouble on the way: a disk that is full, a database folder of another engine. The trial fails
//! with one line, and the run goes on.

use crate::support::{
    ALL_WELL, Bench, LoopMount, assert_answers, assert_contains, expect_code, signal, stderr,
    stdout, wait_for_work,
};
use nix::sys::signal::Signal::SIGINT;
use std::io::Write;
use std::process::Command;
use trueput_record::{Outcome, TrialRecord};

/// The one line that says why a trial failed.
fn failure(record: &TrialRecord) -> &str {
    let Outcome::Failed { reason, .. } = &record.outcome else {
        panic!("{}: {:?}", record.spec.id, record.outcome);
    };
    assert_eq!(reason.lines().count(), 1, "{reason}");
    reason
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_that_fills_the_disk_fails_its_trial_and_the_plan_goes_on() {
    let bench = Bench::new();
    let [image, folder] = ["disk.img", "disk"].map(|name| bench.path().join(name));
    let disk = match LoopMount::new(&image, &folder, 48 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            eprintln!("skipped: no small file system can be mounted: {reason}");
            return;
        }
    };
    let work = folder.join("work");
    // Without checkpoints SQLite's log grows by a page, or several, at each commit.
    let line = format!(
        "run threen1 --engine sqlite,lmdb --durability process --workers 1 --set finish=20000 \
         --knob sqlite.wal_autocheckpoint=0 --time-slice none --work {}",
        work.display()
    );
    let output = bench.run_expecting(1, &line);
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    assert_contains(failure(&trials[0]), &["full"]);
    assert_answers(&trials[1], 1, 20_000);
    let report = stdout(&output);
    assert_contains(&report, &["FAILED: 1 trial of sqlite: worker 0"]);
    assert!(!work.exists(), "what the failed trial left is removed");
    drop(disk);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_that_finds_the_disk_of_its_results_full_leaves_nothing_there() {
    let bench = Bench::new();
    let [image, folder] = ["disk.img", "disk"].map(|name| bench.path().join(name));
    let disk = match LoopMount::new(&image, &folder, 8 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            eprintln!("skipped: no small file system can be mounted: {reason}");
            return;
        }
    };
    let results = folder.join("results");
    std::fs::create_dir(&results).unwrap();
    // There is room for a folder, and none for what a run writes into it.
    let spare = folder.join("spare");
    std::fs::write(&spare, [1; 2048]).unwrap();
    let mut filler = std::fs::File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[1; 1024]).is_ok() {}
    filler.sync_all().unwrap();
    drop(filler);
    std::fs::remove_file(spare).unwrap();
    let line = format!(
        "run threen1 --engine lmdb --durability process --set finish=100 --work work --results {}",
        results.display()
    );
    let said = stderr(&bench.run_expecting(1, &line));
    assert_contains(&said, &["No space left"]);
    let left = std::fs::read_dir(&results).unwrap().count();
    assert_eq!(left, 0, "{said}");
    drop(disk);
}

#[test]
fn a_database_folder_of_another_engine_fails_its_trial_and_the_next_problem_is_solved() {
    const PROBLEMS: &str = "1 60000 2 500\n1 500 2 100\n";
    let threen1 = "threen1 --engine lmdb --durability process";
    let bench = Bench::new();
    let mut child = bench.spawn_with(threen1, PROBLEMS);
    let results = bench.path().join("results");
    wait_for_work(&mut child, &results, 1 << 20, 2);
    signal(i32::try_from(child.id()).unwrap(), SIGINT);
    child.wait().unwrap();
    let left = bench.snapshot();
    let data = left.keys().find(|path| path.ends_with("data.mdb")).unwrap();
    let mut foreign = b"SQLite format 3\0".to_vec();
    foreign.resize(1 << 20, 0);
    std::fs::write(data, foreign).unwrap();
    expect_code(1, bench.run_with(&format!("{threen1} --resume"), PROBLEMS));
    let trials = bench.trials();
    let ended = trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Interrupted);
    let ended: Vec<_> = ended.collect();
    assert_contains(failure(ended[0]), &["not an LMDB file"]);
    assert_answers(ended[1], 1, 500);
    assert_eq!(ALL_WELL == 0, trials.last().unwrap().is_rankable());
}

#[test]
fn a_knob_that_the_engine_cannot_have_is_bad_input_and_no_fault_of_its_conformance() {
    let bench = Bench::new();
    // A map of 64 TiB fits no address space of 256 GiB; one of 64 GiB, the default, does.
    let program = assert_cmd::cargo::cargo_bin!("trueput").display();
    let run = format!(
        "ulimit -v 268435456; exec {program} run threen1 --engine lmdb --durability process \
         --set finish=10 --no-hardware-limits --knob lmdb.map_size=64TiB --knob lmdb.max_readers=64"
    );
    let output = Command::new("sh")
        .args(["-c", &run])
        .current_dir(bench.path())
        .env("XDG_CACHE_HOME", "/dev/null")
        .output()
        .unwrap();
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{text}");
    let trials = bench.trials();
    let Outcome::Failed { reason, bad_input } = &trials[0].outcome else {
        panic!("{:?}", trials[0].outcome);
    };
    let start = "bad input: lmdb.map_size=70368744177664 is not supported here; the engine says: ";
    assert!(reason.starts_with(start), "{reason}");
    assert!(bad_input, "the exit code goes by it");
    assert!(!text.contains("conformance"), "{text}");
}
