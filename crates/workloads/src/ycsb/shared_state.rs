//! The state that the threads of a process share, by which their reads are verdict.

use super::properties::{Properties, RecordShape};
use crate::generate::insert::InsertSequence;
use crate::generate::value::Values;
use crate::keyed::draws::RecordLengths;
use crate::keyed::record::RecordMaker;
use crate::keyed::update_counts::{UpdateCounts, UpdateValidator};
use crate::keyed::versions::TrialVersions;
use crate::{Error, Result};
use std::sync::Arc;

/// The values never compress: YCSB's are random characters.
const PERCENT: u8 = 100;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<RecordLengths>;

/// The records of a seed.
///
/// # Errors
/// Never, for the percentage is one of the generator's.
pub(super) fn record_maker(shape: RecordShape, seed: u64) -> Result<Maker> {
    let values = Values::new(seed, PERCENT);
    let values = values.map_err(|error| Error::Workload(error.to_string()))?;
    Ok(Maker::new(shape.keys, values, shape.lengths(seed)))
}

/// The state that the threads of a process share.
pub(super) struct SharedState {
    /// Each worker has a clone; they have one pool of values.
    pub(super) maker: Maker,
    pub(super) validator: UpdateValidator,
    pub(super) inserts: Arc<InsertSequence>,
}

impl SharedState {
    /// `complete`: every worker of the trial is a thread of this process.
    pub(super) fn new(
        properties: &Properties,
        seed: u64,
        generation: u32,
        complete: bool,
    ) -> Result<Self> {
        let known = if properties.updates() {
            properties.records + properties.expected_inserts()
        } else {
            0
        };
        Ok(Self {
            maker: record_maker(properties.shape, seed)?,
            validator: UpdateValidator {
                versions: TrialVersions::new(generation),
                updates: UpdateCounts::new(known, complete),
            },
            inserts: Arc::new(InsertSequence::new(properties.records)),
        })
    }
}
