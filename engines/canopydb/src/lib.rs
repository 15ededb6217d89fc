//! canopydb as a plug-in of trueput: one database with one tree.

#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use canopydb::{Bytes, DbOptions, EnvOptions, Error, RangeIter, ReadTransaction, Transaction};
use canopydb::{Tree, TreeOptions, WriteTransaction};
use std::fs::File;
use std::mem::transmute;
use std::ops::{Bound, Deref};
use std::time::Duration;
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(Canopy, "../description.json");

const TREE: &[u8] = b"records";

/// A failure of canopydb, in the terms of trueput.
fn failed(error: Error) -> Failure {
    match error {
        Error::Io(error) | Error::FatalIo(error) => error.into(),
        Error::WriteConflict => Failure::new(FailureKind::Conflict, error.to_string()),
        Error::Validation(text) => Failure::new(FailureKind::Unsupported, *text),
        other => Failure::new(FailureKind::Engine, other.to_string()),
    }
}

/// An open database.
pub struct Canopy {
    db: canopydb::Database,
    env_options: EnvOptions,
    db_options: DbOptions,
    tree_options: TreeOptions,
}

/// The options that the level and the knobs make.
fn options(open: &Open) -> Result<(EnvOptions, DbOptions, TreeOptions), Failure> {
    let size = |name| open.integer(name).unwrap_or(0) as usize;
    let mut env = EnvOptions::new(&open.directory);
    let mut db = DbOptions::new();
    let mut tree = TreeOptions::new();
    match open.durability {
        Durability::Sync => db.default_commit_sync = true,
        Durability::Async => {}
        Durability::Process => env.disable_fsync = true,
        Durability::Buffered | Durability::None => {
            let text = "no such level of durability";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
    }
    env.page_cache_size = size("page_cache_size");
    env.use_checksums = open.boolean("use_checksums") == Some(true);
    env.max_wal_size = size("max_wal_size") as u64;
    env.wal_write_batch_memory_limit = size("wal_write_batch_memory_limit");
    let interval = size("wal_background_sync_interval_ms") as u64;
    env.wal_background_sync_interval = (interval > 0).then(|| Duration::from_millis(interval));
    db.checkpoint_interval = Duration::from_secs(size("checkpoint_interval_s") as u64);
    db.checkpoint_target_size = size("checkpoint_target_size");
    db.write_txn_memory_limit = size("write_txn_memory_limit");
    db.throttle_memory_limit = size("throttle_memory_limit");
    db.stall_memory_limit = size("stall_memory_limit");
    let above = size("compress_overflow_values") as u32;
    tree.compress_overflow_values = (above > 0).then_some(above);
    Ok((env, db, tree))
}

impl Database for Canopy {
    type Session<'d> = CanopySession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let (env_options, db_options, tree_options) = options(open)?;
        let with = (env_options.clone(), db_options.clone());
        let db = canopydb::Database::with_options(with.0, with.1).map_err(failed)?;
        let opened = Self {
            db,
            env_options,
            db_options,
            tree_options,
        };
        opened.create_tree().map_err(failed)?;
        // canopydb flushes the folder of a database, and not the one that has it.
        File::open(&open.directory)?.sync_all()?;
        Ok(opened)
    }

    fn session(&self) -> Result<CanopySession<'_>, Failure> {
        Ok(CanopySession {
            database: self,
            running: Box::default(),
            is_backward: false,
            value: None,
            record: None,
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.db.checkpoint().map_err(failed)
    }

    /// canopydb does not report its options: these are what it was given.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        let (env, db) = (&self.env_options, &self.db_options);
        let size = |number: usize| Value::Integer(number as i64);
        let interval = env.wal_background_sync_interval.unwrap_or_default();
        vec![
            (
                "default_commit_sync",
                Value::Boolean(db.default_commit_sync),
            ),
            ("disable_fsync", Value::Boolean(env.disable_fsync)),
            (
                "wal_background_sync_interval",
                Value::Real(interval.as_secs_f64()),
            ),
            ("page_cache_size", size(env.page_cache_size)),
            ("checkpoint_target_size", size(db.checkpoint_target_size)),
            (
                "checkpoint_interval",
                Value::Real(db.checkpoint_interval.as_secs_f64()),
            ),
        ]
    }
}

impl Canopy {
    /// Creates the tree if it does not exist, and brings it to storage.
    fn create_tree(&self) -> Result<(), Error> {
        let reader = self.db.begin_read()?;
        if reader.get_tree(TREE)?.is_some() {
            return Ok(());
        }
        drop(reader);
        let writer = self.db.begin_write()?;
        drop(writer.get_or_create_tree_with(TREE, self.tree_options.clone())?);
        writer.commit()?;
        self.db.checkpoint()
    }
}

/// A transaction of either kind.
enum Either {
    Read(ReadTransaction),
    Write(WriteTransaction),
}

impl Deref for Either {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        match self {
            Self::Read(reader) => reader,
            Self::Write(writer) => writer,
        }
    }
}

/// What a session has open. Each field borrows from the one below it, and is dropped before it. The
/// box that has them does not move them.
#[derive(Default)]
struct Running {
    scan: Option<RangeIter<'static>>,
    tree: Option<Tree<'static>>,
    transaction: Option<Either>,
}

impl Running {
    fn begin(&mut self, transaction: Either) -> Result<(), Failure> {
        self.end();
        let transaction: &Transaction = self.transaction.insert(transaction);
        let tree = transaction.get_tree(TREE).map_err(failed)?;
        // SAFETY: `end` drops the tree before the transaction, and nothing else replaces either.
        self.tree = unsafe { transmute::<Option<Tree<'_>>, Option<Tree<'static>>>(tree) };
        Ok(())
    }

    /// Ends the scan and the tree, and returns the transaction.
    fn end(&mut self) -> Option<Either> {
        self.scan = None;
        self.tree = None;
        self.transaction.take()
    }

    fn tree(&mut self) -> Result<&mut Tree<'static>, Failure> {
        let missing = || Failure::new(FailureKind::Engine, "the tree is missing");
        self.tree.as_mut().ok_or_else(missing)
    }
}

/// One worker's session.
pub struct CanopySession<'d> {
    database: &'d Canopy,
    running: Box<Running>,
    is_backward: bool,
    /// What the last `get` returned.
    value: Option<Bytes>,
    /// What the last `next` returned.
    record: Option<(Bytes, Bytes)>,
}

impl CanopySession<'_> {
    /// What a session returned refers to a page. canopydb panics if it changes such a page.
    fn forget(&mut self) {
        self.value = None;
        self.record = None;
    }
}

impl Session for CanopySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        let db = &self.database.db;
        let transaction = match mode {
            Mode::Read => db.begin_read().map(Either::Read),
            Mode::Write => db.begin_write().map(Either::Write),
        };
        let begun = self.running.begin(transaction.map_err(failed)?);
        if begun.is_err() {
            self.running.end();
        }
        begun
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.forget();
        if let Some(Either::Write(writer)) = self.running.end() {
            writer.commit().map_err(failed)?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.forget();
        if let Some(Either::Write(writer)) = self.running.end() {
            writer.rollback().map_err(failed)?;
        }
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        self.value = self.running.tree()?.get(key).map_err(failed)?;
        Ok(self.value.as_deref())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.forget();
        self.running.tree()?.insert(key, value).map_err(failed)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.forget();
        self.running.tree()?.delete(key).map_err(failed)?;
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (range.lower, range.upper);
        self.is_backward = range.is_backward;
        let scan = self
            .running
            .tree()?
            .range::<&[u8]>(bounds)
            .map_err(failed)?;
        // SAFETY: the scan ends before its tree, and no call comes before its end.
        let scan = unsafe { transmute::<RangeIter<'_>, RangeIter<'static>>(scan) };
        self.running.scan = Some(scan);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(scan) = &mut self.running.scan else {
            return Ok(None);
        };
        let next = if self.is_backward {
            scan.next_back()
        } else {
            scan.next()
        };
        self.record = next.transpose().map_err(failed)?;
        let record = self.record.as_ref();
        Ok(record.map(|(key, value)| (key.as_ref(), value.as_ref())))
    }

    fn end_scan(&mut self) {
        self.running.scan = None;
    }
}
