//! A run folder that was read, the input of all analysis.

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
    /// The path of the run for text and commands: for a bundle that of its file, although
    /// `folder` is where it was unpacked.
    pub shown_as: PathBuf,
    /// The name by which this program was called, if people are to read it: the commands that a
    /// report suggests begin with it. `None`: as when it made the run.
    pub program: Option<String>,
    /// The plan, the machine and the program.
    pub manifest: RunManifest,
    /// The finished trials, in the order in which they ended.
    pub trials: Vec<TrialRecord>,
    /// Lines of `trials.jsonl` that could not be read.
    pub damaged: Vec<DamagedLine>,
    /// Whether the parts of each record agree.
    pub integrity: Integrity,
    /// The end of the run; `None` while it runs, or if it was cut short.
    pub end: Option<RunEnd>,
}

/// The number of a plan's trials by outcome; the parts add up to all of them.
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
    /// The name of the program with which the commands that a report suggests begin.
    #[must_use]
    pub fn program(&self) -> &str {
        let recorded = self.manifest.host.program.command.first();
        let typed = self.program.as_ref().or(recorded);
        let typed = typed.filter(|name| !name.is_empty());
        typed.map_or("trueput", String::as_str)
    }

    /// Reads a run folder. Trials whose parts disagree come out as invalid.
    ///
    /// # Errors
    /// [`Error`] if it is not a run folder, cannot be read, or has a newer format. Damaged lines
    /// are not errors: the report names them and shows the others.
    pub fn load(run_folder: &Path) -> Result<Self, Error> {
        Self::load_as(run_folder, run_folder, u64::MAX)
    }

    /// Reads an untrusted folder, each of whose files may have at most `max_bytes`, under another
    /// name, such as the path of the bundle that it was unpacked from.
    ///
    /// # Errors
    /// As [`Run::load`].
    pub fn load_as(run_folder: &Path, shown_as: &Path, max_bytes: u64) -> Result<Self, Error> {
        let (folder, manifest) = RunFolder::open_limited(run_folder, max_bytes)?;
        let mut stored = folder.trials()?;
        let integrity = integrity::check(&folder, &manifest, &mut stored.trials);
        let end = folder.end()?;
        Ok(Self {
            folder: run_folder.to_owned(),
            shown_as: shown_as.to_owned(),
            program: None,
            manifest,
            trials: stored.trials,
            damaged: stored.damaged,
            integrity,
            end,
        })
    }

    /// The run in a folder, still going on, of which these trials have ended.
    #[must_use]
    pub fn of_records(folder: &Path, manifest: RunManifest, trials: Vec<TrialRecord>) -> Self {
        Self {
            folder: folder.to_owned(),
            shown_as: folder.to_owned(),
            program: None,
            manifest,
            trials,
            damaged: Vec::new(),
            integrity: Integrity::default(),
            end: None,
        }
    }

    /// Counts the trials of the plan by outcome.
    pub fn count_trials(&self) -> TrialTotals {
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
        let mut totals = TrialTotals {
            valid: count(|it| *it == Outcome::Valid),
            invalid: count(|it| matches!(it, Outcome::Invalid { .. })),
            failed: not_run_again(|it| matches!(it, Outcome::Failed { .. })).len(),
            interrupted: not_run_again(|it| *it == Outcome::Interrupted).len(),
            absent: 0,
        };
        let present = totals.valid + totals.invalid + totals.failed + totals.interrupted;
        totals.absent = self.manifest.trials.len().saturating_sub(present);
        totals
    }

    /// Returns the trials of the plan without a line, including interrupted ones; empty if the run
    /// ended early because its repeats were enough.
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
