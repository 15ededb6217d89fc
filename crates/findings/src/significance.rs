//! The significance of a ranking's differences.

use crate::eligibility::{ineligibility, rate};
use crate::statistics::{Comparison, compare_among};
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// The trials of a cell that count.
pub fn counting<'a>(
    trials: impl IntoIterator<Item = &'a TrialRecord>,
    cell: u32,
    headline: &str,
) -> Vec<&'a TrialRecord> {
    let counts =
        |trial: &&TrialRecord| trial.spec.cell == cell && ineligibility(trial, headline).is_none();
    trials.into_iter().filter(counts).collect()
}

/// Compares two cells' repeats, as one of `comparisons` that are read together: in pairs if both
/// have the same repeats, because a plan interleaves them.
pub fn between(
    first: &[&TrialRecord],
    second: &[&TrialRecord],
    headline: &str,
    comparisons: usize,
) -> Comparison {
    let rates = |trials: &[&TrialRecord]| -> Vec<(u32, f64)> {
        let of = |trial: &&TrialRecord| Some((trial.spec.repeat, rate(trial, headline)?));
        trials.iter().filter_map(of).collect()
    };
    let (first, second) = (rates(first), rates(second));
    let by_repeat: BTreeMap<u32, f64> = first.iter().copied().collect();
    let pairs: Vec<(f64, f64)> = second
        .iter()
        .filter_map(|(repeat, rate)| Some((*by_repeat.get(repeat)?, *rate)))
        .collect();
    let distinct: BTreeMap<u32, f64> = second.iter().copied().collect();
    let are_distinct = by_repeat.len() == first.len() && distinct.len() == second.len();
    if are_distinct && pairs.len() >= 3 {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        return compare_among(&first, &second, true, comparisons);
    }
    let values =
        |rates: Vec<(u32, f64)>| rates.into_iter().map(|(_, rate)| rate).collect::<Vec<_>>();
    compare_among(&values(first), &values(second), false, comparisons)
}
