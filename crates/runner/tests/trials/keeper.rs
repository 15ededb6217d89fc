//! An engine that keeps what it is given, as one that passes every other check may: at `sync` it
//! flushes at each commit, or only says so.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use trueput_engine::reference::Reference;
use trueput_engine::{
    Build, Capabilities, Database, Direction, Durability, Engine, Error, Info, Isolation, KeyRange,
    Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor, Result, Session, Value,
    ValueVisitor,
};

/// The reference engine, with a promise that it keeps by a log of its own, or breaks.
pub struct Keeper {
    pub name: &'static str,
    /// Whether a commit flushes the log.
    pub flushes: bool,
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

    fn promise(&self, durability: Durability) -> Option<Promise> {
        let promise = Reference.promise(Durability::None)?;
        Some(Promise {
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
        let mut options = OpenOptions::new();
        let log = options.write(true).create(true).truncate(false).open(log);
        let log = log.map_err(Error::engine)?;
        Ok(Box::new(KeeperDatabase {
            inner,
            log: self.flushes.then_some(log),
        }))
    }
}

struct KeeperDatabase {
    inner: Box<dyn Database>,
    log: Option<File>,
}

impl Database for KeeperDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(KeeperSession {
            inner: self.inner.session()?,
            log: self.log.as_ref(),
            commits: 0,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }
}

struct KeeperSession<'a> {
    inner: Box<dyn Session + 'a>,
    log: Option<&'a File>,
    commits: u64,
}

impl Session for KeeperSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.inner.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.inner.scan(range, direction, visitor)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()?;
        self.commits += 1;
        if let Some(log) = self.log {
            let record = self.commits.to_le_bytes();
            log.write_all_at(&record, 0).map_err(Error::engine)?;
            log.sync_data().map_err(Error::engine)?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.inner.abort()
    }
}
