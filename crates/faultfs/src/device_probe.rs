//! The loads of a fit on a real device: with direct I/O on a file of the caller's.

use crate::device_measurement::{CycleTime, CycleTimes, LARGE_BYTES, ProbeLoad, ProbedDevice};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use trueput_host::page_buffer::PageBuffer;
use trueput_record::random::SplitMix64;

/// The seed of contents and positions.
const SEED: u64 = 1;

/// The reason why a device cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The user has stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The file system has no I/O past the page cache.
    #[error(
        "{}: its file system has no direct I/O (O_DIRECT), without which the page cache would be \
         measured; name a folder on another file system",
        .0.display()
    )]
    NoDirectIo(PathBuf),
    /// The file cannot be opened, written or read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// A file on the device to be measured.
#[derive(Debug)]
pub struct DeviceProbe<'s> {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// The number of the next request of a load.
    number: AtomicU64,
    stop: &'s AtomicBool,
}

impl<'s> DeviceProbe<'s> {
    /// Writes an existing file full, and flushes it: later writes need no new blocks, and change
    /// nothing that a journal must have. The size is rounded down to whole MiB. `progress` gets the
    /// part that is written. The caller removes the file.
    ///
    /// # Errors
    /// [`ProbeError`].
    pub fn prepare(
        path: &Path,
        bytes: u64,
        stop: &'s AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, ProbeError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_DIRECT);
        let file = options.open(path).map_err(|error| io_error(path, error))?;
        let probe = Self {
            file,
            path: path.to_owned(),
            bytes: bytes / LARGE_BYTES * LARGE_BYTES,
            number: AtomicU64::new(0),
            stop,
        };
        let mut block = PageBuffer::zeroed(LARGE_BYTES as usize);
        let mut random = SplitMix64::new(SEED);
        for number in 0..probe.bytes / LARGE_BYTES {
            let position = number * LARGE_BYTES;
            progress(position as f64 / probe.bytes as f64);
            fill(block.bytes_mut(), &mut random);
            let written = probe.file.write_all_at(block.bytes(), position);
            probe.check(written)?;
        }
        probe.check(probe.file.sync_all())?;
        Ok(probe)
    }

    /// Returns the value, unless it is an error or the user has stopped the probe.
    fn check<T>(&self, done: io::Result<T>) -> Result<T, ProbeError> {
        if self.stop.load(Relaxed) {
            return Err(ProbeError::Interrupted);
        }
        done.map_err(|error| io_error(&self.path, error))
    }

    /// Repeats the cycle of a load until the time since the load began is over.
    fn cycles(
        &self,
        load: ProbeLoad,
        client: u32,
        began: Instant,
        span_ns: u64,
    ) -> io::Result<CycleTimes> {
        let mut random = SplitMix64::for_use(SEED, u64::from(client));
        let mut block = PageBuffer::zeroed(load.kind.bytes() as usize);
        fill(block.bytes_mut(), &mut random);
        let mut times = CycleTimes::default();
        loop {
            let start_ns = elapsed_ns(began);
            for _ in 0..load.requests {
                if self.stop.load(Relaxed) {
                    return Ok(times);
                }
                let number = self.number.fetch_add(1, Relaxed);
                let position = load.position(number, self.bytes, &mut random);
                if load.kind.writes() {
                    self.file.write_all_at(block.bytes(), position)?;
                } else {
                    self.file.read_exact_at(block.bytes_mut(), position)?;
                }
            }
            let requests_end_ns = elapsed_ns(began);
            if load.kind.flushes() {
                self.file.sync_data()?;
            }
            let end_ns = elapsed_ns(began);
            times.add(CycleTime {
                end_ns,
                requests_ns: requests_end_ns - start_ns,
                flush_ns: end_ns - requests_end_ns,
            });
            if end_ns >= span_ns || self.stop.load(Relaxed) {
                return Ok(times);
            }
        }
    }
}

impl ProbedDevice for DeviceProbe<'_> {
    type Error = ProbeError;

    fn flush(&mut self) -> Result<(), ProbeError> {
        self.check(self.file.sync_data())
    }

    fn run(&mut self, load: ProbeLoad, span_ns: u64) -> Result<CycleTimes, ProbeError> {
        self.number.store(0, Relaxed);
        let probe = &*self;
        let began = Instant::now();
        let done = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..load.depth)
                .map(|client| {
                    let cycles = move || probe.cycles(load, client, began, span_ns);
                    std::thread::Builder::new().spawn_scoped(scope, cycles)
                })
                .collect::<io::Result<_>>()?;
            let mut times = CycleTimes::default();
            for client in clients {
                let panicked = |_| io::Error::other("a client of the probe panicked");
                times.join(client.join().map_err(panicked)??);
            }
            io::Result::Ok(times)
        });
        self.check(done)
    }
}

/// Fills a block with bytes that no device can compress.
fn fill(block: &mut [u8], random: &mut SplitMix64) {
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
}

fn elapsed_ns(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Whether a file system refuses direct I/O, it says when the file is opened or written.
fn io_error(path: &Path, error: io::Error) -> ProbeError {
    let path = path.to_owned();
    if error.kind() == io::ErrorKind::InvalidInput {
        ProbeError::NoDirectIo(path)
    } else {
        ProbeError::Io { path, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_measurement::{LoadKind, ProbePlan, measure};

    #[test]
    fn every_load_is_measured_on_the_file_that_keeps_its_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (stop, bytes) = (AtomicBool::new(false), 4 * LARGE_BYTES);
        let mut parts = Vec::new();
        let mut note = |part| parts.push(part);
        let prepared = DeviceProbe::prepare(file.path(), bytes + 1, &stop, &mut note);
        if matches!(prepared, Err(ProbeError::NoDirectIo(_))) {
            eprintln!("skipped: the temporary folder has no direct I/O");
            return;
        }
        let mut probe = prepared.unwrap();
        assert_eq!(parts, [0.0, 0.25, 0.5, 0.75]);
        let plan = ProbePlan {
            duration_s: 0.1,
            file_bytes: bytes,
        };
        let mut left_s = Vec::new();
        let measured = measure(&mut probe, plan, &mut |_, left| left_s.push(left)).unwrap();
        assert!(measured.loads.iter().all(|one| one.per_s > 0.0));
        let appends = &measured.loads[0];
        assert_eq!(appends.load.kind, LoadKind::Appends);
        assert!(appends.requests.median_ns > 0 && appends.flush.median_ns > 0);
        assert_eq!(file.path().metadata().unwrap().len(), bytes);
        assert_eq!(left_s.len(), measured.loads.len());
        assert!(left_s.is_sorted_by(|one, next| one > next), "{left_s:?}");
        // The user stops it.
        stop.store(true, Relaxed);
        let stopped = measure(&mut probe, plan, &mut |_, _| {});
        assert!(matches!(stopped, Err(ProbeError::Interrupted)));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let (stop, path) = (AtomicBool::new(false), Path::new("/absent/file"));
        let refused = DeviceProbe::prepare(path, LARGE_BYTES, &stop, &mut |_| {});
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .starts_with("/absent/file: ")
        );
    }
}
