//! A database around another, with something done at some calls.

use std::collections::BTreeMap;
use trueput_engine::{
    Database, Direction, KeyRange, Mode, RecordVisitor, Result, Session, Value, ValueVisitor,
};

/// Actions at calls, before or after the database's own part.
pub trait Hooks: Send + Sync {
    fn before_session(&self) {}
    fn before_get(&self, _key: &[u8], _visitor: &mut ValueVisitor<'_>) {}
    fn before_first_put(&self) {}
    fn before_flush_counters(&self) {}
    /// In place of the database's own compaction.
    fn compact(&self) -> Result<Option<&'static str>> {
        Ok(None)
    }
    /// With the number of commits of the session so far.
    fn after_commit(&self, _commits: u64) -> Result<()> {
        Ok(())
    }
}

pub struct HookedDatabase<H> {
    pub inner: Box<dyn Database>,
    pub hooks: H,
    /// Settings that it reports in addition to those of the other database.
    pub settings: BTreeMap<String, Value>,
}

impl<H: Hooks> Database for HookedDatabase<H> {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.hooks.before_session();
        Ok(Box::new(HookedSession {
            inner: self.inner.session()?,
            hooks: &self.hooks,
            puts: 0,
            commits: 0,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let mut settings = self.inner.settings()?;
        settings.extend(self.settings.clone());
        Ok(settings)
    }

    fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        self.hooks.compact()
    }
}

struct HookedSession<'a, H> {
    inner: Box<dyn Session + 'a>,
    hooks: &'a H,
    puts: u64,
    commits: u64,
}

impl<H: Hooks> Session for HookedSession<'_, H> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.hooks.before_get(key, visitor);
        self.inner.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.puts == 0 {
            self.hooks.before_first_put();
        }
        self.puts += 1;
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
        self.hooks.after_commit(self.commits)
    }

    fn abort(&mut self) -> Result<()> {
        self.inner.abort()
    }

    fn flush_counters(&mut self) -> Result<()> {
        self.hooks.before_flush_counters();
        self.inner.flush_counters()
    }
}
