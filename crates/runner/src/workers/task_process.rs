//! The tasks of a trial that run in one process of their own: conformance, preparation, compaction,
//! verification.

use crate::context::{RunContext, TrialError};
use crate::trial::phase_limit::LimitedPhase;
use crate::workers::local::LocalWorkers;
use crate::workers::protocol::{Assignment, Report};
use crate::workers::worker_process::WorkerEvent;
use crate::{Event, Phase};
use std::time::{Duration, Instant};

/// The interval at which the runner checks whether the user has stopped the run.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The interval at which a task is shown that does not report how far it is.
const SHOW_EVERY: Duration = Duration::from_secs(1);

/// Runs a task in a separate process, and returns its report. If the user stops the run, it is
/// killed at once, because it has measured nothing.
///
/// # Errors
/// [`TrialError::Failed`] if it fails or dies, [`TrialError::Overrun`] if it exceeds the limit
/// of its phase.
pub(crate) fn run_task(
    context: &mut RunContext<'_>,
    assignment: Assignment,
    limited: LimitedPhase,
) -> Result<Report, TrialError> {
    run_task_in(LocalWorkers::new(), context, assignment, limited)
}

/// As [`run_task`], with processes that start as `workers` says: in a control group, for example.
///
/// # Errors
/// As [`run_task`].
pub(crate) fn run_task_in(
    mut workers: LocalWorkers,
    context: &mut RunContext<'_>,
    assignment: Assignment,
    limited: LimitedPhase,
) -> Result<Report, TrialError> {
    let id = assignment.spec.id.clone();
    let mut clock = context.begin_phase(limited, &assignment.spec);
    start_worker(context, &mut workers, assignment)?;
    let pids = workers.pids();
    let name = format!("{} (process {})", limited.title(), pids[0]);
    let mut answer = None;
    let mut shown_at: Option<Instant> = None;
    loop {
        if context.stopped() {
            return Err(TrialError::Interrupted);
        }
        if let Some(reason) = clock.check(&pids) {
            return Err(TrialError::Overrun(reason.into()));
        }
        // No engine says how far its compaction is.
        let is_due = shown_at.is_none_or(|at| at.elapsed() >= SHOW_EVERY);
        if limited == LimitedPhase::Compact && is_due {
            shown_at = Some(Instant::now());
            show(context, &id, limited, 0.0);
        }
        let (index, report) = match workers.receive(TICK) {
            None => continue,
            Some((index, WorkerEvent::Report(report))) => (index, *report),
            Some((index, WorkerEvent::Closed)) => {
                workers
                    .exit_result(index)
                    .map_err(|end| TrialError::Failed(end.preceded_by(&format!("{name}: it "))))?;
                let explained =
                    answer.map(|answer| explain(answer, || workers.await_failed_exit(index)));
                return explained
                    .ok_or_else(|| format!("{name}: it ended without an answer").into());
            }
        };
        match report {
            Report::Failed { message } => {
                let last_words = workers.await_failed_exit(index);
                return Err(format!("{name}: {message}{last_words}").into());
            }
            Report::Progress { fraction } => {
                clock.note_fraction(fraction);
                show(context, &id, limited, fraction);
            }
            other => answer = Some(other),
        }
    }
}

/// Adds what its process last wrote to the failure that an answer reports, if it does: an engine
/// may say more there. Checks that fail for one reason keep one text, by which they are grouped.
fn explain(mut answer: Report, last_words: impl FnOnce() -> String) -> Report {
    match &mut answer {
        Report::Conformed { checks, .. } => {
            let first = checks.iter().find(|check| !check.passed);
            if let Some(reason) = first.map(|check| check.detail.clone()) {
                let explained = format!("{reason}{}", last_words());
                let failed = checks.iter_mut().filter(|check| !check.passed);
                for check in failed.filter(|check| check.detail == reason) {
                    check.detail.clone_from(&explained);
                }
            }
        }
        Report::Isolated {
            failure: Some(failure),
            ..
        } => failure.push_str(&last_words()),
        _ => {}
    }
    answer
}

/// Shows how far the task of a trial is, if it is of a phase that is shown.
fn show(context: &mut RunContext<'_>, id: &str, limited: LimitedPhase, fraction: f64) {
    if let Some(phase) = phase_of(limited) {
        context.emit(&Event::TrialProgress {
            id: id.to_owned(),
            phase,
            fraction,
            rate_per_s: 0.0,
        });
    }
}

/// Returns the phase in which a task's progress is shown.
fn phase_of(limited: LimitedPhase) -> Option<Phase> {
    match limited {
        LimitedPhase::Prepare => Some(Phase::Prepare),
        LimitedPhase::Compact => Some(Phase::Compact),
        LimitedPhase::Verify => Some(Phase::Verify),
        _ => None,
    }
}

/// Starts a worker process.
///
/// # Errors
/// [`TrialError::Failed`] with the program's name.
pub(crate) fn start_worker(
    context: &RunContext<'_>,
    workers: &mut LocalWorkers,
    assignment: Assignment,
) -> Result<(), TrialError> {
    let program = &context.options.worker_program;
    let started = workers.start(program, &context.options.credentials, assignment);
    started.map_err(|error| {
        TrialError::from(format!(
            "a worker, {}, cannot be started: {error}",
            program.display()
        ))
    })
}
