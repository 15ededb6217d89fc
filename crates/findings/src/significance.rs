//! The significance of a ranking's differences.

use crate::eligibility::{ineligibility, rate};
use crate::host_blocks::{HostPairs, are_on_hosts};
use crate::statistics::{BlockRatios, Comparison, claim_level, compare_among};
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
/// have the same repeats, because a plan interleaves them. Repeats of several hosts are compared
/// only in pairs, each inside a host, and the hosts are blocks ([`BlockRatios`]).
pub fn between(
    first: &[&TrialRecord],
    second: &[&TrialRecord],
    headline: &str,
    comparisons: usize,
) -> Comparison {
    if are_on_hosts(first, second) {
        return between_on_hosts(first, second, headline, comparisons);
    }
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

/// Compares two cells whose repeats ran on several hosts.
fn between_on_hosts(
    first: &[&TrialRecord],
    second: &[&TrialRecord],
    headline: &str,
    comparisons: usize,
) -> Comparison {
    let pairs = HostPairs::of(first, second, headline);
    let (one, other): (Vec<f64>, Vec<f64>) = pairs.rates().unzip();
    let compared = compare_among(&one, &other, true, comparisons);
    let ratios: BlockRatios = pairs.ratios();
    ratios.temper(compared, claim_level(comparisons))
}
