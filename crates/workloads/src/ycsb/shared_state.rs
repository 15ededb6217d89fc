//! The state that the threads of a process share, by which their reads are judged.

use super::choosers::RecordLengths;
use super::properties::{Properties, RecordShape};
use super::version::{TrialVersions, UpdateCounts};
use crate::Error;
use crate::generate::insert::InsertSequence;
use crate::generate::value::Values;
use crate::keyed::read_check::{ReadFault, ReadValidator, RecordState};
use crate::keyed::record::RecordMaker;
use std::sync::Arc;

/// The values never compress: YCSB's are random characters.
const PERCENT: u8 = 100;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<RecordLengths>;

/// The records of a seed.
///
/// # Errors
/// Never, for the percentage is one of the generator's.
pub(super) fn record_maker(shape: RecordShape, seed: u64) -> Result<Maker, Error> {
    let values = Values::new(seed, PERCENT);
    let values = values.map_err(|error| Error::Workload(error.to_string()))?;
    let lengths = RecordLengths::new(&shape, seed);
    Ok(Maker::new(shape.keys, values, lengths))
}

/// The state that the threads of a process share.
pub(super) struct SharedState {
    /// Each worker has a clone; they have one pool of values.
    pub(super) maker: Maker,
    pub(super) updates_by_record: UpdateCounts,
    pub(super) inserts: Arc<InsertSequence>,
    pub(super) trial: TrialVersions,
}

impl SharedState {
    /// `complete`: every worker of the trial is a thread of this process.
    pub(super) fn new(
        properties: &Properties,
        seed: u64,
        generation: u32,
        complete: bool,
    ) -> Result<Self, Error> {
        let known = match properties.updates() {
            true => properties.records + properties.expected_inserts(),
            false => 0,
        };
        Ok(Self {
            maker: record_maker(properties.shape, seed)?,
            updates_by_record: UpdateCounts::new(known, complete),
            inserts: Arc::new(InsertSequence::new(properties.records)),
            trial: TrialVersions::new(generation),
        })
    }
}

impl ReadValidator for SharedState {
    fn floor(&self, item: u64) -> u32 {
        self.updates_by_record.least(item)
    }

    fn judge(&self, item: u64, floor: u32, state: RecordState) -> Result<(), ReadFault> {
        match state {
            RecordState::Absent => Err(ReadFault::Lost),
            RecordState::Foreign => Err(ReadFault::Foreign),
            RecordState::Version(version) => match self.trial.updates(version) {
                updates if updates < floor => Err(ReadFault::Stale),
                updates if updates > self.updates_by_record.most(item) => Err(ReadFault::Unwritten),
                _ => Ok(()),
            },
        }
    }
}
