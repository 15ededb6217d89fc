//! The disk space that trials need: one estimate by which plans are shown and runs are refused.

use crate::Registry;
use crate::plan::time_slice_group::derive_group_key;
use std::collections::HashMap;
use std::path::PathBuf;
use trueput_engine::Engine;
use trueput_engine::parameter::resolve;
use trueput_host as host;
use trueput_record::TrialSpec;
use trueput_record::value::format_bytes;
use trueput_workloads::Job;

/// The multiple of a frugal engine's size that must be free before a trial, unless the user sets
/// another: engines that copy on write or compact in the background hold several versions of a page
/// or a level at once. Some exceed even this (LMDB under long-lived readers has no bound); their
/// trial then fails with the engine's message.
pub const DISK_FACTOR: f64 = 4.0;

/// The overhead of a file system for files that a workload lays out itself: their directory and
/// metadata.
const SPARE_BYTES: u64 = 16 << 20;

/// A text that is not a factor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a factor: write a number from 0.01 to 100, as in 1.5")]
pub struct FactorError(String);

/// Reads a factor in the place of [`DISK_FACTOR`].
///
/// # Errors
/// [`FactorError`].
pub fn parse_factor(text: &str) -> Result<f64, FactorError> {
    let factor = text.parse::<f64>().ok();
    factor
        .filter(|factor| (0.01..=100.0).contains(factor))
        .ok_or_else(|| FactorError(text.to_owned()))
}

/// The reason why databases have too little room.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRoom {
    /// That of one trial.
    #[error(
        "too little disk space in {}: {}, {} free",
        directory.display(),
        space.explained(*factor),
        format_bytes(*free_bytes)
    )]
    Trial {
        /// The folder of the database.
        directory: PathBuf,
        /// What it needs.
        space: DiskSpace,
        /// The multiple of the expected size that must be free.
        factor: f64,
        /// The free space for this user.
        free_bytes: u64,
    },
    /// Those of trials that share time slices.
    #[error(
        "too little disk space for all contenders that share time slices: {} needed, {} free; free \
         some, or run one after the other: --time-slice none",
        format_bytes(*needed_bytes),
        format_bytes(*free_bytes)
    )]
    TimeSlices {
        /// What all need together.
        needed_bytes: u64,
        /// The free space for this user.
        free_bytes: u64,
    },
}

/// The disk space that a trial or a run needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskSpace {
    /// The expected size of the databases of a frugal engine.
    pub expected_bytes: u64,
    /// The bytes that must be free before the databases are made.
    pub needed_bytes: u64,
}

impl DiskSpace {
    /// Returns the space that a job needs on an engine; 0 if the engine retains no data.
    pub(crate) fn of_job(job: &dyn Job, engine: &dyn Engine, workers: u32, factor: f64) -> Self {
        if let Some(bytes) = job.own_files_bytes(workers) {
            return Self {
                expected_bytes: bytes,
                needed_bytes: bytes.saturating_add(SPARE_BYTES),
            };
        }
        if !engine.capabilities().retains_data {
            return Self::default();
        }
        let expected_bytes = job.expected_bytes();
        Self {
            expected_bytes,
            needed_bytes: (expected_bytes as f64 * factor) as u64,
        }
    }

    /// Returns the space that a trial of a plan needs; 0 for one that cannot run, which is refused
    /// elsewhere.
    #[must_use]
    pub fn of_trial(spec: &TrialSpec, registry: &Registry, factor: f64) -> Self {
        let Ok(workload) = registry.workload(&spec.workload) else {
            return Self::default();
        };
        let settings = resolve(&spec.workload, workload.settings(), &spec.settings).ok();
        let job = settings.and_then(|settings| workload.job(&settings, &spec.conditions).ok());
        let storage: &dyn Engine = &trueput_engine::Storage;
        let engine = registry.engine_of(&spec.engine, spec.build.as_deref());
        job.map_or_else(Self::default, |job| {
            Self::of_job(&*job, engine.unwrap_or(storage), spec.workers, factor)
        })
    }

    /// Returns the space that all trials of a plan need at a time, by the rule of [`RunSpace`].
    #[must_use]
    pub fn of_plan(trials: &[TrialSpec], registry: &Registry, factor: f64) -> Self {
        let mut run = RunSpace::new(false);
        for spec in trials {
            run.add(spec, Self::of_trial(spec, registry, factor));
        }
        run.total
    }

    /// Explains the required free space and its derivation from the expected size.
    #[must_use]
    pub fn explained(&self, factor: f64) -> String {
        let needed = format_bytes(self.needed_bytes);
        let expected = format_bytes(self.expected_bytes);
        if self.needed_bytes == (self.expected_bytes as f64 * factor) as u64 {
            format!(
                "{needed} needed ({factor} times the expected {expected} of \
                databases)"
            )
        } else {
            format!("{needed} needed")
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            expected_bytes: self.expected_bytes.saturating_add(other.expected_bytes),
            needed_bytes: self.needed_bytes.saturating_add(other.needed_bytes),
        }
    }

    fn or_more(self, other: Self) -> Self {
        Self {
            expected_bytes: self.expected_bytes.max(other.expected_bytes),
            needed_bytes: self.needed_bytes.max(other.needed_bytes),
        }
    }
}

/// The space that the trials of a run need at a time: that of the largest trial, of all trials if
/// their databases are kept, and of all contenders that share time slices.
pub(crate) struct RunSpace {
    keep_databases: bool,
    of_rounds: HashMap<String, DiskSpace>,
    /// The space needed by the trials added so far.
    pub total: DiskSpace,
}

impl RunSpace {
    pub(crate) fn new(keep_databases: bool) -> Self {
        Self {
            keep_databases,
            of_rounds: HashMap::new(),
            total: DiskSpace::default(),
        }
    }

    /// Adds a trial, on the file systems that its conditions make.
    pub(crate) fn add(&mut self, spec: &TrialSpec, space: DiskSpace) {
        let taken = |bytes| host::trial_file_system::estimate_taken_bytes(&spec.conditions, bytes);
        let space = DiskSpace {
            needed_bytes: taken(space.needed_bytes),
            ..space
        };
        if self.keep_databases {
            self.total = self.total.plus(space);
            return;
        }
        // The databases of a group exist at once.
        let together = match derive_group_key(spec) {
            Some(key) => {
                let sum = self.of_rounds.entry(key).or_default();
                *sum = sum.plus(space);
                *sum
            }
            None => space,
        };
        self.total = self.total.or_more(together);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_of_some_size() {
        assert_eq!(parse_factor("1.5"), Ok(1.5));
        for wrong in ["0", "-1", "NaN", "inf", "many", "1000"] {
            assert_eq!(parse_factor(wrong), Err(FactorError(wrong.to_owned())));
        }
    }

    #[test]
    fn what_must_be_free_is_explained_where_the_factor_made_it() {
        let space = |expected_bytes: u64, needed_bytes| DiskSpace {
            expected_bytes,
            needed_bytes,
        };
        let explained = space(1 << 30, 4 << 30).explained(4.0);
        assert_eq!(
            explained,
            "4 GiB needed (4 times the expected 1 GiB of databases)"
        );
        assert_eq!(space(1 << 30, 5 << 30).explained(4.0), "5 GiB needed");
    }
}
