//! Names of a worker's findings, which it reports in addition to the measured operations.

pub(super) const WORKER: &str = "worker";
pub(super) const DONE: &str = "done";
/// The worker's knowledge of others' writes.
pub(super) const KNOWLEDGE: &str = "knowledge";
pub(super) const OVERFLOWED: &str = "too_many_unsettled";
/// Followed by the record's number.
pub(super) const UNSETTLED: &str = "unsettled.";
