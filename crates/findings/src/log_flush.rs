//! The results of the workload `log-flush`, by cell.

use crate::workload_cells::{WorkloadCell, workload_cells};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::{Durability, TrialRecord};

/// If the device completes fewer flushes than this share of those requested, most were acknowledged
/// without a flush.
const FEW: f64 = 0.1;

/// The trials of a cell: medians over those that count.
#[derive(Debug)]
pub struct LogFlushCell<'a> {
    /// The first of them.
    pub first: &'a TrialRecord,
    /// Commits per second.
    pub commits_per_s: Option<f64>,
    /// The median latency of a commit, nanoseconds.
    pub p50_ns: Option<f64>,
    /// Its 99th percentile, nanoseconds.
    pub p99_ns: Option<f64>,
    /// Commits that one flush served.
    pub commits_per_flush: Option<f64>,
    /// Flushes of the device per commit; `None` if they are not counted.
    pub device_flushes_per_commit: Option<f64>,
    /// Flushes of the device per flush that the file system acknowledged, if they are so few that
    /// power loss can lose commits.
    pub missing_flushes: Option<f64>,
}

/// The cells of the workload, in the order of their first trials that count.
#[must_use]
pub fn log_flush_cells(trials: &[TrialRecord]) -> Vec<LogFlushCell<'_>> {
    let cells = workload_cells(trials, "log-flush");
    cells.iter().map(LogFlushCell::of).collect()
}

/// The commits of a trial.
#[must_use]
pub fn commits(measured: &Measurement) -> Option<&OperationSummary> {
    measured.operation("commit")
}

impl<'a> LogFlushCell<'a> {
    fn of(cell: &WorkloadCell<'a>) -> Self {
        let count = |one: &Measurement| Some(commits(one)?.count as f64);
        // Group commit requests fewer flushes than commits.
        let asked_for = |one: &Measurement| match one.operation("flush") {
            Some(flushes) => Some(flushes.count as f64),
            None => count(one),
        };
        let device = |one: &Measurement| one.log_flushes().map(|flushes| flushes as f64);
        let latency =
            |of: fn(&OperationSummary) -> u64| cell.median(|one| Some(of(commits(one)?) as f64));
        let per_asked_for = cell.median(|one| divide(device(one)?, asked_for(one)?));
        Self {
            first: cell.first,
            commits_per_s: cell.median(|one| Some(commits(one)?.per_s)),
            p50_ns: latency(|commits| commits.latency.p50_ns),
            p99_ns: latency(|commits| commits.latency.p99_ns),
            commits_per_flush: cell.median(|one| divide(count(one)?, asked_for(one)?)),
            device_flushes_per_commit: cell.median(|one| divide(device(one)?, count(one)?)),
            missing_flushes: per_asked_for.filter(|seen| *seen < FEW && needs_flushes(cell.first)),
        }
    }
}

/// Whether each commit needs a flush of the device. Direct writes may pass its cache by themselves.
fn needs_flushes(trial: &TrialRecord) -> bool {
    let flush = trial.spec.settings.get("flush").map(ToString::to_string);
    trial.spec.durability == Durability::Sync && flush.as_deref() != Some("direct-dsync")
}

fn divide(of: f64, one: f64) -> Option<f64> {
    (one > 0.0).then(|| of / one)
}
