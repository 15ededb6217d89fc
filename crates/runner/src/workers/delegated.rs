//! Tasks of crates above the runner in worker processes of their own: the runner starts the process
//! and carries the assignment and the answer, which it does not know.

use crate::Registry;
use crate::workers::protocol::{Instruction, Report};
use crate::workers::worker_process::{WorkerEvent, WorkerProcess};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use trueput_host::process_tree::ProcessTree;

/// The interval at which a process is looked for that has ended without closing its pipe: one that
/// it has forked may hold it.
const TICK: Duration = Duration::from_millis(50);

/// The time that the reports of a process that has ended may take to arrive. They are waited for as
/// long only if another process holds the pipe.
const REST_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that killed processes may take to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a task of a crate above the runner has no answer.
pub type TaskError = Box<dyn Error + Send + Sync>;

/// A task that worker processes do for a crate above the runner.
#[derive(Debug, Clone, Copy)]
pub struct DelegatedTask {
    /// Its name in assignments.
    pub name: &'static str,
    /// Does what the assignment says and returns the answer, or why there is none.
    pub serve: fn(&Registry, Value) -> Result<Value, TaskError>,
}

/// How a delegated task ended.
#[derive(Debug)]
pub enum TaskOutcome {
    /// It gave this answer.
    Answered(Value),
    /// It gave this reason why it has no answer; what it last wrote to standard error follows.
    Failed(String),
    /// Its process ended without either.
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The last line that it wrote to standard error; `None` if it wrote nothing.
        last_line: Option<String>,
    },
}

/// A worker process with a delegated task. It is killed when dropped.
pub struct DelegatedWorker {
    process: WorkerProcess,
    events: Receiver<WorkerEvent>,
    /// Whether it has closed its end of the pipe, or nothing more is awaited.
    is_closed: bool,
    /// Its answer, or the reason why there is none; `None` before it has given either.
    answer: Option<TaskOutcome>,
}

impl DelegatedWorker {
    /// Starts `program worker`, once `prepare` has changed its command, and assigns it a task.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn start(
        program: &Path,
        task: &DelegatedTask,
        assignment: &impl Serialize,
        prepare: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let instruction = Instruction::Delegate {
            task: task.name.to_owned(),
            assignment: serde_json::to_value(assignment)?,
        };
        let (sender, events) = channel();
        let prepare = |command: &mut Command| {
            prepare(command);
            Ok(())
        };
        let observe = move |event| sender.send(event).is_ok();
        let process = WorkerProcess::start(program, prepare, None, observe)?;
        process.send(&instruction);
        Ok(Self {
            process,
            events,
            is_closed: false,
            answer: None,
        })
    }

    /// Waits until the process has ended, at most for the limit. `None`: it runs.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<TaskOutcome>> {
        let until = Instant::now() + limit;
        let left = || until.saturating_duration_since(Instant::now());
        while !self.is_closed {
            match self.events.recv_timeout(left().min(TICK)) {
                Ok(event) => self.note(event),
                Err(RecvTimeoutError::Disconnected) => self.is_closed = true,
                Err(RecvTimeoutError::Timeout) => {
                    if self.process.wait(Duration::ZERO)?.is_some() {
                        self.read_rest();
                    } else if left().is_zero() {
                        return Ok(None);
                    }
                }
            }
        }
        let ended = self.process.wait(left())?;
        Ok(ended.map(|status| self.outcome(status)))
    }

    fn note(&mut self, event: WorkerEvent) {
        match event {
            WorkerEvent::Report(report) => match *report {
                Report::Delegated { answer } => self.answer = Some(TaskOutcome::Answered(answer)),
                Report::Failed { message } => self.answer = Some(TaskOutcome::Failed(message)),
                _ => {}
            },
            WorkerEvent::Closed => self.is_closed = true,
        }
    }

    /// Reads the reports of a process that has ended up to its answer: they are in the pipe, and
    /// the thread that reads them may not have had its turn on a busy machine.
    fn read_rest(&mut self) {
        while !self.is_closed && self.answer.is_none() {
            match self.events.recv_timeout(REST_TIMEOUT) {
                Ok(event) => self.note(event),
                Err(_) => self.is_closed = true,
            }
        }
        self.is_closed = true;
    }

    fn outcome(&mut self, status: ExitStatus) -> TaskOutcome {
        match self.answer.take() {
            Some(TaskOutcome::Failed(reason)) => {
                TaskOutcome::Failed(reason + &self.process.describe_last_lines())
            }
            Some(answer) => answer,
            None => TaskOutcome::Ended {
                status,
                last_line: self.process.last_lines().pop(),
            },
        }
    }

    /// Kills the process and its descendants, with SIGKILL, and waits until they are gone.
    fn kill(&mut self) {
        let members: Vec<u32> = ProcessTree::new(self.process.id()).pids().collect();
        self.process.kill();
        let _ = self.process.wait(KILL_TIMEOUT);
        let began = Instant::now();
        for pid in members {
            let process = Path::new("/proc").join(pid.to_string());
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
            while process.exists() && began.elapsed() < KILL_TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Drop for DelegatedWorker {
    fn drop(&mut self) {
        if matches!(self.process.wait(Duration::ZERO), Ok(None)) {
            self.kill();
        }
    }
}
