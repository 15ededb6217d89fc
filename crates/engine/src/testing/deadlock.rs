//! A real deadlock, of two sessions that write two records in opposite order, and a plain conflict
//! beside it.

use super::database::{begin, get, open, read, write};
use crate::{Database, Durability, Engine, Error, Mode, Result, Session};
use std::path::Path;
use std::sync::Barrier;

/// This many records that the first and the last are not in one page.
const RECORDS: u32 = 200;

/// Of two sessions that wait for each other one is given up, with the error for a deadlock; the
/// other commits, and others are let through.
pub fn is_distinguished(engine: &dyn Engine, folder: &Path, knobs: &str) {
    let database = open(engine, folder, level(engine), knobs).unwrap();
    fill(&*database);
    let [first, last] = [0, RECORDS - 1].map(u32::to_be_bytes);
    let both_hold_one = Barrier::new(2);
    let crossing = |own: [u8; 4], other: [u8; 4]| {
        let mut session = begin(&*database, Mode::Write);
        session.put(&own, &own).unwrap();
        both_hold_one.wait();
        put_and_commit(session.as_mut(), &other, &own)
    };
    let outcomes = std::thread::scope(|scope| {
        let threads = [(first, last), (last, first)]
            .map(|(own, other)| scope.spawn(move || crossing(own, other)));
        threads.map(|thread| thread.join().unwrap())
    });
    let name = engine.info().name;
    let given_up: Vec<_> = outcomes
        .iter()
        .filter_map(|one| one.as_ref().err())
        .collect();
    let [error] = given_up.as_slice() else {
        panic!("{name}: one of both was to be given up: {outcomes:?}");
    };
    assert!(
        error.is_deadlock() && error.is_conflict(),
        "{name}: {error}"
    );
    write(&*database, &first, b"afterwards");
    assert_eq!(read(&*database, &first).unwrap(), b"afterwards", "{name}");
}

/// A record that another session holds until a lock is waited for too long, or has written since,
/// is a conflict and no deadlock.
pub fn another_conflict_is_none(error: &Error) {
    assert!(error.is_conflict() && !error.is_deadlock(), "{error}");
}

/// One session holds a record for as long as another waits for it: the other's error.
pub fn waited_too_long(engine: &dyn Engine, folder: &Path, knobs: &str) -> Error {
    let database = open(engine, folder, level(engine), knobs).unwrap();
    fill(&*database);
    let key = 0_u32.to_be_bytes();
    let (mut holder, mut other) = (database.session().unwrap(), database.session().unwrap());
    holder.begin(Mode::Write).unwrap();
    assert!(get(holder.as_mut(), &key).is_some());
    holder.put(&key, b"holder's").unwrap();
    other.begin(Mode::Write).unwrap();
    let error = put_and_commit(other.as_mut(), &key, b"other's").unwrap_err();
    holder.commit().unwrap();
    error
}

/// A level that every engine here has.
fn level(engine: &dyn Engine) -> Durability {
    match engine.dialect() {
        Some(_) => Durability::Sync,
        None => Durability::Buffered,
    }
}

fn fill(database: &dyn Database) {
    let mut session = begin(database, Mode::Write);
    for number in 0..RECORDS {
        session.put(&number.to_be_bytes(), &[7; 500]).unwrap();
    }
    session.commit().unwrap();
}

fn put_and_commit(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<()> {
    match session.put(key, value) {
        Ok(()) => session.commit(),
        Err(error) => {
            session.abort().unwrap();
            Err(error)
        }
    }
}
