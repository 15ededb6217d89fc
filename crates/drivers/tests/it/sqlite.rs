//! The SQLite driver keeps its promises.

use crate::support::{self, TestDatabase, begin, get, levels, observe, open, read, resolve, write};
use std::time::{Duration, Instant};
use trueput_drivers::Sqlite;
use trueput_engine::{Database, Durability, Engine, EngineEvent, Error, Mode, OpenSpec, Value};

static SQLITE: Sqlite = Sqlite::new();

fn setting(database: &dyn Database, name: &str) -> String {
    database.settings().unwrap()[name].to_string()
}

#[test]
fn sqlite_reports_the_settings_that_the_promise_names() {
    for durability in levels(&SQLITE) {
        let database = TestDatabase::open(&SQLITE, durability, "");
        let number: usize = setting(&*database, "synchronous").parse().unwrap();
        let synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"][number];
        let journal_mode = setting(&*database, "journal_mode");
        let expected = format!("journal_mode={journal_mode}, synchronous={synchronous}");
        assert_eq!(SQLITE.promise(durability).unwrap().mapped_to, expected);
    }
}

#[test]
fn a_journal_mode_is_taken_only_where_it_keeps_the_promise() {
    let modes = ["wal", "delete", "truncate", "persist", "memory", "off"];
    for durability in levels(&SQLITE) {
        for mode in modes {
            let folder = tempfile::tempdir().unwrap();
            let knobs = &format!("journal_mode={mode}");
            let opened = open(&SQLITE, folder.path(), durability, knobs);
            let keeps = match durability {
                Durability::Async => mode == "wal",
                Durability::None => matches!(mode, "memory" | "off"),
                _ => !matches!(mode, "memory" | "off"),
            };
            assert_eq!(opened.is_ok(), keeps, "{mode} at {durability}");
            match opened {
                Ok(database) => {
                    assert_eq!(setting(&*database, "journal_mode"), mode);
                    let is_extra = durability == Durability::Sync && mode != "wal";
                    assert_eq!(setting(&*database, "synchronous") == "3", is_extra);
                }
                Err(error) => assert!(error.to_string().contains(mode), "{error}"),
            }
        }
    }
}

#[test]
fn the_promise_names_what_the_knobs_make_of_it() {
    let promise = |level, knobs| SQLITE.promise_with(level, &resolve(&SQLITE, knobs));
    for level in Durability::ALL {
        assert_eq!(promise(level, "").ok(), SQLITE.promise(level), "{level}");
    }
    let delete = promise(Durability::Sync, "journal_mode=delete").unwrap();
    assert_eq!(delete.mapped_to, "journal_mode=delete, synchronous=EXTRA");
    assert!(promise(Durability::Async, "journal_mode=delete").is_err());
    let window = |knobs| promise(Durability::Async, knobs).unwrap().window.unwrap();
    assert_eq!(window("wal_autocheckpoint=10").bytes, Some(40_960));
    assert_eq!(window("wal_autocheckpoint=0").bytes, None);
}

#[test]
fn knobs_reach_sqlite() {
    let knobs = "page_size=8192 cache_size=8MiB mmap_size=1MiB wal_autocheckpoint=77 \
                 busy_timeout=123 without_rowid=false";
    let database = TestDatabase::open(&SQLITE, Durability::Process, knobs);
    let expected = [
        ("page_size", "8192"),
        ("cache_size", "-8192"),
        ("mmap_size", "1048576"),
        ("wal_autocheckpoint", "77"),
        ("busy_timeout", "123"),
    ];
    for (name, value) in expected {
        assert_eq!(setting(&*database, name), value, "{name}");
    }
    assert!(!setting(&*database, "schema").contains("ROWID"));
    support::scans_keep_to_their_bounds(&*database);
}

#[test]
fn the_pages_that_sessions_used_are_counted_when_they_end() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "");
    write(&*database, b"key", b"value");
    let counters = database.counters().unwrap();
    for (name, least) in [("cache_write", 1), ("page_count", 2)] {
        let is_counted = matches!(counters[name], Value::Integer(pages) if pages >= least);
        assert!(is_counted, "{counters:?}");
    }
}

#[test]
fn a_snapshot_is_that_of_the_beginning_not_of_the_first_read() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "");
    write(&*database, b"key", b"old");
    let mut reader = begin(&*database, Mode::Read);
    write(&*database, b"key", b"new");
    for _ in 0..2 {
        assert_eq!(get(reader.as_mut(), b"key").unwrap(), b"old");
    }
    reader.commit().unwrap();
    reader.begin(Mode::Read).unwrap();
    assert_eq!(get(reader.as_mut(), b"key").unwrap(), b"new");
}

#[test]
fn a_second_writer_conflicts_after_the_timeout_and_may_try_again() {
    for wait in ["sqlite", "short"] {
        let timeout_ms = 30;
        let knobs = &format!("busy_timeout={timeout_ms} busy_wait={wait}");
        let database = TestDatabase::open(&SQLITE, Durability::Process, knobs);
        let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
        first.begin(Mode::Write).unwrap();
        let began = Instant::now();
        let error = second.begin(Mode::Write).unwrap_err();
        assert!(error.is_conflict(), "{error}");
        assert!(began.elapsed() >= Duration::from_millis(timeout_ms as u64 / 2));
        first.commit().unwrap();
        second.begin(Mode::Write).unwrap();
        second.commit().unwrap();
    }
}

#[test]
fn a_commit_that_readers_keep_out_is_a_conflict_and_rolled_back() {
    let knobs = "journal_mode=delete busy_timeout=0";
    let database = TestDatabase::open(&SQLITE, Durability::Process, knobs);
    write(&*database, b"key", b"old");
    let (mut reader, mut writer) = (database.session().unwrap(), database.session().unwrap());
    reader.begin(Mode::Read).unwrap();
    writer.begin(Mode::Write).unwrap();
    writer.put(b"key", b"new").unwrap();
    assert!(writer.commit().unwrap_err().is_conflict());
    assert_eq!(get(reader.as_mut(), b"key").unwrap(), b"old");
    reader.commit().unwrap();
    writer.begin(Mode::Write).unwrap();
    writer.put(b"key", b"new").unwrap();
    writer.commit().unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"new");
}

#[test]
fn many_sessions_open_a_new_database_at_once() {
    for durability in levels(&SQLITE) {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for worker in 0..8_u8 {
                let directory = folder.path();
                scope.spawn(move || {
                    let database = open(&SQLITE, directory, durability, "").unwrap();
                    let mut session = database.session().unwrap();
                    loop {
                        session.begin(Mode::Write).unwrap();
                        session.put(&[worker], b"here").unwrap();
                        match session.commit() {
                            Err(error) if error.is_conflict() => {}
                            outcome => return outcome.unwrap(),
                        }
                    }
                });
            }
        });
        let database = open(&SQLITE, folder.path(), durability, "").unwrap();
        for worker in 0..8_u8 {
            assert!(
                read(&*database, &[worker]).is_some(),
                "{worker} at {durability}"
            );
        }
    }
}

#[test]
fn a_value_too_long_is_unsupported() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "");
    let mut session = begin(&*database, Mode::Write);
    // Zero pages that nothing touches: SQLite refuses by the length alone.
    let refused = session.put(b"key", &vec![0; 1_000_000_001]);
    assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    session.abort().unwrap();
}

#[test]
fn the_version_is_the_librarys_own_with_its_source() {
    let version = SQLITE.build().unwrap().version;
    let mut words = version.split(' ');
    assert!(words.next().unwrap().starts_with("3."), "{version}");
    // A date, a time and a hash follow.
    assert_eq!(words.count(), 3, "{version}");
}

#[test]
fn checkpoints_and_logs_that_begin_anew_are_seen_from_outside() {
    observe::a_checkpoint_is_seen(&SQLITE, Durability::Sync, "wal_autocheckpoint=0");
    let often = "wal_autocheckpoint=10";
    let [written, ..] = observe::seen(&SQLITE, Durability::Async, often, 100);
    assert_eq!(written, [EngineEvent::CHECKPOINT, EngineEvent::LOG_SWITCH]);
    // A rollback journal has neither.
    let folder = tempfile::tempdir().unwrap();
    let spec = OpenSpec {
        directory: folder.path(),
        durability: Durability::Sync,
        knobs: &resolve(&SQLITE, "journal_mode=delete"),
        sessions: 1,
    };
    assert!(SQLITE.event_watcher(&spec).is_none());
}
