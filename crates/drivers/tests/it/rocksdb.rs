//! RocksDB's driver. Skipped where no RocksDB is on the machine:
//! `trueput engines install rocksdb` installs it.

use crate::support::{
    self, TestDatabase, deadlock, get, keeps_the_contract, levels, read, refusal, write,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use trueput_drivers::RocksDb;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, RecordSource, Value};

static ROCKSDB: RocksDb = RocksDb::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&ROCKSDB)
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_kind_of_transaction_keeps_the_contract_at_every_level() {
    let Some(engine) = engine() else { return };
    for kind in ["pessimistic", "optimistic", "batch"] {
        for level in levels(engine) {
            keeps_the_contract(engine, level, &format!("transactions={kind}"));
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_other_settings_keep_the_contract() {
    let Some(engine) = engine() else { return };
    for knobs in [
        "log_directory=log",
        "preset=prefix",
        "hash_index=true prefix_length=4",
        "compaction_style=universal compression=none",
        "bloom_bits=10 block_cache=0",
        "statistics=true max_open_files=100",
    ] {
        keeps_the_contract(engine, Durability::Buffered, knobs);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_level_that_needs_other_knobs_keeps_the_contract_with_them() {
    let Some(engine) = engine() else { return };
    let knobs = "transactions=batch track_and_verify_wals=true";
    assert!(engine.promise(Durability::Async).is_none());
    keeps_the_contract(engine, Durability::Async, knobs);
}

/// Records with these keys, and the index of the next one.
struct Keys(Vec<Vec<u8>>, usize);

impl RecordSource for Keys {
    fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        let key = self.0.get(self.1)?;
        self.1 += 1;
        Some((key.as_slice(), b"value".as_slice()))
    }
}

#[test]
fn a_load_that_fails_leaves_no_file_behind() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "transactions=batch");
    let mut session = database.session().unwrap();
    let too_long = vec![b'b'; engine.capabilities().max_key_bytes + 1];
    let loaded = session.bulk_load(&mut Keys(vec![b"a".to_vec(), too_long], 0));
    if loaded == Ok(false) {
        eprintln!("skipped: this library has no loader");
        return;
    }
    let error = loaded.unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let file = database.path().join("trueput-load.sst");
    assert!(!file.exists());
    let loaded = session.bulk_load(&mut Keys(vec![b"a".to_vec()], 0));
    assert_eq!(loaded, Ok(true));
    assert!(!file.exists(), "it is taken over");
    assert_eq!(read(&*database, b"a").unwrap(), b"value");
}

#[test]
fn settings_are_read_back_from_rocksdb() {
    let Some(engine) = engine() else { return };
    let given = "write_buffer_size=8MiB compression=none statistics=true";
    let database = TestDatabase::open(engine, Durability::Buffered, given);
    write(&*database, b"key", b"value");
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
    let settings = database.settings().unwrap();
    let expected = "CFOptions.write_buffer_size=8388608 CFOptions.compression=kNoCompression \
                    WriteOptions.disableWAL=true";
    support::reports(&settings, expected);
    let version = engine.build().unwrap().version;
    assert_eq!(settings["Version.rocksdb_version"], Value::from(version));
    let expected = "rocksdb.number.keys.written=1 background-errors=0";
    support::reports(&database.counters().unwrap(), expected);
}

#[test]
fn the_tombstones_that_a_seek_passes_over_are_counted_while_the_session_lives() {
    let Some(engine) = engine() else { return };
    for kind in ["pessimistic", "optimistic", "batch"] {
        let knobs = format!("transactions={kind}");
        let database = TestDatabase::open(engine, Durability::Buffered, &knobs);
        let mut session = database.session().unwrap();
        for deletes in [false, true] {
            session.begin(Mode::Write).unwrap();
            for key in 0..100_u8 {
                if !deletes {
                    session.put(&[key], b"value").unwrap();
                } else if key < 70 {
                    session.delete(&[key]).unwrap();
                }
            }
            session.commit().unwrap();
        }
        for (mode, passed) in [(Mode::Read, 70), (Mode::Write, 140)] {
            session.begin(mode).unwrap();
            let mut found = Vec::new();
            let visit = &mut |key: &[u8], _: &[u8]| {
                found.push(key[0]);
                ControlFlow::Break(())
            };
            session
                .scan(KeyRange::ALL, Direction::Forward, visit)
                .unwrap();
            session.commit().unwrap();
            assert_eq!(found, [70]);
            // The session still lives, and nobody has asked it.
            assert_eq!(database.tombstones_passed(), Some(passed));
            session.flush_counters().unwrap();
            let expected = format!("perf_context.internal_delete_skipped_count={passed}");
            support::reports(&database.counters().unwrap(), &expected);
        }
    }
}

#[test]
fn each_level_asks_rocksdb_for_what_it_promises() {
    let Some(engine) = engine() else { return };
    for (level, sync, without_log) in [
        (Durability::Sync, true, false),
        (Durability::Process, false, false),
        (Durability::Buffered, false, true),
    ] {
        let settings = TestDatabase::open(engine, level, "").settings().unwrap();
        let expected = format!(
            "WriteOptions.sync={sync} WriteOptions.disableWAL={without_log} \
             DBOptions.wal_recovery_mode=kPointInTimeRecovery"
        );
        support::reports(&settings, &expected);
    }
}

#[test]
fn of_two_transactions_that_meet_the_second_conflicts_at_commit_where_they_are_optimistic() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "transactions=optimistic");
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
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "transactions=batch");
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    first.begin(Mode::Write).unwrap();
    assert_eq!(get(first.as_mut(), b"key"), None);
    second.begin(Mode::Write).unwrap();
    second.put(b"key", b"value").unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    first.commit().unwrap();
}

const BUILD_VARIABLE: &str = "TRUEPUT_TEST_ROCKSDB_BUILD";

/// In the process that the next test starts: one build keeps the contract, another is refused.
#[test]
#[ignore = "slow: make test runs it"]
fn one_build_in_child() {
    let Some(path) = std::env::var_os(BUILD_VARIABLE) else {
        return;
    };
    let engine = ROCKSDB.with_library(Path::new(&path)).unwrap();
    let build = engine.build().unwrap();
    assert_eq!(build.library.as_deref(), Some(Path::new(&path)));
    for kind in ["pessimistic", "optimistic", "batch"] {
        let knobs = format!("transactions={kind}");
        keeps_the_contract(&*engine, Durability::Buffered, &knobs);
    }
    keeps_the_contract(&*engine, Durability::Process, "preset=prefix");
    let mut others = ROCKSDB.library_files();
    others.retain(|other| other.as_path() != Path::new(&path));
    for other in &others {
        let folder = tempfile::tempdir().unwrap();
        let other = ROCKSDB.with_library(other).unwrap();
        assert!(other.build().unwrap().version != build.version);
        let refused = refusal(&*other, folder.path(), Durability::Process, "");
        assert!(matches!(refused, Error::Unsupported(_)));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_build_on_this_machine_keeps_the_contract() {
    for path in ROCKSDB.library_files() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--include-ignored",
                "--exact",
                "rocksdb::one_build_in_child",
                "--nocapture",
            ])
            .env(BUILD_VARIABLE, &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}", path.display());
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_differs_from_a_lock_that_was_waited_for_too_long() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    deadlock::is_distinguished(engine, &folder.path().join("deadlock"), "");
    let error = deadlock::waited_too_long(engine, &folder.path().join("wait"), "");
    deadlock::another_conflict_is_none(&error);
}

/// 11.8.1 knows the option; 7.8.3 does not and says so by its name.
#[test]
fn logs_are_chained_or_the_library_says_that_it_cannot() {
    let Some(engine) = engine() else { return };
    let knobs = "track_and_verify_wals=true";
    let folder = tempfile::tempdir().unwrap();
    match support::open(engine, folder.path(), Durability::Process, knobs) {
        Ok(database) => {
            write(&*database, b"key", b"value");
            let settings = database.settings().unwrap();
            support::reports(&settings, "DBOptions.track_and_verify_wals=true");
        }
        Err(error) => assert!(
            error.to_string().contains("track_and_verify_wals"),
            "{error}"
        ),
    }
}

/// An audit refuted `async` with each other choice of these knobs.
#[test]
fn async_needs_chained_logs_and_batches() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (knobs, is_refused) in [
        ("", true),
        ("track_and_verify_wals=true", true),
        ("transactions=batch", true),
        ("transactions=batch track_and_verify_wals=true", false),
    ] {
        let path = folder.path().join(knobs);
        let opened = support::open(engine, &path, Durability::Async, knobs);
        match opened {
            Ok(_) => assert!(!is_refused, "{knobs}"),
            Err(error) if is_refused => assert!(error.to_string().contains("'async'"), "{error}"),
            Err(error) => {
                let is_old = error.to_string().contains("track_and_verify_wals");
                assert!(is_old, "{error}");
            }
        }
    }
}
