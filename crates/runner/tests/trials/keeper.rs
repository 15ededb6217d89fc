//! An engine that keeps what it is given, as one that passes every other check may: at `sync` it
//! flushes at each commit, or only says so.

use crate::hooks::{HookedDatabase, Hooks};
use crate::toy::hang;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
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
    /// Whether it hangs when it opens a trial's database in which somebody has committed.
    hangs_at_recovery: bool,
}

impl Keeper {
    pub const fn new(name: &'static str, flushes: bool) -> Self {
        Self {
            name,
            flushes,
            hangs_at_recovery: false,
        }
    }

    pub const fn hanging_at_recovery(name: &'static str) -> Self {
        Self {
            hangs_at_recovery: true,
            ..Self::new(name, true)
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
        let is_suite = log.iter().any(|name| name == ".conformance");
        if self.hangs_at_recovery && has_commits && !is_suite {
            hang();
        }
        let mut options = OpenOptions::new();
        let log = options.write(true).create(true).truncate(false).open(log);
        let log = log.map_err(Error::engine)?;
        Ok(Box::new(HookedDatabase {
            inner,
            hooks: CommitLog(self.flushes.then_some(log)),
            settings: BTreeMap::new(),
        }))
    }
}

/// The log that a commit flushes, if any.
struct CommitLog(Option<File>);

impl Hooks for CommitLog {
    fn after_commit(&self, commits: u64) -> Result<()> {
        if let Some(log) = &self.0 {
            let record = commits.to_le_bytes();
            log.write_all_at(&record, 0).map_err(Error::engine)?;
            log.sync_data().map_err(Error::engine)?;
        }
        Ok(())
    }
}
