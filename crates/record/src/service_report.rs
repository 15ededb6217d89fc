//! What the server of an image on modeled storage did: a file of the run folder for each image of a
//! trial.

use crate::trial::check_id;
use crate::{Error, regular_file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;

/// The folder of these files in a run folder.
pub const REPORTS: &str = "storage";

/// Bytes of such a file at most: it holds some dozens of figures.
const MAX_BYTES: u64 = 1 << 20;

/// What a server of a modeled image did while its delays were on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceReport {
    /// The name of the model.
    pub model: String,
    /// What a request costs without any delay.
    pub own_cost: OwnCost,
    /// Reads.
    pub reads: RequestCounts,
    /// Writes, zeroing included.
    pub writes: RequestCounts,
    /// Flushes.
    pub flushes: RequestCounts,
    /// Discards, which take no time in the model.
    pub discards: RequestCounts,
}

/// The requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// Their number.
    pub requests: u64,
    /// Those of them without a reply of their own: in a folder, what a flush writes. They have no
    /// times here.
    #[serde(default)]
    pub without_reply: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of the times that the model gave them, waits for each other included, nanoseconds;
    /// 0 in older reports.
    #[serde(default)]
    pub modeled_ns: u64,
    /// The sum of their lateness, nanoseconds; 0 in older reports.
    #[serde(default)]
    pub late_ns: u64,
    /// The median lateness, nanoseconds: from the moment at which the model completes a request to
    /// the end of its reply. At most an eighth too large, as the other percentile is.
    pub late_median_ns: u64,
    /// The 99th percentile of the same.
    pub late_p99_ns: u64,
    /// The largest of the same.
    pub late_max_ns: u64,
}

impl RequestCounts {
    /// Returns the number of those that were answered.
    #[must_use]
    pub fn replies(&self) -> u64 {
        self.requests.saturating_sub(self.without_reply)
    }
}

/// The round trips of requests without delay: one at a time to the server's file, and as clients
/// make them, through a loop device on this file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCost {
    /// A read of 4 KiB, one at a time.
    pub read: RoundTrip,
    /// A write of 4 KiB, one at a time.
    pub write: RoundTrip,
    /// A flush, one at a time.
    pub flush: RoundTrip,
    /// The way through a loop device; `None` in older reports, and if none could be attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_loop: Option<LoopCost>,
    /// Reads and writes of several sizes, by size and by the number of requests at once: through
    /// the loop device if there is one. Empty in older reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<SizeCost>,
}

/// The round trips of requests by direct I/O to a loop device on the server's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopCost {
    /// A read of 4 KiB, one at a time.
    pub read: RoundTrip,
    /// A write of 4 KiB, one at a time.
    pub write: RoundTrip,
    /// A flush, one at a time.
    pub flush: RoundTrip,
    /// What such requests take longer than the server waits before it replies.
    pub transport: TransportTimes,
}

/// The part of the modeled time that requests spend on their way, by kind, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransportTimes {
    /// Of a read.
    pub read_ns: u64,
    /// Of a write.
    pub write_ns: u64,
    /// Of a flush.
    pub flush_ns: u64,
}

/// The round trips of requests of one size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCost {
    /// Bytes of a request.
    pub bytes: u64,
    /// Requests at once.
    pub depth: u32,
    /// A read.
    pub read: RoundTrip,
    /// A write.
    pub write: RoundTrip,
}

/// Percentiles of the time from the call of a client to its return, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrip {
    /// A tenth of the round trips take at most this.
    pub lowest_tenth_ns: u64,
    /// The median.
    pub median_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
}

impl ServiceReport {
    /// Reads the report in a file of a folder.
    ///
    /// # Errors
    /// As [`regular_file::read`]; [`Error::Invalid`] if the file is no report.
    pub fn read(folder: &Path, within: &Path) -> Result<Self, Error> {
        let bytes = regular_file::read(folder, within, MAX_BYTES)?;
        serde_json::from_slice(&bytes).map_err(|error| Error::invalid(folder.join(within), error))
    }

    /// Reads the report on an image of a trial, as `data` or `log`, from a run folder; `None` if
    /// there is none.
    ///
    /// # Errors
    /// As [`ServiceReport::read`]; [`Error::Invalid`] if no trial has this id.
    pub fn of_trial(run_folder: &Path, trial_id: &str, image: &str) -> Result<Option<Self>, Error> {
        check_id(trial_id).map_err(|reason| Error::invalid(run_folder, reason))?;
        let within = Path::new(REPORTS).join(format!("{trial_id}-{image}.json"));
        match Self::read(run_folder, &within) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Returns how late the replies to reads, writes and flushes were in all, as a share of the
    /// time that the model gave these; `None` if that is not known or none.
    #[must_use]
    pub fn late_share(&self) -> Option<f64> {
        let kinds = [self.reads, self.writes, self.flushes];
        let sum = |of: fn(&RequestCounts) -> u64| kinds.iter().map(|it| of(it) as f64).sum::<f64>();
        let modeled_ns = sum(|it| it.modeled_ns);
        (modeled_ns > 0.0).then(|| sum(|it| it.late_ns) / modeled_ns)
    }
}

impl OwnCost {
    /// Returns the round trips of a read, a write and a flush that a client makes: through the loop
    /// device if they are known.
    #[must_use]
    pub fn client_trips(&self) -> [RoundTrip; 3] {
        match &self.through_loop {
            Some(cost) => [cost.read, cost.write, cost.flush],
            None => [self.read, self.write, self.flush],
        }
    }

    /// Returns the part of the modeled time that requests spend on their way. Without a loop device
    /// it is the time that hardly any request to the server is without.
    #[must_use]
    pub fn transport(&self) -> TransportTimes {
        let lowest = self.client_trips().map(|trip| trip.lowest_tenth_ns);
        let least_ns = lowest.into_iter().min().unwrap_or(0);
        let of_server = TransportTimes {
            read_ns: least_ns,
            write_ns: least_ns,
            flush_ns: least_ns,
        };
        self.through_loop.map_or(of_server, |cost| cost.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: &str = r#"{"model": "hdd-7200", "own_cost": {
        "read": {"lowest_tenth_ns": 30000, "median_ns": 31000, "p99_ns": 90000},
        "write": {"lowest_tenth_ns": 40000, "median_ns": 41000, "p99_ns": 90000},
        "flush": {"lowest_tenth_ns": 20000, "median_ns": 21000, "p99_ns": 90000}},
        "reads": {"requests": 0, "bytes": 0, "late_median_ns": 0, "late_p99_ns": 0,
            "late_max_ns": 0},
        "writes": {"requests": 1, "bytes": 4096, "late_median_ns": 70, "late_p99_ns": 70,
            "late_max_ns": 70},
        "flushes": {"requests": 0, "bytes": 0, "late_median_ns": 0, "late_p99_ns": 0,
            "late_max_ns": 0},
        "discards": {"requests": 0, "bytes": 0, "late_median_ns": 0, "late_p99_ns": 0,
            "late_max_ns": 0}}"#;

    #[test]
    fn a_report_is_read_by_trial_and_image_and_a_missing_one_is_none() {
        let run = tempfile::tempdir().unwrap();
        let of = |id: &str, image: &str| ServiceReport::of_trial(run.path(), id, image);
        assert_eq!(of("0001-lmdb", "data").unwrap(), None);
        std::fs::create_dir(run.path().join(REPORTS)).unwrap();
        let file = run.path().join("storage/0001-lmdb-data.json");
        std::fs::write(&file, OLDER).unwrap();
        let report = of("0001-lmdb", "data").unwrap().unwrap();
        assert_eq!((report.writes.requests, report.writes.bytes), (1, 4096));
        assert!(report.own_cost.by_size.is_empty());
        assert_eq!(of("0001-lmdb", "log").unwrap(), None);
        assert!(of("../0001-lmdb", "data").is_err());
        std::fs::write(&file, "{}").unwrap();
        assert!(of("0001-lmdb", "data").is_err());
    }

    #[test]
    fn lateness_is_a_share_of_the_modeled_time_of_what_the_model_knows() {
        let mut report: ServiceReport = serde_json::from_str(OLDER).unwrap();
        // An older report does not tell.
        assert_eq!(report.late_share(), None);
        (report.writes.modeled_ns, report.writes.late_ns) = (900, 50);
        (report.flushes.modeled_ns, report.flushes.late_ns) = (100, 100);
        report.discards.late_ns = 7_000;
        assert_eq!(report.late_share(), Some(0.15));
    }

    #[test]
    fn the_time_on_the_way_is_that_of_the_loop_device_or_of_the_cheapest_kind() {
        let report: ServiceReport = serde_json::from_str(OLDER).unwrap();
        let mut cost = report.own_cost;
        assert_eq!(cost.through_loop, None);
        assert_eq!(cost.client_trips()[1], cost.write);
        let cheapest = TransportTimes {
            read_ns: 20_000,
            write_ns: 20_000,
            flush_ns: 20_000,
        };
        assert_eq!(cost.transport(), cheapest);
        let transport = TransportTimes {
            read_ns: 41_000,
            write_ns: 52_000,
            flush_ns: 63_000,
        };
        let through_loop = LoopCost {
            flush: cost.write,
            transport,
            ..LoopCost::default()
        };
        cost.through_loop = Some(through_loop);
        assert_eq!(cost.transport(), transport);
        assert_eq!(cost.client_trips()[2], cost.write);
    }
}
