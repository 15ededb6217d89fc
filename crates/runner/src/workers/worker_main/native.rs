//! A worker's work done by a program in the engine's own language: started, released, followed, and
//! its output parsed. [`trueput_engine::native`] has the protocol.

use crate::workers::clock::{ClockError, read_monotonic_ns};
use crate::workers::meter::{Stage, WorkerCounters};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use trueput_host::placement;
use trueput_host::process::{self, MemoryUsage};
use trueput_record::placement::Placement;
use trueput_workloads::WorkerFindings;

/// A native program that has its database open, killed if dropped before its end.
pub(super) struct NativeProgram {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// The result of a native program.
pub(super) struct ProgramResult {
    /// When it reported its end, on `CLOCK_MONOTONIC`, nanoseconds.
    pub end_ns: u64,
    /// Its findings.
    pub findings: WorkerFindings,
    /// Its memory at the end.
    pub memory: MemoryUsage,
    /// Its placement at the end.
    pub placement: Placement,
}

/// The reason why a native program did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum NativeProgramError {
    /// It cannot be started.
    #[error("cannot start {name}: {source}")]
    NotStarted {
        /// The program.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Its standard output is not a pipe.
    #[error("{name} has no output")]
    NoOutput {
        /// The program.
        name: String,
    },
    /// It began with another line than `ready`.
    #[error("the native program began with '{0}'")]
    Greeting(String),
    /// It wrote a line that is none of the protocol.
    #[error("the native program said '{0}'")]
    Line(String),
    /// It reported an error.
    #[error("the native program: {0}")]
    Said(String),
    /// It closed its input before it was released.
    #[error("the native program has closed its input")]
    InputClosed,
    /// Its output cannot be read.
    #[error("reading the native program: {0}")]
    Reading(std::io::Error),
    /// It ended well, but too early.
    #[error("the native program ended before its work did")]
    EndedEarly,
    /// It ended with an error.
    #[error("the native program ended with {0}")]
    Ended(ExitStatus),
    /// Its end cannot be waited for.
    #[error("waiting for the native program: {0}")]
    Waiting(std::io::Error),
    /// The clock cannot be read.
    #[error(transparent)]
    Clock(#[from] ClockError),
}

impl NativeProgram {
    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// [`NativeProgramError`].
    pub fn start(mut command: Command) -> Result<Self, NativeProgramError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(source) => return Err(NativeProgramError::NotStarted { name, source }),
        };
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or(NativeProgramError::NoOutput { name })?;
        let mut program = Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
        };
        match program.read_line()?.as_str() {
            "ready" => Ok(program),
            other => Err(NativeProgramError::Greeting(other.to_owned())),
        }
    }

    /// Returns its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Releases it and follows it to its end. `None` if it was stopped, which takes until its next
    /// line.
    ///
    /// # Errors
    /// The program's error message, or its exit status.
    pub fn run(
        mut self,
        kinds: &[&str],
        counters: &WorkerCounters,
        stage: &Stage,
    ) -> Result<Option<ProgramResult>, NativeProgramError> {
        self.send_go()?;
        loop {
            let line = self.read_line()?;
            let end_ns = read_monotonic_ns()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let findings = parse_counts(rest, kinds, counters)
                .ok_or_else(|| NativeProgramError::Line(line.clone()))?;
            match word {
                "done" if stage.is_stopped() => {
                    self.stop();
                    return Ok(None);
                }
                "done" => {}
                "ended" => {
                    let memory = process::read_memory(self.pid()).unwrap_or_default();
                    let placement = placement::read_placement(self.pid());
                    self.wait()?;
                    return Ok(Some(ProgramResult {
                        end_ns,
                        findings,
                        memory,
                        placement,
                    }));
                }
                _ => return Err(NativeProgramError::Line(line)),
            }
        }
    }

    fn send_go(&mut self) -> Result<(), NativeProgramError> {
        let sent = self.input.as_mut().map(|input| input.write_all(b"go\n"));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(NativeProgramError::InputClosed),
        }
    }

    /// Reads its next line.
    fn read_line(&mut self) -> Result<String, NativeProgramError> {
        let line = match self.lines.next() {
            Some(line) => line.map_err(NativeProgramError::Reading)?,
            None => {
                self.wait()?;
                return Err(NativeProgramError::EndedEarly);
            }
        };
        match line.strip_prefix("error ") {
            Some(reason) => Err(NativeProgramError::Said(reason.to_owned())),
            None => Ok(line),
        }
    }

    /// Closes its input and waits for its end, so that its resources count as this process's.
    fn wait(&mut self) -> Result<(), NativeProgramError> {
        self.input = None;
        let status = self.child.wait().map_err(NativeProgramError::Waiting)?;
        if status.success() {
            return Ok(());
        }
        Err(NativeProgramError::Ended(status))
    }

    /// Terminates it in good order.
    fn stop(&mut self) {
        let pid = i32::try_from(self.pid()).map(Pid::from_raw);
        if pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok()) {
            let _ = self.child.wait();
        }
    }
}

impl Drop for NativeProgram {
    fn drop(&mut self) {
        // Without effect on one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stores the counts of a line `NAME=NUMBER …` in the counters, and returns the findings.
fn parse_counts(words: &str, kinds: &[&str], counters: &WorkerCounters) -> Option<WorkerFindings> {
    let mut counts = vec![0; kinds.len()];
    let mut units = 0;
    let mut findings = WorkerFindings::new();
    for word in words.split_whitespace() {
        let (name, number) = word.split_once('=')?;
        let number = number.parse().ok()?;
        match kinds.iter().position(|kind| *kind == name) {
            Some(kind) => counts[kind] = number,
            None if name == "units" => units = number,
            None => {
                findings.insert(name.to_owned(), number);
            }
        }
    }
    counters.set(&counts, units);
    Some(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    type ProgramOutcome = Result<Option<ProgramResult>, NativeProgramError>;

    /// Starts a program whose lines a shell script prints.
    fn program(script: &str) -> Result<NativeProgram, NativeProgramError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        NativeProgram::start(command)
    }

    fn run(script: &str, stop: bool) -> (ProgramOutcome, WorkerCounters) {
        let (counters, stage) = (WorkerCounters::default(), Stage::measured());
        if stop {
            stage.stop();
        }
        let ran = program(script).and_then(|it| it.run(&["a", "b"], &counters, &stage));
        (ran, counters)
    }

    #[test]
    fn what_a_program_says_it_did_is_counted_and_what_it_found_is_kept() {
        let script = "echo ready; read go; echo done b=1; echo ended a=2 units=9 b=3 found=4";
        let (ended, counters) = run(script, false);
        assert_eq!(ended.unwrap().unwrap().findings["found"], 4);
        assert_eq!((counters.counts(2), counters.units()), (vec![2, 3], 9));
    }

    #[test]
    fn what_goes_wrong_in_a_program_is_said() {
        for (script, expected) in [
            (
                "echo error no such thing",
                "the native program: no such thing",
            ),
            ("exit 3", "exit status: 3"),
            ("echo hello", "began with 'hello'"),
            ("echo ready; read go", "ended before its work did"),
            ("echo ready; read go; echo ended a=x", "said 'ended a=x'"),
            (
                "echo ready; read go; echo ended a=1; read x; exit 4",
                "exit status: 4",
            ),
        ] {
            let reason = run(script, false).0.err().unwrap().to_string();
            assert!(reason.contains(expected), "{script}: {reason}");
        }
    }

    #[test]
    fn a_program_that_works_on_is_stopped() {
        let script = "echo ready; read go; while :; do echo done a=1; done";
        let (ended, counters) = run(script, true);
        assert!(ended.unwrap().is_none());
        assert_eq!(counters.counts(1), [1]);
    }
}
