//! The load phase: every record, item after item, whose keys are in no order where they are hashed.

use super::properties::Properties;
use super::record::Maker;
use super::version::FIRST;
use crate::{Doing, Error, Load, Target};
use trueput_engine::{Mode, Session};

/// Puts every record, in transactions of [`Properties::load_batch`].
///
/// # Errors
/// Whatever the engine says.
pub(super) fn load(properties: &Properties, target: &Target<'_>) -> Result<Load, Error> {
    let session = target.database.session();
    let mut session = session.doing(|| "opening a session".to_owned())?;
    let mut maker = Maker::new(properties.shape, target.seed)?;
    let mut load = Load::default();
    while load.records < properties.records {
        let first = load.records;
        let last = properties.records.min(first + properties.load_batch);
        let bytes = loop {
            match put(&mut *session, &mut maker, first, last) {
                Err(error) if error.is_conflict() => {}
                done => break done.doing(|| format!("loading the records from {first} on"))?,
            }
        };
        load.records = last;
        load.user_bytes += bytes;
        (target.progress)(last as f64 / properties.records as f64);
    }
    Ok(load)
}

/// Puts the records from `first` to before `last` in one transaction; the bytes of their keys and
/// values.
fn put(
    session: &mut dyn Session,
    maker: &mut Maker,
    first: u64,
    last: u64,
) -> trueput_engine::Result<u64> {
    session.begin(Mode::Write)?;
    let mut bytes = 0;
    for item in first..last {
        let (key, record) = maker.make(item, FIRST);
        bytes += (key.len() + record.len()) as u64;
        if let Err(error) = session.put(key, record) {
            // The error says more than what the abort may add; the transaction ends either way.
            let _ = session.abort();
            return Err(error);
        }
    }
    session.commit()?;
    Ok(bytes)
}
