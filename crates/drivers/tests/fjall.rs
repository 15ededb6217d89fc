//! The fjall driver does what it promises.

mod support;

use support::{CRASH_COMMITS, crash, get, open, read, write};
use trueput_drivers::Fjall;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, Value};

const PROMISED: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Buffered];

fn concurrency(word: &str) -> [(&str, Value); 1] {
    [("concurrency", Value::from(word))]
}

#[test]
fn every_promised_level_opens_and_no_other_does() {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&Fjall, folder.path(), durability, &[]);
        assert_eq!(
            opened.is_ok(),
            PROMISED.contains(&durability),
            "{durability}"
        );
        assert_eq!(
            opened.is_ok(),
            Fjall.promise(durability).is_some(),
            "{durability}"
        );
    }
}

#[test]
fn what_is_committed_is_there_after_reopening_at_every_level() {
    for durability in PROMISED {
        for word in ["single-writer", "optimistic"] {
            let folder = tempfile::tempdir().unwrap();
            let knobs = concurrency(word);
            let database = open(&Fjall, folder.path(), durability, &knobs).unwrap();
            write(database.as_ref(), b"key", b"value");
            database.checkpoint().unwrap();
            drop(database);
            let database = open(&Fjall, folder.path(), durability, &knobs).unwrap();
            assert_eq!(
                read(database.as_ref(), b"key").as_deref(),
                Some(b"value".as_slice())
            );
        }
    }
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    for word in ["single-writer", "optimistic"] {
        let folder = tempfile::tempdir().unwrap();
        let knobs = concurrency(word);
        let database = open(&Fjall, folder.path(), Durability::Async, &knobs).unwrap();
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
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    for word in ["single-writer", "optimistic"] {
        let folder = tempfile::tempdir().unwrap();
        let knobs = concurrency(word);
        let database = open(&Fjall, folder.path(), Durability::Async, &knobs).unwrap();
        support::scans_keep_to_their_bounds(database.as_ref());
    }
}

#[test]
fn a_transaction_that_read_what_another_wrote_meets_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = concurrency("optimistic");
    let database = open(&Fjall, folder.path(), Durability::Async, &knobs).unwrap();
    let mut first = database.session().unwrap();
    let mut second = database.session().unwrap();
    for session in [&mut first, &mut second] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(get(session.as_mut(), b"counter"), None);
        session.put(b"counter", b"1").unwrap();
    }
    first.commit().unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    // Tried again, it goes through.
    second.begin(Mode::Write).unwrap();
    assert_eq!(
        get(second.as_mut(), b"counter").as_deref(),
        Some(b"1".as_slice())
    );
    second.put(b"counter", b"2").unwrap();
    second.commit().unwrap();
    assert_eq!(
        read(database.as_ref(), b"counter").as_deref(),
        Some(b"2".as_slice())
    );
}

#[test]
fn transactions_that_touch_different_keys_do_not_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = concurrency("optimistic");
    let database = open(&Fjall, folder.path(), Durability::Async, &knobs).unwrap();
    let mut first = database.session().unwrap();
    let mut second = database.session().unwrap();
    for (session, key) in [(&mut first, b"a"), (&mut second, b"b")] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(get(session.as_mut(), key), None);
        session.put(key, b"1").unwrap();
    }
    first.commit().unwrap();
    second.commit().unwrap();
}

#[test]
fn single_writers_on_several_threads_take_turns_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = database.session().unwrap();
                for _ in 0..250 {
                    session.begin(Mode::Write).unwrap();
                    let old = get(session.as_mut(), b"sum")
                        .map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
                    session.put(b"sum", &(old + 1).to_be_bytes()).unwrap();
                    session.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(
        read(database.as_ref(), b"sum"),
        Some(1000_u64.to_be_bytes().to_vec())
    );
}

#[test]
fn keys_that_fjall_would_panic_on_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    let long = vec![b'k'; 65_536];
    for key in [b"".as_slice(), &long] {
        assert!(matches!(
            session.put(key, b"value"),
            Err(Error::Unsupported(_))
        ));
        session.delete(key).unwrap();
        assert_eq!(get(session.as_mut(), key), None);
    }
    session.put(&long[1..], b"value").unwrap();
    session.commit().unwrap();
    assert_eq!(
        read(database.as_ref(), &long[1..]).as_deref(),
        Some(b"value".as_slice())
    );
}

#[test]
fn an_empty_range_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    write(database.as_ref(), b"m", b"m");
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let range = KeyRange::between(b"z", b"a");
    assert!(support::keys(session.as_mut(), range, Direction::Forward, 9).is_empty());
}

#[test]
fn a_second_opening_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let _database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    let error = open(&Fjall, folder.path(), Durability::Async, &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("is open already"), "{error}");
    assert!(matches!(error, Error::Engine { .. }));
}

#[test]
fn settings_are_those_that_the_database_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let made = [
        ("data_block_size", Value::Integer(8192)),
        ("compression", Value::from("lz4")),
        ("separation_threshold", Value::Integer(2048)),
        ("cache_size", Value::Integer(2 << 20)),
    ];
    drop(open(&Fjall, folder.path(), Durability::Async, &made).unwrap());
    let database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings["data_block_size_policy"], Value::from("8192"));
    assert_eq!(
        settings["data_block_compression_policy"],
        Value::from("lz4")
    );
    assert_eq!(settings["separation_threshold"], Value::Integer(2048));
    assert_eq!(
        settings["cache_capacity"],
        Value::Integer(32 << 20),
        "this one is not kept"
    );
    assert_eq!(
        database.counters().unwrap()["journal_count"],
        Value::Integer(1)
    );
}

#[test]
fn the_version_is_the_locked_one() {
    let version = Fjall.build().unwrap().version;
    let lock = include_str!("../../../Cargo.lock");
    assert!(
        lock.contains(&format!("name = \"fjall\"\nversion = \"{version}\"\n")),
        "{version}"
    );
}

#[test]
fn die_in_child() {
    support::die_if_asked(&Fjall, &[]);
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_at_sync_and_async() {
    assert_eq!(crash(&Fjall, Durability::Sync, &[]), CRASH_COMMITS);
    assert_eq!(crash(&Fjall, Durability::Async, &[]), CRASH_COMMITS);
}

#[test]
fn a_killed_process_leaves_a_prefix_at_buffered() {
    let found = crash(&Fjall, Durability::Buffered, &[]);
    assert!(
        (1..CRASH_COMMITS).contains(&found),
        "{found}: the journal's buffer is lost, no more"
    );
}
