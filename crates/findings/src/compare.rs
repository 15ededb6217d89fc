//! Comparison of two runs, or of two contenders of one run: changes and results.
//!
//! [`Side::new`] describes one side; [`compare_sides`] compares the sides.

mod changes;
mod common;
mod error;
mod gates;
mod matching;
mod select;
mod side;
mod uncounted;

use crate::eligibility::rate;
use crate::rankings::rankings;
use crate::{Run, disturbance, fixed_rate};
pub use changes::{Change, ChangeSubject, between_cells, between_runs};
pub use common::{LimitPair, LimitProbe};
pub use error::{
    AbsenceReason, CircumstanceDifference, Error, IncomparabilityReason, IncomparablePair,
    NoSuchTrial, SelectorFault,
};
pub use gates::{GateError, judge_gates};
pub use matching::circumstances;
pub use select::{Selector, selectable_names, words};
pub use side::{Side, SideCell};
pub use uncounted::{BrokenResult, UncountedRecord, UnmatchedCell, UnreadableLine};

use crate::marks::{Mark, marked};
use crate::statistics::{
    Comparison, InconclusiveReason, Noise, Summary, claim_level, compare_among, compare_together,
    inconclusive_reason, looks_slower, median, repeats_needed, suspicion_level,
};
use matching::{CellPairs, match_cells};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::value::Settings;
use trueput_record::{Durability, Measurement, TrialRecord};

/// Two sides, compared.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideComparison {
    /// The first side, the denominator of all ratios.
    pub first: SideFacts,
    /// The second side.
    pub second: SideFacts,
    /// Whether both are of one run, so that their repeats took turns.
    pub one_run: bool,
    /// The level of the widest interval: the more results, the higher.
    pub level: f64,
    /// Differences of machine, program and plan.
    pub changes: Vec<Change>,
    /// Hardware limits that both runs measured; empty if both sides are of one run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitPair>,
    /// Results by cell.
    pub results: Vec<CellResult>,
    /// Matching cells that must not be compared, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomparable: Vec<IncomparablePair>,
    /// Contenders that only the first side has.
    pub only_first: Vec<UnmatchedCell>,
    /// Contenders that only the second side has.
    pub only_second: Vec<UnmatchedCell>,
    /// Trials and lines that do not count.
    pub uncounted: Vec<UncountedRecord>,
}

/// A description of one side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideFacts {
    /// Its label, as the user typed it.
    pub label: String,
    /// The run folder or bundle, as the user typed it.
    pub folder: String,
    /// The plan's name.
    pub name: String,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// Noise of the run; `None` if it has too few repeats.
    pub noise: Option<Noise>,
}

/// One cell of both sides, compared.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CellResult {
    /// The workload.
    pub workload: String,
    /// Its settings on the first side.
    pub settings: Settings,
    /// Workers on the first side.
    pub workers: u32,
    /// Durability level of each commit.
    pub durability: Durability,
    /// The contender on the first side.
    pub first: String,
    /// The contender on the second side.
    pub second: String,
    /// Marks of the first side's contender.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_marks: Vec<Mark>,
    /// Marks of the second side's contender.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second_marks: Vec<Mark>,
    /// The kind of operation whose rate is compared.
    pub headline: String,
    /// The response times, if both sides are open loops that kept the same rate: they are compared
    /// instead of the rates, which are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responses: Option<Responses>,
    /// The first side's rates, per second.
    pub first_per_s: Vec<f64>,
    /// The second side's rates, per second.
    pub second_per_s: Vec<f64>,
    /// The second over the first, with the evidence. If response times are compared, slower means a
    /// longer wait.
    pub comparison: Comparison,
    /// The reason why no difference is claimed; `None` if one is, or if fewer than three repeats
    /// count.
    #[serde(rename = "tie")]
    pub inconclusive: Option<InconclusiveReason>,
    /// Repeats of each side that would probably show the observed difference, if there are too few
    /// and at most a thousand are needed.
    pub repeats_needed: Option<usize>,
    /// Failures on the second side: a gate must not pass a crash.
    pub second_broken: Vec<BrokenResult>,
    /// Whether both sides ran the same library with the same knobs and settings, so that only the
    /// machine or chance can make a difference.
    pub same_library: bool,
    /// Differences of engine, version, knobs and conditions.
    pub changes: Vec<Change>,
    /// Medians of other figures, without a verdict.
    pub other_figures: Vec<SideFigure>,
    /// The comparison that the run itself made, if it decides and one of the two leads: repeats
    /// that end when enough is known are not compared as if their number had been chosen before.
    #[serde(skip)]
    decided: Option<(Comparison, Option<InconclusiveReason>)>,
}

impl SideComparison {
    /// Typical spread of the repeats of the side that scatters more, as a share.
    fn floor(&self) -> f64 {
        let floor = |facts: &SideFacts| facts.noise.as_ref().map_or(0.0, |noise| noise.floor);
        floor(&self.first).max(floor(&self.second))
    }
}

impl CellResult {
    /// The first side's contender with the labels of its marks.
    pub fn first_name(&self) -> String {
        marked(&self.first, &self.first_marks)
    }

    /// The second side's contender with the labels of its marks.
    #[must_use]
    pub fn second_name(&self) -> String {
        marked(&self.second, &self.second_marks)
    }

    /// Stores the comparison that the run made, or else this one of the repeats, and the reason if
    /// it is inconclusive.
    fn judge(&mut self, comparison: Comparison, floor: f64) {
        let (comparison, inconclusive) = self.decided.unwrap_or_else(|| {
            let summary = |values: &[f64]| Summary::of(values.iter().copied());
            let (first, second) = self.compared();
            let reason = summary(first)
                .zip(summary(second))
                .and_then(|(one, other)| inconclusive_reason(&comparison, &one, &other, floor));
            (comparison, reason)
        });
        self.inconclusive = inconclusive;
        self.comparison = comparison;
        self.repeats_needed = comparison.ratio.and_then(|ratio| {
            let few = self.inconclusive == Some(InconclusiveReason::TooFewRepeats);
            let (first, second) = self.compared();
            let needed = || repeats_needed(first, second, comparison.paired, ratio.level);
            few.then(needed).flatten()
        });
    }

    /// Whether the second is slower by more than that part for certain: the whole interval is
    /// beyond. `None` if there is no interval.
    #[must_use]
    pub fn slower_by(&self, part: f64) -> Option<bool> {
        self.comparison.ratio.map(|ratio| match self.responses {
            None => ratio.high < 1.0 - part,
            Some(_) => ratio.low > 1.0 + part,
        })
    }

    /// Estimated loss of the second side as a share of the first's rate or response time; negative
    /// if it seems faster. `None` if there is no ratio.
    #[must_use]
    pub fn seems_slower_by(&self) -> Option<f64> {
        let estimate = self.comparison.ratio?.estimate;
        Some(match self.responses {
            None => 1.0 - estimate,
            Some(_) => estimate - 1.0,
        })
    }

    /// Returns the compared figures: the response times of the repeats if there are any, else the
    /// rates.
    pub fn compared(&self) -> (&[f64], &[f64]) {
        match &self.responses {
            None => (&self.first_per_s, &self.second_per_s),
            Some(times) => (&times.first_p99_ns, &times.second_p99_ns),
        }
    }

    /// Compares the figures as one of `comparisons` that are read together.
    fn comparison_among(&self, comparisons: usize) -> Comparison {
        let (first, second) = self.compared();
        let paired = self.comparison.paired;
        match self.responses {
            None => compare_among(first, second, paired, comparisons),
            Some(_) => fixed_rate::of_times(first, second, paired, comparisons),
        }
    }

    /// Whether the second looks slower by more than `part`, as one of `results` that are read
    /// together: see [`looks_slower`].
    #[must_use]
    pub fn looks_slower_by(&self, part: f64, results: usize) -> bool {
        let level = suspicion_level(results);
        let paired = self.comparison.paired;
        let (first, second) = self.compared();
        match self.responses {
            None => looks_slower(first, second, paired, part, level),
            // A time that is longer by a part is a speed that is lower by this.
            Some(_) => looks_slower(second, first, paired, part / (1.0 + part), level),
        }
    }

    /// The largest loss, as a share of the first's rate or response time, that the repeats cannot
    /// rule out, if the interval contains `part` without lying wholly beyond it. `None` if they can
    /// rule it out, or if there is no interval.
    #[must_use]
    pub fn undetected_loss(&self, part: f64) -> Option<f64> {
        let ratio = self.comparison.ratio?;
        let loss = match self.responses {
            None => 1.0 - ratio.low,
            Some(_) => ratio.high - 1.0,
        };
        (loss > part && self.slower_by(part) == Some(false)).then_some(loss)
    }
}

/// Response times of two open loops at one rate: of each the kind of unit that its users waited
/// longest for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Responses {
    /// The offered rate of both sides, per second.
    pub rate_per_s: f64,
    /// The first side's kind.
    pub first_kind: String,
    /// The second side's kind.
    pub second_kind: String,
    /// The first side's 99th percentile of response time, nanoseconds, of each repeat.
    pub first_p99_ns: Vec<f64>,
    /// The second side's.
    pub second_p99_ns: Vec<f64>,
}

/// A figure that is shown with the rates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideFigure {
    /// The figure's name.
    #[serde(rename = "what")]
    pub subject: &'static str,
    /// Its unit: `ns` or `bytes`.
    pub unit: &'static str,
    /// The first side's median.
    pub first: f64,
    /// The second side's median.
    pub second: f64,
}

/// Sets the first side against each of the others. All results are read together.
///
/// # Errors
/// [`Error::NotComparable`] if no cell of one side may be compared with one of the other,
/// [`Error::NoSuchTrial`] if no trial of a side counts, [`Error::Ambiguous`] if a word matches
/// several contenders of one run, [`Error::Itself`] if two sides are the same.
pub fn compare_sides(first: &Side, others: &[Side]) -> Result<Vec<SideComparison>, Error> {
    require_different(first, others)?;
    let mut count = 0;
    for other in others {
        count += match_cells(first, other)?.pairs.len();
    }
    let compared = others.iter().map(|other| two_sides(first, other, count));
    let mut compared: Vec<SideComparison> = compared.collect::<Result<_, _>>()?;
    let results: Vec<_> = compared.iter().flat_map(|it| &it.results).collect();
    let comparisons = compare_together(count, |place, left| {
        Some(results.get(place)?.comparison_among(left))
    });
    let mut comparisons = comparisons.into_iter().flatten();
    for one in &mut compared {
        let floor = one.floor();
        for result in &mut one.results {
            if let Some(comparison) = comparisons.next() {
                result.judge(comparison, floor);
            }
        }
    }
    Ok(compared)
}

/// Refuses words that could mean several contenders of one run, and sides that are the same.
fn require_different(first: &Side, others: &[Side]) -> Result<(), Error> {
    let sides: Vec<&Side> = std::iter::once(first).chain(others).collect();
    for (index, one) in sides.iter().enumerate() {
        for other in &sides[index + 1..] {
            if !same_folder(one, other) {
                continue;
            }
            one.require_one_contender()?;
            other.require_one_contender()?;
            if one.ids() == other.ids() {
                return Err(same_contender_error(one, other, one.contenders()));
            }
        }
    }
    Ok(())
}

fn same_contender_error(first: &Side, second: &Side, contender: String) -> Error {
    Error::Itself {
        first: first.label.clone(),
        second: second.label.clone(),
        contender,
    }
}

/// Sets two sides against each other; `comparisons` results will be read together.
fn two_sides(first: &Side, second: &Side, comparisons: usize) -> Result<SideComparison, Error> {
    let CellPairs {
        pairs,
        only_first,
        only_second,
        incomparable,
    } = match_cells(first, second)?;
    let one_run = same_folder(first, second);
    if let Some((cell, _)) = pairs.iter().find(|pair| one_run && are_same_trials(pair)) {
        return Err(same_contender_error(first, second, cell.name.clone()));
    }
    let mut uncounted = first.uncounted();
    let mut others = second.uncounted();
    others.retain(|record| !uncounted.contains(record));
    uncounted.extend(others);
    Ok(SideComparison {
        first: facts(first),
        second: facts(second),
        one_run,
        level: claim_level(comparisons),
        changes: changes::between_runs(first, second),
        limits: common::limits_of_sides(first, second, one_run),
        results: pairs
            .iter()
            .map(|(one, other)| {
                let mut broken = second.broken(other.spec);
                broken.extend(lost_rate(one, other));
                let result = result(one, other, broken, one_run, comparisons);
                let decided = one_run.then(|| decided(first, one, other)).flatten();
                CellResult { decided, ..result }
            })
            .collect(),
        incomparable,
        only_first: unmatched(&only_first),
        only_second: unmatched(&only_second),
        uncounted,
    })
}

/// The comparison of two cells by the decision of their run, and the reason if it is inconclusive.
fn decided(
    side: &Side,
    first: &SideCell<'_>,
    second: &SideCell<'_>,
) -> Option<(Comparison, Option<InconclusiveReason>)> {
    let Run {
        manifest, trials, ..
    } = &side.report;
    manifest.decision()?;
    let rankings = rankings(manifest, trials);
    let mut decisions = rankings.iter().filter_map(|it| it.decision.as_ref());
    decisions.find_map(|it| it.between(first.spec.cell, second.spec.cell))
}

fn unmatched(cells: &[SideCell<'_>]) -> Vec<UnmatchedCell> {
    let unmatched = cells.iter().map(|cell| UnmatchedCell {
        contender: cell.marked(),
        workload: cell.spec.workload.clone(),
        durability: cell.spec.durability,
        workers: cell.spec.workers,
    });
    unmatched.collect()
}

/// A failure of the second side to keep a rate that the first kept.
fn lost_rate(first: &SideCell<'_>, second: &SideCell<'_>) -> Option<BrokenResult> {
    let rate_per_s = fixed_rate::common(first.trials.iter().chain(&second.trials).copied())?;
    (first.kept_rate() && !second.kept_rate()).then(|| BrokenResult::LostRate {
        contender: second.marked(),
        rate_per_s,
    })
}

/// Whether two cells of one run are the same trials.
fn are_same_trials((one, other): &(SideCell<'_>, SideCell<'_>)) -> bool {
    let ids = |cell: &SideCell<'_>| -> Vec<String> {
        let trials = cell.trials.iter();
        trials.map(|trial| trial.spec.id.clone()).collect()
    };
    ids(one) == ids(other)
}

fn same_folder(first: &Side, second: &Side) -> bool {
    let real = |side: &Side| {
        // A bundle that is opened twice is unpacked to different folders, so folders cannot be
        // compared.
        let folder = &side.report.shown_as;
        folder.canonicalize().unwrap_or_else(|_| folder.clone())
    };
    real(first) == real(second)
}

fn facts(side: &Side) -> SideFacts {
    SideFacts {
        label: side.label.clone(),
        folder: side.report.shown_as.display().to_string(),
        name: side.report.manifest.name.clone(),
        started_at: side.report.manifest.started_at.clone(),
        noise: disturbance::of_run(&side.report),
    }
}

fn result(
    first: &SideCell<'_>,
    second: &SideCell<'_>,
    second_broken: Vec<BrokenResult>,
    one_run: bool,
    comparisons: usize,
) -> CellResult {
    let rates = |cell: &SideCell<'_>| -> ByRepeat {
        let trials = cell.trials.iter();
        trials
            .filter_map(|trial| Some((trial.spec.repeat, rate(trial, &cell.headline)?)))
            .collect()
    };
    let in_pairs = one_run.then(|| pairs(first, second, rates)).flatten();
    let (paired, responses) = match responses(first, second, one_run) {
        None => (in_pairs.is_some(), None),
        Some((paired, responses)) => (paired, Some(responses)),
    };
    let (first_per_s, second_per_s) = in_pairs.unwrap_or_else(|| (first.rates(), second.rates()));
    let mut result = CellResult {
        workload: first.spec.workload.clone(),
        settings: first.spec.settings.clone(),
        workers: first.spec.workers,
        durability: first.spec.durability,
        first: first.name.clone(),
        second: second.name.clone(),
        first_marks: first.marks(),
        second_marks: second.marks(),
        headline: first.headline.clone(),
        responses,
        comparison: compare_among(&first_per_s, &second_per_s, paired, comparisons),
        inconclusive: None,
        repeats_needed: None,
        first_per_s,
        second_per_s,
        second_broken,
        same_library: common::same_library(first, second),
        changes: changes::between_cells(first, second),
        other_figures: other_figures(first, second),
        decided: None,
    };
    result.comparison.paired = paired;
    result.comparison = result.comparison_among(comparisons);
    result
}

/// A figure of each repeat.
type ByRepeat = BTreeMap<u32, f64>;

/// The response times of two open loops that kept the same rate, and whether they are paired;
/// `None` for others.
fn responses(
    first: &SideCell<'_>,
    second: &SideCell<'_>,
    one_run: bool,
) -> Option<(bool, Responses)> {
    let both: Vec<_> = first.trials.iter().chain(&second.trials).copied().collect();
    let rate_per_s = fixed_rate::common(both.iter().copied())?;
    if !first.kept_rate() || !second.kept_rate() {
        return None;
    }
    let (first_kind, ours) = fixed_rate::worst_times(&first.trials, &both)?;
    let (second_kind, theirs) = fixed_rate::worst_times(&second.trials, &both)?;
    let times = |cell: &SideCell<'_>| -> ByRepeat {
        fixed_rate::worst_times(&cell.trials, &both).map_or_else(ByRepeat::new, |it| it.1)
    };
    let in_pairs = one_run.then(|| pairs(first, second, times)).flatten();
    let paired = in_pairs.is_some();
    let apart = || (ours.into_values().collect(), theirs.into_values().collect());
    let (first_p99_ns, second_p99_ns) = in_pairs.unwrap_or_else(apart);
    let responses = Responses {
        rate_per_s,
        first_kind,
        second_kind,
        first_p99_ns,
        second_p99_ns,
    };
    Some((paired, responses))
}

/// A figure of the repeats that count on both sides, in pairs; `None` if repeats cannot be
/// distinguished or fewer than three pairs are left.
fn pairs(
    first: &SideCell<'_>,
    second: &SideCell<'_>,
    figure: impl Fn(&SideCell<'_>) -> ByRepeat,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let by_repeat = |cell: &SideCell<'_>| {
        let figures = figure(cell);
        (figures.len() == cell.trials.len()).then_some(figures)
    };
    let (ours, theirs) = (by_repeat(first)?, by_repeat(second)?);
    let both: Vec<(f64, f64)> = ours
        .iter()
        .filter_map(|(repeat, figure)| Some((*figure, *theirs.get(repeat)?)))
        .collect();
    (both.len() >= 3).then(|| both.into_iter().unzip())
}

fn other_figures(first: &SideCell<'_>, second: &SideCell<'_>) -> Vec<SideFigure> {
    type FigureSource = (
        &'static str,
        &'static str,
        fn(&Measurement, &str) -> Option<f64>,
    );
    let figures: [FigureSource; 6] = [
        ("service p50", "ns", |m, kind| {
            time_limits(m, kind, |l| l.p50_ns)
        }),
        ("service p99", "ns", |m, kind| {
            time_limits(m, kind, |l| l.p99_ns)
        }),
        ("worst response p99", "ns", |m, _| {
            let open = m.open_loop.as_ref()?;
            let times = open.responses.iter().filter(|response| response.count > 0);
            Some(times.map(|response| response.latency.p99_ns).max()? as f64)
        }),
        ("CPU/operation", "ns", |m, _| {
            crate::cells::cpu_ns_per_operation(m)
        }),
        ("database", "bytes", |m, _| {
            Some(m.database.allocated_bytes as f64)
        }),
        ("peak PSS", "bytes", |m, _| {
            Some(m.resources.peak_pss_bytes as f64)
        }),
    ];
    let of = |cell: &SideCell<'_>, figure: fn(&Measurement, &str) -> Option<f64>| {
        let measured = cell
            .trials
            .iter()
            .filter_map(|trial: &&TrialRecord| figure(trial.measurement.as_ref()?, &cell.headline));
        median(measured).filter(|value| *value > 0.0)
    };
    let both = figures.into_iter().filter_map(|(subject, unit, figure)| {
        Some(SideFigure {
            subject,
            unit,
            first: of(first, figure)?,
            second: of(second, figure)?,
        })
    });
    both.collect()
}

fn time_limits(
    measurement: &Measurement,
    kind: &str,
    figure: fn(&trueput_record::measurement::LatencySummary) -> u64,
) -> Option<f64> {
    let latency = &measurement.operation(kind)?.latency;
    latency.is_measured().then(|| figure(latency) as f64)
}
