//! One cell of a plan, to run once.

use crate::ablation::AblationStep;
use crate::address::is_address_for;
use crate::search::{SearchEnd, TrialRole};
use crate::suggest::{UnknownName, find_named};
use crate::value::Settings;
use crate::{Conditions, Durability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// An id that is not a plain file name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{id}' is not a trial id: use letters, digits, '-', '_' and '.'")]
pub struct TrialIdError {
    /// The id.
    pub id: String,
}

/// Checks an id, which names files and folders and so must be a plain file name.
///
/// # Errors
/// A [`TrialIdError`].
pub fn check_id(id: &str) -> Result<(), TrialIdError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !id.is_empty() && id.len() <= 200 && !id.starts_with('.') && id.chars().all(plain) {
        return Ok(());
    }
    let id = id.to_owned();
    Err(TrialIdError { id })
}

/// The kind of worker that executes the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkerKind {
    /// Each worker is a separate process.
    Processes,
    /// Each worker is a thread of one process, for engines that allow one process only.
    Threads,
}

impl WorkerKind {
    /// Returns the kind's name, as on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Threads => "threads",
        }
    }
}

impl fmt::Display for WorkerKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The extent of checks of a trial's outcome against an independent computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerifyLevel {
    /// Check every stored record.
    Full,
    /// A random tenth of the stored records, and every total.
    Sample,
    /// Check nothing: the result is marked as unverified and never ranked.
    Off,
}

impl VerifyLevel {
    /// Every level, most thorough first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Sample, Self::Off];

    /// Returns the level's name, as on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Sample => "sample",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for VerifyLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for VerifyLevel {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let words = ["verification level", "the levels are"];
        find_named(text, Self::ALL, Self::name, words)
    }
}

/// Words of the reason for which a trial failed whose process the memory limit killed.
pub const KILLED_BY_MEMORY_LIMIT: &str = "killed by the memory limit";

/// One cell of a plan, to run once: everything that determines the trial, with every default filled
/// in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSpec {
    /// Unique in its run, usable as a file name: `0007-lmdb-async-w4-r2`.
    pub id: String,
    /// The index of the cell in the plan's matrix, from 0; repeats of a cell share it.
    pub cell: u32,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// The workload's name.
    pub workload: String,
    /// The workload's settings, every one.
    pub settings: Settings,
    /// The engine's name.
    pub engine: String,
    /// The library or server to use instead of the engine's default build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<PathBuf>,
    /// The promise that each commit makes.
    pub durability: Durability,
    /// The engine's knobs, every one.
    pub knobs: Settings,
    /// The number of workers.
    pub workers: u32,
    /// The kind of worker.
    pub worker_kind: WorkerKind,
    /// The extent of verification.
    pub verify: VerifyLevel,
    /// Seed of every random choice in the trial.
    pub seed: u64,
    /// Its run conditions: duration, rate, placement of workers.
    #[serde(default)]
    pub conditions: Conditions,
    /// The reason for differing from the plan's general settings (a shorter range, say), for the
    /// table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The step of an ablation; absent if the plan is not an ablation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<AblationStep>,
    /// Its part in a search; absent if the plan lists its trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<TrialRole>,
}

impl TrialSpec {
    /// Returns the contender's name in tables: the engine, with the build's file name if it has
    /// one.
    #[must_use]
    pub fn contender(&self) -> String {
        match self.build.as_deref() {
            Some(path) => format!("{}@{}", self.engine, path.display()),
            None => self.engine.clone(),
        }
    }

    /// Returns whether it ran on a server of the user's, which was there before, and whose files
    /// and processes are not visible.
    #[must_use]
    pub fn is_on_users_server(&self) -> bool {
        let build = self.build.as_deref();
        build.is_some_and(|build| is_address_for(&self.engine, build))
    }
}

/// What a search wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// To run these trials one after the other, at least one, and to be asked again.
    Trials(Vec<TrialSpec>),
    /// Nothing more.
    End(SearchEnd),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spec;

    #[test]
    fn a_users_server_is_told_from_a_file() {
        let is_on_users_server = |engine: &str, build: Option<&str>| {
            let mut spec = spec(0, engine, Durability::Sync, 1);
            spec.build = build.map(PathBuf::from);
            spec.is_on_users_server()
        };
        assert!(!is_on_users_server("lmdb", None));
        assert!(!is_on_users_server("lmdb", Some("/usr/lib/liblmdb.so")));
        assert!(!is_on_users_server("lmdb", Some("a=b/liblmdb.so")));
        // A file of an engine that takes no address, whatever it looks like.
        assert!(!is_on_users_server("lmdb", Some("DSN=mine")));
        assert!(is_on_users_server(
            "postgresql",
            Some("postgres://me@host/db")
        ));
        assert!(is_on_users_server("odbc", Some("Driver={Any};Server=host")));
    }
}
