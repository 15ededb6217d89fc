//! The counts of one model of storage.

use crate::counterexample::describe_unknown;
use crate::recorded::RecordedWorkload;
use std::collections::BTreeMap;
use std::time::Duration;
use trueput_record::audit::{Counterexample, Damage, DamageKind, Doubt, ModelResult, StorageModel};

/// Returns whether the damage is of the file system below the database, and so says nothing of the
/// engine.
pub(crate) fn is_of_storage(damage: Option<&Damage>) -> bool {
    damage.is_some_and(|damage| damage.kind == DamageKind::FileSystemLost)
}

/// The counts of one model so far.
#[derive(Debug, Default)]
pub(crate) struct ModelRun {
    pub(crate) states: u64,
    pub(crate) distinct: u64,
    pub(crate) recoveries: u64,
    pub(crate) refuted: u64,
    pub(crate) unmountable: u64,
    pub(crate) damage: BTreeMap<DamageKind, u64>,
    pub(crate) counterexample: Option<Counterexample>,
    pub(crate) undecided: Option<Doubt>,
    /// Whether there are flushes of which nobody knows the part, in the recording or in that of a
    /// recovery.
    pub(crate) has_unknown_flush: bool,
    /// Whether the time was over, or the user stopped it, before enough states were tried.
    pub(crate) was_cut_off: bool,
}

impl ModelRun {
    pub(crate) fn count(&mut self, is_distinct: bool, damage: Option<&Damage>) {
        self.states += 1;
        self.distinct += u64::from(is_distinct);
        if is_of_storage(damage) {
            self.unmountable += 1;
        } else if let Some(damage) = damage {
            self.refuted += 1;
            *self.damage.entry(damage.kind).or_default() += 1;
        }
    }

    /// Returns what a run with flushes of unknown parts covering nothing leaves open: the damage
    /// that it found, or all of it if it was cut off.
    pub(crate) fn into_doubt(self, recorded: &RecordedWorkload) -> Option<Doubt> {
        match self.counterexample {
            Some(example) => Some(Doubt {
                states: self.states,
                flushes: describe_unknown(recorded, &example.state),
                damage: Some(example.damage),
                words: example.words,
            }),
            None => self.was_cut_off.then(|| Doubt {
                states: self.states,
                damage: None,
                words: Vec::new(),
                flushes: Vec::new(),
            }),
        }
    }

    pub(crate) fn into_result(self, model: StorageModel, elapsed: Duration) -> ModelResult {
        ModelResult {
            model,
            states: self.states,
            distinct: self.distinct,
            recoveries: self.recoveries,
            refuted: self.refuted,
            unmountable: self.unmountable,
            damage: self.damage,
            counterexample: self.counterexample,
            undecided: self.undecided,
            elapsed_s: elapsed.as_secs_f64(),
        }
    }
}
