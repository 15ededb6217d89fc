//! A new choice: its contenders, its settings and its run.

use super::limits::Limits;
use super::{
    ContenderDifference, check_presets, describe_differences, objective, only_contender, too_short,
};
use crate::failure::Failure;
use crate::prepared_run::PreparedRun;
use crate::resumed::{self, FolderChecks};
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use std::path::Path;
use trueput_findings::eligibility::HARNESS_ENGINE;
use trueput_host::{count_cores, read_memory_bytes};
use trueput_record::TrialSpec;
use trueput_record::conditions::Arrival;
use trueput_record::objective::Objective;
use trueput_record::plan::{PlanFile, UnsupportedPolicy};
use trueput_record::search::{
    CapacitySettings, ChoiceSettings, ContenderPresets, SearchSettings, SearchedKnob, TuningLimits,
    TuningScore, TuningSettings, TuningStrategy,
};
use trueput_record::skipped::SkippedPart;
use trueput_runner::Registry;
use trueput_runner::matrix::fit_caches;
use trueput_tuner::capacity;
use trueput_tuner::choice::{self, MIN_TUNING_TRIALS, TuningPolicy};
use trueput_tuner::tuning::{SearchSpace, searched_knobs};

/// The precision of a capacity, as a part of it.
pub const DEFAULT_PRECISION: f64 = 0.1;

/// A question that a choice answers.
pub struct ChoiceQuestion<'a> {
    /// What must hold; the plan's if `None`.
    pub objective: Option<&'a Objective>,
    /// Time for everything, seconds; enough for each contender if `None`.
    pub budget_s: Option<f64>,
    /// The precision of a capacity, as a part of it.
    pub precision: f64,
    /// How knobs are tuned; `None` if they are not.
    pub tuning: Option<KnobSearch<'a>>,
}

impl ChoiceQuestion<'_> {
    /// The time for the choice, seconds.
    fn budget_s(&self, trials: &[TrialSpec]) -> Result<f64, Failure> {
        let (tuning, or_else) = match &self.tuning {
            None => (TuningPolicy::Never, ""),
            Some(tuning) if tuning.named_knobs.is_some() => (TuningPolicy::Required, ""),
            Some(_) => (TuningPolicy::Possible, ", or --no-tuning"),
        };
        let budget_s = choice::budget_s(self.budget_s, tuning, trials);
        budget_s.map_err(|shortage| too_short(shortage, trials.len(), or_else))
    }
}

/// How the knobs of a choice's contenders are tuned.
pub struct KnobSearch<'a> {
    /// The limits that a configuration must keep.
    pub limits: Limits,
    /// How configurations are proposed.
    pub strategy: TuningStrategy,
    /// Whether searches begin with published advice.
    pub has_presets: bool,
    /// The knobs to search of the only contender; `None` if there may be several contenders, each
    /// with all its knobs that the plan does not give.
    pub named_knobs: Option<&'a [String]>,
}

impl KnobSearch<'_> {
    /// The settings that each contender's search starts from.
    fn settings(
        &self,
        seed: u64,
        budget_s: f64,
        trials: &[TrialSpec],
        registry: &Registry,
    ) -> Result<TuningSettings, Failure> {
        let searched = match (self.named_knobs, trials) {
            (Some(knobs), [only]) => self.searched(knobs, only, registry)?,
            _ => Vec::new(),
        };
        Ok(TuningSettings {
            score: TuningScore::Rate,
            limits: self.limits.values,
            trials: MIN_TUNING_TRIALS,
            seed,
            budget_s,
            presets: Vec::new(),
            searched,
            strategy: self.strategy,
        })
    }

    /// The published advice for each contender that has some.
    fn presets(
        &self,
        settings: &ChoiceSettings,
        trials: &[TrialSpec],
        registry: &Registry,
    ) -> Result<Vec<ContenderPresets>, Failure> {
        let searched = settings.tuning.as_ref().map(|it| &*it.searched);
        let mut all = Vec::new();
        for spec in trials {
            let engine = registry.engine(&spec.engine).map_err(Failure::usage)?;
            let space = SearchSpace {
                engine,
                first: spec,
                window_s: self.limits.values.window_s,
                memory_bytes: read_memory_bytes(),
                searched: searched.unwrap_or_default(),
            };
            // One without knobs to search is not tuned, and has no presets.
            let found = space.presets(count_cores()).unwrap_or_default();
            let presets = self.strategy.presets(found, self.has_presets);
            check_presets(self.strategy, &presets, spec)?;
            let contender = spec.role.map_or(0, |role| role.contender);
            if !presets.is_empty() {
                all.push(ContenderPresets { contender, presets });
            }
        }
        Ok(all)
    }

    /// The knobs to search of the only contender.
    fn searched(
        &self,
        knobs: &[String],
        only: &TrialSpec,
        registry: &Registry,
    ) -> Result<Vec<SearchedKnob>, Failure> {
        let engine = registry.engine(&only.engine).map_err(Failure::usage)?;
        let searched = searched_knobs(knobs, engine, only).map_err(Failure::usage)?;
        let space = SearchSpace {
            engine,
            first: only,
            window_s: self.limits.values.window_s,
            memory_bytes: read_memory_bytes(),
            searched: &searched,
        };
        // Refuses a space without knobs, before a run folder is made.
        space.space().map_err(Failure::usage)?;
        Ok(searched)
    }
}

/// Makes the run of a choice.
///
/// # Errors
/// A usage error for an invalid plan, objective or budget.
pub fn create<'a>(
    question: &ChoiceQuestion<'_>,
    mut request: RunRequest<'a>,
) -> Result<PreparedRun<'a>, Failure> {
    let (target, registry) = (request.target, request.registry);
    let plan = &mut request.plan;
    let tuning = question.tuning.as_ref();
    let limits = tuning.map_or_else(Limits::default, |tuning| tuning.limits);
    plan.conditions.crash_and_recover |= limits.values.recovery_s.is_some();
    let needed_per_s = needed_rate_per_s(plan, target)?;
    let arrival = std::mem::take(&mut plan.conditions.arrival);
    let has_one = tuning.is_some_and(|tuning| tuning.named_knobs.is_some());
    if !has_one {
        plan.unsupported = UnsupportedPolicy::Skip;
    }
    let mut matrix = request.expand()?;
    // The null engine stores nothing: it measures the bench itself.
    matrix.trials.retain(|spec| spec.engine != HARNESS_ENGINE);
    limits.check_levels(matrix.trials.iter().map(|spec| spec.durability))?;
    if has_one {
        only_contender(&matrix.trials, target)?;
    }
    let trials = capacity::contenders(matrix.trials, request.plan.conditions.time_slice);
    let mut trials = one_question(trials, target)?;
    let fitted_caches = fit_caches(&mut trials, registry);
    let mut settings = settings(question, &request, arrival, needed_per_s, &trials)?;
    settings.capacity.fitted_caches = fitted_caches;
    if let Some(tuning) = tuning {
        settings.presets = tuning.presets(&settings, &trials, registry)?;
    }
    let open = capacity::open_loops(&trials, arrival);
    trueput_runner::check_proposals(&open, &request.options, registry)?;
    if !has_one {
        matrix
            .skipped
            .extend(opt_in_engines(&request.plan, registry).map(SkippedPart::from));
    }
    let search = SearchSettings::Choice(settings);
    let mut run = request.create(trials, matrix.skipped, Some(search))?;
    let engines = registry.engines_of(&run.manifest.trials);
    let untunable = choice::untunable(&run.manifest, &engines);
    if let Some(SearchSettings::Choice(settings)) = &mut run.manifest.search {
        settings.untunable = untunable;
    }
    run.folder.extend(&run.manifest)?;
    Ok(run)
}

fn settings(
    question: &ChoiceQuestion<'_>,
    request: &RunRequest<'_>,
    arrival: Arrival,
    needed_per_s: Option<f64>,
    trials: &[TrialSpec],
) -> Result<ChoiceSettings, Failure> {
    let tuning = question.tuning.as_ref();
    let is_tuned = tuning.is_some();
    let must_tune = tuning.is_some_and(|tuning| tuning.named_knobs.is_some());
    let budget_s = question.budget_s(trials)?;
    let example = if must_tune {
        "capacity@p99<5ms"
    } else {
        "p99<5ms"
    };
    let (seed, registry) = (request.plan.seed, request.registry);
    let limits = tuning.map_or_else(TuningLimits::default, |tuning| tuning.limits.values);
    let tuning = tuning.map(|tuning| tuning.settings(seed, budget_s, trials, registry));
    Ok(ChoiceSettings {
        capacity: CapacitySettings {
            objective: objective(question.objective, request, example)?,
            precision: question.precision,
            budget_s: budget_s * choice::default_part(is_tuned),
            arrival,
            limits,
            fitted_caches: Vec::new(),
        },
        tuning: tuning.transpose()?,
        untunable: Vec::new(),
        presets: Vec::new(),
        needed_per_s,
        budget_s,
    })
}

/// Takes the rate out of a plan: it is what the user needs.
fn needed_rate_per_s(plan: &mut PlanFile, target: &str) -> Result<Option<f64>, Failure> {
    let rates = std::mem::take(&mut plan.conditions.rate_per_s);
    let mut rates = rates.into_iter().filter(|&rate_per_s| rate_per_s > 0.0);
    match (rates.next(), rates.next()) {
        (needed, None) => Ok(needed),
        _ => Err(Failure::usage(format!(
            "'{target}' gives several rates: give the one that you need, or none"
        ))),
    }
}

/// Refuses contenders that answer different questions.
fn one_question(trials: Vec<TrialSpec>, target: &str) -> Result<Vec<TrialSpec>, Failure> {
    let question = |spec: &TrialSpec| {
        let (settings, mut conditions) = (spec.settings.clone(), spec.conditions.clone());
        // Who can share time slices depends on the contender.
        conditions.time_slice_s = None;
        (spec.durability, spec.workers, settings, conditions)
    };
    let mut others = trials.iter().skip(1);
    let first = trials.first().map(question);
    if trials.is_empty() {
        return Err(Failure::usage(format!(
            "'{target}' has no engine that stores data"
        )));
    }
    if others.any(|spec| Some(question(spec)) != first) {
        let instead = describe_differences(&trials, ContenderDifference::Questions)
            .unwrap_or_else(|| "give one value of each setting and condition".to_owned());
        return Err(Failure::usage(format!(
            "'{target}' expands to several comparisons; choose takes one: {instead}"
        )));
    }
    Ok(trials)
}

/// The engines that no plan includes without being asked for them by name.
fn opt_in_engines(plan: &PlanFile, registry: &Registry) -> Option<String> {
    let is_named = |name: &str| plan.engines.iter().any(|named| named.engine == name);
    let engines = registry.engines.iter().filter(|it| !it.is_default_engine());
    let names = engines.map(|engine| engine.info().name);
    let names: Vec<_> = names.filter(|name| !is_named(name)).collect();
    let (last, others) = names.split_last()?;
    let names = match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("{names}: only if the plan names them"))
}

/// Opens a search to resume, as [`resumed::open`]. If it is a choice that has not begun to tune,
/// the time for tuning is a part of the new budget.
///
/// # Errors
/// As [`resumed::open`].
pub fn open<'a>(
    path: &Path,
    budget_s: Option<f64>,
    given: &'a RunOptions,
    checks: FolderChecks,
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let mut run = resumed::open(path, budget_s, given, checks, registry)?;
    let lock = run.folder.lock()?;
    let trials = run.folder.trials()?.trials;
    if let Some(SearchSettings::Choice(settings)) = &mut run.manifest.search
        && choice::renew_tuning_time(settings, &trials)
    {
        run.folder.extend(&run.manifest)?;
    }
    drop(lock);
    Ok(run)
}
