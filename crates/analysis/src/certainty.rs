//! How sure the order of a ranking is: what is too noisy to tell, and what leads for certain.

use crate::cells::Cell;
use crate::inference::{Comparison, Noise, Verdict, compare_among};
use crate::rankings::Ranking;
use crate::units::per_cent;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// The comparison of a cell's repeats with the best one's, one of `comparisons`: in pairs where both
/// have the same repeats, since a plan runs them by turns.
pub(crate) fn against_best(
    best: &[&TrialRecord],
    other: &[&TrialRecord],
    headline: &str,
    comparisons: usize,
) -> Comparison {
    let rates = |trials: &[&TrialRecord]| -> Vec<(u32, f64)> {
        let of = |trial: &&TrialRecord| {
            Some((trial.spec.repeat, crate::compare::rate(trial, headline)?))
        };
        trials.iter().filter_map(of).collect()
    };
    let (best, other) = (rates(best), rates(other));
    let by_repeat: BTreeMap<u32, f64> = best.iter().copied().collect();
    let pairs: Vec<(f64, f64)> = other
        .iter()
        .filter_map(|(repeat, rate)| Some((*by_repeat.get(repeat)?, *rate)))
        .collect();
    let distinct: BTreeMap<u32, f64> = other.iter().copied().collect();
    let told_apart = by_repeat.len() == best.len() && distinct.len() == other.len();
    if told_apart && pairs.len() >= 3 {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        return compare_among(&first, &second, true, comparisons);
    }
    let alone =
        |rates: Vec<(u32, f64)>| rates.into_iter().map(|(_, rate)| rate).collect::<Vec<_>>();
    compare_among(&alone(best), &alone(other), false, comparisons)
}

/// What is to be said of a ranking's order; empty where nothing was repeated often enough or nothing
/// competes.
pub(crate) fn sentences(ranking: &Ranking, noise: Option<&Noise>) -> Vec<String> {
    let Some((best, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let verdict = |cell: &&Cell| cell.against_best.map(|comparison| comparison.verdict);
    let tied: Vec<&Cell> = others
        .iter()
        .filter(|cell| verdict(cell) == Some(Verdict::NoDifference))
        .collect();
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

/// The best and how far it is ahead of the second, where that is sure.
fn leads(best: &Cell, others: &[Cell]) -> Option<String> {
    let second = others.first()?;
    let comparison = second.against_best?;
    let ratio = comparison.ratio?;
    (comparison.verdict == Verdict::Slower).then(|| {
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
