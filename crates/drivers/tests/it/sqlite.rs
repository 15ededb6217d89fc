//! The SQLite driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, observe, open, read, write};
use std::time::{Duration, Instant};
use trueput_drivers::Sqlite;
use trueput_engine::{
    Database, Durability, Engine, EngineEvent, Error, Mode, OpenSpec, Value, parameter,
};

static SQLITE: Sqlite = Sqlite::new();

const LEVELS: [Durability; 4] = [
    Durability::Sync,
    Durability::Async,
    Durability::Process,
    Durability::None,
];

fn setting(database: &dyn Database, name: &str) -> String {
    let settings = database.settings();
    settings.map_or_else(
        |error| error.to_string(),
        |settings| settings[name].to_string(),
    )
}

#[test]
fn every_promised_level_opens_and_no_other_does() {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&SQLITE, folder.path(), durability, &[]);
        assert_eq!(opened.is_ok(), LEVELS.contains(&durability), "{durability}");
        assert_eq!(opened.is_ok(), SQLITE.promise(durability).is_some());
    }
}

#[test]
fn sqlite_reports_the_settings_that_the_promise_names() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&SQLITE, folder.path(), durability, &[]).unwrap();
        let names = ["OFF", "NORMAL", "FULL", "EXTRA"];
        let synchronous: usize = setting(&*database, "synchronous").parse().unwrap();
        let journal_mode = setting(&*database, "journal_mode");
        assert_eq!(
            SQLITE.promise(durability).unwrap().mapped_to,
            format!(
                "journal_mode={journal_mode}, synchronous={}",
                names[synchronous]
            )
        );
    }
}

#[test]
fn a_journal_mode_is_taken_only_where_it_keeps_the_promise() {
    let modes = ["wal", "delete", "truncate", "persist", "memory", "off"];
    for durability in LEVELS {
        for mode in modes {
            let folder = tempfile::tempdir().unwrap();
            let knobs = [("journal_mode", Value::from(mode))];
            let opened = open(&SQLITE, folder.path(), durability, &knobs);
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
    let knobs = |given: &[(&str, Value)]| {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        trueput_engine::parameter::resolve("sqlite", SQLITE.knobs(), &given.collect()).unwrap()
    };
    for level in Durability::ALL {
        let with_defaults = SQLITE.promise_with(level, &knobs(&[])).ok();
        assert_eq!(with_defaults, SQLITE.promise(level), "{level}");
    }
    let delete = knobs(&[("journal_mode", "delete".into())]);
    let promise = SQLITE.promise_with(Durability::Sync, &delete).unwrap();
    assert_eq!(promise.mapped_to, "journal_mode=delete, synchronous=EXTRA");
    assert!(SQLITE.promise_with(Durability::Async, &delete).is_err());
    let window = |pages: i64| {
        let knobs = knobs(&[("wal_autocheckpoint", pages.into())]);
        let promise = SQLITE.promise_with(Durability::Async, &knobs).unwrap();
        promise.window.unwrap().bytes
    };
    assert_eq!((window(10), window(0)), (Some(40_960), None));
}

#[test]
fn knobs_reach_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("page_size", Value::Integer(8192)),
        ("cache_size", Value::from("8MiB")),
        ("mmap_size", Value::from("1MiB")),
        ("wal_autocheckpoint", Value::Integer(77)),
        ("busy_timeout", Value::Integer(123)),
        ("without_rowid", Value::Boolean(false)),
    ];
    let database = open(&SQLITE, folder.path(), Durability::Process, &knobs).unwrap();
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
    support::scans_keep_to_their_bounds(database.as_ref());
}

#[test]
fn what_is_committed_is_there_after_reopening_at_every_level() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&SQLITE, folder.path(), durability, &[]).unwrap();
        write(database.as_ref(), b"key", b"old");
        write(database.as_ref(), b"key", b"value");
        database.checkpoint().unwrap();
        drop(database);
        let database = open(&SQLITE, folder.path(), durability, &[]).unwrap();
        assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    }
}

#[test]
fn the_pages_that_sessions_used_are_counted_when_they_end() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&SQLITE, folder.path(), Durability::Process, &[]).unwrap();
    write(database.as_ref(), b"key", b"value");
    let counters = database.counters().unwrap();
    assert!(
        matches!(counters["cache_write"], Value::Integer(pages) if pages > 0),
        "{counters:?}"
    );
    assert!(
        matches!(counters["page_count"], Value::Integer(pages) if pages > 1),
        "{counters:?}"
    );
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&SQLITE, folder.path(), Durability::Process, &[]).unwrap();
    write(database.as_ref(), b"kept", b"old");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"new", b"1").unwrap();
    session.delete(b"kept").unwrap();
    assert_eq!(get(session.as_mut(), b"kept"), None);
    session.abort().unwrap();
    assert_eq!(read(database.as_ref(), b"new"), None);
    assert_eq!(read(database.as_ref(), b"kept").unwrap(), b"old");
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&SQLITE, folder.path(), Durability::Process, &[]).unwrap();
    support::scans_keep_to_their_bounds(database.as_ref());
}

#[test]
fn a_snapshot_is_that_of_the_beginning_not_of_the_first_read() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&SQLITE, folder.path(), Durability::Process, &[]).unwrap();
    write(database.as_ref(), b"key", b"old");
    let mut reader = database.session().unwrap();
    reader.begin(Mode::Read).unwrap();
    write(database.as_ref(), b"key", b"new");
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
        let folder = tempfile::tempdir().unwrap();
        let timeout_ms = 30;
        let knobs = [
            ("busy_timeout", Value::Integer(timeout_ms)),
            ("busy_wait", Value::from(wait)),
        ];
        let database = open(&SQLITE, folder.path(), Durability::Process, &knobs).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("journal_mode", Value::from("delete")),
        ("busy_timeout", Value::Integer(0)),
    ];
    let database = open(&SQLITE, folder.path(), Durability::Process, &knobs).unwrap();
    write(database.as_ref(), b"key", b"old");
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
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"new");
}

#[test]
fn many_sessions_open_a_new_database_at_once() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for worker in 0..8_u8 {
                let directory = folder.path();
                scope.spawn(move || {
                    let database = open(&SQLITE, directory, durability, &[]).unwrap();
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
        let database = open(&SQLITE, folder.path(), durability, &[]).unwrap();
        for worker in 0..8_u8 {
            assert!(
                read(database.as_ref(), &[worker]).is_some(),
                "{worker} at {durability}"
            );
        }
    }
}

#[test]
fn a_value_too_long_is_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&SQLITE, folder.path(), Durability::Process, &[]).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
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
    assert_eq!(
        words.count(),
        3,
        "a date, a time and a hash follow: {version}"
    );
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_at_any_level_that_promises_it() {
    for durability in [Durability::Sync, Durability::Async, Durability::Process] {
        assert_eq!(
            crash(&SQLITE, durability, &[]),
            CRASH_COMMITS,
            "{durability}"
        );
    }
}

#[test]
fn checkpoints_and_logs_that_begin_anew_are_seen_from_outside() {
    let never = ("wal_autocheckpoint", Value::Integer(0));
    observe::a_checkpoint_is_seen(&SQLITE, Durability::Sync, &[never]);
    let often = ("wal_autocheckpoint", Value::Integer(10));
    let [written, ..] = observe::seen(&SQLITE, Durability::Async, &[often], 100);
    assert_eq!(written, [EngineEvent::CHECKPOINT, EngineEvent::LOG_SWITCH]);
    // A rollback journal has neither.
    let folder = tempfile::tempdir().unwrap();
    let given = support::settings(&[("journal_mode", "delete".into())]);
    let knobs = parameter::resolve("sqlite", SQLITE.knobs(), &given).unwrap();
    let spec = OpenSpec {
        directory: folder.path(),
        durability: Durability::Sync,
        knobs: &knobs,
        sessions: 1,
    };
    assert!(SQLITE.event_watcher(&spec).is_none());
}
