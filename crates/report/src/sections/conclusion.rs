//! The end of a report: skipped and missing trials, and the next step.

use super::{Part, Section, SectionInput};
use crate::answer::words::distinguishing;
use crate::document::Block;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_findings::shell::quoted;
use trueput_record::search::SearchSettings;

/// Parts of the plan that this machine cannot run.
pub(crate) struct SkippedTrials;

impl Section for SkippedTrials {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let skipped = Block::List(input.run.manifest.skipped.clone());
        Part::unless_empty("Skipped", skipped.filled())
    }
}

/// Why a run that was to go on until it knew enough stopped.
pub(crate) struct RepeatLimit;

impl Section for RepeatLimit {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::without_title(enough(input.run))
    }
}

/// Suggests more repeats if they would distinguish contenders.
pub(crate) struct RepeatSuggestion;

impl Section for RepeatSuggestion {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::unless_empty("More repeats", more_repeats(&input.answer))
    }
}

/// The missing trials of an unfinished run.
pub(crate) struct MissingTrials;

impl Section for MissingTrials {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::without_title(unfinished(input.run))
    }
}

/// The name with which the program was called, quoted for a shell.
pub(crate) fn program(run: &Run) -> String {
    quoted(run.program())
}

/// A command that begins with that name.
pub(crate) fn with_program_name(run: &Run, mut words: Vec<String>) -> Vec<String> {
    if let Some(first) = words.first_mut() {
        *first = program(run);
    }
    words
}

/// The command of the run.
pub(crate) fn command(run: &Run) -> [Block; 2] {
    let words = run.manifest.host.program.command.iter();
    [
        Block::Text("Command of this run:".to_owned()),
        Block::Command(words.map(|word| quoted(word)).collect()),
    ]
}

/// Suggests more repeats for contenders whose differences are inconclusive.
fn more_repeats(answer: &Answer) -> Vec<Block> {
    let Some(step) = answer.distinguishing_step() else {
        return Vec::new();
    };
    let how = distinguishing(step);
    let text = format!("Some differences are inconclusive. {how}:");
    vec![Block::Text(text), Block::Command(step.command().to_vec())]
}

/// Why a run that was to go on until it knew enough stopped.
fn enough(report: &Run) -> Option<Block> {
    let enough = report.end.as_ref()?.stop_reason?;
    let repeats = report.trials.iter().map(|trial| trial.spec.repeat).max()?;
    let times = if repeats == 1 { "time" } else { "times" };
    Some(Block::Text(format!(
        "Each cell was run up to {repeats} {times}: {}.",
        enough.words()
    )))
}

fn unfinished(report: &Run) -> Vec<Block> {
    let missing = report.missing().len();
    if report.end.as_ref().is_some_and(|end| end.complete) && missing == 0 {
        return Vec::new();
    }
    let of = report.manifest.trials.len();
    let state = match &report.end {
        None => "The run has not finished (it is running or was interrupted)".to_owned(),
        Some(end) => format!("The run was stopped at {}", end.ended_at),
    };
    let interrupted = report.count_trials().interrupted;
    let mut text = format!(
        "{state}: {} of its {of} trials are missing",
        missing.saturating_sub(interrupted)
    );
    text += &match interrupted {
        0 => ".".to_owned(),
        1 => " and 1 is interrupted.".to_owned(),
        several => format!(" and {several} are interrupted."),
    };
    // A bundle is a copy: the run goes on in its own folder.
    if report.shown_as != report.folder {
        return vec![Block::Warnings(vec![text])];
    }
    text += " To continue it:";
    let folder = quoted(&report.shown_as.to_string_lossy());
    let search = report.manifest.search.as_ref();
    let subcommand = search.map_or("run", SearchSettings::command).to_owned();
    let command = vec![program(report), subcommand, "--resume".to_owned(), folder];
    vec![Block::Warnings(vec![text]), Block::Command(command)]
}
