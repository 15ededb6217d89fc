//! How many commits certainly changed data, so that a power cut may lose something. An engine need
//! not flush for a commit that left everything as it was.

use super::versions::MAX_NUMBER;
use trueput_record::measurement::OperationSummary;
use trueput_record::{TrialSpec, VerifyLevel, WorkerKind};

/// Workers that number their writes of a record apart from each other, out of this many that write:
/// several may put the same version of a record one after the other. Threads whose every write is
/// tracked number them together.
pub(crate) fn numbers_apart(spec: &TrialSpec, writers: u64) -> u64 {
    match (spec.worker_kind, spec.verify) {
        (WorkerKind::Threads, VerifyLevel::Full) => 1,
        _ => writers.max(1),
    }
}

/// The commits among these that certainly changed data, if each puts a new version of a record. Of
/// those that may bear the same number, the first changes the record. Beyond the last number that a
/// version has room for, nothing is certain.
pub(crate) fn certain_puts(commits: u64, numbers_apart: u64) -> u64 {
    commits.min(MAX_NUMBER.into()) / numbers_apart.max(1)
}

/// The deletes that certainly took out a record, where nothing puts one back: of those that
/// processes believe to have found theirs, only as many as one of them.
pub(crate) fn certain_deletes(operation: &OperationSummary, spec: &TrialSpec) -> u64 {
    let unknown_to_each_other = match spec.worker_kind {
        WorkerKind::Threads => 1,
        WorkerKind::Processes => u64::from(spec.workers.max(1)),
    };
    operation.count.saturating_sub(operation.not_found) / unknown_to_each_other
}
