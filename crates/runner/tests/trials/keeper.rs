//! An engine that keeps what it is given, as one that passes every other check may: at `sync` it
//! flushes at each commit, or only says so. It compacts its database, or does not.

use crate::hooks::{HookedDatabase, Hooks};
use crate::toy::{LOADED, LOADED_BYTES, hang};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use trueput_engine::reference::Reference;
use trueput_engine::{
    Build, Capabilities, Database, Durability, Engine, Error, Info, Isolation, OpenSpec, Parameter,
    ParameterValues, Promise, Result,
};

/// The reference engine, with a promise that it keeps by a log of its own, or breaks.
pub struct Keeper {
    name: &'static str,
    /// Whether a commit flushes the log.
    flushes: bool,
    /// Whether the close does, once for each commit.
    flushes_at_close: bool,
    /// Whether it hangs when it opens a trial's database in which somebody has committed.
    hangs_at_recovery: bool,
    /// What it does when it is to compact its database; `None` if it has no compaction.
    compaction: Option<KeeperCompaction>,
}

/// What an engine does when it is to compact its database.
#[derive(Clone, Copy)]
pub enum KeeperCompaction {
    /// It shortens the file of the load to [`COMPACTED_BYTES`].
    Honest,
    /// Nothing.
    Claimed,
    /// It reports an error.
    Failing,
    /// It never ends.
    Hanging,
}

/// The name of its call.
pub const COMPACTION: &str = "keeper_compact";

/// The size of the loaded file after an honest compaction.
pub const COMPACTED_BYTES: usize = LOADED_BYTES / 4;

impl Keeper {
    pub const fn new(name: &'static str, flushes: bool) -> Self {
        Self {
            name,
            flushes,
            flushes_at_close: false,
            hangs_at_recovery: false,
            compaction: None,
        }
    }

    /// It flushes at its close, once for each commit.
    pub const fn flushing_at_close(name: &'static str) -> Self {
        Self {
            flushes_at_close: true,
            ..Self::new(name, false)
        }
    }

    pub const fn hanging_at_recovery(name: &'static str) -> Self {
        Self {
            hangs_at_recovery: true,
            ..Self::new(name, true)
        }
    }

    pub const fn compacting(name: &'static str, compaction: KeeperCompaction) -> Self {
        Self {
            compaction: Some(compaction),
            ..Self::new(name, false)
        }
    }
}

impl Engine for Keeper {
    fn info(&self) -> Info {
        Info {
            name: self.name,
            title: self.name,
            ..Reference.info()
        }
    }

    fn build(&self) -> Result<Build> {
        Reference.build()
    }

    fn capabilities(&self) -> Capabilities {
        Reference.capabilities()
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let promise = Reference.promise_with(Durability::None, knobs)?;
        Ok(Promise {
            durability,
            ..promise
        })
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Reference.isolation(knobs)
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let inner = Reference.open(&OpenSpec {
            durability: Durability::None,
            ..*spec
        })?;
        let log = spec.directory.join("log");
        let has_commits = log.metadata().is_ok_and(|log| log.len() > 0);
        let mut names = log.iter();
        let is_suite = names.any(|name| name.to_string_lossy().starts_with(".conformance"));
        if self.hangs_at_recovery && has_commits && !is_suite {
            hang();
        }
        let mut options = OpenOptions::new();
        let log = options.write(true).create(true).truncate(false).open(log);
        let log = log.map_err(Error::engine)?;
        Ok(Box::new(HookedDatabase {
            inner,
            hooks: KeeperHooks {
                log,
                flushes: self.flushes,
                flushes_at_close: self.flushes_at_close,
                commits: AtomicU64::new(0),
                loaded: spec.directory.join(LOADED),
                compaction: self.compaction,
            },
            settings: BTreeMap::new(),
        }))
    }
}

/// What an engine does at commits and when it is to compact its database.
struct KeeperHooks {
    log: File,
    /// Whether a commit flushes the log.
    flushes: bool,
    /// Whether the close does, once for each commit.
    flushes_at_close: bool,
    commits: AtomicU64,
    /// The file of the load.
    loaded: PathBuf,
    compaction: Option<KeeperCompaction>,
}

impl Hooks for KeeperHooks {
    fn compact(&self) -> Result<Option<&'static str>> {
        match self.compaction {
            None => return Ok(None),
            Some(KeeperCompaction::Honest) => {
                let file = OpenOptions::new().write(true).open(&self.loaded);
                file.and_then(|file| file.set_len(COMPACTED_BYTES as u64))
                    .map_err(Error::engine)?;
            }
            Some(KeeperCompaction::Claimed) => {}
            Some(KeeperCompaction::Failing) => return Err(Error::engine("the keeper is stuck")),
            Some(KeeperCompaction::Hanging) => hang(),
        }
        Ok(Some(COMPACTION))
    }

    fn after_commit(&self, commits: u64) -> Result<()> {
        self.commits.store(commits, Relaxed);
        if self.flushes {
            self.flush(commits)?;
        }
        Ok(())
    }
}

impl KeeperHooks {
    fn flush(&self, commits: u64) -> Result<()> {
        let record = commits.to_le_bytes();
        self.log.write_all_at(&record, 0).map_err(Error::engine)?;
        self.log.sync_data().map_err(Error::engine)
    }
}

impl Drop for KeeperHooks {
    fn drop(&mut self) {
        let commits = self.commits.load(Relaxed);
        if self.flushes_at_close {
            (1..=commits).for_each(|commits| self.flush(commits).unwrap());
        }
    }
}
