//! The TokuDB driver keeps its promises.

use crate::support::{self, TestDatabase, begin, deadlock, keeps_the_contract, open, read, write};
use std::path::Path;
use trueput_drivers::TokuDb;
use trueput_engine::{Durability, Engine, Error, Mode};

static ENGINE: TokuDb = TokuDb::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&ENGINE)
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_with_small_nodes_compressed_or_not() {
    let Some(engine) = engine() else { return };
    for method in ["none", "zlib"] {
        let knobs = &format!("compression={method} node_size=64KiB basement_node_size=4KiB");
        keeps_the_contract(engine, Durability::Buffered, knobs);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn knobs_reach_tokudb() {
    let Some(engine) = engine() else { return };
    let knobs = "cache_size=5GiB node_size=1MiB basement_node_size=16KiB fanout=8 \
                 compression=snappy checkpoint_period=7 lock_timeout=500 lock_memory=8MiB";
    let database = TestDatabase::open(engine, Durability::Buffered, knobs);
    let expected = "cachesize=5368709120 pagesize=1048576 readpagesize=16384 fanout=8 \
                    compression_method=snappy checkpointing_period=7 lock_timeout=500 \
                    lk_max_memory=8388608 DB_TXN_NOSYNC=true";
    support::reports(&database.settings().unwrap(), expected);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_key_that_another_holds_is_a_conflict_and_the_holder_goes_on() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "lock_timeout=50");
    let (mut holder, mut other) = (database.session().unwrap(), database.session().unwrap());
    holder.begin(Mode::Write).unwrap();
    holder.put(b"key", b"holder's").unwrap();
    other.begin(Mode::Write).unwrap();
    let error = other.put(b"key", b"other's").err().unwrap();
    assert!(error.is_conflict(), "{error}");
    other.put(b"another key", b"free").unwrap();
    other.abort().unwrap();
    holder.commit().unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"holder's");
    assert_eq!(read(&*database, b"another key"), None);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_key_that_is_too_long_is_refused_and_the_longest_is_not() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "");
    let longest = vec![b'k'; engine.capabilities().max_key_bytes];
    write(&*database, &longest, b"value");
    let mut session = begin(&*database, Mode::Write);
    let error = session.put(&[longest, vec![b'k']].concat(), b"").err();
    assert!(matches!(error, Some(Error::Unsupported(_))), "{error:?}");
    session.abort().unwrap();
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
const CREATED_LAST_FIRST: [&str; 4] = [
    ".tokudb",
    "tokudb.directory",
    "tokudb.environment",
    "tokudb.rollback",
];
const CREATED: &str = "trueput.made";

#[test]
#[ignore = "slow: make test runs it"]
fn a_kill_while_the_environment_is_made_leaves_a_database_that_opens() {
    let Some(engine) = engine() else { return };
    let whole = TestDatabase::open(engine, Durability::Sync, "");
    let mut refused = 0;
    for count in 1..=CREATED_LAST_FIRST.len() {
        let absent = &CREATED_LAST_FIRST[..count];
        let left = killed_without(whole.path(), &[absent, &[CREATED]].concat());
        let database = open(engine, left.path(), Durability::Sync, "");
        let database = database.unwrap_or_else(|error| panic!("without {absent:?}: {error}"));
        write(&*database, b"key", b"value");
        assert_eq!(read(&*database, b"key").unwrap(), b"value");
        drop(database);
        // One that was whole before is left alone, whatever the library says of it.
        let damaged = killed_without(whole.path(), absent);
        refused += u32::from(open(engine, damaged.path(), Durability::Sync, "").is_err());
        let files = std::fs::read_dir(damaged.path()).unwrap().flatten();
        let mut names = files.map(|file| file.file_name().into_string().unwrap());
        assert!(names.any(|name| name.contains(".tokulog")));
    }
    assert!(refused > 0, "the control is refused");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_differs_from_a_lock_that_was_waited_for_too_long() {
    let Some(engine) = engine() else { return };
    let given = "lock_timeout=500";
    let folder = tempfile::tempdir().unwrap();
    deadlock::is_distinguished(engine, folder.path(), given);
    let folder = tempfile::tempdir().unwrap();
    let error = deadlock::waited_too_long(engine, folder.path(), given);
    deadlock::another_conflict_is_none(&error);
}
