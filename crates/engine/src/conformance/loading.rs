//! The engine's own loader.

use super::EngineUnderTest;
use super::support::{
    Outcome, Record, StepContext, ensure, ensure_records, read, scan, store, write,
};
use crate::{Direction, KeyRange, Mode, RecordSource, Session};

/// Longer keys are not tried, whatever the engine allows, bytes.
const KEY_CAP_BYTES: usize = 16 << 20;

/// Records, one after the other.
struct Records<'r>(std::slice::Iter<'r, Record>);

impl RecordSource for Records<'_> {
    fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.0.next()?;
        Some((key.as_slice(), value.as_slice()))
    }
}

fn load(session: &mut dyn Session, records: &[Record]) -> Outcome<bool> {
    let mut source = Records(records.iter());
    let loaded = session.bulk_load(&mut source).at("a bulk load")?;
    let left = source.0.len();
    let wanted = if loaded { 0 } else { records.len() };
    ensure(left == wanted, || {
        format!("a bulk load answered {loaded} and left {left} records")
    })?;
    Ok(loaded)
}

/// Loads records of which one in the middle has a key that is one byte too long for the engine: it
/// must be refused, and the session and its loader must go on. `before` is what the database holds.
/// Returns whether such a key was tried.
fn refuse_long_key(
    session: &mut dyn Session,
    max_key_bytes: usize,
    before: &[Record],
) -> Outcome<bool> {
    if max_key_bytes >= KEY_CAP_BYTES {
        return Ok(false);
    }
    let late = |number: usize| (format!("late {number}").into_bytes(), vec![b'l'; number]);
    let mut records: Vec<Record> = (0..10).map(late).collect();
    records[5].0.resize(max_key_bytes + 1, b'x');
    let loaded = session.bulk_load(&mut Records(records.iter()));
    ensure(loaded.is_err(), || {
        format!("a load with a key one byte too long answered {loaded:?}")
    })?;
    let after = |key: &str| (key.as_bytes().to_vec(), b"after".to_vec());
    let [put, loaded] = [after("put after it"), after("then loaded")];
    store(session, std::slice::from_ref(&put))?;
    load(session, std::slice::from_ref(&loaded))?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let found = read(session, all)?;
    let is_late = |record: &Record| record.0.starts_with(b"late");
    let (late, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_late);
    let expected = [before, &[put, loaded]].concat();
    ensure_records("after a load that was refused", &expected, &others)?;
    let is_before = |record: &Record| records[..5].contains(record);
    ensure(late.iter().all(is_before), || {
        format!(
            "a load that was refused left {} records, and not of those before the refused one",
            late.len()
        )
    })?;
    Ok(true)
}

pub fn bulk_load(subject: &EngineUnderTest<'_>) -> Outcome {
    let record = |number: usize| -> Record {
        let key = format!("key {number:04}").into_bytes();
        (key, vec![number as u8; number % 50])
    };
    let records: Vec<Record> = (0..1_000).map(record).collect();
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    if !load(session.as_mut(), &records[..600])? {
        return Ok("the engine has no loader here".to_owned());
    }
    ensure(subject.capabilities.bulk_load, || {
        "the engine loaded in bulk, which it does not claim".to_owned()
    })?;
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let found = read(session.as_mut(), all)?;
    ensure_records("after a load", &records[..600], &found)?;
    load(session.as_mut(), &[])?;
    load(session.as_mut(), &records[600..])?;
    session.begin(Mode::Read).at("begin")?;
    let refused = session.bulk_load(&mut Records([].iter())).is_err();
    session.abort().at("abort")?;
    ensure(refused, || {
        "a bulk load within a transaction should be refused, and was not".to_owned()
    })?;
    write(session.as_mut(), |session| session.delete(&records[0].0))?;
    drop(session);
    drop(database);
    subject.close()?;
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let found = read(session.as_mut(), all)?;
    ensure_records("two loads and a delete, reopened", &records[1..], &found)?;
    let max_key_bytes = subject.capabilities.max_key_bytes;
    let refused = if refuse_long_key(session.as_mut(), max_key_bytes, &records[1..])? {
        ", and one that is refused"
    } else {
        ""
    };
    Ok(format!("1,000 records in two loads{refused}"))
}
