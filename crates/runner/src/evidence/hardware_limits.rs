//! The limits of this machine's hardware, measured before a trial in its own folder: durable
//! appends, blocks, memory, and the harness itself.
//!
//! A process placed and limited as the trial's workers does it. It takes about two seconds and is
//! done once per run for each set of file systems, placement, memory limit, number of workers and
//! size of a commit.

mod blocks;
mod flush;
mod harness;
mod memory;

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use trueput_record::hardware_limits::HardwareLimits;

/// The time for which each rate is measured.
const SPAN: Duration = Duration::from_millis(250);

/// The maximum number of threads: more show nothing new.
const MAX_THREADS: u32 = 256;

/// The name of the temporary folder in the trial's.
const FOLDER: &str = ".hardware_limits";

/// The folders and parameters of the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasurementSite<'a> {
    /// The folder of the database; blocks are measured there.
    pub data: &'a Path,
    /// The folder of its log; flushes are measured there.
    pub log: &'a Path,
    /// Whether the engine stores anything: if not, neither blocks nor flushes are measured.
    pub stores: bool,
    /// The number of threads that measure concurrently.
    pub committers: u32,
    /// Bytes of a commit.
    pub commit_bytes: u64,
    /// The limit on this process's memory; `None`: no limit.
    pub memory_bytes: Option<u64>,
}

/// Measures the hardware limits, and removes the files written for it.
///
/// # Errors
/// The error of the operating system, if no file can be created there at all.
pub(crate) fn measure(site: &MeasurementSite<'_>) -> std::io::Result<HardwareLimits> {
    let began = Instant::now();
    let threads = site.committers.clamp(1, MAX_THREADS);
    let record_bytes = usize::try_from(site.commit_bytes.clamp(1, 1 << 20)).unwrap_or(1);
    let (mut flush, mut blocks) = (None, None);
    if site.stores {
        let scratch = ScratchFolder::make(site.log)?;
        flush = flush::measure(&scratch.0, threads, record_bytes).ok();
        drop(scratch);
        let scratch = ScratchFolder::make(site.data)?;
        blocks = blocks::measure(&scratch.0, threads).ok();
    }
    let hardware_limits = HardwareLimits {
        committers: threads,
        commit_bytes: record_bytes as u64,
        flush,
        blocks,
        memory: memory::measure(threads, site.memory_bytes),
        harness_per_s: harness::measure(threads),
        elapsed_s: 0.0,
    };
    Ok(HardwareLimits {
        elapsed_s: began.elapsed().as_secs_f64(),
        ..hardware_limits
    })
}

/// A temporary folder, removed when dropped.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn make(directory: &Path) -> std::io::Result<Self> {
        let path = directory.join(FOLDER);
        // A leftover of a killed run's measurement.
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // A folder that stays is met and removed by the next measurement or with the trial's own.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `work` on this many threads at once until the span is over, and returns how much they did
/// per second. `work` is given its thread's number and a flag that says when to return.
///
/// # Errors
/// The first thread's error.
fn rate<T: Send>(
    threads: u32,
    prepare: impl Fn(u32) -> std::io::Result<T> + Sync,
    work: impl Fn(&mut T, &AtomicBool) -> std::io::Result<u64> + Sync,
) -> std::io::Result<f64> {
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(threads as usize + 1);
    let (done, elapsed) = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (prepare, work, stop, barrier) = (&prepare, &work, &stop, &barrier);
                scope.spawn(move || {
                    let prepared = prepare(thread);
                    barrier.wait();
                    prepared.and_then(|mut prepared| work(&mut prepared, stop))
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        std::thread::sleep(SPAN);
        stop.store(true, Relaxed);
        let done: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        (done, began.elapsed())
    });
    let mut total = 0;
    for one in done {
        total += one.map_err(|_| std::io::Error::other("a thread has panicked"))??;
    }
    Ok(total as f64 / elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(folder: &Path) -> MeasurementSite<'_> {
        MeasurementSite {
            data: folder,
            log: folder,
            stores: true,
            committers: 2,
            commit_bytes: 100,
            memory_bytes: None,
        }
    }

    #[test]
    fn every_limit_is_measured_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let hardware_limits = measure(&site(folder.path())).unwrap();
        let flush = hardware_limits.flush.unwrap();
        assert!(
            flush.separate_per_s > 0.0 && flush.grouped_per_s > 0.0,
            "{flush:?}"
        );
        assert!(
            flush.grouped_flushes_per_s <= flush.grouped_per_s * 1.01,
            "{flush:?}"
        );
        let blocks = hardware_limits.blocks.unwrap();
        assert!(blocks.random_reads_per_s > 0.0 && blocks.random_writes_per_s > 0.0);
        assert!(hardware_limits.memory.dependent_reads_per_s > 0.0);
        assert!(
            hardware_limits.memory.copied_bytes_per_s > 0.0 && hardware_limits.harness_per_s > 0.0
        );
        assert_eq!(
            (hardware_limits.committers, hardware_limits.commit_bytes),
            (2, 100)
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_be_it_the_datas_or_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        let refused = Path::new("/proc/self");
        assert!(measure(&site(refused)).is_err());
        let log = MeasurementSite {
            log: refused,
            ..site(folder.path())
        };
        assert!(measure(&log).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_stores_nothing_is_measured_without_files() {
        let nothing = MeasurementSite {
            stores: false,
            memory_bytes: Some(16 << 20),
            ..site(Path::new("/proc/self"))
        };
        let hardware_limits = measure(&nothing).unwrap();
        assert_eq!(
            (hardware_limits.flush, hardware_limits.blocks),
            (None, None)
        );
        assert!(hardware_limits.harness_per_s > 0.0);
        assert_eq!(hardware_limits.memory.region_bytes, 4 << 20);
    }
}
