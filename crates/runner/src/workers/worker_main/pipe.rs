//! The worker's end of the pipes: instructions in, reports out.

use crate::workers::meter::Stage;
use crate::workers::protocol::{Assignment, Instruction, WorkerTask};
use crate::workers::stopped_time::StoppedTime;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Stdin, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use trueput_engine::Credentials;

/// The runner and this process cannot talk.
#[derive(Debug, thiserror::Error)]
pub(super) enum PipeError {
    /// A report has no form as a line.
    #[error("a report cannot be written: {0}")]
    Report(serde_json::Error),
    /// The runner has closed its end.
    #[error("the runner cannot be reached: {0}")]
    RunnerGone(std::io::Error),
    /// Standard input cannot be read.
    #[error("reading standard input: {0}")]
    Input(std::io::Error),
    /// The memory with the stopped time cannot be shared.
    #[error("sharing the stopped time with the runner: {0}")]
    StoppedTime(std::io::Error),
    /// Standard input has no assignment.
    #[error("a worker is started by 'trueput run', not by hand")]
    NoRunner,
}

/// Sends reports over the pipe that was standard output when the process began.
pub(super) struct Reporter {
    pipe: Mutex<File>,
    sent: AtomicU64,
}

impl Reporter {
    /// Takes standard output for reports. Output of an engine goes to standard error from here on,
    /// so that it cannot be mistaken for a report.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn take_standard_output() -> std::io::Result<Self> {
        let reports = std::io::stdout().as_fd().try_clone_to_owned()?;
        nix::unistd::dup2_stdout(std::io::stderr())?;
        Ok(Self {
            pipe: Mutex::new(File::from(reports)),
            sent: AtomicU64::new(0),
        })
    }

    /// Sends a report, whole.
    ///
    /// # Errors
    /// [`PipeError`], if the runner has gone.
    pub fn send(&self, report: &impl Serialize) -> Result<(), PipeError> {
        let mut line = serde_json::to_vec(report).map_err(PipeError::Report)?;
        line.push(b'\n');
        let mut file = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(PipeError::RunnerGone)?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the number of reports sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// A signal that threads wait for and that is given once: to continue or to give up.
#[derive(Debug, Default)]
pub(super) struct Gate {
    open: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    /// Lets all threads pass, now and later: `true` to continue, `false` to give up. The first call
    /// counts.
    pub fn open(&self, go_on: bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get_or_insert(go_on);
        self.changed.notify_all();
    }

    /// Waits until it opens; returns whether to go on.
    pub fn wait(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(go_on) = *open {
                return go_on;
            }
            open = self
                .changed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The runner's instructions to start and stop.
#[derive(Debug)]
pub(super) struct WorkerControl {
    /// Opens when the runner releases the workers.
    pub release: Gate,
    /// The stage of the workers.
    pub stage: Stage,
    /// Opens when a time-sliced process may close the database and end.
    pub leave: Gate,
    /// The time for which the runner has stopped this process.
    pub stopped_time: StoppedTime,
}

impl WorkerControl {
    fn new(stage: Stage, stopped_time: StoppedTime) -> Self {
        Self {
            release: Gate::default(),
            stage,
            leave: Gate::default(),
            stopped_time,
        }
    }

    /// Stops this process's workers.
    pub fn stop(&self) {
        self.stage.stop();
        self.release.open(false);
        self.leave.open(false);
    }
}

/// What a process is started for.
pub(super) enum Mission {
    /// To work, with these passwords and under this control.
    Work(Credentials, Box<Assignment>, Arc<WorkerControl>),
    /// To do a task of a crate above the runner, by its name and assignment.
    Delegate(String, Value),
    /// To serve a runner on another host, whose further instructions are here.
    Host(BufReader<Stdin>),
}

/// Reads the passwords and the assignment, then listens for instructions on a separate thread.
///
/// # Errors
/// [`PipeError`], if standard input is not from a runner.
pub(super) fn read_mission() -> Result<Mission, PipeError> {
    let mut credentials = Credentials::default();
    let mut input = BufReader::new(std::io::stdin());
    let assignment = loop {
        let mut line = String::new();
        input.read_line(&mut line).map_err(PipeError::Input)?;
        match serde_json::from_str(&line) {
            Ok(Instruction::ImportCredentials { exported }) => {
                credentials = Credentials::import(exported);
            }
            Ok(Instruction::Delegate { task, assignment }) => {
                return Ok(Mission::Delegate(task, assignment));
            }
            Ok(Instruction::ServeHost) => return Ok(Mission::Host(input)),
            Ok(Instruction::Assign(assignment)) => break assignment,
            _ => return Err(PipeError::NoRunner),
        }
    };
    let warms_up = assignment.spec.conditions.warm_up_s > 0.0;
    let stage = if warms_up {
        Stage::warming()
    } else {
        Stage::measured()
    };
    let stopped_time = match &assignment.task {
        WorkerTask::Measure {
            stopped_time: Some(path),
            ..
        } => StoppedTime::open(path).map_err(PipeError::StoppedTime)?,
        _ => StoppedTime::Never,
    };
    let control = Arc::new(WorkerControl::new(stage, stopped_time));
    let heard = Arc::clone(&control);
    let measured = matches!(assignment.task, WorkerTask::Measure { .. });
    std::thread::spawn(move || listen(input, &heard, measured));
    Ok(Mission::Work(credentials, assignment, control))
}

fn listen(input: BufReader<Stdin>, control: &WorkerControl, measured: bool) {
    for line in input.lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Instruction::Start) => control.release.open(true),
            Ok(Instruction::Stop) => control.stop(),
            Ok(Instruction::CloseDatabase) => control.leave.open(true),
            Ok(
                Instruction::Assign(_)
                | Instruction::Delegate { .. }
                | Instruction::ImportCredentials { .. }
                | Instruction::ServeHost,
            )
            | Err(_) => break,
        }
    }
    // The runner has exited. Running workers are asked to return.
    control.stop();
    if !measured {
        std::process::exit(1);
    }
}
