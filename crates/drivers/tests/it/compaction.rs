//! Engines' own compactions lose no record, and give back the space of deleted ones.

use crate::support::{self, TestDatabase, begin};
use std::path::Path;
use trueput_engine::{Database, Durability, Engine, Mode};

const RECORDS: u32 = 4_000;

/// Records below this number are deleted.
const KEPT_FROM: u32 = 3_000;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn value(number: u32) -> Vec<u8> {
    key(number).repeat(200)
}

/// Stores all records and deletes most of them, in transactions of a hundred.
fn fill(database: &dyn Database) {
    let numbers: Vec<u32> = (0..RECORDS).collect();
    for part in numbers.chunks(100) {
        let mut session = begin(database, Mode::Write);
        for number in part {
            session.put(&key(*number), &value(*number)).unwrap();
        }
        session.commit().unwrap();
    }
    for part in numbers[..KEPT_FROM as usize].chunks(100) {
        let mut session = begin(database, Mode::Write);
        for number in part {
            session.delete(&key(*number)).unwrap();
        }
        session.commit().unwrap();
    }
}

/// Checks that the deleted records are gone and the others there.
fn check(database: &dyn Database, name: &str) {
    let mut session = begin(database, Mode::Read);
    for number in 0..RECORDS {
        let found = support::get(session.as_mut(), &key(number));
        let expected = (number >= KEPT_FROM).then(|| value(number));
        assert_eq!(found, expected, "{name}: record {number}");
    }
    session.commit().unwrap();
}

fn file_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    let bytes = entries.map(|entry| {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            file_bytes(&entry.path())
        } else {
            metadata.len()
        }
    });
    bytes.sum()
}

fn level(engine: &dyn Engine) -> Durability {
    support::levels(engine).last().unwrap()
}

#[test]
fn a_compaction_keeps_every_record() {
    for name in [
        "sqlite",
        "redb",
        "fjall",
        "rocksdb",
        "leveldb",
        "wiredtiger",
        "berkeleydb",
        "postgresql",
        "mariadb",
    ] {
        let Some(engine) = support::installed(support::engine(name)) else {
            continue;
        };
        let level = level(engine);
        let mut database = TestDatabase::open(engine, level, "");
        fill(&*database);
        if database.compact().unwrap().is_none() {
            eprintln!("{name} has no compaction here");
        }
        check(&*database, name);
        let reopened = database.reopen(engine, level, "");
        check(&*reopened, name);
    }
}

#[test]
fn a_file_of_deleted_records_is_shorter_after_it() {
    for name in ["sqlite", "redb"] {
        let engine = support::engine(name);
        let level = level(engine);
        let database = TestDatabase::open(engine, level, "");
        fill(&*database);
        let place = database.close();
        let before = file_bytes(place.path());
        let mut database = place.open(engine, level, "");
        assert!(database.compact().unwrap().is_some(), "{name}");
        let place = database.close();
        let after = file_bytes(place.path());
        assert!(after < before, "{name}: {before} to {after} bytes");
    }
}

#[test]
fn an_engine_without_a_compaction_in_place_says_so() {
    let engine = support::engine("lmdb");
    let mut database = TestDatabase::open(engine, level(engine), "");
    assert_eq!(database.compact(), Ok(None));
}
