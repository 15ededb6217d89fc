//! The fjall driver keeps its promises.

use crate::support::{self, TestDatabase, begin, get, open, read, write};
use std::os::unix::fs::FileExt;
use trueput_drivers::Fjall;
use trueput_engine::{Direction, Durability, Error, KeyRange, Mode, Result, Value};

const OPTIMISTIC: &str = "concurrency=optimistic";

#[test]
fn settings_other_than_the_defaults_keep_the_contract() {
    let knobs = "concurrency=optimistic persist_mode=sync_data max_memtable_size=1MiB \
                 worker_threads=1 compression=none expect_point_read_hits=true \
                 separation_threshold=1024";
    for durability in support::levels(&Fjall) {
        support::keeps_the_contract(&Fjall, durability, knobs);
    }
}

#[test]
fn a_transaction_that_read_what_another_wrote_meets_a_conflict() {
    let database = TestDatabase::open(&Fjall, Durability::Process, OPTIMISTIC);
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    for session in [&mut first, &mut second] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(get(session.as_mut(), b"counter"), None);
        session.put(b"counter", b"1").unwrap();
    }
    first.commit().unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    // Tried again, it goes through.
    second.begin(Mode::Write).unwrap();
    assert_eq!(get(second.as_mut(), b"counter").unwrap(), b"1");
    second.put(b"counter", b"2").unwrap();
    second.commit().unwrap();
    assert_eq!(read(&*database, b"counter").unwrap(), b"2");
}

#[test]
fn transactions_that_touch_different_keys_do_not_conflict() {
    let database = TestDatabase::open(&Fjall, Durability::Process, OPTIMISTIC);
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
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
    let database = TestDatabase::open(&Fjall, Durability::Process, "");
    let database = &*database;
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
    let sum = read(database, b"sum").unwrap();
    assert_eq!(sum, 1000_u64.to_be_bytes());
}

#[test]
fn keys_that_fjall_would_panic_on_are_refused() {
    let database = TestDatabase::open(&Fjall, Durability::Process, "");
    let mut session = begin(&*database, Mode::Write);
    let long = vec![b'k'; 65_536];
    for key in [b"".as_slice(), &long] {
        let refused = session.put(key, b"value");
        assert!(matches!(refused, Err(Error::Unsupported(_))));
        session.delete(key).unwrap();
        assert_eq!(get(session.as_mut(), key), None);
    }
    session.put(&long[1..], b"value").unwrap();
    session.commit().unwrap();
    assert_eq!(read(&*database, &long[1..]).unwrap(), b"value");
}

#[test]
fn bounds_that_fjall_would_panic_on_find_the_records_beside_them() {
    let database = TestDatabase::open(&Fjall, Durability::Process, "");
    let long = vec![b'k'; 65_536];
    let longest = &long[1..];
    write(&*database, longest, longest);
    write(&*database, b"l", b"l");
    let mut session = begin(&*database, Mode::Read);
    let below = KeyRange::between(b"a", &long);
    let found = support::keys(session.as_mut(), below, Direction::Forward, 9);
    assert_eq!(found, [longest]);
    let above = KeyRange::from(&long);
    let found = support::keys(session.as_mut(), above, Direction::Backward, 9);
    assert_eq!(found, [b"l"]);
}

#[test]
fn settings_are_those_that_the_database_was_made_with() {
    let made = "data_block_size=8192 compression=lz4 separation_threshold=2048 cache_size=2MiB";
    let database = TestDatabase::open(&Fjall, Durability::Process, made);
    let database = database.reopen(&Fjall, Durability::Process, "");
    let settings = database.settings().unwrap();
    assert_eq!(settings["data_block_size_policy"], Value::from("8192"));
    // The size of the cache is not kept.
    let expected = "data_block_compression_policy=lz4 separation_threshold=2048 \
                    cache_capacity=33554432";
    support::reports(&settings, expected);
    support::reports(&database.counters().unwrap(), "journal_count=1");
}

/// The journal of two synced commits, a small one and one of `value`, without its third page: a
/// state that lost power may leave of a second commit that was never acknowledged. Returns the
/// result of opening it.
fn open_after_a_lost_page(value: &[u8]) -> Result<bool> {
    const PAGE_BYTES: usize = 4096;
    let database = TestDatabase::open(&Fjall, Durability::Sync, "");
    write(&*database, b"acknowledged", b"value");
    write(&*database, b"in flight", value);
    let folder = database.close();
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).open(folder.path().join("0.jnl"));
    let file = file.unwrap();
    file.write_all_at(&[0; PAGE_BYTES], 2 * PAGE_BYTES as u64)
        .unwrap();
    let database = open(&Fjall, folder.path(), Durability::Sync, "")?;
    assert!(read(&*database, b"acknowledged").is_some());
    Ok(read(&*database, b"in flight").is_some())
}

/// A limit of fjall that docs/ENGINES.md tells of. Where this fails, fjall has become better.
#[test]
fn a_page_lost_inside_a_large_value_in_flight_keeps_fjall_from_opening() {
    let incompressible = support::random_bytes(40_000);
    let error = open_after_a_lost_page(&incompressible).unwrap_err();
    assert!(error.to_string().contains("ChecksumMismatch"), "{error}");
    // The control: where the page held the framing, the commit in flight is dropped, as it should.
    let small_pieces: Vec<u8> = (0..2_000_000)
        .map(|index: u32| (index / 50) as u8)
        .collect();
    assert_eq!(open_after_a_lost_page(&small_pieces), Ok(false));
}
