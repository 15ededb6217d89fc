//! Trouble on the way: a disk that is full, a database folder of another engine. The trial fails
//! with one line, and the run goes on.

use crate::support::{ALL_WELL, Bench, assert_answers, signal, stderr, stdout, wait_for_work};
use nix::sys::signal::Signal::SIGINT;
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_record::{Outcome, TrialRecord};

/// A small file system of its own, mounted as long as this lives.
struct SmallDisk {
    mount_point: PathBuf,
}

impl SmallDisk {
    /// # Errors
    /// Why it cannot be had: only root may mount, and some containers have no loop devices.
    fn mount(folder: &Path, size_bytes: u64) -> Result<Self, String> {
        let image = folder.join("disk.img");
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(size_bytes)
            .map_err(|error| error.to_string())?;
        let mount_point = folder.join("disk");
        std::fs::create_dir(&mount_point).map_err(|error| error.to_string())?;
        let shown = |path: &Path| path.to_str().unwrap_or_default().to_owned();
        done("mkfs.ext4", &["-q", "-F", "-m", "0", &shown(&image)])?;
        done(
            "mount",
            &["-o", "loop", &shown(&image), &shown(&mount_point)],
        )?;
        Ok(Self { mount_point })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mount_point).status();
    }
}

fn done(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// The one line that says why a trial failed.
fn failure(record: &TrialRecord) -> &str {
    let Outcome::Failed { reason, .. } = &record.outcome else {
        panic!("{}: {:?}", record.spec.id, record.outcome);
    };
    assert_eq!(reason.lines().count(), 1, "{reason}");
    reason
}

#[test]
fn an_engine_that_fills_the_disk_fails_its_trial_and_the_plan_goes_on() {
    let bench = Bench::new();
    let disk = match SmallDisk::mount(bench.path(), 48 << 20) {
        Ok(disk) => disk,
        Err(why) => {
            eprintln!("skipped: no small file system can be mounted: {why}");
            return;
        }
    };
    let work = disk.mount_point.join("work");
    // Without checkpoints SQLite's log grows by a page, or several, at each commit.
    let arguments = [
        "run",
        "threen1",
        "--engine",
        "sqlite,lmdb",
        "--durability",
        "process",
        "--workers",
        "1",
        "--set",
        "finish=20000",
        "--knob",
        "sqlite.wal_autocheckpoint=0",
        "--work",
        work.to_str().unwrap(),
    ];
    let output = bench.run(&arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    assert!(
        failure(&trials[0]).contains("full"),
        "{}",
        failure(&trials[0])
    );
    assert_answers(&trials[1], 1, 20_000);
    let report = stdout(&output);
    assert!(
        report.contains("FAILED: 1 trial of sqlite: worker 0"),
        "{report}"
    );
    assert!(!work.exists(), "what the failed trial left is removed");
    drop(disk);
}

#[test]
fn a_database_folder_of_another_engine_fails_its_trial_and_the_next_problem_is_solved() {
    const PROBLEMS: &str = "1 60000 2 500\n1 500 2 100\n";
    let threen1 = ["threen1", "--engine", "lmdb", "--durability", "process"];
    let bench = Bench::new();
    let mut child = bench.spawn_with(&threen1, PROBLEMS);
    let results = bench.path().join("results");
    wait_for_work(&mut child, &results, 1 << 20, 2);
    signal(i32::try_from(child.id()).unwrap(), SIGINT);
    child.wait().unwrap();
    let left = bench.snapshot();
    let data = left.keys().find(|path| path.ends_with("data.mdb")).unwrap();
    let mut foreign = b"SQLite format 3\0".to_vec();
    foreign.resize(1 << 20, 0);
    std::fs::write(data, foreign).unwrap();
    let resumed: Vec<_> = threen1.into_iter().chain(["--resume"]).collect();
    let output = bench.run_with(&resumed, PROBLEMS);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let trials = bench.trials();
    let ended: Vec<_> = trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Interrupted)
        .collect();
    let reason = failure(ended[0]);
    assert!(reason.contains("not an LMDB file"), "{reason}");
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
    assert!(
        reason.starts_with(
            "bad input: lmdb.map_size=70368744177664 is not supported here; the engine says: "
        ),
        "{reason}"
    );
    assert!(bad_input, "the exit code goes by it");
    assert!(!text.contains("conformance"), "{text}");
}
