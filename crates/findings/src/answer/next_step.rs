//! Suggestions of further runs that would show more.

use super::{RankingAnswer, RankingVerdict};
use crate::Run;
use crate::decision::RankingDecision;
use crate::shell::quoted;
use crate::statistics::SequentialRule;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::TrialSpec;
use trueput_record::search::{DecisionSettings, EqualityMargin, SearchEnd, SearchSettings};
use trueput_record::trial_time::{plan_time_s, repeat_s};

/// More repeats than these are not proposed: it may be impossible to know how many it takes.
const MAX_PROPOSED_REPEATS: f64 = DecisionSettings::MAX_REPEATS as f64;

/// The time limit of a continued run over the time that it may take: repeats that would not fit are
/// not begun.
const TIME_FACTOR: f64 = 1.25;

/// Something to do next.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum NextStep {
    /// Continue an interrupted run.
    Resume {
        /// The words of the command, quoted for a shell.
        command: Vec<String>,
    },
    /// Continue the run until its contenders are distinguished or equal.
    Decide {
        /// The time that may take, seconds; `None` if it is not known, or longer than the run would
        /// go on.
        more_s: Option<f64>,
        /// The words of the command, quoted for a shell.
        command: Vec<String>,
    },
    /// Run again with more repeats, to distinguish contenders: of a run that cannot decide.
    MoreRepeats {
        /// The option to add: `--repeat 15`.
        option: String,
        /// The time that the whole run may take, seconds; `None` if it is not known.
        takes_s: Option<f64>,
        /// The words of the run's command with that option, quoted for a shell.
        command: Vec<String>,
    },
}

impl NextStep {
    /// The words of its command, quoted for a shell.
    #[must_use]
    pub fn command(&self) -> &[String] {
        let (Self::Resume { command }
        | Self::Decide { command, .. }
        | Self::MoreRepeats { command, .. }) = self;
        command
    }

    /// The same step, its command with this name of the program, quoted for a shell: the one that
    /// the user calls.
    #[must_use]
    pub fn called(mut self, program: &str) -> Self {
        let (Self::Resume { command }
        | Self::Decide { command, .. }
        | Self::MoreRepeats { command, .. }) = &mut self;
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
    let unsure: Vec<_> = rankings.iter().filter(unsure).collect();
    if steps.is_empty() {
        let step = if report.manifest.decision().is_some() {
            go_on_deciding(report, rankings)
        } else if unsure.is_empty() {
            None
        } else if can_decide(report) {
            Some(decide(report, &unsure))
        } else {
            more_repeats(report, &unsure)
        };
        steps.extend(step);
    }
    steps
}

/// Whether a run with a number of repeats can go on until its rankings are decided: rates of closed
/// loops are, it has fewer repeats than a decision may take, and its folder is here.
fn can_decide(report: &Run) -> bool {
    let is_of_rates = |spec: &TrialSpec| spec.step.is_none() && spec.conditions.rate.is_none();
    let repeats = report.trials.iter().map(|trial| trial.spec.repeat).max();
    report.manifest.search.is_none()
        && repeats.is_some_and(|repeats| repeats < DecisionSettings::MAX_REPEATS)
        && report.shown_as == report.folder
        && report.manifest.trials.iter().all(is_of_rates)
}

/// Goes on with a decided run whose time was up.
fn go_on_deciding(report: &Run, rankings: &[RankingAnswer]) -> Option<NextStep> {
    let end = report.end.as_ref().and_then(|end| end.search_end);
    let has_room = end != Some(SearchEnd::TrialLimit);
    let decisions = rankings.iter().filter_map(|it| it.decision.as_ref());
    let open: Vec<_> = decisions.filter(|it| it.may_be_decided()).collect();
    if open.is_empty() {
        return None;
    }
    // One ranking is decided after the other.
    let to_look = |it: &&RankingDecision| Some(it.next_look? - it.repeats);
    let repeats: u32 = open.iter().filter_map(to_look).sum();
    let look_s = f64::from(repeats) * repeat_time_s(report);
    let more_s = open.iter().map(|it| it.more_s()).sum::<Option<f64>>();
    let minutes = (TIME_FACTOR * more_s.unwrap_or_default().max(look_s) / 60.0).ceil();
    let is_here = report.shown_as == report.folder;
    (is_here && has_room).then(|| NextStep::Decide {
        more_s,
        command: resume_with(report, &["--within", &format!("{minutes}m")]),
    })
}

/// The time that a repeat takes, seconds. One repeat alone tells the time of its trials only.
fn repeat_time_s(report: &Run) -> f64 {
    let times_s = || report.trials.iter().filter_map(|it| plan_time_s(it, None));
    repeat_s(&report.trials).unwrap_or_else(|| times_s().sum())
}

/// Goes on with a run of a number of repeats until its rankings are decided, which they are at a
/// look.
fn decide(report: &Run, unsure: &[&RankingAnswer]) -> NextStep {
    let rule = SequentialRule::new(
        DecisionSettings::MAX_REPEATS,
        EqualityMargin::default().part(),
    );
    let more = unsure.iter().map(|ranking| {
        let ended = ranking.rows.iter().map(|row| row.repeats).max();
        let ended = ended.unwrap_or_default() as f64;
        let look = rule.look_from(repeats_needed(ranking).max(ended + 1.0).ceil() as u32)?;
        Some(f64::from(look) - ended)
    });
    let more = more.collect::<Option<Vec<_>>>();
    let more = more.and_then(|all| all.into_iter().reduce(f64::max));
    NextStep::Decide {
        more_s: more.zip(repeat_s(&report.trials)).map(|(more, s)| more * s),
        command: resume_with(report, &["--decide"]),
    }
}

/// The command that continues the run with these options.
fn resume_with(report: &Run, options: &[&str]) -> Vec<String> {
    let folder = report.shown_as.to_string_lossy();
    let words = [report.program(), "run", "--resume", &folder];
    words
        .iter()
        .chain(options)
        .map(|word| quoted(word))
        .collect()
}

/// The command that continues a run; `None` if it lacks no trial, or cannot be continued where it
/// is.
pub(crate) fn continuation(report: &Run) -> Option<Vec<String>> {
    // A bundle is a copy: the run goes on in its own folder.
    let is_folder = report.shown_as == report.folder;
    let has_ended = report.end.as_ref().is_some_and(|end| end.complete);
    let is_whole = has_ended && report.damaged.is_empty();
    // A run that decides has no more planned than its next repeat.
    let is_open = !has_ended && report.manifest.decision().is_some();
    let goes_on = is_open || !report.missing().is_empty();
    (is_folder && !is_whole && goes_on).then(|| resume(report))
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
    let folder = report.shown_as.to_string_lossy();
    let search = report.manifest.search.as_ref();
    let command = search.map_or("run", SearchSettings::command);
    let words = [report.program(), command, "--resume", &folder];
    words.iter().map(|word| quoted(word)).collect()
}

/// Estimates the repeats that would show the observed differences, or that there are none that
/// count: the smallest difference that can be shown falls with the square root of their number.
fn repeats_needed(ranking: &RankingAnswer) -> f64 {
    let ties = ranking
        .rows
        .iter()
        .filter(|row| row.verdict.is_inconclusive());
    let equal = DecisionSettings::DEFAULT_EQUAL_WITHIN.ln_1p();
    let needed = ties.map(|row| {
        let seen = row.of_leader.map_or(0.0, |share| share.estimate.ln().abs());
        match ranking.smallest_ratio {
            // Repeating as often as before would not change the result.
            Some(smallest) => {
                let wanted = seen.max(equal - seen);
                let shows = row.repeats as f64 * (smallest.ln() / wanted).powi(2);
                shows.max(row.repeats as f64 + 1.0)
            }
            // Too few to know how they scatter.
            None => MIN_PROPOSED_REPEATS,
        }
    });
    needed.fold(MIN_PROPOSED_REPEATS, f64::max)
}

/// Fewer repeats than these are not proposed: fewer cannot speak clearly.
const MIN_PROPOSED_REPEATS: f64 = 5.0;

/// More repeats of a run that cannot decide, if it is known how many it takes.
fn more_repeats(report: &Run, unsure: &[&RankingAnswer]) -> Option<NextStep> {
    let needed = unsure.iter().map(|ranking| repeats_needed(ranking));
    let needed = needed.reduce(f64::max);
    let needed = needed.filter(|needed| *needed <= MAX_PROPOSED_REPEATS)?;
    // A multiple of five: it is an estimate.
    let repeats = (needed / 5.0).ceil() * 5.0;
    let option = format!("--repeat {repeats:.0}");
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
    let takes_s = repeats * repeat_time_s(report);
    Some(NextStep::MoreRepeats {
        option,
        takes_s: (takes_s > 0.0).then_some(takes_s),
        command,
    })
}
