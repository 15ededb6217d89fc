//! Recovery from a deliberate crash: all processes that have the database open are killed, and the
//! time until the database serves again is measured.

use crate::Phase;
use crate::context::{RunContext, TrialError};
use crate::evidence::database_size::measure_database;
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::trial::worker_group::WorkerGroupSpec;
use crate::workers::protocol::{Assignment, Report, WorkerTask};
use crate::workers::task_process::run_task;
use std::time::Instant;
use trueput_record::TrialSpec;
use trueput_record::measurement::DatabaseSize;
use trueput_record::recovery::Recovery;

/// A database's recovery after its processes were killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveryReport {
    /// The times of the recovery.
    pub recovery: Recovery,
    /// The database's size after the crash.
    pub database: DatabaseSize,
}

/// Restarts the killed server of a trial, if it has one, and makes a new process open the database
/// and commit a first transaction.
///
/// # Errors
/// [`TrialError`]: the trial fails if the database does not recover.
pub(crate) fn recover(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    plan: &WorkerGroupSpec<'_>,
    server: &mut ServerLifecycle<'_>,
    killed: u32,
) -> Result<RecoveryReport, TrialError> {
    server.forget_killed();
    let database = measure_database(plan.directory)?;
    let began = Instant::now();
    server.start(context, None, Phase::Verify)?;
    let server_s = server.pid().map(|_| began.elapsed().as_secs_f64());
    let assignment = Assignment {
        spec: spec.clone(),
        directory: plan.directory.to_owned(),
        generation: plan.generation,
        task: WorkerTask::Recover,
    };
    let report = run_task(context, assignment, LimitedPhase::Recover);
    let Report::Recovered {
        open_s,
        first_commit_s,
    } = report.map_err(|error| server.explain_failure(error))?
    else {
        return Err(TrialError::from(format!(
            "{} returned an unexpected result",
            LimitedPhase::Recover.title()
        )));
    };
    let before_s = server_s.unwrap_or_default();
    Ok(RecoveryReport {
        recovery: Recovery {
            killed,
            recovery_s: before_s + open_s,
            server_s,
            first_commit_s: first_commit_s.map(|time_s| before_s + time_s),
        },
        database,
    })
}
