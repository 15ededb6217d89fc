//! Write transactions that overlap on a tree of several levels, and the records that they leave.

use crate::support::{TestDatabase, begin};
use trueput_engine::{Database, Durability, Engine, Mode, Result};

const THREADS: u64 = 16;
const PUTS_EACH: u64 = 4_000;

/// SplitMix64's finaliser, so that no two numbers have one key.
fn key(number: u64) -> [u8; 8] {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).to_be_bytes()
}

/// The number of committed records that are missing afterwards, of records that threads put at
/// once, each in a transaction of its own, into small pages.
pub(crate) fn lost(engine: &dyn Engine, knobs: &str, round: u64) -> u64 {
    let knobs = format!("page_size=512 {knobs}");
    let database = TestDatabase::open(engine, Durability::None, &knobs);
    let database = &*database;
    let first = round * THREADS * PUTS_EACH;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                for nth in 0..PUTS_EACH {
                    let key = key(first + nth * THREADS + thread);
                    loop {
                        session.begin(Mode::Write).unwrap();
                        match session.put(&key, &[7; 16]) {
                            Ok(()) => break session.commit().unwrap(),
                            Err(error) => assert!(error.is_conflict(), "{error}"),
                        }
                        session.abort().unwrap();
                    }
                }
            });
        }
    });
    missing(database, first..first + THREADS * PUTS_EACH).unwrap()
}

/// The count of [`lost`] if one of its records is missing.
pub(crate) fn counted_without_one(engine: &dyn Engine) -> u64 {
    let database = TestDatabase::open(engine, Durability::None, "");
    let mut session = begin(&*database, Mode::Write);
    for number in (0..100).filter(|number| *number != 50) {
        session.put(&key(number), &[7; 16]).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    missing(&*database, 0..100).unwrap()
}

fn missing(database: &dyn Database, numbers: std::ops::Range<u64>) -> Result<u64> {
    let mut session = database.session()?;
    let mut lost = 0;
    for number in numbers {
        lost += u64::from(!session.point_read(&key(number), &mut |_| {})?);
    }
    Ok(lost)
}
