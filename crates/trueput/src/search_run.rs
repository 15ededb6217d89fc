//! Shared parts of the commands that search: the plan that they start from, and a run to go on
//! with.

use crate::built_in_plans::plan_or_workload;
use crate::failure::Failure;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::repeats::parse_part;
use crate::trust::{ForeignCode, Trust};
use std::path::Path;
use trueput_record::objective::Objective;
use trueput_record::plan::PlanFile;
use trueput_record::value::format_seconds;
use trueput_record::{RunFolder, RunManifest, TrialSpec};
use trueput_runner::Registry;

/// The duration of a trial if neither the plan nor the command line gives one, seconds.
pub const USUAL_DURATION_S: f64 = 5.0;

/// The time that a trial takes beside its duration and warm-up, for estimates, seconds: opening,
/// verifying, and a part of the load. On two cores most engines need less for 100,000 records.
pub const OVERHEAD_S: f64 = 1.5;

/// Reads the plan, with the options of the command line, as one whose trials run once each.
///
/// # Errors
/// A usage error if it is no plan, cannot be trusted, or has steps.
pub fn read_plan(
    what: &str,
    overrides: &PlanOverrides,
    trust: Trust,
    registry: &Registry,
) -> Result<PlanFile, Failure> {
    let mut plan = plan_or_workload(what, registry)?;
    overrides.apply(&mut plan)?;
    trust.check_plan(what, &plan, overrides, registry)?;
    if !plan.steps.is_empty() {
        return Err(Failure::usage(format!(
            "'{what}' has steps; 'trueput ledger' runs them"
        )));
    }
    plan.repeat = 1;
    plan.conditions.duration_s.get_or_insert(USUAL_DURATION_S);
    Ok(plan)
}

/// Refuses a plan that gives a rate.
///
/// # Errors
/// A usage error; `instead` says what to do.
pub fn refuse_rate(plan: &PlanFile, what: &str, instead: &str) -> Result<(), Failure> {
    match plan.conditions.rate_per_s.iter().any(|&rate| rate > 0.0) {
        true => Err(Failure::usage(format!("'{what}' gives a rate; {instead}"))),
        false => Ok(()),
    }
}

/// The objective of the command line, or else the plan's.
///
/// # Errors
/// A usage error if neither states one.
pub fn objective(
    given: &Option<Objective>,
    plan: &PlanFile,
    what: &str,
) -> Result<Objective, Failure> {
    let found = given.as_ref().or(plan.objective.as_ref());
    found.cloned().ok_or_else(|| {
        Failure::usage(format!(
            "'{what}' has no objective: give one, as in --objective 'p99<5ms'"
        ))
    })
}

/// The time that a trial takes, for estimates, seconds.
pub fn trial_s(spec: &TrialSpec) -> f64 {
    let conditions = &spec.conditions;
    conditions.duration_s.unwrap_or(USUAL_DURATION_S) + conditions.warm_up_s + OVERHEAD_S
}

/// The failure for a budget that is too short for so many contenders.
pub fn too_short(given_s: f64, contenders: usize, least_s: f64) -> Failure {
    let s = if contenders == 1 { "" } else { "s" };
    Failure::usage(format!(
        "a budget of {} is too short for {contenders} contender{s}: give {} or more, fewer \
         contenders, or a shorter --duration",
        format_seconds(given_s),
        format_seconds(least_s)
    ))
}

/// Reads the precision of a search for a capacity.
///
/// # Errors
/// One sentence, if it is none.
pub fn parse_precision(text: &str) -> Result<f64, String> {
    let part = parse_part(text)?;
    let fits = (0.01..=0.5).contains(&part);
    fits.then_some(part)
        .ok_or_else(|| format!("'{text}' is out of range: write 1% to 50%"))
}

/// Opens a search to resume, with a new budget if one is given, after a check that its libraries
/// and folders are trusted.
///
/// # Errors
/// A usage error if it is no run folder or cannot be trusted.
pub fn open(
    path: &Path,
    budget_s: Option<f64>,
    places: &RunDirectories,
    trust: Trust,
) -> Result<(RunFolder, RunManifest), Failure> {
    let (folder, mut manifest) = RunFolder::open(path)?;
    trueput_runner::check_folder(&folder)?;
    let foreign = ForeignCode::of_run(&folder, &manifest, places.work.as_deref());
    trust.check(&path.display().to_string(), &foreign)?;
    if let (Some(settings), Some(budget_s)) = (&mut manifest.search, budget_s) {
        settings.set_budget_s(budget_s);
    }
    Ok((folder, manifest))
}
