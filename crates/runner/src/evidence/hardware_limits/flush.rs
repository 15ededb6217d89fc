//! Durable appends per second: each committer for itself, and with one flush for all that wait.

use super::rate;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use trueput_record::hardware_limits::FlushLimit;

/// Measures both ways in preallocated files, because a growing log costs a file system more.
///
/// # Errors
/// The error of the operating system.
pub(super) fn measure(
    folder: &Path,
    threads: u32,
    record_bytes: usize,
) -> std::io::Result<FlushLimit> {
    let record = vec![0x5A; record_bytes];
    let separate_per_s = rate(
        threads,
        |thread| log(&folder.join(format!("log-{thread}"))),
        |log, stop| {
            let mut commits = 0;
            while !stop.load(Relaxed) {
                append(log, commits, &record)?;
                log.sync_data()?;
                commits += 1;
            }
            Ok(commits)
        },
    )?;
    let shared = SharedLog::new(log(&folder.join("log"))?);
    let began = std::time::Instant::now();
    let grouped_per_s = rate(
        threads,
        |_| Ok(()),
        |(), stop| {
            let mut commits = 0;
            while !stop.load(Relaxed) {
                shared.commit(&record)?;
                commits += 1;
            }
            Ok(commits)
        },
    )?;
    let flushes = shared.flushes.load(Relaxed) as f64;
    Ok(FlushLimit {
        separate_per_s,
        grouped_per_s,
        grouped_flushes_per_s: flushes / began.elapsed().as_secs_f64(),
    })
}

/// Bytes of a log that is written over and over.
const LOG_BYTES: u64 = 4 << 20;

fn log(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(path)?;
    file.write_all(&vec![0; LOG_BYTES as usize])?;
    file.sync_all()?;
    Ok(file)
}

fn append(log: &File, index: u64, record: &[u8]) -> std::io::Result<()> {
    let places = (LOG_BYTES / record.len().max(1) as u64).max(1);
    log.write_all_at(record, index % places * record.len() as u64)
}

/// One log for all threads. A thread that finds no flush in progress flushes for every commit
/// appended before; the others wait for a flush that began after their append.
struct SharedLog {
    file: File,
    appended: AtomicU64,
    flushes: AtomicU64,
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    /// Commits that are on storage: all that were appended before a flush that has ended.
    durable: u64,
    flushing: bool,
    failed: bool,
}

impl SharedLog {
    fn new(file: File) -> Self {
        Self {
            file,
            appended: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn commit(&self, record: &[u8]) -> std::io::Result<()> {
        // Appends hold the lock, so that a flush covers a prefix of the log.
        let mut state = self.lock();
        let number = self.appended.fetch_add(1, Relaxed) + 1;
        append(&self.file, number, record)?;
        while state.durable < number {
            if state.failed {
                return Err(std::io::Error::other("a flush has failed"));
            }
            if state.flushing {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.flushing = true;
            let covered = self.appended.load(Relaxed);
            drop(state);
            let flushed = self.file.sync_data();
            self.flushes.fetch_add(1, Relaxed);
            state = self.lock();
            state.flushing = false;
            state.failed |= flushed.is_err();
            state.durable = state.durable.max(covered);
            self.changed.notify_all();
            flushed?;
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn one_flush_serves_all_that_wait() {
        let folder = tempfile::tempdir().unwrap();
        let shared = SharedLog::new(log(&folder.path().join("log")).unwrap());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| shared.commit(b"record").unwrap()));
            }
        });
        assert_eq!(shared.lock().durable, 400);
        assert!(shared.flushes.load(Relaxed) <= 400);
    }

    #[test]
    fn a_flush_that_fails_fails_its_commit() {
        let pipe = OpenOptions::new().write(true).open("/dev/null").unwrap();
        assert!(SharedLog::new(pipe).commit(b"record").is_err());
    }

    #[test]
    fn a_stopped_rate_counts_what_was_done() {
        let stop = AtomicBool::new(false);
        assert!(!stop.load(Relaxed));
        let per_s = rate(2, |_| Ok(()), |(), _| Ok(10)).unwrap();
        assert!(per_s > 0.0 && per_s < 100.0, "{per_s}");
    }
}
