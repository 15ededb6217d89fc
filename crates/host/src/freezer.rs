//! Stops all processes of a contender between its time slices, and lets them go on.
//!
//! Its workers stop in the middle of whatever they do, and so does its server: no background work
//! of one contender runs while another is measured, and what its workers hold and wait for is
//! afterwards as it was.

use crate::cgroup::{FreezerGroup, MemoryGroup};
use crate::process::{describe_stuck, read_thread_states};
use crate::process_tree::list_members;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// The pause between two looks at whether all have stopped.
const PAUSE: Duration = Duration::from_micros(50);

/// The time that processes may take to stop. They do within a millisecond, unless storage stalls.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A contender's processes do not stop.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// Some have not stopped in time.
    #[error(
        "its processes did not stop within {} s for the next time slice: run it with \
         --time-slice none{}",
        limit.as_secs(),
        stuck.as_ref().map_or_else(String::new, |stuck| format!("; {stuck}"))
    )]
    NotStopped {
        /// The time that they had.
        limit: Duration,
        /// What keeps them, if it is known.
        stuck: Option<String>,
    },
}

/// How processes are stopped.
#[derive(Debug)]
enum StopMechanism {
    /// By the freezer of control groups, of which they know nothing.
    Group(FreezerGroup),
    /// By SIGSTOP and SIGCONT.
    Signals,
}

/// Stops and continues processes and their descendants. When it is dropped they go on.
#[derive(Debug)]
pub struct Freezer {
    roots: Vec<u32>,
    mechanism: StopMechanism,
    is_stopped: bool,
    /// The processes that were sent the signal to stop.
    signaled: Vec<u32>,
}

impl Freezer {
    /// Creates the freezer of these processes and their descendants, in the group of their memory
    /// limit if they have one. Where no control group can be used, or once it cannot be used
    /// any more, they are stopped by signals.
    #[must_use]
    pub fn new(roots: Vec<u32>, limit: Option<&MemoryGroup>) -> Self {
        let limited = limit.and_then(FreezerGroup::of_memory_limit);
        let mechanism = limited.map_or_else(|| group_of(&roots), StopMechanism::Group);
        Self {
            roots,
            mechanism,
            is_stopped: false,
            signaled: Vec::new(),
        }
    }

    /// Creates a freezer that uses signals only.
    #[must_use]
    pub fn by_signals(roots: Vec<u32>) -> Self {
        Self {
            roots,
            mechanism: StopMechanism::Signals,
            is_stopped: false,
            signaled: Vec::new(),
        }
    }

    /// Returns whether they are stopped by signals.
    #[must_use]
    pub fn uses_signals(&self) -> bool {
        matches!(self.mechanism, StopMechanism::Signals)
    }

    /// Stops all processes, and waits until no thread runs. Returns what `read` reads at the moment
    /// from which on their time does not count: when they were told, or when the last one returned
    /// from a wait in the kernel that nothing interrupts, such as a flush. Stops waiting once
    /// `go_on` says no.
    ///
    /// # Errors
    /// [`FreezeError`].
    pub fn stop<T>(
        &mut self,
        read: impl Fn() -> T,
        go_on: impl Fn() -> bool,
    ) -> Result<T, FreezeError> {
        let began = Instant::now();
        self.is_stopped = true;
        self.send_stop();
        let mut since = read();
        loop {
            let states = self.read_states();
            if states.have_stopped || !go_on() {
                return Ok(since);
            }
            if states.in_kernel {
                since = read();
            }
            if began.elapsed() >= STOP_TIMEOUT {
                let members: Vec<u32> = self.members().collect();
                return Err(FreezeError::NotStopped {
                    limit: STOP_TIMEOUT,
                    stuck: describe_stuck(&members),
                });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Tells all to stop, at once.
    fn send_stop(&mut self) {
        if let StopMechanism::Group(group) = &self.mechanism {
            if group.set_frozen(true).is_ok() {
                return;
            }
            // Somebody removed the group or took the right to it. The trial need not fail for that.
            self.mechanism = StopMechanism::Signals;
        }
        self.signaled = self.members().collect();
        self.signaled
            .iter()
            .for_each(|pid| signal(*pid, Signal::SIGSTOP));
    }

    /// Looks whether they have stopped.
    fn read_states(&mut self) -> States {
        match &self.mechanism {
            StopMechanism::Group(group) => {
                let have_stopped = group.is_frozen();
                States {
                    have_stopped,
                    in_kernel: !have_stopped && group.threads().into_iter().any(is_in_kernel),
                }
            }
            StopMechanism::Signals => self.read_member_states(),
        }
    }

    /// Looks at all processes, and tells those that run: one may have been started meanwhile.
    fn read_member_states(&mut self) -> States {
        let members: Vec<u32> = self.members().collect();
        let mut states = States {
            have_stopped: true,
            in_kernel: false,
        };
        for &pid in &members {
            let of_threads = read_thread_states(pid);
            if of_threads.iter().any(|state| !is_at_rest(*state)) {
                states.have_stopped = false;
                states.in_kernel |= of_threads.contains(&'D');
                signal(pid, Signal::SIGSTOP);
            }
        }
        // One that ran when they were listed may have started another since.
        self.signaled = self.members().collect();
        states.have_stopped &= self.signaled == members;
        states
    }

    /// Lets all go on.
    pub fn resume(&mut self) {
        if !std::mem::take(&mut self.is_stopped) {
            return;
        }
        match &self.mechanism {
            StopMechanism::Group(group) => {
                // Where this fails somebody has the group now; the limits of the trial end it.
                let _ = group.set_frozen(false);
            }
            // Those that are stopped start and end nobody.
            StopMechanism::Signals => {
                let signaled = std::mem::take(&mut self.signaled);
                signaled
                    .into_iter()
                    .for_each(|pid| signal(pid, Signal::SIGCONT));
            }
        }
    }

    fn members(&self) -> impl Iterator<Item = u32> {
        self.roots.iter().flat_map(|root| list_members(*root))
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.resume();
    }
}

/// What the threads of the processes do.
struct States {
    have_stopped: bool,
    /// Whether one waits in the kernel, and nothing interrupts it.
    in_kernel: bool,
}

/// Moves processes and their descendants into a new group.
fn group_of(roots: &[u32]) -> StopMechanism {
    let moved = FreezerGroup::make().and_then(|group| {
        let mut known = Vec::new();
        // What was started before its parent was moved is found by the next look.
        loop {
            let members = roots.iter().flat_map(|root| list_members(*root));
            let new: Vec<u32> = members.filter(|pid| !known.contains(pid)).collect();
            if new.is_empty() {
                return Ok(group);
            }
            for pid in new {
                if let Err(error) = group.enter(pid)
                    && crate::process::is_alive(pid)
                {
                    return Err(error);
                }
                known.push(pid);
            }
        }
    });
    moved.map_or(StopMechanism::Signals, StopMechanism::Group)
}

fn signal(pid: u32, signal: Signal) {
    // One that has ended meanwhile needs no signal.
    let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
}

/// Whether a thread in that state (proc(5)) gets nothing done: stopped, or dead.
fn is_at_rest(state: char) -> bool {
    matches!(state, 'T' | 't' | 'Z' | 'X' | 'x')
}

fn is_in_kernel(thread: u32) -> bool {
    let stat = read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The name before it may hold anything but ends with the last bracket.
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with('D'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::read_cpu_and_faults;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};

    /// Starts a process that is busy, and so is its child.
    fn busy_family() -> Child {
        let script = "while :; do :; done & while :; do :; done";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        while list_members(child.id()).len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        child
    }

    fn used_s(members: &[u32]) -> f64 {
        let used = members.iter().filter_map(|pid| read_cpu_and_faults(*pid));
        used.map(|usage| usage.cpu_s()).sum()
    }

    fn assert_stops_and_goes_on(freezer: &mut Freezer, root: u32) {
        let members = list_members(root);
        for _ in 0..3 {
            freezer.stop(|| (), || true).unwrap();
            let before_s = used_s(&members);
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(used_s(&members), before_s, "it is stopped");
            freezer.resume();
            let until = Instant::now() + Duration::from_secs(30);
            while used_s(&members) == before_s {
                assert!(Instant::now() < until, "it goes on");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn end(mut child: Child) {
        for pid in list_members(child.id()) {
            signal(pid, Signal::SIGKILL);
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_family_stops_and_goes_on_by_signals() {
        let child = busy_family();
        let mut freezer = Freezer::by_signals(vec![child.id()]);
        assert!(freezer.uses_signals());
        assert_stops_and_goes_on(&mut freezer, child.id());
        end(child);
    }

    #[test]
    fn a_family_stops_and_goes_on_by_the_freezer_of_control_groups() {
        let child = busy_family();
        let mut freezer = Freezer::new(vec![child.id()], None);
        if freezer.uses_signals() {
            eprintln!("skipped: no control group can be made here");
        } else {
            assert_stops_and_goes_on(&mut freezer, child.id());
        }
        end(child);
    }

    /// The folder of the control group that a process is in; `None` if it is not at a usual place.
    fn group_of_process(pid: u32) -> Option<PathBuf> {
        let groups = read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let folders = mounts.map(|mount| Path::new(mount).join(own));
        let mut folders = folders.into_iter();
        folders.find(|folder| folder.join("cgroup.freeze").exists())
    }

    #[test]
    fn a_family_whose_control_group_is_gone_stops_by_signals() {
        let child = busy_family();
        let mut freezer = Freezer::new(vec![child.id()], None);
        let group = group_of_process(child.id()).filter(|_| !freezer.uses_signals());
        if let Some(group) = group {
            let home = group.with_file_name("cgroup.procs");
            for pid in list_members(child.id()) {
                fs::write(&home, pid.to_string()).unwrap();
            }
            fs::remove_dir(&group).unwrap();
            assert_stops_and_goes_on(&mut freezer, child.id());
            assert!(freezer.uses_signals());
        } else {
            eprintln!("skipped: no control group can be made here");
        }
        end(child);
    }

    #[test]
    fn who_is_stopped_goes_on_when_the_freezer_is_dropped() {
        let makers: [fn(Vec<u32>) -> Freezer; 2] =
            [Freezer::by_signals, |roots| Freezer::new(roots, None)];
        for make in makers {
            let child = busy_family();
            let members = list_members(child.id());
            let mut freezer = make(vec![child.id()]);
            freezer.stop(|| (), || true).unwrap();
            let before_s = used_s(&members);
            drop(freezer);
            let until = Instant::now() + Duration::from_secs(30);
            while used_s(&members) == before_s {
                assert!(Instant::now() < until, "it goes on");
                std::thread::sleep(Duration::from_millis(10));
            }
            end(child);
        }
    }

    #[test]
    fn who_has_ended_is_not_waited_for() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let mut freezer = Freezer::by_signals(vec![pid]);
        child.wait().unwrap();
        assert_eq!(freezer.stop(|| 7, || true).unwrap(), 7);
        freezer.resume();
    }
}
