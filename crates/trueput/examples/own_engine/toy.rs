//! A driver to learn from: the engine is an ordered map in memory.
//!
//! Whoever begins a transaction holds the whole map until it ends, so transactions take turns and a
//! reader sees one state. What a write transaction replaces is remembered, so that it can be put
//! back.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use trueput_engine::common_errors::{LengthLimits, no_transaction, require_closed, require_write};
use trueput_engine::{
    Build, COMPILED_IN, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor,
    Result, Session, Value, ValueVisitor, parameters,
};

/// The toy engine's driver.
#[derive(Debug, Clone, Copy, Default)]
pub struct Toy;

const LIMITS: LengthLimits = LengthLimits::new(511, 64 << 10);

parameters! {
    /// The knobs.
    struct ToyKnobs {
        /// The most records that it takes.
        capacity: Integer<usize> = 1_000_000 in 1.., unit "records", cost "more: memory",
    }
}

/// The records, shared by all who have the database open.
type Records = Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>;

/// The "disk" of this engine: what was in a folder's database lives as long as the process.
static DATABASES: LazyLock<Mutex<HashMap<PathBuf, Records>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine for Toy {
    fn info(&self) -> Info {
        Info {
            name: "toy",
            title: "toy",
            summary: "ordered map in memory, to learn from",
            license: "MIT OR Apache-2.0",
            homepage: "docs/ADDING_AN_ENGINE.md",
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
        Capabilities::transactional(LIMITS.key_bytes, LIMITS.value_bytes)
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        if durability == Durability::None {
            let source = "crates/trueput/examples/own_engine/toy.rs";
            Ok(Promise::new(durability, "memory only", None, source))
        } else {
            Err(Error::no_durability(self.info().name, durability))
        }
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        ToyKnobs::PARAMETERS
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        if self.promise(spec.durability).is_none() {
            return Err(Error::no_durability(self.info().name, spec.durability));
        }
        let capacity = ToyKnobs::from(spec.knobs).capacity;
        let mut databases = lock(&DATABASES);
        let records = databases.entry(spec.directory.to_owned()).or_default();
        Ok(Box::new(ToyDatabase {
            records: Arc::clone(records),
            capacity,
        }))
    }
}

struct ToyDatabase {
    records: Records,
    capacity: usize,
}

impl Database for ToyDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ToySession {
            database: self,
            open: None,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let count = lock(&self.records).len() as u64;
        Ok(BTreeMap::from([("records".to_owned(), Value::from(count))]))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::from([(
            "capacity".to_owned(),
            Value::from(self.capacity as u64),
        )]))
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

struct ToySession<'db> {
    database: &'db ToyDatabase,
    open: Option<Transaction<'db>>,
}

struct Transaction<'db> {
    mode: Mode,
    records: MutexGuard<'db, BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Each key written and its value before, in the order of the writes.
    replaced: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl<'db> ToySession<'db> {
    fn transaction(&mut self) -> Result<&mut Transaction<'db>> {
        self.open.as_mut().ok_or_else(no_transaction)
    }

    fn writing(&mut self) -> Result<&mut Transaction<'db>> {
        let mode = self.open.as_ref().map(|transaction| transaction.mode);
        require_write(mode)?;
        self.transaction()
    }
}

impl Session for ToySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        require_closed(self.open.as_ref().map(|transaction| transaction.mode))?;
        let records = lock(&self.database.records);
        self.open = Some(Transaction {
            mode,
            records,
            replaced: Vec::new(),
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let found = self.transaction()?.records.get(key);
        if let Some(value) = found {
            visitor(value);
        }
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let capacity = self.database.capacity;
        let transaction = self.writing()?;
        LIMITS.check(key, value)?;
        if transaction.records.len() >= capacity && !transaction.records.contains_key(key) {
            return Err(Error::Full(format!("toy: {capacity} records are the most")));
        }
        let before = transaction.records.insert(key.to_vec(), value.to_vec());
        transaction.replaced.push((key.to_vec(), before));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let transaction = self.writing()?;
        let before = transaction.records.remove(key);
        transaction.replaced.push((key.to_vec(), before));
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let transaction = self.transaction()?;
        // The standard library panics on reversed bounds; so do several engines.
        if range.is_empty() {
            return Ok(0);
        }
        let mut records = transaction
            .records
            .range::<[u8], _>((range.lower, range.upper));
        let mut shown = 0;
        loop {
            let record = match direction {
                Direction::Forward => records.next(),
                Direction::Backward => records.next_back(),
            };
            let Some((key, value)) = record else {
                return Ok(shown);
            };
            shown += 1;
            if visitor(key, value).is_break() {
                return Ok(shown);
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.transaction()?;
        self.open = None;
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        let transaction = self.transaction()?;
        while let Some((key, before)) = transaction.replaced.pop() {
            match before {
                Some(value) => transaction.records.insert(key, value),
                None => transaction.records.remove(&key),
            };
        }
        self.open = None;
        Ok(())
    }
}

impl Drop for ToySession<'_> {
    /// A session that goes away in the middle of a transaction has not committed it.
    fn drop(&mut self) {
        if self.open.is_some() {
            // It only answers that no transaction is open, and one is.
            let _ = self.abort();
        }
    }
}
