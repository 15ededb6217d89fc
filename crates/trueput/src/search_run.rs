//! Shared parts of the commands that search: the plan that they start from, and a run to go on
//! with.

use crate::built_in_plans::plan_or_workload;
use crate::failure::Failure;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::trust::{ForeignCode, Trust};
use std::path::Path;
use trueput_record::plan::PlanFile;
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::Registry;

/// The duration of a trial if neither the plan nor the command line gives one, seconds.
pub const USUAL_DURATION_S: f64 = 5.0;

/// The time that a trial takes beside its duration and warm-up, for estimates, seconds: opening,
/// verifying, and a part of the load. On two cores most engines need less for 100,000 records.
pub const OVERHEAD_S: f64 = 1.5;

/// Reads the plan, with the options of the command line, as one whose trials run once each and in a
/// closed loop.
///
/// # Errors
/// A usage error if it is no plan, cannot be trusted, has steps, or gives a rate; `instead` says
/// what to do about that.
pub fn read_plan(
    what: &str,
    overrides: &PlanOverrides,
    trust: Trust,
    instead: &str,
    registry: &Registry,
) -> Result<PlanFile, Failure> {
    let mut plan = plan_or_workload(what, registry)?;
    overrides.apply(&mut plan)?;
    trust.check_plan(what, &plan, overrides, registry)?;
    let refuse = |why: &str| Err(Failure::usage(format!("'{what}' {why}")));
    if plan.conditions.rate_per_s.iter().any(|&rate| rate > 0.0) {
        return refuse(&format!("gives a rate; {instead}"));
    }
    if !plan.steps.is_empty() {
        return refuse("has steps; 'trueput ledger' runs them");
    }
    plan.repeat = 1;
    plan.conditions.duration_s.get_or_insert(USUAL_DURATION_S);
    Ok(plan)
}

/// Opens a search to resume, after a check that its libraries and folders are trusted.
///
/// # Errors
/// A usage error if it is no run folder or cannot be trusted.
pub fn open(
    path: &Path,
    places: &RunDirectories,
    trust: Trust,
) -> Result<(RunFolder, RunManifest), Failure> {
    let (folder, manifest) = RunFolder::open(path)?;
    trueput_runner::check_folder(&folder)?;
    let foreign = ForeignCode::of_run(&folder, &manifest, places.work.as_deref());
    trust.check(&path.display().to_string(), &foreign)?;
    Ok((folder, manifest))
}
