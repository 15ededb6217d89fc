//! What planned faults did to contenders, over the repeats.

use crate::Run;
use crate::trial_names::TrialNames;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::failover::{Failover, FaultOutcome};
use trueput_record::{ClusterSurvival, Outcome, TrialRecord};

/// The effect of a planned fault on a contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FaultEffect {
    /// The contender.
    pub contender: String,
    /// The fault, as a plan writes it: `kill=leader`.
    pub order: String,
    /// The nodes that it concerned in the first of them; empty: there was nothing to do.
    pub nodes: Vec<u32>,
    /// The repeats in which it was caused.
    pub trials: usize,
    /// The shortest and the longest time in which nobody's commit was acknowledged, seconds.
    pub gap_s: (f64, f64),
    /// The longest such time before the first fault.
    pub usual_gap_s: f64,
    /// Whether in a repeat that time had not ended at the next fault or the end.
    pub gap_is_open: bool,
    /// The shortest and the longest time until the rate was back, seconds; `None` if a repeat did
    /// not get there.
    pub recovered_after_s: Option<(f64, f64)>,
}

/// The commits of a contender under planned faults, over its repeats.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FailoverTotals {
    /// The contender.
    pub contender: String,
    /// Commits whose answer was lost.
    pub unknown: u64,
    /// Those of them that had taken effect.
    pub unknown_committed: u64,
    /// Those that took effect after they had been repeated.
    pub late: u64,
    /// Acknowledged commits that were missing after a fault.
    pub missing: u64,
    /// Commits without an answer that were read after a fault and were missing after another.
    pub visible_then_lost: u64,
    /// The failures that an acknowledged commit survives, as the driver states it.
    pub promised: Option<ClusterSurvival>,
}

/// The effects of planned faults in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct FailoverFindings {
    /// The effect of each fault on each contender, in the plan's order.
    pub effects: Vec<FaultEffect>,
    /// The commits of each contender.
    pub totals: Vec<FailoverTotals>,
}

/// Returns the trials with planned faults that were measured to their end, with what the faults
/// did.
pub fn trials_with_faults(run: &Run) -> impl Iterator<Item = (&TrialRecord, &Failover)> {
    let trials = run.trials.iter();
    let ended = trials.filter(|trial| trial.outcome != Outcome::Interrupted);
    ended.filter_map(|trial| {
        let failover = trial.measurement.as_ref()?.failover.as_ref()?;
        Some((trial, failover))
    })
}

impl FailoverFindings {
    /// Gathers the effects in a run, whether or not its trials count: lost commits make a trial
    /// invalid.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let names = TrialNames::of(run);
        let mut found = Self::default();
        let mut cells: Vec<(u32, Vec<(&TrialRecord, &Failover)>)> = Vec::new();
        for one in trials_with_faults(run) {
            let cell = one.0.spec.cell;
            match cells.iter_mut().find(|(other, _)| *other == cell) {
                Some((_, repeats)) => repeats.push(one),
                None => cells.push((cell, vec![one])),
            }
        }
        for (_, repeats) in cells {
            let contender = names.cell(repeats[0].0);
            let usual_gap_s = repeats.iter().map(|(_, it)| it.usual_gap_s);
            let usual_gap_s = usual_gap_s.fold(0.0, f64::max);
            let faults = repeats[0].1.faults.iter().enumerate();
            found.effects.extend(faults.filter_map(|(index, first)| {
                let outcomes = repeats.iter().filter_map(|(_, it)| it.faults.get(index));
                let outcomes: Vec<_> = outcomes.collect();
                effect(contender.clone(), &first.order, &outcomes, usual_gap_s)
            }));
            found.totals.push(totals(contender, &repeats));
        }
        found
    }
}

fn effect(
    contender: String,
    order: &str,
    outcomes: &[&FaultOutcome],
    usual_gap_s: f64,
) -> Option<FaultEffect> {
    let recovered: Option<Vec<f64>> = outcomes.iter().map(|it| it.recovered_after_s).collect();
    Some(FaultEffect {
        contender,
        order: order.to_owned(),
        nodes: outcomes.first()?.nodes.clone(),
        trials: outcomes.len(),
        gap_s: ends(outcomes.iter().map(|it| it.gap_s))?,
        usual_gap_s,
        gap_is_open: outcomes.iter().any(|it| it.gap_is_open),
        recovered_after_s: recovered.and_then(|times| ends(times.into_iter())),
    })
}

fn ends(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let least = values.clone().reduce(f64::min)?;
    Some((least, values.reduce(f64::max)?))
}

fn totals(contender: String, repeats: &[(&TrialRecord, &Failover)]) -> FailoverTotals {
    let sum = |count: fn(&Failover) -> u64| repeats.iter().map(|(_, it)| count(it)).sum();
    let promise = |trial: &TrialRecord| trial.engine.as_ref()?.promise.cluster;
    FailoverTotals {
        contender,
        unknown: sum(Failover::unknown),
        unknown_committed: sum(|it| it.unknown_committed),
        late: sum(|it| it.late),
        missing: sum(|it| it.missing),
        visible_then_lost: sum(|it| it.visible_then_lost),
        promised: promise(repeats[0].0),
    }
}
