//! RocksDB's driver. Skipped where no RocksDB is on the machine: `make engines` installs it.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{deadlock, get, keeps_the_contract, open, read, write};
use std::path::Path;
use std::process::Command;
use trueput_drivers::RocksDb;
use trueput_engine::{Durability, Engine, Error, Mode, Value};

static ROCKSDB: RocksDb = RocksDb::new();

/// Whether there is a library to test; says so if there is none.
fn is_there() -> bool {
    let there = !ROCKSDB.library_files().is_empty();
    if !there {
        eprintln!("skipped: no RocksDB on this machine; `make engines` installs one");
    }
    there
}

#[test]
fn every_kind_of_transaction_keeps_the_contract_at_every_level() {
    if !is_there() {
        return;
    }
    for kind in ["pessimistic", "optimistic", "batch"] {
        for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
            keeps_the_contract(&ROCKSDB, level, &[("transactions", kind.into())]);
        }
    }
}

#[test]
fn the_other_settings_keep_the_contract() {
    if !is_there() {
        return;
    }
    let prefix_hash = [("hash_index", true.into()), ("prefix_length", 4_i64.into())];
    let settings: [&[(&str, Value)]; 7] = [
        &[
            ("log_directory", "log".into()),
            ("buffered_wal", "manual".into()),
        ],
        &[("preset", "prefix".into())],
        &prefix_hash,
        &[("buffered_wal", "manual".into())],
        &[
            ("compaction_style", "universal".into()),
            ("compression", "none".into()),
        ],
        &[("bloom_bits", 10_i64.into()), ("block_cache", 0_i64.into())],
        &[
            ("statistics", true.into()),
            ("max_open_files", 100_i64.into()),
        ],
    ];
    for given in settings {
        keeps_the_contract(&ROCKSDB, Durability::Buffered, given);
    }
}

#[test]
fn settings_are_read_back_from_rocksdb() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let given = [
        ("write_buffer_size", Value::Integer(8 << 20)),
        ("compression", "none".into()),
        ("statistics", true.into()),
    ];
    let database = open(&ROCKSDB, folder.path(), Durability::Buffered, &given).unwrap();
    write(database.as_ref(), b"key", b"value");
    assert_eq!(
        read(database.as_ref(), b"key").as_deref(),
        Some(b"value".as_slice())
    );
    let settings = database.settings().unwrap();
    assert_eq!(
        settings["CFOptions.write_buffer_size"],
        Value::Integer(8 << 20)
    );
    assert_eq!(
        settings["CFOptions.compression"],
        Value::from("kNoCompression")
    );
    assert_eq!(settings["WriteOptions.disableWAL"], Value::Boolean(true));
    let version = ROCKSDB.build().unwrap().version;
    assert_eq!(settings["Version.rocksdb_version"], Value::from(version));
    let counters = database.counters().unwrap();
    assert_eq!(counters["rocksdb.number.keys.written"], Value::Integer(1));
    assert_eq!(counters["background-errors"], Value::Integer(0));
}

#[test]
fn each_level_asks_rocksdb_for_what_it_promises() {
    if !is_there() {
        return;
    }
    for (level, sync, without_log) in [
        (Durability::Sync, true, false),
        (Durability::Async, false, false),
        (Durability::Buffered, false, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let settings = open(&ROCKSDB, folder.path(), level, &[])
            .unwrap()
            .settings()
            .unwrap();
        assert_eq!(settings["WriteOptions.sync"], Value::Boolean(sync));
        assert_eq!(
            settings["WriteOptions.disableWAL"],
            Value::Boolean(without_log)
        );
        assert_eq!(
            settings["DBOptions.wal_recovery_mode"],
            Value::from("kPointInTimeRecovery")
        );
    }
}

#[test]
fn of_two_transactions_that_meet_the_second_conflicts_at_commit_where_they_are_optimistic() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let given = [("transactions", Value::from("optimistic"))];
    let database = open(&ROCKSDB, folder.path(), Durability::Async, &given).unwrap();
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    for session in [&mut first, &mut second] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(get(session.as_mut(), b"key"), None);
        session.put(b"key", b"value").unwrap();
    }
    first.commit().unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    second.begin(Mode::Write).unwrap();
    second.abort().unwrap();
}

#[test]
fn one_thread_waiting_for_its_own_turn_conflicts_instead() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let given = [("transactions", Value::from("batch"))];
    let database = open(&ROCKSDB, folder.path(), Durability::Async, &given).unwrap();
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    first.begin(Mode::Write).unwrap();
    assert_eq!(get(first.as_mut(), b"key"), None);
    second.begin(Mode::Write).unwrap();
    second.put(b"key", b"value").unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    first.commit().unwrap();
}

#[test]
fn a_killed_process_loses_what_its_level_allows() {
    if !is_there() {
        return;
    }
    assert_eq!(crash(&ROCKSDB, Durability::Async, &[]), CRASH_COMMITS);
    // Nothing was written out of memory yet: the empty prefix.
    assert_eq!(crash(&ROCKSDB, Durability::Buffered, &[]), 0);
}

#[test]
fn a_second_opening_is_refused_in_words() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _database = open(&ROCKSDB, folder.path(), Durability::Async, &[]).unwrap();
    let error = open(&ROCKSDB, folder.path(), Durability::Async, &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("lock"), "{error}");
}

#[test]
fn libraries_that_are_no_rocksdb_are_refused_in_one_line() {
    let missing = ROCKSDB
        .with_library(Path::new("/nowhere/librocksdb.so"))
        .err()
        .unwrap()
        .to_string();
    assert!(missing.contains("/nowhere/librocksdb.so"), "{missing}");
    let program = std::env::current_exe().unwrap();
    let wrong = ROCKSDB.with_library(&program).err().unwrap().to_string();
    assert!(
        !wrong.contains('\n') && wrong.contains(program.to_str().unwrap()),
        "{wrong}"
    );
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("librocksdb.so");
    std::fs::write(&text, "no ELF file").unwrap();
    let text = ROCKSDB.with_library(&text).err().unwrap().to_string();
    assert!(text.contains("is not a shared library"), "{text}");
}

const BUILD_VARIABLE: &str = "TRUEPUT_TEST_ROCKSDB_BUILD";

/// In the process that the next test starts: one build keeps the contract, another is refused.
#[test]
fn one_build_in_child() {
    let Some(path) = std::env::var_os(BUILD_VARIABLE) else {
        return;
    };
    let engine = ROCKSDB.with_library(Path::new(&path)).unwrap();
    let build = engine.build().unwrap();
    assert_eq!(build.library.as_deref(), Some(Path::new(&path)));
    for kind in ["pessimistic", "optimistic", "batch"] {
        keeps_the_contract(
            engine.as_ref(),
            Durability::Buffered,
            &[("transactions", kind.into())],
        );
    }
    keeps_the_contract(
        engine.as_ref(),
        Durability::Async,
        &[("preset", "prefix".into())],
    );
    for other in ROCKSDB
        .library_files()
        .iter()
        .filter(|other| other.as_path() != Path::new(&path))
    {
        let folder = tempfile::tempdir().unwrap();
        let other = ROCKSDB.with_library(other).unwrap();
        assert!(other.build().unwrap().version != build.version);
        let refused = open(other.as_ref(), folder.path(), Durability::Async, &[]).err();
        assert!(matches!(refused, Some(Error::Unsupported(_))));
    }
}

#[test]
fn every_build_on_this_machine_keeps_the_contract() {
    for path in ROCKSDB.library_files() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "rocksdb::one_build_in_child", "--nocapture"])
            .env(BUILD_VARIABLE, &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}", path.display());
    }
}

#[test]
fn a_deadlock_is_told_from_a_lock_that_was_waited_for_too_long() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    deadlock::is_told_apart(&ROCKSDB, &folder.path().join("deadlock"), &[]);
    let error = deadlock::waited_too_long(&ROCKSDB, &folder.path().join("wait"), &[]);
    deadlock::another_conflict_is_none(&error);
}
