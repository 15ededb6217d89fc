//! Worker processes on this host that work together.

use crate::failure_reason::FailureReason;
use crate::workers::protocol::{Assignment, Instruction};
use crate::workers::worker_process::{WorkerEvent, WorkerProcess};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use trueput_engine::Credentials;
use trueput_host::cgroup::MemoryGroup;
use trueput_host::placement;

/// The time that a worker that was asked to stop may take before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The time that killed processes may take to end. One that a device keeps in the kernel ends when
/// the device answers, and is not waited for.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A process, and whether it has closed its end of the pipe.
struct Member {
    process: WorkerProcess,
    closed: bool,
}

/// The worker processes of one phase of a trial. Those still running when it is dropped are killed.
pub(crate) struct LocalWorkers {
    members: Vec<Member>,
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
            members: Vec::new(),
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
        let (index, sender) = (self.members.len(), self.sender.clone());
        let process = WorkerProcess::start(
            program,
            |command| placement::apply(command, &assignment.spec.conditions),
            self.group_entry.as_deref(),
            // Nobody listens once the group is gone.
            move |event| sender.send((index, event)).is_ok(),
        )?;
        let exported = credentials.export();
        if !exported.is_empty() {
            process.send(&Instruction::ImportCredentials { exported });
        }
        process.send(&Instruction::Assign(Box::new(assignment)));
        self.members.push(Member {
            process,
            closed: false,
        });
        Ok(())
    }

    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the process numbers.
    pub fn pids(&self) -> Vec<u32> {
        let members = self.members.iter();
        members.map(|member| member.process.id()).collect()
    }

    /// Sends an instruction to every process. A dead process is noticed by its closed pipe.
    pub fn send_all(&mut self, instruction: &Instruction) {
        for member in &self.members {
            member.process.send(instruction);
        }
    }

    /// Waits for an event of any process, at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Option<(usize, WorkerEvent)> {
        let Ok((index, event)) = self.event.recv_timeout(limit) else {
            self.kill_leftover_groups();
            return None;
        };
        self.members[index].closed |= matches!(event, WorkerEvent::Closed);
        Some((index, event))
    }

    /// Kills what processes have forked that have ended without closing their pipe: it holds that.
    fn kill_leftover_groups(&mut self) {
        for member in self.members.iter_mut().filter(|member| !member.closed) {
            // An error shows where its end is asked for.
            let _ = member.process.wait(Duration::ZERO);
        }
    }

    /// Returns whether every process has closed its end of the pipe.
    pub fn all_closed(&self) -> bool {
        self.members.iter().all(|member| member.closed)
    }

    /// Kills every process that still runs, by its id, and waits for it. One that does not end
    /// within [`KILL_TIMEOUT`] is left behind: the kernel ends it as soon as it leaves its device.
    pub fn kill_all(&mut self) {
        for member in &mut self.members {
            member.process.kill();
        }
        let until = Instant::now() + KILL_TIMEOUT;
        for member in &mut self.members {
            let left = until.saturating_duration_since(Instant::now());
            let _ = member.process.wait(left);
        }
    }

    /// Waits for a process that has closed its pipe; an error says how it ended, as
    /// [`WorkerProcess::exit_result`] does.
    pub fn exit_result(&mut self, index: usize) -> Result<(), FailureReason> {
        self.members[index].process.exit_result()
    }

    /// Ends a process that has said why it fails, and returns what it last wrote, as
    /// [`WorkerProcess::await_failed_exit`] does.
    pub fn await_failed_exit(&mut self, index: usize) -> String {
        self.members[index].process.await_failed_exit()
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        self.kill_all();
    }
}
