//! The redb driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, open, read, write};
use trueput_drivers::Redb;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, Value};

const SPARSE: &[(&str, Value)] = &[("commits_per_sync", Value::Integer(1000))];

#[test]
fn every_promised_level_opens_and_no_other_does() {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&Redb, folder.path(), durability, &[]);
        assert_eq!(
            opened.is_ok(),
            Redb.promise(durability).is_some(),
            "{durability}"
        );
        if let Err(error) = opened {
            let text = format!("redb does not support durability '{durability}'");
            assert_eq!(error, Error::Unsupported(text));
        }
    }
}

#[test]
fn settings_other_than_the_defaults_keep_the_contract() {
    let knobs = [
        ("cache_size", Value::Integer(1 << 20)),
        ("quick_repair", Value::Boolean(true)),
        ("commits_per_sync", Value::Integer(2)),
    ];
    for durability in [Durability::Sync, Durability::Buffered] {
        support::keeps_the_contract(&Redb, durability, &knobs);
    }
}

#[test]
fn what_is_committed_is_there_after_reopening_at_every_level() {
    for durability in [Durability::Sync, Durability::Buffered] {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&Redb, folder.path(), durability, &[]).unwrap();
        write(database.as_ref(), b"key", b"value");
        drop(database);
        let database = open(&Redb, folder.path(), durability, &[]).unwrap();
        assert_eq!(
            read(database.as_ref(), b"key").as_deref(),
            Some(b"value".as_slice())
        );
    }
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Sync, &[]).unwrap();
    write(database.as_ref(), b"kept", b"old");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"new", b"1").unwrap();
    session.delete(b"kept").unwrap();
    assert_eq!(
        get(session.as_mut(), b"new").as_deref(),
        Some(b"1".as_slice())
    );
    assert_eq!(get(session.as_mut(), b"kept"), None);
    session.abort().unwrap();
    assert_eq!(read(database.as_ref(), b"new"), None);
    assert_eq!(
        read(database.as_ref(), b"kept").as_deref(),
        Some(b"old".as_slice())
    );
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Buffered, &[]).unwrap();
    support::scans_keep_to_their_bounds(database.as_ref());
}

#[test]
fn calls_out_of_turn_are_refused_and_leave_the_session_usable() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Sync, &[]).unwrap();
    let mut session = database.session().unwrap();
    assert!(session.commit().is_err() && session.abort().is_err());
    assert!(session.get(b"key", &mut |_| ()).is_err());
    session.begin(Mode::Read).unwrap();
    assert!(session.begin(Mode::Read).is_err());
    assert!(matches!(
        session.put(b"key", b"value"),
        Err(Error::Unsupported(_))
    ));
    assert!(matches!(session.delete(b"key"), Err(Error::Unsupported(_))));
    session.commit().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"key", b"value").unwrap();
    session.commit().unwrap();
}

#[test]
fn a_reader_keeps_its_snapshot_while_a_writer_commits() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Sync, &[]).unwrap();
    write(database.as_ref(), b"key", b"old");
    let mut reader = database.session().unwrap();
    reader.begin(Mode::Read).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| write(database.as_ref(), b"key", b"new"));
    });
    assert_eq!(
        get(reader.as_mut(), b"key").as_deref(),
        Some(b"old".as_slice())
    );
    reader.commit().unwrap();
    assert_eq!(
        read(database.as_ref(), b"key").as_deref(),
        Some(b"new".as_slice())
    );
}

#[test]
fn a_second_opening_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let _database = open(&Redb, folder.path(), Durability::Sync, &[]).unwrap();
    let error = open(&Redb, folder.path(), Durability::Sync, &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("is open already"), "{error}");
    assert!(matches!(error, Error::Engine { .. }));
}

#[test]
fn the_file_says_its_page_size_and_how_it_was_committed() {
    for two_phase in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("two_phase_commit", Value::Boolean(two_phase))];
        let database = open(&Redb, folder.path(), Durability::Sync, &knobs).unwrap();
        write(database.as_ref(), b"key", b"value");
        let settings = database.settings().unwrap();
        assert_eq!(settings["page_size"], Value::Integer(4096));
        assert_eq!(settings["last_commit_two_phase"], Value::Boolean(two_phase));
        assert_eq!(database.counters().unwrap()["len"], Value::Integer(1));
    }
}

#[test]
fn the_version_is_the_locked_one() {
    let version = Redb.build().unwrap().version;
    let lock = include_str!("../../../../Cargo.lock");
    assert!(
        lock.contains(&format!("name = \"redb\"\nversion = \"{version}\"\n")),
        "{version}"
    );
}

#[test]
fn a_checkpoint_makes_buffered_commits_durable() {
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Buffered, &[]).unwrap();
    let snapshot = || {
        // What a crash at this moment would leave: the file as it is, without the process.
        std::fs::copy(
            folder.path().join("data.redb"),
            copy.path().join("data.redb"),
        )
        .unwrap();
        let crashed = open(&Redb, copy.path(), Durability::Sync, &[]).unwrap();
        read(crashed.as_ref(), b"key")
    };
    write(database.as_ref(), b"key", b"value");
    assert_eq!(
        snapshot(),
        None,
        "the control: before the checkpoint the commit is lost"
    );
    database.checkpoint().unwrap();
    assert_eq!(snapshot().as_deref(), Some(b"value".as_slice()));
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_at_sync() {
    assert_eq!(crash(&Redb, Durability::Sync, SPARSE), CRASH_COMMITS);
}

#[test]
fn a_killed_process_falls_back_to_the_last_durable_commit_at_buffered() {
    assert_eq!(crash(&Redb, Durability::Buffered, SPARSE), 2000);
}

#[test]
fn an_empty_range_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Redb, folder.path(), Durability::Sync, &[]).unwrap();
    write(database.as_ref(), b"m", b"m");
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let range = KeyRange::between(b"z", b"a");
    assert!(support::keys(session.as_mut(), range, Direction::Forward, 9).is_empty());
}
