//! What the threads of a process share.

use super::fault::{Fault, Faults};
use super::properties::Properties;
use super::record::{Maker, Seen};
use super::version::{Ledger, Trial};
use crate::Error;
use crate::generate::insert::InsertSequence;
use std::sync::Arc;

/// What the threads of a process share.
pub(super) struct Shared {
    /// Each worker has a clone; they have one pool of values.
    pub(super) maker: Maker,
    pub(super) ledger: Ledger,
    pub(super) inserts: Arc<InsertSequence>,
    pub(super) trial: Trial,
}

impl Shared {
    /// `complete`: every worker of the trial is a thread of this process.
    pub(super) fn new(
        properties: &Properties,
        seed: u64,
        generation: u32,
        complete: bool,
    ) -> Result<Self, Error> {
        let known = match properties.renews() {
            true => properties.records + properties.expected_inserts(),
            false => 0,
        };
        Ok(Self {
            maker: Maker::new(properties.shape, seed)?,
            ledger: Ledger::new(known, complete),
            inserts: Arc::new(InsertSequence::new(properties.records)),
            trial: Trial::new(generation),
        })
    }

    /// Judges the version of a record that was read, of which `fewest` updates were committed when
    /// the read began.
    pub(super) fn judge(&self, seen: Seen, fewest: u32, faults: &mut Faults) {
        let updates = self.trial.updates(seen.version);
        if updates < fewest {
            faults.add(Fault::Stale, seen.item);
        } else if updates > self.ledger.most(seen.item) {
            faults.add(Fault::Unmade, seen.item);
        }
    }
}
