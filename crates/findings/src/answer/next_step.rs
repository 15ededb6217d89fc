//! Suggestions of further runs that would show more.

use super::{RankingAnswer, RankingVerdict};
use crate::Run;
use crate::shell::quoted;
use serde::Serialize;
use trueput_record::search::SearchSettings;

/// More repeats than these are not proposed: `--until` finds how many it takes.
const MAX_PROPOSED_REPEATS: f64 = 50.0;

/// Something to do next.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum NextStep {
    /// Continue an interrupted run.
    Resume {
        /// The words of the command, quoted for a shell.
        command: Vec<String>,
    },
    /// Run again with more repeats, to distinguish contenders.
    MoreRepeats {
        /// The option to add: `--repeat 15`, or `--until 2%` if no number of repeats is certain to
        /// suffice.
        option: String,
        /// The words of the run's command with that option, quoted for a shell.
        command: Vec<String>,
    },
}

impl NextStep {
    /// The same step, its command with this name of the program, quoted for a shell: the one that
    /// the user calls.
    #[must_use]
    pub fn called(mut self, program: &str) -> Self {
        let (Self::Resume { command } | Self::MoreRepeats { command, .. }) = &mut self;
        if let Some(first) = command.first_mut() {
            program.clone_into(first);
        }
        self
    }
}

/// The steps that apply to a run, the most urgent first.
pub(super) fn next_steps(report: &Run, rankings: &[RankingAnswer]) -> Vec<NextStep> {
    let mut steps = Vec::new();
    steps.extend(continuation(report).map(|command| NextStep::Resume { command }));
    let unsure = |ranking: &&RankingAnswer| {
        matches!(
            ranking.verdict,
            RankingVerdict::TooFewRepeats | RankingVerdict::TooNoisy
        )
    };
    let needed: Vec<_> = rankings.iter().filter(unsure).map(repeats_needed).collect();
    if !needed.is_empty() && steps.is_empty() {
        steps.push(more_repeats(report, needed.into_iter().reduce(f64::max)));
    }
    steps
}

/// The command that continues a run; `None` if it lacks no trial, or cannot be continued where it
/// is.
pub(crate) fn continuation(report: &Run) -> Option<Vec<String>> {
    // A bundle is a copy: the run goes on in its own folder.
    let is_folder = report.shown_as == report.folder;
    let has_ended = report.end.as_ref().is_some_and(|end| end.complete);
    let is_whole = has_ended && report.damaged.is_empty();
    (is_folder && !is_whole && !report.missing().is_empty()).then(|| resume(report))
}

/// The command that continues a run. `trueput threen1` continues its own, in the existing database,
/// from the same input.
fn resume(report: &Run) -> Vec<String> {
    let typed = &report.manifest.host.program.command;
    if typed.get(1).is_some_and(|word| word == "threen1") {
        let others = typed.iter().filter(|word| *word != "--resume");
        let words = others.map(|word| quoted(word));
        return words.chain(["--resume".to_owned()]).collect();
    }
    let folder = quoted(&report.shown_as.to_string_lossy());
    let search = report.manifest.search.as_ref();
    let command = search.map_or("run", SearchSettings::command);
    let words = ["trueput", command, "--resume"].map(str::to_owned);
    words.into_iter().chain([folder]).collect()
}

/// Estimates the repeats that would show the observed differences: the smallest difference that can
/// be shown falls with the square root of the number of repeats.
fn repeats_needed(ranking: &RankingAnswer) -> f64 {
    let ties = ranking
        .rows
        .iter()
        .filter(|row| row.verdict.is_inconclusive());
    let needed = ties.map(|row| {
        let seen = row.of_leader.map_or(0.0, |share| share.estimate.ln().abs());
        match ranking.smallest_ratio {
            // Repeating as often as before would not change the result.
            Some(smallest) => {
                let shows = row.repeats as f64 * (smallest.ln() / seen).powi(2);
                shows.max(row.repeats as f64 + 1.0)
            }
            // Too few to know how they scatter.
            None => MIN_PROPOSED_REPEATS,
        }
    });
    needed.fold(MIN_PROPOSED_REPEATS, f64::max)
}

/// Fewer repeats than these are not proposed: the ranks of fewer cannot speak clearly.
const MIN_PROPOSED_REPEATS: f64 = 5.0;

fn more_repeats(report: &Run, needed: Option<f64>) -> NextStep {
    let needed = needed.filter(|needed| *needed <= MAX_PROPOSED_REPEATS);
    // A multiple of five: it is an estimate.
    let option = match needed {
        Some(needed) => format!("--repeat {}", (needed / 5.0).ceil() as u64 * 5),
        None => "--until 2%".to_owned(),
    };
    let mut command: Vec<String> = Vec::new();
    let mut words = report.manifest.host.program.command.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--repeat" | "--until" => {
                words.next();
            }
            word if word.starts_with("--repeat=") || word.starts_with("--until=") => {}
            word => command.push(quoted(word)),
        }
    }
    command.extend(option.split(' ').map(str::to_owned));
    NextStep::MoreRepeats { option, command }
}
