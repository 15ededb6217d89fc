//! The section on a search for knobs: by itself, and of a contender of a choice.

use super::header;
use super::{Part, Section, SectionInput};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::document::{Block, Table};
use crate::significance::levels;
use crate::trial_command::trial_command;
use trueput_findings::Run;
use trueput_findings::shell::quoted;
use trueput_findings::statistics::Verdict;
use trueput_findings::tuning::{CourseTrial, KnobGain, TunedConfiguration, TuningFindings, tuning};
use trueput_findings::units::{counted, per_cent, seconds};
use trueput_record::search::{SearchSettings, TuningScore, TuningSettings, TuningStrategy};
use trueput_record::value::format_bytes;
use trueput_record::{TrialSpec, Value};

/// The plan of the best knobs, in the run folder of a search that found better ones.
pub const TUNED_PLAN: &str = "tuned.toml";

/// Configurations that the table shows; `--json` has all.
const MOST_ROWS: usize = 12;

/// The trials of a round, at most: a search that ends fewer trials early was not cut short.
const LARGEST_ROUND: usize = 6;

/// The shares of importance are shown if the forest predicts this part of the variance.
const LEAST_EXPLAINED: f64 = 0.2;

/// A knob with a smaller share of the importance is not shown.
const LEAST_SHARE: f64 = 0.05;

/// Reasons for failures that are listed.
const MOST_REASONS: usize = 5;

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
    blocks.extend(header::debug_warning(run));
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
        match self.is_whole_run {
            true => format!(
                "{}, {}, {}, {}: knobs by {goal}",
                spec.contender(),
                spec.durability,
                spec.workload,
                counted(u64::from(spec.workers), "worker")
            ),
            false => format!("{}: the search for knobs, by {goal}", spec.contender()),
        }
    }

    fn goal(&self) -> String {
        match (self.settings.score, self.default.conditions.rate) {
            (TuningScore::P99, Some(rate)) => format!("p99 at {}/s", rate.per_s),
            _ => "rate".to_owned(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let found = self.found;
        let mut blocks = vec![Block::Text(answer(found))];
        blocks.extend(self.strategy().map(Block::Text));
        blocks.extend(self.unfinished().map(Block::Text));
        if let Some(winner) = found.better() {
            blocks.push(match gain_table(found) {
                Some(table) => Block::Table(table),
                None => Block::List(knob_lines(winner)),
            });
            blocks.extend(self.rerun(winner));
        }
        blocks.extend(Block::Table(table(found)).filled());
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
        let is_short = self.is_whole_run && ran + LARGEST_ROUND < planned;
        is_short.then(|| {
            format!(
                "{ran} of at most {planned} trials ran ({} in the search, {} in the holdout): the \
                 time was up, the run was interrupted, or nothing was left to try.",
                found.search_trials, found.holdout_trials
            )
        })
    }

    /// The winner beside the default once more: by its plan, or by a command if there is none.
    fn rerun(&self, winner: &TunedConfiguration) -> [Block; 2] {
        let plan = match self.is_whole_run {
            true => plan_blocks(self.run),
            false => None,
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
                "Its plan: {path}. It runs the default and these knobs in turns:"
            )),
            Block::Command(vec!["trueput".to_owned(), "run".to_owned(), quoted(&path)]),
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
            LEAST_EXPLAINED * 100.0
        ),
    })
}

/// The knobs with a notable share of the importance; `None` if the trials do not show any.
pub(super) fn knob_shares(found: &TuningFindings) -> Option<String> {
    let importance = found.importance.as_ref();
    let importance = importance.filter(|it| it.explained >= LEAST_EXPLAINED)?;
    let notable = importance.knobs.iter().filter(|it| it.share >= LEAST_SHARE);
    let shares: Vec<_> = notable
        .map(|it| format!("{} {:.0} %", it.knob, it.share * 100.0))
        .collect();
    (!shares.is_empty()).then(|| shares.join(", "))
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
        let default = found.configurations.first();
        let default = default.filter(|it| it.factor.is_none());
        return match default.and_then(|it| it.failures.first()) {
            Some(why) => {
                format!("The default has no score, so nothing can be compared with it: {why}.")
            }
            None => format!(
                "The search ended before its holdout: {tried} in {}.",
                counted(found.search_trials as u64, "trial")
            ),
        };
    };
    let Some(holdout) = &found.holdout else {
        return format!("The holdout has not ended a pair; {tried} were tried.");
    };
    if let Some(why) = found.holdout_failures.first() {
        return format!("The best configuration of the search failed in the holdout: {why}.");
    }
    let factor = winner.holdout_factor.unwrap_or(1.0);
    let interval = holdout.ratio.map_or_else(String::new, |ratio| {
        let level = per_cent(ratio.level);
        format!(" ({level}: {:.2} to {:.2})", ratio.low, ratio.high)
    });
    let search = winner.factor.map_or_else(String::new, |searched| {
        let lost = found.shrinkage.filter(|part| *part > 0.0).map(|part| {
            let part = (part * 100.0).round();
            format!(": {part} % of that gain, by logarithms, was not confirmed")
        });
        let lost = lost.unwrap_or_default();
        format!(" The search had measured {searched:.2} times{lost}.")
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
    rows.truncate(MOST_ROWS);
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
    let mut words = trial_command(run, "ledger", spec, spec);
    let changes: Vec<_> = winner
        .changes
        .iter()
        .map(|(name, value)| format!("{}.{name}={value}", spec.engine))
        .collect();
    words.extend(["--repeat".to_owned(), "5".to_owned(), "--step".to_owned()]);
    words.push(quoted(&format!("tuned: {}", changes.join(", "))));
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
