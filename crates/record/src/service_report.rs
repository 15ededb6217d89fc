//! What the server of an image on modeled storage did: a file of the run folder for each image of a
//! trial.

use crate::trial::check_id;
use crate::{Error, regular_file};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;

/// The folder of these files in a run folder.
pub const REPORTS: &str = "storage";

/// Bytes of such a file at most: it holds some dozens of figures.
const MAX_BYTES: u64 = 1 << 20;

/// What a server of a modeled image did while its delays were on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Their number.
    pub requests: u64,
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

/// The round trips of requests without delay to a file on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCost {
    /// A read of 4 KiB, one at a time.
    pub read: RoundTrip,
    /// A write of 4 KiB, one at a time.
    pub write: RoundTrip,
    /// A flush, one at a time.
    pub flush: RoundTrip,
    /// Reads and writes of several sizes, by size and by the number of requests at once; empty in
    /// older reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<SizeCost>,
}

/// The round trips of requests of one size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Returns the time on the way of a request that hardly any request is without, nanoseconds.
    #[must_use]
    pub fn transport_ns(&self) -> u64 {
        let trips = [self.read, self.write, self.flush];
        let lowest = trips.map(|trip| trip.lowest_tenth_ns);
        lowest.into_iter().min().unwrap_or(0)
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
    fn the_cheapest_kind_is_the_time_on_the_way() {
        let report: ServiceReport = serde_json::from_str(OLDER).unwrap();
        assert_eq!(report.own_cost.transport_ns(), 20_000);
    }
}
