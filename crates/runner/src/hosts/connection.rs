//! A connection to a host: ssh with this program at its other end.

use super::error::HostError;
use super::protocol::{Hello, HostInstruction, HostReport, KEEP_ALIVE};
use crate::workers::clock::read_monotonic_ns;
use crate::workers::protocol::Instruction;
use crate::workers::worker_process::{StandardErrorTail, wait_at_most};
use serde::Serialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The limit on the connection of ssh, seconds.
const CONNECT_LIMIT_S: u32 = 10;

/// Silence after which ssh asks its peer, seconds, and how often it asks before it ends.
const ALIVE_INTERVAL_S: u32 = 5;
const ALIVE_COUNT: u32 = 3;

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
}

/// An event of a connection.
pub(crate) enum ConnectionEvent {
    /// A report, and the runner's monotonic clock when it had arrived, nanoseconds.
    Report(Box<HostReport>, u64),
    /// A line that is no report.
    Noise(String),
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
    child: Child,
    /// Lines for the host. Its processes end once this is closed.
    input: Option<Sender<Vec<u8>>>,
    tail: StandardErrorTail,
}

impl HostConnection {
    /// Starts ssh, and sends what it reports to `events`, with `index`.
    ///
    /// # Errors
    /// [`HostError`], if there is no ssh.
    pub fn open(
        name: &str,
        access: &HostAccess,
        worker_program: &Path,
        index: usize,
        events: Sender<(usize, ConnectionEvent)>,
    ) -> Result<Self, HostError> {
        let program = access.program.as_deref().unwrap_or(worker_program);
        let mut command = ssh_command(name, access, program);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => HostError::NoSsh,
            _ => HostError::SshNotStarted(error),
        })?;
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
            return Err(HostError::NoAnswer {
                host: self.name.clone(),
                limit: None,
            });
        };
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

    /// Waits for the end of ssh, and returns why it ended.
    pub fn error_of_end(&mut self) -> HostError {
        self.input = None;
        let status = wait_at_most(&mut self.child, END_TIMEOUT);
        let code = status.ok().flatten().and_then(|status| status.code());
        let lines = self.tail.lines();
        error_of_ssh(&self.name, &self.program, code, &lines)
    }

    /// Ends the host's processes, and the connection.
    pub fn close(&mut self) {
        self.input = None;
        if !matches!(wait_at_most(&mut self.child, END_TIMEOUT), Ok(Some(_))) {
            // Without its connection the host's processes are killed.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Lets the host's processes end, without waiting for them.
    pub fn close_input(&mut self) {
        self.input = None;
    }
}

impl Drop for HostConnection {
    fn drop(&mut self) {
        self.close();
    }
}

/// The command that starts the program on a host.
fn ssh_command(name: &str, access: &HostAccess, program: &Path) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &access.ssh_config {
        command.arg("-F").arg(config);
    }
    // No terminal, no forwarding, no shared connection: it must end when this process does.
    command.args(["-T", "-a", "-x", "-S", "none"]);
    for option in [
        "BatchMode=yes".to_owned(),
        "ClearAllForwardings=yes".to_owned(),
        format!("ConnectTimeout={CONNECT_LIMIT_S}"),
        format!("ServerAliveInterval={ALIVE_INTERVAL_S}"),
        format!("ServerAliveCountMax={ALIVE_COUNT}"),
    ] {
        command.arg("-o").arg(option);
    }
    // The shell makes room for the program, which so has ssh's server as its parent, and dies
    // with it.
    let word = shell_word(&program.to_string_lossy());
    command
        .arg("--")
        .arg(name)
        .arg(format!("exec {word} worker"));
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: a terminal's Ctrl-C reaches only the runner.
    command.process_group(0);
    command
}

/// Quotes a word for the shell of the host.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
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
            Ok(report) => ConnectionEvent::Report(Box::new(report), at_ns),
            Err(_) => ConnectionEvent::Noise(String::from_utf8_lossy(&line).trim().to_owned()),
        };
        if events.send((index, event)).is_err() {
            return;
        }
    }
    // Nobody listens once the connections are gone.
    let _ = events.send((index, ConnectionEvent::Closed));
}

/// Describes why ssh ended, with the remedy, from its exit code and its last lines.
fn error_of_ssh(name: &str, program: &Path, code: Option<i32>, lines: &[String]) -> HostError {
    let (host, program) = (name.to_owned(), program.to_owned());
    let message = lines.last().cloned().unwrap_or_default();
    let said = |words: &str| lines.iter().find(|line| line.contains(words));
    if code == Some(127) {
        return HostError::NoProgram { host, program };
    }
    if code == Some(126) {
        return HostError::NotRun {
            host,
            program,
            message,
        };
    }
    if let Some(line) = said("Permission denied") {
        let key = said("no such identity").map_or_else(String::new, |line| format!("{line}; "));
        let message = key + line;
        return HostError::LoginRefused { host, message };
    }
    if let Some(line) = said("Host key verification failed") {
        let message = line.clone();
        return HostError::OtherKey { host, message };
    }
    if code == Some(255) {
        HostError::NotReached { host, message }
    } else {
        HostError::Ended { host, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(code: i32, lines: &[&str]) -> String {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        error_of_ssh("b", Path::new("/opt/trueput"), Some(code), &lines).to_string()
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
            let reason = describe(code, &lines);
            assert!(reason.contains(expected), "{reason}");
            assert_eq!(reason.lines().count(), 1);
        }
    }

    #[test]
    fn a_path_is_one_word_of_the_hosts_shell() {
        for path in ["/opt/a b/trueput", "/tmp/$(id)'s/x"] {
            let printed = Command::new("sh")
                .arg("-c")
                .arg(format!("printf %s {}", shell_word(path)))
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&printed.stdout), path);
        }
    }
}
