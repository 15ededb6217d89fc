//! Scans: order, bounds, breaking off, and the transaction's own writes.

use super::EngineUnderTest;
use super::support::{
    Outcome, Record, StepContext, ensure_records, quote_bytes, random_key, read, scan, scan_until,
    store, write,
};
use crate::{Direction, KeyRange, Session};
use std::collections::BTreeMap;
use std::ops::Bound;
use trueput_record::random::SplitMix64;

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Returns the expected result of a scan, by brute force over every record in ascending order.
pub fn expected(
    model: &BTreeMap<Vec<u8>, Vec<u8>>,
    range: KeyRange<'_>,
    direction: Direction,
) -> Vec<Record> {
    let within = |key: &[u8]| range.admits_from_below(key) && range.admits_from_above(key);
    let records = model.iter().filter(|(key, _)| within(key));
    let mut records: Vec<_> = records.map(|(k, v)| (k.clone(), v.clone())).collect();
    if direction == Direction::Backward {
        records.reverse();
    }
    records
}

/// Formats the range for people.
pub fn range_text(range: KeyRange<'_>, direction: Direction) -> String {
    let low = match range.lower {
        Bound::Included(key) => format!("[{}", quote_bytes(key)),
        Bound::Excluded(key) => format!("({}", quote_bytes(key)),
        Bound::Unbounded => "(-".to_owned(),
    };
    let high = match range.upper {
        Bound::Included(key) => format!("{}]", quote_bytes(key)),
        Bound::Excluded(key) => format!("{})", quote_bytes(key)),
        Bound::Unbounded => "-)".to_owned(),
    };
    format!("{direction:?} {low}, {high}")
}

/// Checks that every scan of the whole database agrees with the model.
fn check_scans(session: &mut dyn Session, model: &BTreeMap<Vec<u8>, Vec<u8>>) -> Outcome<()> {
    for direction in DIRECTIONS {
        let found = read(session, |session| scan(session, KeyRange::ALL, direction))?;
        let expected = expected(model, KeyRange::ALL, direction);
        ensure_records(&format!("{direction:?} over all"), &expected, &found)?;
    }
    Ok(())
}

pub fn order(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    check_scans(session.as_mut(), &BTreeMap::new())?;
    let mut random = SplitMix64::new(1);
    let longest = subject.capabilities.max_key_bytes.min(24);
    let mut keys: Vec<Vec<u8>> = (0..1_000)
        .map(|_| random_key(&mut random, longest))
        .collect();
    keys.extend((0..=255).map(|byte| vec![byte]));
    let special: [&[u8]; 8] = [
        b"a",
        b"a\0",
        b"a\0\0",
        b"a\xff",
        b"aa",
        b"\0\0",
        b"\xff\xff",
        b"\xff\0",
    ];
    keys.extend(special.map(<[u8]>::to_vec));
    let value = |index: usize| index.to_le_bytes().to_vec();
    let records: Vec<Record> = keys
        .into_iter()
        .enumerate()
        .map(|(index, key)| (key, value(index)))
        .collect();
    store(session.as_mut(), &records)?;
    let model: BTreeMap<_, _> = records.into_iter().collect();
    check_scans(session.as_mut(), &model)?;
    Ok(format!("{} keys, both ways", model.len()))
}

pub fn bounds(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let keys: [&[u8]; 7] = [b"\0", b"a", b"b", b"b\0", b"bb", b"\xff", b"\xff\xff"];
    let records = keys.map(|key| (key.to_vec(), key.to_vec()));
    store(session.as_mut(), &records)?;
    let model: BTreeMap<_, _> = records.into_iter().collect();
    // Between, below and above the keys; the empty string is a valid bound even if it cannot be a
    // key.
    let between: [&[u8]; 5] = [b"", b"\0\0", b"aa", b"c", b"\xff\xff\xff"];
    let mut ends = vec![Bound::Unbounded];
    for key in keys.into_iter().chain(between) {
        ends.extend([Bound::Included(key), Bound::Excluded(key)]);
    }
    let ends = &ends;
    let ranges: Vec<KeyRange<'_>> = ends
        .iter()
        .flat_map(|&lower| ends.iter().map(move |&upper| KeyRange { lower, upper }))
        .collect();
    let scans: Vec<_> = ranges
        .iter()
        .flat_map(|&range| DIRECTIONS.map(|direction| (range, direction)))
        .collect();
    let found = read(session.as_mut(), |session| {
        scans
            .iter()
            .map(|&(range, direction)| scan(session, range, direction))
            .collect::<Result<Vec<_>, _>>()
    })?;
    for (&(range, direction), found) in scans.iter().zip(&found) {
        let expected = expected(&model, range, direction);
        ensure_records(&range_text(range, direction), &expected, found)?;
    }
    Ok(format!(
        "{} ranges, both ways, empty and reversed ones too",
        ranges.len()
    ))
}

pub fn breaks(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let records: Vec<Record> = (0..10)
        .map(|number| (vec![b'k', number], vec![number]))
        .collect();
    store(session.as_mut(), &records)?;
    let model: BTreeMap<_, _> = records.into_iter().collect();
    let range = KeyRange::between(b"k\x02", b"k\x08");
    for direction in DIRECTIONS {
        let whole = expected(&model, range, direction);
        for most in 1..=whole.len() {
            let found = read(session.as_mut(), |session| {
                scan_until(session, range, direction, most)
            })?;
            let scan = format!("{direction:?}, broken off at record {most}");
            ensure_records(&scan, &whole[..most], &found)?;
        }
    }
    Ok("at every record of six, both ways".to_owned())
}

pub fn own_writes(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let before: Vec<Record> = (0..20)
        .map(|n| (vec![b'k', n * 2], b"before".to_vec()))
        .collect();
    store(session.as_mut(), &before)?;
    let mut model: BTreeMap<_, _> = before.into_iter().collect();
    for number in (0..40).step_by(3) {
        model.insert(vec![b'k', number], b"own".to_vec());
    }
    for number in (0..40).step_by(4) {
        model.remove(&vec![b'k', number]);
    }
    let range = KeyRange::between(b"k\x05", b"k\x1e");
    let found = write(session.as_mut(), |session| {
        for number in (0..40).step_by(3) {
            session.put(&[b'k', number], b"own")?;
        }
        for number in (0..40).step_by(4) {
            session.delete(&[b'k', number])?;
        }
        let mut found = Vec::new();
        for range in [KeyRange::ALL, range] {
            for direction in DIRECTIONS {
                found.push((range, direction, scan(session, range, direction)?));
            }
        }
        Ok(found)
    })?;
    for (range, direction, found) in &found {
        let expected = expected(&model, *range, *direction);
        ensure_records(&range_text(*range, *direction), &expected, found)?;
    }
    check_scans(session.as_mut(), &model)?;
    Ok("puts and deletes among committed records, both ways".to_owned())
}
