//! How certain the order of a ranking is: which differences are significant, and which are not.

use crate::cells::Cell;
use crate::inference::{Comparison, Noise, Tie, compare_among, tie};
use crate::rankings::{Ranking, why_unranked};
use crate::statistics::Summary;
use crate::units::per_cent;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// The trials of a cell that count.
pub(crate) fn counting<'a>(
    trials: impl IntoIterator<Item = &'a TrialRecord>,
    cell: u32,
    headline: &str,
) -> Vec<&'a TrialRecord> {
    let counts =
        |trial: &&TrialRecord| trial.spec.cell == cell && why_unranked(trial, headline).is_none();
    trials.into_iter().filter(counts).collect()
}

/// The comparison of two cells' repeats, one of `comparisons` that are read together: in pairs where
/// both have the same repeats, since a plan runs them by turns.
pub(crate) fn between(
    first: &[&TrialRecord],
    second: &[&TrialRecord],
    headline: &str,
    comparisons: usize,
) -> Comparison {
    let rates = |trials: &[&TrialRecord]| -> Vec<(u32, f64)> {
        let of = |trial: &&TrialRecord| {
            Some((trial.spec.repeat, crate::compare::rate(trial, headline)?))
        };
        trials.iter().filter_map(of).collect()
    };
    let (first, second) = (rates(first), rates(second));
    let by_repeat: BTreeMap<u32, f64> = first.iter().copied().collect();
    let pairs: Vec<(f64, f64)> = second
        .iter()
        .filter_map(|(repeat, rate)| Some((*by_repeat.get(repeat)?, *rate)))
        .collect();
    let distinct: BTreeMap<u32, f64> = second.iter().copied().collect();
    let told_apart = by_repeat.len() == first.len() && distinct.len() == second.len();
    if told_apart && pairs.len() >= 3 {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        return compare_among(&first, &second, true, comparisons);
    }
    let alone =
        |rates: Vec<(u32, f64)>| rates.into_iter().map(|(_, rate)| rate).collect::<Vec<_>>();
    compare_among(&alone(first), &alone(second), false, comparisons)
}

/// The levels of the intervals of what was compared, in words: they differ where some results were
/// clear. `None` where nothing has an interval.
pub(crate) fn levels<'a>(compared: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let levels = compared
        .into_iter()
        .filter_map(|one| Some(one.ratio?.level));
    let levels = Summary::of(levels)?;
    let (least, most) = (per_cent(levels.min), per_cent(levels.max));
    Some(match least == most {
        true => least,
        false => format!("{least} to {most}"),
    })
}

/// Why nothing is claimed of the best and this cell; `None` where something is, or where nothing was
/// compared.
pub(crate) fn why(best: &Cell, cell: &Cell, noise: Option<&Noise>) -> Option<Tie> {
    let (one, other) = (best.figures.headline_per_s, cell.figures.headline_per_s);
    let floor = noise.map_or(0.0, |noise| noise.floor);
    tie(&cell.against_best?, &one, &other, floor)
}

/// Whether a run was so disturbed that a ranking has no order: all of its contenders lie closer to
/// the best than repeats of one typically do to each other.
pub(crate) fn refuses(ranking: &Ranking, noise: Option<&Noise>) -> bool {
    let disturbed = noise.filter(|noise| !noise.reasons.is_empty());
    let (Some(noise), Some((best, others))) = (disturbed, ranking.cells.split_first()) else {
        return false;
    };
    let rate = |cell: &Cell| cell.figures.headline_per_s.median;
    let drowned = |cell: &Cell| {
        why(best, cell, Some(noise)) == Some(Tie::Noise) && noise.drowns(rate(best), rate(cell))
    };
    !others.is_empty() && others.iter().all(drowned)
}
