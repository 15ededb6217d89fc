//! The section on a search for knobs: by itself, and of a contender of a choice.

use super::conclusion::{program, with_program_name};
use super::header;
use super::search_stop::SearchStop;
use super::{Part, Section, SectionInput};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::document::{Block, Table};
use crate::significance::levels;
use crate::storage_words;
use crate::trial_command::trial_command;
use trueput_findings::Run;
use trueput_findings::power_loss::StoragePromise;
use trueput_findings::shell::quoted;
use trueput_findings::statistics::Verdict;
use trueput_findings::tuning::{
    CourseTrial, KnobGain, TunedConfiguration, TuningFindings, score, tuning,
};
use trueput_findings::units::{counted, seconds};
use trueput_record::search::{
    SearchSettings, TrialPurpose, TrialRole, TuningLimits, TuningScore, TuningSettings,
    TuningStrategy,
};
use trueput_record::value::format_bytes;
use trueput_record::{Outcome, TrialRecord, TrialSpec, Value};

/// The plan of the best knobs, in the run folder of a search that found better ones.
pub const TUNED_PLAN: &str = "tuned.toml";

/// Configurations that the table shows; `--json` has all.
const MAX_ROWS: usize = 12;

/// The trials of a round, at most: a search that ends fewer trials early was not cut short.
const MAX_ROUND_TRIALS: usize = 6;

/// The shares of importance are shown if the forest predicts this part of the variance.
const MIN_EXPLAINED: f64 = 0.2;

/// A knob with a smaller share of the importance is not shown.
const MIN_SHARE: f64 = 0.05;

/// A factor of so many trials is mostly noise.
const NOISY_TRIALS: usize = 2;

/// Reasons for failures that are listed.
const MAX_REASONS: usize = 5;

/// The configurations that a search tried, and whether the best is better than the default.
pub(crate) struct TunedKnobs;

impl Section for TunedKnobs {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let found = tuning(&input.run.manifest, &input.run.trials)?;
        TuningView::of_run(input.run, &found)?.part(input)
    }
}

/// The result of a search for a terminal, as blocks: the answer first.
pub(crate) fn document(run: &Run) -> Vec<Block> {
    let mut blocks = vec![header::title(run)];
    blocks.extend(header::search_warnings(run));
    if let Some(found) = tuning(&run.manifest, &run.trials)
        && let Some(view) = TuningView::of_run(run, &found)
    {
        blocks.extend(view.titled_blocks());
    }
    blocks
}

/// The search for a contender's knobs, and what its text needs.
pub(super) struct TuningView<'a> {
    pub(super) run: &'a Run,
    pub(super) settings: TuningSettings,
    /// The trial of the default, which says what was measured.
    pub(super) default: &'a TrialSpec,
    pub(super) found: &'a TuningFindings,
    /// Whether the run is this search and nothing else. A choice has several; it does not record
    /// the planned trials of each, and its plan is that of its own answer.
    pub(super) is_whole_run: bool,
}

impl<'a> TuningView<'a> {
    fn of_run(run: &'a Run, found: &'a TuningFindings) -> Option<Self> {
        let Some(SearchSettings::Tuning(settings)) = &run.manifest.search else {
            return None;
        };
        Some(Self {
            run,
            settings: settings.clone(),
            default: run.manifest.trials.first()?,
            found,
            is_whole_run: true,
        })
    }

    /// The search as a part of a report.
    pub(super) fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let part = Part::unless_empty(&self.heading(), self.blocks())?;
        Some(Part {
            charts: input.page_charts(|| course(self.found).into_iter().collect()),
            ..part
        })
    }

    /// The search with its heading.
    pub(super) fn titled_blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading(2, self.heading())];
        blocks.extend(self.blocks());
        blocks
    }

    fn heading(&self) -> String {
        let (spec, goal) = (self.default, self.goal());
        if self.is_whole_run {
            format!(
                "{}, {}, {}, {}{}: knobs by {goal}",
                spec.contender(),
                storage_words::level(spec.durability, &self.storage()),
                spec.workload,
                counted(u64::from(spec.workers), "worker"),
                storage_words::place(&spec.conditions)
            )
        } else {
            format!("{}: the search for knobs, by {goal}", spec.contender())
        }
    }

    /// What the storage of the run's trials leaves of their level.
    fn storage(&self) -> StoragePromise {
        let run_file_system = &self.run.manifest.host.file_system;
        StoragePromise::of(&self.run.trials, run_file_system)
    }

    fn goal(&self) -> String {
        match (self.settings.score, self.default.conditions.rate) {
            (TuningScore::P99, Some(rate)) => format!("p99 at {}/s", rate.per_s),
            _ => "rate".to_owned(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let found = self.found;
        let mut blocks = Vec::new();
        // A choice says it of all its contenders.
        if self.is_whole_run {
            let sentence = storage_words::sentence(self.default.durability, &self.storage());
            blocks.extend(sentence.map(|sentence| Block::Warnings(vec![sentence])));
        }
        blocks.push(Block::Text(self.answer()));
        blocks.extend(self.strategy().map(Block::Text));
        blocks.extend(self.unfinished().map(Block::Text));
        if let Some(winner) = found.better() {
            blocks.push(match gain_table(found) {
                Some(table) => Block::Table(table),
                None => Block::List(knob_lines(winner)),
            });
            blocks.extend(self.rerun(winner));
        }
        let rows = table_rows(found);
        blocks.extend(Block::Table(table(&rows)).filled());
        blocks.extend(noise_note(&rows, found).map(Block::Text));
        blocks.extend(importance(found).map(Block::Text));
        blocks.extend(Block::Table(front(found)).filled());
        blocks.extend(Block::List(failures(found)).filled());
        blocks.extend(Block::List(self.dropped()).filled());
        blocks
    }

    /// How configurations were proposed, if not by the model.
    fn strategy(&self) -> Option<String> {
        let strategy = self.settings.strategy;
        (strategy != TuningStrategy::Model).then(|| {
            let name = strategy.name();
            format!(
                "Configurations were proposed by the strategy {name}, a baseline for the model."
            )
        })
    }

    /// What the time did not suffice for.
    fn unfinished(&self) -> Option<String> {
        let found = self.found;
        let ran = found.search_trials + found.holdout_trials;
        let planned = found.planned_trials;
        let is_short = self.is_whole_run && ran + MAX_ROUND_TRIALS < planned;
        is_short.then(|| {
            let reason = SearchStop::of(self.run.end.as_ref()).reason();
            format!(
                "{ran} of at most {planned} trials ran ({} in the search, {} in the holdout): \
                 {reason}.",
                found.search_trials, found.holdout_trials
            )
        })
    }

    /// The result in a sentence or two.
    fn answer(&self) -> String {
        let found = self.found;
        let Some(winner) = winner(found) else {
            return without_winner(found);
        };
        if let Some(reason) = found.holdout_failures.first() {
            return format!(
                "The best configuration of the search failed in the holdout, or in the conformance \
                 suite after it: {reason}."
            );
        }
        let compared = found.holdout.as_ref();
        let Some((verdict, ratio)) = compared.and_then(|it| Some((it.verdict, it.ratio?))) else {
            return self.too_few(winner);
        };
        let factor = winner.holdout_factor.unwrap_or(1.0);
        let interval = format!(
            " ({} % interval: {:.2} to {:.2})",
            (ratio.level * 1e3).round() / 10.0,
            ratio.low,
            ratio.high
        );
        let search = self.response_times(winner) + &searched(winner);
        let pairs = "pairs that the search had not seen";
        match verdict {
            Verdict::Faster => format!(
                "These knobs give {factor:.2} times the default's score{interval}, in \
                 {pairs}.{search}"
            ),
            Verdict::Slower => format!(
                "No better than the default: the best of the search gave {factor:.2} times its \
                 score{interval} in {pairs}.{search}"
            ),
            Verdict::NoDifference | Verdict::TooFew => format!(
                "Not proven better than the default: {factor:.2}x its score{interval} in {pairs}, \
                 too noisy to claim.{search}"
            ),
        }
    }

    /// The winner's 99th percentile beside the default's; it begins with a space.
    fn response_times(&self, winner: &TunedConfiguration) -> String {
        let default = self.found.configurations.first();
        let times_s = default.and_then(|default| {
            let of_winner_s = winner.holdout_p99_s?;
            Some((of_winner_s, default.holdout_p99_s?))
        });
        times_s.map_or_else(String::new, |(own_s, default_s)| {
            format!(
                " The slowest kind of operation has a 99th percentile of {}; with the default, {}.",
                seconds(own_s),
                seconds(default_s)
            )
        })
    }

    /// The result of a holdout with too few pairs for an interval.
    fn too_few(&self, winner: &TunedConfiguration) -> String {
        let (pairs, rounds) = self.holdout_pairs();
        let is_cut_short = pairs == rounds;
        let mut text = if is_cut_short {
            let stopped = SearchStop::of(self.run.end.as_ref()).event();
            let pairs = counted(pairs as u64, "pair");
            format!("Not known: {stopped} after {pairs} of the holdout, too few to tell.")
        } else {
            format!(
                "Not known: the default has a score in {pairs} of {} of the holdout, too few to \
                 tell.",
                counted(rounds as u64, "pair")
            )
        };
        if let Some(factor) = winner.holdout_factor {
            text += &format!(
                " The best configuration gave {factor:.2} times the default's score in {}, which \
                 may be chance.",
                if pairs == 1 { "it" } else { "them" }
            );
        }
        // A bundle is a copy: the search goes on in its own folder.
        if is_cut_short && self.is_whole_run && self.run.shown_as == self.run.folder {
            let folder = self.run.shown_as.to_string_lossy();
            let program = program(self.run);
            text += &format!(" `{program} tune --resume {}` goes on.", quoted(&folder));
        }
        text
    }

    /// The rounds of the holdout in which the default has a score, and those in which the winner
    /// ran.
    fn holdout_pairs(&self) -> (usize, usize) {
        let contender = self.default.role.map(|role| role.contender);
        let in_holdout = |purpose: TrialPurpose| {
            let is_own =
                move |role: TrialRole| Some(role.contender) == contender && role.purpose == purpose;
            self.run.trials.iter().filter(move |trial| {
                trial.outcome != Outcome::Interrupted && trial.spec.role.is_some_and(is_own)
            })
        };
        // The default is a measure even if it breaks a limit.
        let unlimited = TuningSettings {
            limits: TuningLimits::default(),
            ..self.settings.clone()
        };
        let is_scored_default = |trial: &TrialRecord| {
            let configuration = trial.spec.role.and_then(|role| role.configuration);
            let is_scored = || score(trial, None, &unlimited, &self.run.manifest).is_ok();
            configuration == Some(0) && is_scored()
        };
        let has_default = |winner: &&TrialRecord| {
            let mut of_round = in_holdout(TrialPurpose::Holdout)
                .filter(|trial| trial.spec.repeat == winner.spec.repeat);
            of_round.any(is_scored_default)
        };
        let winners = || in_holdout(TrialPurpose::Winner);
        (winners().filter(has_default).count(), winners().count())
    }

    /// The winner beside the default once more: by its plan, or by a command if there is none.
    fn rerun(&self, winner: &TunedConfiguration) -> [Block; 2] {
        let plan = if self.is_whole_run {
            plan_blocks(self.run)
        } else {
            None
        };
        plan.unwrap_or_else(|| {
            [
                Block::Text("This runs it beside the default again:".to_owned()),
                Block::Command(command(self.run, self.default, winner)),
            ]
        })
    }

    /// The values of presets that were not tried.
    fn dropped(&self) -> Vec<String> {
        let presets = self.settings.presets.iter();
        let dropped = presets.filter(|preset| !preset.dropped.is_empty());
        dropped
            .map(|preset| {
                let values = preset.dropped.join("; ");
                format!("Not tried of preset {}: {values}", preset.name)
            })
            .collect()
    }
}

/// The plan of a run's best knobs, and the command that runs it; `None` if the folder has none: the
/// search has not ended, or the run comes from a bundle.
pub(super) fn plan_blocks(run: &Run) -> Option<[Block; 2]> {
    let file = run.folder.join(TUNED_PLAN).symlink_metadata().ok()?;
    let path = run.shown_as.join(TUNED_PLAN);
    let path = path.to_string_lossy();
    file.is_file().then(|| {
        [
            Block::Text(format!(
                "Its plan: {path}. It runs the default and these knobs alternately. Add a longer \
                 --duration to include work that knobs put off, such as checkpoints:"
            )),
            Block::Command(vec![program(run), "run".to_owned(), quoted(&path)]),
        ]
    })
}

/// How much the knobs matter, the most important first.
fn importance(found: &TuningFindings) -> Option<String> {
    let explained = found.importance.as_ref()?.explained;
    Some(match knob_shares(found) {
        Some(shares) => format!(
            "Knobs that matter, by share of importance in a random forest: {shares}. The forest \
             predicts {:.0} % of the variance of configurations that it has not learned.",
            explained * 100.0
        ),
        None => format!(
            "The trials do not show which knobs matter: a random forest predicts less than {:.0} % \
             of their variance.",
            MIN_EXPLAINED * 100.0
        ),
    })
}

/// The knobs with a notable share of the importance; `None` if the trials do not show any.
pub(super) fn knob_shares(found: &TuningFindings) -> Option<String> {
    let importance = found.importance.as_ref();
    let importance = importance.filter(|it| it.explained >= MIN_EXPLAINED)?;
    let notable = importance.knobs.iter().filter(|it| it.share >= MIN_SHARE);
    let shares: Vec<_> = notable
        .map(|it| format!("{} {:.0} %", it.knob, it.share * 100.0))
        .collect();
    (!shares.is_empty()).then(|| shares.join(", "))
}

fn winner(found: &TuningFindings) -> Option<&TunedConfiguration> {
    let number = found.winner?;
    found.configurations.iter().find(|it| it.number == number)
}

/// The result of a search without a holdout.
fn without_winner(found: &TuningFindings) -> String {
    let default = found.configurations.first();
    let default = default.filter(|it| it.factor.is_none());
    match default.and_then(|it| it.failures.first()) {
        Some(reason) => {
            format!("The default has no score, so nothing can be compared with it: {reason}.")
        }
        None => {
            let tried = found.configurations.len().saturating_sub(1);
            format!(
                "The search ended before its holdout: {} in {}.",
                counted(tried as u64, "other configuration"),
                counted(found.search_trials as u64, "trial")
            )
        }
    }
}

/// What the search had measured of a winner, beside the holdout; it begins with a space.
fn searched(winner: &TunedConfiguration) -> String {
    match (winner.factor, winner.holdout_factor) {
        (Some(searched), Some(holdout)) => {
            format!(" Search: {searched:.2}x; on new data: {holdout:.2}x.")
        }
        (Some(searched), None) => format!(" Search: {searched:.2}x."),
        (None, _) => String::new(),
    }
}

/// The course of the search, drawn.
fn course(found: &TuningFindings) -> Option<Chart> {
    let trials = || (1..).zip(&found.course);
    let last = trials().last().map(|(number, _)| f64::from(number))?;
    let of = |figure: &dyn Fn(&CourseTrial) -> Option<f64>| -> Vec<Vec<f64>> {
        let points = trials().filter_map(|(number, it)| Some((number, figure(it)?)));
        points
            .map(|(number, figure)| vec![f64::from(number), figure])
            .collect()
    };
    let failed = |it: &CourseTrial| it.factor.is_none().then_some(0.0);
    let groups = [
        ("best so far", of(&|it| Some(it.best))),
        ("default", vec![vec![0.0, 1.0], vec![last, 1.0]]),
        ("a trial", of(&|it| it.factor)),
        ("a failed trial", of(&failed)),
    ];
    let groups = groups.into_iter().filter(|(_, points)| !points.is_empty());
    Some(Chart {
        title: "Course of the search".to_owned(),
        says: "Score of each trial over the default's in the same round, and the best so far"
            .to_owned(),
        note: "best so far: of at least two trials; failed trials at 0".to_owned(),
        columns: vec![
            ChartColumn::new("trial", Unit::Number),
            ChartColumn::new("times the default", Unit::Times),
        ],
        groups: groups
            .map(|(name, points)| ChartGroup::new(name, points))
            .collect(),
        ..Chart::new(ChartKind::Course, "series")
    })
}

/// The configurations that no other one excels in everything.
fn front(found: &TuningFindings) -> Table {
    let mut rows = found.front();
    if rows.len() < 2 {
        return Table::default();
    }
    let has_recovery = rows.iter().any(|it| it.recovery_s.is_some());
    rows.truncate(MAX_ROWS);
    let size = |bytes: Option<f64>| bytes.map_or_else(dash, |bytes| format_bytes(bytes as u64));
    let mut table = Table::of(&rows)
        .text("front: configuration", 0, |it| match it.number {
            0 => "default".to_owned(),
            _ => name(it),
        })
        .figures("score", 0, |it| times(it.factor))
        .figures("trials", 2, |it| it.trials)
        .figures("memory", 0, |it| size(it.memory_bytes))
        .figures("space", 0, |it| size(it.space_bytes));
    if has_recovery {
        table = table.figures("recovery", 0, |it| it.recovery_s.map_or_else(dash, seconds));
    }
    let mut table = table.build();
    table.caption = "front".to_owned();
    table
}

fn knob_lines(configuration: &TunedConfiguration) -> Vec<String> {
    let changes = configuration.changes.iter();
    changes
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// The winner's knobs and what each gains; `None` without an ablation.
pub(super) fn gain_table(found: &TuningFindings) -> Option<Table> {
    let gains = gains(found.better()?, found);
    (!gains.is_empty()).then(|| knob_table(&gains))
}

/// A changed knob of the winner, and what it gains, if the ablation reached it.
struct ChangedKnob<'a> {
    knob: &'a str,
    value: &'a Value,
    gain: Option<&'a KnobGain>,
}

/// The winner's knobs, the greatest gain first; none if there was no ablation.
fn gains<'a>(winner: &'a TunedConfiguration, found: &'a TuningFindings) -> Vec<ChangedKnob<'a>> {
    if found.ablation.is_empty() {
        return Vec::new();
    }
    let place = |knob: &str| found.ablation.iter().position(|gain| gain.knob == knob);
    let changes = winner.changes.iter();
    let mut knobs: Vec<_> = changes
        .map(|(knob, value)| ChangedKnob {
            knob,
            value,
            gain: place(knob).map(|place| &found.ablation[place]),
        })
        .collect();
    knobs.sort_by_key(|it| place(it.knob).unwrap_or(usize::MAX));
    knobs
}

fn knob_table(knobs: &[ChangedKnob<'_>]) -> Table {
    let compared = knobs.iter().filter_map(|it| Some(&it.gain?.comparison));
    let levels = levels(compared).unwrap_or_else(|| "interval".to_owned());
    Table::of(knobs)
        .text("knob", 0, |it| it.knob.to_owned())
        .text("value", 0, |it| it.value.to_string())
        .text("default", 1, |it| {
            let default = it.gain.and_then(|gain| gain.default.as_ref());
            default.map_or_else(dash, ToString::to_string)
        })
        .figures("gain", 0, |it| match it.gain {
            Some(gain) if gain.factor.is_none() && !gain.failures.is_empty() => "fails".to_owned(),
            gain => times(gain.and_then(|gain| gain.factor)),
        })
        .figures(levels, 0, |it| {
            let ratio = it.gain.and_then(|gain| gain.comparison.ratio);
            ratio.map_or_else(dash, |it| format!("{:.2} to {:.2}", it.low, it.high))
        })
        .build()
}

fn name(configuration: &TunedConfiguration) -> String {
    let knobs = knob_lines(configuration).join(", ");
    match &configuration.preset {
        Some(preset) => format!("preset {preset}: {knobs}"),
        None => knobs,
    }
}

/// The command that runs the winner beside the default.
fn command(run: &Run, spec: &TrialSpec, winner: &TunedConfiguration) -> Vec<String> {
    let mut words = with_program_name(run, trial_command(run, "ledger", spec, spec));
    let changes: Vec<_> = winner
        .changes
        .iter()
        .map(|(name, value)| format!("{}.{name}={value}", spec.engine))
        .collect();
    words.extend(["--repeat".to_owned(), "5".to_owned(), "--step".to_owned()]);
    words.push(quoted(&format!("tuned: {}", changes.join(", "))));
    words
}

/// The configurations that the table shows: the winner, then the others, the best first.
fn table_rows(found: &TuningFindings) -> Vec<&TunedConfiguration> {
    let mut rows: Vec<_> = found
        .configurations
        .iter()
        .filter(|it| it.number > 0 && it.is_eligible())
        .collect();
    let factor = |it: &TunedConfiguration| it.factor.unwrap_or_default();
    let is_winner = |it: &TunedConfiguration| found.winner == Some(it.number);
    rows.sort_by(|one, other| {
        let order = factor(other).total_cmp(&factor(one));
        is_winner(other).cmp(&is_winner(one)).then(order)
    });
    rows.truncate(MAX_ROWS);
    rows
}

/// Why a configuration with a higher factor than the winner's is not the winner.
fn noise_note(rows: &[&TunedConfiguration], found: &TuningFindings) -> Option<String> {
    let best = winner(found)?.factor?;
    let is_noisy = |it: &&TunedConfiguration| {
        it.trials <= NOISY_TRIALS && it.factor.is_some_and(|factor| factor > best)
    };
    rows.iter().any(is_noisy).then(|| {
        "A factor of one or two trials is mostly noise: the winner is the one that held in repeats."
            .to_owned()
    })
}

fn table(rows: &[&TunedConfiguration]) -> Table {
    Table::of(rows)
        .text("configuration", 0, |it| name(it))
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
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for failure in found.configurations.iter().flat_map(|it| &it.failures) {
        let reason = without_process_numbers(failure);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let lines = reasons.iter().take(MAX_REASONS);
    lines
        .map(|(reason, count)| {
            format!(
                "{} without a score: {reason}",
                counted(*count as u64, "trial")
            )
        })
        .collect()
}

/// A reason without the numbers of processes, which differ from trial to trial.
fn without_process_numbers(reason: &str) -> String {
    let mut parts = reason.split(" (");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = |words: &str| {
            let named = words.strip_prefix("process ");
            let number = named.or_else(|| text.ends_with("process").then_some(words));
            number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match part.split_once(')') {
            Some((words, rest)) if is_number(words) => text += rest,
            _ => {
                text += " (";
                text += part;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_differ_in_the_process_only_are_one_reason() {
        let of = without_process_numbers;
        let killed = "worker 0 was killed by SIGKILL";
        assert_eq!(of("worker 0 (process 7) was killed by SIGKILL"), killed);
        assert_eq!(of("worker 0 (process 12345) was killed by SIGKILL"), killed);
        let threads = "the workers' process (7) was killed";
        assert_eq!(of(threads), "the workers' process was killed");
        for other in [
            "it failed (11)",
            "no (process) at all",
            "open (",
            "worker (process 7",
        ] {
            assert_eq!(of(other), other);
        }
    }
}
