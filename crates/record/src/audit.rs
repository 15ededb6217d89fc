//! The result of an audit: simulated power cuts on a build of an engine, at a level, with knobs.

use crate::suggest::{UnknownName, find_named};
use crate::value::saturating_sum;
use crate::{Durability, HostFacts, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A model of storage: what may be missing after a power cut. Weakest storage last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum StorageModel {
    /// Nothing is missing: every process was killed, and the kernel went on.
    Kill,
    /// Nothing that came before the cut is missing.
    Prefix,
    /// What no flush had covered may be missing, as with the journal of ext4 (`data=ordered`) and
    /// xfs. Data that overwrite older data, page by page; in a file that grows, everything behind
    /// the first missing page; in space that was allocated before, whole writes; and of names and
    /// sizes that were set, the last ones.
    Journal,
    /// Whatever no flush had covered may be missing: data, sizes, and names until their directory
    /// was flushed. It is what POSIX allows.
    Posix,
    /// As [`StorageModel::Journal`]; also, the last write of a file may have ended in the middle.
    Torn,
}

impl StorageModel {
    /// Every model, strongest storage first.
    pub const ALL: [Self; 5] = [
        Self::Kill,
        Self::Prefix,
        Self::Journal,
        Self::Posix,
        Self::Torn,
    ];

    /// Returns the name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Prefix => "prefix",
            Self::Journal => "journal",
            Self::Posix => "posix",
            Self::Torn => "torn",
        }
    }

    /// Returns whether it simulates lost power, and not only killed processes.
    #[must_use]
    pub fn loses_power(self) -> bool {
        self != Self::Kill
    }

    /// Returns whether ext4 and xfs, with their usual options, on a disk that obeys flushes, can
    /// leave what it describes. The other models are weaker than what these document.
    #[must_use]
    pub fn is_usual(self) -> bool {
        matches!(self, Self::Kill | Self::Prefix | Self::Journal)
    }
}

impl fmt::Display for StorageModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for StorageModel {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let words = ["storage model", "the models are"];
        find_named(text, Self::ALL, Self::name, words)
    }
}

/// The kind of damage that a state showed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// The file system on which the database lies cannot be mounted.
    FileSystemLost,
    /// The database does not open.
    Unopenable,
    /// The engine did not answer within the time limit.
    Hang,
    /// The engine's process crashed.
    Crash,
    /// It opens, but reading fails.
    Unreadable,
    /// A value is neither old nor new, or nobody wrote it.
    TornValue,
    /// A transaction is there in part.
    PartialTransaction,
    /// A commit is missing, though a later one is there.
    OrderBroken,
    /// A commit that was acknowledged is missing.
    CommitMissing,
    /// A commit that was acknowledged was not there while storage failed, and no error said so.
    HiddenCommit,
    /// More commits that were acknowledged are missing than the level's window allows.
    WindowExceeded,
    /// It opens and reads, but does not accept a commit.
    Unwritable,
    /// After a commit and a close in good order it is damaged.
    DamagedLater,
    /// The engine's own check reports damage.
    CheckFailed,
}

impl fmt::Display for DamageKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::FileSystemLost => "the file system cannot be mounted",
            Self::Unopenable => "does not open",
            Self::Hang => "does not answer in time",
            Self::Crash => "crashes",
            Self::Unreadable => "cannot be read",
            Self::TornValue => "a value is damaged",
            Self::PartialTransaction => "a transaction is there in part",
            Self::OrderBroken => "a commit is missing, a later one is there",
            Self::CommitMissing => "an acknowledged commit is missing",
            Self::HiddenCommit => "an acknowledged commit is not there while storage fails",
            Self::WindowExceeded => "more commits are missing than the window allows",
            Self::Unwritable => "does not accept a commit",
            Self::DamagedLater => "is damaged after the next commit",
            Self::CheckFailed => "the engine's own check reports damage",
        })
    }
}

/// Damage that a state showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Damage {
    /// Its kind.
    pub kind: DamageKind,
    /// The details, or the engine's own words.
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.detail)
    }
}

/// Bytes that stand in place of the missing part of a torn write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TornRest {
    /// The bytes from before the write.
    Old,
    /// Zeros.
    Zero,
    /// Arbitrary bytes.
    Garbage,
}

/// A write that ended in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Tear {
    /// The operation, by its index in the recording.
    pub operation: usize,
    /// The bytes from its beginning that persisted.
    pub persisted: u64,
    /// The rest.
    pub rest: TornRest,
}

/// A page of a file that did not persist from some write on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LostPage {
    /// The file, by its number in the recording.
    pub inode: u64,
    /// The page, by its number in the file; pages have 4,096 bytes.
    pub page: u64,
    /// The first write that did not persist, by its index in the recording.
    pub from: usize,
}

/// A state in which a power cut can leave the files: a moment, and what had not persisted by then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CrashState {
    /// The number of operations that were issued.
    pub cut: usize,
    /// Pages that did not persist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_pages: Vec<LostPage>,
    /// Changes of names and sizes that did not persist, by their index in the recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_operations: Vec<usize>,
    /// A write that ended in the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tear: Option<Tear>,
}

impl CrashState {
    /// Returns the number of changes that it lacks.
    #[must_use]
    pub fn losses(&self) -> usize {
        self.lost_pages.len() + self.lost_operations.len() + usize::from(self.tear.is_some())
    }
}

/// A crash of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryCrash {
    /// The operations of the recovery, to its end.
    pub operations: u64,
    /// The state in which the crash left the files, of a recording of the recovery.
    pub state: CrashState,
}

/// A state that refutes a promise, as small as could be found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counterexample {
    /// Its name within the run folder: `lmdb-sync-journal`.
    pub id: String,
    /// The state.
    pub state: CrashState,
    /// The crash of the recovery of `state`, if it takes that to show the damage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryCrash>,
    /// The damage.
    pub damage: Damage,
    /// What is missing, in words, one line each.
    pub words: Vec<String>,
}

/// The result of one storage model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelResult {
    /// The model.
    pub model: StorageModel,
    /// The states that were tried.
    pub states: u64,
    /// The states among them whose files differ.
    pub distinct: u64,
    /// The states in which recovery itself was crashed.
    #[serde(default)]
    pub recoveries: u64,
    /// The states that showed damage.
    pub refuted: u64,
    /// The states whose file system could not be mounted: they say nothing of the engine.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmountable: u64,
    /// The damage by kind, with the number of states that showed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub damage: BTreeMap<DamageKind, u64>,
    /// The smallest counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
    /// Damage that is damage only if flushes of which nobody knows the part covered nothing, or
    /// that this could not be tried; then it is not known whether the promise is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Doubt>,
    /// The time that it took, seconds.
    pub elapsed_s: f64,
}

/// A state in which a promise is broken if flushes whose part is not known covered nothing, and
/// which cannot be if they covered their whole file; or that it could not be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// The states that were tried with such flushes covering nothing, to the first that showed
    /// damage.
    pub states: u64,
    /// The damage; absent if none was found in the time that there was, which was too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
    /// What is missing, in words, one line each.
    pub words: Vec<String>,
    /// The flushes on which it depends, with their calls.
    pub flushes: Vec<String>,
}

/// How far the calls behind the flushes of a recording were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenFlushes {
    /// Whether calls were watched. Without that, syncfs and sync leave no trace, and the part that
    /// fdatasync or msync covers is not known.
    pub watched: bool,
    /// Why they were not, in the kernel's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether a process set up io_uring, of whose flushes the part is not known.
    #[serde(default)]
    pub io_uring: bool,
    /// The flushes of which the part is not known.
    #[serde(default)]
    pub unknown: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The verdict of an audit on a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    /// No state refuted the promise.
    NotRefuted,
    /// A state refutes it if flushes of which nobody knows the part covered nothing, or this could
    /// not be tried, and none does if they covered their whole file.
    Undecided,
    /// A state refuted it.
    Refuted,
    /// The audit did not run to an end that means something: the reason is in
    /// [`AuditResult::failure`].
    Failed,
}

/// The audit of a build of an engine at a level with knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditResult {
    /// Its name within the run folder: `lmdb-sync`.
    pub id: String,
    /// The engine, with the library that was named, if any.
    pub contender: String,
    /// The engine's own version.
    pub version: String,
    /// The hash of the engine's library, or of this program if the engine is compiled in.
    pub build: String,
    /// The level at which the database was opened.
    pub durability: Durability,
    /// The level whose promise was tested, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Durability>,
    /// Every knob.
    pub knobs: BTreeMap<String, Value>,
    /// The knobs that the user set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given_knobs: BTreeMap<String, Value>,
    /// The file system in an image on which the database lay, in the block form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The commits of each worker in each phase of the workload, at most.
    pub commits_per_phase: u64,
    /// The commits that were acknowledged.
    pub commits: u64,
    /// The operations that were recorded.
    pub operations: u64,
    /// The flushes among them.
    pub flushes: u64,
    /// How far the calls behind these flushes were seen, in the folder form; absent in records of
    /// earlier versions, which took each for a flush of its whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_flushes: Option<SeenFlushes>,
    /// The results by model.
    pub models: Vec<ModelResult>,
    /// The reason why the audit has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The moment at which it ended.
    pub ended_at: String,
}

impl AuditResult {
    /// Returns the level whose promise was tested.
    #[must_use]
    pub fn tested_level(&self) -> Durability {
        self.claim.unwrap_or(self.durability)
    }

    /// Returns the verdict on all models that were tried, those weaker than usual storage included;
    /// see [`AuditStanding::verdict`](crate::audit_standing::AuditStanding::verdict) for what it
    /// says of the promise.
    #[must_use]
    pub fn verdict_on_tried_models(&self) -> AuditVerdict {
        let has = |is_so: fn(&ModelResult) -> bool| self.models.iter().any(is_so);
        match &self.failure {
            _ if has(|model| model.refuted > 0) => AuditVerdict::Refuted,
            Some(_) => AuditVerdict::Failed,
            None if has(|model| model.undecided.is_some()) => AuditVerdict::Undecided,
            None => AuditVerdict::NotRefuted,
        }
    }

    /// Returns whether a state that usual storage can leave refuted the promise.
    #[must_use]
    pub fn is_refuted_on_usual_storage(&self) -> bool {
        let mut models = self.models.iter();
        models.any(|model| model.refuted > 0 && model.model.is_usual())
    }

    /// Returns the number of states that were tried.
    #[must_use]
    pub fn states(&self) -> u64 {
        saturating_sum(self.models.iter().map(|model| model.states))
    }
}

/// A control of every audit: a log engine that flushes in a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditControl {
    /// Its name, in the name of its result.
    pub name: &'static str,
    /// What it does, after "the log engine that".
    pub does: &'static str,
    /// Its planted fault.
    pub fault: &'static str,
    /// The call by which it flushes.
    pub flush: &'static str,
    /// Whether it must be refuted. Otherwise it must not be.
    pub is_refuted: bool,
    /// Whether its flushes are seen only if calls are watched.
    pub needs_watch: bool,
}

/// The controls of every audit, in the order of [`AuditRecord::controls`].
pub const CONTROLS: [AuditControl; 5] = [
    AuditControl {
        name: "flushes",
        does: "flushes",
        fault: "none",
        flush: "fdatasync",
        is_refuted: false,
        needs_watch: false,
    },
    AuditControl {
        name: "flushes-nothing",
        does: "does not flush",
        fault: "flush_left_out",
        flush: "fdatasync",
        is_refuted: true,
        needs_watch: false,
    },
    AuditControl {
        name: "flushes-by-o_dsync",
        does: "flushes by O_DSYNC",
        fault: "none",
        flush: "o_dsync",
        is_refuted: false,
        needs_watch: false,
    },
    AuditControl {
        name: "flushes-one-byte",
        does: "flushes one byte",
        fault: "part_flushed",
        flush: "fdatasync",
        is_refuted: true,
        needs_watch: false,
    },
    AuditControl {
        name: "flushes-by-syncfs",
        does: "flushes by syncfs",
        fault: "none",
        flush: "syncfs",
        is_refuted: false,
        needs_watch: true,
    },
];

impl AuditControl {
    /// Returns whether the result is as it must be. Where calls could not be watched, fdatasync is
    /// not known to flush a whole file, and syncfs is not seen.
    #[must_use]
    pub fn came_out(&self, result: &AuditResult) -> bool {
        let seen = result.seen_flushes.as_ref();
        let is_watched = seen.is_none_or(|seen| seen.watched);
        match result.verdict_on_tried_models() {
            AuditVerdict::Failed => false,
            _ if self.needs_watch && !is_watched => true,
            AuditVerdict::Undecided => !self.is_refuted && !is_watched,
            AuditVerdict::Refuted => self.is_refuted,
            AuditVerdict::NotRefuted => !self.is_refuted,
        }
    }
}

/// The record of an audit run: `audit.json` in its run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// The version of this format.
    pub format: u32,
    /// The exact command.
    pub command: String,
    /// When it began (RFC 3339); empty in records before it was noted.
    #[serde(default)]
    pub started_at: String,
    /// The machine, and the file system of the states; `None` in records before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// The version of this program.
    pub program_version: String,
    /// The controls: log engines that flush in a way, or do not ([`CONTROLS`]). Records of format 1
    /// have the first two.
    pub controls: Vec<AuditResult>,
    /// In the block form, the first two controls on the file system of the audits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage_controls: Vec<AuditResult>,
    /// The audits, in the order in which they ran.
    pub results: Vec<AuditResult>,
    /// Contenders that could not be audited, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, String>,
    /// Whether the user ended it early.
    #[serde(default)]
    pub interrupted: bool,
}

impl AuditRecord {
    /// Returns whether the controls came out as they must. On the file system of the audits, only
    /// the one that does not flush must be refuted.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let expected = if self.format < 2 { 2 } else { CONTROLS.len() };
        let mut controls = self.controls.iter().zip(CONTROLS);
        let is_storage_seen = match self.storage_controls.as_slice() {
            [] => true,
            [_, careless] => careless.verdict_on_tried_models() == AuditVerdict::Refuted,
            _ => false,
        };
        self.controls.len() == expected
            && controls.all(|(result, control)| control.came_out(result))
            && is_storage_seen
    }

    /// Returns whether the file system of the audits loses what was flushed: a log engine that
    /// flushes was refuted on it. Then no refutation on it says anything of an engine.
    #[must_use]
    pub fn blames_storage(&self) -> bool {
        let flushing = self.storage_controls.first();
        flushing.is_some_and(|result| result.verdict_on_tried_models() == AuditVerdict::Refuted)
    }
}
