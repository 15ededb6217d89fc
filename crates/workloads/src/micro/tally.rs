//! What a worker counts beside the measured operations, and hands to the check of the outcome.

use super::track::Fault;
use crate::Findings;

/// Names in the findings.
pub(super) mod names {
    pub(crate) const WORKER: &str = "worker";
    pub(crate) const DONE: &str = "done";
    pub(crate) const CHECKED: &str = "reads_checked";
    pub(crate) const WRONG: &str = "reads_wrong";
    pub(crate) const FIRST_WRONG: &str = "first_wrong_record";
    /// What the worker knew of others' writes.
    pub(crate) const KNOWLEDGE: &str = "knowledge";
    pub(crate) const OVERFLOWED: &str = "too_many_unsettled";
    /// With the record's number behind it.
    pub(crate) const UNSETTLED: &str = "unsettled.";
    /// With the fault's name behind it.
    pub(crate) const FAULT: &str = "wrong.";
}

/// The reads of a worker that were checked, and what was wrong with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    checked: u64,
    faults: [u64; Fault::ALL.len()],
    first: Option<u64>,
}

impl Tally {
    /// A record was read, and what that was judged to be.
    #[inline]
    pub(super) fn note(&mut self, item: u64, judged: Result<(), Fault>) {
        self.checked += 1;
        if let Err(fault) = judged {
            self.faults[fault as usize] += 1;
            self.first.get_or_insert(item);
        }
    }

    /// Adds it to the findings.
    pub(super) fn find(&self, findings: &mut Findings) {
        findings.insert(names::CHECKED.to_owned(), self.checked);
        findings.insert(names::WRONG.to_owned(), self.faults.iter().sum());
        if let Some(first) = self.first {
            findings.insert(names::FIRST_WRONG.to_owned(), first);
        }
        for (fault, count) in Fault::ALL.into_iter().zip(self.faults) {
            if count > 0 {
                findings.insert(format!("{}{}", names::FAULT, fault.name()), count);
            }
        }
    }
}
