//! One worker process on this host, as the process sees it that started it.

use crate::failure_reason::FailureReason;
use crate::workers::protocol::{Instruction, Report};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The hidden command that calls [`crate::worker_main`].
pub(crate) const COMMAND: &str = "worker";

/// The number of lines of a worker's standard error that are kept to explain a failure.
const TAIL_LINES: usize = 5;

/// The maximum length of such a line.
const LINE_CHARACTERS: usize = 300;

/// The time that a worker that has closed its pipe may take to exit: an engine that closes its
/// shared memory on a busy machine takes seconds.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that a worker that has said why it fails may take to exit: its engine may have threads
/// that do not end.
const FAILURE_TIMEOUT: Duration = Duration::from_secs(5);

/// The wait for the end of a process's standard error after its exit: a child of its own may keep
/// it open.
const TAIL_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest pause between two looks for the end of a process.
const MAX_PAUSE: Duration = Duration::from_millis(2);

/// An event of a worker process.
#[derive(Debug)]
pub(crate) enum WorkerEvent {
    /// A report.
    Report(Box<Report>),
    /// It has closed its end of the pipe: it is exiting, or has died.
    Closed,
}

/// The last lines that a process writes to its standard error.
pub(crate) struct StandardErrorTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Reads standard error until its end.
    reader: Option<JoinHandle<()>>,
}

impl StandardErrorTail {
    /// Reads the standard error of a process on a thread.
    pub fn read(errors: Option<ChildStderr>) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let reader = errors.map(|errors| {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || keep_tail(errors, &lines))
        });
        Self { lines, reader }
    }

    /// Waits until the last lines are read, which may still be in the pipe when the process has
    /// ended, and returns them.
    pub fn lines(&self) -> Vec<String> {
        let until = Instant::now() + TAIL_TIMEOUT;
        let is_reading = |reader: &JoinHandle<()>| !reader.is_finished();
        while self.reader.as_ref().is_some_and(is_reading) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// Returns the last line of a process that still runs; empty if there is none.
    pub fn last_so_far(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.back().cloned().unwrap_or_default()
    }
}

/// One worker process. What its engine has started below it ends with it, at the latest.
pub(crate) struct WorkerProcess {
    child: Child,
    /// Whether the rest of its process group was killed after its end.
    has_ended_group: bool,
    /// Lines for its standard input, which is closed when this is dropped.
    instructions: Option<Sender<Vec<u8>>>,
    /// The last lines of its standard error.
    tail: StandardErrorTail,
}

impl WorkerProcess {
    /// Starts `program worker`, once `prepare` has changed its command, and hands its events to
    /// `observe`, which returns whether more are wanted. With `group_entry`, it enters that control
    /// group.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn start(
        program: &Path,
        prepare: impl FnOnce(&mut Command) -> std::io::Result<()>,
        group_entry: Option<&Path>,
        observe: impl FnMut(WorkerEvent) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: a terminal's Ctrl-C reaches only the program that started it.
            .process_group(0);
        prepare(&mut command)?;
        let mut child = command.spawn()?;
        if let Some(entry) = group_entry {
            // It waits for its assignment, so that all it uses it uses in the group.
            if let Err(error) = std::fs::write(entry, child.id().to_string()) {
                child.kill()?;
                child.wait()?;
                return Err(error);
            }
        }
        let tail = StandardErrorTail::read(child.stderr.take());
        if let Some(reports) = child.stdout.take() {
            std::thread::spawn(move || receive(reports, observe));
        }
        let instructions = child.stdin.take().map(write_on_thread);
        Ok(Self {
            child,
            has_ended_group: false,
            instructions,
            tail,
        })
    }

    /// Returns the process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends an instruction. A dead process is noticed by its closed pipe.
    pub fn send(&self, instruction: &Instruction) {
        let Ok(mut line) = serde_json::to_vec(instruction) else {
            return;
        };
        line.push(b'\n');
        if let Some(instructions) = &self.instructions {
            // A worker that has ended gets no instruction; its end is noticed elsewhere.
            let _ = instructions.send(line);
        }
    }

    /// Sends SIGKILL to the process if it still runs.
    pub fn kill(&mut self) {
        self.instructions = None;
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // It may end between the question and the signal; `Child` never signals another.
            let _ = self.child.kill();
        }
    }

    /// Waits for its end, at most for the limit. Then nothing is left that it has started, other
    /// than servers with groups of their own.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn wait(&mut self, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
        let status = wait_at_most(&mut self.child, limit)?;
        if status.is_some() && !std::mem::replace(&mut self.has_ended_group, true) {
            // The number stays the group's while it has a member, and the kernel gives out all
            // others before it gives it anew: this reaches what is left. Mostly nothing is.
            let group = Pid::from_raw(self.child.id().cast_signed());
            let _ = killpg(group, Signal::SIGKILL);
        }
        Ok(status)
    }

    /// Returns the last lines of the standard error of a process that has ended.
    pub fn last_lines(&self) -> Vec<String> {
        self.tail.lines()
    }

    /// Waits for a process that has closed its pipe; an error says how it ended, with the last
    /// lines of its standard error: `killed by SIGSEGV`.
    pub fn exit_result(&mut self) -> Result<(), FailureReason> {
        let end = match self.wait(EXIT_TIMEOUT) {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => FailureReason::of_end(status),
            Ok(None) => "closed its pipe but did not exit".to_owned().into(),
            Err(error) => format!("cannot be waited for: {error}").into(),
        };
        Err(end.followed_by(&self.describe_last_lines()))
    }

    /// Waits for a process that has said why it fails, and kills it if it does not end. Returns the
    /// last lines of its standard error, to follow the reason; nothing if it wrote nothing.
    pub fn await_failed_exit(&mut self) -> String {
        if !matches!(self.wait(FAILURE_TIMEOUT), Ok(Some(_))) {
            self.kill();
            // One that a device keeps in the kernel is not waited for.
            let _ = self.wait(FAILURE_TIMEOUT);
        }
        self.describe_last_lines()
    }

    /// Returns the last lines of the standard error of a process that has ended, to follow a
    /// reason; nothing if it wrote nothing.
    pub fn describe_last_lines(&self) -> String {
        let said = self.last_lines();
        if said.is_empty() {
            String::new()
        } else {
            format!("; it last wrote: {}", said.join(" | "))
        }
    }
}

/// Waits for the end of a process, at most for the limit.
///
/// # Errors
/// The error of the operating system.
pub(crate) fn wait_at_most(
    child: &mut Child,
    limit: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    let mut pause = Duration::from_micros(100);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= until {
            return Ok(status);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Writes lines to a process's standard input on a thread: a process that is stopped reads nothing,
/// and its pipe holds little.
fn write_on_thread(mut input: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, lines) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for line in lines {
            // A process that has ended reads no more.
            if input.write_all(&line).is_err() {
                return;
            }
        }
    });
    sender
}

fn receive(reports: impl Read, mut observe: impl FnMut(WorkerEvent) -> bool) {
    for line in BufReader::new(reports).split(b'\n').map_while(Result::ok) {
        let report = serde_json::from_slice(&line).unwrap_or_else(|error| Report::Failed {
            message: format!("sent a line that is not a report: {error}"),
        });
        if !observe(WorkerEvent::Report(Box::new(report))) {
            return;
        }
    }
    observe(WorkerEvent::Closed);
}

fn keep_tail(errors: impl Read, tail: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let text: String = String::from_utf8_lossy(&line)
            .chars()
            .take(LINE_CHARACTERS)
            .collect();
        if text.trim().is_empty() {
            continue;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == TAIL_LINES {
            // What a program of Go or C++ dies of stands before a trace, which may be long.
            let oldest = tail.iter().position(|line| !is_last_message(line));
            tail.remove(oldest.unwrap_or(0));
        }
        tail.push_back(text.trim_end().replace('\t', " "));
    }
}

/// Whether a line says what a process dies of, as runtimes write it before their traces.
fn is_last_message(line: &str) -> bool {
    let begins = [
        "panic: ",
        "fatal error: ",
        "[signal ",
        "unexpected fault address",
        "terminate called",
    ];
    begins.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_of_standard_error_are_kept() {
        let tail = Mutex::new(VecDeque::new());
        let text = (0..20).map(|n| format!("line {n}\n\n")).collect::<String>();
        keep_tail(text.as_bytes(), &tail);
        let kept = tail.into_inner().unwrap();
        assert_eq!(kept.len(), TAIL_LINES);
        assert_eq!(kept.back().map(String::as_str), Some("line 19"));
    }

    #[test]
    fn the_message_before_a_long_trace_is_kept() {
        let tail = Mutex::new(VecDeque::new());
        let trace = (0..20).map(|n| format!("frame {n}\n")).collect::<String>();
        let text = format!("earlier\nfatal error: fault\n[signal SIGBUS]\n\ngoroutine 1:\n{trace}");
        keep_tail(text.as_bytes(), &tail);
        let kept: Vec<_> = tail.into_inner().unwrap().into();
        let expected = [
            "fatal error: fault",
            "[signal SIGBUS]",
            "frame 17",
            "frame 18",
            "frame 19",
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_line_that_is_no_report_is_a_failure_and_the_end_is_heard() {
        let mut event = Vec::new();
        receive("{\"report\":\"ready\"}\nhello\n".as_bytes(), |one| {
            event.push(one);
            true
        });
        let is_ready = |report: &Report| matches!(report, Report::Ready { .. });
        assert!(matches!(&event[0], WorkerEvent::Report(report) if is_ready(report)));
        let WorkerEvent::Report(report) = &event[1] else {
            panic!("{event:?}")
        };
        assert!(matches!(**report, Report::Failed { .. }));
        assert!(matches!(event[2], WorkerEvent::Closed));
    }
}
