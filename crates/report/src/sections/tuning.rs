//! The section on a search for knobs.

use super::header;
use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use crate::trial_command::trial_command;
use trueput_findings::Run;
use trueput_findings::statistics::Verdict;
use trueput_findings::tuning::{TunedConfiguration, TuningFindings, tuning};
use trueput_findings::units::counted;
use trueput_record::TrialSpec;
use trueput_record::search::{SearchSettings, TuningScore};

/// Configurations that the table shows; `--json` has all.
const MOST_ROWS: usize = 12;

/// Reasons for failures that are listed.
const MOST_REASONS: usize = 5;

/// The configurations that a search tried, and whether the best is better than the default.
pub(crate) struct TunedKnobs;

impl Section for TunedKnobs {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let found = tuning(&input.run.manifest, &input.run.trials)?;
        Part::unless_empty(&heading(input.run), blocks(input.run, &found))
    }
}

/// The result of a search for a terminal, as blocks: the answer first.
pub(crate) fn document(run: &Run) -> Vec<Block> {
    let mut blocks = vec![header::title(run)];
    blocks.extend(header::debug_warning(run));
    if let Some(found) = tuning(&run.manifest, &run.trials) {
        blocks.push(Block::Heading(2, heading(run)));
        blocks.extend(self::blocks(run, &found));
    }
    blocks
}

fn heading(run: &Run) -> String {
    let Some(spec) = run.manifest.trials.first() else {
        return "Knobs".to_owned();
    };
    format!(
        "{}, {}, {}, {}: knobs by {}",
        spec.contender(),
        spec.durability,
        spec.workload,
        counted(u64::from(spec.workers), "worker"),
        goal(run)
    )
}

fn goal(run: &Run) -> String {
    let spec = run.manifest.trials.first();
    let rate = spec.and_then(|spec| spec.conditions.rate);
    match (score(run), rate) {
        (Some(TuningScore::P99), Some(rate)) => format!("p99 at {}/s", rate.per_s),
        _ => "rate".to_owned(),
    }
}

fn score(run: &Run) -> Option<TuningScore> {
    match &run.manifest.search {
        Some(SearchSettings::Tuning(settings)) => Some(settings.score),
        _ => None,
    }
}

fn blocks(run: &Run, found: &TuningFindings) -> Vec<Block> {
    let mut blocks = vec![Block::Text(answer(found))];
    if let Some(winner) = found.better() {
        blocks.push(Block::List(knob_lines(winner)));
        if let Some(spec) = run.manifest.trials.first() {
            let text = "This runs it beside the default again:".to_owned();
            blocks.push(Block::Text(text));
            blocks.push(Block::Command(command(run, spec, winner)));
        }
    }
    blocks.extend(Block::Table(table(found)).filled());
    blocks.extend(Block::List(failures(found)).filled());
    blocks
}

fn winner(found: &TuningFindings) -> Option<&TunedConfiguration> {
    let number = found.winner?;
    found.configurations.iter().find(|it| it.number == number)
}

/// The result in a sentence or two.
fn answer(found: &TuningFindings) -> String {
    let tried = found.configurations.len().saturating_sub(1);
    let tried = counted(tried as u64, "other configuration");
    let Some(winner) = winner(found) else {
        return format!(
            "Nothing better than the default was found: {tried} in {}.",
            counted(found.search_trials as u64, "trial")
        );
    };
    let Some(holdout) = &found.holdout else {
        return format!("The holdout has not ended a pair; {tried} were tried.");
    };
    if let Some(why) = found.holdout_failures.first() {
        return format!("The best configuration of the search failed in the holdout: {why}.");
    }
    let factor = winner.holdout_factor.unwrap_or(1.0);
    let interval = holdout.ratio.map_or_else(String::new, |ratio| {
        format!(" (95 %: {:.2} to {:.2})", ratio.low, ratio.high)
    });
    let search = winner.factor.map_or_else(String::new, |searched| {
        format!(" The search had measured {searched:.2} times.")
    });
    let pairs = "pairs that the search had not seen";
    match holdout.verdict {
        Verdict::Faster => format!(
            "These knobs give {factor:.2} times the default's score{interval}, in {pairs}.{search}"
        ),
        Verdict::Slower => format!(
            "No better than the default: the best of the search gave {factor:.2} times its \
             score{interval} in {pairs}.{search}"
        ),
        Verdict::NoDifference | Verdict::TooFew => format!(
            "No better than the default, as far as this holdout can tell: the best of the search \
             gave {factor:.2} times its score{interval} in {pairs}.{search}"
        ),
    }
}

fn knob_lines(configuration: &TunedConfiguration) -> Vec<String> {
    let changes = configuration.changes.iter();
    changes
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// The command that runs the winner beside the default.
fn command(run: &Run, spec: &TrialSpec, winner: &TunedConfiguration) -> Vec<String> {
    let mut words = trial_command(run, "ledger", spec, spec);
    let changes: Vec<_> = winner
        .changes
        .iter()
        .map(|(name, value)| format!("{}.{name}={value}", spec.engine))
        .collect();
    words.extend(["--repeat".to_owned(), "5".to_owned(), "--step".to_owned()]);
    words.push(format!("tuned: {}", changes.join(", ")));
    words
}

fn table(found: &TuningFindings) -> Table {
    let mut rows: Vec<_> = found
        .configurations
        .iter()
        .filter(|it| it.number > 0 && it.factor.is_some())
        .collect();
    let factor = |it: &TunedConfiguration| it.factor.unwrap_or_default();
    let is_winner = |it: &TunedConfiguration| found.winner == Some(it.number);
    rows.sort_by(|one, other| {
        let order = factor(other).total_cmp(&factor(one));
        is_winner(other).cmp(&is_winner(one)).then(order)
    });
    rows.truncate(MOST_ROWS);
    Table::of(&rows)
        .text("configuration", 0, |it| knob_lines(it).join(", "))
        .figures("in the search", 0, |it| times(it.factor))
        .figures("95 %", 1, |it| {
            let interval = it.interval;
            interval.map_or_else(dash, |it| format!("{:.2} to {:.2}", it.low, it.high))
        })
        .figures("trials", 1, |it| it.trials)
        .figures("holdout", 0, |it| times(it.holdout_factor))
        .build()
}

fn times(factor: Option<f64>) -> String {
    factor.map_or_else(dash, |factor| format!("{factor:.2}×"))
}

fn dash() -> String {
    "–".to_owned()
}

/// The failures, by reason.
fn failures(found: &TuningFindings) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for reason in found.configurations.iter().flat_map(|it| &it.failures) {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let lines = reasons.iter().take(MOST_REASONS);
    lines
        .map(|(reason, count)| {
            format!(
                "{} without a score: {reason}",
                counted(*count as u64, "trial")
            )
        })
        .collect()
}
