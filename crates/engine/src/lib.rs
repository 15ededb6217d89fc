//! The contract between trueput and a storage engine.
//!
//! An [`Engine`] opens a [`Database`]; each worker makes one [`Session`] on its own thread and does
//! everything through it. The traits are object-safe: a workload is compiled once and runs on every
//! engine, at the price of one virtual call (about 2 ns) per operation.
//!
//! A new engine is one type that implements [`Engine`] and passes [`conformance::run`].

pub mod cache;
mod cache_knob;
pub mod conformance;
pub mod credentials;
pub mod engine_event;
pub mod error;
pub mod event_watcher;
pub mod isolation;
pub mod key;
pub mod native;
pub mod null;
pub mod panics;
pub mod reference;
pub mod service;
pub mod sql;
pub mod storage;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use cache::{CacheCount, CacheScope};
pub use cache_knob::CacheKnob;
pub use credentials::{Address, Credentials, Secret};
pub use engine_event::EngineEvent;
pub use error::{Error, Result};
pub use event_watcher::EventWatcher;
pub use native::NativeProgram;
pub use null::Null;
pub use service::Service;
pub use sql::{Datum, Dialect, Sql};
pub use storage::Storage;
pub use trueput_record::accounting::CacheUse;
pub use trueput_record::parameter::{self, Parameter, ParameterValues, ValueKind};
pub use trueput_record::{
    Durability, Isolation, Phenomenon, Promise, Value, Window, choices, parameters,
};

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A storage engine under test: what it is, what it can do, and how to open a database of it.
///
/// The first six methods are required, and one of [`Engine::promise`] and [`Engine::promise_with`]:
/// the default of each asks the other. The defaults of the others suit an engine that is compiled
/// in and needs no server, library or SQL.
pub trait Engine: Send + Sync {
    // Required.

    /// Describes the engine.
    fn info(&self) -> Info;

    /// The build that would be used: version as the library itself reports it, and its origin.
    ///
    /// # Errors
    /// [`Error::Engine`] where a library cannot be loaded or does not say its version.
    fn build(&self) -> Result<Build>;

    /// What the engine can do. Each claim enables checks of the conformance suite.
    fn capabilities(&self) -> Capabilities;

    /// What its sessions' transactions never show each other with these knobs, by key and in scans;
    /// [`isolation`] verifies it. `None` if it keeps no records, or nobody knows.
    ///
    /// It holds for transactions that read as well as for those that write, so it is the weaker of
    /// both where they differ. Where a driver locks what its gets read, it may be stronger than the
    /// engine's own level of that name.
    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation>;

    /// The knobs that a plan may set.
    fn knobs(&self) -> &'static [Parameter];

    /// Opens the database in `spec.directory`, making it if it is not there.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level or knob that it does not have; [`Error::Engine`] for
    /// whatever the engine itself says.
    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>>;

    /// How it keeps a level of durability with its default knobs; `None` if it does not have the
    /// level.
    fn promise(&self, durability: Durability) -> Option<Promise> {
        let knobs = parameter::resolve(self.info().name, self.knobs(), &BTreeMap::new()).ok()?;
        self.promise_with(durability, &knobs).ok()
    }

    /// How it keeps a level with these knobs, which may change the settings that the promise rests
    /// on, or take it away.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it does not have the level, or not with these knobs.
    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise>;

    // What depends on knobs.

    /// As [`Engine::isolation`], for statements of SQL, which lock only what they say they lock:
    /// the same level unless the driver says otherwise.
    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        self.isolation(knobs)
    }

    /// The knobs that decide how transactions are kept apart, by their names. Each has words or is
    /// on or off; the anomaly suite tries all that they can be set to.
    fn isolation_knobs(&self) -> &'static [&'static str] {
        &[]
    }

    /// The knob that sizes its own cache, with these knobs; `--cache` sets it.
    ///
    /// # Errors
    /// Why there is none, in words that follow the engine's name: `maps its file`.
    fn cache_knob(&self, _knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Err("has no knob that sizes a cache")
    }

    /// Whether write transactions that read, with these knobs, are kept apart by the engine itself.
    /// A driver that has them take turns, because the engine has no such transactions, says so.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: what the engine has instead.
    fn check_transactions(&self, _knobs: &ParameterValues) -> Result<()> {
        Ok(())
    }

    /// Work that the driver does with these knobs, that the engine's own users may not need and
    /// that affects its rates. A clause without a final period, to follow the engine's name and a
    /// colon: what, why, and what it costs. Every trial's record has it, and every ranking marks
    /// it.
    fn workaround(&self, _knobs: &ParameterValues) -> Option<String> {
        None
    }

    /// A fault of the engine with these knobs that can lose records or return wrong ones, and that
    /// the driver does not work around. A clause without a final period, to follow the engine's
    /// name and a colon. Every trial's record has it, and rankings list such a row separately.
    fn known_defect(&self, _knobs: &ParameterValues) -> Option<String> {
        None
    }

    // For an engine in a shared library: its builds.

    /// The library files of this engine on this machine, each to be given to
    /// [`Engine::with_library`]. The default build is the first of them, unless one is compiled in.
    fn library_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// This engine as the given library file has it, so that two builds can be in one plan.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an engine that is compiled in; one line that says what is wrong
    /// with the library otherwise: missing, of another engine or machine, without a needed symbol.
    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, &library.display()))
    }

    /// This engine as the named library, program or server would have it, as far as the name alone
    /// tells: nothing is loaded, run or connected to. It serves to expand a plan that is not
    /// trusted, and is never opened.
    ///
    /// # Errors
    /// As [`Engine::with_library`], for what a name and a file's presence tell.
    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, &library.display()))
    }

    /// Why its default build is not on this machine, by looking for its files alone; `None` if they
    /// are there, whether or not they can be used.
    fn missing_reason(&self) -> Option<Error> {
        let is_there = self.info().install == COMPILED_IN || !self.library_files().is_empty();
        // Where there is no file of it, nothing can be opened: it says what is missing.
        (!is_there).then(|| self.build().err()).flatten()
    }

    /// A warning about its default build, in one line: that it is a lesser one, because a better
    /// one was not found.
    fn build_warning(&self) -> Option<String> {
        None
    }

    /// The builds of this engine that this program installs, if they are several: those that are
    /// not here are listed with what installs them.
    fn installable_builds(&self) -> &'static [InstallableBuild] {
        &[]
    }

    // For an engine that is a server, or that is reached by an address.

    /// The server that a trial of this engine needs, of its own; `None` if the engine is a
    /// library, or where the server is the user's.
    fn service(&self) -> Option<Box<dyn Service>> {
        None
    }

    /// Whether it works only on an address that the user gives, such as a data source: then it is
    /// never among the engines that are present by themselves.
    fn requires_address(&self) -> bool {
        false
    }

    /// This engine over the server or data source of an address, which is connected to when a
    /// database is opened and not before.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an engine whose builds are files, and in one line that does not
    /// repeat what is secret for an address that cannot be.
    fn with_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        Err(takes_no_library(self.info().name, address))
    }

    /// As [`Engine::with_address`], to expand a plan that is not trusted: it is never opened, and
    /// nothing that it is asked connects to the server.
    ///
    /// # Errors
    /// As [`Engine::with_address`].
    fn unopened_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        self.with_address(address)
    }

    // For an engine that speaks SQL, or has programs in a language of its own.

    /// The SQL that its sessions speak; `None` if they speak none.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// The program in the engine's own language that does a worker's share of a workload with these
    /// settings, where a knob asks for it; `None` if the workload itself does it, in sessions.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a knob asks for a program that there is not.
    fn native(
        &self,
        _knobs: &ParameterValues,
        _workload: &str,
        _settings: &ParameterValues,
    ) -> Result<Option<Box<dyn NativeProgram>>> {
        Ok(None)
    }

    // For an engine that reports what it does by itself.

    /// What it has done by itself since `since` in the database of that folder, from its log or its
    /// counters: checkpoints, flushes, compactions. `None` if it does not tell. It is asked
    /// after the measured time, and costs nothing within it.
    fn events(&self, _spec: &OpenSpec<'_>, _since: SystemTime) -> Option<Vec<EngineEvent>> {
        None
    }

    /// A watcher that reads, about once a second from another process, what the engine does by
    /// itself in the open database of that folder; `None` if there is nothing to read, or
    /// [`Engine::events`] has it.
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

/// What an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// The name on the command line: lower case, no spaces.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What kind of engine it is, in a few words: `B+tree, copy on write, memory-mapped`.
    pub summary: &'static str,
    /// Its license, as an SPDX expression.
    pub license: &'static str,
    /// Where its documentation is.
    pub homepage: &'static str,
    /// How to get it, in one line; [`COMPILED_IN`] if nothing has to be installed.
    pub install: &'static str,
}

/// A build of an engine that can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallableBuild {
    /// Its name for people: `HyperLevelDB`.
    pub title: &'static str,
    /// What the path of its library has in it.
    pub path: &'static str,
    /// What installs it.
    pub install: &'static str,
}

/// One library or server binary of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The version that the library itself reports.
    pub version: String,
    /// The library's file; `None` if the engine is compiled into this program.
    pub library: Option<PathBuf>,
    /// Whether the library was compiled with its assertions, which cost speed, so that it is no
    /// fair baseline; `None` if unknown.
    pub assertions: Option<bool>,
}

/// What an engine can do, as far as a workload or the runner must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Several processes may have one database open at once.
    pub several_processes: bool,
    /// Several write transactions may run at once; otherwise they take turns.
    pub concurrent_writers: bool,
    /// What is put can be got. False for the null engine only.
    pub retains_data: bool,
    /// Puts, deletes and gets of one transaction take effect together or not at all.
    pub atomic_transactions: bool,
    /// A read transaction sees one state of the database, whatever others commit meanwhile.
    pub snapshot_reads: bool,
    /// Longest key, bytes.
    pub max_key_bytes: usize,
    /// Longest value, bytes.
    pub max_value_bytes: usize,
}

/// How to open a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenSpec<'a> {
    /// A folder that is the database's alone. It exists.
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
    /// A session for the calling thread.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// The engine's own counters (cache hits, compactions …), by its own names.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn counters(&self) -> Result<BTreeMap<String, Value>>;

    /// Begins a count of what the engine's own cache is asked; `None` if it has none or does not
    /// tell. Beginning and ending it may take milliseconds, and nothing is lost between them.
    ///
    /// Where sessions keep what they count to themselves, those that still live at the end are
    /// not in it, except for what [`Session::flush_counters`] has handed over.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        Ok(None)
    }

    /// Settings as the engine reports them back, by its own names: not as we asked.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn settings(&self) -> Result<BTreeMap<String, Value>>;

    /// Brings everything committed so far to storage, by the engine's own means. Sessions without a
    /// transaction may be there meanwhile.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn checkpoint(&self) -> Result<()>;
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reads only. [`Session::put`] and [`Session::delete`] are refused.
    Read,
    /// Reads and writes. It sees its own writes.
    Write,
}

/// The order of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// By ascending key.
    Forward,
    /// By descending key.
    Backward,
}

/// The keys that a scan covers, in unsigned byte order.
#[derive(Debug, Clone, Copy)]
pub struct KeyRange<'a> {
    /// The low end.
    pub lower: Bound<&'a [u8]>,
    /// The high end.
    pub upper: Bound<&'a [u8]>,
}

impl<'a> KeyRange<'a> {
    /// Every key.
    pub const ALL: KeyRange<'static> = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    /// From `lower` on, that key included.
    #[must_use]
    pub fn from(lower: &'a [u8]) -> Self {
        Self {
            lower: Bound::Included(lower),
            upper: Bound::Unbounded,
        }
    }

    /// From `lower`, included, to `upper`, excluded.
    #[must_use]
    pub fn between(lower: &'a [u8], upper: &'a [u8]) -> Self {
        Self {
            lower: Bound::Included(lower),
            upper: Bound::Excluded(upper),
        }
    }

    /// Whether its ends are reversed or meet without including a key, so that no key can be in it
    /// and a driver need not ask its engine (several refuse or panic on such bounds).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Unbounded, Bound::Excluded(high)) => high.is_empty(),
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Excluded(high) | Bound::Included(high),
            ) => low >= high,
            _ => false,
        }
    }

    /// Whether `key` is at or above the low end.
    #[must_use]
    pub fn admits_from_below(&self, key: &[u8]) -> bool {
        match self.lower {
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
            Bound::Unbounded => true,
        }
    }

    /// Whether `key` is at or below the high end.
    #[must_use]
    pub fn admits_from_above(&self, key: &[u8]) -> bool {
        match self.upper {
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
    }
}

/// Looks at a value where it is in the engine's memory; the slice ends with the call.
pub type ValueVisitor<'v> = dyn FnMut(&[u8]) + 'v;

/// Looks at a record of a scan; the slices end with the call. `Break` ends the scan.
pub type RecordVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// One worker's way into a database: at most one transaction at a time, on one thread.
///
/// Every `get`, `put`, `delete` and `scan` is between a `begin` and a `commit` or `abort`;
/// reads may end with either. Where no transaction is open they are refused, `commit` and `abort`
/// too, and where one is open `begin` is: with any error but [`Error::Conflict`], which would
/// invite a retry.
///
/// After an error of a call within a transaction, a refused second `begin` included, the
/// transaction is still open and `abort` is the one call to make: it ends the transaction, also
/// where the engine has given it up by itself. What the others would return is unspecified.
/// After an error of `commit`, or of a first `begin`, no transaction is open. In both cases the
/// session can begin the next one.
///
/// A session that is dropped aborts its transaction.
pub trait Session {
    /// Begins a transaction. A session that has one open refuses.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the engine would rather have it tried again.
    fn begin(&mut self, mode: Mode) -> Result<()>;

    /// Shows the value of `key` to `visitor`, without a copy where the engine can, and says whether
    /// the key is there. The visitor is called once where it is, and not at all where it is not. A
    /// key that could not be put (too long, or empty where that is refused) is not there, or is
    /// [`Error::Unsupported`].
    ///
    /// # Errors
    /// [`Error::Conflict`] where the engine gives the transaction up.
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool>;

    /// Does what a read transaction of this one [`Session::get`] does, while no transaction is
    /// open. An engine that answers a single look-up from its latest state without a transaction's
    /// snapshot overrides it, so that a look-up is paid for as its users pay for it.
    ///
    /// # Errors
    /// As [`Session::begin`], [`Session::get`] and [`Session::commit`]; no transaction is open
    /// afterwards.
    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.begin(Mode::Read)?;
        match self.get(key, visitor) {
            Ok(found) => self.commit().map(|()| found),
            Err(error) => {
                // The first error says more than what the abort may add.
                let _ = self.abort();
                Err(error)
            }
        }
    }

    /// Stores `value` under `key`, whether or not the key was there. The value may be empty. The
    /// empty key is a key like any other, or is refused; nothing is cut or lost in silence.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the engine gives the transaction up; [`Error::Full`] where there
    /// is no room; [`Error::Unsupported`] in a read transaction, for a key or value longer than
    /// [`Capabilities`] state, or for an empty key where the engine has none.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Takes `key` out. It is no error where the key is not there.
    ///
    /// # Errors
    /// As [`Session::put`].
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Shows the records of `range` in the order of `direction` to `visitor` until it breaks, and
    /// says how many it showed, the one included at which the visitor broke. The transaction's own
    /// writes are among them. A bound need not be a key that is there, and may be the empty string;
    /// a reversed range has no records and is no error.
    ///
    /// # Errors
    /// As [`Session::get`].
    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64>;

    /// Ends the transaction and makes its writes visible and durable as the database was opened.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the engine found that another transaction was in the way; nothing
    /// was written then.
    fn commit(&mut self) -> Result<()>;

    /// Ends the transaction and forgets its writes.
    ///
    /// # Errors
    /// Whatever the engine says; the transaction has ended all the same.
    fn abort(&mut self) -> Result<()>;

    /// Has the engine take note of what this session has counted, where it would do so later: its
    /// counters then hold everything that the session did. No transaction is open.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn flush_counters(&mut self) -> Result<()> {
        Ok(())
    }

    /// Its SQL; `None` if the engine speaks none.
    fn sql(&mut self) -> Option<&mut dyn Sql> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let key = || proptest::collection::vec(0_u8..3, 0..3);
        prop_oneof![
            Just(Bound::Unbounded),
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
        ]
    }

    fn admits(range: KeyRange<'_>, key: &[u8]) -> bool {
        range.admits_from_below(key) && range.admits_from_above(key)
    }

    #[test]
    fn reversed_ends_and_ends_that_meet_at_an_excluded_key_leave_no_key() {
        use Bound::{Excluded, Included, Unbounded};
        let is_empty = |lower, upper| KeyRange { lower, upper }.is_empty();
        let (a, b, empty) = (b"a".as_slice(), b"b".as_slice(), b"".as_slice());
        assert!(is_empty(Included(b), Included(a)));
        assert!(is_empty(Excluded(b), Excluded(a)));
        assert!(is_empty(Included(a), Excluded(a)));
        assert!(is_empty(Excluded(a), Included(a)));
        assert!(is_empty(Unbounded, Excluded(empty)));
        assert!(!is_empty(Included(a), Included(a)));
        assert!(!is_empty(Included(a), Excluded(b)));
        assert!(!is_empty(Unbounded, Included(empty)));
        assert!(!is_empty(Excluded(b), Unbounded));
        assert!(!KeyRange::ALL.is_empty());
        assert!(!KeyRange::from(b).is_empty());
        assert!(KeyRange::between(b, a).is_empty());
    }

    proptest! {
        #[test]
        fn an_empty_range_admits_no_key(
            lower in end(),
            upper in end(),
            key in proptest::collection::vec(0_u8..3, 0..4),
        ) {
            let range = KeyRange {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: upper.as_ref().map(Vec::as_slice),
            };
            prop_assert!(!(range.is_empty() && admits(range, &key)));
        }
    }
}
