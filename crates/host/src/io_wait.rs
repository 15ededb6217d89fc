//! Samples of whether any thread of some processes waits for I/O, read from `/proc`.

use nix::libc::{SYS_io_getevents, SYS_io_uring_enter, c_long};
use std::collections::BTreeMap;
use std::fs::{File, read_dir, read_to_string};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Threads sampled at most: a sample must stay cheap.
const MAX_THREADS: usize = 64;

/// More than a thread's name and state take in its `stat`.
const STAT_PREFIX_BYTES: usize = 128;

/// The number of samples and of those in which a thread waited for I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoWaitSamples {
    /// The number of all samples.
    pub total: u64,
    /// Samples in which at least one thread waited for I/O.
    pub waiting: u64,
}

impl IoWaitSamples {
    /// Returns the samples taken since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            total: self.total.saturating_sub(before.total),
            waiting: self.waiting.saturating_sub(before.waiting),
        }
    }

    /// Returns the share of the samples in which a thread waited for I/O; `None` without any
    /// sample.
    pub fn share(&self) -> Option<f64> {
        (self.total > 0).then(|| self.waiting as f64 / self.total as f64)
    }
}

/// The sampled threads, each with its state file held open.
///
/// The sampler has just been woken, often on the processor of a waiting thread. That thread's I/O
/// may complete within tens of microseconds: so all states are read at once, and the list of
/// threads is updated afterwards, for the next sample.
#[derive(Debug, Default)]
pub struct IoWaitSampler {
    threads: BTreeMap<PathBuf, File>,
    /// The samples taken so far.
    pub samples: IoWaitSamples,
}

impl IoWaitSampler {
    /// Looks at the known threads once, then learns which threads the processes have.
    pub fn sample(&mut self, pids: impl Iterator<Item = u32>) {
        if self.threads.is_empty() {
            self.list_threads(pids);
            self.sample_known();
        } else {
            self.sample_known();
            self.list_threads(pids);
        }
    }

    fn sample_known(&mut self) {
        let mut waiting = false;
        self.threads.retain(|task, stat| {
            let mut beginning = [0; STAT_PREFIX_BYTES];
            // A thread that has ended cannot be read any more.
            let Ok(length @ 1..) = stat.read_at(&mut beginning, 0) else {
                return false;
            };
            waiting = waiting || is_waiting(task, &String::from_utf8_lossy(&beginning[..length]));
            true
        });
        self.samples.total += 1;
        self.samples.waiting += u64::from(waiting);
    }

    fn list_threads(&mut self, pids: impl Iterator<Item = u32>) {
        let tasks =
            pids.flat_map(|pid| read_dir(format!("/proc/{pid}/task")).into_iter().flatten());
        for task in tasks.flatten().take(MAX_THREADS) {
            let task = task.path();
            if self.threads.contains_key(&task) {
                continue;
            }
            // It may have ended since it was listed.
            if let Ok(stat) = File::open(task.join("stat")) {
                self.threads.insert(task, stat);
            }
        }
    }
}

fn is_waiting(task: &Path, stat: &str) -> bool {
    match state(stat) {
        Some('D') => true,
        Some('S') => {
            let call = read_to_string(task.join("syscall")).unwrap_or_default();
            waits_for_completions(&call)
        }
        _ => false,
    }
}

/// Returns field 3 of `/proc/PID/stat`; the name before it may contain any character.
fn state(stat: &str) -> Option<char> {
    stat[stat.rfind(')')? + 1..].trim_start().chars().next()
}

/// Returns whether `/proc/PID/syscall` shows a call that waits for asynchronous I/O in an
/// interruptible sleep. All other file I/O sleeps uninterruptibly.
fn waits_for_completions(call: &str) -> bool {
    let number = call.split_whitespace().next();
    let number = number.and_then(|number| number.parse::<c_long>().ok());
    number.is_some_and(|number| [SYS_io_uring_enter, SYS_io_getevents].contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_past_any_name() {
        assert_eq!(state("7 (a) D (b)) S 1 2"), Some('S'));
        assert_eq!(state("7 (cat) D 1 2"), Some('D'));
        assert_eq!(state(""), None);
    }

    #[test]
    fn asynchronous_io_is_known_by_its_calls_and_other_sleeps_are_none() {
        assert!(waits_for_completions(&format!(
            "{SYS_io_uring_enter} 0x3 0x1 0x1 0x1"
        )));
        assert!(!waits_for_completions(&format!(
            "{} 0x0",
            nix::libc::SYS_futex
        )));
        assert!(!waits_for_completions("running"));
        assert!(!waits_for_completions(""));
    }

    #[test]
    fn a_process_that_sleeps_waits_for_no_io() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let mut watch = IoWaitSampler::default();
        assert_eq!(watch.samples.share(), None);
        std::thread::sleep(std::time::Duration::from_millis(50));
        for _ in 0..4 {
            watch.sample([child.id()].into_iter());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(watch.samples.share().unwrap() < 1.0, "{watch:?}");
    }

    #[test]
    fn a_process_that_flushes_all_the_time_is_seen_to_wait() {
        let folder = tempfile::tempdir().unwrap();
        if crate::disk::Disk::below(folder.path()).is_none() {
            eprintln!("skipped: the temporary folder is on no block device");
            return;
        }
        let file = std::fs::File::create(folder.path().join("file")).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let mut watch = IoWaitSampler::default();
        std::thread::scope(|scope| {
            use std::sync::atomic::Ordering::Relaxed;
            scope.spawn(|| {
                use std::os::unix::fs::FileExt;
                let block = vec![7; 4 << 20];
                while !stop.load(Relaxed) {
                    file.write_all_at(&block, 0).unwrap();
                    file.sync_all().unwrap();
                }
            });
            for _ in 0..200 {
                watch.sample([std::process::id()].into_iter());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            stop.store(true, Relaxed);
        });
        assert!(watch.samples.waiting > 0, "{watch:?}");
    }
}
