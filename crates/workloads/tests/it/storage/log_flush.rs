use super::harness::{Bench, Trial, failures, job};
use std::os::unix::fs::FileExt;
use trueput_record::{Durability, Value, VerifyLevel, WorkerKind};
use trueput_workloads::storage::log_flush::LogFlush;
use trueput_workloads::{ExecutionSummary, JobResults};

/// Runs a trial whose checks all pass.
fn run(settings: &str, trial: Trial) -> (Bench, ExecutionSummary, JobResults) {
    let bench = Bench::new(&LogFlush, settings, trial);
    let (ended, conclusion) = bench.run();
    assert_eq!(failures(&conclusion), [""; 0], "{settings}");
    (bench, ended, conclusion)
}

/// The length of a trial's one log.
fn log_bytes(bench: &Bench) -> u64 {
    bench.file("log").metadata().unwrap().len()
}

fn number(conclusion: &JobResults, name: &str) -> f64 {
    match conclusion.results[name] {
        Value::Integer(number) => number as f64,
        Value::Float(number) => number,
        ref other => panic!("{name} is {other}"),
    }
}

/// Whether the folder for temporary files takes direct writes of 4 KiB.
fn takes_direct_writes() -> bool {
    let settings = "flush=direct-dsync bytes=4096 operations=1";
    Bench::new(&LogFlush, settings, Trial::of(1))
        .execute()
        .is_ok()
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_method_in_every_place_and_file_keeps_what_was_written() {
    let direct = takes_direct_writes();
    let methods = [
        "fsync",
        "fdatasync",
        "dsync",
        "direct-dsync",
        "sync-file-range",
        "msync",
        "io-uring",
        "none",
    ];
    for flush in methods {
        if flush == "direct-dsync" && !direct {
            eprintln!("no direct writes in the folder for temporary files: left out");
            continue;
        }
        for at in ["end", "place"] {
            for file in ["growing", "reserved", "preallocated", "recycled"] {
                for files in ["one", "apart"] {
                    // 32 records, so that the start of one file is used again.
                    let settings = format!(
                        "flush={flush} at={at} file={file} files={files} bytes=4096 \
                         file_bytes=128KiB operations=40"
                    );
                    let (_, ended, _) = run(&settings, Trial::of(3));
                    assert_eq!(ended.counts[0], 40, "{settings}");
                }
            }
        }
    }
}

#[test]
fn with_group_commit_a_flush_serves_several_commits_and_without_it_each_has_its_own() {
    let trial = Trial::of(4);
    let (_, ended, conclusion) = run("operations=400", trial);
    assert!(ended.counts[1] <= 400, "{:?}", ended.counts);
    let shared = 400.0 / ended.counts[1] as f64;
    assert_eq!(number(&conclusion, "commits_per_flush"), shared);
    let (_, ended, _) = run("operations=400 group_commit=off", trial);
    assert_eq!(ended.counts, [400]);
}

#[test]
fn a_log_is_used_again_from_its_start() {
    for (flush, group) in [("none", "on"), ("dsync", "on"), ("dsync", "off")] {
        let settings = format!("file_bytes=2KiB bytes=128 flush={flush} group_commit={group}");
        let trial = Trial {
            units: Some(200),
            ..Trial::of(3)
        };
        let (bench, _, conclusion) = run(&settings, trial);
        assert_eq!(number(&conclusion, "laps"), 13.0, "200 records, 16 a lap");
        assert_eq!(log_bytes(&bench), 2_048);
    }
}

#[test]
fn what_warms_up_is_written_and_verified_and_not_counted() {
    let trial = Trial {
        warm_up: 7,
        verify: VerifyLevel::Sample,
        ..Trial::of(2)
    };
    let (bench, ended, _) = run("operations=20 group_commit=off", trial);
    assert_eq!(ended.counts, [20]);
    assert_eq!(log_bytes(&bench), 256 * (20 + 2 * 7));
}

#[test]
fn berkeley_dbs_form_writes_the_same_256_bytes_again_and_again() {
    let settings = "at=place bytes=256 operations=1000";
    let (bench, ended, _) = run(settings, Trial::of(1));
    assert_eq!(ended.counts[0], 1_000);
    assert_eq!(log_bytes(&bench), 256);
}

/// Damages a log between execution and verification, and returns the checks that fail.
fn damaged(settings: &str, damage: impl Fn(&std::fs::File)) -> Vec<String> {
    Bench::new(&LogFlush, settings, Trial::of(2)).failures_after("log", damage)
}

#[test]
fn damage_loss_and_a_wrong_order_are_seen() {
    let settings = "operations=50 bytes=128 flush=none";
    let failed = damaged(settings, |file| {
        file.write_all_at(b"x", 49 * 128 + 127).unwrap();
    });
    assert!(failed[0].contains("49 of 50"), "{failed:?}");
    assert!(failed[1].contains("record 49"), "{failed:?}");
    let failed = damaged(settings, |file| {
        let mut one = [0; 128];
        file.read_exact_at(&mut one, 128).unwrap();
        file.write_all_at(&one, 256).unwrap();
    });
    assert!(failed[1].contains("record 2"), "{failed:?}");
    let failed = damaged(settings, |file| {
        file.write_all_at(&[0; 128], 51 * 128).unwrap();
    });
    assert!(failed[0].contains("bytes long"), "{failed:?}");
    for group in ["on", "off"] {
        let in_place = format!("operations=50 bytes=128 at=place group_commit={group}");
        let failed = damaged(&in_place, |file| file.write_all_at(b"x", 100).unwrap());
        assert!(!failed.is_empty());
        assert!(damaged(&in_place, |_| {}).is_empty());
    }
}

#[test]
fn a_log_that_is_too_short_to_read_is_an_error() {
    let settings = "operations=50 bytes=128 file=preallocated";
    let bench = Bench::new(&LogFlush, settings, Trial::of(1));
    let ended = bench.execute().unwrap();
    bench.file("log").set_len(1_000).unwrap();
    let concluded = bench.target(|target| bench.job.verify(target, &ended));
    let said = concluded.unwrap_err().to_string();
    assert!(said.contains("reading back"), "{said}");
}

#[test]
fn the_level_is_that_of_the_flush() {
    for (flush, level) in [
        ("fsync", Durability::Sync),
        ("msync", Durability::Sync),
        ("io-uring", Durability::Sync),
        ("sync-file-range", Durability::None),
        ("none", Durability::None),
    ] {
        let flush = format!("flush={flush}");
        let job = job(&LogFlush, &flush, Trial::of(1)).unwrap();
        assert_eq!(job.durability(), Some(level), "{flush}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_in_a_sentence() {
    let refused = |settings: &str, trial: Trial| job(&LogFlush, settings, trial).err().unwrap();
    let direct = refused("flush=direct-dsync", Trial::of(1));
    assert!(
        direct.contains("bytes=256 is not a multiple of 512"),
        "{direct}"
    );
    let short = refused("bytes=64KiB file_bytes=64KiB", Trial::of(1));
    assert!(short.contains("holds 1 records"), "{short}");
    let both = Trial {
        units: Some(1),
        ..Trial::of(1)
    };
    assert!(refused("operations=5", both).contains("give one of them"));
    let job = job(&LogFlush, "", Trial::of(1)).unwrap();
    let processes = job.check_workers(2, WorkerKind::Processes);
    let processes = String::from(processes.unwrap_err());
    assert!(processes.contains("files=apart"), "{processes}");
    assert_eq!(job.check_workers(2, WorkerKind::Threads), Ok(()));
    assert_eq!(job.check_workers(1, WorkerKind::Processes), Ok(()));
}

#[test]
fn room_is_looked_for_for_every_workers_files() {
    let bytes = |settings: &str, workers| {
        let job = job(&LogFlush, settings, Trial::of(1)).unwrap();
        job.own_files_bytes(workers).unwrap()
    };
    let apart = "file=recycled file_bytes=1MiB files=apart";
    assert_eq!((bytes(apart, 1), bytes(apart, 4)), (1 << 20, 4 << 20));
    let one = "file=recycled file_bytes=1MiB";
    assert_eq!((bytes(one, 1), bytes(one, 4)), (1 << 20, 1 << 20));
    // A log that grows is as long as its commits, however many files it is in.
    let growing = "operations=100 bytes=1KiB files=apart";
    assert_eq!(bytes(growing, 4), 100 << 10);
}
