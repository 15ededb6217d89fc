//! What a fit measures of a device: loads on one file, one after the other, and how long their
//! requests take. The device is a real one ([`crate::device_probe`]) or a modeled one in virtual
//! time ([`crate::modelled_probe`]), so that the figures of both can be compared.

mod cycle_times;

pub(crate) use cycle_times::PARTS;
pub use cycle_times::{CycleTime, CycleTimes};

use crate::storage_model::NS_PER_S;
use serde::Serialize;
use std::fmt;
use trueput_record::random::SplitMix64;
use trueput_record::service_report::RoundTrip;

/// The bytes of a small request, as those of a page.
pub(crate) const SMALL_BYTES: u64 = 4096;

/// The bytes of a large request.
pub const LARGE_BYTES: u64 = 1 << 20;

/// The largest number of requests at once.
pub(crate) const MAX_DEPTH: u32 = 64;

/// The numbers of small requests at once.
const DEPTHS: [u32; 4] = [1, 4, 16, MAX_DEPTH];

/// The numbers of large requests at once.
const LARGE_DEPTHS: [u32; 2] = [1, 4];

/// The number of requests at once of the burst.
const BURST_DEPTH: u32 = 16;

/// The large writes before a flush, a load each.
const DIRTY_WRITES: [u64; 5] = [1, 4, 16, 64, 256];

/// What the requests of a load do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// Small writes in order, each flushed before the next.
    Appends,
    /// Flushes with nothing to write.
    EmptyFlushes,
    /// Large writes in order.
    SequentialWrites,
    /// Large writes in order, so many before each flush.
    DirtyFlushes,
    /// Large reads in order.
    SequentialReads,
    /// Small reads at random positions.
    RandomReads,
    /// Small writes at random positions.
    RandomWrites,
    /// The same reads for so long that a limit on the rate may show.
    Burst,
}

impl LoadKind {
    pub(crate) fn writes(self) -> bool {
        matches!(
            self,
            Self::Appends | Self::SequentialWrites | Self::DirtyFlushes | Self::RandomWrites
        )
    }

    pub(crate) fn flushes(self) -> bool {
        matches!(
            self,
            Self::Appends | Self::EmptyFlushes | Self::DirtyFlushes
        )
    }

    fn is_random(self) -> bool {
        matches!(self, Self::RandomReads | Self::RandomWrites | Self::Burst)
    }

    /// Returns the bytes of a request.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::SequentialWrites | Self::DirtyFlushes | Self::SequentialReads => LARGE_BYTES,
            _ => SMALL_BYTES,
        }
    }

    /// Returns the share of a load in the time of all.
    fn share(self) -> f64 {
        match self {
            Self::Appends => 4.0,
            Self::EmptyFlushes | Self::DirtyFlushes | Self::SequentialReads => 1.0,
            Self::SequentialWrites | Self::RandomReads | Self::RandomWrites => 1.5,
            Self::Burst => 5.0,
        }
    }
}

/// A load: clients that each repeat a cycle of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProbeLoad {
    /// What the requests do.
    pub kind: LoadKind,
    /// The number of clients, and so of requests at once.
    pub depth: u32,
    /// The requests of a cycle, before its flush if it has one.
    pub requests: u64,
}

impl ProbeLoad {
    /// Returns the position in the file of the load's request with this number.
    pub(crate) fn position(self, number: u64, file_bytes: u64, random: &mut SplitMix64) -> u64 {
        let bytes = self.kind.bytes();
        let places = (file_bytes / bytes).max(1);
        let place = if self.kind.is_random() {
            random.below(usize::try_from(places).unwrap_or(usize::MAX)) as u64
        } else {
            number % places
        };
        place * bytes
    }
}

impl fmt::Display for ProbeLoad {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            LoadKind::Appends => "4 KiB appended and flushed",
            LoadKind::EmptyFlushes => "flush with nothing to write",
            LoadKind::DirtyFlushes => {
                return write!(formatter, "{} MiB written and flushed", self.requests);
            }
            LoadKind::SequentialWrites => "writes of 1 MiB in order",
            LoadKind::SequentialReads => "reads of 1 MiB in order",
            LoadKind::RandomReads => "random reads of 4 KiB",
            LoadKind::RandomWrites => "random writes of 4 KiB",
            LoadKind::Burst => "burst of random reads",
        };
        formatter.write_str(name)?;
        if self.kind.flushes() {
            return Ok(());
        }
        write!(formatter, ", depth {}", self.depth)
    }
}

/// How long a device is measured, and on how large a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbePlan {
    /// The time of all loads together, seconds. A cycle that has begun is completed.
    pub duration_s: f64,
    /// The size of the file, bytes: at least [`LARGE_BYTES`].
    pub file_bytes: u64,
}

impl ProbePlan {
    /// Returns the loads in their order: what fills a write cache comes after what must not find
    /// one filled, and what may use up credits is the last.
    fn loads(self) -> Vec<ProbeLoad> {
        let load = |kind, depth, requests| ProbeLoad {
            kind,
            depth,
            requests,
        };
        let deep = |kind| DEPTHS.map(|depth| load(kind, depth, 1));
        let large = |kind| LARGE_DEPTHS.map(|depth| load(kind, depth, 1));
        let mut loads = vec![
            load(LoadKind::Appends, 1, 1),
            load(LoadKind::EmptyFlushes, 1, 0),
        ];
        loads.extend(large(LoadKind::SequentialWrites));
        let fitting = DIRTY_WRITES
            .into_iter()
            .filter(|writes| writes * LARGE_BYTES <= self.file_bytes);
        loads.extend(fitting.map(|writes| load(LoadKind::DirtyFlushes, 1, writes)));
        loads.extend(large(LoadKind::SequentialReads));
        loads.extend(deep(LoadKind::RandomReads));
        loads.extend(deep(LoadKind::RandomWrites));
        loads.push(load(LoadKind::Burst, BURST_DEPTH, 1));
        loads
    }
}

/// What was measured of a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadMeasurement {
    /// The load.
    pub load: ProbeLoad,
    /// Its duration, seconds.
    pub elapsed_s: f64,
    /// Cycles a second, all clients together.
    pub per_s: f64,
    /// The same in each tenth of the time.
    pub rates_per_s: [f64; PARTS],
    /// The time of a cycle's requests.
    pub requests: RoundTrip,
    /// The time of a cycle's flush.
    pub flush: RoundTrip,
    /// The time of a cycle.
    pub cycle: RoundTrip,
}

impl LoadMeasurement {
    /// Sums up the cycles of a load.
    fn of(load: ProbeLoad, times: &CycleTimes) -> Self {
        let elapsed_s = times.elapsed_s();
        Self {
            load,
            elapsed_s,
            per_s: times.count() as f64 / elapsed_s,
            rates_per_s: times.rates_per_s(),
            requests: times.requests(),
            flush: times.flushes(),
            cycle: times.cycles(),
        }
    }
}

/// What was measured of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceMeasurement {
    /// Its loads, in the order in which they ran.
    pub loads: Vec<LoadMeasurement>,
}

impl DeviceMeasurement {
    /// Returns the loads of a kind, those of fewer requests first.
    pub(crate) fn series(&self, kind: LoadKind) -> impl Iterator<Item = &LoadMeasurement> {
        self.loads.iter().filter(move |one| one.load.kind == kind)
    }
}

/// A device on which loads can run.
pub trait ProbedDevice {
    /// The reason why a load ends early.
    type Error;

    /// Makes all writes before it persistent.
    ///
    /// # Errors
    /// The device's own.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Runs a load for a time, nanoseconds, each client for a cycle at least, and returns the times
    /// of the cycles.
    ///
    /// # Errors
    /// The device's own.
    fn run(&mut self, load: ProbeLoad, span_ns: u64) -> Result<CycleTimes, Self::Error>;
}

/// Runs the loads of a plan. `progress` gets each load before it begins, and the time that it and
/// those after it take, seconds.
///
/// # Errors
/// The device's own.
pub fn measure<D: ProbedDevice>(
    device: &mut D,
    plan: ProbePlan,
    progress: &mut dyn FnMut(ProbeLoad, f64),
) -> Result<DeviceMeasurement, D::Error> {
    let planned = plan.loads();
    let shares: f64 = planned.iter().map(|load| load.kind.share()).sum();
    let mut left_s = plan.duration_s;
    let mut loads = Vec::with_capacity(planned.len());
    for load in planned {
        progress(load, left_s);
        // What an earlier load has left in a write cache is none of this one's.
        device.flush()?;
        let span_s = plan.duration_s * load.kind.share() / shares;
        let times = device.run(load, (span_s * NS_PER_S) as u64)?;
        loads.push(LoadMeasurement::of(load, &times));
        left_s -= span_s;
    }
    Ok(DeviceMeasurement { loads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_its_rate_in_each_part_and_its_percentiles() {
        let load = ProbeLoad {
            kind: LoadKind::Appends,
            depth: 1,
            requests: 1,
        };
        // 100 cycles in the first second, 10 in the other nine.
        let early = (1..=100_u64).map(|number| number * 10_000_000 - 1);
        let late = (1..=10_u64).map(|number| 1_000_000_000 + number * 900_000_000);
        let cycle = |end_ns| CycleTime {
            end_ns,
            requests_ns: 10,
            flush_ns: 30,
        };
        let mut times = CycleTimes::default();
        early
            .chain(late)
            .for_each(|end_ns| times.add(cycle(end_ns)));
        let found = LoadMeasurement::of(load, &times);
        assert_eq!((found.elapsed_s, found.per_s), (10.0, 11.0));
        assert_eq!(found.rates_per_s.iter().sum::<f64>(), 110.0);
        assert_eq!((found.rates_per_s[0], found.rates_per_s[9]), (100.0, 2.0));
        let medians = [found.requests, found.flush, found.cycle].map(|times| times.median_ns);
        assert_eq!(medians, [10, 30, 40]);
    }

    #[test]
    fn a_small_file_is_flushed_with_as_much_as_it_holds() {
        let plan = |mib: u64| ProbePlan {
            duration_s: 1.0,
            file_bytes: mib * LARGE_BYTES,
        };
        let dirty = |mib| {
            let loads = plan(mib).loads().into_iter();
            let dirty = loads.filter(|load| load.kind == LoadKind::DirtyFlushes);
            dirty.map(|load| load.requests).collect::<Vec<_>>()
        };
        assert_eq!(dirty(8), [1, 4]);
        assert_eq!(dirty(1024), DIRTY_WRITES);
    }

    #[test]
    fn requests_stay_in_the_file() {
        let mut random = SplitMix64::new(1);
        for kind in [
            LoadKind::Appends,
            LoadKind::DirtyFlushes,
            LoadKind::RandomReads,
        ] {
            let load = ProbeLoad {
                kind,
                depth: 1,
                requests: 1,
            };
            for number in 0..5_000 {
                let position = load.position(number, 3 * LARGE_BYTES, &mut random);
                assert!(position + kind.bytes() <= 3 * LARGE_BYTES, "{load}");
            }
        }
    }
}
