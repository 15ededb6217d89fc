//! Ablation: the gain and the cost of each step of a plan.
//!
//! An ablation is not a ranking. Its rows may promise different things; a faster row shows the
//! price of a difference in promise, memory or realism.

mod cost;

pub use cost::{StepCost, describe_window};

use crate::Run;
use crate::cells::cache_hit_ratio;
use crate::contender::ContenderNames;
use crate::eligibility::{Ineligibility, LastAttempts, UnrankedStatus, headline, ineligibility};
use crate::over_time::counted;
use crate::published::{ParameterChange, changes, transactions_per_minute};
use crate::statistics::{Comparison, Summary, compare_among, median};
use crate::text::serialize_as_text;
use crate::units::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::ablation::{AblationKind, AblationStep};
use trueput_record::measurement::Measurement;
use trueput_record::skipped::{STEP_WITHOUT_EFFECT, step_reason};
use trueput_record::{Durability, Survival, TrialRecord, TrialSpec};

/// The steps of one base.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ablation {
    /// The contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// Workers of the base.
    pub workers: u32,
    /// The row that each step changes: the base, or the step before.
    pub kind: AblationKind,
    /// The unit of the rates: `transactions/min`, `updates/s`.
    pub unit: String,
    /// The base and the steps, in the plan's order.
    pub rows: Vec<StepRow>,
}

/// A step, or the base.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepRow {
    /// Number of the step, from 1; 0 is the base.
    pub index: u32,
    /// Its name in the plan.
    pub name: String,
    /// Whether it was measured, and if not, the reason.
    pub state: StepState,
    /// The level that commits promised.
    pub durability: Option<Durability>,
    /// The parameters that it changes, compared with the row that it is based on.
    pub changes: Vec<ParameterChange>,
    /// The figures; `None` if no trial of it counts.
    pub figures: Option<StepFigures>,
    /// Its gain over the last step before it with a trial that counts; `None` for the base.
    pub over_before: Option<Gain>,
    /// Its gain over the base; `None` for the base.
    pub over_base: Option<Gain>,
    /// Its costs, compared with the row that it is based on.
    pub costs: Vec<StepCost>,
}

/// Whether a step was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// It was measured.
    Measured,
    /// It was not measured.
    NotTaken {
        /// Why not.
        #[serde(rename = "why")]
        reason: SkippedStep,
    },
    /// It was to be measured, and no trial of it counts.
    Uncounted {
        /// Why its last trial does not count.
        #[serde(rename = "why")]
        reason: UncountedStep,
    },
}

/// Why a step was not measured. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkippedStep {
    /// It changes nothing for this engine.
    #[error("{STEP_WITHOUT_EFFECT}")]
    WithoutEffect,
    /// The engine or the machine cannot take it, as the runner says.
    #[error("{0}")]
    Unavailable(String),
    /// The run does not have it.
    #[error("not part of this run")]
    NotInRun,
}

/// Why no trial of a step counts. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UncountedStep {
    /// Its last trial does not count.
    #[error("{status}: {0}", status = .0.status())]
    Ineligible(Ineligibility),
    /// Its last trial committed no transaction.
    #[error("it committed no transaction")]
    NoTransaction,
    /// It has no trial yet.
    #[error("not run yet")]
    NotRun,
}

serialize_as_text!(SkippedStep, UncountedStep);

/// Medians over the trials of a row that count.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepFigures {
    /// The rate, in the ablation's unit.
    pub rate: Summary,
    /// New-orders per minute, of the workload `tpcc`.
    pub new_orders_per_minute: Option<f64>,
    /// Until the database was open again after the crash, seconds; `None` if there was none.
    pub recovery_s: Option<f64>,
    /// Until the first transaction had been committed after it, seconds.
    pub first_commit_s: Option<f64>,
    /// The largest number of acknowledged commits missing after a crash; `None` if not counted.
    pub missing: Option<f64>,
    /// Peak memory, bytes.
    pub peak_memory_bytes: f64,
    /// The database on disk, bytes.
    pub database_bytes: f64,
    /// Hit ratio of the engine's own cache in the interval, 0 to 1; `None` if the engine does not
    /// report it.
    pub cache_hit_ratio: Option<f64>,
    /// Engine events in the interval of the first trial, by kind; `None` if the engine does not
    /// report events.
    pub events: Option<BTreeMap<String, u64>>,
}

/// A rate over another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// The mean ratio of the repeats in pairs, which the interval belongs to; for fewer than three
    /// the ratio of the medians.
    pub ratio: f64,
    /// Whether that is a difference, and its interval.
    pub comparison: Comparison,
}

/// Every ablation of a report, in the plan's order.
#[must_use]
pub fn ablations(report: &Run) -> Vec<Ablation> {
    let mut bases: Vec<(&TrialSpec, &AblationStep)> = Vec::new();
    for spec in &report.manifest.trials {
        let Some(step) = &spec.step else { continue };
        if step.index == 0 && !bases.iter().any(|(_, known)| known.base == step.base) {
            bases.push((spec, step));
        }
    }
    let builder = Builder {
        report,
        comparisons: comparisons(report),
        steps: step_names(report),
    };
    bases
        .into_iter()
        .map(|(spec, step)| builder.ablation(spec, step))
        .collect()
}

/// Number of gains that are read together: one over the base per step, and in a cumulative ablation
/// one over the previous step. For its first step these two are the same.
fn comparisons(report: &Run) -> usize {
    let mut steps: BTreeMap<u32, (AblationKind, usize)> = BTreeMap::new();
    for (_, step) in cells(report).filter(|(_, step)| step.index > 0) {
        steps.entry(step.base).or_insert((step.ablation, 0)).1 += 1;
    }
    let gains = steps.values().map(|&(kind, count)| match kind {
        AblationKind::Cumulative => 2 * count - 1,
        AblationKind::OneAtATime => count,
    });
    gains.sum()
}

/// One trial of each cell that is of an ablation.
fn cells(report: &Run) -> impl Iterator<Item = (&TrialSpec, &AblationStep)> {
    let first = report
        .manifest
        .trials
        .iter()
        .filter(|spec| spec.repeat == 1);
    first.filter_map(|spec| Some((spec, spec.step.as_ref()?)))
}

/// The names of all steps that any contender took.
fn step_names(report: &Run) -> BTreeMap<u32, String> {
    let named = cells(report).map(|(_, step)| (step.index, step.name.clone()));
    named.collect()
}

struct Builder<'a> {
    report: &'a Run,
    comparisons: usize,
    steps: BTreeMap<u32, String>,
}

/// A measured row, with which later rows are compared.
struct StepTrials<'a> {
    spec: &'a TrialSpec,
    trials: Vec<&'a TrialRecord>,
    rates: BTreeMap<u32, f64>,
}

/// The rows that a row is compared with; both are `None` for the base.
struct Baselines<'a> {
    /// The row that the plan bases it on.
    based_on: Option<&'a StepTrials<'a>>,
    /// The last row before it with a trial that counts.
    before: Option<&'a StepTrials<'a>>,
    base: Option<&'a StepTrials<'a>>,
}

impl<'a> Builder<'a> {
    fn ablation(&self, base: &'a TrialSpec, step: &AblationStep) -> Ablation {
        let headline = self.headline(base);
        let mut rows: Vec<StepRow> = Vec::new();
        let mut earlier: Vec<StepTrials<'a>> = Vec::new();
        for (index, name) in &self.steps {
            let spec = cells(self.report)
                .find(|(_, other)| other.base == step.base && other.index == *index);
            let Some((spec, _)) = spec else {
                rows.push(self.not_taken(base, *index, name));
                continue;
            };
            let taken = self.step_trials(spec, &headline);
            let base = earlier.first();
            // Changes are listed against the row that the plan names, even if none of its trials
            // counts; a gain needs one that does.
            let (based_on, before) = match step.ablation {
                AblationKind::Cumulative => {
                    let counted = |step: &&StepTrials<'_>| !step.rates.is_empty();
                    (earlier.last(), earlier.iter().rev().find(counted))
                }
                AblationKind::OneAtATime => (base, base),
            };
            let over = Baselines {
                based_on,
                before,
                base,
            };
            rows.push(self.row(&taken, name, *index, &over, &headline));
            earlier.push(taken);
        }
        let trials: Vec<_> = self.report.trials.iter().collect();
        Ablation {
            contender: ContenderNames::of(&trials).build(base),
            workload: base.workload.clone(),
            workers: base.workers,
            kind: step.ablation,
            unit: self.unit(base, &headline),
            rows,
        }
    }

    fn headline(&self, base: &TrialSpec) -> String {
        let of_workload = |trial: &&TrialRecord| trial.spec.workload == base.workload;
        let trials: Vec<_> = self.report.trials.iter().filter(of_workload).collect();
        if trials.is_empty() {
            String::new()
        } else {
            headline(&self.report.manifest, &trials)
        }
    }

    fn unit(&self, base: &TrialSpec, headline: &str) -> String {
        if is_tpcc(base) {
            "transactions/min".to_owned()
        } else {
            format!("{}/s", plural(headline))
        }
    }

    fn step_trials(&self, spec: &'a TrialSpec, headline: &str) -> StepTrials<'a> {
        let trials = self.report.trials.iter();
        let of_cell = trials.filter(|trial| trial.spec.cell == spec.cell);
        let attempts = LastAttempts::of(&self.report.trials);
        let latest = of_cell.filter(|trial| !attempts.supersede(trial));
        let trials: Vec<_> = latest.collect();
        let counting = trials.iter().filter(|trial| counts(trial, headline));
        let rates = counting.filter_map(|trial| {
            let rate = rate(trial.measurement.as_ref()?, &trial.spec, headline)?;
            Some((trial.spec.repeat, rate))
        });
        StepTrials {
            rates: rates.collect(),
            spec,
            trials,
        }
    }

    fn row(
        &self,
        step: &StepTrials<'_>,
        name: &str,
        index: u32,
        over: &Baselines<'_>,
        headline: &str,
    ) -> StepRow {
        let gain = |over: Option<&StepTrials<'_>>| self.gain(over?, step);
        let figures = figures(step, headline);
        StepRow {
            index,
            name: name.to_owned(),
            state: match &figures {
                Some(_) => StepState::Measured,
                None => StepState::Uncounted {
                    reason: uncounted(step, headline),
                },
            },
            durability: Some(step.spec.durability),
            changes: over
                .based_on
                .map(|before| changes(before.spec, step.spec))
                .unwrap_or_default(),
            over_before: gain(over.before),
            over_base: gain(over.base),
            costs: over
                .based_on
                .map(|before| cost::of(self.report, before.spec, step.spec, &step.trials))
                .unwrap_or_default(),
            figures,
        }
    }

    fn not_taken(&self, base: &TrialSpec, index: u32, name: &str) -> StepRow {
        let contender = base.contender();
        let mut lines = self.report.manifest.skipped.iter();
        let reason = match lines.find_map(|line| step_reason(line, &contender, name)) {
            None => SkippedStep::NotInRun,
            Some(STEP_WITHOUT_EFFECT) => SkippedStep::WithoutEffect,
            Some(reason) => SkippedStep::Unavailable(reason.to_owned()),
        };
        StepRow {
            index,
            name: name.to_owned(),
            state: StepState::NotTaken { reason },
            durability: None,
            changes: Vec::new(),
            figures: None,
            over_before: None,
            over_base: None,
            costs: Vec::new(),
        }
    }

    /// The gain of a row over another, from the repeats that both have; `None` if they share none.
    fn gain(&self, before: &StepTrials<'_>, after: &StepTrials<'_>) -> Option<Gain> {
        let middle = |step: &StepTrials<'_>| median(step.rates.values().copied());
        let of_medians = middle(after)? / middle(before)?;
        let pairs = before.rates.iter();
        let pairs = pairs.filter_map(|(repeat, rate)| Some((*rate, *after.rates.get(repeat)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let comparison = compare_among(&first, &second, true, self.comparisons);
        let ratio = comparison.ratio.map_or(of_medians, |it| it.estimate);
        Some(Gain { ratio, comparison })
    }
}

fn is_tpcc(spec: &TrialSpec) -> bool {
    spec.workload == "tpcc"
}

/// The rate of a trial in its ablation's unit.
fn rate(measured: &Measurement, spec: &TrialSpec, headline: &str) -> Option<f64> {
    if is_tpcc(spec) {
        transactions_per_minute(measured)
    } else {
        measured.operation(headline).map(|kind| kind.per_s)
    }
}

/// The reason why a trial does not count; `None` if it does. A crashed trial at a level without a
/// promise has nothing to verify and counts, because an ablation has no ranking.
fn ineligible_step(trial: &TrialRecord, headline: &str) -> Option<Ineligibility> {
    let reason = ineligibility(trial, headline)?;
    let crashed = trial
        .measurement
        .as_ref()
        .is_some_and(|measured| measured.recovery.is_some());
    let unpromised = trial.spec.durability.after_killed_processes() == Survival::Nothing;
    let is_unverified = reason.status() == UnrankedStatus::Unverified;
    (!(is_unverified && crashed && unpromised)).then_some(reason)
}

fn counts(trial: &TrialRecord, headline: &str) -> bool {
    trial.measurement.is_some() && ineligible_step(trial, headline).is_none()
}

fn uncounted(step: &StepTrials<'_>, headline: &str) -> UncountedStep {
    match step.trials.last() {
        None => UncountedStep::NotRun,
        Some(trial) => match ineligible_step(trial, headline) {
            Some(reason) => UncountedStep::Ineligible(reason),
            None => UncountedStep::NoTransaction,
        },
    }
}

fn figures(step: &StepTrials<'_>, headline: &str) -> Option<StepFigures> {
    let counting: Vec<&Measurement> = step
        .trials
        .iter()
        .filter(|trial| counts(trial, headline))
        .filter_map(|trial| trial.measurement.as_ref())
        .collect();
    let middle = |of: &dyn Fn(&Measurement) -> Option<f64>| {
        median(counting.iter().filter_map(|measured| of(measured)))
    };
    let recovery = |of: fn(&trueput_record::recovery::Recovery) -> Option<f64>| {
        middle(&|measured| measured.recovery.as_ref().and_then(of))
    };
    let new_orders = |measured: &Measurement| {
        let orders = measured.operation("new-order")?;
        Some(orders.per_s * 60.0)
    };
    let missing = counting.iter().filter_map(|measured| missing(measured));
    Some(StepFigures {
        rate: Summary::of(step.rates.values().copied())?,
        new_orders_per_minute: middle(&new_orders),
        recovery_s: recovery(|recovery| Some(recovery.recovery_s)),
        first_commit_s: recovery(|recovery| recovery.first_commit_s),
        missing: missing.reduce(f64::max),
        peak_memory_bytes: middle(&|one| Some(one.resources.peak_pss_bytes as f64))?,
        database_bytes: middle(&|one| Some(one.database.allocated_bytes as f64))?,
        cache_hit_ratio: middle(&cache_hit_ratio),
        events: counting
            .first()
            .and_then(|measured| measured.events.as_deref())
            .map(counted),
    })
}

/// Records that a workload found missing after a crash although they were acknowledged.
fn missing(measured: &Measurement) -> Option<f64> {
    measured.recovery.as_ref()?;
    let counts = measured.results.iter();
    let counts = counts.filter(|(name, _)| name.starts_with("missing_"));
    let numbers = counts.filter_map(|(_, value)| value.to_string().parse::<f64>().ok());
    numbers.reduce(|sum, count| sum + count)
}
