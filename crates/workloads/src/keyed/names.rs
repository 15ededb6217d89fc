//! Names of a worker's findings, which it reports in addition to the measured operations.

pub(crate) const WORKER: &str = "worker";
pub(crate) const DONE: &str = "done";
/// The worker's knowledge of others' writes.
pub(crate) const KNOWLEDGE: &str = "knowledge";
pub(crate) const OVERFLOWED: &str = "too_many_unsettled";
/// Followed by the record's number.
pub(crate) const UNSETTLED: &str = "unsettled.";
