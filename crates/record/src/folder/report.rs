//! Trials that other hosts report.

use super::{RunFolder, TRIALS, known_version};
use crate::json_values::ValueLimit;
use crate::upgrade::{self, FileKind};
use crate::{Error, TrialRecord, ranges};

/// The size of a trial that another host reports, at most.
const MAX_REPORT_BYTES: u64 = 64 << 20;

impl RunFolder {
    /// Reads a trial that another host reports, as untrusted as a line of a folder from anywhere.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if it has too many values, [`Error::NewerFormat`] if it is newer than
    /// this program, [`Error::Invalid`] if it is no trial or a number is out of its range.
    pub fn read_trial(&self, line: &[u8]) -> Result<TrialRecord, Error> {
        let path = self.path.join(TRIALS);
        ValueLimit::new(MAX_REPORT_BYTES).add(&path, line)?;
        let version = known_version(&path, line)?;
        let read = upgrade::read::<TrialRecord>(FileKind::Trial, version, line);
        let record = read.map_err(|error| Error::invalid(&path, error))?;
        let checked = ranges::trial(&record);
        checked.map_err(|wrong| Error::invalid(&path, wrong.message()))?;
        Ok(record)
    }
}
