//! The cost of a server of a modeled image itself: round trips of requests without delay, and how
//! much longer requests through a loop device take than the server waits before it replies.

use crate::storage_model::{MinimumServiceTimes, StorageModel};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueput_host::page_buffer::PageBuffer;
use trueput_host::trial_file_system::with_loop_device;
use trueput_record::service_report::{LoopCost, OwnCost, RoundTrip, SizeCost, TransportTimes};

/// The requests of each kind that are measured one at a time.
const PROBES: usize = 200;

/// The bytes of such a read and of such a write.
const PROBE_BYTES: usize = 4096;

/// The rounds in which the time on the way is measured. The quietest one counts: what disturbs one
/// must not be taken off the time of all requests of a trial.
const ROUNDS: usize = 4;

/// The requests of each kind in a round.
const PROBES_OF_ROUND: usize = 40;

/// The longest time for which the server waits before it replies to one of these.
const MAX_HELD_NS: u64 = 1_000_000;

/// How much longer than a quick round trip the way takes at most: who has waited wakes later, on
/// virtual machines by tens of microseconds. More was the machine's disturbance.
const MAX_WAKE_NS: u64 = 100_000;

/// How often the cost is measured before a model is refused, or a disturbed time is cut.
const MEASUREMENTS: usize = 5;

/// The time between two measurements.
const PAUSE: Duration = Duration::from_millis(200);

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
    Flush,
}

/// A client of a file, or of a loop device on it. It reads the first bytes, and writes those that
/// it has read, so that they stay, and a sparse image stays one.
struct Probe<'f> {
    file: &'f File,
    bytes: PageBuffer,
}

impl<'f> Probe<'f> {
    fn new(file: &'f File, bytes: usize) -> io::Result<Self> {
        let bytes = PageBuffer::zeroed(bytes);
        let mut probe = Self { file, bytes };
        probe.request(ProbeKind::Read)?;
        Ok(probe)
    }

    fn request(&mut self, kind: ProbeKind) -> io::Result<()> {
        match kind {
            ProbeKind::Read => self.file.read_exact_at(self.bytes.bytes_mut(), 0),
            ProbeKind::Write => self.file.write_all_at(self.bytes.bytes(), 0),
            ProbeKind::Flush => self.file.sync_data(),
        }
    }

    /// Makes a request several times, one after the other, and returns how long each took.
    fn times_ns(&mut self, kind: ProbeKind, count: usize) -> io::Result<Vec<u64>> {
        let mut time_ns = || -> io::Result<u64> {
            let began = Instant::now();
            self.request(kind)?;
            Ok(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
        };
        (0..count).map(|_| time_ns()).collect()
    }
}

/// Measures again while a model seems faster than a client could be, or the time on the way longer
/// than it is: a busy moment of the machine must neither fail a trial on a slow model, nor make the
/// model faster for as long as the trial lasts.
///
/// # Errors
/// That of a measurement, or that of [`check_speed`] for the last one.
pub(crate) fn measure_for(
    model: &StorageModel,
    mut measure: impl FnMut() -> io::Result<OwnCost>,
) -> io::Result<OwnCost> {
    let mut own_cost = measure()?;
    for _ in 1..MEASUREMENTS {
        if check_speed(&own_cost, model).is_ok() && !is_disturbed(&own_cost) {
            break;
        }
        sleep(PAUSE);
        own_cost = measure()?;
    }
    check_speed(&own_cost, model)?;
    if let Some(cost) = &mut own_cost.through_loop {
        cost.transport = possible_transport(cost);
    }
    Ok(own_cost)
}

/// Returns whether the time on the way is longer than it can be.
fn is_disturbed(own_cost: &OwnCost) -> bool {
    let cost = own_cost.through_loop.as_ref();
    cost.is_some_and(|cost| possible_transport(cost) != cost.transport)
}

/// Returns the times on the way, each no longer than it can be.
fn possible_transport(cost: &LoopCost) -> TransportTimes {
    let at_most = |transport_ns: u64, trip: RoundTrip| {
        transport_ns.min(trip.lowest_tenth_ns.saturating_add(MAX_WAKE_NS))
    };
    TransportTimes {
        read_ns: at_most(cost.transport.read_ns, cost.read),
        write_ns: at_most(cost.transport.write_ns, cost.write),
        flush_ns: at_most(cost.transport.flush_ns, cost.flush),
    }
}

/// Measures the cost with the image's file on the server, and with a loop device on it where this
/// machine and user have one. `hold` lets the server reply so many nanoseconds after a request has
/// come, or at once again. The image keeps its bytes, and no loop device stays.
///
/// # Errors
/// If the image or the loop device cannot be used, or stays attached to it.
pub(super) fn measure(
    image: &Path,
    fastest: &MinimumServiceTimes,
    hold: &dyn Fn(Option<u64>),
) -> io::Result<OwnCost> {
    let file = OpenOptions::new().read(true).write(true).open(image)?;
    let image_bytes = file.metadata()?.len();
    let [read, write, flush] = one_at_a_time(&file)?;
    let measured = with_loop_device(image, |device| {
        measure_loop(device, image_bytes, fastest, hold)
    });
    let (through_loop, by_size) = match measured.map_err(io::Error::other)? {
        Some(measured) => {
            let (cost, by_size) = measured?;
            (Some(cost), by_size)
        }
        None => (None, by_size(&file, image_bytes)?),
    };
    Ok(OwnCost {
        read,
        write,
        flush,
        through_loop,
        by_size,
    })
}

/// Measures the cost of a server with a file on it, which keeps its bytes. Its requests are not to
/// end in the page cache.
pub(crate) fn measure_file(file: &File) -> io::Result<OwnCost> {
    let [read, write, flush] = one_at_a_time(file)?;
    let by_size = by_size(file, file.metadata()?.len())?;
    Ok(OwnCost {
        read,
        write,
        flush,
        through_loop: None,
        by_size,
    })
}

fn measure_loop(
    device: &Path,
    image_bytes: u64,
    fastest: &MinimumServiceTimes,
    hold: &dyn Fn(Option<u64>),
) -> io::Result<(LoopCost, Vec<SizeCost>)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_DIRECT);
    let file = options.open(device)?;
    let transport = transport_times(&file, fastest, hold)?;
    let [read, write, flush] = one_at_a_time(&file)?;
    let cost = LoopCost {
        read,
        write,
        flush,
        transport,
    };
    Ok((cost, by_size(&file, image_bytes)?))
}

/// Measures what a client of a loop device waits longer than the server does before it replies: the
/// median, so that the median of a client's requests is the time of the model.
///
/// This is not the round trip without delay. The work of the server is no part of it, which is over
/// while it waits. But whoever has waited wakes later, the more so the longer it was, on virtual
/// machines by tens of microseconds. So the server waits as long as the model does for its fastest
/// request of the kind: a longer wait wakes no sooner, so that the median is not faster than the
/// model.
fn transport_times(
    file: &File,
    fastest: &MinimumServiceTimes,
    hold: &dyn Fn(Option<u64>),
) -> io::Result<TransportTimes> {
    let kinds = [
        (ProbeKind::Read, fastest.read_ns),
        (ProbeKind::Write, fastest.write_ns),
        (ProbeKind::Flush, fastest.flush_ns),
    ];
    let mut probe = Probe::new(file, PROBE_BYTES)?;
    let mut least_ns = [u64::MAX; 3];
    for _ in 0..ROUNDS {
        for ((kind, fastest_ns), least_ns) in kinds.into_iter().zip(&mut least_ns) {
            let held_ns = fastest_ns.min(MAX_HELD_NS);
            hold(Some(held_ns));
            let times_ns = probe.times_ns(kind, PROBES_OF_ROUND);
            hold(None);
            let median_ns = percentiles(times_ns?).median_ns;
            *least_ns = median_ns.saturating_sub(held_ns).min(*least_ns);
        }
    }
    let [read_ns, write_ns, flush_ns] = least_ns;
    Ok(TransportTimes {
        read_ns,
        write_ns,
        flush_ns,
    })
}

/// Refuses a model that reads 4 KiB, or makes a write of 4 KiB durable, faster than a client of
/// this server could: in less than the lowest tenth of the round trips, through the loop device if
/// they are known. What is late less often, the report shows as lateness.
///
/// # Errors
/// One that names the model and both times, and the folder form if the server alone is fast enough.
pub fn check_speed(own_cost: &OwnCost, model: &StorageModel) -> io::Result<()> {
    let Some(excess) = SpeedExcess::find(model, own_cost.client_trips()) else {
        return Ok(());
    };
    let way = if own_cost.through_loop.is_some() {
        "the loop device and the server"
    } else {
        "the server"
    };
    let of_server = [own_cost.read, own_cost.write, own_cost.flush];
    let way_out = if SpeedExcess::find(model, of_server).is_none() {
        "; with folder: before the model there is no loop device, and this machine may be fast \
         enough"
    } else {
        ""
    };
    Err(io::Error::other(format!(
        "{} {} in {} us, and {} {} us through {way} on this machine: a model can slow storage \
         down, never speed it up{way_out}",
        model.name,
        excess.model_does,
        excess.modeled_ns / 1000,
        excess.own_does,
        excess.own_ns.div_ceil(1000)
    )))
}

/// What a model does faster than a server and the way to it.
struct SpeedExcess {
    model_does: &'static str,
    modeled_ns: u64,
    own_does: &'static str,
    own_ns: u64,
}

impl SpeedExcess {
    /// Compares a model with the round trips of a read, a write and a flush.
    fn find(model: &StorageModel, trips: [RoundTrip; 3]) -> Option<Self> {
        let fastest = model.minimum_service_times();
        let [read_ns, write_ns, flush_ns] = trips.map(|trip| trip.lowest_tenth_ns);
        let comparisons = [
            Self {
                model_does: "makes a write of 4 KiB durable",
                modeled_ns: fastest.write_ns.saturating_add(fastest.flush_ns),
                own_does: "a write and a flush take",
                own_ns: write_ns.saturating_add(flush_ns),
            },
            Self {
                model_does: "reads 4 KiB",
                modeled_ns: fastest.read_ns,
                own_does: "a read takes",
                own_ns: read_ns,
            },
        ];
        let mut comparisons = comparisons.into_iter();
        comparisons.find(|it| it.own_ns > it.modeled_ns)
    }
}

/// Measures a read, a write and a flush, each one at a time.
fn one_at_a_time(file: &File) -> io::Result<[RoundTrip; 3]> {
    let mut probe = Probe::new(file, PROBE_BYTES)?;
    let mut round_trip = |kind| probe.times_ns(kind, PROBES).map(percentiles);
    Ok([
        round_trip(ProbeKind::Read)?,
        round_trip(ProbeKind::Write)?,
        round_trip(ProbeKind::Flush)?,
    ])
}

/// Measures reads and writes of all sizes, alone and with others.
fn by_size(file: &File, image_bytes: u64) -> io::Result<Vec<SizeCost>> {
    let mut by_size = Vec::new();
    // An image may be smaller than the largest request.
    for size in SIZES.into_iter().filter(|size| image_bytes >= *size as u64) {
        for depth in DEPTHS {
            by_size.push(SizeCost {
                bytes: size as u64,
                depth: u32::try_from(depth).unwrap_or(u32::MAX),
                read: at_once(file, ProbeKind::Read, size, depth)?,
                write: at_once(file, ProbeKind::Write, size, depth)?,
            });
        }
    }
    Ok(by_size)
}

/// Makes requests of one size from `depth` threads, each of which makes one after the other.
fn at_once(file: &File, kind: ProbeKind, bytes: usize, depth: usize) -> io::Result<RoundTrip> {
    let all_ready = Barrier::new(depth);
    let times_of_thread = || -> io::Result<Vec<u64>> {
        let probe = Probe::new(file, bytes);
        // Before an error is returned, because the others wait.
        all_ready.wait();
        let probes = (PROBES_BY_SIZE / depth).max(MIN_PROBES_OF_THREAD);
        probe?.times_ns(kind, probes)
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
    use std::cell::RefCell;

    const FASTEST: MinimumServiceTimes = MinimumServiceTimes {
        read_ns: 60_000,
        write_ns: 9_000,
        flush_ns: 5_000_000,
    };

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
        let cost = measure(&image, &FASTEST, &|_| ()).unwrap();
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
        assert_eq!(measure(&image, &FASTEST, &|_| ()).unwrap().by_size.len(), 6);
        std::fs::remove_file(&image).unwrap();
        assert!(measure(&image, &FASTEST, &|_| ()).is_err());
    }

    #[test]
    fn the_server_waits_as_long_as_the_model_while_the_way_is_measured() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; PROBE_BYTES], 0).unwrap();
        let held = RefCell::new(Vec::new());
        transport_times(&file, &FASTEST, &|ns| held.borrow_mut().push(ns)).unwrap();
        let waits = [FASTEST.read_ns, FASTEST.write_ns, MAX_HELD_NS];
        let round = waits.map(|wait_ns| [Some(wait_ns), None]).concat();
        assert_eq!(held.into_inner(), round.repeat(ROUNDS));
        // The control: without a byte to read, nothing is measured.
        file.set_len(0).unwrap();
        assert!(transport_times(&file, &FASTEST, &|_| ()).is_err());
    }

    #[test]
    fn a_model_is_refused_only_if_every_measurement_says_so() {
        let trip = |ns| RoundTrip {
            lowest_tenth_ns: ns,
            ..RoundTrip::default()
        };
        let model = StorageModel::built_in("hdd-7200").unwrap();
        let measure = |busy: usize| {
            let mut count = 0;
            let measured = measure_for(&model, || {
                count += 1;
                let ns = if count > busy { 1 } else { 1_000_000_000 };
                Ok(OwnCost {
                    write: trip(ns),
                    ..OwnCost::default()
                })
            });
            (count, measured.is_ok())
        };
        assert_eq!(measure(0), (1, true));
        assert_eq!(measure(2), (3, true));
        assert_eq!(measure(MEASUREMENTS), (MEASUREMENTS, false));
    }

    #[test]
    fn a_disturbed_time_on_the_way_is_measured_again_and_cut_at_last() {
        let model = StorageModel::built_in("hdd-7200").unwrap();
        let trip = RoundTrip {
            lowest_tenth_ns: 30_000,
            ..RoundTrip::default()
        };
        let measure = |busy: usize| {
            let mut count = 0;
            let cost = measure_for(&model, || {
                count += 1;
                let flush_ns = if count > busy { 60_000 } else { 3_000_000 };
                let cost = LoopCost {
                    flush: trip,
                    transport: TransportTimes {
                        flush_ns,
                        ..TransportTimes::default()
                    },
                    ..LoopCost::default()
                };
                Ok(OwnCost {
                    through_loop: Some(cost),
                    ..OwnCost::default()
                })
            });
            let transport = cost.unwrap().through_loop.unwrap().transport;
            (count, transport.flush_ns)
        };
        assert_eq!(measure(0), (1, 60_000));
        assert_eq!(measure(2), (3, 60_000));
        assert_eq!(measure(MEASUREMENTS), (MEASUREMENTS, 130_000));
    }

    #[test]
    fn a_model_that_is_faster_than_the_way_to_the_server_is_refused() {
        let trip = |ns| RoundTrip {
            lowest_tenth_ns: ns,
            ..RoundTrip::default()
        };
        let of_server = |[read, write, flush]: [u64; 3]| OwnCost {
            read: trip(read),
            write: trip(write),
            flush: trip(flush),
            ..OwnCost::default()
        };
        let model = StorageModel::built_in("nvme-datacenter").unwrap();
        let quick = of_server([1; 3]);
        assert!(check_speed(&quick, &model).is_ok());
        let said = |cost: &OwnCost| check_speed(cost, &model).unwrap_err().to_string();
        let slow = said(&of_server([1, 1_000_000_000, 1_000_000_000]));
        assert!(slow.starts_with("nvme-datacenter makes a write"), "{slow}");
        let both = "in 36 us, and a write and a flush take 2000000 us through the server on this";
        assert!(slow.contains(both), "{slow}");
        assert!(slow.ends_with("never speed it up"), "{slow}");
        let slow_reads = said(&of_server([90_000, 1, 1]));
        let both = "nvme-datacenter reads 4 KiB in 80 us, and a read takes 90 us";
        assert!(slow_reads.starts_with(both), "{slow_reads}");
        // A quick server does not help where the loop device is slow.
        let mut slow_loop = quick;
        slow_loop.through_loop = Some(LoopCost {
            write: trip(30_000),
            flush: trip(30_000),
            ..LoopCost::default()
        });
        let slow_loop = said(&slow_loop);
        let both = "take 60 us through the loop device and the server on this machine";
        assert!(slow_loop.contains(both), "{slow_loop}");
        assert!(slow_loop.contains("with folder: before"), "{slow_loop}");
        // The control: a disk is slower than any server.
        let disk = StorageModel::built_in("hdd-7200-no-cache").unwrap();
        assert!(check_speed(&of_server([1; 3]), &disk).is_ok());
    }
}
