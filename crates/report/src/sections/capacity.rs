//! The section on capacities.

use super::header;
use super::{Part, Section, SectionInput};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::document::{Block, Table};
use crate::objective::violation;
use crate::storage_words;
use trueput_findings::Run;
use trueput_findings::capacity::{
    Capacity, CapacityComparison, CapacityEstimate, CapacityProbe, CapacityState, FailedTrials,
    ObjectiveFigure, capacities, comparisons, round_rate,
};
use trueput_findings::power_loss::StoragePromise;
use trueput_findings::rankings::groups;
use trueput_findings::storage_models::StorageModels;
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, number, per_cent, seconds, separate};
use trueput_record::objective::{Objective, ObjectiveLimit, ObjectiveMetric};
use trueput_record::search::{CapacitySettings, SearchSettings, TrialPurpose};
use trueput_record::trial::KILLED_BY_MEMORY_LIMIT;
use trueput_record::value::format_bytes;
use trueput_record::{TrialRecord, TrialSpec};

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

/// Response times that are drawn: an objective rarely limits more.
const MAX_CURVES: usize = 4;

/// The highest rate at which each contender keeps the objective.
pub(crate) struct Capacities;

impl Section for Capacities {
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        let Some(settings) = settings(input.run) else {
            return Vec::new();
        };
        let names = ContenderNames::of(input.run);
        let groups = comparisons(capacities(&input.run.manifest, &input.run.trials));
        let part = |group: &CapacityComparison| Part {
            title: heading(group, settings),
            blocks: blocks(group, settings, &names),
            charts: input.page_charts(|| curves(group, settings, &names)),
            ..Part::default()
        };
        groups.iter().map(part).collect()
    }
}

/// The capacities of a run for a terminal, as blocks: the answer first.
pub(crate) fn document(run: &Run) -> Vec<Block> {
    let Some(settings) = settings(run) else {
        return Vec::new();
    };
    let names = ContenderNames::of(run);
    let mut blocks = vec![header::title(run)];
    blocks.extend(header::search_warnings(run));
    for group in comparisons(capacities(&run.manifest, &run.trials)) {
        blocks.push(Block::Heading(2, heading(&group, settings)));
        blocks.extend(self::blocks(&group, settings, &names));
    }
    let skipped = run.manifest.skipped.clone();
    if let Some(skipped) = Block::List(skipped).filled() {
        blocks.push(Block::Heading(2, "Not tried".to_owned()));
        blocks.push(skipped);
    }
    blocks
}

/// The last trial of a contender in open loop, in a line, while its capacity is searched for.
#[must_use]
pub fn last_probe(capacity: &Capacity) -> Option<String> {
    let last = capacity.probes.last()?;
    let figures = last.judgement.figures.iter();
    let figures: Vec<_> = figures
        .map(|figure| format!("{} {}", figure.metric, formatted(figure)))
        .collect();
    let verdict = if last.judgement.holds() {
        format!("holds, {}", figures.join(", "))
    } else {
        format!("fails: {}", violations(last))
    };
    let known = match (capacity.capacity_per_s, capacity.estimate) {
        (Some(per_s), Some(estimate)) => {
            format!("; capacity {}/s ({})", rate(per_s), ends(&estimate))
        }
        (None, Some(estimate)) => format!("; capacity below {}/s", rate(estimate.high_per_s)),
        (_, None) => String::new(),
    };
    let name = capacity.spec.contender();
    Some(format!(
        "{name} at {}/s {verdict}{known}",
        rate(last.rate_per_s)
    ))
}

fn formatted(figure: &ObjectiveFigure) -> String {
    match figure.metric {
        "errors" => per_cent(figure.value),
        _ => seconds(figure.value),
    }
}

fn settings(run: &Run) -> Option<&CapacitySettings> {
    match &run.manifest.search {
        Some(SearchSettings::Capacity(settings)) => Some(settings),
        _ => None,
    }
}

/// The names of the contenders, from their trials in closed loop with the knobs of the plan: the
/// others have rates or other knobs as well.
pub(super) struct ContenderNames {
    first: Vec<TrialRecord>,
    names: TrialNames,
}

impl ContenderNames {
    pub(super) fn of(run: &Run) -> Self {
        let is_first = |trial: &&TrialRecord| {
            let role = trial.spec.role;
            role.is_some_and(|role| {
                role.purpose == TrialPurpose::ClosedLoop && role.configuration.is_none()
            })
        };
        let first: Vec<_> = run.trials.iter().filter(is_first).cloned().collect();
        let names = TrialNames::of_groups(&groups(&run.manifest, &first), &first);
        Self { first, names }
    }

    pub(super) fn name(&self, capacity: &Capacity) -> String {
        let mut trials = self.first.iter();
        let contender = |spec: &TrialSpec| spec.role.map(|role| role.contender);
        let first = trials.find(|trial| contender(&trial.spec) == contender(&capacity.spec));
        match first {
            Some(trial) => self.names.contender(trial),
            None => capacity.spec.contender(),
        }
    }

    /// The name without marks.
    pub(super) fn plain_name(&self, capacity: &Capacity) -> String {
        let name = self.name(capacity);
        let unmarked = name.strip_suffix(']').and_then(|it| it.rsplit_once(" ["));
        unmarked.map_or_else(|| name.clone(), |(plain, _)| plain.to_owned())
    }
}

fn heading(group: &CapacityComparison, settings: &CapacitySettings) -> String {
    let Some(first) = group.capacities.first() else {
        return String::new();
    };
    format!(
        "{}, {}, {}{}: capacity at {}",
        storage_words::level(first.spec.durability, &storage_of(group.capacities.iter())),
        first.spec.workload,
        counted(u64::from(first.spec.workers), "worker"),
        storage_words::place(&first.spec.conditions),
        settings.objective
    )
}

fn blocks(
    group: &CapacityComparison,
    settings: &CapacitySettings,
    names: &ContenderNames,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let capacities = || group.capacities.iter();
    let named: Vec<_> = capacities().map(|it| (it, names.name(it))).collect();
    let answer = answer(group, settings, names) + &left_out(&named);
    blocks.extend(storage_note(capacities()));
    blocks.push(Block::Text(answer + &unconfirmed(capacities())));
    blocks.extend(model_note(capacities()));
    blocks.extend(cache_note(capacities(), settings));
    blocks.extend(Block::Table(table(group, settings, names)).filled());
    blocks.extend(mark_note(capacities()));
    blocks.extend(failure_blocks(&named));
    let notes = named.iter().filter_map(|(it, name)| note(it, name));
    blocks.extend(Block::List(notes.collect()).filled());
    blocks
}

/// What the storage of several contenders leaves of their level.
pub(super) fn storage_of<'a>(capacities: impl Iterator<Item = &'a Capacity>) -> StoragePromise {
    StoragePromise::together(capacities.map(|it| &it.storage))
}

/// What the storage leaves of the level, if something is known against it.
pub(super) fn storage_note<'a>(
    mut capacities: impl Iterator<Item = &'a Capacity> + Clone,
) -> Option<Block> {
    let storage = storage_of(capacities.clone());
    let level = capacities.next()?.spec.durability;
    let sentence = storage_words::sentence(level, &storage)?;
    Some(Block::Warnings(vec![sentence]))
}

/// That the level's promise was made for the device of a model, if the storage is one.
pub(super) fn model_note<'a>(mut capacities: impl Iterator<Item = &'a Capacity>) -> Option<Block> {
    let spec = &capacities.next()?.spec;
    let models = StorageModels::of(&spec.conditions);
    storage_words::untested_promise(spec.durability, &models).map(Block::Text)
}

/// The caches of contenders that were set to fit the memory limit.
pub(super) fn cache_note<'a>(
    capacities: impl Iterator<Item = &'a Capacity>,
    settings: &CapacitySettings,
) -> Option<Block> {
    let sentence = |capacity: &Capacity| {
        let mut fitted = settings.fitted_caches.iter();
        let fitted = fitted.find(|it| it.contender == capacity.contender)?;
        let limit = capacity.spec.conditions.memory_bytes?;
        Some(format!(
            "{}={}, because the default, {}, takes more than half of the memory limit of {}.",
            fitted.knob,
            format_bytes(fitted.bytes),
            format_bytes(fitted.default_bytes),
            format_bytes(limit)
        ))
    };
    Block::List(capacities.filter_map(sentence).collect()).filled()
}

/// How many contenders' capacities are not confirmed, as a sentence that begins with a space; empty
/// if none is.
pub(super) fn unconfirmed<'a>(capacities: impl Iterator<Item = &'a Capacity>) -> String {
    let is_open = |it: &Capacity| {
        matches!(
            it.state,
            CapacityState::Unconfirmed | CapacityState::Imprecise
        )
    };
    let states = capacities.map(|it| is_open(it) && it.failed_trials().is_none());
    let states: Vec<bool> = states.collect();
    let count = states
        .iter()
        .filter(|is_unconfirmed| **is_unconfirmed)
        .count();
    match (count, states.len()) {
        (0, _) => String::new(),
        (_, 1) => " The capacity is not confirmed.".to_owned(),
        (1, all) => format!(" The capacity of 1 of {all} contenders is not confirmed."),
        (count, all) => {
            format!(" The capacities of {count} of {all} contenders are not confirmed.")
        }
    }
}

/// The contenders that could not be measured, or are not considered, with the reasons, a sentence
/// each that begins with a space; empty if there are none.
pub(super) fn left_out(contenders: &[(&Capacity, String)]) -> String {
    let sentence = |(capacity, name): &(&Capacity, String)| {
        if let Some(message) = capacity.rejection() {
            let reason = short_reason(message);
            return Some(format!(" {name} is not considered: {reason}."));
        }
        let FailedTrials {
            message,
            failed,
            all,
        } = capacity.failed_trials()?;
        let at = match failed {
            0 => String::new(),
            _ if failed == all => " at every rate that was tried".to_owned(),
            _ => format!(" in {failed} of {all} trials, those at the lowest rates included"),
        };
        let reason = short_reason(&message);
        Some(format!(" {name} could not be measured: {reason}{at}."))
    };
    contenders.iter().filter_map(sentence).collect()
}

/// The reason for a failure without the process that it befell and without advice.
fn short_reason(message: &str) -> &str {
    let first = message.split("; ").next().unwrap_or(message);
    match message.find(KILLED_BY_MEMORY_LIMIT) {
        Some(at) => message[at..].split(';').next().unwrap_or(message),
        None => first.trim_end_matches('.'),
    }
}

/// The ends of the 90 % interval.
fn ends(estimate: &CapacityEstimate) -> String {
    let [low, high] = [estimate.low_per_s, estimate.high_per_s].map(round_rate);
    format!("{} to {}", rate(low), rate(high))
}

/// The capacity of a contender, with a mark if it is not confirmed; without one, what is known
/// instead.
pub(super) fn marked_rate(capacity: &Capacity) -> String {
    let mark = if is_marked(capacity) { "?" } else { "" };
    if let Some(per_s) = capacity.capacity_per_s {
        return format!("{}{mark}", rate(per_s));
    }
    if capacity.rejection().is_some() {
        return "rejected".to_owned();
    }
    match capacity.estimate {
        Some(estimate) if capacity.failed_trials().is_none() => {
            format!("<{}", rate(round_rate(estimate.high_per_s)))
        }
        _ => "not measured".to_owned(),
    }
}

/// The 90 % interval of a contender that has a capacity.
pub(super) fn interval(capacity: &Capacity) -> String {
    let estimate = capacity.capacity_per_s.and(capacity.estimate);
    estimate.map_or_else(dash, |estimate| ends(&estimate))
}

fn is_marked(capacity: &Capacity) -> bool {
    capacity.capacity_per_s.is_some() && capacity.state != CapacityState::Confirmed
}

/// The meaning of the mark at rates, if one of them has it.
pub(super) fn mark_note<'a>(capacities: impl Iterator<Item = &'a Capacity>) -> Option<Block> {
    let mut marked = capacities.filter(|it| is_marked(it)).peekable();
    marked.peek()?;
    let text = if marked.any(|it| matches!(it.state, CapacityState::Led { .. })) {
        "?: not confirmed, or not searched further because another one leads."
    } else {
        "?: not confirmed."
    };
    Some(Block::Text(text.to_owned()))
}

/// What failed next above the capacities of contenders, each given with its name; after a line
/// that says so.
pub(super) fn failure_blocks(contenders: &[(&Capacity, String)]) -> Vec<Block> {
    let failures = contenders.iter();
    let failures = failures.filter_map(|(capacity, name)| failure(capacity, name));
    let Some(list) = Block::List(failures.collect()).filled() else {
        return Vec::new();
    };
    let heading = "The next failures above these rates:".to_owned();
    vec![Block::Text(heading), list]
}

/// The highest capacity in a sentence or two.
fn answer(
    group: &CapacityComparison,
    settings: &CapacitySettings,
    names: &ContenderNames,
) -> String {
    let objective = &settings.objective;
    let best = group
        .best()
        .and_then(|best| Some((best, best.capacity_per_s?)));
    let Some((best, per_s)) = best else {
        return none_keeps(objective, group.capacities.iter());
    };
    let first = format!(
        "{} keeps {objective} up to {} requests/s ({}).",
        names.name(best),
        rate(per_s),
        certainty(best)
    );
    let others = group.capacities.iter().skip(1);
    let tied: Vec<_> = others
        .clone()
        .filter(|it| group.overlaps_best(it))
        .collect();
    let next = others.clone().find(|it| !group.overlaps_best(it));
    let second = match (
        tied.as_slice(),
        next.and_then(|next| Some((next, next.capacity_per_s?))),
    ) {
        ([], Some((next, next_per_s))) => format!(
            " That is {} the rate of {}, the next.",
            factor(per_s / next_per_s),
            names.name(next)
        ),
        ([], None) => String::new(),
        (tied, _) => {
            let tied: Vec<_> = tied.iter().map(|it| names.name(it)).collect();
            format!(
                " Its interval overlaps that of {}: too close to call.",
                tied.join(" and ")
            )
        }
    };
    first + &second
}

/// How sure a capacity is: its interval, and the share of its trials that were disturbed.
pub(super) fn certainty(capacity: &Capacity) -> String {
    let Some(estimate) = capacity.estimate else {
        return String::new();
    };
    let open = match capacity.state {
        CapacityState::Confirmed => "",
        _ => "not confirmed; ",
    };
    format!(
        "{open}90 % interval {}; {} disturbed",
        ends(&estimate),
        share_of_trials(capacity, estimate.disturbed_share)
    )
}

fn share_of_trials(capacity: &Capacity, share: f64) -> String {
    let trials = counted(capacity.probes.len() as u64, "trial");
    format!("{:.0} % of {trials}", 100.0 * share)
}

/// That no contender keeps the objective, as far as is known.
pub(super) fn none_keeps<'a>(
    objective: &Objective,
    capacities: impl Iterator<Item = &'a Capacity> + Clone,
) -> String {
    let is_considered = |it: &&Capacity| it.failed_trials().is_none() && it.rejection().is_none();
    let considered: Vec<_> = capacities.clone().filter(is_considered).collect();
    if considered.is_empty() {
        let mut capacities = capacities;
        let are_unmeasured = capacities.all(|it| it.rejection().is_none());
        let sentence = if are_unmeasured {
            "No contender could be measured."
        } else {
            "No contender has a capacity."
        };
        return sentence.to_owned();
    }
    let mut states = considered.iter().map(|it| &it.state);
    if states.any(|state| *state == CapacityState::Unconfirmed) {
        return format!("The search ended before any contender kept {objective}.");
    }
    let which = which(capacities);
    format!("No contender{which} keeps {objective} at any rate that was tried.")
}

/// Which of several contenders a sentence on all of them means, as a clause that begins with a
/// space; empty if it means each.
pub(super) fn which<'a>(
    mut capacities: impl Iterator<Item = &'a Capacity> + Clone,
) -> &'static str {
    if capacities.clone().any(|it| it.rejection().is_some()) {
        " that is considered"
    } else if capacities.any(|it| it.failed_trials().is_some()) {
        " that was measured"
    } else {
        ""
    }
}

pub(super) fn rate(per_s: f64) -> String {
    if per_s >= 100.0 {
        separate(&format!("{per_s:.0}"))
    } else {
        number(per_s)
    }
}

pub(super) fn factor(factor: f64) -> String {
    match factor {
        ..1.1 => format!("{:.0} % above", (factor - 1.0) * 100.0),
        _ => format!("{factor:.1} times"),
    }
}

fn table(group: &CapacityComparison, settings: &CapacitySettings, names: &ContenderNames) -> Table {
    let rows: Vec<_> = group
        .capacities
        .iter()
        .filter(|it| it.closed_loop_per_s.is_some())
        .collect();
    let limits = settings.objective.limits().iter();
    let mut table = Table::of(&rows)
        .text("contender", 0, |it| names.name(it))
        .figures("requests/s", 0, |it| marked_rate(it))
        .figures("90 % interval", 0, |it| interval(it));
    for limit in limits {
        let metric = limit.metric.word();
        table = table.figures(metric, 1, move |it| figure_at_capacity(it, metric));
    }
    table
        .figures("closed loop", 2, |it| {
            it.closed_loop_per_s.map_or_else(dash, rate)
        })
        .figures("of it", 3, |it| {
            let part = it.capacity_per_s.zip(it.closed_loop_per_s);
            part.map_or_else(dash, |(capacity, closed)| per_cent(capacity / closed))
        })
        .figures("disturbed", 2, |it| {
            let estimate = it.capacity_per_s.and(it.estimate);
            estimate.map_or_else(dash, |it| format!("{:.0} %", 100.0 * it.disturbed_share))
        })
        .figures("trials", 3, |it| it.probes.len() + 1)
        .build()
}

fn dash() -> String {
    "–".to_owned()
}

/// A figure of the trial that held at the rate nearest to the capacity.
pub(super) fn figure_at_capacity(capacity: &Capacity, metric: &str) -> String {
    let nearest = capacity.nearest_held();
    let mut figures = nearest.iter().flat_map(|probe| &probe.judgement.figures);
    let of_metric = figures.find(|figure| figure.metric == metric);
    of_metric.map_or_else(dash, formatted)
}

/// How a contender fails next above its capacity.
fn failure(capacity: &Capacity, name: &str) -> Option<String> {
    let failed = capacity.nearest_failure_above()?;
    let (per_s, violations) = (rate(failed.rate_per_s), violations(failed));
    Some(format!("{name} at {per_s}/s: {violations}."))
}

/// The reason why a contender has no confirmed capacity.
pub(super) fn note(capacity: &Capacity, name: &str) -> Option<String> {
    if let Some(FailedTrials { message, .. }) = capacity.failed_trials() {
        return Some(format!("{name}: not measured: {message}"));
    }
    if let Some(message) = capacity.rejection() {
        return Some(format!("{name}: not considered: {message}"));
    }
    match &capacity.state {
        CapacityState::Confirmed => None,
        CapacityState::Unconfirmed => Some(match capacity.capacity_per_s {
            Some(_) => format!("{name}: the search ended before its capacity was confirmed."),
            None => format!("{name}: the search ended before a rate was found that it keeps."),
        }),
        // A choice says it of all of them in one sentence.
        CapacityState::Led { .. } => None,
        CapacityState::Imprecise => Some(format!(
            "{name}: its interval was still too wide after {}; use longer trials (--duration).",
            counted(capacity.probes.len() as u64, "trial")
        )),
        CapacityState::NothingHolds => Some(match capacity.nearest() {
            Some(nearest) => format!(
                "{name} keeps the objective at no rate. Nearest, at {}/s: {}.",
                rate(nearest.rate_per_s),
                violations(nearest)
            ),
            None => format!("{name} keeps the objective at no rate."),
        }),
        // It was said above.
        CapacityState::Unmeasured { .. } | CapacityState::Rejected { .. } => None,
    }
}

/// The limits that a trial reached, in words.
fn violations(probe: &CapacityProbe) -> String {
    let words = probe.judgement.violations.iter().map(violation);
    words.collect::<Vec<_>>().join("; ")
}

/// A chart for each limited response time; none if none is limited, or nothing was measured.
pub(super) fn curves(
    group: &CapacityComparison,
    settings: &CapacitySettings,
    names: &ContenderNames,
) -> Vec<Chart> {
    let measured = group.capacities.iter().filter(|it| !it.probes.is_empty());
    let measured: Vec<_> = measured.collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let limits = settings.objective.limits().iter();
    let times = limits.filter(|limit| limit.metric != ObjectiveMetric::Errors);
    times
        .take(MAX_CURVES)
        .map(|limit| curve(&measured, *limit, names))
        .collect()
}

/// A limited response time over the rate, for each contender.
fn curve(measured: &[&Capacity], limit: ObjectiveLimit, names: &ContenderNames) -> Chart {
    let metric = limit.metric;
    let points = |capacity: &&Capacity| {
        let probes = capacity.probes.iter();
        let points = probes.filter_map(|probe| {
            let mut figures = probe.judgement.figures.iter();
            let figure = figures.find(|figure| figure.metric == metric.word())?;
            Some(vec![probe.rate_per_s, figure.value * NS_PER_S])
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by(|one, other| one[0].total_cmp(&other[0]));
        ChartGroup::new(names.name(capacity), points)
    };
    Chart {
        title: format!("{metric} response time by request rate"),
        says: format!("{metric} of response times at each rate that was tried"),
        note: format!("one point per trial; dashed: the limit, {limit}"),
        columns: vec![
            ChartColumn::new("requests/s", Unit::PerSecond),
            ChartColumn::new(metric.word(), Unit::Nanoseconds),
        ],
        groups: measured
            .iter()
            .map(points)
            .filter(|group| !group.rows.is_empty())
            .collect(),
        reference: Some(limit.below * NS_PER_S),
        ..Chart::new(ChartKind::Curve, "contender")
    }
}
