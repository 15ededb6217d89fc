//! Checks of single-session transactions: atomicity, visibility of own writes, and the state after
//! reopening.

use super::EngineUnderTest;
use super::scans::{expected, range_text};
use super::support::{
    CheckFailure, Outcome, Record, StepContext, count, ensure, ensure_records, ensure_value, get,
    random_key, read, scan, store, with_second_session, write,
};
use crate::{Direction, KeyRange, Mode, Session};
use std::collections::BTreeMap;
use trueput_record::random::SplitMix64;

type RecordMap = BTreeMap<Vec<u8>, Vec<u8>>;

pub fn own_writes(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(
        session.as_mut(),
        &[
            (b"a".to_vec(), b"1".to_vec()),
            (b"b".to_vec(), b"1".to_vec()),
        ],
    )?;
    let seen = write(session.as_mut(), |session| {
        session.put(b"a", b"2")?;
        session.delete(b"b")?;
        session.put(b"c", b"2")?;
        session.put(b"d", b"2")?;
        session.delete(b"d")?;
        ["a", "b", "c", "d"]
            .map(|key| get(session, key.as_bytes()))
            .into_iter()
            .collect()
    })?;
    let seen: Vec<Option<Vec<u8>>> = seen;
    let expected = [Some(b"2".as_slice()), None, Some(b"2"), None];
    let keys = ["a overwritten", "b deleted", "c put", "d put and deleted"];
    for ((name, expected), found) in keys.into_iter().zip(expected).zip(&seen) {
        ensure_value(name, expected, found.as_deref())?;
    }
    Ok("put, overwritten, deleted, put and deleted".to_owned())
}

pub fn abort(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let before: Vec<Record> = (0..10)
        .map(|n| (vec![b'k', n], b"before".to_vec()))
        .collect();
    store(session.as_mut(), &before)?;
    session.begin(Mode::Write).at("begin")?;
    session.put(b"new", b"value").at("put")?;
    session.put(&[b'k', 3], b"after").at("put")?;
    session.delete(&[b'k', 4]).at("delete")?;
    session.abort().at("abort")?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    ensure_records("after the abort", &before, &read(session.as_mut(), all)?)?;
    store(session.as_mut(), &[(b"later".to_vec(), b"value".to_vec())])?;
    let found = read(session.as_mut(), count)?;
    ensure(found == 11, || {
        format!("after a later commit: expected 11 records, found {found}")
    })?;
    Ok("a new, a changed and a deleted record".to_owned())
}

pub fn large(subject: &EngineUnderTest<'_>) -> Outcome {
    const RECORDS: u32 = 10_000;
    let put_all = |session: &mut dyn Session, first: u8| {
        (0..RECORDS).try_for_each(|number| {
            let mut key = [first; 5];
            key[1..].copy_from_slice(&number.to_be_bytes());
            session.put(&key, b"a value of twenty-four b")
        })
    };
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    session.begin(Mode::Write).at("begin")?;
    put_all(session.as_mut(), b'a').at("put")?;
    let own = move |_| session.commit().at("commit");
    let ((), seen) = with_second_session(&*database, |other| read(other, count), own)?;
    let whole = u64::from(RECORDS);
    // An engine whose readers queue after writers shows the reader all of it.
    ensure(seen == 0 || seen == whole, || {
        format!("another session saw {seen} of {RECORDS} records before the commit")
    })?;
    let mut session = database.session().at("session")?;
    let found = read(session.as_mut(), count)?;
    ensure(found == whole, || {
        format!("expected {RECORDS} records, found {found}")
    })?;
    session.begin(Mode::Write).at("begin")?;
    put_all(session.as_mut(), b'b').at("put")?;
    session.abort().at("abort")?;
    let found = read(session.as_mut(), count)?;
    ensure(found == whole, || {
        format!("an abort left {found} records, not {RECORDS}")
    })?;
    Ok(format!("{RECORDS} puts, committed and aborted"))
}

pub fn dropped(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    session.begin(Mode::Write).at("begin")?;
    session.put(b"abandoned", b"value").at("put")?;
    drop(session);
    let mut session = database.session().at("another session")?;
    store(session.as_mut(), &[(b"later".to_vec(), b"value".to_vec())])?;
    let found = read(session.as_mut(), |session| get(session, b"abandoned"))?;
    ensure_value("a put of the dropped session", None, found.as_deref())?;
    Ok("the next session writes".to_owned())
}

pub fn reopen(subject: &EngineUnderTest<'_>) -> Outcome {
    let records: Vec<Record> = (0..100_u8)
        .map(|n| (vec![b'k', n], vec![n; usize::from(n)]))
        .collect();
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(session.as_mut(), &records[..50])?;
    store(session.as_mut(), &records[50..])?;
    write(session.as_mut(), |session| session.delete(&records[0].0))?;
    if subject.capabilities.atomic_transactions {
        session.begin(Mode::Write).at("begin")?;
        session.put(b"aborted", b"value").at("put")?;
        session.abort().at("abort")?;
    }
    drop(session);
    drop(database);
    subject.close()?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    for time in ["once", "twice"] {
        let database = subject.open()?;
        let mut session = database.session().at("session")?;
        let found = read(session.as_mut(), all)?;
        ensure_records(&format!("reopened {time}"), &records[1..], &found)?;
        drop(session);
        drop(database);
        subject.close()?;
    }
    Ok("99 records of three transactions, opened twice".to_owned())
}

pub fn random(subject: &EngineUnderTest<'_>) -> Outcome {
    const TRANSACTIONS: u32 = 60;
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let mut random = SplitMix64::new(2);
    let longest = subject.capabilities.max_key_bytes.min(12);
    let keys: Vec<Vec<u8>> = (0..150).map(|_| random_key(&mut random, longest)).collect();
    let mut committed = RecordMap::new();
    for transaction in 0..TRANSACTIONS {
        let mut model = committed.clone();
        session.begin(Mode::Write).at("begin")?;
        for _ in 0..50 {
            step(session.as_mut(), &mut random, &keys, &mut model).map_err(
                |CheckFailure(text)| CheckFailure(format!("transaction {transaction}: {text}")),
            )?;
        }
        if subject.capabilities.atomic_transactions && random.below(3) == 0 {
            session.abort().at("abort")?;
        } else {
            session.commit().at("commit")?;
            committed = model;
        }
    }
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let expected = expected(&committed, KeyRange::ALL, Direction::Forward);
    ensure_records("at the end", &expected, &read(session.as_mut(), all)?)?;
    Ok(format!(
        "{} operations in {TRANSACTIONS} transactions",
        TRANSACTIONS * 50
    ))
}

/// Does one random operation, on the engine and on the model.
fn step(
    session: &mut dyn Session,
    random: &mut SplitMix64,
    keys: &[Vec<u8>],
    model: &mut RecordMap,
) -> Outcome<()> {
    let pick = |random: &mut SplitMix64| &keys[random.below(keys.len())];
    let key = pick(random);
    match random.below(10) {
        0..4 => {
            let value = vec![random.next_u64() as u8; random.below(200)];
            session.put(key, &value).at("put")?;
            model.insert(key.clone(), value);
        }
        4..6 => {
            session.delete(key).at("delete")?;
            model.remove(key);
        }
        6..9 => {
            let found = get(session, key).at("get")?;
            let step = format!("get {}", super::support::quote_bytes(key));
            ensure_value(&step, model.get(key).map(Vec::as_slice), found.as_deref())?;
        }
        _ => {
            let range = KeyRange::between(key, pick(random));
            let direction = if random.below(2) == 0 {
                Direction::Forward
            } else {
                Direction::Backward
            };
            let found = scan(session, range, direction).at("scan")?;
            let expected = expected(model, range, direction);
            ensure_records(&range_text(range, direction), &expected, &found)?;
        }
    }
    Ok(())
}
