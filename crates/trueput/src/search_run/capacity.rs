//! A new search for capacities: its contenders, its settings and its run.

use super::{objective, refuse_rate, too_short};
use crate::failure::Failure;
use crate::prepared_run::PreparedRun;
use crate::run_request::RunRequest;
use trueput_record::objective::Objective;
use trueput_record::search::{CapacitySettings, SearchSettings, TuningLimits};
use trueput_runner::matrix::fit_caches;
use trueput_tuner::capacity;

/// A question that a search for capacities answers.
pub struct CapacityQuestion<'a> {
    /// What must hold; the plan's if `None`.
    pub objective: Option<&'a Objective>,
    /// Time for all contenders, seconds; enough for each if `None`.
    pub budget_s: Option<f64>,
    /// The precision of a capacity, as a part of it.
    pub precision: f64,
}

/// Makes the run of a search for capacities.
///
/// # Errors
/// A usage error for an invalid plan, objective or budget.
pub fn create<'a>(
    question: &CapacityQuestion<'_>,
    mut request: RunRequest<'a>,
) -> Result<PreparedRun<'a>, Failure> {
    let target = request.target;
    let reason = if request.given.overrides.conditions.is_given("rate") {
        "capacity finds the rate itself: leave out --rate".to_owned()
    } else {
        format!("'{target}' gives a rate, which capacity finds: leave it out by --rate 0")
    };
    refuse_rate(&request.plan, &reason)?;
    let objective = objective(question.objective, &request, "p99<5ms")?;
    let arrival = std::mem::take(&mut request.plan.conditions.arrival);
    let matrix = request.expand()?;
    let time_slice = request.plan.conditions.time_slice;
    let mut trials = capacity::contenders(matrix.trials, time_slice);
    let fitted_caches = fit_caches(&mut trials, request.registry);
    let budget_s = capacity::budget_s(question.budget_s, &trials);
    let settings = CapacitySettings {
        objective,
        precision: question.precision,
        budget_s: budget_s.map_err(|it| too_short(it, trials.len(), ""))?,
        arrival,
        limits: TuningLimits::default(),
        fitted_caches,
    };
    let open = capacity::open_loops(&trials, arrival);
    trueput_runner::check_proposals(&open, &request.options, request.registry)?;
    let search = SearchSettings::Capacity(settings);
    request.create(trials, matrix.skipped, Some(search))
}
