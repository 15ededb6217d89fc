//! Checks of reads. A read that returned something wrong is counted, so that the trial
//! goes on and is then invalid.

use crate::{WorkerFindings, finding};
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// The state in which a read found a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordState {
    /// It is not there.
    Absent,
    /// The record exists, in this version.
    Version(u32),
    /// Its value is not one of this record, or damaged.
    Foreign,
}

/// A fault of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadFault {
    /// A record that was not deleted is missing.
    Lost,
    /// A record exists that was never put, or that was deleted.
    Unexpected,
    /// A record is not one of the key that it is under, or damaged.
    Foreign,
    /// A record is older than one that was committed before the read began.
    Stale,
    /// A record is newer than anything that was written.
    Unwritten,
    /// A scan began elsewhere than at its record, went back, or showed a key of no record.
    Disorder,
    /// The parts of a value are of different versions.
    Torn,
}

impl ReadFault {
    /// Every one.
    pub(crate) const ALL: [Self; 7] = [
        Self::Lost,
        Self::Unexpected,
        Self::Foreign,
        Self::Stale,
        Self::Unwritten,
        Self::Disorder,
        Self::Torn,
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Unexpected => "unexpected",
            Self::Foreign => "foreign",
            Self::Stale => "stale",
            Self::Unwritten => "unwritten",
            Self::Disorder => "disorder",
            Self::Torn => "torn",
        }
    }

    /// Describes the fault in a sentence about records.
    fn description(self) -> &'static str {
        match self {
            Self::Lost => "missing",
            Self::Unexpected => "present without a write",
            Self::Foreign => "of another record or damaged",
            Self::Stale => "stale, older than what was committed",
            Self::Unwritten => "newer than what was written",
            Self::Disorder => "out of order",
            Self::Torn => "torn, with parts of different versions",
        }
    }
}

/// Checks the values that reads return.
pub(crate) trait ReadValidator {
    /// Returns the fewest writes of a record that a read which begins now must find.
    fn floor(&self, item: u64) -> u32;

    /// Checks the state in which a record was read; `floor` is from before the read began.
    ///
    /// # Errors
    /// The fault found.
    fn validate(&self, item: u64, floor: u32, state: RecordState) -> Result<(), ReadFault>;
}

/// The number of reads checked, and the faults found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadCounts {
    checked: u64,
    /// For each fault, its count and the first item that had it.
    faults: [(u64, u64); ReadFault::ALL.len()],
}

/// The name of the number of checked reads in the findings.
const CHECKED: &str = "reads checked";

impl ReadCounts {
    /// Counts a read that was verdict.
    #[inline]
    pub(crate) fn count(&mut self, item: u64, verdict: Result<(), ReadFault>) {
        self.checked += 1;
        if let Err(fault) = verdict {
            self.add(fault, item);
        }
    }

    /// Counts a fault, without a further read.
    #[cold]
    pub(crate) fn add(&mut self, fault: ReadFault, item: u64) {
        let (count, first) = &mut self.faults[fault as usize];
        if *count == 0 {
            *first = item;
        }
        *count += 1;
    }

    /// The number of reads checked.
    pub(crate) fn checked(&self) -> u64 {
        self.checked
    }

    /// Writes the counts into findings, which are numbers by name.
    pub(crate) fn write(&self, findings: &mut WorkerFindings) {
        findings.insert(CHECKED.to_owned(), self.checked);
        for (fault, (count, first)) in ReadFault::ALL.into_iter().zip(self.faults) {
            if count > 0 {
                findings.insert(format!("read: {}", fault.name()), count);
                findings.insert(format!("read: {}: first", fault.name()), first);
            }
        }
    }

    /// Reads the counts of all workers from their findings.
    pub(crate) fn sum<'f>(findings: impl IntoIterator<Item = &'f WorkerFindings>) -> Self {
        let mut all = Self::default();
        for findings in findings {
            let number = |name: &str| finding(findings, name);
            all.checked += number(CHECKED);
            for (fault, (count, first)) in ReadFault::ALL.into_iter().zip(&mut all.faults) {
                let found = number(&format!("read: {}", fault.name()));
                if *count == 0 && found > 0 {
                    *first = number(&format!("read: {}: first", fault.name()));
                }
                *count += found;
            }
        }
        all
    }

    /// The check that no read was wrong; `when_right` gives its text if it holds.
    pub(crate) fn check(&self, name: &str, when_right: impl FnOnce() -> String) -> Check {
        let faults = ReadFault::ALL.into_iter().zip(self.faults);
        let wrong: Vec<_> = faults
            .filter(|(_, (count, _))| *count > 0)
            .map(|(fault, (count, first))| {
                format!("{count} {} (first record {first})", fault.description())
            })
            .collect();
        if wrong.is_empty() {
            Check::new(name, true, when_right())
        } else {
            let detail = format!("{} of {} looked at", wrong.join(", "), self.checked);
            Check::new(name, false, detail)
        }
    }
}

/// The part of the values that reads compared at a level, as a clause after a comma.
pub(crate) fn compared_part(level: VerifyLevel) -> String {
    match level {
        VerifyLevel::Full => format!(", {}", Check::EVERY_BYTE),
        _ => ", each by its header, those of every tenth record to the last byte".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_pass_through_findings_and_fail_the_check() {
        let mut counts = ReadCounts::default();
        assert!(counts.check("reads", String::new).passed);
        for _ in 0..7 {
            counts.count(1, Ok(()));
        }
        counts.count(17, Err(ReadFault::Stale));
        counts.count(4, Err(ReadFault::Stale));
        let mut findings = WorkerFindings::new();
        counts.write(&mut findings);
        let all = ReadCounts::sum([&findings]);
        assert_eq!(all, counts);
        let check = all.check("reads", String::new);
        assert!(!check.passed);
        let wanted = "2 stale, older than what was committed (first record 17) of 9 looked at";
        assert_eq!(check.detail, wanted);
        assert_eq!(ReadCounts::sum([&findings, &findings]).checked(), 18);
    }
}
