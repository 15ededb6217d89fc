//! The record of storage faults: the outcome of each fault for each engine.

use crate::audit::Damage;
use crate::audit_folder::{parse, read_text};
use crate::storage_fault::{FailedFlush, FaultEffect, FaultOperation, FaultTrigger, StorageFault};
use crate::{Durability, Error, HostFacts, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::path::Path;

/// The name of the record.
pub const FAULT_RECORD: &str = "faults.json";

/// The newest version of the record.
pub const FAULT_FORMAT: u32 = 1;

/// The outcome of a storage fault for an engine; the worse one last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "FaultTrialOutcome")]
pub enum FaultOutcome {
    /// The fault never came: the engine made no such request.
    NotTriggered,
    /// No error, and nothing is missing.
    Harmless,
    /// The engine reported an error, and every acknowledged commit is there after reopening.
    Reported,
    /// The fault could not be tried, or not to an end that means something.
    NotRun,
    /// The engine made no progress any more; nothing is missing after reopening.
    Hung,
    /// A process of the engine crashed; nothing is missing after reopening.
    Crashed,
    /// Without the fault, the database does not open (or crashes or hangs as it does), cannot be
    /// read, or accepts no commit.
    RefusesToOpen,
    /// Acknowledged commits are missing or damaged, and the device had acknowledged flushes that it
    /// did not do: no engine can help that.
    LostByDevice,
    /// Acknowledged commits are missing after reopening; the engine had reported an error.
    ReportedLoss,
    /// Acknowledged commits are missing after reopening, and no error was reported.
    SilentLoss,
    /// Data were returned that nobody wrote, or a damaged database was opened, without an error.
    WrongData,
}

impl FaultOutcome {
    /// Every outcome, the worst one last.
    pub const ALL: [Self; 11] = [
        Self::NotTriggered,
        Self::Harmless,
        Self::Reported,
        Self::NotRun,
        Self::Hung,
        Self::Crashed,
        Self::RefusesToOpen,
        Self::LostByDevice,
        Self::ReportedLoss,
        Self::SilentLoss,
        Self::WrongData,
    ];

    /// Returns its word in a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotTriggered => "never came",
            Self::Harmless => "harmless",
            Self::Reported => "reported",
            Self::NotRun => "not run",
            Self::Hung => "hung",
            Self::Crashed => "crashed",
            Self::RefusesToOpen => "refuses",
            Self::LostByDevice => "device lied",
            Self::ReportedLoss => "lost",
            Self::SilentLoss => "SILENT LOSS",
            Self::WrongData => "WRONG DATA",
        }
    }

    /// Returns whether the engine lost or falsified data without a word.
    #[must_use]
    pub fn is_silent(self) -> bool {
        matches!(self, Self::SilentLoss | Self::WrongData)
    }
}

impl fmt::Display for FaultOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::NotTriggered => "the fault never came",
            Self::Harmless => "not noticed, harmless",
            Self::Reported => "error reported, nothing lost",
            Self::NotRun => "not run",
            Self::Hung => "hung; nothing lost after reopening",
            Self::Crashed => "crashed; nothing lost after reopening",
            Self::RefusesToOpen => "refuses to open",
            Self::LostByDevice => "lost, because the device lied",
            Self::ReportedLoss => "error reported, acknowledged commits lost after reopening",
            Self::SilentLoss => "acknowledged commits silently lost",
            Self::WrongData => "wrong data returned silently",
        })
    }
}

/// The course of a workload under a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCourse {
    /// It commits, and is killed.
    Kill,
    /// It commits, makes a checkpoint, reads everything back, closes the database and opens it
    /// again, reads everything back, commits, and is killed.
    Reopen,
}

/// An error that the engine reported under a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedError {
    /// The step that failed, as in `commit`.
    pub during: String,
    /// The engine's own words.
    pub text: String,
    /// How often it was reported.
    pub count: u64,
}

/// An end of a workload other than the planned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "end", content = "words", rename_all = "snake_case")]
pub enum WorkloadEnd {
    /// A process of the engine crashed, in words.
    Crashed(String),
    /// The engine made no progress any more, in words.
    Hung(String),
}

impl WorkloadEnd {
    /// Returns its words.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Crashed(words) | Self::Hung(words) => words,
        }
    }
}

/// One course of a workload under a fault, and what was left of its commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultTrial {
    /// The course.
    pub course: FaultCourse,
    /// The outcome.
    pub outcome: FaultOutcome,
    /// The errors that the engine reported, each text once.
    pub errors: Vec<ReportedError>,
    /// The damage that was seen while the fault was on, and after reopening.
    pub damage: Vec<Damage>,
    /// How the workload ended, if it did not as planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WorkloadEnd>,
    /// The commits that were acknowledged, those before the fault included.
    pub acknowledged: u64,
    /// How often the fault came.
    pub injected: u64,
    /// The first request to which it came, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_injected: Option<String>,
}

/// The outcome of a storage fault for a build of an engine at a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultResult {
    /// The engine, with the library that was named, if any.
    pub contender: String,
    /// The engine's own version.
    pub version: String,
    /// The level at which the database was opened.
    pub durability: Durability,
    /// The knobs that the user set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given_knobs: BTreeMap<String, Value>,
    /// The fault.
    pub fault: StorageFault,
    /// What became of the pages of a failed flush; `None` if no flush fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_fsync: Option<FailedFlush>,
    /// The worst outcome of its courses.
    pub outcome: FaultOutcome,
    /// Why it was not run, or could not come, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The courses.
    pub trials: Vec<FaultTrial>,
    /// The time that it took, seconds.
    pub elapsed_s: f64,
}

impl FaultResult {
    /// Returns whether it is of the same build, level, knobs and fault as another.
    #[must_use]
    pub fn is_of_case(&self, other: &Self) -> bool {
        self.contender == other.contender
            && self.version == other.version
            && self.durability == other.durability
            && self.given_knobs == other.given_knobs
            && self.fault == other.fault
            && self.failed_fsync == other.failed_fsync
    }
}

/// A control: a log engine whose outcome is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultControl {
    /// What it does, after "the log engine that".
    pub does: &'static str,
    /// Its planted fault.
    pub planted: &'static str,
    /// What it does after a failed flush, as its knob has it.
    pub flush_failure: &'static str,
    /// The storage fault.
    pub fault: StorageFault,
    /// What becomes of the pages of a failed flush.
    pub failed_fsync: FailedFlush,
    /// Its outcome.
    pub expected: FaultOutcome,
}

/// A planted fault that is none.
const NONE: &str = "none";

const THIRD_FLUSH: StorageFault = StorageFault {
    operation: FaultOperation::Fsync,
    effect: FaultEffect::InputOutputError,
    trigger: FaultTrigger::Request(3),
};

const EVERY_READ: StorageFault = StorageFault {
    operation: FaultOperation::Read,
    effect: FaultEffect::FlippedBit,
    trigger: FaultTrigger::Always,
};

const LIE: StorageFault = StorageFault {
    operation: FaultOperation::Fsync,
    effect: FaultEffect::Lie,
    trigger: FaultTrigger::Always,
};

const THIRD_WRITE: StorageFault = StorageFault {
    operation: FaultOperation::Write,
    ..THIRD_FLUSH
};

const FULL_DEVICE: StorageFault = StorageFault {
    operation: FaultOperation::Write,
    effect: FaultEffect::NoSpace,
    trigger: FaultTrigger::Always,
};

const EVERY_READ_FAILS: StorageFault = StorageFault {
    effect: FaultEffect::InputOutputError,
    ..EVERY_READ
};

/// A control that meets a failed flush.
const fn at_failed_flush(
    does: &'static str,
    flush_failure: &'static str,
    failed_fsync: FailedFlush,
    expected: FaultOutcome,
) -> FaultControl {
    FaultControl {
        does,
        planted: NONE,
        flush_failure,
        fault: THIRD_FLUSH,
        failed_fsync,
        expected,
    }
}

/// A control that meets another fault.
const fn at_other_fault(
    does: &'static str,
    planted: &'static str,
    fault: StorageFault,
    expected: FaultOutcome,
) -> FaultControl {
    FaultControl {
        does,
        planted,
        flush_failure: "refuse",
        fault,
        failed_fsync: FailedFlush::Dropped,
        expected,
    }
}

/// The controls of every table of faults, in the order of [`FaultRecord::controls`].
pub const FAULT_CONTROLS: [FaultControl; 11] = [
    at_failed_flush(
        "refuses every commit after a failed flush",
        "refuse",
        FailedFlush::Dropped,
        FaultOutcome::Reported,
    ),
    at_failed_flush(
        "reports a failed flush and goes on behind it",
        "continue",
        FailedFlush::Dropped,
        FaultOutcome::ReportedLoss,
    ),
    at_failed_flush(
        "repeats a failed flush and trusts the second one, pages dropped",
        "retry",
        FailedFlush::Dropped,
        FaultOutcome::SilentLoss,
    ),
    at_failed_flush(
        "repeats a failed flush and trusts the second one, pages kept",
        "retry",
        FailedFlush::KeptDirty,
        FaultOutcome::Harmless,
    ),
    at_failed_flush(
        "ignores the result of a flush",
        "ignore",
        FailedFlush::Dropped,
        FaultOutcome::SilentLoss,
    ),
    at_other_fault(
        "reports a failed write",
        NONE,
        THIRD_WRITE,
        FaultOutcome::Reported,
    ),
    at_other_fault(
        "reports a full device",
        NONE,
        FULL_DEVICE,
        FaultOutcome::Reported,
    ),
    at_other_fault(
        "reports failed reads",
        NONE,
        EVERY_READ_FAILS,
        FaultOutcome::Reported,
    ),
    at_other_fault(
        "checks checksums, and reads flipped bits",
        NONE,
        EVERY_READ,
        FaultOutcome::Reported,
    ),
    at_other_fault(
        "checks no checksum, and reads flipped bits",
        "checksum_not_checked",
        EVERY_READ,
        FaultOutcome::WrongData,
    ),
    at_other_fault(
        "flushes to a device that lies",
        NONE,
        LIE,
        FaultOutcome::LostByDevice,
    ),
];

/// The record of the faults of a command: `faults.json` in its folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// The version of this format.
    pub format: u32,
    /// The exact command.
    pub command: String,
    /// When it began (RFC 3339).
    pub started_at: String,
    /// The machine, and the file system of the databases.
    pub host: HostFacts,
    /// The version of this program.
    pub program_version: String,
    /// The seed of the transactions and of faults that come by chance.
    pub seed: u64,
    /// The controls, log engines whose outcomes are known ([`FAULT_CONTROLS`]).
    pub controls: Vec<FaultResult>,
    /// The results, engine by engine, in the order of the faults; then those of a command that went
    /// on.
    pub results: Vec<FaultResult>,
    /// Contenders that could not be tried, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, String>,
    /// Whether the user ended it early.
    #[serde(default)]
    pub interrupted: bool,
}

impl FaultRecord {
    /// Returns the controls that did not come out as they must, with what they must be. One that is
    /// missing was not reached.
    pub fn failed_controls(&self) -> impl Iterator<Item = (&FaultResult, &FaultControl)> {
        let controls = self.controls.iter().zip(&FAULT_CONTROLS);
        controls.filter(|(result, control)| result.outcome != control.expected)
    }

    /// Returns whether every control came out as it must.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.controls.len() == FAULT_CONTROLS.len() && self.failed_controls().next().is_none()
    }

    /// Returns whether every fault was tried, and no engine lost or falsified data silently.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let mut outcomes = self.results.iter().map(|result| result.outcome);
        let is_clean =
            |outcome: FaultOutcome| outcome != FaultOutcome::NotRun && !outcome.is_silent();
        self.is_valid() && !self.results.is_empty() && outcomes.all(is_clean)
    }
}

/// Makes a folder of faults this process's own for as long as the lock lives: two commands that go
/// on with one folder would write over each other's results.
///
/// # Errors
/// [`Error::Busy`] if another process has it, [`Error::Io`] if it cannot be opened.
pub fn lock(folder: &Path) -> Result<File, Error> {
    let opened = File::open(folder).map_err(|source| Error::io(folder, source))?;
    match opened.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Busy {
            path: folder.to_owned(),
        }),
        // A file system without locks can still hold results.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(opened),
    }
}

/// Reads the record of a folder, which may come from anybody; `None` if the folder has none.
///
/// # Errors
/// [`Error::Io`] if it cannot be read or is no regular file, [`Error::TooLarge`] if it has more
/// than `max_bytes` or too many values, [`Error::NewerFormat`] if a later trueput wrote it,
/// [`Error::Invalid`] if it is no record.
pub fn read(folder: &Path, max_bytes: u64) -> Result<Option<FaultRecord>, Error> {
    let Some(text) = read_text(folder, FAULT_RECORD, max_bytes)? else {
        return Ok(None);
    };
    let path = folder.join(FAULT_RECORD);
    let record: FaultRecord = parse(&path, &text)?;
    if record.format > FAULT_FORMAT {
        return Err(Error::NewerFormat {
            path,
            found: record.format,
            known: FAULT_FORMAT,
        });
    }
    let twice = record.results.iter().enumerate().find(|(place, result)| {
        let earlier = &record.results[..*place];
        earlier.iter().any(|known| known.is_of_case(result))
    });
    if let Some((_, result)) = twice {
        return Err(Error::Invalid {
            path,
            line: None,
            message: format!(
                "{} {} has two results of {}",
                result.contender, result.durability, result.fault
            ),
        });
    }
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_ordered_from_good_to_bad_and_have_words_of_their_own() {
        assert!(FaultOutcome::ALL.is_sorted());
        let words = FaultOutcome::ALL.map(FaultOutcome::word);
        let distinct: std::collections::BTreeSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
        let silent = FaultOutcome::ALL.iter().filter(|one| one.is_silent());
        assert_eq!(silent.count(), 2);
    }

    #[test]
    fn every_kind_of_a_lossy_outcome_has_a_control() {
        let expected = FAULT_CONTROLS.map(|control| control.expected);
        let lossy = FaultOutcome::ALL.into_iter();
        for outcome in lossy.filter(|one| *one >= FaultOutcome::LostByDevice) {
            assert!(expected.contains(&outcome), "{outcome}");
        }
        assert_eq!(THIRD_FLUSH.to_string(), "fsync:eio@3");
        assert_eq!(THIRD_WRITE.to_string(), "write:eio@3");
        assert_eq!(FULL_DEVICE.to_string(), "write:enospc");
        assert_eq!(EVERY_READ_FAILS.to_string(), "read:eio");
        assert_eq!(EVERY_READ.to_string(), "read:flip");
        assert_eq!(LIE.to_string(), "fsync:lie");
    }
}
