//! A run folder, read: what everything else is computed from.

use crate::eligibility::LastAttempts;
use crate::integrity::{self, Integrity};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trueput_record::folder::{DamagedLine, RunEnd, RunFolder, RunManifest};
use trueput_record::{Error, Outcome, TrialRecord, TrialSpec};

/// Everything that a run folder says.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The folder that it is read from.
    pub folder: PathBuf,
    /// What it is called in text and in commands: the path that the user named. Of a bundle that is
    /// its file, and the folder is what it was unpacked to.
    pub shown_as: PathBuf,
    /// What was to run, on what machine, by what program.
    pub manifest: RunManifest,
    /// The trials that ended, in the order in which they did.
    pub trials: Vec<TrialRecord>,
    /// Lines of `trials.jsonl` that could not be read.
    pub damaged: Vec<DamagedLine>,
    /// Whether the parts of each record agree.
    pub integrity: Integrity,
    /// How the run ended; `None` while it runs or where it was cut short.
    pub end: Option<RunEnd>,
}

/// How the trials of a plan ended: parts that add up to all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialTotals {
    /// Valid.
    pub valid: usize,
    /// Ended, and not to be believed.
    pub invalid: usize,
    /// Failed, and not run again since.
    pub failed: usize,
    /// Interrupted, and not run again since.
    pub interrupted: usize,
    /// Without a line that can be read.
    pub absent: usize,
}

impl Run {
    /// Reads a run folder. Trials whose parts disagree come out as invalid.
    ///
    /// # Errors
    /// [`Error`] where it is no run folder, cannot be read, or is of a newer format.
    /// Damaged lines are no error: they are named in the report and the others are shown.
    pub fn load(run_folder: &Path) -> Result<Self, Error> {
        Self::load_as(run_folder, run_folder, u64::MAX)
    }

    /// Reads a folder that may come from anybody, none of whose files may have more than
    /// `most_bytes`, and calls it by a name of its own: what a bundle was unpacked to by the
    /// bundle's.
    ///
    /// # Errors
    /// As [`Run::load`].
    pub fn load_as(run_folder: &Path, shown_as: &Path, most_bytes: u64) -> Result<Self, Error> {
        let (folder, manifest) = RunFolder::open_limited(run_folder, most_bytes)?;
        let mut stored = folder.trials()?;
        let integrity = integrity::check(&folder, &manifest, &mut stored.trials);
        let end = folder.end()?;
        Ok(Self {
            folder: run_folder.to_owned(),
            shown_as: shown_as.to_owned(),
            manifest,
            trials: stored.trials,
            damaged: stored.damaged,
            integrity,
            end,
        })
    }

    /// How many trials of the plan ended in which way.
    pub fn tally(&self) -> TrialTotals {
        let count = |status: fn(&Outcome) -> bool| {
            let trials = self.trials.iter();
            trials.filter(|trial| status(&trial.outcome)).count()
        };
        let attempts = LastAttempts::of(&self.trials);
        let not_run_again = |status: fn(&Outcome) -> bool| {
            let trials = self.trials.iter();
            let last = trials.filter(|it| status(&it.outcome) && !attempts.supersede(it));
            last.map(|trial| &trial.spec.id).collect::<BTreeSet<_>>()
        };
        let mut tally = TrialTotals {
            valid: count(|it| *it == Outcome::Valid),
            invalid: count(|it| matches!(it, Outcome::Invalid { .. })),
            failed: not_run_again(|it| matches!(it, Outcome::Failed { .. })).len(),
            interrupted: not_run_again(|it| *it == Outcome::Interrupted).len(),
            absent: 0,
        };
        let present = tally.valid + tally.invalid + tally.failed + tally.interrupted;
        tally.absent = self.manifest.trials.len().saturating_sub(present);
        tally
    }

    /// The trials of the plan that have no line yet, interrupted ones included; none where the
    /// repeats were enough, so that the others were spared.
    #[must_use]
    pub fn missing(&self) -> Vec<&TrialSpec> {
        if self
            .end
            .as_ref()
            .is_some_and(|end| end.stop_reason.is_some())
        {
            return Vec::new();
        }
        let ended = |spec: &TrialSpec| {
            self.trials
                .iter()
                .any(|trial| trial.spec.id == spec.id && trial.outcome != Outcome::Interrupted)
        };
        self.manifest
            .trials
            .iter()
            .filter(|spec| !ended(spec))
            .collect()
    }
}
