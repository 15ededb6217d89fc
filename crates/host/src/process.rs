//! Processes as `/proc` shows them: memory, CPU, page faults, context switches, I/O.

use crate::usage::ResourceUsage;
use nix::sys::resource::{Usage as SystemUsage, UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use std::collections::HashMap;
use std::fs::read_to_string;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Context switches and time spent runnable but not running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// Switches by which a thread began to wait.
    pub voluntary: u64,
    /// Switches by which the kernel took the processor from a thread.
    pub involuntary: u64,
    /// Time that threads were runnable and waited for a processor, nanoseconds; 0 where the kernel
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
    /// The highest resident set size that the process ever had.
    pub max_rss_bytes: u64,
}

/// Reads the resources that this process and the children it has waited for have used. The kernel
/// adds the children's I/O to the process's own.
///
/// # Errors
/// A sentence with what the operating system says.
pub fn read_own_usage() -> Result<ResourceUsage, String> {
    let read = |who| {
        getrusage(who).map_err(|error| format!("reading this process's resource usage: {error}"))
    };
    let both = [
        read(UsageWho::RUSAGE_SELF)?,
        read(UsageWho::RUSAGE_CHILDREN)?,
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
        // Absent where the kernel does not account; the runner then records zeros.
        ..read_io(std::process::id()).unwrap_or_default()
    })
}

/// Reads the CPU time and page faults of `pid`; `None` once it is gone.
pub fn read_cpu_and_faults(pid: u32) -> Option<ResourceUsage> {
    parse_stat(&read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// As [`read_cpu_and_faults`], children that it has waited for included.
pub fn read_cpu_and_faults_with_ended(pid: u32) -> Option<ResourceUsage> {
    let text = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(parse_stat(&text)? + parse_ended(&text)?)
}

/// Returns the parent of `pid`; `None` once it is gone.
pub(crate) fn read_parent(pid: u32) -> Option<u32> {
    let text = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    StatFields::of(&text)?.number(4)?.try_into().ok()
}

/// Returns when `pid` started, in clock ticks since boot; `None` once it is gone. Number and start
/// time together identify a process for good.
pub(crate) fn read_start_time_ticks(pid: u32) -> Option<u64> {
    let text = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    StatFields::of(&text)?.number(22)
}

/// Whether a process has not ended. A zombie has ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    let text = read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = StatFields::of(&text);
    let state = fields.and_then(|fields| fields.0.first().copied());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

/// Reads the I/O of `pid`; `None` once it is gone, or where the kernel does not account for it.
pub fn read_io(pid: u32) -> Option<ResourceUsage> {
    parse_io(&read_to_string(format!("/proc/{pid}/io")).ok()?)
}

/// Memory of `pid` now; `None` once it is gone. The kernel walks all that the process maps for it,
/// which holds up the process's page faults meanwhile: [`read_rss_bytes`] costs nothing.
pub fn read_memory(pid: u32) -> Option<MemoryUsage> {
    let rollup = read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_memory(&rollup, &status)
}

/// Returns the resident set size of `pid` as the kernel keeps it; `None` once it is gone.
pub fn read_rss_bytes(pid: u32) -> Option<u64> {
    use nix::unistd::{SysconfVar, sysconf};
    let pages = read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok().flatten()?;
    // A process that has ended and is not buried yet has no page.
    (pages > 0).then(|| pages * page_bytes.unsigned_abs())
}

/// Clock ticks per second of the times in `/proc`.
pub(super) fn clock_ticks_per_s() -> f64 {
    use nix::unistd::{SysconfVar, sysconf};
    sysconf(SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .map_or(100.0, |ticks| ticks as f64)
}

/// The fields of `/proc/PID/stat` (proc_pid_stat(5)) by their numbers there. The command, field 2,
/// may hold blanks and parentheses, so fields are counted from the last parenthesis.
struct StatFields<'a>(Vec<&'a str>);

impl<'a> StatFields<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let after_command = &text[text.rfind(')')? + 1..];
        Some(Self(after_command.split_whitespace().collect()))
    }

    fn number(&self, field: usize) -> Option<u64> {
        self.0.get(field - 3)?.parse().ok()
    }

    /// CPU of two fields in clock ticks, and page faults of two others.
    fn cpu_and_faults(&self, cpu: [usize; 2], faults: [usize; 2]) -> Option<ResourceUsage> {
        let tick = clock_ticks_per_s();
        let seconds = |field| Some(self.number(field)? as f64 / tick);
        Some(ResourceUsage {
            user_cpu_s: seconds(cpu[0])?,
            system_cpu_s: seconds(cpu[1])?,
            minor_page_faults: self.number(faults[0])?,
            major_page_faults: self.number(faults[1])?,
            ..ResourceUsage::default()
        })
    }
}

/// Parses the CPU time and page faults of a process itself.
fn parse_stat(text: &str) -> Option<ResourceUsage> {
    StatFields::of(text)?.cpu_and_faults([14, 15], [10, 12])
}

/// Parses those of the children that it has waited for.
fn parse_ended(text: &str) -> Option<ResourceUsage> {
    StatFields::of(text)?.cpu_and_faults([16, 17], [11, 13])
}

fn parse_switches(status: &str) -> Option<ContextSwitches> {
    Some(ContextSwitches {
        voluntary: named_number(status, "voluntary_ctxt_switches:")?,
        involuntary: named_number(status, "nonvoluntary_ctxt_switches:")?,
        run_delay_ns: 0,
    })
}

/// The second number of `/proc/PID/task/TID/schedstat` (Documentation/scheduler/sched-stats.rst).
fn parse_run_delay(text: &str) -> u64 {
    let number = text.split_whitespace().nth(1);
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

fn parse_io(text: &str) -> Option<ResourceUsage> {
    let field = |name| named_number(text, name);
    Some(ResourceUsage {
        read_call_bytes: field("rchar:")?,
        write_call_bytes: field("wchar:")?,
        storage_read_bytes: field("read_bytes:")?,
        storage_written_bytes: field("write_bytes:")?,
        read_calls: field("syscr:")?,
        write_calls: field("syscw:")?,
        ..ResourceUsage::default()
    })
}

fn parse_memory(rollup: &str, status: &str) -> Option<MemoryUsage> {
    let bytes = |text, name| named_number(text, name).map(|kilobytes| kilobytes * 1024);
    let rss_bytes = bytes(rollup, "Rss:")?;
    Some(MemoryUsage {
        pss_bytes: bytes(rollup, "Pss:")?,
        rss_bytes,
        // The kernel keeps the mark only roughly up to date.
        max_rss_bytes: bytes(status, "VmHWM:").map_or(rss_bytes, |mark| mark.max(rss_bytes)),
    })
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
/// that cannot be read.
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
    fn processor_time_is_read_past_a_command_with_blanks_and_parentheses() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194304 90 0 1 0 250 50 0 0 20 0 1 0 9 8 7";
        let ticks = clock_ticks_per_s();
        let used = parse_stat(text).unwrap();
        assert_eq!(
            (used.user_cpu_s, used.system_cpu_s),
            (250.0 / ticks, 50.0 / ticks)
        );
        assert_eq!((used.minor_page_faults, used.major_page_faults), (90, 1));
        let text = "7 (a b) S 1 7 7 0 -1 4194304 90 8 1 6 250 50 300 20 20 0 1 0 9 8 7";
        let used = parse_ended(text).unwrap();
        assert_eq!(
            (used.user_cpu_s, used.system_cpu_s),
            (300.0 / ticks, 20.0 / ticks)
        );
        assert_eq!((used.minor_page_faults, used.major_page_faults), (8, 6));
        assert_eq!(parse_stat("nothing of the kind"), None);
    }

    #[test]
    fn storage_bytes_are_told_from_bytes_through_calls() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\n\
                    write_bytes: 8192\ncancelled_write_bytes: 0\n";
        let io = parse_io(text).unwrap();
        assert_eq!((io.read_call_bytes, io.write_call_bytes), (10, 20));
        assert_eq!((io.read_calls, io.write_calls), (1, 2));
        assert_eq!(
            (io.storage_read_bytes, io.storage_written_bytes),
            (4096, 8192)
        );
        assert_eq!(parse_io("rchar: 10\n"), None);
    }

    #[test]
    fn the_proportional_set_size_is_not_one_of_its_parts() {
        let text = "5581-7ffc ---p 00000000 00:00 0 [rollup]\nRss:    2048 kB\nPss:    1024 kB\n\
                    Pss_Dirty:  100 kB\nPss_Anon:  90 kB\n";
        let memory = parse_memory(text, "VmHWM:\t    3072 kB\n").unwrap();
        assert_eq!((memory.pss_bytes, memory.rss_bytes), (1 << 20, 2 << 20));
        assert_eq!(memory.max_rss_bytes, 3 << 20);
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
