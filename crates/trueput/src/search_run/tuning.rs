//! A new search for knobs: its contender, its settings and its run.

use super::choice::KnobSearch;
use super::{at_least, check_presets, only_contender, refuse_own_times, refuse_rate};
use crate::failure::Failure;
use crate::prepared_run::PreparedRun;
use crate::run_request::RunRequest;
use trueput_host::{count_cores, read_memory_bytes};
use trueput_record::TrialSpec;
use trueput_record::search::{
    SearchSettings, TrialPurpose, TrialRole, TuningScore, TuningSettings,
};
use trueput_record::value::format_seconds;
use trueput_runner::Registry;
use trueput_tuner::budget::BudgetShortage;
use trueput_tuner::rounds::MIN_TRIALS;
use trueput_tuner::tuning::{SearchSpace, affordable_trials, searched_knobs};

/// A question that a search for knobs answers.
pub struct TuningQuestion<'a> {
    /// The rate at which the 99th percentile is to be low, per second; `None` if the rate is to be
    /// high.
    pub p99_at_per_s: Option<f64>,
    /// The search for knobs.
    pub knobs: KnobSearch<'a>,
    /// The time, seconds.
    pub budget_s: f64,
}

/// Makes the run of a search for knobs.
///
/// # Errors
/// A usage error for an invalid plan, limit, knob or budget.
pub fn create<'a>(
    question: &TuningQuestion<'_>,
    mut request: RunRequest<'a>,
) -> Result<PreparedRun<'a>, Failure> {
    let (target, registry) = (request.target, request.registry);
    let reason = format!("'{target}' gives a rate; give --objective p99@RATE instead");
    refuse_rate(&request.plan, &reason)?;
    let limits = question.knobs.limits;
    let conditions = &mut request.plan.conditions;
    conditions.rate_per_s = question.p99_at_per_s.into_iter().collect();
    conditions.crash_and_recover |= limits.values.recovery_s.is_some();
    let matrix = request.expand()?;
    let mut trials = matrix.trials;
    limits.check_levels(trials.iter().map(|spec| spec.durability))?;
    only_contender(&trials, target)?;
    refuse_own_times(&trials[0], target, registry)?;
    let first = &mut trials[0];
    first.role = Some(TrialRole {
        contender: 0,
        purpose: TrialPurpose::Tuning,
        configuration: Some(0),
    });
    let settings = settings(question, request.plan.seed, first, registry)?;
    let search = SearchSettings::Tuning(settings);
    request.create(trials, matrix.skipped, Some(search))
}

fn settings(
    question: &TuningQuestion<'_>,
    seed: u64,
    first: &TrialSpec,
    registry: &Registry,
) -> Result<TuningSettings, Failure> {
    let TuningQuestion {
        p99_at_per_s,
        knobs,
        budget_s,
    } = question;
    let engine = registry.engine(&first.engine).map_err(Failure::usage)?;
    let limits = knobs.limits.values;
    let named = knobs.named_knobs.unwrap_or_default();
    let searched = searched_knobs(named, engine, first).map_err(Failure::usage)?;
    let space = SearchSpace {
        engine,
        first,
        window_s: limits.window_s,
        memory_bytes: read_memory_bytes(),
        searched: &searched,
    };
    // Also refuses a space without knobs, before a run folder is made.
    let presets = space.presets(count_cores()).map_err(Failure::usage)?;
    let presets = knobs.strategy.presets(presets, knobs.has_presets);
    check_presets(knobs.strategy, &presets, first)?;
    let score = match p99_at_per_s {
        Some(_) => TuningScore::P99,
        None => TuningScore::Rate,
    };
    Ok(TuningSettings {
        score,
        limits,
        trials: affordable_trials(*budget_s, first).map_err(shortage)?,
        seed,
        budget_s: *budget_s,
        presets,
        searched,
        strategy: knobs.strategy,
    })
}

fn shortage(found: BudgetShortage) -> Failure {
    Failure::usage(format!(
        "a budget of {} is too short: {MIN_TRIALS} trials are the fewest that can show a \
         difference; give {} or more, or a shorter --duration",
        format_seconds(found.given_s),
        at_least(found.least_s)
    ))
}
