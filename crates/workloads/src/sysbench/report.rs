//! What a worker hands to the verification: how much of its stream it has done, and what it knows
//! of rows that several transactions wrote at once.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// One worker's report, which its attachment holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkerReport {
    /// The worker.
    pub(super) worker: u32,
    /// Its transactions, including its warm-up.
    pub(super) done: u64,
    /// Whether it numbered its writes together with all other writers.
    pub(super) knows_all: bool,
    /// Rows whose last write of c met another under way, each with the least number that it may
    /// bear; `None` if there were too many.
    pub(super) contents: Option<Vec<(u64, u32)>>,
    /// The same for inserts of a row that was deleted.
    pub(super) inserts: Option<Vec<(u64, u32)>>,
    /// The rows that it deleted and inserted again, each with the fewest and the most index updates
    /// that were before the last insert known to it.
    pub(super) erased: Vec<(u64, u32, u32)>,
}

impl WorkerReport {
    /// As bytes.
    ///
    /// # Errors
    /// Never, for such numbers.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Workload(error.to_string()))
    }

    /// The report of an attachment.
    ///
    /// # Errors
    /// It is not a report.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let damaged = |error| Error::Workload(format!("a worker's report is damaged: {error}"));
        serde_json::from_slice(bytes).map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_back() {
        let report = WorkerReport {
            worker: 3,
            done: 1 << 40,
            knows_all: true,
            contents: Some(vec![(7, 2)]),
            inserts: None,
            erased: vec![(1 << 33, 4, 5)],
        };
        let bytes = report.encode().unwrap();
        assert_eq!(WorkerReport::decode(&bytes), Ok(report));
        assert!(WorkerReport::decode(&bytes[1..]).is_err());
    }
}
