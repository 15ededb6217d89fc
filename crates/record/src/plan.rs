//! A plan, from a file or the command line: the dimensions of a matrix of trials.
//!
//! ```toml
//! name = "first-look"
//! workload = "threen1"
//! engines = ["lmdb", "sqlite"]            # or ["present"]
//! durability = ["sync", "async"]
//! workers = 4
//! repeat = 3
//! unsupported = "skip"                    # or "refuse": unsupported levels
//!
//! [settings]
//! finish = 100_000
//! commit = ["per-store", "per-block"]     # a list is a dimension
//!
//! [knobs.lmdb]
//! map_size = "1GiB"
//!
//! [[when]]
//! durability = "sync"
//! settings = { finish = 2_000 }
//! note = "shorter range: it flushes at each commit"
//! ```
//!
//! A plan with steps is an ablation: each cell of the matrix is a base, and runs again with each
//! step's changes. A step may set the knobs of several engines; an engine for which it changes
//! nothing is not measured again.
//!
//! ```toml
//! ablation = "cumulative"                 # or "one-at-a-time"
//!
//! [[step]]
//! name = "buffered logging"
//! engines = ["lmdb", "sqlite"]            # left out: all
//! durability = ["buffered", "async"]      # the first that the engine supports
//!
//! [[step]]
//! name = "larger cache, cold"
//! start = "cold"
//! settings = { block = 100 }
//! knobs = { "sqlite.cache_size" = "64MiB" }
//! ```

mod read;
pub mod schema;
mod step;

pub use crate::ablation::AblationKind;
pub use crate::conditions::{CONDITIONS, Condition, ConditionLists};
pub use step::PlanStep;

use crate::objective::Objective;
use crate::search::EqualityMargin;
use crate::text::decode_utf8;
use crate::value::{Settings, format_bytes};
use crate::{Durability, Error, Value, VerifyLevel, WorkerKind, regular_file};
use schemars::JsonSchema;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Bytes of a plan file at most.
const MAX_PLAN_BYTES: u64 = 4 << 20;

/// Settings by name with every value that each is to take: a name with several is a dimension.
pub type Dimensions = BTreeMap<String, Vec<Value>>;

/// The word in [`PlanFile::engines`] that means every installed engine.
pub const PRESENT_ENGINES: &str = "present";

/// The most workers that a plan may ask for.
pub const MAX_WORKERS: u32 = 1_024;

/// The most repeats that a plan may ask for.
pub const MAX_REPEAT: u32 = 1_000;

/// A plan. Names of engines, knobs and settings are not checked here, because this crate knows
/// none.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFile {
    /// The plan's name: letters, digits, `-`, `_` and `.`, for it becomes part of a folder's name.
    pub name: String,
    /// A description of the plan, in a sentence or two.
    pub about: String,
    /// The workload's name.
    pub workload: String,
    /// The contenders; the name [`PRESENT_ENGINES`] stands for every installed engine.
    pub engines: Vec<Contender>,
    /// The levels at which they compete.
    pub durability: Vec<Durability>,
    /// At which of them each engine does.
    pub levels: Levels,
    /// The numbers of workers; empty: as many as each job needs.
    pub workers: Vec<u32>,
    /// The kind of worker; `None`: processes if the engine allows several, else threads.
    pub worker_kind: Option<WorkerKind>,
    /// The number of runs of each cell of the matrix.
    pub repeat: u32,
    /// The extent of verification after each trial.
    pub verify: VerifyLevel,
    /// Seed of every random choice.
    pub seed: u64,
    /// The run conditions.
    pub conditions: ConditionLists,
    /// The part within which contenders are equal, if the plan is to be repeated until its rankings
    /// are decided; `None` if `repeat` says how often.
    pub decide: Option<EqualityMargin>,
    /// What a rate must keep, for a search for capacity; `None` if the plan states none.
    pub objective: Option<Objective>,
    /// The treatment of a level or a kind of worker that an engine does not support.
    pub unsupported: UnsupportedPolicy,
    /// The workload's settings.
    pub settings: Dimensions,
    /// Knobs by engine.
    pub knobs: BTreeMap<String, Dimensions>,
    /// Exceptions for some cells, applied in order. They hold for the base of an ablation and for
    /// its steps.
    pub when: Vec<PlanException>,
    /// The configuration to which each step applies its changes.
    pub ablation: AblationKind,
    /// The steps of an ablation; empty for other plans.
    pub steps: Vec<PlanStep>,
    /// The file and lines of the plan, for messages.
    pub origin: Origin,
}

/// An engine that competes, optionally with its own library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    /// The engine's name.
    pub engine: String,
    /// The library or server to use instead of the engine's default build.
    pub build: Option<PathBuf>,
}

/// The engine of a contender that is named by the file of its plug-in alone, until the file has
/// been read.
pub const PLUGIN: &str = "plugin";

impl Contender {
    /// Reads `ENGINE`, `ENGINE@/path/to/library`, or the path of a plug-in, which has a slash.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if is_path(text) {
            return Self {
                engine: PLUGIN.to_owned(),
                build: Some(PathBuf::from(text)),
            };
        }
        match text.split_once('@') {
            Some((engine, build)) => Self {
                engine: engine.to_owned(),
                build: Some(PathBuf::from(build)),
            },
            None => Self {
                engine: text.to_owned(),
                build: None,
            },
        }
    }
}

/// Returns whether a contender is named by a path alone. What could be an address with a password
/// is none: it has a colon, or an @ that no path begins.
fn is_path(text: &str) -> bool {
    let begins = ["/", "./", "../"]
        .iter()
        .any(|begin| text.starts_with(begin));
    let is_plain = !text.contains([':', '@', '=', '?']);
    text.contains('/') && (is_plain || begins && !text.contains(':'))
}

/// At which of a plan's levels each engine competes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum Levels {
    /// At every level that the engine supports.
    All,
    /// At the first level in the plan's order that the engine supports, as in published comparisons
    /// that ran each engine at its own level.
    First,
}

impl Levels {
    /// Both choices.
    pub const ALL: [Self; 2] = [Self::All, Self::First];

    /// Returns the choice's name, as in plan files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::First => "first",
        }
    }
}

/// The treatment of a level or a kind of worker that an engine does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum UnsupportedPolicy {
    /// The plan is refused.
    Refuse,
    /// The cell is skipped, and the report says so.
    Skip,
}

impl UnsupportedPolicy {
    /// Both choices.
    pub const ALL: [Self; 2] = [Self::Refuse, Self::Skip];

    /// Returns the choice's name, as in plan files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
        }
    }
}

/// An exception: other settings for some cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanException {
    /// The levels that it is for; empty: all.
    pub durability: Vec<Durability>,
    /// The engines that it is for; empty: all.
    pub engines: Vec<String>,
    /// Settings of the workload that replace the plan's.
    pub settings: Settings,
    /// The reason, in a few words for the table.
    pub note: String,
}

impl PlanException {
    /// Returns whether it applies to trials of this engine at this level.
    #[must_use]
    pub fn applies(&self, engine: &str, durability: Durability) -> bool {
        (self.durability.is_empty() || self.durability.contains(&durability))
            && (self.engines.is_empty() || self.engines.iter().any(|name| name == engine))
    }
}

/// The file that a plan was read from and the line of each of its keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    path: Option<PathBuf>,
    lines: BTreeMap<String, usize>,
    /// The keys that another file set, which the plan names.
    inherited: BTreeMap<String, PlanLine>,
    /// The keys that an option of the command line set.
    options: BTreeSet<String>,
}

/// A line of a plan file, for messages: `plans/x.toml:7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    /// The plan file.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for PlanLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.path.display(), self.line)
    }
}

impl Origin {
    /// Returns the line at which a key was set: `settings.finish`, `knobs.lmdb.map_size`,
    /// `engines`, `when.0` …; `None` if no file set it.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<PlanLine> {
        if let Some(line) = self.inherited.get(key) {
            return Some(line.clone());
        }
        let path = self.path.clone()?;
        self.lines.get(key).map(|&line| PlanLine { path, line })
    }

    /// Says that a key no longer comes from the file, because the command line overrode it.
    pub fn forget(&mut self, key: &str) {
        self.lines.remove(key);
        self.inherited.remove(key);
    }

    /// Returns whether a key comes from a workload file that the plan names.
    #[must_use]
    pub fn is_inherited(&self, key: &str) -> bool {
        self.inherited.contains_key(key)
    }

    /// Says that an option of the command line set a key, whatever the file says of it.
    pub fn set_by_option(&mut self, key: &str) {
        self.forget(key);
        self.options.insert(key.to_owned());
    }

    /// Returns whether a command-line option set a key.
    #[must_use]
    pub fn is_option(&self, key: &str) -> bool {
        self.options.contains(key)
    }
}

impl PlanFile {
    /// Whether repeats go on until the rankings are decided. A number of repeats is stronger.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.decide.is_some() && self.repeat == 1
    }

    /// Creates a plan for a workload with default values: no engine yet, `sync`, as many
    /// workers as each job needs, one repeat, full verification.
    #[must_use]
    pub fn for_workload(workload: &str) -> Self {
        Self {
            name: workload.to_owned(),
            about: String::new(),
            workload: workload.to_owned(),
            engines: Vec::new(),
            durability: vec![Durability::Sync],
            levels: Levels::All,
            workers: Vec::new(),
            worker_kind: None,
            repeat: 1,
            verify: VerifyLevel::Full,
            seed: 1,
            conditions: ConditionLists::default(),
            decide: None,
            objective: None,
            unsupported: UnsupportedPolicy::Refuse,
            settings: Dimensions::new(),
            knobs: BTreeMap::new(),
            when: Vec::new(),
            ablation: AblationKind::Cumulative,
            steps: Vec::new(),
            origin: Origin::default(),
        }
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read or is not a regular file; [`Error::TooLarge`] if it is
    /// longer than any plan; [`Error::Invalid`] with the line if it is not a plan: not TOML, an
    /// unknown key, a value of the wrong type.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, &read_text(path)?)
    }

    /// Reads the text of a plan; messages show `path`, and its file name is the name of a plan that
    /// states none.
    ///
    /// # Errors
    /// [`Error::Invalid`], as [`PlanFile::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        read::plan(path, text)
    }

    /// Takes the settings of a workload file, except those that the plan states itself.
    pub fn inherit(&mut self, file: WorkloadFile) {
        for (name, values) in file.settings {
            if self.settings.contains_key(&name) {
                continue;
            }
            let key = format!("settings.{name}");
            if let Some(line) = file.origin.of(&key) {
                self.origin.inherited.insert(key, line);
            }
            self.settings.insert(name, values);
        }
    }
}

/// Settings of the workload `custom` under a name, in a file of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadFile {
    /// The name: that of the file unless it states another.
    pub name: String,
    /// What it models.
    pub about: String,
    /// The settings.
    pub settings: Dimensions,
    /// The file and the line of each setting.
    pub origin: Origin,
}

impl WorkloadFile {
    /// Whether a text is a workload file and not a plan: it has settings and names no workload.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        read::is_workload_file(text)
    }

    /// Reads the text of a workload file; messages show `path`, and its file name is the name of a
    /// workload that states none.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the line if it is not a workload file: not TOML, an unknown key, a
    /// value of the wrong type, no settings.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        read::workload_file(path, text)
    }
}

/// Reads the text of a plan or workload file.
///
/// # Errors
/// [`Error::Io`] if it cannot be read or is not a regular file; [`Error::TooLarge`] if it is longer
/// than any plan; [`Error::Invalid`] if it is not text.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let io = |source| Error::io(path, source);
    if path.extension().is_some_and(|extension| extension == "so") {
        let problem = "it is a library and no plan; name the engine with --engine";
        return Err(Error::invalid(path, problem));
    }
    // The user may name a plan by a link.
    let real = path.canonicalize().map_err(io)?;
    let folder = real.parent().unwrap_or(&real);
    let name = Path::new(real.file_name().unwrap_or_default());
    let bytes = regular_file::read(folder, name, MAX_PLAN_BYTES).map_err(|error| match error {
        Error::Io { source, .. } => io(source),
        Error::TooLarge { .. } => Error::TooLarge {
            path: path.to_owned(),
            problem: format!("a plan may have at most {}", format_bytes(MAX_PLAN_BYTES)),
        },
        other => other,
    })?;
    decode_utf8(&bytes)
        .map(str::to_owned)
        .map_err(|error| Error::invalid(path, format!("it is no UTF-8 text: {error}")))
}

/// A plan's name that cannot be part of a folder's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{name}' is not a valid plan name; write 1 to 60 letters, digits, '-', '_' or '.', without a \
     '.' in front"
)]
pub struct PlanNameError {
    /// The name.
    pub name: String,
}

/// Refuses a plan's name that cannot be part of a folder's name.
///
/// # Errors
/// A [`PlanNameError`].
pub fn check_name(name: &str) -> Result<(), PlanNameError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=60).contains(&name.len()) && !name.starts_with('.') && name.chars().all(fits) {
        return Ok(());
    }
    let name = name.to_owned();
    Err(PlanNameError { name })
}

/// A number of workers or repeats that is zero or too high.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {number}; it must be between 1 and {max}")]
pub struct CountError {
    /// The name of the number: `workers`.
    pub name: String,
    /// The number.
    pub number: i64,
    /// The highest number.
    pub max: u32,
}

/// Refuses a number of workers or repeats that is zero or beyond `max`.
///
/// # Errors
/// A [`CountError`].
pub fn check_count(name: &str, number: i64, max: u32) -> Result<u32, CountError> {
    let count = u32::try_from(number)
        .ok()
        .filter(|count| (1..=max).contains(count));
    count.ok_or_else(|| CountError {
        name: name.to_owned(),
        number,
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_plugin_and_what_could_be_an_address_is_none() {
        for path in [
            "./libmine.so",
            "/opt/a@b/libmine.so",
            "../x.so",
            "build/libmine.so",
        ] {
            let contender = Contender::parse(path);
            let expected = (PLUGIN, Some(PathBuf::from(path)));
            assert_eq!((contender.engine.as_str(), contender.build), expected);
        }
        for other in [
            "u:pass/word@h/db",
            "postgres:/u:hush",
            "u@h/db?password=x",
            "lmdb",
        ] {
            assert_ne!(Contender::parse(other).engine, PLUGIN, "{other}");
        }
    }
}
