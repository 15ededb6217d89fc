//! A worker's share, done by a program in the engine's own language: started, released, followed
//! and gathered. What the two say to each other stands in [`trueput_engine::native`].

use super::execute::monotonic_ns;
use crate::meter::{Stage, WorkerCounters};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use trueput_host::placement;
use trueput_host::process::{self, MemoryUsage};
use trueput_record::placement::Placement;
use trueput_workloads::WorkerFindings;

/// A program that has its database. It is killed where it is dropped before its end.
pub(super) struct NativeProgram {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// What a program handed back.
pub(super) struct ProgramResult {
    /// When it said that it had ended, on `CLOCK_MONOTONIC`, nanoseconds.
    pub end_ns: u64,
    /// What it found.
    pub findings: WorkerFindings,
    /// Its memory then.
    pub memory: MemoryUsage,
    /// Where it ran, and where its memory lay then.
    pub placement: Placement,
}

impl NativeProgram {
    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// A sentence.
    pub fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot start {name}: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| format!("{name} has no output"))?;
        let mut program = Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
        };
        match program.hear()?.as_str() {
            "ready" => Ok(program),
            other => Err(format!("the native program began with '{other}'")),
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Releases it and follows it to its end. `None` where it was stopped on the way, which takes
    /// until it next says something.
    ///
    /// # Errors
    /// What the program says went wrong, or how it ended.
    pub fn run(
        mut self,
        kinds: &[&str],
        counters: &WorkerCounters,
        stage: &Stage,
    ) -> Result<Option<ProgramResult>, String> {
        self.tell_to_go()?;
        loop {
            let line = self.hear()?;
            let end_ns = monotonic_ns()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let findings = count(rest, kinds, counters)
                .ok_or_else(|| format!("the native program said '{line}'"))?;
            match word {
                "done" if stage.is_stopped() => {
                    self.stop();
                    return Ok(None);
                }
                "done" => {}
                "ended" => {
                    let memory = process::memory(self.pid()).unwrap_or_default();
                    let placement = placement::read_placement(self.pid());
                    self.wait()?;
                    return Ok(Some(ProgramResult {
                        end_ns,
                        findings,
                        memory,
                        placement,
                    }));
                }
                _ => return Err(format!("the native program said '{line}'")),
            }
        }
    }

    fn tell_to_go(&mut self) -> Result<(), String> {
        let told = self.input.as_mut().map(|input| input.write_all(b"go\n"));
        match told {
            Some(Ok(())) => Ok(()),
            _ => Err("the native program has closed its input".to_owned()),
        }
    }

    /// Its next line.
    fn hear(&mut self) -> Result<String, String> {
        let line = match self.lines.next() {
            Some(line) => line.map_err(|error| format!("reading the native program: {error}"))?,
            None => {
                self.wait()?;
                return Err("the native program ended before its work did".to_owned());
            }
        };
        match line.strip_prefix("error ") {
            Some(why) => Err(format!("the native program: {why}")),
            None => Ok(line),
        }
    }

    /// Lets it end, and waits for it, so that what it used counts as this process's.
    fn wait(&mut self) -> Result<(), String> {
        self.input = None;
        let status = self.child.wait();
        let status = status.map_err(|error| format!("waiting for the native program: {error}"))?;
        if status.success() {
            return Ok(());
        }
        Err(format!("the native program ended with {status}"))
    }

    /// Ends it in good order, wherever it is.
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

/// Puts the counts of a line `NAME=NUMBER …` into the lane, and gives the rest: what was found.
fn count(words: &str, kinds: &[&str], counters: &WorkerCounters) -> Option<WorkerFindings> {
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

    /// A program of which a shell says the lines.
    fn program(script: &str) -> Result<NativeProgram, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        NativeProgram::start(command)
    }

    fn run(script: &str, stop: bool) -> (Result<Option<ProgramResult>, String>, WorkerCounters) {
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
            let why = run(script, false).0.err().unwrap();
            assert!(why.contains(expected), "{script}: {why}");
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
