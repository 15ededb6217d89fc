//! How certain the order of a ranking is: which differences are significant, and which are not.

use crate::cells::Cell;
use crate::inference::{Comparison, LEAST_CLAIM, Noise, Tie, Verdict, compare_among, tie};
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

/// The cells that are not claimed to differ from the best, by reason.
pub(crate) fn ties<'a>(ranking: &'a Ranking, reason: Tie, noise: Option<&Noise>) -> Vec<&'a Cell> {
    let Some((best, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let so = |cell: &&Cell| why(best, cell, noise) == Some(reason);
    others.iter().filter(so).collect()
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

/// What is to be said of a ranking's order; empty where nothing was repeated often enough or nothing
/// competes.
pub(crate) fn sentences(ranking: &Ranking, noise: Option<&Noise>) -> Vec<String> {
    let Some((best, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let of = |reason| ties(ranking, reason, noise);
    let (noisy, few, same) = (of(Tie::Noise), of(Tie::TooFewRepeats), of(Tie::Same));
    let mut lines = Vec::new();
    lines.extend((!noisy.is_empty()).then(|| too_noisy(best, &noisy)));
    if let Some(noise) = noise.filter(|_| refuses(ranking, noise)) {
        lines.push(format!(
            "No order is shown: repeats of one contender typically differ by {}, more than these \
             contenders do.",
            per_cent(noise.floor)
        ));
    }
    lines.extend((!few.is_empty()).then(|| too_few(best, &few)));
    lines.extend((!same.is_empty()).then(|| {
        format!(
            "{} are equal within {}: smaller differences are not claimed.",
            joined(best, &same),
            per_cent(LEAST_CLAIM)
        )
    }));
    if lines.is_empty() {
        lines.extend(leads(best, others));
    }
    lines
}

/// The cells that came to this beside the best.
pub(crate) fn with_verdict(cells: &[Cell], verdict: Verdict) -> Vec<&Cell> {
    let came_to = |cell: &&Cell| {
        cell.against_best
            .is_some_and(|comparison| comparison.verdict == verdict)
    };
    cells.iter().filter(came_to).collect()
}

/// Contenders in words; a name may have commas of its own.
fn listed(cells: &[&Cell]) -> String {
    let names: Vec<_> = cells.iter().map(|cell| cell.name()).collect();
    names.join("; ")
}

/// The best and those beside it.
fn joined(best: &Cell, others: &[&Cell]) -> String {
    match others.split_last() {
        None => best.name(),
        Some((last, before)) => {
            let before: Vec<_> = std::iter::once(best)
                .chain(before.iter().copied())
                .collect();
            format!("{} and {}", listed(&before), last.name())
        }
    }
}

fn too_noisy(best: &Cell, tied: &[&Cell]) -> String {
    format!(
        "No clear leader: {} differ by less than the noise of this run. {}",
        joined(best, tied),
        detectable(best, tied)
    )
}

fn too_few(best: &Cell, tied: &[&Cell]) -> String {
    format!(
        "Too few repeats to tell whether {} is faster than {}. {}",
        best.name(),
        listed(tied),
        detectable(best, tied)
    )
}

/// The difference that these repeats can detect in all of them, and how to detect smaller ones.
fn detectable(best: &Cell, tied: &[&Cell]) -> String {
    let compared = || tied.iter().filter_map(|cell| cell.against_best);
    let smallest = compared()
        .filter_map(|one| one.smallest_ratio)
        .fold(1.0, f64::max);
    let repeats = tied.iter().map(|cell| cell.repeats.min(best.repeats));
    let repeats = repeats.min().unwrap_or(best.repeats);
    if smallest < 2.0 {
        let least = per_cent(smallest - 1.0);
        return format!(
            "{repeats} repeats can detect a difference of {least}; more repeats detect smaller ones."
        );
    }
    let needed: Option<Vec<_>> = compared()
        .filter(|one| one.smallest_ratio.is_some_and(|ratio| ratio >= 2.0))
        .map(|one| one.repeats_for_twice)
        .collect();
    let advice = match needed.and_then(|needed| needed.into_iter().max()) {
        Some(enough) => format!("use --repeat {enough} or --until 2%"),
        None => "use longer trials or a quieter machine".to_owned(),
    };
    format!("{repeats} repeats could not detect a 2x difference: {advice}.")
}

/// The best and how far it is ahead of the second, where it is surely ahead of all.
fn leads(best: &Cell, others: &[Cell]) -> Option<String> {
    let second = others.first()?;
    let ratio = second.against_best?.ratio?;
    let all = with_verdict(others, Verdict::Slower).len() == others.len();
    all.then(|| {
        format!(
            "{} is fastest: {} reaches {} of its rate ({} to {}, {} confidence).",
            best.name(),
            second.name(),
            per_cent(ratio.estimate),
            per_cent(ratio.low),
            per_cent(ratio.high),
            per_cent(ratio.level)
        )
    })
}
