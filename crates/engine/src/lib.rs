//! The contract between trueput and a storage engine.
//!
//! An [`Engine`] opens a [`Database`]; each worker makes one [`Session`] on its own thread and does
//! everything through it. The traits are object-safe: a workload is compiled once and runs on every
//! engine, at the price of one virtual call (about 2 ns) per operation.
//!
//! A new engine is one type that implements [`Engine`] and passes [`conformance::run`].

pub mod cache;
mod cache_knob;
pub mod cluster;
pub mod common_errors;
pub mod conformance;
pub mod credentials;
pub mod error;
pub mod event_watcher;
pub mod isolation;
pub mod key;
mod key_batch;
mod key_range;
pub mod native;
pub mod null;
pub mod panics;
pub mod reference;
pub mod service;
pub mod session;
pub mod setting_contradiction;
mod source;
pub mod sql;
pub mod storage;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod unix_socket;

pub use cache::{CacheCount, CacheScope};
pub use cache_knob::CacheKnob;
pub use cluster::Cluster;
pub use credentials::{Address, Credentials, ExportedAddress, Secret};
pub use error::{Error, Result};
pub use event_watcher::{EngineEvent, EventWatcher};
pub use key_batch::KeyBatch;
pub use key_range::KeyRange;
pub use native::NativeProgram;
pub use null::Null;
pub use service::Service;
pub use session::{
    BatchVisitor, Direction, Mode, RecordSource, RecordVisitor, Session, ValueVisitor, get_each,
    put_unless_found, read_in_transaction,
};
pub use setting_contradiction::SettingContradiction;
pub use source::{EngineSource, PLUGIN_INSTALL};
pub use sql::{Datum, Dialect, Sql};
pub use storage::Storage;
pub use trueput_record::accounting::CacheUse;
pub use trueput_record::parameter::{self, Parameter, ParameterValues, ValueKind};
pub use trueput_record::text::decode_utf8;
pub use trueput_record::{
    ClusterSurvival, Durability, Isolation, Phenomenon, Promise, Survival, Value, Window, choices,
    parameters,
};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A storage engine under test: its identity, its capabilities and a way to open its databases.
///
/// The first six methods are required, and one of [`Engine::promise`] and [`Engine::promise_with`]:
/// the default of each calls the other. The other defaults suit an engine that is compiled in and
/// needs no server, library or SQL.
pub trait Engine: Send + Sync {
    // Required.

    /// Describes the engine.
    fn info(&self) -> Info;

    /// Returns the default build: the version that the library itself reports, and its origin.
    ///
    /// # Errors
    /// [`Error::Engine`] if a library cannot be loaded or does not report its version.
    fn build(&self) -> Result<Build>;

    /// Returns the engine's capabilities. Each claim enables checks of the conformance suite.
    fn capabilities(&self) -> Capabilities;

    /// Returns the isolation level of its sessions' transactions with these knobs, by key and in
    /// scans; [`isolation`] verifies it. `None` if it retains no data, or the level is unknown.
    ///
    /// The level holds for read and write transactions, so it is the weaker of both if they differ.
    /// If a driver locks the records that its gets read, it may be stronger than the engine's own
    /// level of that name.
    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation>;

    /// Returns the knobs that a plan may set, by the engine's own names and with its defaults;
    /// [`parameters!`] declares them.
    fn knobs(&self) -> &'static [Parameter];

    /// Opens the database in `spec.directory`, creating it if it does not exist. The folder's
    /// entries are durable afterwards, by the engine or by the driver.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level or knob that it does not have; [`Error::Engine`] for
    /// whatever the engine itself says.
    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>>;

    /// Returns the promise of a level of durability with the default knobs: the settings that keep
    /// it. `None` if the engine does not have the level.
    fn promise(&self, durability: Durability) -> Option<Promise> {
        let knobs = parameter::resolve(self.info().name, self.knobs(), &BTreeMap::new()).ok()?;
        self.promise_with(durability, &knobs).ok()
    }

    /// Returns the promise of a level with these knobs, which may change the settings that keep it,
    /// or exclude the level. Its source is the sentence of the engine's documentation that confirms
    /// the settings, or the source file if there is none. A level that no setting keeps is left
    /// out: no engine is weakened to reach a level, and no stronger setting has a weaker name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it does not have the level, or not with these knobs.
    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise>;

    // Methods that depend on knobs.

    /// As [`Engine::isolation`], for SQL statements, which take only the locks that they request:
    /// the same level unless the driver overrides it.
    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        self.isolation(knobs)
    }

    /// Whether a transaction with these knobs sees every commit that was acknowledged before it
    /// began.
    fn reads_are_recent(&self, _knobs: &ParameterValues) -> bool {
        true
    }

    /// Checks that a database with these knobs has room for so many sessions at a time. The runner
    /// asks before it loads anything.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: the limit, and the knob that raises it.
    fn check_sessions(&self, _sessions: u32, _knobs: &ParameterValues) -> Result<()> {
        Ok(())
    }

    /// Returns the names of the knobs that determine isolation. Each is a choice or a Boolean; the
    /// anomaly suite tries all combinations of their values.
    fn isolation_knobs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the knob that sizes the engine's own cache, with these knobs; `--cache` sets it.
    ///
    /// # Errors
    /// The reason for having none, in words that follow the engine's name: `maps its file`.
    fn cache_knob(&self, _knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Err("has no knob that sizes a cache")
    }

    /// Checks that, with these knobs, the engine itself isolates write transactions that read. A
    /// driver that serializes them, because the engine has no such transactions, returns an error.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: the engine's alternative, after its name.
    fn check_transactions(&self, _knobs: &ParameterValues) -> Result<()> {
        Ok(())
    }

    /// Returns work of the driver with these knobs that the engine's own users may not need and
    /// that affects its rates. A clause without a final period, to follow the engine's name and a
    /// colon: the work, its reason, and its cost. Every trial's record contains it, and every
    /// ranking marks it.
    fn workaround(&self, _knobs: &ParameterValues) -> Option<String> {
        None
    }

    /// Returns a fault of the engine with these knobs that can lose records or return wrong ones,
    /// and that the driver does not work around. A clause without a final period, to follow the
    /// engine's name and a colon. Every trial's record contains it, and rankings list such a row
    /// separately.
    fn known_defect(&self, _knobs: &ParameterValues) -> Option<String> {
        None
    }

    // For an audit, which simulates power cuts.

    /// Returns knobs with values, as on the command line, that make everything happen within some
    /// thousand commits that happens to a large database: full write buffers, new logs,
    /// checkpoints, compactions, growing files.
    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns the same where it depends on the knobs that the user set, which are kept.
    fn audit_knobs_with(
        &self,
        _knobs: &ParameterValues,
    ) -> &'static [(&'static str, &'static str)] {
        self.audit_knobs()
    }

    /// Returns why an audit of this engine needs root, if it does: only root can show a process
    /// another boot identifier, and a state in the folder in which it was recorded. A clause
    /// without a final period.
    fn audit_requires_root(&self) -> Option<&'static str> {
        None
    }

    /// Does what the engine's documentation asks of its users before they open a database after
    /// lost power, such as removing shared memory or a separate recovery; nothing by default. The
    /// server of a service does not run yet.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn prepare_after_power_loss(&self, _spec: &OpenSpec<'_>) -> Result<()> {
        Ok(())
    }

    /// Checks a closed database by the engine's own means, such as `PRAGMA integrity_check`; no
    /// check by default. The server of a service runs.
    ///
    /// # Errors
    /// [`Error::Engine`] with the damage that it reports.
    fn check_files(&self, _spec: &OpenSpec<'_>) -> Result<()> {
        Ok(())
    }

    // For an engine in a shared library: its builds.

    /// Returns the library files of this engine on this machine, each suitable for
    /// [`Engine::with_library`]. The default build is the first of them, unless one is compiled in.
    fn library_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns this engine with the given library file, so that a plan can compare two builds.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an engine that is compiled in; otherwise one line that says what
    /// is wrong with the library: missing, of another engine or machine, without a needed symbol.
    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, &library.display()))
    }

    /// Returns this engine with the named library, program or server, based on the name alone:
    /// nothing is loaded, run or connected to. It serves to expand an untrusted plan, and is never
    /// opened.
    ///
    /// # Errors
    /// As [`Engine::with_library`], as far as the name and the existence of the file show.
    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, &library.display()))
    }

    /// Returns why it cannot keep databases below a folder, by the folder's path alone, as a clause
    /// about the path; `None` if it can. It is asked before anything is made there.
    fn path_objection(&self, _folder: &Path) -> Option<String> {
        None
    }

    /// Returns the reason why its default build is missing on this machine, by looking only for its
    /// files; `None` if they exist, whether or not they can be used.
    fn missing_reason(&self) -> Option<Error> {
        let is_there = self.info().install == COMPILED_IN || !self.library_files().is_empty();
        // Without its file the engine cannot be opened: the error of `build` names the missing
        // file.
        (!is_there).then(|| self.build().err()).flatten()
    }

    /// Returns a warning about its default build, in one line: it is used because no better one was
    /// found.
    fn build_warning(&self) -> Option<String> {
        None
    }

    /// Returns the builds of this engine that this program can install, if it has several: missing
    /// ones are listed with the command that installs them.
    fn installable_builds(&self) -> &'static [InstallableBuild] {
        &[]
    }

    // For an engine that is a server, or that is reached by an address.

    /// Returns the private server that a trial of this engine needs; `None` if the engine is a
    /// library, or if the server is the user's.
    fn service(&self) -> Option<Box<dyn Service>> {
        None
    }

    /// Whether the engine works in a server, which trueput starts, or which the engine itself
    /// starts as it opens a database.
    fn has_server(&self) -> bool {
        self.service().is_some()
    }

    /// Returns the nodes of which the engine consists; `None` if it is not a cluster. Its service
    /// is then a [`cluster::ClusterService`].
    fn cluster(&self) -> Option<Box<dyn Cluster>> {
        None
    }

    /// Returns whether the engine needs an address from the user, such as a data source: it is then
    /// never among the engines that are detected automatically.
    fn requires_address(&self) -> bool {
        false
    }

    /// Returns whether a run includes this engine without being asked for it by name: a cluster
    /// takes the memory and the processors of several servers.
    fn is_default_engine(&self) -> bool {
        !self.requires_address() && self.cluster().is_none()
    }

    /// Returns this engine for the server or data source of an address. The connection is made only
    /// when a database is opened.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an engine whose builds are files; for an invalid address, one
    /// line that does not repeat its secrets.
    fn with_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, address))
    }

    /// As [`Engine::with_address`], to expand an untrusted plan: it is never opened, and no method
    /// connects to the server.
    ///
    /// # Errors
    /// As [`Engine::with_address`].
    fn unopened_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        self.with_address(address)
    }

    // Methods for engines that speak SQL, or have programs in their own language.

    /// Returns the SQL dialect of its sessions; `None` without SQL.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Returns the program in the engine's own language that does a worker's share of a workload
    /// with these settings, if a knob requests one; `None` if the workload itself does it, in
    /// sessions.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a knob requests a program that does not exist.
    fn native(
        &self,
        _knobs: &ParameterValues,
        _workload: &str,
        _settings: &ParameterValues,
    ) -> Result<Option<Box<dyn NativeProgram>>> {
        Ok(None)
    }

    // Methods for engines that report their background activity.

    /// Returns the background activity since `since` in the database of that folder, from its log
    /// or its counters: checkpoints, flushes, compactions. `None` if the engine does not report it.
    /// The call comes after the measured time and costs nothing within it.
    fn events(&self, _spec: &OpenSpec<'_>, _since: SystemTime) -> Option<Vec<EngineEvent>> {
        None
    }

    /// Returns a watcher that reads, about once a second from another process, the background
    /// activity in the open database of that folder; `None` if there is nothing to read, or
    /// [`Engine::events`] covers it.
    fn event_watcher(&self, _spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        None
    }
}

fn takes_no_library(name: &str, library: &dyn std::fmt::Display) -> Error {
    Error::Unsupported(format!(
        "{name} is compiled in and takes no library ({library})"
    ))
}

/// [`Info::install`] of an engine that is part of this program.
pub const COMPILED_IN: &str = "compiled in";

/// Descriptive facts about an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// The name on the command line: lower case, no spaces.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The kind of engine, in a few words: `B+tree, copy on write, memory-mapped`.
    pub summary: &'static str,
    /// Its license, as an SPDX expression.
    pub license: &'static str,
    /// The address of its documentation.
    pub homepage: &'static str,
    /// Installation instructions, in one line; [`COMPILED_IN`] if nothing has to be installed.
    pub install: &'static str,
}

/// A build of an engine that can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallableBuild {
    /// Its name for people: `HyperLevelDB`.
    pub title: &'static str,
    /// A substring of the path of its library.
    pub path: &'static str,
    /// The command that installs it.
    pub install: &'static str,
}

/// One library or server binary of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The version that the library itself reports.
    pub version: String,
    /// The library's file; `None` if the engine is compiled into this program.
    pub library: Option<PathBuf>,
    /// Whether the library was compiled with assertions, which cost speed, so that it is not a fair
    /// baseline; `None` if unknown.
    pub assertions: Option<bool>,
}

/// Capabilities of an engine that workloads or the runner depend on. Each claim enables checks of
/// the [`conformance`] suite, and nothing is claimed that the engine has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Several processes may have one database open at once: workers are processes. The runner's
    /// trials test it, not the suite.
    pub several_processes: bool,
    /// Several write transactions may run at once, also if those that overlap get conflicts;
    /// otherwise they take turns.
    pub concurrent_writers: bool,
    /// Whether records can be read back. False for the null engine only: it switches off every
    /// check of data. An engine in memory writes its records when it is closed, and reads them when
    /// it is opened, since loading, measuring and verifying are three processes ([`reference`]).
    pub retains_data: bool,
    /// Puts, deletes and gets of one transaction take effect together or not at all. `tpcc`
    /// requires it.
    pub atomic_transactions: bool,
    /// A read transaction sees one state of the database, whatever others commit meanwhile, also if
    /// the level of [`Engine::isolation`] is lower. `tpcc` on keys and values requires it.
    pub snapshot_reads: bool,
    /// Looks up several keys of a read transaction in an operation of its own
    /// ([`Session::get_many`]). Otherwise they are looked up one by one, and a report says so.
    pub batch_get: bool,
    /// Puts a record on the condition that its key does not exist in an operation of its own
    /// ([`Session::put_if_absent`]). Otherwise a get comes before the put, and a report says so.
    pub conditional_put: bool,
    /// Loads records in the order of their keys by a loader of its own ([`Session::bulk_load`]).
    /// A build of it may lack the loader. Otherwise transactions put them, and a report says so.
    pub bulk_load: bool,
    /// Longest key, bytes. Plans beyond it are refused, and so are longer keys.
    pub max_key_bytes: usize,
    /// Longest value, bytes.
    pub max_value_bytes: usize,
}

impl Capabilities {
    /// The capabilities of an engine that keeps records in transactions with snapshots, for one
    /// process and one writer at a time. A driver changes the fields in which its engine differs.
    #[must_use]
    pub const fn transactional(max_key_bytes: usize, max_value_bytes: usize) -> Self {
        Self {
            several_processes: false,
            concurrent_writers: false,
            retains_data: true,
            atomic_transactions: true,
            snapshot_reads: true,
            batch_get: false,
            conditional_put: false,
            bulk_load: false,
            max_key_bytes,
            max_value_bytes,
        }
    }
}

/// Parameters for opening a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenSpec<'a> {
    /// An existing folder for this database only.
    pub directory: &'a Path,
    /// The durability level that each commit must reach.
    pub durability: Durability,
    /// The engine's knobs, every one, resolved with [`parameter::resolve`].
    pub knobs: &'a ParameterValues,
    /// The most sessions that this process will have at once.
    pub sessions: u32,
}

/// An open database. Sessions are made from it on the threads that use them.
///
/// Dropping it closes it in good order: opened again in the same folder, it holds every commit, at
/// every level of durability. The levels speak of crashes.
pub trait Database: Send + Sync {
    /// Opens a session for the calling thread.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Returns the engine's own counters (cache hits, compactions …), by its own names.
    ///
    /// # Errors
    /// The errors of the engine.
    fn counters(&self) -> Result<BTreeMap<String, Value>>;

    /// Begins a count of lookups in the engine's own cache; `None` if it has none or does not
    /// report them. Beginning and ending may take milliseconds; no lookup in between is missed.
    ///
    /// If sessions keep their own counts, those of sessions that are alive at the end are missing,
    /// except for counts that [`Session::flush_counters`] has delivered.
    ///
    /// # Errors
    /// The errors of the engine.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        Ok(None)
    }

    /// Returns the settings as the engine reports them back, by its own names: not as requested.
    ///
    /// # Errors
    /// The errors of the engine.
    fn settings(&self) -> Result<BTreeMap<String, Value>>;

    /// Returns the settings with which the engine's server runs now, or its sessions ran since the
    /// database was opened, and that contradict the promise of the level. An engine without a
    /// server has none: its driver refuses what does not keep the level.
    ///
    /// # Errors
    /// The errors of the engine.
    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        Ok(Vec::new())
    }

    /// Brings everything committed so far to storage, by the engine's own means. Sessions without a
    /// transaction may be there meanwhile.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn checkpoint(&self) -> Result<()>;

    /// Compacts the database by the engine's own means, in place, and returns the name of the call
    /// or statement: `VACUUM`. `None`, with nothing done, if the engine has no such means, or the
    /// database is on a user's server. There are no sessions meanwhile; every commit stays.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        Ok(None)
    }

    /// Returns how many marks of deleted records (tombstones) the iterators of this process's
    /// sessions have passed over so far; `None` if the engine does not count them while sessions
    /// are at work. It is called once a second then, and must not wait for one.
    fn tombstones_passed(&self) -> Option<u64> {
        None
    }

    /// Closes the database as dropping it does, and says whether that failed. A driver whose engine
    /// can fail to close overrides it; one that wraps another database passes it on.
    ///
    /// # Errors
    /// Whatever the engine says. Nothing more can be done with the database then.
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
