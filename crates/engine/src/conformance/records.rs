//! Single records: put, get, delete, and the extremes of keys and values.

use super::EngineUnderTest;
use super::support::{
    CheckFailure, Outcome, Record, StepContext, ensure, ensure_records, ensure_value, get, read,
    retried, scan, store, write,
};
use crate::{Direction, Error, KeyRange, Mode, Session};

/// Longer keys are not tried, whatever the engine allows, bytes.
const KEY_CAP_BYTES: usize = 64 * 1024;
/// Longer values are not tried, whatever the engine allows, bytes.
const VALUE_CAP_BYTES: usize = 1024 * 1024;

/// Returns a byte string without long repetitions.
fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index % 251) as u8 ^ (index / 251) as u8)
        .collect()
}

/// Checks that the committed value of `key` is `expected`.
fn check_committed(
    session: &mut dyn Session,
    step: &str,
    key: &[u8],
    expected: Option<&[u8]>,
) -> Outcome<()> {
    let found = read(session, |session| get(session, key))?;
    ensure_value(step, expected, found.as_deref())
}

pub fn round_trip(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let lengths = [1, 2, 100, 1_000, 10_000, 1, 2];
    let longest = subject.capabilities.max_value_bytes;
    let record = |(index, length): (usize, &usize)| {
        (
            format!("key {index}").into_bytes(),
            pattern(*length.min(&longest)),
        )
    };
    let mut records: Vec<Record> = lengths.iter().enumerate().map(record).collect();
    records.extend((0..=255_u8).map(|byte| (vec![byte, b'k'], vec![byte])));
    let mut session = database.session().at("session")?;
    store(session.as_mut(), &records)?;
    for (key, value) in &records {
        check_committed(
            session.as_mut(),
            "the session that put it",
            key,
            Some(value),
        )?;
    }
    drop(session);
    let mut session = database.session().at("another session")?;
    for (key, value) in &records {
        check_committed(session.as_mut(), "a later session", key, Some(value))?;
    }
    Ok(format!("{} records", records.len()))
}

/// Checks that a lookup outside of any transaction returns `expected`; retries after conflicts.
fn check_lookup(
    session: &mut dyn Session,
    step: &str,
    key: &[u8],
    expected: Option<&[u8]>,
) -> Outcome<()> {
    let mut found = None;
    let there = retried(|| {
        found = None;
        session.point_read(key, &mut |value| found = Some(value.to_vec()))
    })
    .at(step)?;
    ensure(there == found.is_some(), || {
        format!(
            "{step}: it answered {there} and showed a value: {}",
            found.is_some()
        )
    })?;
    ensure_value(step, expected, found.as_deref())
}

pub fn point_read(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut writer = database.session().at("session")?;
    let mut reader = database.session().at("another session")?;
    for value in [b"first".as_slice(), b"second", b""] {
        write(writer.as_mut(), |session| session.put(b"key", value))?;
        check_lookup(reader.as_mut(), "another's put", b"key", Some(value))?;
        check_lookup(writer.as_mut(), "a put of its own", b"key", Some(value))?;
        check_lookup(reader.as_mut(), "a key that is not there", b"kex", None)?;
    }
    reader.begin(Mode::Read).at("begin")?;
    let within = reader.point_read(b"key", &mut |_| ());
    reader.abort().at("abort")?;
    ensure(within.is_err(), || {
        "a look-up by itself within a transaction should be refused, and was not".to_owned()
    })?;
    write(writer.as_mut(), |session| session.delete(b"key"))?;
    check_lookup(reader.as_mut(), "a key that was deleted", b"key", None)?;
    check_committed(
        reader.as_mut(),
        "a transaction after look-ups",
        b"key",
        None,
    )?;
    Ok("three values, by two sessions".to_owned())
}

pub fn overwrite(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let values = [
        "first",
        "a longer second",
        "3",
        "a fourth that is longer than any before it",
    ];
    for value in values {
        write(session.as_mut(), |session| {
            session.put(b"key", value.as_bytes())
        })?;
        check_committed(
            session.as_mut(),
            "a put of its own",
            b"key",
            Some(value.as_bytes()),
        )?;
    }
    write(session.as_mut(), |session| {
        values
            .into_iter()
            .try_for_each(|value| session.put(b"other", value.as_bytes()))
    })?;
    check_committed(
        session.as_mut(),
        "four puts together",
        b"other",
        Some(values[3].as_bytes()),
    )?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let found = read(session.as_mut(), all)?;
    ensure(found.len() == 2, || {
        format!("expected 2 records, found {}", found.len())
    })?;
    Ok("shorter and longer, apart and in one transaction".to_owned())
}

pub fn missing(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    check_committed(session.as_mut(), "an empty database", b"bb", None)?;
    store(
        session.as_mut(),
        &[record(b"b"), record(b"bbb"), record(b"bc")],
    )?;
    let neighbors: [&[u8]; 6] = [b"a", b"bb", b"b\0", b"bbbb", b"c", b"\xff"];
    for key in neighbors {
        check_committed(session.as_mut(), "a neighbor of what is there", key, None)?;
    }
    Ok("in an empty database and between records".to_owned())
}

fn record(key: &[u8]) -> Record {
    (key.to_vec(), b"value".to_vec())
}

pub fn delete(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(
        session.as_mut(),
        &[record(b"a"), record(b"b"), record(b"c")],
    )?;
    write(session.as_mut(), |session| session.delete(b"b"))?;
    check_committed(session.as_mut(), "the deleted key", b"b", None)?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let left = read(session.as_mut(), all)?;
    ensure_records("what is left", &[record(b"a"), record(b"c")], &left)?;
    store(session.as_mut(), &[record(b"b")])?;
    check_committed(session.as_mut(), "put again", b"b", Some(b"value"))?;
    Ok("one of three, then put again".to_owned())
}

pub fn delete_missing(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    write(session.as_mut(), |session| session.delete(b"key"))?;
    store(session.as_mut(), &[record(b"key")])?;
    write(session.as_mut(), |session| {
        session.delete(b"ke")?;
        session.delete(b"key")?;
        session.delete(b"key")
    })?;
    check_committed(session.as_mut(), "the deleted key", b"key", None)?;
    Ok("in an empty database, twice, and a prefix".to_owned())
}

pub fn empty_value(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let records = [(b"key".to_vec(), Vec::new())];
    store(session.as_mut(), &records)?;
    check_committed(session.as_mut(), "get", b"key", Some(b""))?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    ensure_records("scan", &records, &read(session.as_mut(), all)?)?;
    Ok("by get and by scan".to_owned())
}

pub fn empty_key(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(session.as_mut(), &[record(b"a")])?;
    session.begin(Mode::Write).at("begin")?;
    match session.put(b"", b"value") {
        Ok(()) => session.commit().at("commit")?,
        Err(Error::Unsupported(_)) => {
            session.abort().at("abort after a refused put")?;
            store(session.as_mut(), &[record(b"b")])?;
            check_committed(
                session.as_mut(),
                "a put after the refusal",
                b"b",
                Some(b"value"),
            )?;
            return Ok("refused".to_owned());
        }
        Err(error) => {
            return Err(CheckFailure(format!(
                "put: expected 'unsupported', found: {error}"
            )));
        }
    }
    check_committed(session.as_mut(), "get", b"", Some(b"value"))?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let expected = [record(b""), record(b"a")];
    ensure_records("scan", &expected, &read(session.as_mut(), all)?)?;
    Ok("kept".to_owned())
}

pub fn longest_key(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let length = subject.capabilities.max_key_bytes.min(KEY_CAP_BYTES);
    let mut low = pattern(length);
    low[length - 1] = 1;
    let mut high = low.clone();
    high[length - 1] = 2;
    let short = low[..length - 1].to_vec();
    let records = [short, low, high].map(|key| (key, b"value".to_vec()));
    store(session.as_mut(), &records)?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    ensure_records("scan", &records, &read(session.as_mut(), all)?)?;
    write(session.as_mut(), |session| session.delete(&records[1].0))?;
    check_committed(session.as_mut(), "the deleted one", &records[1].0, None)?;
    check_committed(
        session.as_mut(),
        "its neighbor",
        &records[2].0,
        Some(b"value"),
    )?;
    Ok(format!("{length} bytes, different in the last only"))
}

pub fn longest_value(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let value = pattern(subject.capabilities.max_value_bytes.min(VALUE_CAP_BYTES));
    store(session.as_mut(), &[(b"key".to_vec(), value.clone())])?;
    check_committed(session.as_mut(), "get", b"key", Some(&value))?;
    write(session.as_mut(), |session| session.put(b"key", b"short"))?;
    check_committed(
        session.as_mut(),
        "a short value over it",
        b"key",
        Some(b"short"),
    )?;
    Ok(format!("{} bytes", value.len()))
}

pub fn too_long(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let limits = subject.capabilities;
    let mut tried = Vec::new();
    if limits.max_key_bytes < KEY_CAP_BYTES {
        tried.push(("key", pattern(limits.max_key_bytes + 1), b"value".to_vec()));
    }
    if limits.max_value_bytes < VALUE_CAP_BYTES {
        tried.push((
            "value",
            b"key".to_vec(),
            pattern(limits.max_value_bytes + 1),
        ));
    }
    let mut found = Vec::new();
    for (name, key, value) in &tried {
        session.begin(Mode::Write).at("begin")?;
        match session.put(key, value) {
            Err(Error::Unsupported(text)) => found.push(text),
            Err(error) => {
                return Err(CheckFailure(format!(
                    "{name}: expected 'unsupported', found: {error}"
                )));
            }
            Ok(()) => {
                return Err(CheckFailure(format!(
                    "a {name} one byte too long was accepted"
                )));
            }
        }
        session.abort().at("abort after a refused put")?;
        store(session.as_mut(), &[record(b"after")])?;
        let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
        let there = read(session.as_mut(), all)?;
        ensure_records("a put after the refusal", &[record(b"after")], &there)?;
    }
    Ok(if found.is_empty() {
        "no limit within reach".to_owned()
    } else {
        found.join("; ")
    })
}
