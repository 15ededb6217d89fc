//! A connection to a host: a launcher with this program at its other end.

use super::error::HostError;
use super::launcher::{EndReason, Launcher};
use super::protocol::{Hello, HostInstruction, HostReport, KEEP_ALIVE, PROTOCOL};
use crate::workers::clock::read_monotonic_ns;
use crate::workers::protocol::Instruction;
use crate::workers::worker_process::{StandardErrorTail, wait_at_most};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The interval at which a host is told that the runner is alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);

/// The time that a host's processes may take to end once their input has.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum length of a line from a host.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// How hosts are reached.
#[derive(Debug, Clone, Default)]
pub struct HostAccess {
    /// The path of this program on the hosts; `None`: the same as here.
    pub program: Option<PathBuf>,
    /// A configuration file of ssh; `None`: the user's.
    pub ssh_config: Option<PathBuf>,
    /// What starts the program there.
    pub launcher: Launcher,
}

/// An event of a connection.
pub(crate) enum ConnectionEvent {
    /// A report, and the runner's monotonic clock when it had arrived, nanoseconds.
    Report(Box<HostReport>, u64),
    /// A line that is no report.
    Noise(String),
    /// The last message, and how many before it did not arrive.
    Goodbye(u64),
    /// The connection has ended.
    Closed,
}

/// A connection to a host.
pub(crate) struct HostConnection {
    /// The host's name, as the plan has it.
    pub name: String,
    /// What it said of itself; `None` until it did.
    pub hello: Option<Hello>,
    /// The path of the program there.
    program: PathBuf,
    launcher: Launcher,
    child: Child,
    /// Lines for the host. Its processes end once this is closed.
    input: Option<Sender<Vec<u8>>>,
    tail: StandardErrorTail,
}

impl HostConnection {
    /// Starts the launcher, and sends what the host reports to `events`, with `index`.
    ///
    /// # Errors
    /// [`HostError`], if the launcher is not here, or cannot be used here.
    pub fn open(
        name: &str,
        access: &HostAccess,
        worker_program: &Path,
        index: usize,
        events: Sender<(usize, ConnectionEvent)>,
    ) -> Result<Self, HostError> {
        let program = access.program.as_deref().unwrap_or(worker_program);
        let launcher = access.launcher.clone();
        launcher.check_place()?;
        let mut command = launcher.command(name, program, access.ssh_config.as_deref());
        let started = command.spawn();
        let mut child = started.map_err(|error| launcher.start_error(error))?;
        let tail = StandardErrorTail::read(child.stderr.take());
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || receive(output, index, &events));
        }
        // A thread writes, so that a host that reads nothing does not block the runner.
        let (input, lines) = channel();
        if let Some(stdin) = child.stdin.take() {
            std::thread::spawn(move || write_lines(stdin, &lines));
        }
        let connection = Self {
            name: name.to_owned(),
            hello: None,
            program: program.to_owned(),
            launcher,
            input: Some(input),
            child,
            tail,
        };
        connection.write(&Instruction::ServeHost);
        Ok(connection)
    }

    /// Sends an instruction. A connection that has ended is noticed elsewhere.
    pub fn send(&self, instruction: &HostInstruction) {
        self.write(instruction);
    }

    fn write<T: Serialize>(&self, line: &T) {
        if let (Some(input), Some(line)) = (&self.input, to_line(line)) {
            let _ = input.send(line);
        }
    }

    /// Returns what the host said of itself, if it runs the program with this hash.
    ///
    /// # Errors
    /// [`HostError::OtherProgram`].
    pub fn check_program(&self, sha256: &str) -> Result<&Hello, HostError> {
        let Some(hello) = &self.hello else {
            return Err(self.error_of_silence(None));
        };
        if hello.protocol != PROTOCOL {
            return Err(HostError::OtherProtocol {
                host: self.name.clone(),
                program: self.program.clone(),
                there: hello.protocol,
                here: PROTOCOL,
            });
        }
        if hello.sha256 == sha256 {
            return Ok(hello);
        }
        Err(HostError::OtherProgram {
            host: self.name.clone(),
            program: self.program.clone(),
            there_version: hello.version.clone(),
            there_sha256: hello.sha256.clone(),
            here_sha256: sha256.to_owned(),
        })
    }

    /// Returns why the host sent a line that is no report.
    pub fn error_of_noise(&self, line: &str) -> HostError {
        let shown: String = line.chars().take(100).collect();
        HostError::ForeignAnswer {
            host: self.name.clone(),
            program: self.program.clone(),
            line: trueput_record::text::escape_line(&shown).into_owned(),
        }
    }

    /// Returns that the host has not said who it is within a time, and what the launcher says.
    pub fn error_of_silence(&self, limit: Option<Duration>) -> HostError {
        HostError::NoAnswer {
            host: self.name.clone(),
            limit,
            message: self.tail.last_so_far(),
        }
    }

    /// Returns that some of the host's messages did not arrive.
    pub fn error_of_loss(&self, missing: u64) -> HostError {
        HostError::LostReports {
            host: self.name.clone(),
            launcher: self.launcher.program().to_owned(),
            missing,
        }
    }

    /// Waits for the end of the launcher, and returns why it ended.
    pub fn error_of_end(&mut self) -> HostError {
        self.input = None;
        let status = wait_at_most(&mut self.child, END_TIMEOUT);
        let code = status.ok().flatten().and_then(|status| status.code());
        let lines = self.tail.lines();
        error_of_launcher(&self.launcher, &self.name, &self.program, code, &lines)
    }

    /// Ends the host's processes, and the connection: the end of its input comes first, then a
    /// signal to the launcher. The launcher's process group gets none: what it has started there
    /// could outlive it.
    pub fn close(&mut self) {
        self.close_input();
        if matches!(wait_at_most(&mut self.child, END_TIMEOUT), Ok(Some(_))) {
            return;
        }
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // It may have ended just now.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        if !matches!(wait_at_most(&mut self.child, END_TIMEOUT), Ok(Some(_))) {
            // Without its connection the host's processes are killed.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Lets the host's processes end, without waiting for them.
    pub fn close_input(&mut self) {
        if self.input.is_some() {
            self.write(&HostInstruction::End);
        }
        self.input = None;
    }
}

impl Drop for HostConnection {
    fn drop(&mut self) {
        self.close();
    }
}

fn to_line<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(value).ok()?;
    line.push(b'\n');
    Some(line)
}

/// Writes lines to a host until there are no more, and in each pause that the runner is alive.
fn write_lines(mut input: ChildStdin, lines: &Receiver<Vec<u8>>) {
    loop {
        let line = match lines.recv_timeout(KEEP_ALIVE_INTERVAL) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => to_line(&KEEP_ALIVE).unwrap_or_default(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if input.write_all(&line).is_err() {
            return;
        }
    }
}

fn receive(output: impl Read, index: usize, events: &Sender<(usize, ConnectionEvent)>) {
    let mut lines = BufReader::new(output);
    let mut received = 0;
    loop {
        let mut line = Vec::new();
        let read = lines
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line);
        let at_ns = read_monotonic_ns().unwrap_or_default();
        if !matches!(read, Ok(1..)) {
            break;
        }
        let event = match serde_json::from_slice(&line) {
            Ok(HostReport::Goodbye { reports }) => {
                ConnectionEvent::Goodbye(reports.saturating_sub(received))
            }
            Ok(report) => {
                received += 1;
                ConnectionEvent::Report(Box::new(report), at_ns)
            }
            Err(_) => ConnectionEvent::Noise(String::from_utf8_lossy(&line).trim().to_owned()),
        };
        if events.send((index, event)).is_err() {
            return;
        }
    }
    // Nobody listens once the connections are gone.
    let _ = events.send((index, ConnectionEvent::Closed));
}

/// Describes why a launcher ended, with the remedy, from its exit code and its last lines.
fn error_of_launcher(
    launcher: &Launcher,
    name: &str,
    program: &Path,
    code: Option<i32>,
    lines: &[String],
) -> HostError {
    let (host, program) = (name.to_owned(), program.to_owned());
    let said = |words: &str| lines.iter().find(|line| line.contains(words)).cloned();
    let last = lines.last().cloned().unwrap_or_default();
    let launcher_name = launcher.program().to_owned();
    let found = launcher.ends().iter().find_map(|end| {
        let is_code = end.code.is_none_or(|known| code == Some(known));
        let line = match end.words {
            "" => Some(last.clone()),
            words => said(words),
        };
        line.filter(|_| is_code).map(|line| (end.meaning, line))
    });
    match found {
        Some((EndReason::NoProgram, _)) => HostError::NoProgram { host, program },
        Some((EndReason::NotRun, message)) => HostError::NotRun {
            host,
            program,
            message,
        },
        Some((EndReason::LoginRefusal, line)) => {
            let key = said("no such identity").map_or_else(String::new, |it| format!("{it}; "));
            let message = key + &line;
            HostError::LoginRefused { host, message }
        }
        Some((EndReason::OtherKey, message)) => HostError::OtherKey { host, message },
        Some((EndReason::NoWay, message)) => HostError::NotReached {
            host,
            launcher: launcher_name,
            message,
        },
        Some((EndReason::AllocationEnd, message)) => HostError::AllocationEnded { host, message },
        Some((EndReason::Remedy(remedy), message)) => HostError::Refused {
            host,
            message,
            remedy,
        },
        None if code == Some(0) => HostError::NoGoodbye {
            host,
            launcher: launcher_name,
            message: last,
        },
        None => HostError::Ended {
            host,
            message: last,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(launcher: &str, code: i32, lines: &[&str]) -> String {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        let program = Path::new("/opt/trueput");
        error_of_launcher(&launcher.parse().unwrap(), "b", program, Some(code), &lines).to_string()
    }

    #[test]
    fn each_end_of_ssh_is_named_with_its_remedy() {
        for (code, lines, expected) in [
            (
                127,
                vec!["sh: 1: exec: /opt/trueput: not found"],
                "has no program /opt/trueput",
            ),
            (
                126,
                vec!["Exec format error"],
                "cannot run /opt/trueput: Exec format error",
            ),
            (
                255,
                vec![
                    "no such identity: /k: No such file",
                    "me@b: Permission denied (publickey).",
                ],
                "refuses the login: no such identity: /k: No such file; me@b: Permission denied",
            ),
            (
                255,
                vec!["Host key verification failed."],
                "is not the known one",
            ),
            (
                255,
                vec!["ssh: Could not resolve hostname b: Name or service not known"],
                "cannot be reached: ssh: Could not resolve hostname b",
            ),
            (
                1,
                vec!["killed"],
                "the connection to host 'b' ended: killed",
            ),
        ] {
            let reason = describe("ssh", code, &lines);
            assert!(reason.contains(expected), "{reason}");
            assert_eq!(reason.lines().count(), 1);
        }
    }

    #[test]
    fn each_end_of_another_launcher_is_named_with_its_remedy() {
        let revoked = "srun: error: Unable to confirm allocation for job 9: Invalid job id";
        let busy = "srun: error: Unable to create step for job 9: Requested nodes are busy";
        let missing = "Error from server (NotFound): pods \"b\" not found";
        for (launcher, code, line, expected) in [
            ("slurm", 1, revoked, "trueput run --resume"),
            ("slurm", 1, busy, "salloc --exclusive"),
            (
                "slurm",
                2,
                "slurmstepd: error: execve(): /opt/trueput: No such file or directory",
                "has no program /opt/trueput",
            ),
            ("slurm", 0, "srun: error: Node failure on b", "sinfo -R"),
            (
                "slurm",
                0,
                "",
                "without its last message, though srun reports success:",
            ),
            ("kubernetes", 1, missing, "kubectl get pods"),
            ("kubernetes", 0, "", "though kubectl reports success"),
            (
                "on {host} {command}",
                127,
                "on: x: not found",
                "has no program",
            ),
            (
                "on {host} {command}",
                0,
                "bye",
                "though on reports success: bye: its exit",
            ),
            (
                "on {host} {command}",
                3,
                "no",
                "the connection to host 'b' ended: no",
            ),
        ] {
            let reason = describe(launcher, code, &[line]);
            assert!(reason.contains(expected), "{launcher} {code}: {reason}");
            assert_eq!(reason.lines().count(), 1);
        }
    }
}
