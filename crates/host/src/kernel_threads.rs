//! CPU of the kernel's own threads: write-back, journals, loop devices, compaction of memory.

use super::pressure::CpuSet;
use std::collections::HashMap;
use std::fs::read_to_string;

/// The process that all of the kernel's threads descend from.
const PARENT: u32 = 2;

/// Machines of very many processors have thousands of them. Beyond this many they are not looked
/// at: a sample must stay cheap.
const MAX_THREADS: usize = 4_096;

/// The CPU time that the kernel's threads have used since this was made.
#[derive(Debug, Default)]
pub struct KernelThreads {
    /// Clock ticks by thread, when last looked at.
    ticks_by_thread: HashMap<u32, u64>,
    used_ticks: u64,
}

impl KernelThreads {
    /// Starts to count; `None` if the threads are hidden, as in a container, where process 2 is a
    /// different one.
    pub fn start(cpus: &CpuSet) -> Option<Self> {
        let mut threads = Self::default();
        threads.used_s(cpus)?;
        threads.used_ticks = 0;
        Some(threads)
    }

    /// Returns the CPU seconds that they have used on those processors since the start. The use of
    /// a thread is attributed to the processor on which it last ran.
    pub fn used_s(&mut self, cpus: &CpuSet) -> Option<f64> {
        let is_parent = read_to_string(format!("/proc/{PARENT}/comm")).ok()?;
        if is_parent.trim() != "kthreadd" {
            return None;
        }
        let children = read_to_string(format!("/proc/{PARENT}/task/{PARENT}/children")).ok()?;
        let mut now = HashMap::new();
        for thread in children.split_whitespace() {
            let thread: u32 = thread.parse().ok()?;
            if now.len() == MAX_THREADS {
                return None;
            }
            // A thread may end between the listing and the reading.
            let stat = read_to_string(format!("/proc/{thread}/stat")).ok();
            if let Some((ticks, cpu)) = stat.as_deref().and_then(parse) {
                now.insert(thread, ticks);
                if cpus.contains(cpu) {
                    self.used_ticks +=
                        ticks_since(self.ticks_by_thread.get(&thread).copied(), ticks);
                }
            }
        }
        self.ticks_by_thread = now;
        Some(self.used_ticks as f64 / super::process::clock_ticks_per_s())
    }
}

/// Ticks since it was last seen. One that has fewer than before is another one of that number.
fn ticks_since(before: Option<u64>, now: u64) -> u64 {
    match before {
        Some(before) if before <= now => now - before,
        _ => now,
    }
}

/// Reads from `/proc/PID/stat` (proc_pid_stat(5)) the sum of fields 14 and 15, clock ticks, and
/// field 39, the last processor. Fields are counted from the parenthesis after the name.
fn parse(stat: &str) -> Option<(u64, u32)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let cpu = u32::try_from(number(39)?).ok()?;
    Some((number(14)? + number(15)?, cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_processor_are_read_past_any_name() {
        let stat = "9 (kworker/1:0 (x)) I 2 0 0 0 -1 69238880 0 0 0 0 7 5 0 0 20 0 1 0 27 0 0 \
                    18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 0 0 0 0 0 0 0";
        assert_eq!(parse(stat), Some((12, 3)));
        assert_eq!(parse("9 (short) I 2"), None);
    }

    #[test]
    fn a_new_thread_counts_whole_and_an_old_one_since_it_was_seen() {
        assert_eq!(ticks_since(None, 5), 5);
        assert_eq!(ticks_since(Some(3), 5), 2);
        assert_eq!(ticks_since(Some(9), 5), 5);
    }

    #[test]
    fn the_kernels_threads_are_seen_here_and_never_use_less_than_before() {
        let cpus = CpuSet::all();
        let Some(mut threads) = KernelThreads::start(&cpus) else {
            eprintln!("skipped: the kernel's threads cannot be seen here");
            return;
        };
        assert!(!threads.ticks_by_thread.is_empty());
        let first = threads.used_s(&cpus).unwrap();
        assert!(threads.used_s(&cpus).unwrap() >= first);
        let none = CpuSet::of(&[u32::MAX]);
        assert_eq!(
            KernelThreads::start(&none).unwrap().used_s(&none),
            Some(0.0)
        );
    }
}
