//! The fjall driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, open, read, write};
use std::os::unix::fs::FileExt;
use trueput_drivers::Fjall;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, Result, Value};

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
fn settings_other_than_the_defaults_keep_the_contract() {
    let knobs = [
        ("concurrency", Value::from("optimistic")),
        ("persist_mode", Value::from("sync_data")),
        ("max_memtable_size", Value::Integer(1 << 20)),
        ("worker_threads", Value::Integer(1)),
        ("compression", Value::from("none")),
        ("expect_point_read_hits", Value::Boolean(true)),
        ("separation_threshold", Value::Integer(1024)),
    ];
    for durability in PROMISED {
        support::keeps_the_contract(&Fjall, durability, &knobs);
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
fn bounds_that_fjall_would_panic_on_find_the_records_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Fjall, folder.path(), Durability::Async, &[]).unwrap();
    let long = vec![b'k'; 65_536];
    let longest = &long[1..];
    write(database.as_ref(), longest, longest);
    write(database.as_ref(), b"l", b"l");
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let below = KeyRange::between(b"a", &long);
    assert_eq!(
        support::keys(session.as_mut(), below, Direction::Forward, 9),
        [longest]
    );
    let above = KeyRange::from(&long);
    assert_eq!(
        support::keys(session.as_mut(), above, Direction::Backward, 9),
        [b"l"]
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
    let lock = include_str!("../../../../Cargo.lock");
    assert!(
        lock.contains(&format!("name = \"fjall\"\nversion = \"{version}\"\n")),
        "{version}"
    );
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

/// The journal of two synced commits, a small and then one of `value`, without its third page: what
/// lost power may leave of a second commit that was never acknowledged. Answers what opening says.
fn open_after_a_lost_page(value: &[u8]) -> Result<bool> {
    const PAGE_BYTES: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let database = open(&Fjall, folder.path(), Durability::Sync, &[]).unwrap();
    write(database.as_ref(), b"acknowledged", b"value");
    write(database.as_ref(), b"in flight", value);
    drop(database);
    let journal = folder.path().join("0.jnl");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(journal)
        .unwrap();
    file.write_all_at(&[0; PAGE_BYTES], 2 * PAGE_BYTES as u64)
        .unwrap();
    let database = open(&Fjall, folder.path(), Durability::Sync, &[])?;
    assert!(read(database.as_ref(), b"acknowledged").is_some());
    Ok(read(database.as_ref(), b"in flight").is_some())
}

/// A limit of fjall that docs/ENGINES.md tells of. Where this fails, fjall has become better.
#[test]
fn a_page_lost_inside_a_large_value_in_flight_keeps_fjall_from_opening() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    let incompressible: Vec<u8> = (0..40_000).map(|_| next()).collect();
    let error = open_after_a_lost_page(&incompressible).unwrap_err();
    assert!(error.to_string().contains("ChecksumMismatch"), "{error}");
    // The control: where the page held the framing, the commit in flight is dropped, as it should.
    let small_pieces: Vec<u8> = (0..2_000_000)
        .map(|index: u32| (index / 50) as u8)
        .collect();
    assert_eq!(open_after_a_lost_page(&small_pieces), Ok(false));
}
