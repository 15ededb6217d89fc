//! @NAME@: a storage engine as a plug-in of trueput. `store.rs` is the store: replace it by yours.
//! This file is between it and trueput.

mod store;
mod trueput_engine;

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Log, Node, Tree};
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(MyDatabase, "../description.json");

/// An open database.
pub struct MyDatabase {
    is_sync: bool,
    log_step: u64,
    /// Held by the one write transaction.
    log: Mutex<Log>,
    /// The tree of the last commit.
    root: Mutex<Tree>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database for MyDatabase {
    type Session<'d> = MySession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let is_sync = match open.durability {
            Durability::Sync => true,
            Durability::Process => false,
            _ => {
                let text = "no such level of durability";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
        };
        let step = open.integer("log_step").unwrap_or(0);
        let log_step = u64::try_from(step).unwrap_or(0);
        let (log, root) = Log::open(&open.directory, is_sync, log_step)?;
        Ok(Self {
            is_sync,
            log_step,
            log: Mutex::new(log),
            root: Mutex::new(root),
        })
    }

    fn session(&self) -> Result<MySession<'_>, Failure> {
        Ok(MySession {
            database: self,
            log: None,
            root: None,
            changes: Vec::new(),
            at: None,
            end: Bound::Unbounded,
            is_backward: false,
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        Ok(locked(&self.log).flush()?)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let flush = if self.is_sync { "each commit" } else { "none" };
        vec![
            ("fdatasync", Value::Text(flush.to_owned())),
            ("log_step", Value::Integer(self.log_step as i64)),
        ]
    }
}

/// One worker's session.
pub struct MySession<'d> {
    database: &'d MyDatabase,
    /// The log, in a write transaction.
    log: Option<MutexGuard<'d, Log>>,
    root: Tree,
    changes: Vec<u8>,
    /// Where a scan goes on.
    at: Option<Arc<Node>>,
    end: Bound<Vec<u8>>,
    is_backward: bool,
}

impl MySession<'_> {
    /// The record if it is before the scan's other end.
    fn within(&self, node: Option<Arc<Node>>) -> Option<Arc<Node>> {
        let is_inside = |key: &[u8]| match &self.end {
            Bound::Unbounded => true,
            Bound::Included(end) if self.is_backward => end.as_slice() <= key,
            Bound::Excluded(end) if self.is_backward => end.as_slice() < key,
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
        };
        node.filter(|node| is_inside(&node.key))
    }
}

impl Session for MySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        self.log = (mode == Mode::Write).then(|| locked(&self.database.log));
        self.root = locked(&self.database.root).clone();
        self.changes.clear();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let root = self.root.take();
        if let Some(mut log) = self.log.take()
            && !self.changes.is_empty()
        {
            log.append(&self.changes)?;
            *locked(&self.database.root) = root;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        (self.root, self.log) = (None, None);
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let found = store::find(&self.root, key);
        Ok(found.map(|node| node.value.as_slice()))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        store::append_change(&mut self.changes, b'P', key, value);
        self.root = Some(store::insert(&self.root, Node::new(key, value)));
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        if store::find(&self.root, key).is_some() {
            store::append_change(&mut self.changes, b'D', key, &[]);
            self.root = store::remove(&self.root, key);
        }
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        let (from, end) = if range.is_backward {
            (range.upper, range.lower)
        } else {
            (range.lower, range.upper)
        };
        self.is_backward = range.is_backward;
        self.end = end.map(<[u8]>::to_vec);
        let first = store::first(&self.root, from, range.is_backward);
        self.at = self.within(first);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(node) = self.at.take() else {
            return Ok(None);
        };
        let after = Bound::Excluded(node.key.as_slice());
        let next = store::first(&self.root, after, self.is_backward);
        self.at = self.within(next);
        // The transaction's tree has the node until the transaction ends.
        let node = store::find(&self.root, &node.key);
        Ok(node.map(|node| (node.key.as_slice(), node.value.as_slice())))
    }

    fn end_scan(&mut self) {
        self.at = None;
    }
}
