//! Whether the cells of a ranking kept the objective of the plan, repeat by repeat.

use crate::capacity::{ObjectiveFigure, ObjectiveJudgement, Violation};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::TrialRecord;
use trueput_record::objective::Objective;

/// The repeats of a cell beside an objective.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ObjectiveResult {
    /// Repeats that kept the objective.
    pub held: usize,
    /// Repeats.
    pub repeats: usize,
    /// The highest value of each limited figure in all repeats, in the order of the objective.
    pub figures: Vec<ObjectiveFigure>,
    /// The violations of the first repeat that did not keep it; empty if all did.
    pub violations: Vec<Violation>,
}

impl ObjectiveResult {
    /// Judges the repeats of a cell; `None` if one was a closed loop, which has no response times.
    #[must_use]
    pub fn of(repeats: &[&TrialRecord], objective: &Objective) -> Option<Self> {
        let judged = repeats.iter().map(|trial| judge(trial, objective));
        let judged: Vec<_> = judged.collect::<Option<_>>()?;
        let first = judged.first()?;
        let worst = |index: usize| {
            let of_all = judged.iter().filter_map(|one| one.figures.get(index));
            of_all.max_by(|one, other| one.value.total_cmp(&other.value))
        };
        let figures = (0..first.figures.len()).filter_map(worst).cloned();
        let missed = judged.iter().find(|one| !one.holds());
        Some(Self {
            held: judged.iter().filter(|one| one.holds()).count(),
            repeats: judged.len(),
            figures: figures.collect(),
            violations: missed.map_or_else(Vec::new, |one| one.violations.clone()),
        })
    }

    /// Whether every repeat kept the objective.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.held == self.repeats
    }
}

/// Judges a trial; `None` if it was no open loop, or was not measured.
#[must_use]
pub fn judge(trial: &TrialRecord, objective: &Objective) -> Option<ObjectiveJudgement> {
    trial.measurement.as_ref()?.open_loop.as_ref()?;
    Some(ObjectiveJudgement::of(trial, objective))
}
