//! How sure the order of a ranking is: what is too noisy to tell, and what leads for certain.

use crate::cells::Cell;
use crate::inference::{Comparison, Noise, Verdict, compare_among};
use crate::rankings::{Ranking, why_unranked};
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

/// What is to be said of a ranking's order; empty where nothing was repeated often enough or nothing
/// competes.
pub(crate) fn sentences(ranking: &Ranking, noise: Option<&Noise>) -> Vec<String> {
    let Some((best, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let tied = with_verdict(others, Verdict::NoDifference);
    let mut lines = Vec::new();
    if tied.is_empty() {
        lines.extend(leads(best, others));
    } else {
        lines.push(too_noisy(best, &tied));
        if let Some(noise) = noise.filter(|noise| !noise.reasons.is_empty()) {
            lines.push(format!(
                "This run was disturbed: {}.",
                noise.reasons.join("; ")
            ));
        }
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

fn too_noisy(best: &Cell, tied: &[&Cell]) -> String {
    let mut names: Vec<&str> = vec![&best.contender];
    names.extend(tied.iter().map(|cell| cell.contender.as_str()));
    let last = names.pop().unwrap_or_default();
    let smallest = tied
        .iter()
        .filter_map(|cell| cell.against_best?.smallest_ratio)
        .fold(1.0, f64::max);
    let shown = match smallest < 2.0 {
        true => format!(
            "A difference of {} would probably have shown",
            per_cent(smallest - 1.0)
        ),
        false => "Even twice the rate might not have shown".to_owned(),
    };
    format!(
        "Too noisy to tell which is fastest: {} and {last} differ by less than this machine's own \
         noise. {shown}; more repeats show smaller ones.",
        names.join(", ")
    )
}

/// The best and how far it is ahead of the second, where it is surely ahead of all.
fn leads(best: &Cell, others: &[Cell]) -> Option<String> {
    let second = others.first()?;
    let comparison = second.against_best?;
    let ratio = comparison.ratio?;
    let all = with_verdict(others, Verdict::Slower).len() == others.len();
    all.then(|| {
        format!(
            "{} leads for certain: {} comes to {} of it ({} to {}, a {} interval of the repeats{}).",
            best.contender,
            second.contender,
            per_cent(ratio.estimate),
            per_cent(ratio.low),
            per_cent(ratio.high),
            per_cent(ratio.level),
            if comparison.paired { " in pairs" } else { "" }
        )
    })
}
