//! Worker processes, as their parent sees them: started, awaited within limits, killed.

use crate::failure::{Failure, NoReport};
use crate::worker::{Assignment, Inspection, Report, WORKER_TASK};
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_faultfs::mount::Mount;
use trueput_host::process::describe_exit_status;
use trueput_host::read_free_bytes;
use trueput_record::audit::DamageKind;
use trueput_runner::{DelegatedWorker, TaskOutcome};

/// The interval at which the user's wish to stop is looked for.
const STOP_INTERVAL: Duration = Duration::from_millis(10);

/// A file system with less free space is full, bytes.
pub(crate) const MIN_ROOM_BYTES: u64 = 4 << 20;

/// A worker process that runs. It is killed with its descendants when dropped.
pub(crate) struct Worker(DelegatedWorker);

impl Worker {
    /// Starts a worker.
    pub(crate) fn start(program: &Path, assignment: &Assignment) -> Result<Self, NoReport> {
        Self::start_with(program, assignment, |_| ())
    }

    /// Starts a worker whose database lies on a recording file system, which sees its flushes.
    pub(crate) fn start_on(
        mount: &Mount,
        program: &Path,
        assignment: &Assignment,
    ) -> Result<Self, NoReport> {
        Self::start_with(program, assignment, |command| mount.watch(command))
    }

    fn start_with(
        program: &Path,
        assignment: &Assignment,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, NoReport> {
        DelegatedWorker::start(program, &WORKER_TASK, assignment, prepare)
            .map(Self)
            .map_err(|error| NoReport::NotStarted(format!("cannot start a worker: {error}")))
    }

    /// Waits until it ends, and returns its report.
    pub(crate) fn wait(mut self, limit: Duration, stop: &AtomicBool) -> Result<Report, NoReport> {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let ended = self.0.wait(left.min(STOP_INTERVAL));
            if stop.load(Ordering::SeqCst) {
                return Err(NoReport::Canceled);
            }
            if let Some(outcome) = ended? {
                return read_report(outcome);
            }
            if left.is_zero() {
                return Err(NoReport::TimedOut(limit));
            }
        }
    }

    /// Returns its report if it has ended; `None` while it runs.
    pub(crate) fn poll(&mut self) -> Result<Option<Report>, NoReport> {
        self.0.wait(Duration::ZERO)?.map(read_report).transpose()
    }

    /// Returns why it has ended by itself; `None` while it runs.
    pub(crate) fn end_reason(&mut self) -> Option<String> {
        let outcome = match self.0.wait(Duration::ZERO) {
            Ok(outcome) => outcome?,
            Err(error) => return Some(error.to_string()),
        };
        Some(match read_report(outcome) {
            Ok(_) => "it ended too early".to_owned(),
            Err(reason) => reason.to_string(),
        })
    }
}

fn read_report(outcome: TaskOutcome) -> Result<Report, NoReport> {
    match outcome {
        TaskOutcome::Answered(report) => {
            serde_json::from_value(report).map_err(|error| NoReport::Failed(error.to_string()))
        }
        TaskOutcome::Failed(reason) => Err(NoReport::Failed(reason)),
        TaskOutcome::Ended { status, .. } if status.signal() == Some(Signal::SIGKILL as i32) => {
            // No engine does this to itself.
            let end = describe_exit_status(status);
            Err(NoReport::NotStarted(format!(
                "a worker {end}, perhaps by the kernel for lack of memory"
            )))
        }
        TaskOutcome::Ended { status, last_line } => {
            let end = describe_exit_status(status);
            Err(NoReport::Ended(match last_line {
                Some(line) => format!("{end}: {line}"),
                None => end,
            }))
        }
    }
}

/// Runs an inspection; a crash or a hang is damage. `None` if the user stopped the audit.
pub(crate) fn inspect(
    program: &Path,
    assignment: &Assignment,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Option<Inspection>, Failure> {
    let damaged = |kind, detail| Ok(Some(Inspection::of_damage(kind, detail)));
    let worker = Worker::start(program, assignment);
    match worker.and_then(|worker| worker.wait(limit, stop)) {
        Ok(Report::Inspected(inspection)) => Ok(Some(inspection)),
        Ok(_) => Err(Failure::OtherReport),
        Err(NoReport::Canceled) => Ok(None),
        Err(NoReport::TimedOut(limit)) => damaged(
            DamageKind::Hang,
            format!("no answer within {} s", limit.as_secs()),
        ),
        Err(NoReport::Ended(reason)) => damaged(DamageKind::Crash, reason),
        Err(none @ (NoReport::NotStarted(_) | NoReport::Failed(_))) => Err(none.into()),
    }
}

/// Inspects once more what a machine without time, memory or room may have damaged: a hang, a
/// crash, or a database that does not open. `None` if the user stopped the audit.
///
/// # Errors
/// A [`Failure`], if the machine and not the engine is why there is no inspection.
pub(crate) fn inspect_repeatedly(
    scratch: &Path,
    inspect_once: impl Fn() -> Result<Option<Inspection>, Failure>,
) -> Result<Option<Inspection>, Failure> {
    let inspected = inspect_once()?;
    let damage = inspected.as_ref().and_then(|found| found.damage.as_ref());
    let Some(damage) = damage else {
        return Ok(inspected);
    };
    if read_free_bytes(scratch).is_some_and(|free| free < MIN_ROOM_BYTES) {
        return Err(Failure::StatesFull(damage.clone()));
    }
    match damage.kind {
        DamageKind::Hang | DamageKind::Crash | DamageKind::Unopenable => inspect_once(),
        _ => Ok(inspected),
    }
}
