//! Names of what a worker reports in addition to the measured operations, in its findings.

pub(super) const WORKER: &str = "worker";
pub(super) const DONE: &str = "done";
/// The worker's knowledge of others' writes.
pub(super) const KNOWLEDGE: &str = "knowledge";
pub(super) const OVERFLOWED: &str = "too_many_unsettled";
/// With the record's number behind it.
pub(super) const UNSETTLED: &str = "unsettled.";
