//! The cost of a server of a modeled image itself.

use crate::storage_model::StorageModel;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// The requests of each kind that are measured.
const PROBES: usize = 200;

/// The bytes of a read and of a write.
const PROBE_BYTES: usize = 4096;

/// The round trips of requests without delay, one at a time, to a file on the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCost {
    /// A read of 4 KiB.
    pub read: RoundTrip,
    /// A write of 4 KiB.
    pub write: RoundTrip,
    /// A flush.
    pub flush: RoundTrip,
}

/// Percentiles of the time from the call of a client to its return, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// A tenth of the round trips take at most this.
    pub lowest_tenth_ns: u64,
    /// The median.
    pub median_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
}

impl OwnCost {
    /// Measures the cost with the image's file on the server. The bytes that are written are those
    /// that were read.
    pub(super) fn measure(image: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(image)?;
        let mut bytes = vec![0; PROBE_BYTES];
        let read = RoundTrip::measure(|| file.read_exact_at(&mut bytes, 0))?;
        let write = RoundTrip::measure(|| file.write_all_at(&bytes, 0))?;
        let flush = RoundTrip::measure(|| file.sync_data())?;
        Ok(Self { read, write, flush })
    }

    /// Returns the time on the way of a request that hardly any request is without, nanoseconds.
    #[must_use]
    pub fn transport_ns(&self) -> u64 {
        let trips = [self.read, self.write, self.flush];
        let lowest = trips.map(|trip| trip.lowest_tenth_ns);
        lowest.into_iter().min().unwrap_or(0)
    }

    /// Refuses a model that makes a write of 4 KiB durable faster than this server could.
    pub(super) fn check_speed(&self, model: &StorageModel) -> io::Result<()> {
        let times = model.minimum_service_times();
        let modelled_ns = times.write_ns.saturating_add(times.flush_ns);
        let own_ns = self.write.lowest_tenth_ns + self.flush.lowest_tenth_ns;
        if own_ns <= modelled_ns {
            return Ok(());
        }
        let microseconds = |ns: u64| ns.div_ceil(1000);
        Err(io::Error::other(format!(
            "{} makes a write of 4 KiB durable in {} us, and passing on a write and a flush takes \
             {} us on this machine: a model can slow storage down, never speed it up",
            model.name,
            microseconds(modelled_ns),
            microseconds(own_ns)
        )))
    }
}

impl RoundTrip {
    fn measure(mut request: impl FnMut() -> io::Result<()>) -> io::Result<Self> {
        let mut times_ns = Vec::with_capacity(PROBES);
        for _ in 0..PROBES {
            let began = Instant::now();
            request()?;
            times_ns.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        Ok(Self::of(times_ns))
    }

    fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times_ns.len() * percent).div_ceil(100).max(1);
            times_ns.get(rank - 1).copied().unwrap_or(0)
        };
        Self {
            lowest_tenth_ns: percentile(10),
            median_ns: percentile(50),
            p99_ns: percentile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_has_the_percentiles_of_its_times() {
        let trip = RoundTrip::of((1..=200).rev().collect());
        let found = [trip.lowest_tenth_ns, trip.median_ns, trip.p99_ns];
        assert_eq!(found, [20, 100, 198]);
        assert_eq!(RoundTrip::of(Vec::new()), RoundTrip::default());
    }

    #[test]
    fn the_cheapest_kind_is_the_time_on_the_way() {
        let trip = |lowest_tenth_ns| RoundTrip {
            lowest_tenth_ns,
            ..RoundTrip::default()
        };
        let cost = OwnCost {
            read: trip(30_000),
            write: trip(40_000),
            flush: trip(20_000),
        };
        assert_eq!(cost.transport_ns(), 20_000);
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
        assert!(of(1).check_speed(&model).is_ok());
        let said = of(1_000_000_000).check_speed(&model).unwrap_err();
        let said = said.to_string();
        assert!(said.starts_with("nvme-datacenter makes a write"), "{said}");
        assert!(said.contains("2000000 us on this machine"), "{said}");
        // The control: a disk is slower than any server.
        let disk = StorageModel::built_in("hdd-7200-no-cache").unwrap();
        assert!(of(1).check_speed(&disk).is_ok());
    }
}
