//! Processes as `/proc` shows them: memory, CPU, page faults, context switches, I/O.

use crate::usage::ResourceUsage;
use nix::sys::resource::{Usage as SystemUsage, UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use procfs::process::{Process, Stat};
use std::collections::HashMap;
use std::fs::read_to_string;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// The number of processes that do not run that are named.
const MAX_STUCK: usize = 3;

const STOPPED: &str = "is stopped by a signal";

/// Context switches and time spent runnable but not running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// Switches by which a thread began to wait.
    pub voluntary: u64,
    /// Switches by which the kernel took the processor from a thread.
    pub involuntary: u64,
    /// Time that threads were runnable and waited for a processor, nanoseconds; 0 if the kernel
    /// does not account for it.
    pub run_delay_ns: u64,
}

/// The context switches of a process by thread. The kernel forgets those of an ended thread; this
/// keeps the last value read.
#[derive(Debug, Clone, Default)]
pub struct ThreadContextSwitches {
    by_thread: HashMap<String, ContextSwitches>,
    /// Switches of threads whose number another thread has taken.
    replaced: ContextSwitches,
}

impl ThreadContextSwitches {
    /// Reads the switches of every live thread of `pid`, and returns the sum over all threads,
    /// ended ones included.
    pub fn read(&mut self, pid: u32) -> ContextSwitches {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            // A thread may end between the listing and the reading.
            let status = read_to_string(thread.path().join("status")).unwrap_or_default();
            if let Some(mut switches) = parse_switches(&status) {
                let scheduled = read_to_string(thread.path().join("schedstat"));
                switches.run_delay_ns = parse_run_delay(&scheduled.unwrap_or_default());
                self.note(thread.file_name().to_string_lossy().into_owned(), switches);
            }
        }
        self.total()
    }

    fn note(&mut self, thread: String, now: ContextSwitches) {
        let before = self.by_thread.insert(thread, now).unwrap_or_default();
        if now.voluntary < before.voluntary || now.involuntary < before.involuntary {
            self.replaced.voluntary += before.voluntary;
            self.replaced.involuntary += before.involuntary;
            self.replaced.run_delay_ns += before.run_delay_ns;
        }
    }

    /// Returns the sum over all threads, ended ones included.
    pub fn total(&self) -> ContextSwitches {
        let mut total = self.replaced;
        for switches in self.by_thread.values() {
            total.voluntary += switches.voluntary;
            total.involuntary += switches.involuntary;
            total.run_delay_ns += switches.run_delay_ns;
        }
        total
    }
}

/// Memory of a process, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryUsage {
    /// Proportional set size: a page that n processes map counts 1/n in each.
    pub pss_bytes: u64,
    /// Resident set size: shared pages count in full.
    pub rss_bytes: u64,
    /// The peak resident set size of the process.
    pub max_rss_bytes: u64,
}

/// The kernel does not say what this process uses.
#[derive(Debug, thiserror::Error)]
#[error("reading this process's resource usage: {0}")]
pub struct UsageError(#[from] nix::Error);

/// Reads the resources used by this process and the children that it has waited for. The kernel
/// adds the children's I/O to the process's own.
///
/// # Errors
/// [`UsageError`].
pub fn read_own_usage() -> Result<ResourceUsage, UsageError> {
    let both = [
        getrusage(UsageWho::RUSAGE_SELF)?,
        getrusage(UsageWho::RUSAGE_CHILDREN)?,
    ];
    let seconds = |of: fn(&SystemUsage) -> TimeVal| {
        both.iter()
            .map(|used| of(used).num_microseconds() as f64 / 1e6)
            .sum()
    };
    let count = |of: fn(&SystemUsage) -> i64| both.iter().map(|used| of(used).unsigned_abs()).sum();
    Ok(ResourceUsage {
        user_cpu_s: seconds(SystemUsage::user_time),
        system_cpu_s: seconds(SystemUsage::system_time),
        voluntary_context_switches: count(SystemUsage::voluntary_context_switches),
        involuntary_context_switches: count(SystemUsage::involuntary_context_switches),
        minor_page_faults: count(SystemUsage::minor_page_faults),
        major_page_faults: count(SystemUsage::major_page_faults),
        // Absent if the kernel does not account; the runner then records zeros.
        ..read_io(std::process::id()).unwrap_or_default()
    })
}

/// Reads the CPU time and page faults of `pid`; `None` once it is gone.
pub fn read_cpu_and_faults(pid: u32) -> Option<ResourceUsage> {
    Some(own_cpu_and_faults(&read_stat(pid)?))
}

/// As [`read_cpu_and_faults`], including children that it has waited for.
pub fn read_cpu_and_faults_with_ended(pid: u32) -> Option<ResourceUsage> {
    let stat = read_stat(pid)?;
    Some(own_cpu_and_faults(&stat) + cpu_and_faults_of_ended(&stat))
}

/// Returns the parent of `pid`; `None` once it is gone.
pub(crate) fn read_parent(pid: u32) -> Option<u32> {
    read_stat(pid)?.ppid.try_into().ok()
}

/// Returns the start time of `pid`, in clock ticks since boot; `None` once it is gone. Number and
/// start time together identify a process uniquely.
pub(crate) fn read_start_time_ticks(pid: u32) -> Option<u64> {
    Some(read_stat(pid)?.starttime)
}

/// Returns whether a process has not ended. A zombie has ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    process(pid).is_some_and(|process| process.is_alive())
}

/// Whether a process has ended or is about to: it closes its connections before it can be waited
/// for, so that who is connected may learn of its end first.
pub(crate) fn is_ending(pid: u32) -> bool {
    /// `PF_EXITING` among the kernel's flags of a process.
    const EXITING: u32 = 4;
    read_stat(pid).is_some_and(|stat| stat.flags & EXITING > 0)
}

/// Describes those of some processes that do not run: stopped by a signal, or kept in the kernel by
/// a device or a file system; `None` if all do.
#[must_use]
pub fn describe_stuck(pids: &[u32]) -> Option<String> {
    describe_states(pids, |state| match state {
        'T' | 't' => Some(STOPPED),
        'D' => Some("waits in the kernel, for a device or a file system"),
        _ => None,
    })
}

/// Describes those of some processes that are stopped by a signal; `None` if none is.
#[must_use]
pub fn describe_stopped(pids: &[u32]) -> Option<String> {
    describe_states(pids, |state| matches!(state, 'T' | 't').then_some(STOPPED))
}

fn describe_states(
    pids: &[u32],
    describe: impl Fn(char) -> Option<&'static str>,
) -> Option<String> {
    let describe = |&pid: &u32| {
        let stat = read_stat(pid)?;
        let state = describe(stat.state)?;
        Some(format!("process {pid} ({}) {state}", stat.comm))
    };
    let found: Vec<_> = pids.iter().filter_map(describe).take(MAX_STUCK).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Returns the state of each thread of a process, as proc(5) has it; nothing once it is gone.
pub(crate) fn read_thread_states(pid: u32) -> Vec<char> {
    let threads = process(pid).and_then(|process| process.tasks().ok());
    let threads = threads.into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| thread.stat().ok());
    stats.map(|stat| stat.state).collect()
}

/// Returns whether the process waits in the kernel, and no signal ends it.
pub(crate) fn is_uninterruptible(pid: u32) -> bool {
    read_stat(pid).is_some_and(|stat| stat.state == 'D')
}

/// Returns whether a signal has stopped the process, and none has continued it.
#[must_use]
pub fn is_stopped(pid: u32) -> bool {
    read_stat(pid).is_some_and(|stat| matches!(stat.state, 'T' | 't'))
}

/// Reads how long this thread has been runnable and has waited for a processor, so far; zero if the
/// kernel does not account for it.
#[must_use]
pub fn read_own_run_delay() -> Duration {
    let text = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(parse_run_delay(&text))
}

/// Reads the I/O of `pid`; `None` once it is gone, or if the kernel does not account for it.
pub fn read_io(pid: u32) -> Option<ResourceUsage> {
    let io = process(pid)?.io().ok()?;
    Some(ResourceUsage {
        read_call_bytes: io.rchar,
        write_call_bytes: io.wchar,
        storage_read_bytes: io.read_bytes,
        storage_written_bytes: io.write_bytes,
        read_calls: io.syscr,
        write_calls: io.syscw,
        ..ResourceUsage::default()
    })
}

/// Reads the memory of `pid`; `None` once it is gone. The kernel walks all mappings of the process,
/// which delays its page faults meanwhile: [`read_rss_bytes`] costs nothing.
pub fn read_memory(pid: u32) -> Option<MemoryUsage> {
    let process = process(pid)?;
    let rollup = process.smaps_rollup().ok()?.memory_map_rollup;
    let sizes = &rollup.0.first()?.extension.map;
    let rss_bytes = *sizes.get("Rss")?;
    let mark_bytes = process
        .status()
        .ok()?
        .vmhwm
        .map(|kilobytes| kilobytes * 1024);
    Some(MemoryUsage {
        pss_bytes: *sizes.get("Pss")?,
        rss_bytes,
        // The kernel keeps the mark only roughly up to date.
        max_rss_bytes: mark_bytes.map_or(rss_bytes, |mark| mark.max(rss_bytes)),
    })
}

/// Returns the resident set size of `pid` from the kernel's own counter; `None` once it is gone.
pub fn read_rss_bytes(pid: u32) -> Option<u64> {
    let pages = process(pid)?.statm().ok()?.resident;
    // A process that has ended and is not buried yet has no page.
    (pages > 0).then(|| pages * procfs::page_size())
}

/// Returns the clock ticks per second of the times in `/proc`.
pub(super) fn clock_ticks_per_s() -> f64 {
    procfs::ticks_per_second() as f64
}

fn process(pid: u32) -> Option<Process> {
    Process::new(pid.try_into().ok()?).ok()
}

fn read_stat(pid: u32) -> Option<Stat> {
    process(pid)?.stat().ok()
}

fn own_cpu_and_faults(stat: &Stat) -> ResourceUsage {
    ResourceUsage {
        user_cpu_s: stat.utime as f64 / clock_ticks_per_s(),
        system_cpu_s: stat.stime as f64 / clock_ticks_per_s(),
        minor_page_faults: stat.minflt,
        major_page_faults: stat.majflt,
        ..ResourceUsage::default()
    }
}

/// CPU time and page faults of the children that the process has waited for.
fn cpu_and_faults_of_ended(stat: &Stat) -> ResourceUsage {
    ResourceUsage {
        user_cpu_s: stat.cutime as f64 / clock_ticks_per_s(),
        system_cpu_s: stat.cstime as f64 / clock_ticks_per_s(),
        minor_page_faults: stat.cminflt,
        major_page_faults: stat.cmajflt,
        ..ResourceUsage::default()
    }
}

/// Parses the context switches of a thread. It is read for each thread and sample, and only these
/// two of its sixty lines are used.
fn parse_switches(status: &str) -> Option<ContextSwitches> {
    Some(ContextSwitches {
        voluntary: named_number(status, "voluntary_ctxt_switches:")?,
        involuntary: named_number(status, "nonvoluntary_ctxt_switches:")?,
        run_delay_ns: 0,
    })
}

/// Parses the second number of `/proc/PID/task/TID/schedstat`
/// (Documentation/scheduler/sched-stats.rst).
fn parse_run_delay(text: &str) -> u64 {
    let number = text.split_whitespace().nth(1);
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

fn named_number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Describes how a process ended: `was killed by SIGKILL`, `exited with code 1`.
#[must_use]
pub fn describe_exit_status(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(number), _) => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => format!("was killed by {}", signal.as_str()),
            Err(_) => format!("was killed by signal {number}"),
        },
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Lists the files with machine code that a process has mapped, except this program; `None` if
/// unreadable.
#[must_use]
pub fn list_loaded_files(process: &str) -> Option<Vec<PathBuf>> {
    let maps = read_to_string(format!("/proc/{process}/maps")).ok()?;
    let own = std::env::current_exe().ok();
    let mut files: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let is_code = words.nth(1).is_some_and(|mode| mode.contains('x'));
        let path = line.find('/').map(|at| PathBuf::from(&line[at..]));
        if let Some(path) = path.filter(|path| is_code && Some(path) != own.as_ref())
            && !files.contains(&path)
        {
            files.push(path);
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromRead;

    #[test]
    fn a_signal_is_named_and_an_exit_code_told() {
        assert_eq!(
            describe_exit_status(ExitStatus::from_raw(9)),
            "was killed by SIGKILL"
        );
        assert_eq!(
            describe_exit_status(ExitStatus::from_raw(3 << 8)),
            "exited with code 3"
        );
    }

    #[test]
    fn processor_time_and_faults_of_ended_children_are_apart_from_the_process_s_own() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194304 90 8 1 6 250 50 300 20 20 0 1 0 9 8 7 0 0 0 \
                    0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let stat = Stat::from_read(text.as_bytes()).unwrap();
        let ticks = clock_ticks_per_s();
        let own = own_cpu_and_faults(&stat);
        assert_eq!(
            (own.user_cpu_s, own.system_cpu_s),
            (250.0 / ticks, 50.0 / ticks)
        );
        assert_eq!((own.minor_page_faults, own.major_page_faults), (90, 1));
        let ended = cpu_and_faults_of_ended(&stat);
        assert_eq!(
            (ended.user_cpu_s, ended.system_cpu_s),
            (300.0 / ticks, 20.0 / ticks)
        );
        assert_eq!((ended.minor_page_faults, ended.major_page_faults), (8, 6));
        assert_eq!(read_cpu_and_faults(u32::MAX), None);
    }

    #[test]
    fn voluntary_switches_are_not_the_nonvoluntary_ones() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        let switches = parse_switches(status).unwrap();
        assert_eq!((switches.voluntary, switches.involuntary), (12, 3));
    }

    #[test]
    fn an_ended_threads_switches_stay_in_the_sum() {
        let mut thread_switches = ThreadContextSwitches::default();
        let own = std::process::id();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            for _ in 0..20 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let _ = receiver.recv();
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        let before = thread_switches.read(own);
        assert!(before.voluntary >= 20, "{before:?}");
        drop(sender);
        thread.join().unwrap();
        assert!(thread_switches.read(own).voluntary >= before.voluntary);
    }

    #[test]
    fn a_thread_that_takes_the_number_of_an_ended_one_adds_to_it() {
        let mut thread_switches = ThreadContextSwitches::default();
        let switches = |voluntary| ContextSwitches {
            voluntary,
            involuntary: 1,
            run_delay_ns: 10,
        };
        for voluntary in [5, 9, 2] {
            thread_switches.note("7".to_owned(), switches(voluntary));
        }
        assert_eq!(thread_switches.total().voluntary, 11);
        assert_eq!(parse_run_delay("143287 63584888 3\n"), 63_584_888);
        assert_eq!(parse_run_delay(""), 0);
    }

    #[test]
    fn this_process_can_be_read() {
        let own = std::process::id();
        let memory = read_memory(own).unwrap();
        assert!(memory.rss_bytes > 0 && memory.max_rss_bytes >= memory.rss_bytes);
        assert!(read_rss_bytes(own).unwrap() > 0);
        assert!(read_io(own).is_some() && read_cpu_and_faults(own).is_some());
    }

    #[test]
    fn the_files_of_a_process_are_libraries_and_not_this_program() {
        let files = list_loaded_files("self").unwrap();
        assert!(
            files
                .iter()
                .any(|file| file.to_string_lossy().contains("libc.so"))
        );
        assert!(!files.contains(&std::env::current_exe().unwrap()));
        assert_eq!(list_loaded_files("none"), None);
    }
}
