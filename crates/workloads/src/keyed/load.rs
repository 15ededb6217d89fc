//! The load: every record once, in the order of the items, in transactions of bounded size.

use super::draws::ValueLengths;
use super::record::RecordMaker;
use super::transaction::transact_unmetered;
use super::versions::{FIRST_VERSION, TrialVersions};
use crate::{ExistingDatabase, JobDatabase, LoadSummary, Result};
use trueput_engine::{Mode, Result as EngineResult};

/// Puts the records that a job wants, unless they are there. Those of a finished trial are put
/// again once all generations of versions were used: nothing is measured of such a load, for it is
/// not comparable.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn load_unless_loaded<L: ValueLengths>(
    wanted: &LoadedRecords<impl Fn(u64) -> bool>,
    make: impl FnOnce() -> Result<RecordMaker<L>>,
    target: &JobDatabase<'_>,
    remains: ExistingDatabase,
) -> Result<Option<LoadSummary>> {
    let must_load = TrialVersions::new(target.generation).need_load();
    if remains == ExistingDatabase::Loaded && !must_load {
        return Ok(None);
    }
    let load = load(wanted, &mut make()?, target)?;
    Ok((remains == ExistingDatabase::Nothing).then_some(load))
}

/// The records that a job wants loaded.
pub(crate) struct LoadedRecords<W> {
    /// Those below it.
    pub records: u64,
    /// Records of a transaction at most.
    pub batch: u64,
    /// Whether a record is wanted.
    pub is_wanted: W,
}

/// Puts the records that are wanted.
fn load<L: ValueLengths>(
    wanted: &LoadedRecords<impl Fn(u64) -> bool>,
    maker: &mut RecordMaker<L>,
    target: &JobDatabase<'_>,
) -> Result<LoadSummary> {
    let LoadedRecords {
        records,
        batch,
        ref is_wanted,
    } = *wanted;
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
