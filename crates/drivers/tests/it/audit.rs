//! What an audit asks of a driver: sizes with which everything happens soon, and the engine's own
//! check of its files.

use crate::support::{self, TestDatabase, TestDirectory, begin, random_bytes};
use std::ops::Range;
use std::path::Path;
use trueput_engine::{Engine, Mode, OpenSpec, Result};

/// Engines left out: the null engine keeps nothing, and GT.M has a test program of its own.
/// Clusters need the program that hosts their nodes.
const ELSEWHERE: [&str; 2] = ["null", "gtm"];

const TRANSACTIONS: u32 = 300;
const RECORDS: u32 = 5;

fn audit_knobs(engine: &dyn Engine) -> String {
    let knobs = engine.audit_knobs().iter();
    let words: Vec<_> = knobs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    words.join(" ")
}

/// Commits as an audit does: keys that come again, and a large value now and then.
fn fill(database: &TestDatabase) {
    let large = random_bytes(20 << 10);
    for transaction in 0..TRANSACTIONS {
        let mut session = begin(&**database, Mode::Write);
        for record in 0..RECORDS {
            let key = format!("{:013}", (transaction * 7 + record * 131) % 997);
            let is_large = record == 0 && transaction % 8 == 0;
            let length = if is_large { large.len() } else { 100 };
            session.put(key.as_bytes(), &large[..length]).unwrap();
        }
        session.commit().unwrap();
        if transaction == TRANSACTIONS / 2 {
            drop(session);
            database.checkpoint().unwrap();
        }
    }
}

fn check(engine: &dyn Engine, directory: &Path, knobs: &str) -> Result<()> {
    engine.check_files(&OpenSpec {
        directory,
        durability: support::levels(engine).next().unwrap(),
        knobs: &support::resolve(engine, knobs),
        sessions: 8,
    })
}

/// A filled database, closed.
fn filled(engine: &dyn Engine, knobs: &str) -> TestDirectory {
    let level = support::levels(engine).next().unwrap();
    let database = TestDatabase::open(engine, level, knobs);
    fill(&database);
    let database = database.reopen(engine, level, knobs);
    fill(&database);
    database.close()
}

fn engines() -> impl Iterator<Item = &'static dyn Engine> {
    let registry = trueput_drivers::registry().iter().copied();
    registry
        .filter(|engine| !ELSEWHERE.contains(&engine.info().name) && engine.cluster().is_none())
        .filter_map(|engine| support::installed(engine))
}

#[test]
fn every_engine_works_with_its_audit_knobs_and_finds_a_good_database_good() {
    for engine in engines() {
        let knobs = audit_knobs(engine);
        let place = filled(engine, &knobs);
        let checked = check(engine, place.path(), &knobs);
        assert_eq!(checked, Ok(()), "{}", engine.info().name);
        // Checked or not, the database opens as before.
        let level = support::levels(engine).next().unwrap();
        let database = place.open(engine, level, &knobs);
        support::write(&*database, b"afterwards", b"works");
    }
}

/// Flips these bytes of each 4 KiB in the second half of every file whose name ends so: one of them
/// may be obsolete, and wait for its deletion.
fn damage(folder: &Path, ending: &str, bytes: Range<usize>) {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for file in entries.filter(|path| path.to_str().unwrap().ends_with(ending)) {
        let mut content = std::fs::read(&file).unwrap();
        let pages = content.len() / 4096;
        for page in content.chunks_mut(4096).skip(pages / 2) {
            let flipped = page.iter_mut().take(bytes.end).skip(bytes.start);
            flipped.for_each(|byte| *byte ^= 0xff);
        }
        std::fs::write(&file, content).unwrap();
    }
}

#[test]
fn a_damaged_file_is_found() {
    const HEADER: Range<usize> = 0..32;
    for (name, ending, bytes) in [
        ("sqlite", ".sqlite", HEADER),
        // redb panics at an unknown type of a page.
        ("redb", ".redb", 1000..1032),
        ("rocksdb", ".sst", HEADER),
        ("leveldb", ".ldb", HEADER),
        ("berkeleydb", ".db", HEADER),
        ("wiredtiger", "record.wt", HEADER),
    ] {
        let Some(engine) = support::installed(support::engine(name)) else {
            continue;
        };
        let knobs = audit_knobs(engine);
        let place = filled(engine, &knobs);
        assert_eq!(check(engine, place.path(), &knobs), Ok(()), "{name}");
        damage(place.path(), ending, bytes);
        let found = check(engine, place.path(), &knobs);
        assert!(found.is_err(), "{name}");
    }
}
