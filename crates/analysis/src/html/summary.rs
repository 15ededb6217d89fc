//! What a run came to, in plain words: the first thing that a reader of the page sees.

use crate::cells::Cell;
use crate::certainty::{Tie, refuses, ties, with_verdict};
use crate::columns::plural;
use crate::disturbance;
use crate::document::Block;
use crate::inference::{Noise, Verdict};
use crate::narrate;
use crate::rankings::Ranking;
use crate::report::Report;
use crate::units::{number, separate, thousands};
use trueput_record::{Outcome, Value};

/// How many lines are told: a list that is longer would be folded.
const MOST_LINES: usize = 12;

/// The summary, with whatever else the report says before its first heading, the machine's facts
/// aside: they stand in the page's head.
pub(crate) fn blocks(report: &Report, rankings: &[Ranking], opening: Vec<Block>) -> Vec<Block> {
    let facts = Block::List(narrate::host_lines(report));
    let about = Block::Text(report.manifest.about.clone());
    let (warnings, others): (Vec<_>, Vec<_>) = opening
        .into_iter()
        .filter(|block| *block != facts && *block != about)
        .partition(|block| matches!(block, Block::Warnings(_)));
    let mut blocks = vec![Block::Text(counts(report))];
    blocks.extend(warnings);
    let (labels, noise) = (labels(rankings), disturbance::of_run(report));
    let told = rankings.iter().zip(&labels);
    let told = told.filter(|(ranking, _)| !ranking.cells.is_empty());
    let mut lines: Vec<_> = told
        .map(|(one, label)| winner(one, label, noise.as_ref()))
        .collect();
    if lines.len() > MOST_LINES {
        let more = lines.split_off(MOST_LINES - 1).len();
        lines.push(format!("{more} more rankings stand below."));
    }
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    blocks.extend(others);
    blocks
}

/// How many trials ended how.
fn counts(report: &Report) -> String {
    let of = |status: fn(&Outcome) -> bool| {
        report
            .trials
            .iter()
            .filter(|trial| status(&trial.outcome))
            .count()
    };
    let counted = [
        (of(|it| *it == Outcome::Valid), "valid"),
        (of(|it| matches!(it, Outcome::Invalid { .. })), "invalid"),
        (of(|it| matches!(it, Outcome::Failed { .. })), "failed"),
        (of(|it| *it == Outcome::Interrupted), "interrupted"),
        (report.damaged.len(), "damaged and left out"),
        (report.missing().len(), "missing"),
    ];
    let said = counted.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = said
        .map(|(count, what)| format!("{} {what}", thousands(*count as u64)))
        .collect();
    let planned = report.manifest.trials.len();
    let trials = if planned == 1 { "trial" } else { "trials" };
    let said = if said.is_empty() {
        "none ended".to_owned()
    } else {
        said.join(", ")
    };
    format!("{} {trials}: {said}.", thousands(planned as u64))
}

/// What to call each ranking: its heading, with the settings that tell it from its namesakes.
pub(crate) fn labels(rankings: &[Ranking]) -> Vec<String> {
    let label = |ranking: &Ranking| {
        let heading = narrate::ranking_heading(ranking);
        let namesakes = rankings
            .iter()
            .filter(|it| narrate::ranking_heading(it) == heading);
        let namesakes: Vec<_> = namesakes.collect();
        let differs = |name: &str, value: &Value| {
            namesakes
                .iter()
                .any(|other| other.settings.get(name) != Some(value))
        };
        let differing = ranking
            .settings
            .iter()
            .filter(|(name, value)| differs(name, value));
        let told: Vec<_> = differing
            .map(|(name, value)| format!("{name}={}", separate(&value.to_string())))
            .collect();
        match told.is_empty() {
            true => heading,
            false => format!("{heading} ({})", told.join(", ")),
        }
    };
    rankings.iter().map(label).collect()
}

/// Who is fastest in a ranking, by how much, and whether the repeats can tell: of all contenders, by
/// the rule that the ranking itself goes by.
fn winner(ranking: &Ranking, heading: &str, noise: Option<&Noise>) -> String {
    let unit = plural(&ranking.headline);
    let Some((best, others)) = ranking.cells.split_first() else {
        return format!("{heading}: no trial counts.");
    };
    let per_s = |cell: &Cell| cell.figures.headline_per_s.median;
    let (name, told) = (&best.contender, number(per_s(best)));
    let told = format!("{told} {unit}/s");
    let Some(second) = others.first() else {
        return format!("{heading}: {name}, {told}, alone.");
    };
    let ratio = per_s(best) / per_s(second).max(f64::MIN_POSITIVE);
    let times = format!("{ratio:.2} times the rate of {}", second.contender);
    if with_verdict(others, Verdict::Slower).len() == others.len() {
        return format!("{heading}: {name} is fastest, {told}, {times}.");
    }
    if refuses(ranking, noise) {
        return format!("{heading}: no order, for the run was disturbed by more than they differ.");
    }
    let all: Vec<_> = [Tie::Noise, Tie::TooFewRepeats, Tie::Same]
        .into_iter()
        .flat_map(|reason| {
            ties(ranking, reason, noise)
                .into_iter()
                .map(move |it| (reason, it))
        })
        .collect();
    let Some((reason, tied)) = all.first() else {
        return format!(
            "{heading}: {name} has the highest rate, {told}, {times}; too few repeats to be sure."
        );
    };
    let more = match all.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let why = match reason {
        Tie::Noise => "but the repeats show no difference from",
        Tie::TooFewRepeats => "but too few repeats to tell it from",
        Tie::Same => "but not by 1 % more than",
    };
    format!(
        "{heading}: {name} has the highest rate, {told}, {why} {}{more}.",
        tied.contender
    )
}
