//! The parts that both sides of a comparison have in common: the library, and the hardware limits.

use super::side::{Side, SideCell};
use crate::statistics::median;
use crate::storage_models::StorageModels;
use crate::text::serialize_as_text;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use trueput_record::TrialRecord;
use trueput_record::hardware_limits::HardwareLimits;

/// A probe of a hardware limit. Its `Display` is the name that JSON has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitProbe {
    /// Flushes of the storage, one after the other.
    #[error("flushes/s, each alone")]
    Flush,
    /// Dependent reads of memory.
    #[error("dependent reads of memory/s")]
    MemoryRead,
    /// Random reads of the storage.
    #[error("random reads of 4 KiB/s")]
    BlockRead,
}

serialize_as_text!(LimitProbe);

impl LimitProbe {
    const ALL: [Self; 3] = [Self::Flush, Self::MemoryRead, Self::BlockRead];

    fn of(self, limits: &HardwareLimits) -> Option<f64> {
        match self {
            Self::Flush => Some(limits.flush?.separate_per_s),
            Self::MemoryRead => Some(limits.memory.dependent_reads_per_s),
            Self::BlockRead => Some(limits.blocks?.random_reads_per_s),
        }
    }
}

/// A hardware limit as both sides measured it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LimitPair {
    /// The probe.
    #[serde(rename = "what")]
    pub probe: LimitProbe,
    /// The first side's median, per second.
    pub first_per_s: f64,
    /// The second side's.
    pub second_per_s: f64,
}

/// A hardware limit that differs by more than this share may explain a difference of rates.
const NOTABLE_MOVE: f64 = 0.20;

impl LimitPair {
    /// Relative difference of the second from the first; negative if it is lower.
    #[must_use]
    pub fn rise(&self) -> f64 {
        self.second_per_s / self.first_per_s - 1.0
    }

    /// The relative difference, if it may explain a difference of rates.
    #[must_use]
    pub fn notable_rise(&self) -> Option<f64> {
        Some(self.rise()).filter(|rise| rise.abs() > NOTABLE_MOVE)
    }
}

/// What must be the same for hardware limits to be compared: the committers, the bytes of a commit,
/// and the storage models with the fault of the storage.
type LimitCircumstances = (u32, u64, StorageModels);

fn limit_circumstances(trial: &TrialRecord) -> Option<LimitCircumstances> {
    let all = trial.hardware_limits.as_ref()?;
    let models = StorageModels::of(&trial.spec.conditions);
    Some((all.committers, all.commit_bytes, models))
}

/// The hardware limits that both sides measured with equally many committers of equally many bytes
/// on the same storage models.
pub(super) fn limits(first: &[TrialRecord], second: &[TrialRecord]) -> Vec<LimitPair> {
    let circumstances = |trials: &[TrialRecord]| -> BTreeSet<LimitCircumstances> {
        trials.iter().filter_map(limit_circumstances).collect()
    };
    let (ours, theirs) = (circumstances(first), circumstances(second));
    let is_of_both = |trial: &&TrialRecord| {
        let own = limit_circumstances(trial);
        own.is_some_and(|own| ours.contains(&own) && theirs.contains(&own))
    };
    let of = |trials: &[TrialRecord], probe: LimitProbe| {
        let alike = trials.iter().filter(is_of_both);
        let hardware_limits = alike.filter_map(|trial| trial.hardware_limits.as_ref());
        median(hardware_limits.filter_map(|all| probe.of(all))).filter(|per_s| *per_s > 0.0)
    };
    let probed = LimitProbe::ALL.into_iter().filter_map(|probe| {
        Some(LimitPair {
            probe,
            first_per_s: of(first, probe)?,
            second_per_s: of(second, probe)?,
        })
    });
    probed.collect()
}

/// Pairs the hardware limits of two runs; empty for one run, whose contenders all have the same.
pub(super) fn limits_of_sides(first: &Side, second: &Side, one_run: bool) -> Vec<LimitPair> {
    if one_run {
        Vec::new()
    } else {
        limits(&first.report.trials, &second.report.trials)
    }
}

/// Whether both sides ran the same library with the same knobs under the same circumstances.
pub(super) fn same_library(first: &SideCell<'_>, second: &SideCell<'_>) -> bool {
    let hashes = |cell: &SideCell<'_>| -> BTreeSet<Option<String>> {
        let trials = cell.trials.iter();
        let hash = |trial: &&TrialRecord| trial.engine.as_ref().map(|it| it.sha256.clone());
        trials.map(hash).collect()
    };
    let (ours, theirs) = (hashes(first), hashes(second));
    let known = matches!(ours.first(), Some(Some(hash)) if !hash.is_empty()) && ours.len() == 1;
    let (a, b) = (first.spec, second.spec);
    known
        && ours == theirs
        && a.engine == b.engine
        && a.knobs == b.knobs
        && a.settings == b.settings
        && a.workers == b.workers
        && a.worker_kind == b.worker_kind
        && a.verify == b.verify
        && a.conditions == b.conditions
}
