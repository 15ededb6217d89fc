//! The data model of trueput and its files: plan, trial, measurement, host facts, the run folder.
//! This crate measures nothing and knows no engine; reports can be made from its data on a machine
//! without engines.
//!
//! `docs/FORMAT.md` describes the files for people and for other programs.
//!
//! # Modules
//!
//! - `ablation`: the step of a plan's list that a trial is of
//! - `accounting`: device, waits and ratios of a trial
//! - `address`: addresses of users' servers
//! - `audit_folder`: the record in an audit's folder
//! - `audit_standing`: what is known of a promise from audits
//! - `conditions`: run conditions: duration, rate, processors, memory
//! - `consistency`: whether the parts of a record agree
//! - `durability`: levels, promises and windows
//! - `fault`: faults that a trial causes in a cluster
//! - `fault_record`: the outcomes of storage faults, in their folder
//! - `filesystem`: file systems as a dimension of a plan
//! - `flush_evidence`: writes and flushes against commits
//! - `folder`: the run folder
//! - `gate`: what a comparison must not show
//! - `hardware_limits`: rates of a machine without an engine
//! - `histogram`: latency histograms in HdrHistogram's log format
//! - `host`: facts about machine and program
//! - `isolation`: isolation levels, by the phenomena that they proscribe
//! - `json_place`: the line of a value in a JSON text
//! - `json_values`: a limit on the values of a JSON text
//! - `latency`: summaries of latencies and of an open loop
//! - `lines`: lines of files of unknown origin
//! - `list`: lists of values on the command line
//! - `load_generator`: the hosts that ran a trial's workers
//! - `machine_check`: what limits figures on a machine
//! - `measurement`: the record of a trial, one line of `trials.jsonl`
//! - `median`: the median of some figures
//! - `objective`: response times and errors that a contender must keep
//! - `parameter`: knobs and settings: types, ranges, defaults
//! - `placement`: where workers ran and their memory lay
//! - `plan`: plans
//! - `published`: published tables, as data
//! - `random`: random numbers from a seed
//! - `ranges`: numbers of a run folder against their ranges
//! - `recovery`: engine events, and recovery from a crash
//! - `regular_file`: files of folders of unknown origin
//! - `run_host`: the hosts that whole repeats were given to
//! - `search`: runs whose trials are proposed from the results so far
//! - `service_report`: what the servers of modeled storage did
//! - `skipped`: the skipped parts of a plan
//! - `space`: the size of a database, and its compaction
//! - `storage`: the layers below a database, and what they keep at lost power
//! - `storage_fault`: faults of storage, as conditions name them
//! - `storage_model`: the storage models that conditions name
//! - `suggest`: the known name nearest to a misspelled one
//! - `testing`: trials for tests, with the feature of that name
//! - `text`: text of unknown origin, made safe to show, and counts in words
//! - `timeline`: the seconds of a trial
//! - `trial`: the specification of one trial
//! - `trial_time`: the time that a trial takes
//! - `value`: the value of a parameter

pub mod ablation;
pub mod accounting;
pub mod address;
pub mod audit;
pub mod audit_folder;
pub mod audit_standing;
pub mod conditions;
pub mod consistency;
pub mod durability;
pub mod failover;
pub mod fault;
pub mod fault_record;
pub mod filesystem;
pub mod flush_evidence;
pub mod folder;
pub mod gate;
pub mod hardware_limits;
pub mod histogram;
pub mod host;
pub mod interval_log;
pub mod isolation;
mod json_place;
mod json_values;
pub mod latency;
mod lines;
pub mod list;
pub mod load_generator;
pub mod machine_check;
pub mod measurement;
mod median;
pub mod objective;
pub mod parameter;
pub mod placement;
pub mod plan;
pub mod published;
pub mod random;
pub mod ranges;
pub mod recovery;
pub mod regular_file;
mod reserve;
pub mod run_host;
pub mod schema;
pub mod search;
pub mod service_report;
pub mod skipped;
pub mod space;
pub mod stall;
pub mod storage;
pub mod storage_fault;
pub mod storage_model;
pub mod suggest;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod timeline;
pub mod trial;
pub mod trial_time;
mod upgrade;
pub mod value;

pub use conditions::Conditions;
pub use durability::{ClusterSurvival, Durability, Promise, Survival, Window};
pub use folder::{RunFolder, RunManifest};
pub use host::HostFacts;
pub use isolation::{Isolation, Phenomenon};
pub use measurement::{Measurement, Outcome, TrialRecord};
pub use plan::PlanFile;
pub use reserve::is_disk_full;
pub use trial::{TrialSpec, VerifyLevel, WorkerKind};
pub use value::Value;

/// The version of the run folder's layout and of every line in it.
///
/// Raised when a reader of the former version would misread a file of the next one. A folder with
/// a higher number than this is refused, never guessed at.
pub const FORMAT_VERSION: u32 = 2;

/// An error in reading or writing trueput's own files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: std::path::PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file was read but says something that cannot be used.
    #[error("{path}{}: {message}", line.map(|n| format!(":{n}")).unwrap_or_default())]
    Invalid {
        /// The file.
        path: std::path::PathBuf,
        /// The line number, from 1, if the error is in one line.
        line: Option<usize>,
        /// The mistake and how to correct it.
        message: String,
    },
    /// A file is longer than it may be, or says that it is.
    #[error("{path}: {problem}")]
    TooLarge {
        /// The file.
        path: std::path::PathBuf,
        /// The part that is too long, and its limit.
        problem: String,
    },
    /// Another process writes to a run folder.
    #[error("{path}: another trueput is at work on this run; stop it, or wait until it has ended")]
    Busy {
        /// The run folder.
        path: std::path::PathBuf,
    },
    /// A run folder was written by a later trueput.
    #[error(
        "{path}: format {found} is newer than {known}, the newest that this trueput reads; \
         use a newer trueput"
    )]
    NewerFormat {
        /// The file that states the format.
        path: std::path::PathBuf,
        /// The format it states.
        found: u32,
        /// [`FORMAT_VERSION`].
        known: u32,
    },
}

impl Error {
    /// Wraps an operating-system error with the path it concerns.
    pub fn io(path: impl Into<std::path::PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }

    /// Returns whether there was no room: no block, no inode, or no quota.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if reserve::is_disk_full(source))
    }

    /// Creates an error for an unusable file, without a line.
    pub fn invalid(path: impl Into<std::path::PathBuf>, message: impl std::fmt::Display) -> Self {
        Self::Invalid {
            path: path.into(),
            line: None,
            message: message.to_string(),
        }
    }
}
