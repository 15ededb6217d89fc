//! The gates of a comparison: see [`crate::gate`].

use super::matching::match_cells;
use super::side::{Side, SideCell};
use super::{Error, same_folder};
use crate::gate::{AbsentFigure, GateResult, GateSide, RepeatRelation, judge};
use crate::statistics::SequentialRule;
use trueput_record::gate::GateRule;

/// Gates cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The sides cannot be compared.
    #[error(transparent)]
    Comparison(#[from] Error),
    /// A figure is missing.
    #[error(transparent)]
    AbsentFigure(#[from] AbsentFigure),
}

/// Judges each of the others against the first side by gates. All results are read together.
///
/// # Errors
/// [`GateError`] if the sides are not comparable, or a figure is missing.
pub fn judge_gates(
    first: &Side,
    others: &[Side],
    rules: &[GateRule],
) -> Result<Vec<GateResult>, GateError> {
    let mut matched = Vec::new();
    for other in others {
        let is_one_run = same_folder(first, other);
        let pairs = match_cells(first, other)?.pairs.into_iter();
        matched.extend(pairs.map(|pair| (is_one_run, pair)));
    }
    let comparisons = matched.len() * rules.len();
    let decision = first.report.manifest.decision();
    let sequence =
        decision.map(|settings| SequentialRule::new(settings.max_repeats, 0.0).among(comparisons));
    let mut results = Vec::new();
    for (is_one_run, (one, other)) in &matched {
        let relation = match (&sequence, is_one_run) {
            (Some(rule), true) => RepeatRelation::Sequential(rule),
            (None, true) => RepeatRelation::Paired,
            (_, false) => RepeatRelation::Separate,
        };
        let sides = [&gate_side(one), &gate_side(other)];
        results.extend(judge(rules, sides, &relation, comparisons)?);
    }
    Ok(results)
}

fn gate_side<'a>(cell: &'a SideCell<'_>) -> GateSide<'a> {
    GateSide {
        contender: cell.name.clone(),
        headline: &cell.headline,
        trials: cell.trials.clone(),
    }
}
