//! The reference engine: an ordered map in memory, small enough to be verified by inspection.
//!
//! It is the control that the conformance suite must pass, and the base of deliberately broken
//! engines that the suite must fail. It is in no registry and is never measured: each write
//! transaction copies the whole map.
//!
//! One writer at a time; readers keep the map that was current when they began. The records are
//! written to a plain file at a checkpoint and when the database is closed, and a killed process
//! loses everything since, so its only level is `none`.

use crate::common_errors::{LengthLimits, already_open, no_transaction, write_in_read};
use crate::{
    Build, COMPILED_IN, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor,
    Result, Session, Value, ValueVisitor,
};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Longest key, bytes: low enough that the suite can go one beyond it.
pub const MAX_KEY_BYTES: usize = 1024;
/// Longest value, bytes: low enough that the suite can go one beyond it.
pub const MAX_VALUE_BYTES: usize = 512 * 1024;

const LIMITS: LengthLimits = LengthLimits::new(MAX_KEY_BYTES, MAX_VALUE_BYTES);
const SOURCE: &str = "crates/engine/src/reference.rs";

/// The reference engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reference;

impl Engine for Reference {
    fn info(&self) -> Info {
        Info {
            name: "reference",
            title: "reference",
            summary: "ordered map in memory: the conformance suite's control, never measured",
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
        Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        (durability == Durability::None)
            .then(|| Promise::new(durability, "written when closed", None, SOURCE))
            .ok_or_else(|| Error::no_durability(self.info().name, durability))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let path = spec.directory.join("records");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(Error::engine)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Unsupported(format!(
                    "{} is open already",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Error::engine(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::engine)?;
        let records = decode(&bytes)
            .ok_or_else(|| Error::engine(format!("{} is damaged", path.display())))?;
        Ok(Box::new(ReferenceDatabase {
            current: RwLock::new(Arc::new(records)),
            writer: Mutex::new(()),
            file: Mutex::new(file),
        }))
    }
}

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Encodes each record as the lengths of key and value, eight bytes each, then both.
fn encode(records: &Records) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in records {
        bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Decodes the output of [`encode`]; `None` for any other bytes.
fn decode(mut bytes: &[u8]) -> Option<Records> {
    let mut records = Records::new();
    while !bytes.is_empty() {
        let (key_length, rest) = bytes.split_first_chunk()?;
        let (value_length, rest) = rest.split_first_chunk()?;
        let (key, rest) =
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*key_length)).ok()?)?;
        let (value, rest) =
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*value_length)).ok()?)?;
        records.insert(key.to_vec(), value.to_vec());
        bytes = rest;
    }
    Some(records)
}

struct ReferenceDatabase {
    /// The map of the last commit. It is replaced, never changed.
    current: RwLock<Arc<Records>>,
    /// Held by the one write transaction.
    writer: Mutex<()>,
    file: Mutex<File>,
}

impl ReferenceDatabase {
    fn current(&self) -> Arc<Records> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn save(&self) -> std::io::Result<()> {
        let bytes = encode(&self.current());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(&bytes)
    }
}

impl Database for ReferenceDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ReferenceSession {
            store: self,
            open: None,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn checkpoint(&self) -> Result<()> {
        self.save().map_err(Error::engine)
    }
}

impl Drop for ReferenceDatabase {
    fn drop(&mut self) {
        // A drop cannot report. Who wants to know calls `checkpoint` first.
        let _ = self.save();
    }
}

struct ReferenceSession<'a> {
    store: &'a ReferenceDatabase,
    open: Option<ReferenceTransaction<'a>>,
}

struct ReferenceTransaction<'a> {
    records: Arc<Records>,
    /// The writer's lock; `None` in a read transaction.
    writer: Option<MutexGuard<'a, ()>>,
}

impl<'a> ReferenceSession<'a> {
    fn transaction(&self) -> Result<&ReferenceTransaction<'a>> {
        self.open.as_ref().ok_or_else(no_transaction)
    }

    fn records_to_write(&mut self) -> Result<&mut Records> {
        let transaction = self.open.as_mut().ok_or_else(no_transaction)?;
        if transaction.writer.is_none() {
            return Err(write_in_read());
        }
        Ok(Arc::make_mut(&mut transaction.records))
    }
}

impl Session for ReferenceSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.open.is_some() {
            return Err(already_open());
        }
        let lock = || {
            self.store
                .writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        // The lock comes before the map, or a writer would begin with a map that another is
        // replacing.
        let writer = (mode == Mode::Write).then(lock);
        self.open = Some(ReferenceTransaction {
            records: self.store.current(),
            writer,
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let value = self.transaction()?.records.get(key);
        if let Some(value) = value {
            visitor(value);
        }
        Ok(value.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let records = self.records_to_write()?;
        LIMITS.check(key, value)?;
        records.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.records_to_write()?.remove(key);
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let records = &self.transaction()?.records;
        if range.is_empty() {
            return Ok(0);
        }
        let mut records = records.range::<[u8], _>((range.lower, range.upper));
        let mut shown = 0;
        while let Some((key, value)) = match direction {
            Direction::Forward => records.next(),
            Direction::Backward => records.next_back(),
        } {
            shown += 1;
            if let ControlFlow::Break(()) = visitor(key, value) {
                break;
            }
        }
        Ok(shown)
    }

    fn commit(&mut self) -> Result<()> {
        let transaction = self.open.take().ok_or_else(no_transaction)?;
        if transaction.writer.is_some() {
            let mut current = self
                .store
                .current
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *current = transaction.records;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.open.take().map(|_| ()).ok_or_else(no_transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_from_the_file_that_they_were_written_to() {
        let records = Records::from([(vec![], vec![0; 300]), (b"key".to_vec(), vec![])]);
        assert_eq!(decode(&encode(&records)), Some(records));
    }

    #[test]
    fn a_torn_file_is_refused() {
        let whole = encode(&Records::from([(b"key".to_vec(), b"value".to_vec())]));
        for length in 1..whole.len() {
            assert_eq!(decode(&whole[..length]), None);
        }
    }

    #[test]
    fn a_database_that_is_open_is_not_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let spec = OpenSpec {
            directory: folder.path(),
            durability: Durability::None,
            knobs: &crate::ParameterValues::default(),
            sessions: 1,
        };
        let first = Reference.open(&spec).unwrap();
        assert!(matches!(Reference.open(&spec), Err(Error::Unsupported(_))));
        drop(first);
        assert!(Reference.open(&spec).is_ok());
    }
}
