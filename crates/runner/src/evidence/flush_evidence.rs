//! Compares the storage's writes and flushes with the commits of a trial at `sync`.
//! `docs/METHOD.md`, "Flushes that cannot explain the commits", explains why the check never
//! accuses an engine that keeps its promise.

use crate::plan::log_directory::find_log_folder;
use crate::plan::resolution::ResolvedTrial;
use std::path::Path;
use trueput_host::count_configured_processors;
use trueput_host::flush_counts::{CompletedRequests, FlushCounts, UncountedFlushes};
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::measurement::Measurement;
use trueput_record::storage_model::is_in_folder;
use trueput_record::{Durability, TrialSpec};

/// The reason for having no counters below a trial.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoFlushCounts {
    /// The server is the user's.
    #[error("the files of a user's server are not visible")]
    UsersServer,
    /// The storage's.
    #[error(transparent)]
    Storage(#[from] UncountedFlushes),
}

/// The counters of writes and flushes below a trial, or the reason for having none.
pub(crate) type FlushCountsResult = Result<FlushCounts, NoFlushCounts>;

/// Finds the counters below a trial whose database is created in `directory` or is closed there;
/// `None` if its level waits for no flush, the engine retains no data, or a fault or a storage
/// model in its folder form keeps flushes from the storage.
pub(crate) fn prepare_flush_counting(
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    directory: &Path,
) -> Option<FlushCountsResult> {
    let conditions = &spec.conditions;
    let is_passed =
        conditions.fault.is_none() && !is_in_folder(conditions.storage_model.as_deref());
    let is_flushed = spec.durability == Durability::Sync && is_passed;
    if !is_flushed || !resolved.engine.capabilities().retains_data {
        return None;
    }
    if spec.is_on_users_server() {
        return Some(Err(NoFlushCounts::UsersServer));
    }
    // Without a separate file system the log's folder may not exist yet, and will be on this one.
    let log = find_log_folder(&spec.knobs, directory).filter(|folder| folder.is_dir());
    let folders = [Some(directory), log.as_deref()];
    let folders: Vec<&Path> = folders.into_iter().flatten().collect();
    Some(FlushCounts::below(&folders).map_err(NoFlushCounts::Storage))
}

/// Counts the storage's requests while a trial's workers run.
#[derive(Debug)]
pub(crate) struct FlushCounter<'a> {
    counts: Option<&'a FlushCounts>,
    /// The counters when the workers were last released.
    before: Option<CompletedRequests>,
    /// The requests so far; `None` if a counter could not be read.
    total: Option<CompletedRequests>,
}

impl<'a> FlushCounter<'a> {
    /// Creates a counter that has counted nothing.
    pub fn new(flush_counting: Option<&'a FlushCountsResult>) -> Self {
        Self {
            counts: flush_counting.and_then(|flush_counting| flush_counting.as_ref().ok()),
            before: None,
            total: Some(CompletedRequests {
                writes: 0,
                flushes: Some(0),
                intervals: 0,
            }),
        }
    }

    /// Starts an interval: call it before any worker is released.
    pub fn begin(&mut self) {
        if let (Some(counts), None) = (self.counts, self.before) {
            self.before = counts.completed();
            if self.before.is_none() {
                self.total = None;
            }
        }
    }

    /// Ends an interval: call it when every worker has ended or paused.
    pub fn pause(&mut self) {
        if let (Some(counts), Some(before)) = (self.counts, self.before.take()) {
            let now = counts.completed();
            let passed = now.map(|now| now.since(&before));
            self.total = self.total.zip(passed).map(|(sum, more)| sum.plus(&more));
        }
    }

    /// Returns the requests completed while the workers ran; `None` if they were not counted.
    pub fn end(mut self) -> Option<CompletedRequests> {
        self.pause();
        self.counts.and(self.total)
    }
}

/// Compares the requests with the commits of a trial; `None` if its commits prove nothing.
pub(crate) fn derive_evidence(
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    measurement: &Measurement,
    flush_counting: Option<&FlushCountsResult>,
    completed: Option<CompletedRequests>,
) -> Option<FlushEvidence> {
    let flush_counting = flush_counting?;
    measurement
        .commits
        .or_else(|| resolved.job.changing_commits(spec, measurement))?;
    let sessions = resolved.job.sessions(spec.workers);
    let not_counted = |commits: Option<u64>, reason: &str| {
        let commits = commits.unwrap_or_default();
        Some(FlushEvidence::not_counted(
            commits,
            sessions,
            reason.to_owned(),
        ))
    };
    let commits = resolved.job.changing_commits(spec, measurement);
    let counts = match flush_counting {
        Ok(counts) => counts,
        Err(error) => return not_counted(commits, &error.to_string()),
    };
    match (commits, completed) {
        (None, _) => not_counted(None, "it is unknown how many commits changed data"),
        (Some(0), _) if measurement.commits.is_some_and(|all| all > 0) => not_counted(
            Some(0),
            "none of its commits is certain to have changed data",
        ),
        (_, None) => not_counted(commits, "cannot read the device's counters"),
        (Some(commits), Some(completed)) => {
            let evidence = FlushEvidence {
                commits,
                sessions,
                devices: counts.names(),
                writes: completed.writes,
                flushes: completed.flushes,
                basis: Some(counts.basis()),
                ..FlushEvidence::default()
            };
            let evidence = evidence.with_verdict(uncounted(completed.intervals));
            let cached = counts.cached_devices();
            Some(doubt_unflushed_writes(
                evidence,
                &cached,
                counts.is_unflushed(),
            ))
        }
    }
}

/// Draws no conclusion from writes alone if not one flush reached a device with a volatile cache:
/// they may have gone through the cache, which no counter shows, or have stayed in it. The flushes
/// of others do not count if those of the probe were lost (`is_unflushed`).
fn doubt_unflushed_writes(
    evidence: FlushEvidence,
    cached: &[String],
    is_unflushed: bool,
) -> FlushEvidence {
    let is_flushed = evidence.flushes != Some(0) && !is_unflushed;
    let is_concluded = evidence.verdict == FlushVerdict::Explained && evidence.commits > 0;
    if !is_concluded || is_flushed || cached.is_empty() {
        return evidence;
    }
    let devices = cached.join(" and ");
    let absence = if is_unflushed {
        "no flush of a trial write reached"
    } else {
        "no flush reached"
    };
    FlushEvidence {
        basis: None,
        verdict: FlushVerdict::NotCounted,
        reason: Some(format!(
            "{absence} {devices}, which has a volatile write cache"
        )),
        ..evidence
    }
}

/// Returns the number of requests that may be missing in counts over this many intervals. The
/// kernel wakes a thread that waits for a request before it counts the request: at most one on each
/// processor when an interval ends.
fn uncounted(intervals: u64) -> u64 {
    count_configured_processors().saturating_mul(intervals.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::flush_evidence::FlushBasis;

    #[test]
    fn each_interval_of_a_trial_in_slices_may_lack_a_request_on_each_processor() {
        let once = uncounted(1);
        assert!(once >= 1);
        assert_eq!(uncounted(0), once);
        assert_eq!(uncounted(1_000), 1_000 * once);
    }

    #[test]
    fn thousands_of_commits_without_one_flush_are_not_verified_where_a_cache_is_volatile() {
        let evidence = |flushes| {
            FlushEvidence {
                commits: 19_431,
                sessions: 1,
                devices: vec!["loop0".to_owned()],
                writes: 40_000,
                flushes,
                basis: Some(FlushBasis::Writes),
                ..FlushEvidence::default()
            }
            .with_verdict(0)
        };
        let cached = || vec!["loop0".to_owned()];
        let doubted = doubt_unflushed_writes(evidence(Some(0)), &cached(), false);
        assert_eq!(doubted.verdict, FlushVerdict::NotCounted);
        assert!(doubted.reason.unwrap().contains("no flush reached loop0"));
        let neighbors = doubt_unflushed_writes(evidence(Some(9)), &cached(), true);
        assert_eq!(neighbors.verdict, FlushVerdict::NotCounted);
        for (flushes, cached) in [(Some(0), Vec::new()), (Some(7), cached()), (None, cached())] {
            let kept = doubt_unflushed_writes(evidence(flushes), &cached, false);
            assert_eq!(kept.verdict, FlushVerdict::Explained, "{flushes:?}");
        }
        // Too few writes accuse wherever they went.
        let lie = FlushEvidence {
            writes: 3,
            ..evidence(Some(0))
        };
        let accused = doubt_unflushed_writes(lie.with_verdict(0), &cached(), true);
        assert_eq!(accused.verdict, FlushVerdict::Impossible);
    }

    #[test]
    fn a_watch_counts_its_intervals() {
        let here = std::env::temp_dir();
        let counts = match FlushCounts::below(&[&here]) {
            Ok(counts) => counts,
            Err(reason) => {
                eprintln!("skipped: not counted in {}: {reason}", here.display());
                return;
            }
        };
        let flush_counting = Ok(counts);
        let mut watch = FlushCounter::new(Some(&flush_counting));
        for _ in 0..3 {
            watch.begin();
            watch.pause();
        }
        assert_eq!(watch.end().map(|counted| counted.intervals), Some(3));
    }
}
