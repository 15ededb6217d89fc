//! Claims that several drivers share: a test for each engine and claim, as in `conformance.rs`.
//! Tests of a single engine are in the file of its name.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, TestDatabase, begin, get, levels, open, read, refusal, write};
use std::ops::RangeInclusive;
use std::path::Path;
use trueput_engine::{Database, Durability, Engine, Error, Mode, Value};
use trueput_record::Survival;

/// Engines of which each library on this machine is tested.
const ALL_BUILDS: [&str; 2] = ["leveldb", "wiredtiger"];

/// Calls `test` with each build that is to be tested.
fn with_builds(name: &str, test: impl Fn(&dyn Engine)) {
    let engine = support::engine(name);
    if ALL_BUILDS.contains(&name) {
        let builds = support::builds(engine);
        builds.iter().for_each(|build| test(&**build));
    } else if let Some(engine) = support::installed(engine) {
        test(engine);
    }
}

/// Calls `test` with a new database of each build with each of these knobs, at a level that flushes
/// least.
fn with_databases(name: &str, knobs: &[&str], test: impl Fn(&dyn Database)) {
    with_builds(name, |engine| {
        let is_kept = |level: &Durability| *level != Durability::None;
        let level = levels(engine).filter(is_kept).last().unwrap();
        for knobs in knobs {
            test(&*TestDatabase::open(engine, level, knobs));
        }
    });
}

fn every_promised_level_opens_and_no_other_does(name: &str, _: &[&str]) {
    with_builds(name, |engine| {
        for durability in Durability::ALL {
            let folder = tempfile::tempdir().unwrap();
            let opened = open(engine, folder.path(), durability, "");
            let is_promised = engine.promise(durability).is_some();
            assert_eq!(opened.is_ok(), is_promised, "{durability}");
            if let Err(error) = opened {
                let text = format!("{name} does not support durability '{durability}'");
                assert_eq!(error, Error::Unsupported(text));
            }
        }
    });
}

fn what_is_committed_is_there_after_reopening_at_every_level(name: &str, knobs: &[&str]) {
    with_builds(name, |engine| {
        for durability in levels(engine) {
            for knobs in knobs {
                let database = TestDatabase::open(engine, durability, knobs);
                write(&*database, b"key", b"old");
                write(&*database, b"key", b"value");
                database.checkpoint().unwrap();
                let database = database.reopen(engine, durability, knobs);
                assert_eq!(read(&*database, b"key").unwrap(), b"value");
            }
        }
    });
}

fn an_aborted_transaction_leaves_nothing(name: &str, knobs: &[&str]) {
    with_databases(name, knobs, |database| {
        write(database, b"kept", b"old");
        let mut session = begin(database, Mode::Write);
        session.put(b"new", b"1").unwrap();
        session.delete(b"kept").unwrap();
        assert_eq!(get(&mut *session, b"new").unwrap(), b"1");
        assert_eq!(get(&mut *session, b"kept"), None);
        session.abort().unwrap();
        assert_eq!(read(database, b"new"), None);
        assert_eq!(read(database, b"kept").unwrap(), b"old");
    });
}

fn scans_keep_to_their_bounds_in_both_directions(name: &str, knobs: &[&str]) {
    with_databases(name, knobs, support::scans_keep_to_their_bounds);
}

/// In one line, and the first one goes on; closed, the database opens again, at another level too.
fn a_second_opening_is_refused_in_words(name: &str, _: &[&str]) {
    let words = match name {
        "lmdb" | "berkeleydb" => "once per process",
        "rocksdb" => "lock",
        "wiredtiger" => "already",
        "tokudb" => "",
        _ => "is open already",
    };
    with_builds(name, |engine| {
        let level = levels(engine).last().unwrap();
        let database = TestDatabase::open(engine, level, "");
        write(&*database, b"key", b"value");
        let error = refusal(engine, database.path(), level, "");
        let is_own = matches!(error, Error::Engine { .. });
        assert!(is_own || words != "is open already", "{error:?}");
        let text = error.to_string();
        assert!(text.contains(words) && !text.contains('\n'), "{text}");
        assert_eq!(read(&*database, b"key").unwrap(), b"value");
        let database = database.reopen(engine, levels(engine).next().unwrap(), "");
        assert_eq!(read(&*database, b"key").unwrap(), b"value");
    });
}

/// The knobs that a crash is tried with: the first, or all where they choose another storage.
fn crash_knobs<'k>(name: &str, knobs: &'k [&'k str]) -> &'k [&'k str] {
    match name {
        "wiredtiger" => knobs,
        _ => &knobs[..1],
    }
}

/// At the levels that outlive a killed process.
fn a_killed_process_loses_no_acknowledged_commit(name: &str, knobs: &[&str]) {
    let survives = |level: &Durability| level.after_killed_processes() == Survival::EveryCommit;
    with_builds(name, |engine| {
        for level in levels(engine).filter(survives) {
            for knobs in crash_knobs(name, knobs) {
                let left = crash(engine, level, knobs);
                assert_eq!(left, CRASH_COMMITS, "{level} {knobs}");
            }
        }
    });
}

/// `crash` checks that it is a prefix; its length depends on the engine's buffer.
fn a_killed_process_leaves_a_prefix_at_buffered(name: &str, knobs: &[&str]) {
    const LESS: u64 = CRASH_COMMITS - 1;
    let expected: RangeInclusive<u64> = match name {
        // The log's buffer is lost, no more.
        "berkeleydb" => 1..=LESS,
        "tokudb" => 0..=LESS,
        // Every thousandth commit is durable.
        "redb" => 2000..=2000,
        // Nothing was written out of memory yet.
        "rocksdb" => 0..=0,
        _ => 0..=CRASH_COMMITS,
    };
    with_builds(name, |engine| {
        for knobs in crash_knobs(name, knobs) {
            let left = crash(engine, Durability::Buffered, knobs);
            assert!(expected.contains(&left), "{left} {knobs}");
        }
    });
}

fn a_file_that_is_no_library_of_the_engine_is_refused_in_one_line(name: &str, _: &[&str]) {
    let engine = support::engine(name);
    let refusal = |path: &Path| {
        let text = engine.with_library(path).err().unwrap().to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    };
    let missing = refusal(Path::new("/nowhere/lib.so"));
    assert!(missing.contains("cannot read /nowhere/lib.so"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("lib.so");
    std::fs::write(&text, "no ELF file").unwrap();
    let text = refusal(&text);
    assert!(text.contains("is not a shared library"), "{text}");
    let program = std::env::current_exe().unwrap();
    let wrong = refusal(&program);
    assert!(wrong.contains(program.to_str().unwrap()), "{wrong}");
    let folders = [
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let mut others = folders
        .map(|folder| Path::new(folder).join("libm.so.6"))
        .into_iter();
    let Some(other) = others.find(|path| path.is_file()) else {
        eprintln!("skipped: this machine has no libm.so.6");
        return;
    };
    let first_symbol = match name {
        "lmdb" => "lacks mdb_version: ",
        "sqlite" => "lacks sqlite3_libversion: ",
        "leveldb" => "lacks leveldb_open: ",
        "wiredtiger" => "lacks wiredtiger_open: ",
        _ => "",
    };
    let text = refusal(&other);
    let expected = format!("{first_symbol}it is not {}", engine.info().title);
    assert!(text.contains(&expected), "{text}");
}

/// The engines whose flags are their settings.
fn the_flags_that_are_reported_are_those_that_the_promise_names(name: &str, knobs: &[&str]) {
    with_builds(name, |engine| {
        for durability in levels(engine) {
            for knobs in knobs {
                let database = TestDatabase::open(engine, durability, knobs);
                let flags = &database.settings().unwrap()["flags"];
                let promise = engine.promise_with(durability, &support::resolve(engine, knobs));
                assert_eq!(promise.unwrap().mapped_to, format!("flags={flags}"));
            }
        }
    });
}

fn a_full_map_is_full_and_the_database_lives_on(name: &str, _: &[&str]) {
    let knob = match name {
        "lmdb" => "map_size",
        _ => "size_upper",
    };
    with_databases(name, &[&format!("{knob}=1MiB")], |database| {
        write(database, b"key", b"value");
        support::reports(&database.counters().unwrap(), "ms_entries=1");
        let mut session = begin(database, Mode::Write);
        let mut puts = (0..100_u8).map(|number| session.put(&[number], &[7; 100_000]));
        let error = puts.find_map(Result::err).unwrap();
        is_full(&error, knob);
        session.abort().unwrap();
        assert_eq!(read(database, b"key").unwrap(), b"value");
        write(database, b"key", b"again");
    });
}

fn is_full(error: &Error, knob: &str) {
    let names_the_knob = matches!(&error, Error::Full(text) if text.contains(knob));
    assert!(names_the_knob, "{error}");
}

/// A dropped session gives its slot back.
fn more_sessions_than_reader_slots_are_refused_by_name(name: &str, _: &[&str]) {
    let reported = match name {
        "lmdb" => "me_maxreaders",
        _ => "mi_maxreaders",
    };
    with_builds(name, |engine| {
        let folder = tempfile::tempdir().unwrap();
        let error = refusal(engine, folder.path(), Durability::Process, "max_readers=3");
        assert!(error.to_string().contains("max_readers"), "{error}");
    });
    with_databases(name, &["max_readers=8"], |database| {
        let Value::Integer(slots) = database.settings().unwrap()[reported] else {
            unreachable!("a number of slots")
        };
        // libmdbx rounds the number up.
        assert!(slots >= 8 && (slots == 8 || name != "lmdb"), "{slots}");
        let sessions: Vec<_> = (0..slots).map(|_| database.session().unwrap()).collect();
        is_full(&database.session().err().unwrap(), "max_readers");
        drop(sessions);
        assert!(database.session().is_ok());
    });
}

/// An engine that does not report its version when it runs.
fn the_version_is_the_locked_one(name: &str, _: &[&str]) {
    let version = support::engine(name).build().unwrap().version;
    let lock = include_str!("../../../../Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    assert!(lock.contains(&entry), "{version}");
}

/// A module for each engine, with a test for each claim, which holds with each of the knobs.
macro_rules! tests {
    ($($engine:ident $knobs:tt: $($(#[$slow:meta])? $claim:ident)*;)*) => {
        $(
            mod $engine {
                $(
                    #[test]
                    $(#[$slow])?
                    fn $claim() {
                        super::$claim(stringify!($engine), &$knobs);
                    }
                )*
            }
        )*
    };
}

tests! {
    lmdb ["map_size=16MiB", "writemap=true map_size=16MiB"]:
        every_promised_level_opens_and_no_other_does
        what_is_committed_is_there_after_reopening_at_every_level
        an_aborted_transaction_leaves_nothing
        scans_keep_to_their_bounds_in_both_directions
        a_second_opening_is_refused_in_words
        the_flags_that_are_reported_are_those_that_the_promise_names
        a_full_map_is_full_and_the_database_lives_on
        more_sessions_than_reader_slots_are_refused_by_name
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    sqlite ["", "without_rowid=false"]:
        every_promised_level_opens_and_no_other_does
        what_is_committed_is_there_after_reopening_at_every_level
        an_aborted_transaction_leaves_nothing
        scans_keep_to_their_bounds_in_both_directions
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    redb ["commits_per_sync=1000"]:
        every_promised_level_opens_and_no_other_does
        what_is_committed_is_there_after_reopening_at_every_level
        an_aborted_transaction_leaves_nothing
        scans_keep_to_their_bounds_in_both_directions
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        #[ignore = "slow: make test runs it"]
        a_killed_process_leaves_a_prefix_at_buffered
        the_version_is_the_locked_one;
    fjall ["concurrency=single-writer", "concurrency=optimistic"]:
        every_promised_level_opens_and_no_other_does
        what_is_committed_is_there_after_reopening_at_every_level
        an_aborted_transaction_leaves_nothing
        scans_keep_to_their_bounds_in_both_directions
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        the_version_is_the_locked_one;
    rocksdb [""]:
        #[ignore = "slow: make test runs it"]
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        #[ignore = "slow: make test runs it"]
        a_killed_process_leaves_a_prefix_at_buffered
        #[ignore = "slow: make test runs it"]
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    leveldb [""]:
        scans_keep_to_their_bounds_in_both_directions
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    berkeleydb [""]:
        #[ignore = "slow: make test runs it"]
        every_promised_level_opens_and_no_other_does
        #[ignore = "slow: make test runs it"]
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        #[ignore = "slow: make test runs it"]
        a_killed_process_leaves_a_prefix_at_buffered
        #[ignore = "slow: make test runs it"]
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    wiredtiger ["table=btree", "table=lsm"]:
        #[ignore = "slow: make test runs it"]
        scans_keep_to_their_bounds_in_both_directions
        #[ignore = "slow: make test runs it"]
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        #[ignore = "slow: make test runs it"]
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    tokudb [""]:
        #[ignore = "slow: make test runs it"]
        every_promised_level_opens_and_no_other_does
        #[ignore = "slow: make test runs it"]
        a_second_opening_is_refused_in_words
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        #[ignore = "slow: make test runs it"]
        a_killed_process_leaves_a_prefix_at_buffered
        #[ignore = "slow: make test runs it"]
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
    mdbx ["", "writemap=true", "async_by=no-meta-sync"]:
        every_promised_level_opens_and_no_other_does
        what_is_committed_is_there_after_reopening_at_every_level
        scans_keep_to_their_bounds_in_both_directions
        the_flags_that_are_reported_are_those_that_the_promise_names
        a_full_map_is_full_and_the_database_lives_on
        more_sessions_than_reader_slots_are_refused_by_name
        #[ignore = "slow: make test runs it"]
        a_killed_process_loses_no_acknowledged_commit
        a_file_that_is_no_library_of_the_engine_is_refused_in_one_line;
}
