//! The run folder: all output of one run, in files that other programs can read.
//!
//! ```text
//! results/20261121T204500Z-first-look/
//!   run.json          the plan, the machine and the program  (RunManifest)
//!   trials.jsonl      a line per trial, appended and synced when the trial ends  (TrialRecord)
//!   histograms/       ID.hlog per trial: latencies in HdrHistogram's log format;
//!                     ID.seconds.hlog: the same second by second
//!   storage/          ID-data.json per trial on a storage model: what the server of its storage
//!                     did, and how late it was; ID-faults.json per trial with a fault: how often
//!                     it came
//!   end.json          when and how the run ended; absent while it runs  (RunEnd)
//!   reserve-N         room for the others if the disk is full; only while it runs
//!   report.html       the report as a page, made from the others
//!   tuned.toml        of a search for knobs: a plan with the default and the winner
//! ```

mod append;
mod report;

use crate::gate::GateRule;
use crate::histogram::{LoggedHistogram, read_log};
use crate::interval_log;
use crate::json_place::line_of;
use crate::json_values::ValueLimit;
use crate::lines::LineReader;
use crate::objective::Objective;
use crate::ranges::RangeCheck;
use crate::regular_file::{self, OpenMode};
use crate::reserve;
use crate::run_host::RunHost;
use crate::search::{DecisionSettings, SearchEnd, SearchSettings};
use crate::skipped::{SkipKind, SkippedPart};
use crate::text::decode_utf8;
use crate::trial::check_id;
use crate::upgrade::{self, FileKind};
use crate::{Error, FORMAT_VERSION, HostFacts, TrialRecord, TrialSpec, ranges};
use append::append_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const MANIFEST: &str = "run.json";
/// The manifest of a search while its trials are being extended.
const NEXT_MANIFEST: &str = "run.json.next";
const TRIALS: &str = "trials.jsonl";
const HISTOGRAMS: &str = "histograms";
const END: &str = "end.json";

pub use crate::ranges::MAX_TRIALS;

/// Lines of `trials.jsonl` at most: some attempts at each trial.
const MAX_LINES: usize = 4 * MAX_TRIALS;

/// The mode of a folder that others may read.
pub const OPEN_MODE: u32 = 0o777;

/// Bytes of `end.json` at most: it holds four facts.
const MAX_END_BYTES: u64 = 1 << 20;

/// Of a folder whose run was ended, or had no room, before its manifest was written.
const NEVER_BEGAN: &str = "its run never began, and nothing was measured: remove the folder, and \
    begin the run again";

/// Lines of `trials.jsonl` that may be damaged. A crash tears one.
const MAX_DAMAGED: usize = 1_000;

/// The plan of a run, with the machine and the program that run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunManifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The plan's name.
    pub name: String,
    /// A description of the plan, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine and this program.
    pub host: HostFacts,
    /// Every trial of the plan, in execution order: interleaved over the repeats. A search adds
    /// trials while it runs.
    pub trials: Vec<TrialSpec>,
    /// Parts of the plan that do not run, one sentence each (for example a level that an engine
    /// does not support).
    #[serde(default)]
    pub skipped: Vec<String>,
    /// What each of `skipped` is, in the same order; empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_kinds: Vec<SkipKind>,
    /// By workload, the kind of operation whose rate contenders are ranked by. Where a workload is
    /// not named here, a report ranks by its first kind.
    #[serde(default)]
    pub headlines: BTreeMap<String, String>,
    /// By `ENGINE.KNOB`, the cost of changing the knob from its default, in the driver's words, for
    /// the knobs that differ between trials of the plan; empty in older runs.
    #[serde(default)]
    pub costs: BTreeMap<String, String>,
    /// By workload, the names of the settings that some trial changes from the default; empty in
    /// older runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_settings: BTreeMap<String, Vec<String>>,
    /// By engine, the names of the knobs that the plan changes from the default, those that a
    /// search tries not included; empty in older runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_knobs: BTreeMap<String, Vec<String>>,
    /// By engine, the names of the knobs that are sizes in bytes, of those that differ between
    /// trials of the plan; empty in older runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub byte_knobs: BTreeMap<String, Vec<String>>,
    /// The size that the plan gives every engine's own cache, bytes; absent if it gives none or
    /// several, if a step changes it or a search may, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// The folder for databases, if the user named one: a resumed run looks there for databases of
    /// a killed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<PathBuf>,
    /// The precision at which repeats stop; absent if every trial of the plan runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<PrecisionTarget>,
    /// Whether builds with assertions are ranked with the others, at the user's request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_assertions: bool,
    /// A further property that the contenders of one ranking must share, at the user's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_by: Option<RankingSplit>,
    /// The objective of the plan, which the report sets beside each contender; absent if it has
    /// none, and in a search, whose question has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// The question that the trials are proposed to answer, from the results so far; absent if the
    /// plan lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSettings>,
    /// Gates on each other contender of a ranking against the first of the plan: a run that decides
    /// goes on until they are decided, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateRule>,
    /// The hosts that whole repeats were given to, in the order of the command line; empty if all
    /// trials ran on the runner's, and in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RunHost>,
}

impl RunManifest {
    /// Returns whether the trials are those of a plan, so that its contenders are ranked: those of
    /// most searches have rates and knobs that the search tries.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        self.search.is_none() || self.decision().is_some()
    }

    /// Returns the settings by which the rankings are decided while the run goes on; `None` if the
    /// number of repeats does not depend on the results, or is to give a precision.
    #[must_use]
    pub fn decision(&self) -> Option<&DecisionSettings> {
        match &self.search {
            Some(SearchSettings::Decision(settings)) => Some(settings),
            _ => None,
        }
    }

    /// Returns the parts of the plan that do not run.
    pub fn skipped_parts(&self) -> impl Iterator<Item = SkippedPart> {
        let mut kinds = self.skipped_kinds.iter();
        self.skipped.iter().map(move |sentence| match kinds.next() {
            Some(&kind) => SkippedPart {
                kind,
                sentence: sentence.clone(),
            },
            None => SkippedPart::of_older_run(sentence),
        })
    }
}

/// A further property that the contenders of one ranking must share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankingSplit {
    /// The isolation that they state.
    Isolation,
}

/// A text that is no property by which rankings can be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rankings can be split by isolation")]
pub struct ParseRankingSplitError;

impl FromStr for RankingSplit {
    type Err = ParseRankingSplitError;

    fn from_str(text: &str) -> Result<Self, ParseRankingSplitError> {
        match text {
            "isolation" => Ok(Self::Isolation),
            _ => Err(ParseRankingSplitError),
        }
    }
}

/// The precision at which repeats stop: the plan of such a run has the maximum number of repeats,
/// and unneeded ones are skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrecisionTarget {
    /// The relative precision of every contender's rate: half of its 95 % interval over its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// So much time has passed, seconds. The first repeat of each cell is run whatever it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
}

/// The reason for stopping repeats early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SufficiencyReason {
    /// Every contender's interval was narrow enough.
    Narrow,
    /// The time was spent.
    Budget,
}

impl SufficiencyReason {
    /// Returns the reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Narrow => "every contender's interval is as narrow as was asked",
            Self::Budget => "the budget of time is spent",
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// [`FORMAT_VERSION`] of the writer; version 1 did not state it.
    #[serde(default = "first_version")]
    pub format: u32,
    /// When, RFC 3339 in UTC.
    pub ended_at: String,
    /// Whether every trial of the plan has a line, or was skipped because repeats stopped early.
    pub complete: bool,
    /// The reason for stopping repeats early; absent if all ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<SufficiencyReason>,
    /// The reason why a search ended; absent if it was interrupted, or does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_end: Option<SearchEnd>,
    /// Load averages over 1, 5 and 15 minutes then.
    pub load_at_end: [f64; 3],
}

/// A line of `trials.jsonl` that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// From 1.
    pub line: usize,
    /// The parser's message.
    pub message: String,
}

/// The readable trials of a run folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredTrials {
    /// The readable ones, in the order in which they ended.
    pub trials: Vec<TrialRecord>,
    /// The unreadable lines, so that none disappears silently.
    pub damaged: Vec<DamagedLine>,
}

/// Keeps other processes from writing to a run folder. It ends when it is dropped, and with its
/// process, however that ends.
#[derive(Debug)]
pub struct RunLock {
    _trials: File,
}

/// A run folder on disk. Only `end.json` and `report.html` are ever overwritten, and `run.json` by
/// a search, with more trials.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    /// The most bytes that each of its files may have.
    max_bytes: u64,
}

impl RunFolder {
    /// Makes a new folder `RESULTS/TIME-NAME` and writes its manifest.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be made or written; nothing of it is left then.
    pub fn create(results: &Path, manifest: &RunManifest) -> Result<Self, Error> {
        std::fs::create_dir_all(results).map_err(|source| Error::io(results, source))?;
        let stamp: String = manifest
            .started_at
            .chars()
            .take_while(|&c| c != '.')
            .filter(|c| c.is_ascii_alphanumeric())
            .collect();
        let stamp = stamp.trim_end_matches('Z');
        let path = create_numbered(results, &format!("{stamp}Z-{}", manifest.name), OPEN_MODE)?;
        let folder = Self {
            path,
            max_bytes: u64::MAX,
        };
        let filled = folder.fill(manifest);
        if filled.is_err() {
            // Nothing was measured.
            let _ = std::fs::remove_dir_all(&folder.path);
        }
        filled.map(|()| folder)
    }

    /// Fills the new folder. The manifest comes last, at once: a folder that has one is whole,
    /// whenever the run is killed.
    fn fill(&self, manifest: &RunManifest) -> Result<(), Error> {
        let histograms = self.path.join(HISTOGRAMS);
        std::fs::create_dir(&histograms).map_err(|source| Error::io(&histograms, source))?;
        self.write_synced(TRIALS, "")?;
        self.extend(manifest)
    }

    /// Opens an existing folder and reads its manifest. Files from this machine's runs may have any
    /// length.
    ///
    /// # Errors
    /// As [`RunFolder::open_limited`].
    pub fn open(path: &Path) -> Result<(Self, RunManifest), Error> {
        Self::open_limited(path, u64::MAX)
    }

    /// Opens an existing folder of unknown origin and reads its manifest. Files larger than
    /// `max_bytes` are not read.
    ///
    /// # Errors
    /// [`Error::NewerFormat`] if a later trueput wrote it, [`Error::Invalid`] if it is not a run
    /// folder, [`Error::TooLarge`] if its manifest is too long or has too many values,
    /// [`Error::Io`] if it cannot be read.
    pub fn open_limited(path: &Path, max_bytes: u64) -> Result<(Self, RunManifest), Error> {
        let file = path.join(MANIFEST);
        let read = regular_file::read(path, Path::new(MANIFEST), max_bytes);
        let bytes = read.map_err(|error| match &error {
            Error::Io { source, .. } if is_absent(source) => {
                let lacks = if has_no_trial(path) {
                    return Error::invalid(path, NEVER_BEGAN);
                } else if path.exists() {
                    format!("it has no {MANIFEST}")
                } else {
                    "it does not exist".to_owned()
                };
                let hint = run_hint(path);
                Error::invalid(path, format!("not a run folder: {lacks}{hint}"))
            }
            _ => error,
        })?;
        if bytes.is_empty() && has_no_trial(path) {
            return Err(Error::invalid(&file, NEVER_BEGAN));
        }
        ValueLimit::new(max_bytes).add(&file, &bytes)?;
        let text = decode_utf8(&bytes)
            .map(str::to_owned)
            .map_err(|error| Error::invalid(&file, format!("it is no UTF-8 text: {error}")))?;
        let version = known_version(&file, text.as_bytes())?;
        let read = upgrade::read(FileKind::Manifest, version, text.as_bytes());
        let manifest = read.map_err(|error| Error::Invalid {
            path: file.clone(),
            line: Some(error.line()),
            message: error.to_string(),
        })?;
        check_ranges(&manifest).map_err(|wrong| Error::Invalid {
            path: file,
            line: line_of(text.as_bytes(), &wrong.place),
            message: wrong.message(),
        })?;
        let folder = Self {
            path: path.to_owned(),
            max_bytes,
        };
        Ok((folder, manifest))
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the manifest's path and, if it has a value at that place, the line: a part of the
    /// place is the name of a field or the index of an element.
    #[must_use]
    pub fn place_in_manifest(&self, place: &[String]) -> (PathBuf, Option<usize>) {
        let text = regular_file::read(&self.path, Path::new(MANIFEST), self.max_bytes);
        let line = text.ok().and_then(|text| line_of(&text, place));
        (self.path.join(MANIFEST), line)
    }

    /// Makes the run this process's own: two that work on one run would write over each other's
    /// databases. Reading needs no lock.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has it, [`Error::Io`] if it cannot be opened.
    pub fn lock(&self) -> Result<RunLock, Error> {
        let path = self.path.join(TRIALS);
        let opened = regular_file::open(&self.path, Path::new(TRIALS), OpenMode::Append);
        let trials = opened.map_err(|source| Error::io(&path, source))?;
        match trials.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::Busy {
                path: self.path.clone(),
            }),
            // A file system without locks can still be measured.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(RunLock { _trials: trials }),
        }
    }

    /// Returns the path of the file for a trial's latency histograms.
    #[must_use]
    pub fn histogram_path(&self, trial_id: &str) -> PathBuf {
        self.path.join(histogram_within(trial_id))
    }

    /// Reads a trial's latency histograms; `None` if the file does not exist.
    ///
    /// # Errors
    /// As [`read_log`]; [`Error::Invalid`] if no trial has this id.
    pub fn histograms(&self, trial_id: &str) -> Result<Option<Vec<LoggedHistogram>>, Error> {
        check_id(trial_id).map_err(|reason| Error::invalid(&self.path, reason))?;
        let within = histogram_within(trial_id);
        match read_log(&self.path, &within) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Returns the path of the file for a trial's latencies second by second.
    #[must_use]
    pub fn interval_path(&self, trial_id: &str) -> PathBuf {
        self.path.join(intervals_within(trial_id))
    }

    /// Passes on a trial's latency histograms of intervals, in order; none if the file does not
    /// exist, as in older runs and for trials of less than a second.
    ///
    /// # Errors
    /// As [`read_log`]; [`Error::Invalid`] if no trial has this id.
    pub fn visit_intervals(
        &self,
        trial_id: &str,
        visit: impl FnMut(LoggedHistogram),
    ) -> Result<(), Error> {
        check_id(trial_id).map_err(|reason| Error::invalid(&self.path, reason))?;
        match interval_log::visit(&self.path, &intervals_within(trial_id), visit) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            read => read,
        }
    }

    /// Appends a trial's line and syncs it to storage before it returns.
    ///
    /// # Errors
    /// [`Error::Io`] if the line cannot be written; nothing of it is left then.
    pub fn append(&self, record: &TrialRecord) -> Result<(), Error> {
        let path = self.path.join(TRIALS);
        let mut line =
            serde_json::to_string(record).map_err(|error| Error::invalid(&path, error))?;
        line.push('\n');
        self.write_with_reserve(|| {
            append_line(&self.path, TRIALS, &line).map_err(|source| Error::io(&path, source))
        })
    }

    /// Allocates room in the folder for what must be written if the disk is full, where it is
    /// missing. It is released by a write that needs it, and by [`RunFolder::finish`].
    pub fn reserve(&self) {
        reserve::fill(&self.path);
    }

    /// Writes to the folder, and once more without its reserve if the disk is full.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn write_with_reserve<T>(&self, write: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        reserve::write_with_reserve(&self.path, write)
    }

    /// Reads every readable line, and lists damaged ones. If the file does not exist, no trial has
    /// ended.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::TooLarge`] if it or a line of it is
    /// too long or it has too many values, [`Error::Invalid`] if it has too many lines or
    /// damaged ones, [`Error::NewerFormat`] if a line is newer than this program.
    pub fn trials(&self) -> Result<StoredTrials, Error> {
        let path = self.path.join(TRIALS);
        let file = match regular_file::open(&self.path, Path::new(TRIALS), OpenMode::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(StoredTrials::default()),
            opened => opened.map_err(|source| Error::io(&path, source))?,
        };
        let mut lines = LineReader::new(file, &path, self.max_bytes)?;
        let mut values = ValueLimit::new(self.max_bytes);
        let mut stored = StoredTrials::default();
        while let Some((number, line)) = lines.next()? {
            if line.is_empty() {
                continue;
            }
            if stored.trials.len() == MAX_LINES {
                let message = format!(
                    "it has more than {MAX_LINES} trials; a run has at most {MAX_TRIALS}, and \
                     space for four attempts at each"
                );
                return Err(Error::invalid(path, message));
            }
            values.add(&path, line)?;
            let version = known_version(&path, line)?;
            match upgrade::read::<TrialRecord>(FileKind::Trial, version, line) {
                Ok(record) => {
                    ranges::trial(&record).map_err(|wrong| Error::Invalid {
                        path: path.clone(),
                        line: Some(number),
                        message: wrong.message(),
                    })?;
                    stored.trials.push(record);
                }
                Err(error) => stored.damaged.push(DamagedLine {
                    line: number,
                    message: error.to_string(),
                }),
            }
            if stored.damaged.len() > MAX_DAMAGED {
                let message = format!(
                    "more than {MAX_DAMAGED} lines cannot be read: these are no trials of a run"
                );
                return Err(Error::invalid(path, message));
            }
        }
        Ok(stored)
    }

    /// States that the run has ended. A resumed run states it again.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn finish(&self, end: &RunEnd) -> Result<(), Error> {
        reserve::release(&self.path);
        self.write_synced(END, &to_json_pretty(end))
    }

    /// Returns the end of the run, if it has ended.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Io`] if the file exists but cannot be read,
    /// [`Error::NewerFormat`] if a later trueput wrote it.
    pub fn end(&self) -> Result<Option<RunEnd>, Error> {
        let path = self.path.join(END);
        let most = self.max_bytes.min(MAX_END_BYTES);
        let bytes = match regular_file::read(&self.path, Path::new(END), most) {
            Ok(bytes) => bytes,
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let version = known_version(&path, &bytes)?;
        let parsed = upgrade::read(FileKind::End, version, &bytes);
        parsed
            .map(Some)
            .map_err(|error| Error::invalid(path, error))
    }

    /// Replaces the manifest at once with one that has more trials, for a search.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written; the former manifest is then still there.
    pub fn extend(&self, manifest: &RunManifest) -> Result<(), Error> {
        self.write_synced(NEXT_MANIFEST, &to_json_pretty(manifest))?;
        let (next, path) = (self.path.join(NEXT_MANIFEST), self.path.join(MANIFEST));
        std::fs::rename(next, &path).map_err(|source| Error::io(path, source))
    }

    fn write_synced(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        let write = || {
            let mut file = regular_file::open(&self.path, Path::new(name), OpenMode::Overwrite)?;
            let written = file.write_all(text.as_bytes());
            let written = written.and_then(|()| file.sync_all());
            if written.is_err() {
                // Half a file is worse than none.
                let _ = std::fs::remove_file(&path);
            }
            written
        };
        self.write_with_reserve(|| write().map_err(|source| Error::io(path.clone(), source)))
    }
}

/// Checks the numbers of a plan against the ranges of the options.
fn check_ranges(manifest: &RunManifest) -> RangeCheck {
    ranges::trials(&manifest.trials)?;
    let until = manifest.until.unwrap_or_default();
    ranges::precision(until.half_width, until.budget_s)?;
    ranges::run_hosts(&manifest.hosts)?;
    manifest.search.as_ref().map_or(Ok(()), ranges::search)
}

/// Returns the path of a trial's latency histograms within its run folder.
fn histogram_within(trial_id: &str) -> PathBuf {
    Path::new(HISTOGRAMS).join(format!("{trial_id}.hlog"))
}

/// Returns the path of a trial's latencies second by second within its run folder.
fn intervals_within(trial_id: &str) -> PathBuf {
    Path::new(HISTOGRAMS).join(format!("{trial_id}.seconds.hlog"))
}

/// Creates a folder in another one, with a mode that the umask restricts. If the name is taken, as
/// by a run that started within the same second, `-2`, `-3` … is appended.
///
/// # Errors
/// [`Error::Io`] if it cannot be created, [`Error::Invalid`] if too many have that name.
pub fn create_numbered(parent: &Path, name: &str, mode: u32) -> Result<PathBuf, Error> {
    for attempt in 1..1_000 {
        let path = match attempt {
            1 => parent.join(name),
            n => parent.join(format!("{name}-{n}")),
        };
        match DirBuilder::new().mode(mode).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::io(path, source)),
        }
    }
    Err(Error::invalid(
        parent.join(name),
        "a thousand folders of that name are there already",
    ))
}

fn first_version() -> u32 {
    1
}

/// Returns whether a folder has the file of a run's trials, and no trial in it.
fn has_no_trial(folder: &Path) -> bool {
    let trials = folder.join(TRIALS).symlink_metadata();
    trials.is_ok_and(|trials| trials.is_file() && trials.len() == 0)
}

/// Returns whether the error means that the file does not exist.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn to_json_pretty<T: Serialize>(value: &T) -> String {
    // Serialization fails only for maps with non-string keys, and there are none.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Names the run that a path lies in, or the latest of those that lie in it, as a clause; empty if
/// there is none.
#[must_use]
pub fn run_hint(path: &Path) -> String {
    let is_run = |folder: &Path| folder.join(MANIFEST).is_file();
    if let Some(run) = path.ancestors().skip(1).find(|above| is_run(above)) {
        let run = if run == Path::new("") {
            Path::new(".")
        } else {
            run
        };
        return format!("; it is in the run {}: give that", run.display());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let runs = entries.map(|entry| entry.path()).filter(|one| is_run(one));
    runs.max().map_or_else(String::new, |latest| {
        format!("; the latest run in it is {}", latest.display())
    })
}

/// Returns the version of a file. Refuses a file of a later trueput before its unknown fields can
/// be misread.
fn known_version(path: &Path, text: &[u8]) -> Result<u32, Error> {
    let found = upgrade::stated_version(text);
    if found > FORMAT_VERSION {
        Err(Error::NewerFormat {
            path: path.to_owned(),
            found,
            known: FORMAT_VERSION,
        })
    } else {
        Ok(found)
    }
}
