//! The load: every record once, in the order of the items, in transactions of bounded size.

use super::draws::ValueLengths;
use super::record::RecordMaker;
use super::transaction::transact_unmetered;
use crate::{JobDatabase, LoadSummary, Result};
use trueput_engine::{Mode, Result as EngineResult};

/// The version of a record that was loaded or inserted and not updated since.
pub(crate) const FIRST_VERSION: u32 = 0;

/// Puts the records below `records`, in transactions of `batch`.
pub(crate) fn load<L: ValueLengths>(
    records: u64,
    batch: u64,
    maker: &mut RecordMaker<L>,
    target: &JobDatabase<'_>,
) -> Result<LoadSummary> {
    load_those(records, batch, |_| true, maker, target)
}

/// Puts the records below `records` that are wanted, in transactions of at most `batch`.
pub(crate) fn load_those<L: ValueLengths>(
    records: u64,
    batch: u64,
    is_wanted: impl Fn(u64) -> bool,
    maker: &mut RecordMaker<L>,
    target: &JobDatabase<'_>,
) -> Result<LoadSummary> {
    let mut session = target.open_session()?;
    let mut load = LoadSummary::default();
    let mut first = 0;
    while first < records {
        let end = records.min(first.saturating_add(batch));
        let doing = || format!("loading the records from {first} on");
        let bytes = transact_unmetered(&mut *session, Mode::Write, doing, |session| {
            let wanted = &mut (first..end).filter(|item| is_wanted(*item));
            wanted.try_fold(0, |bytes, item| -> EngineResult<u64> {
                let (key, value) = maker.make(item, FIRST_VERSION);
                session.put(key, value)?;
                Ok(bytes + (key.len() + value.len()) as u64)
            })
        })?;
        load.records += (first..end).filter(|item| is_wanted(*item)).count() as u64;
        first = end;
        load.user_bytes += bytes;
        (target.progress)(end as f64 / records as f64);
    }
    Ok(load)
}
