//! Databases and transactions in one line each, for the tests of drivers. Every function panics
//! where the engine fails.

use crate::{
    Database, Durability, Engine, Error, Mode, OpenSpec, ParameterValues, Result, Session, Value,
    ValueKind, parameter,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Knobs as a user writes them, with spaces between: `cache_size=1GiB compression=none`.
pub fn settings(engine: &dyn Engine, knobs: &str) -> BTreeMap<String, Value> {
    let setting = |knob: &str| {
        let (name, value) = knob.split_once('=').unwrap();
        let parameter = engine.knobs().iter().find(|knob| knob.name == name);
        let value = match parameter.map(|parameter| &parameter.kind) {
            Some(ValueKind::Choice { .. }) => Value::from(value),
            _ => Value::parse(value),
        };
        (name.to_owned(), value)
    };
    knobs.split_whitespace().map(setting).collect()
}

/// All knobs of an engine at their defaults, except those given here.
pub fn resolve(engine: &dyn Engine, knobs: &str) -> ParameterValues {
    let settings = settings(engine, knobs);
    parameter::resolve(engine.info().name, engine.knobs(), &settings).unwrap()
}

/// Opens a database, as the runner would.
pub fn open(
    engine: &dyn Engine,
    directory: &Path,
    durability: Durability,
    knobs: &str,
) -> Result<Box<dyn Database>> {
    engine.open(&OpenSpec {
        directory,
        durability,
        knobs: &resolve(engine, knobs),
        sessions: 8,
    })
}

/// The error of an opening that must fail.
pub fn refusal(
    engine: &dyn Engine,
    directory: &Path,
    durability: Durability,
    knobs: &str,
) -> Error {
    open(engine, directory, durability, knobs).err().unwrap()
}

/// A session with a transaction open.
pub fn begin(database: &dyn Database, mode: Mode) -> Box<dyn Session + '_> {
    let mut session = database.session().unwrap();
    session.begin(mode).unwrap();
    session
}

/// The value of `key` in the open transaction.
pub fn get(session: &mut dyn Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let is_there = session
        .get(key, &mut |value| found = Some(value.to_vec()))
        .unwrap();
    assert_eq!(is_there, found.is_some());
    found
}

/// The value of `key` in a read transaction of its own.
pub fn read(database: &dyn Database, key: &[u8]) -> Option<Vec<u8>> {
    let mut session = begin(database, Mode::Read);
    let found = get(session.as_mut(), key);
    session.commit().unwrap();
    found
}

/// Stores one record in a write transaction of its own.
pub fn write(database: &dyn Database, key: &[u8], value: &[u8]) {
    let mut session = begin(database, Mode::Write);
    session.put(key, value).unwrap();
    session.commit().unwrap();
}
