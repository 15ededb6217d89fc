//! The processes of a server, recorded while it lives: descendants of a dead server have no parent
//! any more, and may keep its folder open.

use crate::process;
use crate::process_tree::list_members;
use crate::shared_memory::SharedMemory;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval at which the server's descendants are listed.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

/// The time that killed processes may take to end: they free their memory first.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which killed processes are checked.
const PAUSE: Duration = Duration::from_millis(1);

/// The number and the start time of a process: numbers are reused.
type ProcessIdentity = (u32, u64);

/// The descendants of a server, listed twice a second.
pub(super) struct ServerProcesses {
    root: ProcessIdentity,
    known: Arc<Mutex<HashSet<ProcessIdentity>>>,
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerProcesses {
    /// Starts to record. Without a thread, only the processes of this moment are known.
    pub fn follow(root: u32) -> Self {
        // A process that has not been waited for keeps its number, and is reported even after it
        // has ended.
        let root = (
            root,
            process::read_start_time_ticks(root).unwrap_or_default(),
        );
        let known = Arc::new(Mutex::new(HashSet::new()));
        collect_family(root, &known);
        let (end, ended) = channel::<()>();
        let of_thread = Arc::clone(&known);
        let thread = std::thread::Builder::new().name("family".to_owned());
        let thread = thread.spawn(move || {
            while ended.recv_timeout(REFRESH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                collect_family(root, &of_thread);
            }
        });
        Self {
            root,
            known,
            end: Some(end),
            thread: thread.ok(),
        }
    }

    /// Records the processes of this moment.
    pub fn refresh(&self) {
        collect_family(self.root, &self.known);
    }

    /// Returns the processes that are known to be alive, the server first.
    pub fn all(&self) -> Vec<u32> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let others = known.iter().map(|&(pid, _)| pid);
        let others = others.filter(|&pid| pid != self.root.0);
        std::iter::once(self.root.0).chain(others).collect()
    }

    /// Returns the processes that are still alive, except the server.
    pub fn survivors(&self) -> Vec<u32> {
        self.refresh();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let living = known.iter().map(|&(pid, _)| pid);
        living.filter(|&pid| pid != self.root.0).collect()
    }

    /// Kills the processes that are still alive, except the server, and waits until they have
    /// ended.
    pub fn kill_survivors(&self) {
        let pids = self.survivors();
        kill_all(&pids);
        let _ = await_death(&pids, EXIT_TIMEOUT);
    }
}

impl Drop for ServerProcesses {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // The thread cannot fail.
            let _ = thread.join();
        }
    }
}

/// Adds the descendants of `root` (unless its number has been reused) and of the known processes,
/// and forgets those that have ended.
fn collect_family(root: ProcessIdentity, known: &Mutex<HashSet<ProcessIdentity>>) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|&(pid, began)| {
        process::is_alive(pid) && process::read_start_time_ticks(pid) == Some(began)
    });
    let mut all = if process::read_start_time_ticks(root.0) == Some(root.1) {
        list_members(root.0)
    } else {
        Vec::new()
    };
    let orphans: Vec<u32> = known.iter().map(|&(pid, _)| pid).collect();
    for pid in orphans {
        if !all.contains(&pid) {
            all.extend(list_members(pid));
        }
    }
    let living = all.into_iter().filter(|&pid| process::is_alive(pid));
    known.extend(living.filter_map(|pid| Some((pid, process::read_start_time_ticks(pid)?))));
}

fn kill_all(pids: &[u32]) {
    for &pid in pids {
        // One that has ended meanwhile needs no signal.
        let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    }
}

/// Processes of a killed server that have not ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} processes of the killed server were still running after {} s",
    list(pids),
    limit.as_secs()
)]
pub struct SurvivingProcesses {
    /// Their numbers.
    pub pids: Vec<u32>,
    /// The time that they had.
    pub limit: Duration,
}

fn list(pids: &[u32]) -> String {
    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
    pids.join(", ")
}

/// Waits until all of these processes have ended.
///
/// # Errors
/// [`SurvivingProcesses`] that are still alive after `limit`.
fn await_death(pids: &[u32], limit: Duration) -> Result<(), SurvivingProcesses> {
    let until = Instant::now() + limit;
    loop {
        let left = pids.iter().copied();
        let pids: Vec<u32> = left.filter(|&pid| process::is_alive(pid)).collect();
        if pids.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(SurvivingProcesses { pids, limit });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills a server and its descendants, removes the shared memory that they leave, and returns the
/// number of processes. The server is stopped
/// first, so that it starts nothing while its processes are counted, and killed first, so that it
/// does not replace those that are killed after it.
///
/// # Errors
/// [`SurvivingProcesses`], if any of its processes is left.
pub fn kill_server(pid: u32) -> Result<u32, SurvivingProcesses> {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGSTOP);
    let family = list_members(pid);
    let memory = SharedMemory::of(&family);
    kill_all(&family);
    await_death(&family, EXIT_TIMEOUT)?;
    memory.remove();
    Ok(u32::try_from(family.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// Starts a process with a child.
    fn parent() -> Child {
        let child = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn();
        let child = child.unwrap();
        while list_members(child.id()).len() < 2 {
            std::thread::sleep(PAUSE);
        }
        child
    }

    #[test]
    fn a_killed_server_goes_with_its_children_and_their_number_is_told() {
        let mut child = parent();
        let all = list_members(child.id());
        assert_eq!(kill_server(child.id()), Ok(2));
        assert!(!all.iter().any(|&pid| process::is_alive(pid)));
        child.wait().unwrap();
    }

    #[test]
    fn one_that_does_not_go_is_named() {
        let mut child = parent();
        let refused = await_death(&[child.id()], Duration::ZERO).unwrap_err();
        assert_eq!(refused.pids, [child.id()]);
        assert_eq!(kill_server(child.id()), Ok(2));
        assert_eq!(await_death(&[child.id()], Duration::ZERO), Ok(()));
        child.wait().unwrap();
    }

    #[test]
    fn what_a_dead_process_left_is_remembered_and_killed() {
        let mut child = parent();
        let family = ServerProcesses::follow(child.id());
        let left = list_members(child.id())[1];
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(family.survivors(), [left]);
        family.kill_survivors();
        assert!(family.survivors().is_empty());
        assert!(!process::is_alive(left));
    }
}
