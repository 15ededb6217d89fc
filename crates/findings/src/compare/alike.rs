//! What puts a comparison in another light: the same library on both sides, or another machine.

use super::side::{Side, SideCell};
use super::{SideComparison, SideFacts};
use crate::statistics::{Disturbance, median};
use serde::Serialize;
use std::collections::BTreeSet;
use trueput_record::TrialRecord;
use trueput_record::hardware_limits::HardwareLimits;

/// A hardware limit that moved by more than this part is named beside the verdict.
const MOVED: f64 = 0.20;

/// A probe of a hardware limit.
struct Probe {
    name: &'static str,
    /// What the machine does this many times per second, as in "its storage flushed".
    does: &'static str,
    of: fn(&HardwareLimits) -> Option<f64>,
}

const PROBES: [Probe; 3] = [
    Probe {
        name: "flushes/s, each alone",
        does: "its storage flushed",
        of: |all| Some(all.flush?.separate_per_s),
    },
    Probe {
        name: "dependent reads of memory/s",
        does: "its memory was read",
        of: |all| Some(all.memory.dependent_reads_per_s),
    },
    Probe {
        name: "random reads of 4 KiB/s",
        does: "its storage was read",
        of: |all| Some(all.blocks?.random_reads_per_s),
    },
];

/// A hardware limit as both sides measured it.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// What was probed.
    pub what: &'static str,
    /// The first side's median, per second.
    pub first_per_s: f64,
    /// The second side's.
    pub second_per_s: f64,
    #[serde(skip)]
    does: &'static str,
}

impl Limit {
    /// By what part the second is higher than the first; negative where it is lower.
    pub(super) fn rise(&self) -> f64 {
        self.second_per_s / self.first_per_s - 1.0
    }

    /// What moved, as a clause about the second run.
    fn clause(&self) -> Option<String> {
        let rise = self.rise();
        let how = if rise < 0.0 { "fewer" } else { "more" };
        let part = (rise.abs() * 100.0).round();
        let does = self.does;
        (rise.abs() > MOVED).then(|| format!("{does} {part:.0} % {how} times per second"))
    }
}

/// The hardware limits that both sides measured with as many committers of as many bytes.
pub(super) fn limits(first: &[TrialRecord], second: &[TrialRecord]) -> Vec<Limit> {
    let circumstances = |trials: &[TrialRecord]| -> BTreeSet<(u32, u64)> {
        let hardware_limits = trials
            .iter()
            .filter_map(|trial| trial.hardware_limits.as_ref());
        hardware_limits
            .map(|all| (all.committers, all.commit_bytes))
            .collect()
    };
    let both = circumstances(first);
    let both: Vec<_> = both.intersection(&circumstances(second)).copied().collect();
    let of = |trials: &[TrialRecord], probe: &Probe| {
        let hardware_limits = trials
            .iter()
            .filter_map(|trial| trial.hardware_limits.as_ref());
        let alike =
            hardware_limits.filter(|all| both.contains(&(all.committers, all.commit_bytes)));
        median(alike.filter_map(probe.of)).filter(|per_s| *per_s > 0.0)
    };
    let probed = PROBES.iter().filter_map(|probe| {
        Some(Limit {
            what: probe.name,
            first_per_s: of(first, probe)?,
            second_per_s: of(second, probe)?,
            does: probe.does,
        })
    });
    probed.collect()
}

/// The hardware limits of two runs; those of one run are the same for all its contenders.
pub(super) fn of_sides(first: &Side, second: &Side, one_run: bool) -> Vec<Limit> {
    match one_run {
        true => Vec::new(),
        false => limits(&first.report.trials, &second.report.trials),
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

impl SideComparison {
    /// What to know before the verdicts: that both sides ran the same library.
    #[must_use]
    pub fn same_library(&self) -> Option<String> {
        let same: Vec<_> = self.results.iter().filter(|it| it.same_library).collect();
        let what = "ran the same library (same SHA-256)";
        let cause = match self.one_run {
            true => "so they differ by chance or by the machine",
            false => "so a difference comes from the machine or the settings",
        };
        if same.is_empty() {
            return None;
        }
        if same.len() == self.results.len() {
            return Some(format!("Both sides {what}, {cause}."));
        }
        let names: BTreeSet<_> = same.iter().map(|result| result.first_name()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Some(format!("{names}: both sides {what}, {cause}."))
    }

    /// What disturbed the runs, a clause each: "run B was disturbed: …".
    #[must_use]
    pub fn disturbances(&self) -> Vec<String> {
        let reasons = |facts: &SideFacts| -> Vec<String> {
            let noise = facts.noise.iter().flat_map(|noise| &noise.reasons);
            noise.map(Disturbance::to_string).collect()
        };
        let clause = |name: &str, reasons: Vec<String>| {
            (!reasons.is_empty()).then(|| format!("{name} was disturbed: {}", reasons.join("; ")))
        };
        let first = reasons(&self.first);
        if self.one_run {
            return clause("the run", first).into_iter().collect();
        }
        let moved: Vec<_> = self.limits.iter().filter_map(Limit::clause).collect();
        let second = reasons(&self.second);
        let second = match second.is_empty() && !moved.is_empty() {
            true => Some(format!("in run B {} than in run A", moved.join("; "))),
            false => {
                let last = moved.last().map(|last| format!("{last} than in run A"));
                let others = moved.iter().take(moved.len().saturating_sub(1)).cloned();
                clause(
                    "run B",
                    second.into_iter().chain(others).chain(last).collect(),
                )
            }
        };
        [clause("run A", first), second]
            .into_iter()
            .flatten()
            .collect()
    }
}
