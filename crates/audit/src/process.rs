//! Worker processes, as their parent sees them: started, awaited within limits, killed.

use crate::worker::{Assignment, Inspection, Report};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_faultfs::mount::Mount;
use trueput_host::process::describe_exit_status;
use trueput_host::process_tree::ProcessTree;
use trueput_host::read_free_bytes;
use trueput_record::audit::DamageKind;

/// The hidden command that calls [`crate::worker::main`].
pub const WORKER_COMMAND: &str = "audit-worker";

/// The time that killed processes may take to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A file system with less free space is full, bytes.
pub(crate) const MIN_ROOM_BYTES: u64 = 4 << 20;

/// Characters of an engine's last words that are quoted.
const QUOTED_CHARACTERS: usize = 300;

/// The reason why a worker gave no report.
#[derive(Debug)]
pub(crate) enum NoReport {
    /// It could not be started, or was killed: this says nothing of the engine.
    NotStarted(String),
    /// It ended without one.
    Ended(String),
    /// It did not end within its time limit.
    TimedOut(Duration),
    /// The user stopped the audit.
    Canceled,
}

impl std::fmt::Display for NoReport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotStarted(reason) | Self::Ended(reason) => formatter.write_str(reason),
            Self::TimedOut(limit) => {
                write!(formatter, "no answer within {} s", limit.as_secs())
            }
            Self::Canceled => formatter.write_str("interrupted"),
        }
    }
}

/// A worker process that runs. It is killed when dropped.
pub(crate) struct Worker {
    child: Child,
    report: PathBuf,
    errors: PathBuf,
}

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
        let failed =
            |error: std::io::Error| NoReport::NotStarted(format!("cannot start a worker: {error}"));
        let errors = assignment.report.with_extension("errors");
        let mut command = Command::new(program);
        command
            .arg(WORKER_COMMAND)
            // Ctrl-C is for this program alone: a worker that it ended would look like a crash.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(failed)?);
        prepare(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let text = serde_json::to_vec(assignment).map_err(|error| failed(error.into()))?;
        if let Some(mut input) = child.stdin.take() {
            // If it has ended already, its status says why.
            let _ = input.write_all(&text);
        }
        Ok(Self {
            child,
            report: assignment.report.clone(),
            errors,
        })
    }

    /// Waits until it ends, and reads its report.
    pub(crate) fn wait(mut self, limit: Duration, stop: &AtomicBool) -> Result<Report, NoReport> {
        let began = Instant::now();
        let mut pause = Duration::from_micros(500);
        loop {
            let ended = self.child.try_wait();
            if stop.load(Ordering::SeqCst) {
                return Err(NoReport::Canceled);
            }
            if let Ok(Some(status)) = ended {
                return self.read_report(status);
            }
            if began.elapsed() >= limit {
                return Err(NoReport::TimedOut(limit));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// Kills it and its descendants, with SIGKILL, and waits until they are gone.
    pub(crate) fn kill(mut self) {
        self.kill_tree();
    }

    fn kill_tree(&mut self) {
        let tree = ProcessTree::new(self.child.id());
        let members: Vec<u32> = tree.pids().collect();
        let _ = self.child.kill();
        let _ = self.child.wait();
        let began = Instant::now();
        for pid in members {
            let process = Path::new("/proc").join(pid.to_string());
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
            while process.exists() && began.elapsed() < KILL_TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Returns why it has ended by itself; `None` while it runs.
    pub(crate) fn end_reason(&mut self) -> Option<String> {
        let status = match self.child.try_wait() {
            Ok(status) => status?,
            Err(error) => return Some(error.to_string()),
        };
        Some(match self.read_report(status) {
            Ok(Report::Failed { message }) => message,
            Ok(_) => describe_exit_status(status),
            Err(reason) => reason.to_string(),
        })
    }

    fn read_report(&self, status: ExitStatus) -> Result<Report, NoReport> {
        let text = std::fs::read(&self.report).ok();
        let report = text.and_then(|text| serde_json::from_slice(&text).ok());
        report.ok_or_else(|| {
            let words = std::fs::read(&self.errors).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            let end = describe_exit_status(status);
            if status.signal() == Some(Signal::SIGKILL as i32) {
                // No engine does this to itself.
                return NoReport::NotStarted(format!(
                    "a worker {end}, perhaps by the kernel for lack of memory"
                ));
            }
            NoReport::Ended(match last_line(&words) {
                Some(line) => format!("{end}: {line}"),
                None => end,
            })
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.kill_tree();
        }
        let _ = std::fs::remove_file(&self.errors);
        let _ = std::fs::remove_file(&self.report);
    }
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(QUOTED_CHARACTERS).collect())
}

/// Runs an inspection; a crash or a hang is damage. `None` if the user stopped the audit.
pub(crate) fn inspect(
    program: &Path,
    assignment: &Assignment,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Option<Inspection>, String> {
    let damaged = |kind, detail| Ok(Some(Inspection::of_damage(kind, detail)));
    let worker = Worker::start(program, assignment);
    match worker.and_then(|worker| worker.wait(limit, stop)) {
        Ok(Report::Inspected(inspection)) => Ok(Some(inspection)),
        Ok(Report::Failed { message }) => Err(message),
        Ok(_) => Err("the worker did something else".to_owned()),
        Err(NoReport::Canceled) => Ok(None),
        Err(NoReport::TimedOut(limit)) => damaged(
            DamageKind::Hang,
            format!("no answer within {} s", limit.as_secs()),
        ),
        Err(NoReport::NotStarted(reason)) => Err(reason),
        Err(NoReport::Ended(reason)) => damaged(DamageKind::Crash, reason),
    }
}

/// Inspects once more what a machine without time, memory or room may have damaged: a hang, a
/// crash, or a database that does not open. `None` if the user stopped the audit.
///
/// # Errors
/// One sentence, if the machine and not the engine is why there is no inspection.
pub(crate) fn inspect_repeatedly(
    scratch: &Path,
    inspect_once: impl Fn() -> Result<Option<Inspection>, String>,
) -> Result<Option<Inspection>, String> {
    let inspected = inspect_once()?;
    let damage = inspected.as_ref().and_then(|found| found.damage.as_ref());
    let Some(damage) = damage else {
        return Ok(inspected);
    };
    if read_free_bytes(scratch).is_some_and(|free| free < MIN_ROOM_BYTES) {
        return Err(format!(
            "the folder for states is full: choose another one with --work ({damage})"
        ));
    }
    match damage.kind {
        DamageKind::Hang | DamageKind::Crash | DamageKind::Unopenable => inspect_once(),
        _ => Ok(inspected),
    }
}
