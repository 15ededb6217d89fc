//! Several keys at once.

use super::EngineUnderTest;
use super::support::{Outcome, Record, StepContext, ensure, ensure_value, read, store, write};
use crate::{KeyBatch, Session};

/// What a batch of look-ups showed.
struct ShownBatch {
    /// The values by the position of their key, and behind them those of no key.
    values: Vec<Vec<Vec<u8>>>,
    /// The number of values that the engine says it passed.
    found: u64,
}

fn get_many(session: &mut dyn Session, keys: &[&[u8]]) -> crate::Result<ShownBatch> {
    let mut batch = KeyBatch::default();
    keys.iter().for_each(|key| batch.push(key));
    let mut values = vec![Vec::new(); keys.len() + 1];
    let found = session.get_many(&batch, &mut |position, value| {
        values[position.min(keys.len())].push(value.to_vec());
    })?;
    Ok(ShownBatch { values, found })
}

impl ShownBatch {
    /// Fails unless each value was shown once, at the position of its key, and no other.
    fn ensure(&self, step: &str, expected: &[Option<&[u8]>]) -> Outcome<()> {
        for (position, (values, expected)) in self.values.iter().zip(expected).enumerate() {
            let step = format!("{step}, the key at position {position}");
            let found = values.first().map(Vec::as_slice);
            ensure_value(&step, *expected, found)?;
            ensure(values.len() <= 1, || {
                format!("{step}: its value was shown {} times", values.len())
            })?;
        }
        let strays = self.values.last().map_or(0, Vec::len);
        ensure(strays == 0, || {
            format!("{step}: {strays} values were shown at positions without a key")
        })?;
        let exist = expected.iter().flatten().count() as u64;
        ensure(self.found == exist, || {
            format!(
                "{step}: it answered {} and showed {exist} values",
                self.found
            )
        })
    }
}

/// More records than a statement with a list of keys is likely to have.
const RECORDS: usize = 300;

/// A record whose key ends with two bytes that are no text: over all records the last one has every
/// value.
fn record(number: usize) -> Record {
    let bytes = (number as u16 * 211).to_be_bytes();
    let key = [b"key ".as_slice(), bytes.as_slice()].concat();
    (key, vec![b'v'; 1 + number % 40])
}

pub fn get_as_one_by_one(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let records: Vec<Record> = (0..RECORDS).map(record).collect();
    store(session.as_mut(), &records)?;
    let none = read(session.as_mut(), |session| get_many(session, &[]))?;
    none.ensure("no keys", &[])?;
    let key = |number: usize| records[number].0.as_slice();
    let few: [&[u8]; 6] = [key(299), key(0), b"absent", key(5), b"key", key(0)];
    let value = |number: usize| Some(records[number].1.as_slice());
    let expected = [value(299), value(0), None, value(5), None, value(0)];
    let shown = read(session.as_mut(), |session| get_many(session, &few))?;
    shown.ensure("a read transaction", &expected)?;
    // Every record, backward, each before a key that is not there.
    let missing: Vec<Vec<u8>> = records
        .iter()
        .map(|(key, _)| [key.as_slice(), b"."].concat())
        .collect();
    let (mut keys, mut expected) = (Vec::new(), Vec::new());
    for ((key, value), missing) in records.iter().zip(&missing).rev() {
        keys.extend([key.as_slice(), missing.as_slice()]);
        expected.extend([Some(value.as_slice()), None]);
    }
    let shown = read(session.as_mut(), |session| get_many(session, &keys))?;
    shown.ensure("many keys", &expected)?;
    let own = write(session.as_mut(), |session| {
        session.put(key(5), b"own")?;
        session.delete(key(0))?;
        session.put(b"absent", b"")?;
        get_many(session, &few)
    })?;
    let after = [value(299), None, Some(&b""[..]), Some(b"own"), None, None];
    own.ensure("a write transaction that wrote", &after)?;
    drop(session);
    let mut session = database.session().at("another session")?;
    let shown = read(session.as_mut(), |session| get_many(session, &few))?;
    shown.ensure("a later session", &after)?;
    Ok(format!("{} keys at once", keys.len()))
}
