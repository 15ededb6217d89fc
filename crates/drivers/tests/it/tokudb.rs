//! The TokuDB driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{deadlock, keeps_the_contract, open, read, write};
use std::path::Path;
use trueput_drivers::TokuDb;
use trueput_engine::{Durability, Engine, Error, Mode, Value};

static ENGINE: TokuDb = TokuDb::new();

/// Whether there is a library to test; where not, why.
fn is_here() -> bool {
    match ENGINE.build() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

#[test]
fn every_promised_level_opens_and_no_other_does() {
    if !is_here() {
        return;
    }
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&ENGINE, folder.path(), durability, &[]);
        let wanted = [Durability::Sync, Durability::Buffered].contains(&durability);
        assert_eq!(opened.is_ok(), wanted, "{durability}");
        assert_eq!(opened.is_ok(), ENGINE.promise(durability).is_some());
    }
}

#[test]
fn the_contract_is_kept_with_small_nodes_compressed_or_not() {
    if !is_here() {
        return;
    }
    for method in ["none", "zlib"] {
        let knobs = [
            ("compression", Value::from(method)),
            ("node_size", Value::from("64KiB")),
            ("basement_node_size", Value::from("4KiB")),
        ];
        keeps_the_contract(&ENGINE, Durability::Buffered, &knobs);
    }
}

#[test]
fn knobs_reach_tokudb() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("cache_size", Value::from("5GiB")),
        ("node_size", Value::from("1MiB")),
        ("basement_node_size", Value::from("16KiB")),
        ("fanout", Value::Integer(8)),
        ("compression", Value::from("snappy")),
        ("checkpoint_period", Value::Integer(7)),
        ("lock_timeout", Value::Integer(500)),
        ("lock_memory", Value::from("8MiB")),
    ];
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &knobs).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings["cachesize"], Value::Integer(5 << 30));
    assert_eq!(settings["pagesize"], Value::Integer(1 << 20));
    assert_eq!(settings["readpagesize"], Value::Integer(16 << 10));
    assert_eq!(settings["fanout"], Value::Integer(8));
    assert_eq!(settings["compression_method"], Value::from("snappy"));
    assert_eq!(settings["checkpointing_period"], Value::Integer(7));
    assert_eq!(settings["lock_timeout"], Value::Integer(500));
    assert_eq!(settings["lk_max_memory"], Value::Integer(8 << 20));
    assert_eq!(settings["DB_TXN_NOSYNC"], Value::Boolean(true));
}

#[test]
fn a_key_that_another_holds_is_a_conflict_and_the_holder_goes_on() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("lock_timeout", Value::Integer(50))];
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &knobs).unwrap();
    let (mut holder, mut other) = (database.session().unwrap(), database.session().unwrap());
    holder.begin(Mode::Write).unwrap();
    holder.put(b"key", b"holder's").unwrap();
    other.begin(Mode::Write).unwrap();
    let error = other.put(b"key", b"other's").err().unwrap();
    assert!(error.is_conflict(), "{error}");
    other.put(b"another key", b"free").unwrap();
    other.abort().unwrap();
    holder.commit().unwrap();
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"holder's");
    assert_eq!(read(database.as_ref(), b"another key"), None);
}

#[test]
fn a_database_that_is_open_is_refused_and_stays_whole() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Sync, &[]).unwrap();
    write(database.as_ref(), b"key", b"value");
    let error = open(&ENGINE, folder.path(), Durability::Sync, &[]).err();
    let error = error.unwrap().to_string();
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    drop(database);
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &[]).unwrap();
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
}

#[test]
fn a_key_that_is_too_long_is_refused_and_the_longest_is_not() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &[]).unwrap();
    let longest = vec![b'k'; ENGINE.capabilities().max_key_bytes];
    write(database.as_ref(), &longest, b"value");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    let error = session.put(&[longest, vec![b'k']].concat(), b"").err();
    assert!(matches!(error, Some(Error::Unsupported(_))), "{error:?}");
    session.abort().unwrap();
}

#[test]
fn another_engines_library_is_refused_in_one_line() {
    if !is_here() {
        return;
    }
    let library = std::env::current_exe().unwrap();
    let error = ENGINE.with_library(&library).err().unwrap().to_string();
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn a_killed_process_loses_nothing_where_each_commit_is_flushed() {
    if !is_here() {
        return;
    }
    assert_eq!(crash(&ENGINE, Durability::Sync, &[]), CRASH_COMMITS);
}

#[test]
fn a_killed_process_loses_what_was_in_the_logs_buffer() {
    if !is_here() {
        return;
    }
    let found = crash(&ENGINE, Durability::Buffered, &[]);
    assert!(found < CRASH_COMMITS, "{found}");
}

/// A copy of the folder of an open database, as a kill would leave it, without some of its files.
fn killed_without(open: &Path, absent: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(open).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !absent.iter().any(|end| name.ends_with(end)) {
            std::fs::copy(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    folder
}

/// The files of a new environment, the last to be made first.
const IN_TURN: [&str; 4] = [
    ".tokudb",
    "tokudb.directory",
    "tokudb.environment",
    "tokudb.rollback",
];
const MADE: &str = "trueput.made";

#[test]
fn a_kill_while_the_environment_is_made_leaves_a_database_that_opens() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _whole = open(&ENGINE, folder.path(), Durability::Sync, &[]).unwrap();
    let mut refused = 0;
    for count in 1..=IN_TURN.len() {
        let absent = &IN_TURN[..count];
        let left = killed_without(folder.path(), &[absent, &[MADE]].concat());
        let database = open(&ENGINE, left.path(), Durability::Sync, &[]);
        let database = database.unwrap_or_else(|error| panic!("without {absent:?}: {error}"));
        write(database.as_ref(), b"key", b"value");
        assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
        drop(database);
        // One that was whole before is left alone, whatever the library says of it.
        let damaged = killed_without(folder.path(), absent);
        refused += u32::from(open(&ENGINE, damaged.path(), Durability::Sync, &[]).is_err());
        let files = std::fs::read_dir(damaged.path()).unwrap().flatten();
        let mut names = files.map(|file| file.file_name().into_string().unwrap());
        assert!(names.any(|name| name.contains(".tokulog")));
    }
    assert!(refused > 0, "the control is refused");
}

#[test]
fn a_deadlock_is_told_from_a_lock_that_was_waited_for_too_long() {
    if !is_here() {
        return;
    }
    let given = [("lock_timeout", Value::Integer(500))];
    let folder = tempfile::tempdir().unwrap();
    deadlock::is_told_apart(&ENGINE, folder.path(), &given);
    let folder = tempfile::tempdir().unwrap();
    let error = deadlock::waited_too_long(&ENGINE, folder.path(), &given);
    deadlock::another_conflict_is_none(&error);
}
