//! The cost of a server of a modeled image itself: round trips of requests without delay.

use crate::storage_model::StorageModel;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;
use trueput_record::service_report::{OwnCost, RoundTrip, SizeCost};

/// The requests of each kind that are measured one at a time.
const PROBES: usize = 200;

/// The bytes of such a read and of such a write.
const PROBE_BYTES: usize = 4096;

/// The sizes of reads and writes whose cost is measured with several at once, bytes.
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// The numbers of requests at once.
const DEPTHS: [usize; 3] = [1, 4, 16];

/// The requests of a size and depth: so few that all of them take a fraction of a second.
const PROBES_BY_SIZE: usize = 32;

/// The fewest of them that each thread makes.
const MIN_PROBES_OF_THREAD: usize = 4;

/// The request of a probe.
#[derive(Debug, Clone, Copy)]
enum ProbeKind {
    Read,
    Write,
}

/// Measures the cost with the image's file on the server. The bytes that are written are those
/// that were read.
pub(super) fn measure(image: &Path) -> io::Result<OwnCost> {
    let file = OpenOptions::new().read(true).write(true).open(image)?;
    let mut bytes = vec![0; PROBE_BYTES];
    let read = round_trip(|| file.read_exact_at(&mut bytes, 0))?;
    let write = round_trip(|| file.write_all_at(&bytes, 0))?;
    let flush = round_trip(|| file.sync_data())?;
    let mut by_size = Vec::new();
    let image_bytes = file.metadata()?.len();
    // An image may be smaller than the largest request.
    for size in SIZES.into_iter().filter(|size| image_bytes >= *size as u64) {
        for depth in DEPTHS {
            by_size.push(SizeCost {
                bytes: size as u64,
                depth: u32::try_from(depth).unwrap_or(u32::MAX),
                read: at_once(&file, ProbeKind::Read, size, depth)?,
                write: at_once(&file, ProbeKind::Write, size, depth)?,
            });
        }
    }
    Ok(OwnCost {
        read,
        write,
        flush,
        by_size,
    })
}

/// Refuses a model that makes a write of 4 KiB durable faster than this server could.
///
/// # Errors
/// One that names the model and both times.
pub fn check_speed(own_cost: &OwnCost, model: &StorageModel) -> io::Result<()> {
    let times = model.minimum_service_times();
    let modeled_ns = times.write_ns.saturating_add(times.flush_ns);
    let own_ns = own_cost.write.lowest_tenth_ns + own_cost.flush.lowest_tenth_ns;
    if own_ns <= modeled_ns {
        return Ok(());
    }
    let microseconds = |ns: u64| ns.div_ceil(1000);
    Err(io::Error::other(format!(
        "{} makes a write of 4 KiB durable in {} us, and passing on a write and a flush takes \
         {} us on this machine: a model can slow storage down, never speed it up",
        model.name,
        microseconds(modeled_ns),
        microseconds(own_ns)
    )))
}

/// Makes a request several times, one at a time.
fn round_trip(mut request: impl FnMut() -> io::Result<()>) -> io::Result<RoundTrip> {
    let mut times_ns = Vec::with_capacity(PROBES);
    for _ in 0..PROBES {
        times_ns.push(time_ns(&mut request)?);
    }
    Ok(percentiles(times_ns))
}

/// Makes requests of one size from `depth` threads, each of which makes one after the other. All
/// are for the same bytes, so that a sparse image stays one.
fn at_once(file: &File, kind: ProbeKind, bytes: usize, depth: usize) -> io::Result<RoundTrip> {
    let all_ready = Barrier::new(depth);
    let times_of_thread = || -> io::Result<Vec<u64>> {
        let mut buffer = vec![0; bytes];
        let read = file.read_exact_at(&mut buffer, 0);
        // Before an error is returned, because the others wait.
        all_ready.wait();
        read?;
        let probes = (PROBES_BY_SIZE / depth).max(MIN_PROBES_OF_THREAD);
        let mut probe = || match kind {
            ProbeKind::Read => file.read_exact_at(&mut buffer, 0),
            ProbeKind::Write => file.write_all_at(&buffer, 0),
        };
        (0..probes).map(|_| time_ns(&mut probe)).collect()
    };
    let times_ns = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..depth).map(|_| scope.spawn(times_of_thread)).collect();
        let times = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("a probe of the server panicked")))
        });
        times.collect::<io::Result<Vec<_>>>()
    });
    Ok(percentiles(times_ns?.concat()))
}

/// Makes a request, and returns how long that took.
fn time_ns(request: &mut impl FnMut() -> io::Result<()>) -> io::Result<u64> {
    let began = Instant::now();
    request()?;
    Ok(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Sums times up, nanoseconds.
pub(crate) fn percentiles(mut times_ns: Vec<u64>) -> RoundTrip {
    times_ns.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (times_ns.len() * percent).div_ceil(100).max(1);
        times_ns.get(rank - 1).copied().unwrap_or(0)
    };
    RoundTrip {
        lowest_tenth_ns: percentile(10),
        median_ns: percentile(50),
        p99_ns: percentile(99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_has_the_percentiles_of_its_times() {
        let trip = percentiles((1..=200).rev().collect());
        let found = [trip.lowest_tenth_ns, trip.median_ns, trip.p99_ns];
        assert_eq!(found, [20, 100, 198]);
        assert_eq!(percentiles(Vec::new()), RoundTrip::default());
    }

    #[test]
    fn the_cost_is_measured_by_size_and_depth_and_the_bytes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let bytes: Vec<u8> = (0..2 << 20).map(|at: u32| (at % 251) as u8).collect();
        std::fs::write(&image, &bytes).unwrap();
        let cost = measure(&image).unwrap();
        let found = cost.by_size.iter().map(|one| (one.bytes, one.depth));
        let sizes = [4096, 65_536, 1_048_576];
        let all = sizes
            .into_iter()
            .flat_map(|size| [1, 4, 16].map(|depth| (size, depth)));
        assert_eq!(found.collect::<Vec<_>>(), all.collect::<Vec<_>>());
        let is_measured = |one: &SizeCost| one.read.median_ns > 0 && one.write.median_ns > 0;
        assert!(cost.by_size.iter().all(is_measured), "{cost:?}");
        assert_eq!(std::fs::read(&image).unwrap(), bytes);
        // An image that has no room for the largest request.
        std::fs::write(&image, &bytes[..100_000]).unwrap();
        assert_eq!(measure(&image).unwrap().by_size.len(), 6);
        std::fs::remove_file(&image).unwrap();
        assert!(measure(&image).is_err());
    }

    #[test]
    fn a_model_that_is_faster_than_the_server_is_refused() {
        let trip = |ns| RoundTrip {
            lowest_tenth_ns: ns,
            ..RoundTrip::default()
        };
        let of = |ns| OwnCost {
            write: trip(ns),
            flush: trip(ns),
            ..OwnCost::default()
        };
        let model = StorageModel::built_in("nvme-datacenter").unwrap();
        assert!(check_speed(&of(1), &model).is_ok());
        let said = check_speed(&of(1_000_000_000), &model).unwrap_err();
        let said = said.to_string();
        assert!(said.starts_with("nvme-datacenter makes a write"), "{said}");
        assert!(said.contains("2000000 us on this machine"), "{said}");
        // The control: a disk is slower than any server.
        let disk = StorageModel::built_in("hdd-7200-no-cache").unwrap();
        assert!(check_speed(&of(1), &disk).is_ok());
    }
}
