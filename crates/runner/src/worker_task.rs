//! The tasks of a trial that run in one process of their own: conformance, preparation,
//! verification.

use crate::context::{RunContext, TrialError};
use crate::protocol::{Assignment, Report};
use crate::worker_pool::{PoolEvent, WorkerPool};
use crate::{Event, Phase};
use std::time::{Duration, Instant};

/// The interval at which the runner checks whether the user has stopped the run.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Runs a task in a separate process, and returns its report. If the user stops the run, it is
/// killed at once, because it has measured nothing.
///
/// # Errors
/// [`TrialError::Failed`] if it fails, dies, or exceeds its time limit.
pub(crate) fn run_task(
    context: &mut RunContext<'_>,
    assignment: Assignment,
    phase: Option<Phase>,
    limit: Option<Duration>,
    what: &str,
) -> Result<Report, TrialError> {
    run_task_in(WorkerPool::new(), context, assignment, phase, limit, what)
}

/// As [`run_task`], in an empty pool, such as one of a control group.
///
/// # Errors
/// As [`run_task`].
pub(crate) fn run_task_in(
    mut pool: WorkerPool,
    context: &mut RunContext<'_>,
    assignment: Assignment,
    phase: Option<Phase>,
    limit: Option<Duration>,
    what: &str,
) -> Result<Report, TrialError> {
    let started = Instant::now();
    let id = assignment.spec.id.clone();
    start_worker(context, &mut pool, assignment)?;
    let name = format!("{what} (process {})", pool.pids()[0]);
    let mut answer = None;
    loop {
        if context.stopped() {
            return Err(TrialError::Interrupted);
        }
        if let Some(limit) = limit.filter(|limit| started.elapsed() > *limit) {
            return Err(format!("{name}: no answer within {} s", limit.as_secs()).into());
        }
        let report = match pool.receive(TICK) {
            None => continue,
            Some((_, PoolEvent::Report(report))) => *report,
            Some((index, PoolEvent::Closed)) => {
                pool.exit_result(index)
                    .map_err(|why| format!("{name}: it {why}"))?;
                return answer.ok_or_else(|| format!("{name}: it ended without an answer").into());
            }
        };
        match report {
            Report::Failed { message } => return Err(format!("{name}: {message}").into()),
            Report::Progress { fraction } => {
                let id = id.clone();
                if let Some(phase) = phase {
                    context.emit(&Event::TrialProgress {
                        id,
                        phase,
                        fraction,
                        rate_per_s: 0.0,
                    });
                }
            }
            other => answer = Some(other),
        }
    }
}

/// Starts a worker process.
///
/// # Errors
/// [`TrialError::Failed`] with the program's name.
pub(crate) fn start_worker(
    context: &RunContext<'_>,
    pool: &mut WorkerPool,
    assignment: Assignment,
) -> Result<(), TrialError> {
    let program = &context.options.worker_program;
    let started = pool.start(program, &context.options.credentials, assignment);
    started.map_err(|error| {
        TrialError::Failed(format!(
            "a worker, {}, cannot be started: {error}",
            program.display()
        ))
    })
}
