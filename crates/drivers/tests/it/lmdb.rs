//! The LMDB driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, open, read, write};
use trueput_drivers::Lmdb;
use trueput_engine::{Durability, Engine, Error, Mode, Value};

static LMDB: Lmdb = Lmdb::new();

const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Process];

#[test]
fn every_promised_level_opens_and_no_other_does() {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&LMDB, folder.path(), durability, &[]);
        assert_eq!(opened.is_ok(), LEVELS.contains(&durability), "{durability}");
        assert_eq!(opened.is_ok(), LMDB.promise(durability).is_some());
    }
}

#[test]
fn lmdb_reports_the_flags_that_the_promise_names() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&LMDB, folder.path(), durability, &[]).unwrap();
        let flags = database.settings().unwrap()["flags"].to_string();
        let promise = LMDB.promise(durability).unwrap();
        assert_eq!(promise.mapped_to, format!("flags={flags}"));
    }
}

#[test]
fn knobs_reach_lmdb() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("map_size", Value::from("16MiB")),
        ("max_readers", Value::Integer(9)),
        ("writemap", Value::Boolean(true)),
        ("no_read_ahead", Value::Boolean(true)),
        ("no_mem_init", Value::Boolean(true)),
    ];
    let database = open(&LMDB, folder.path(), Durability::Process, &knobs).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings["me_mapsize"], Value::Integer(16 << 20));
    assert_eq!(settings["me_maxreaders"], Value::Integer(9));
    assert_eq!(
        settings["flags"].to_string(),
        "MDB_NOSYNC+MDB_WRITEMAP+MDB_NOTLS+MDB_NORDAHEAD+MDB_NOMEMINIT"
    );
    assert_eq!(
        settings["maxkeysize"],
        Value::from(LMDB.capabilities().max_key_bytes as u64)
    );
}

#[test]
fn what_is_committed_is_there_after_reopening_at_every_level() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&LMDB, folder.path(), durability, &[]).unwrap();
        write(database.as_ref(), b"key", b"value");
        database.checkpoint().unwrap();
        assert_eq!(
            database.counters().unwrap()["ms_entries"],
            Value::Integer(1)
        );
        drop(database);
        let database = open(&LMDB, folder.path(), durability, &[]).unwrap();
        assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    }
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, &[]).unwrap();
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
    for writemap in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [
            ("writemap", Value::Boolean(writemap)),
            ("map_size", Value::from("16MiB")),
        ];
        let database = open(&LMDB, folder.path(), Durability::Process, &knobs).unwrap();
        support::scans_keep_to_their_bounds(database.as_ref());
    }
}

#[test]
fn a_full_map_is_full_and_the_database_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("map_size", Value::from("1MiB"))];
    let database = open(&LMDB, folder.path(), Durability::Process, &knobs).unwrap();
    write(database.as_ref(), b"key", b"value");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    let value = vec![7; 100_000];
    let error = (0..100_u8)
        .find_map(|number| session.put(&[number], &value).err())
        .unwrap();
    assert!(
        matches!(&error, Error::Full(text) if text.contains("map_size")),
        "{error}"
    );
    session.abort().unwrap();
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    write(database.as_ref(), b"key", b"again");
}

#[test]
fn more_sessions_than_reader_slots_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(
        &LMDB,
        folder.path(),
        Durability::Process,
        &[("max_readers", Value::Integer(3))],
    )
    .err()
    .unwrap();
    assert!(error.to_string().contains("max_readers"), "{error}");

    let knobs = [("max_readers", Value::Integer(8))];
    let database = open(&LMDB, folder.path(), Durability::Process, &knobs).unwrap();
    let sessions: Vec<_> = (0..8).map(|_| database.session().unwrap()).collect();
    let error = database.session().err().unwrap();
    assert!(
        matches!(&error, Error::Full(text) if text.contains("max_readers")),
        "{error}"
    );
    drop(sessions);
    assert!(
        database.session().is_ok(),
        "a dropped session gives its slot back"
    );
}

#[test]
fn a_second_writer_on_the_same_thread_is_a_conflict_instead_of_a_deadlock() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, &[]).unwrap();
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    first.begin(Mode::Write).unwrap();
    assert!(second.begin(Mode::Write).unwrap_err().is_conflict());
    second.begin(Mode::Read).unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    second.begin(Mode::Write).unwrap();
    second.commit().unwrap();
}

#[test]
fn a_second_opening_in_one_process_is_refused_until_the_first_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, &[]).unwrap();
    let again = open(&LMDB, folder.path(), Durability::Process, &[]);
    let error = again.err().unwrap();
    assert!(error.to_string().contains("once per process"), "{error}");
    drop(database);
    assert!(open(&LMDB, folder.path(), Durability::Process, &[]).is_ok());
}

#[test]
fn keys_beyond_the_limits_are_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, &[]).unwrap();
    let mut session = database.session().unwrap();
    let limit = LMDB.capabilities().max_key_bytes;
    assert_eq!(limit, 511);
    session.begin(Mode::Write).unwrap();
    session.put(&vec![1; limit], b"value").unwrap();
    for key in [vec![], vec![1; limit + 1]] {
        let refused = session.put(&key, b"value");
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    }
    session.commit().unwrap();
}

#[test]
fn the_version_is_the_librarys_own() {
    let version = LMDB.build().unwrap().version;
    assert!(version.starts_with("0.9."), "{version}");
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_at_any_level() {
    for durability in LEVELS {
        assert_eq!(crash(&LMDB, durability, &[]), CRASH_COMMITS, "{durability}");
    }
}
