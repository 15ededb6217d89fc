//! Worker processes on this host, as the runner sees them: starting them, receiving their reports,
//! and their exits.

use crate::workers::protocol::{Assignment, Instruction, Report};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueput_engine::Credentials;
use trueput_host::cgroup::MemoryGroup;
use trueput_host::placement;
use trueput_host::process::describe_exit_status;

/// The number of lines of a worker's standard error that are kept to explain a failure.
const TAIL_LINES: usize = 5;

/// The maximum length of such a line.
const LINE_CHARACTERS: usize = 300;

/// The time that a worker that was asked to stop may take before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The time that a worker that has closed its pipe may take to exit: an engine that closes its
/// shared memory on a busy machine takes seconds.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that killed processes may take to end. One that a device keeps in the kernel ends when
/// the device answers, and is not waited for.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The wait for the end of a process's standard error after its exit: a child of its own may keep
/// it open.
const TAIL_TIMEOUT: Duration = Duration::from_secs(2);

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
}

/// One worker process.
struct WorkerProcess {
    child: Child,
    /// Lines for its standard input, which is closed when this is dropped.
    instructions: Option<Sender<Vec<u8>>>,
    /// The last lines of its standard error.
    tail: StandardErrorTail,
    /// Whether it has closed its end of the pipe.
    closed: bool,
}

/// The worker processes of one phase of a trial. Those still running when it is dropped are killed.
pub(crate) struct LocalWorkers {
    processes: Vec<WorkerProcess>,
    /// The file by which processes enter a control group; `None` if there is no group.
    group_entry: Option<PathBuf>,
    sender: Sender<(usize, WorkerEvent)>,
    event: Receiver<(usize, WorkerEvent)>,
}

impl LocalWorkers {
    /// Creates a group without processes.
    pub fn new() -> Self {
        Self::within(None)
    }

    /// Creates a group without processes. Those that it starts, and their descendants, will be in
    /// that control group.
    pub fn within(group: Option<&MemoryGroup>) -> Self {
        let (sender, event) = channel();
        Self {
            processes: Vec::new(),
            group_entry: group.map(MemoryGroup::entry),
            sender,
            event,
        }
    }

    /// Starts `program worker` with the placement of its conditions, and sends it the passwords of
    /// servers and its assignment.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn start(
        &mut self,
        program: &Path,
        credentials: &Credentials,
        assignment: Assignment,
    ) -> std::io::Result<()> {
        let mut command = Command::new(program);
        command
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: a terminal's Ctrl-C reaches only the runner.
            .process_group(0);
        placement::apply(&mut command, &assignment.spec.conditions)?;
        let mut child = command.spawn()?;
        if let Some(entry) = &self.group_entry {
            // It waits for its assignment, so that all it uses it uses in the group.
            if let Err(error) = std::fs::write(entry, child.id().to_string()) {
                child.kill()?;
                child.wait()?;
                return Err(error);
            }
        }
        let index = self.processes.len();
        let tail = StandardErrorTail::read(child.stderr.take());
        if let Some(reports) = child.stdout.take() {
            let sender = self.sender.clone();
            std::thread::spawn(move || receive(reports, index, &sender));
        }
        let instructions = child.stdin.take().map(write_on_thread);
        self.processes.push(WorkerProcess {
            child,
            instructions,
            tail,
            closed: false,
        });
        let exported = credentials.export();
        if !exported.is_empty() {
            self.send(index, &Instruction::ImportCredentials { exported });
        }
        self.send(index, &Instruction::Assign(Box::new(assignment)));
        Ok(())
    }

    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Returns the process numbers.
    pub fn pids(&self) -> Vec<u32> {
        self.processes
            .iter()
            .map(|process| process.child.id())
            .collect()
    }

    /// Sends an instruction to every process. A dead process is noticed by its closed pipe.
    pub fn send_all(&mut self, instruction: &Instruction) {
        (0..self.processes.len()).for_each(|index| self.send(index, instruction));
    }

    fn send(&mut self, index: usize, instruction: &Instruction) {
        let Ok(mut line) = serde_json::to_vec(instruction) else {
            return;
        };
        line.push(b'\n');
        if let Some(instructions) = &self.processes[index].instructions {
            // A worker that has ended gets no instruction; its end is noticed elsewhere.
            let _ = instructions.send(line);
        }
    }

    /// Waits for an event of any process, at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Option<(usize, WorkerEvent)> {
        let (index, event) = self.event.recv_timeout(limit).ok()?;
        self.processes[index].closed |= matches!(event, WorkerEvent::Closed);
        Some((index, event))
    }

    /// Returns whether every process has closed its end of the pipe.
    pub fn all_closed(&self) -> bool {
        self.processes.iter().all(|process| process.closed)
    }

    /// Kills every process that still runs, by its id, and waits for it. One that does not end
    /// within [`KILL_TIMEOUT`] is left behind: the kernel ends it as soon as it leaves its device.
    pub fn kill_all(&mut self) {
        for process in &mut self.processes {
            process.instructions = None;
            if process
                .child
                .try_wait()
                .is_ok_and(|status| status.is_none())
            {
                // It may end between the question and the signal; `Child` never signals another.
                let _ = process.child.kill();
            }
        }
        let until = Instant::now() + KILL_TIMEOUT;
        for process in &mut self.processes {
            let left = until.saturating_duration_since(Instant::now());
            let _ = wait_at_most(&mut process.child, left);
        }
    }

    /// Waits for a process that has closed its pipe; an error says how it ended, with the last
    /// lines of its standard error: `killed by SIGSEGV`.
    pub fn exit_result(&mut self, index: usize) -> Result<(), String> {
        let process = &mut self.processes[index];
        let status = wait_at_most(&mut process.child, EXIT_TIMEOUT);
        let status = match status {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => describe_exit_status(status),
            Ok(None) => "closed its pipe but did not exit".to_owned(),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        let said = process.tail.lines();
        Err(if said.is_empty() {
            status
        } else {
            format!("{status}; it last wrote: {}", said.join(" | "))
        })
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        self.kill_all();
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
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= until {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(2));
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

fn receive(reports: impl Read, index: usize, sender: &Sender<(usize, WorkerEvent)>) {
    for line in BufReader::new(reports).split(b'\n').map_while(Result::ok) {
        let report = serde_json::from_slice(&line).unwrap_or_else(|error| Report::Failed {
            message: format!("sent a line that is not a report: {error}"),
        });
        if sender
            .send((index, WorkerEvent::Report(Box::new(report))))
            .is_err()
        {
            return;
        }
    }
    // Nobody listens once the group is gone.
    let _ = sender.send((index, WorkerEvent::Closed));
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
            tail.pop_front();
        }
        tail.push_back(text.trim_end().to_owned());
    }
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
    fn a_line_that_is_no_report_is_a_failure_and_the_end_is_heard() {
        let (sender, event) = channel();
        receive("{\"report\":\"ready\"}\nhello\n".as_bytes(), 7, &sender);
        let event: Vec<_> = event.try_iter().map(|(_, event)| event).collect();
        let is_ready = |report: &Report| matches!(report, Report::Ready { .. });
        assert!(matches!(&event[0], WorkerEvent::Report(report) if is_ready(report)));
        let WorkerEvent::Report(report) = &event[1] else {
            panic!("{event:?}")
        };
        assert!(matches!(**report, Report::Failed { .. }));
        assert!(matches!(event[2], WorkerEvent::Closed));
    }
}
