//! The engine that does nothing, so that measuring it measures the harness.

use crate::common_errors::{require_closed, require_open, require_write};
use crate::{
    Build, COMPILED_IN, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor,
    Result, Session, Value, ValueVisitor,
};
use std::collections::BTreeMap;

/// Where its promise is stated.
const SOURCE: &str = "crates/engine/src/null.rs";

/// The null engine. It accepts every put and finds no key; it makes no promise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl Engine for Null {
    fn info(&self) -> Info {
        Info {
            name: "null",
            title: "null",
            summary: "keeps nothing: the harness's own cost",
            license: "MIT OR Apache-2.0",
            homepage: "docs/ENGINES.md",
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
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            retains_data: false,
            atomic_transactions: false,
            snapshot_reads: false,
            batch_get: false,
            conditional_put: false,
            bulk_load: false,
            max_key_bytes: usize::MAX,
            max_value_bytes: usize::MAX,
        }
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        (durability == Durability::None)
            .then(|| Promise::new(durability, "nothing is kept", None, SOURCE))
            .ok_or_else(|| Error::no_durability(self.info().name, durability))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // Without data there is nothing to isolate.
        None
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        Ok(Box::new(NullDatabase))
    }
}

struct NullDatabase;

impl Database for NullDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(NullSession { open: None }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

/// A session with the minimum state of the contract: whether a transaction is open.
struct NullSession {
    open: Option<Mode>,
}

impl NullSession {
    fn end(&mut self) -> Result<()> {
        require_open(self.open.take()).map(drop)
    }
}

impl Session for NullSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        require_closed(self.open)?;
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], _visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        std::hint::black_box(key);
        require_open(self.open)?;
        Ok(false)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        std::hint::black_box((key, value));
        require_write(self.open)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        std::hint::black_box(key);
        require_write(self.open)
    }

    fn scan(
        &mut self,
        _range: KeyRange<'_>,
        _direction: Direction,
        _visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        require_open(self.open)?;
        Ok(0)
    }

    fn commit(&mut self) -> Result<()> {
        self.end()
    }

    fn abort(&mut self) -> Result<()> {
        self.end()
    }
}
