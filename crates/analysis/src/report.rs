//! A run folder, read and ready to be written as a report.

use crate::charts::Charts;
use crate::rankings::LastAttempts;
use crate::{csv, html, integrity, json, markdown, narrate, terminal};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use trueput_record::folder::{DamagedLine, RunEnd, RunFolder, RunManifest};
use trueput_record::suggest::did_you_mean;
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// The page's file in a run folder.
const PAGE: &str = "report.html";

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run folder cannot be read, is none, or is newer than this program.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
    /// No format has that name.
    #[error(
        "no report format '{given}'{hint}; the formats are {}",
        Format::ALL.map(Format::name).join(", ")
    )]
    UnknownFormat {
        /// What was given.
        given: String,
        /// The nearest name, in words, or nothing.
        hint: String,
    },
}

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Terminal,
    /// GitHub-flavoured Markdown.
    Markdown,
    /// A line per trial, plain numbers, every column.
    Csv,
    /// One document: run, host, cells, trials.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Terminal, Self::Markdown, Self::Csv, Self::Json];

    /// The format's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| {
                let hint = did_you_mean(text, Self::ALL.map(Self::name));
                Error::UnknownFormat {
                    given: text.to_owned(),
                    hint,
                }
            })
    }
}

/// How a report for the terminal looks. The other formats take no notice of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; `None`: as wide as the tables want to be.
    pub width: Option<u16>,
    /// Whether to write colour codes.
    pub colour: bool,
    /// Whether to draw charts.
    pub charts: Charts,
}

/// Everything that a run folder says.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
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
    /// What of the record could not be checked against its other parts, one sentence each.
    pub unchecked: Vec<String>,
    /// How the run ended; `None` while it runs or where it was cut short.
    pub end: Option<RunEnd>,
}

/// What a plan's trials came to: parts that add up to all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub valid: usize,
    pub invalid: usize,
    /// Failed, and not run again since.
    pub failed: usize,
    /// Interrupted, and not run again since.
    pub interrupted: usize,
    /// Without a line that can be read.
    pub absent: usize,
}

impl Report {
    /// Reads a run folder. Trials whose parts disagree come out as invalid.
    ///
    /// # Errors
    /// [`Error::Record`] where it is no run folder, cannot be read, or is of a newer format.
    /// Damaged lines are no error: they are named in the report and the others are shown.
    pub fn load(run_folder: &Path) -> Result<Self, Error> {
        Self::load_as(run_folder, run_folder, u64::MAX)
    }

    /// Reads a folder that may come from anybody, none of whose files may have more than
    /// `most_bytes`, and calls it by a name of its own: what a bundle was unpacked to by the bundle's.
    ///
    /// # Errors
    /// As [`Report::load`].
    pub fn load_as(run_folder: &Path, shown_as: &Path, most_bytes: u64) -> Result<Self, Error> {
        let (folder, manifest) = RunFolder::open_limited(run_folder, most_bytes)?;
        let mut stored = folder.trials()?;
        let unchecked = integrity::mark(&folder, &manifest, &mut stored.trials);
        let end = folder.end()?;
        Ok(Self {
            folder: run_folder.to_owned(),
            shown_as: shown_as.to_owned(),
            manifest,
            trials: stored.trials,
            damaged: stored.damaged,
            unchecked,
            end,
        })
    }

    /// Writes the report. It ends with a newline.
    #[must_use]
    pub fn render(&self, format: Format, style: Style) -> String {
        match format {
            Format::Terminal => terminal::render(&narrate::document(self, style.charts), style),
            Format::Markdown => markdown::render(&narrate::document(self, Charts::Off)),
            Format::Csv => csv::render(std::slice::from_ref(self)),
            Format::Json => json::render(self),
        }
    }

    /// Writes the ledger for a terminal, with what its engines did over time and the published steps
    /// beside. It ends with a newline.
    #[must_use]
    pub fn render_ledger(&self, style: Style) -> String {
        terminal::render(&narrate::ledger_document(self), style)
    }

    /// Writes the report as one HTML page that needs nothing else: no network and no other file. It
    /// ends with a newline.
    #[must_use]
    pub fn page(&self) -> String {
        html::render(self)
    }

    /// Where a run's page is kept: in its folder.
    #[must_use]
    pub fn page_path(&self) -> PathBuf {
        self.folder.join(PAGE)
    }

    /// How many trials of the plan came to what.
    pub(crate) fn tally(&self) -> Tally {
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
        let mut tally = Tally {
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

    /// The trials of the plan that have no line yet, interrupted ones included; none where the repeats
    /// were enough, so that the others were spared.
    #[must_use]
    pub fn missing(&self) -> Vec<&TrialSpec> {
        if self.end.as_ref().is_some_and(|end| end.enough.is_some()) {
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
