use super::harness::{Trial, execute, failures, job, try_verify, verify};
use std::os::unix::fs::FileExt;
use std::path::Path;
use trueput_record::{Durability, Value, VerifyLevel, WorkerKind};
use trueput_workloads::storage::log_flush::LogFlush;
use trueput_workloads::{ExecutionSummary, JobResults};

fn run(settings: &[&str], trial: Trial) -> (tempfile::TempDir, ExecutionSummary, JobResults) {
    let folder = tempfile::tempdir().unwrap();
    let job = job(&LogFlush, settings, trial).unwrap();
    let ended = execute(&*job, folder.path(), trial).unwrap();
    let conclusion = verify(&*job, folder.path(), trial, &ended);
    (folder, ended, conclusion)
}

fn number(conclusion: &JobResults, name: &str) -> f64 {
    match conclusion.results[name] {
        Value::Integer(number) => number as f64,
        Value::Float(number) => number,
        ref other => panic!("{name} is {other}"),
    }
}

/// Whether the folder for temporary files takes direct writes of 4 KiB.
fn takes_direct_writes(folder: &Path) -> bool {
    let settings = ["flush=direct-dsync", "bytes=4096", "operations=1"];
    let job = job(&LogFlush, &settings, Trial::of(1)).unwrap();
    execute(&*job, folder, Trial::of(1)).is_ok()
}

#[test]
fn every_method_in_every_place_and_file_keeps_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let direct = takes_direct_writes(folder.path());
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
            eprintln!("no direct writes in {}: left out", folder.path().display());
            continue;
        }
        for at in ["end", "place"] {
            for file in ["growing", "reserved", "preallocated", "recycled"] {
                for files in ["one", "apart"] {
                    let settings = [
                        format!("flush={flush}"),
                        format!("at={at}"),
                        format!("file={file}"),
                        format!("files={files}"),
                        "bytes=4096".to_owned(),
                        "file_bytes=128KiB".to_owned(),
                        "operations=80".to_owned(),
                    ];
                    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
                    let (_folder, ended, conclusion) = run(&settings, Trial::of(3));
                    assert_eq!(ended.counts[0], 80, "{settings:?}");
                    assert_eq!(failures(&conclusion), [""; 0], "{settings:?}");
                }
            }
        }
    }
}

#[test]
fn with_group_commit_a_flush_serves_several_commits_and_without_it_each_has_its_own() {
    let trial = Trial::of(4);
    let (_folder, ended, conclusion) = run(&["operations=400"], trial);
    assert_eq!(failures(&conclusion), [""; 0]);
    assert!(ended.counts[1] <= 400, "{:?}", ended.counts);
    let shared = 400.0 / ended.counts[1] as f64;
    assert_eq!(number(&conclusion, "commits_per_flush"), shared);
    let (_folder, ended, conclusion) = run(&["operations=400", "group_commit=off"], trial);
    assert_eq!(failures(&conclusion), [""; 0]);
    assert_eq!(ended.counts, [400]);
}

#[test]
fn a_log_is_used_again_from_its_start() {
    for settings in [
        [
            "file_bytes=2KiB",
            "bytes=128",
            "flush=none",
            "group_commit=on",
        ],
        [
            "file_bytes=2KiB",
            "bytes=128",
            "flush=dsync",
            "group_commit=on",
        ],
        [
            "file_bytes=2KiB",
            "bytes=128",
            "flush=dsync",
            "group_commit=off",
        ],
    ] {
        let trial = Trial {
            units: Some(200),
            ..Trial::of(3)
        };
        let (folder, _, conclusion) = run(&settings, trial);
        assert_eq!(failures(&conclusion), [""; 0]);
        assert_eq!(number(&conclusion, "laps"), 13.0, "200 records, 16 a lap");
        assert_eq!(folder.path().join("log").metadata().unwrap().len(), 2_048);
    }
}

#[test]
fn what_warms_up_is_written_and_verified_and_not_counted() {
    let trial = Trial {
        warm_up: 7,
        verify: VerifyLevel::Sample,
        ..Trial::of(2)
    };
    let (folder, ended, conclusion) = run(&["operations=20", "group_commit=off"], trial);
    assert_eq!(ended.counts, [20]);
    assert_eq!(failures(&conclusion), [""; 0]);
    let written = folder.path().join("log").metadata().unwrap().len();
    assert_eq!(written, 256 * (20 + 2 * 7));
}

#[test]
fn berkeley_dbs_form_writes_the_same_256_bytes_again_and_again() {
    let settings = ["at=place", "bytes=256", "operations=1000"];
    let (folder, ended, conclusion) = run(&settings, Trial::of(1));
    assert_eq!(ended.counts[0], 1_000);
    assert_eq!(failures(&conclusion), [""; 0]);
    assert_eq!(folder.path().join("log").metadata().unwrap().len(), 256);
}

/// Damages a log between the workers and the verification, and says what the verification says.
fn damaged(settings: &[&str], damage: impl Fn(&std::fs::File)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let trial = Trial::of(2);
    let job = job(&LogFlush, settings, trial).unwrap();
    let ended = execute(&*job, folder.path(), trial).unwrap();
    let options = std::fs::File::options().read(true).write(true).clone();
    damage(&options.open(folder.path().join("log")).unwrap());
    failures(&verify(&*job, folder.path(), trial, &ended))
}

#[test]
fn damage_loss_and_a_wrong_order_are_seen() {
    let settings = ["operations=50", "bytes=128", "flush=none"];
    let failed = damaged(&settings, |file| {
        file.write_all_at(b"x", 49 * 128 + 127).unwrap();
    });
    assert!(failed[0].contains("49 of 50"), "{failed:?}");
    assert!(failed[1].contains("record 49"), "{failed:?}");
    let failed = damaged(&settings, |file| {
        let mut one = [0; 128];
        file.read_exact_at(&mut one, 128).unwrap();
        file.write_all_at(&one, 256).unwrap();
    });
    assert!(failed[1].contains("record 2"), "{failed:?}");
    let failed = damaged(&settings, |file| {
        file.write_all_at(&[0; 128], 51 * 128).unwrap();
    });
    assert!(failed[0].contains("bytes long"), "{failed:?}");
    for group in ["group_commit=on", "group_commit=off"] {
        let in_place = ["operations=50", "bytes=128", "at=place", group];
        let failed = damaged(&in_place, |file| file.write_all_at(b"x", 100).unwrap());
        assert!(!failed.is_empty());
        assert!(damaged(&in_place, |_| {}).is_empty());
    }
}

#[test]
fn a_log_that_is_too_short_to_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["operations=50", "bytes=128", "file=preallocated"];
    let job = job(&LogFlush, &settings, Trial::of(1)).unwrap();
    let ended = execute(&*job, folder.path(), Trial::of(1)).unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path().join("log"));
    file.unwrap().set_len(1_000).unwrap();
    let concluded = try_verify(&*job, folder.path(), Trial::of(1), &ended);
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
        let job = job(&LogFlush, &[&flush], Trial::of(1)).unwrap();
        assert_eq!(job.durability(), Some(level), "{flush}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_in_a_sentence() {
    let refused = |settings: &[&str], trial: Trial| job(&LogFlush, settings, trial).err().unwrap();
    let direct = refused(&["flush=direct-dsync"], Trial::of(1));
    assert!(
        direct.contains("bytes=256 is no multiple of 512"),
        "{direct}"
    );
    let short = refused(&["bytes=64KiB", "file_bytes=64KiB"], Trial::of(1));
    assert!(short.contains("holds 1 records"), "{short}");
    let both = Trial {
        units: Some(1),
        ..Trial::of(1)
    };
    assert!(refused(&["operations=5"], both).contains("give one of them"));
    let job = job(&LogFlush, &[], Trial::of(1)).unwrap();
    let processes = job.check_workers(2, WorkerKind::Processes).unwrap_err();
    assert!(processes.contains("files=apart"), "{processes}");
    assert_eq!(job.check_workers(2, WorkerKind::Threads), Ok(()));
    assert_eq!(job.check_workers(1, WorkerKind::Processes), Ok(()));
}

#[test]
fn room_is_looked_for_for_every_workers_files() {
    let bytes = |settings: &[&str], workers| {
        let job = job(&LogFlush, settings, Trial::of(1)).unwrap();
        job.own_files_bytes(workers).unwrap()
    };
    let apart = ["file=recycled", "file_bytes=1MiB", "files=apart"];
    assert_eq!((bytes(&apart, 1), bytes(&apart, 4)), (1 << 20, 4 << 20));
    let one = ["file=recycled", "file_bytes=1MiB"];
    assert_eq!((bytes(&one, 1), bytes(&one, 4)), (1 << 20, 1 << 20));
    // A log that grows is as long as its commits, however many files it is in.
    let growing = ["operations=100", "bytes=1KiB", "files=apart"];
    assert_eq!(bytes(&growing, 4), 100 << 10);
}
