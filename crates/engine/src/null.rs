//! The engine that does nothing, so that measuring it measures the harness.

use crate::{
    Build, COMPILED_IN, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor,
    Result, Session, Value, ValueVisitor,
};
use std::collections::BTreeMap;

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
            max_key_bytes: usize::MAX,
            max_value_bytes: usize::MAX,
        }
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        (durability == Durability::None)
            .then(|| Promise {
                durability,
                mapped_to: "nothing is kept".to_owned(),
                window: None,
                source: "crates/engine/src/null.rs".to_owned(),
                cluster: None,
                doubt: None,
            })
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
        if spec.durability == Durability::None {
            Ok(Box::new(NullDatabase))
        } else {
            Err(Error::Unsupported(format!(
                "null does not support durability '{}'",
                spec.durability
            )))
        }
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
    fn require_write_transaction(&self) -> Result<()> {
        match self.open {
            Some(Mode::Write) => Ok(()),
            Some(Mode::Read) => Err(Error::Unsupported(
                "a write in a read transaction".to_owned(),
            )),
            None => Err(no_transaction()),
        }
    }

    fn end(&mut self) -> Result<()> {
        self.open.take().map(|_| ()).ok_or_else(no_transaction)
    }
}

fn no_transaction() -> Error {
    Error::Unsupported("no transaction is open".to_owned())
}

impl Session for NullSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.open.is_some() {
            return Err(Error::Unsupported(
                "a transaction is open already".to_owned(),
            ));
        }
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], _visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        std::hint::black_box(key);
        if self.open.is_none() {
            return Err(no_transaction());
        }
        Ok(false)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        std::hint::black_box((key, value));
        self.require_write_transaction()
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        std::hint::black_box(key);
        self.require_write_transaction()
    }

    fn scan(
        &mut self,
        _range: KeyRange<'_>,
        _direction: Direction,
        _visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        if self.open.is_none() {
            return Err(no_transaction());
        }
        Ok(0)
    }

    fn commit(&mut self) -> Result<()> {
        self.end()
    }

    fn abort(&mut self) -> Result<()> {
        self.end()
    }
}
