//! The controls of every audit: a small log engine of our own, with faults that can be planted.
//!
//! Its files are a table and a log:
//!
//! ```text
//! table    all records at some moment, and the number of the log that continues it
//! log.N    transactions since then: length, checksum, changes
//! commit   the bytes of the log that count, only with the fault `commit_before_data`
//! ```
//!
//! A commit appends to the log and flushes it; at `async` it flushes the log first, so that at most
//! the last commit can be lost. A checkpoint writes a new table under another name,
//! flushes it, creates the next log, renames the table, and flushes the directory before it removes
//! the old log. Recovery reads the table and then the logs, up to the first transaction whose
//! checksum is wrong.

mod flush;
mod log;
mod session;
mod table;

use log::{FlushWay, Log};
use session::LogSession;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_engine::{
    Build, COMPILED_IN, Capabilities, Database, Durability, Engine, Error, Info, Isolation,
    OpenSpec, Parameter, ParameterValues, Promise, Result, Session, Value, Window, choices,
    parameters,
};

/// The name of the engine. It is in no registry.
pub const NAME: &str = "audit-control";

choices! {
    /// A fault that is planted in the engine.
    pub enum Fault {
        /// No fault.
        None = "none",
        /// A commit does not flush the log.
        FlushLeftOut = "flush_left_out",
        /// A commit flushes a part of the log that it did not write: its first byte by a write
        /// through `O_DSYNC`, or its first page by `msync`.
        PartFlushed = "part_flushed",
        /// The commit that fills half of a log flushes the file of the next log in its place.
        OtherLogFlushed = "other_log_flushed",
        /// A commit flushes the log before it writes to it.
        FlushBeforeWrite = "flush_before_write",
        /// A commit's record of its length is flushed before its data are written, and recovery
        /// trusts it.
        CommitBeforeData = "commit_before_data",
        /// A checkpoint removes the old log without a flush of the directory after the renaming.
        RenameWithoutDirectoryFlush = "rename_without_directory_flush",
        /// Recovery removes the log before its changes are in the table.
        RecoveryNotIdempotent = "recovery_not_idempotent",
        /// Recovery does not check checksums.
        ChecksumNotChecked = "checksum_not_checked",
        /// Recovery never ends if the log ends in a transaction that is not whole.
        RecoveryHangs = "recovery_hangs",
    }
}

choices! {
    /// The call by which a commit is flushed.
    pub enum FlushCall {
        /// `fdatasync` after the write.
        Fdatasync = "fdatasync",
        /// The write itself, through `O_DSYNC`.
        MarkedWrite = "o_dsync",
        /// `syncfs` after the write.
        Syncfs = "syncfs",
        /// `msync` of the pages of the write.
        Msync = "msync",
        /// A flush of the bytes of the write by io_uring, of which only the file can be seen.
        Ring = "io_uring",
    }
}

choices! {
    /// What a commit does when the flush of its log fails.
    pub enum FlushFailure {
        /// It reports the error, and so does every later commit.
        Refuse = "refuse",
        /// It reports the error, and the next commit is appended behind it.
        Continue = "continue",
        /// It flushes again, and believes the second result.
        Retry = "retry",
        /// It believes that the log is flushed.
        Ignore = "ignore",
    }
}

parameters! {
    /// The knobs of the control.
    struct ControlKnobs {
        /// The planted fault.
        fault: Choice<Fault> = None,
        /// The call by which a commit is flushed.
        flush: Choice<FlushCall> = Fdatasync,
        /// What a commit does when the flush of its log fails.
        flush_failure: Choice<FlushFailure> = Refuse,
        /// The size of a log at which the next checkpoint begins.
        log_size: Bytes = 64 KiB in 4 KiB..=1 GiB,
    }
}

/// The log engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogEngine;

impl Engine for LogEngine {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: NAME,
            summary: "log and table: the control of audits, never measured",
            license: "MIT OR Apache-2.0",
            homepage: "docs/AUDIT.md",
            install: COMPILED_IN,
        }
    }

    fn build(&self) -> Result<Build> {
        Ok(Build {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            library: None,
            assertions: None,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::transactional(1024, 512 * 1024)
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // The workers of an audit have no key in common, so nothing need be isolated.
        None
    }

    fn knobs(&self) -> &'static [Parameter] {
        ControlKnobs::PARAMETERS
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        let (mapped_to, window) = match durability {
            Durability::Sync => ("the log is flushed at each commit", None),
            Durability::Async => {
                let window = Window {
                    time_s: None,
                    bytes: None,
                    commits: Some(1),
                    until: "the next commit, which flushes the log first".to_owned(),
                };
                ("the log is flushed before each commit", Some(window))
            }
            other => return Err(Error::no_durability(NAME, other)),
        };
        let source = "crates/audit/src/control.rs";
        Ok(Promise::new(durability, mapped_to, window, source))
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let knobs = ControlKnobs::from(spec.knobs);
        let way = FlushWay::of(spec.durability, &knobs);
        let store = Store::recover(spec.directory, &knobs, way).map_err(Error::engine)?;
        Ok(Box::new(LogDatabase {
            store: Mutex::new(store),
        }))
    }
}

/// The records, by key.
pub(crate) type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// The files of a database and what they hold.
struct Store {
    directory: PathBuf,
    fault: Fault,
    log_size: u64,
    records: Records,
    log: Log,
}

impl Store {
    /// Reads the table and replays the logs.
    fn recover(directory: &Path, knobs: &ControlKnobs, way: FlushWay) -> io::Result<Self> {
        let fault = knobs.fault;
        let (mut records, number) = table::read(directory, fault)?;
        let log = Log::open(directory, number, fault, way)?;
        let changes = log.replay(&mut records)?;
        let mut store = Self {
            directory: directory.to_owned(),
            fault,
            log_size: knobs.log_size,
            records,
            log,
        };
        if changes > 0 {
            // With this fault, the changes are nowhere until the table is there.
            if fault == Fault::RecoveryNotIdempotent {
                store.log.remove()?;
            }
            store.checkpoint()?;
        }
        Ok(store)
    }

    /// Appends a transaction to the log, and applies it.
    fn commit(&mut self, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> io::Result<()> {
        self.log.append(changes)?;
        for (key, value) in changes {
            match value {
                Some(value) => self.records.insert(key.clone(), value.clone()),
                None => self.records.remove(key),
            };
        }
        if self.log.bytes() >= self.log_size {
            self.checkpoint()
        } else {
            Ok(())
        }
    }

    /// Writes the table anew and begins the next log.
    fn checkpoint(&mut self) -> io::Result<()> {
        let next = self.log.number() + 1;
        let is_ring = self.log.way().is_ring();
        let replaced = table::write(&self.directory, &self.records, next, is_ring)?;
        let next_log = Log::open(&self.directory, next, self.fault, self.log.way())?;
        replaced.rename(&self.directory)?;
        if self.fault != Fault::RenameWithoutDirectoryFlush {
            flush_directory(&self.directory)?;
        }
        let old = std::mem::replace(&mut self.log, next_log);
        old.remove()?;
        match self.fault {
            Fault::RenameWithoutDirectoryFlush => Ok(()),
            _ => flush_directory(&self.directory),
        }
    }
}

fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

struct LogDatabase {
    store: Mutex<Store>,
}

impl LogDatabase {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for LogDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(LogSession::new(self)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn checkpoint(&self) -> Result<()> {
        self.store().checkpoint().map_err(Error::engine)
    }
}
