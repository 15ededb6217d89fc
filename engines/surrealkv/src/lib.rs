//! SurrealKV as a plug-in of trueput: a log-structured merge tree with optimistic transactions.

#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use surrealkv::{
    CompressionType, Durability, Error, LSMIterator, Options, ReadOptions, Transaction, Tree,
    TreeBuilder,
};
use tokio::runtime::Runtime;
use trueput_engine::{Database, Failure, FailureKind, Mode, Open, Range, Session, Value};

export_engine!(SurrealKv, "../description.json");

/// An open database.
pub struct SurrealKv {
    tree: Tree,
    options: Arc<Options>,
    durability: Durability,
    /// Runs SurrealKV's own tasks: the one that writes the log, flushes and compactions.
    runtime: Runtime,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        // Most errors keep only the text of the system's error.
        let is_full = text.contains("No space left on device");
        let kind = match error {
            Error::TransactionWriteConflict | Error::TransactionRetry => FailureKind::Conflict,
            Error::EmptyKey | Error::BatchTooLarge | Error::InvalidArgument(_) => {
                FailureKind::Unsupported
            }
            _ if is_full => FailureKind::Full,
            _ => FailureKind::Engine,
        };
        Failure::new(kind, text)
    }
}

/// The value of a described knob.
fn knob(open: &Open, name: &str) -> u64 {
    let value = open.integer(name).expect("the knob is described");
    u64::try_from(value).expect("the knob's minimum is not negative")
}

/// The options of a database, from the knobs.
fn options(open: &Open) -> Options {
    let size = |name| knob(open, name) as usize;
    let mut options = Options::new()
        .with_path(open.directory.clone())
        .with_block_cache_capacity(knob(open, "block_cache_capacity"))
        .with_max_memtable_size(size("max_memtable_size"))
        .with_memtable_stall_threshold(size("memtable_stall_threshold"))
        .with_l0_stall_threshold(size("l0_stall_threshold"))
        .with_target_file_size(knob(open, "target_file_size"))
        .with_block_size(size("block_size"))
        .with_wal_preallocation(open.boolean("wal_preallocation") == Some(true));
    options.level0_max_files = size("level0_max_files");
    options.max_bytes_for_level = knob(open, "max_bytes_for_level");
    let plain_levels = size("snappy_from_level");
    if plain_levels < usize::from(options.level_count) {
        let mut levels = vec![CompressionType::None; plain_levels];
        levels.push(CompressionType::SnappyCompression);
        options.compression_per_level = levels;
    }
    if size("vlog_value_threshold") > 0 {
        options = options
            .with_enable_vlog(true)
            .with_vlog_value_threshold(size("vlog_value_threshold"));
    }
    options
}

impl Database for SurrealKv {
    type Session<'d> = SurrealKvSession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let durability = match open.durability {
            trueput_engine::Durability::Sync => Durability::Immediate,
            trueput_engine::Durability::Async => Durability::Eventual,
            _ => {
                let text = "no such level of durability";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
        };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let threads = knob(open, "runtime_threads") as usize;
        if threads > 0 {
            builder.worker_threads(threads);
        }
        let runtime = builder.enable_time().build()?;
        let (tree, options) = {
            let _inside = runtime.enter();
            TreeBuilder::with_options(options(open)).build_with_options()?
        };
        Ok(Self {
            tree,
            options,
            durability,
            runtime,
        })
    }

    fn session(&self) -> Result<SurrealKvSession<'_>, Failure> {
        Ok(SurrealKvSession {
            database: self,
            scan: None,
            transaction: None,
            value: Vec::new(),
            is_write: false,
            is_backward: false,
            is_at_first: false,
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        Ok(self.tree.flush_wal(true)?)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let options = &self.options;
        let size = |size: usize| Value::Integer(size as i64);
        let threads = self.runtime.metrics().num_workers();
        vec![
            ("durability", Value::Text(format!("{:?}", self.durability))),
            ("max_memtable_size", size(options.max_memtable_size)),
            (
                "memtable_stall_threshold",
                size(options.memtable_stall_threshold),
            ),
            ("level0_max_files", size(options.level0_max_files)),
            ("l0_stall_threshold", size(options.l0_stall_threshold)),
            (
                "max_bytes_for_level",
                Value::Integer(options.max_bytes_for_level as i64),
            ),
            (
                "target_file_size",
                Value::Integer(options.target_file_size as i64),
            ),
            ("block_size", size(options.block_size)),
            (
                "compression_per_level",
                Value::Text(format!("{:?}", options.compression_per_level)),
            ),
            ("enable_vlog", Value::Boolean(options.enable_vlog)),
            ("vlog_value_threshold", size(options.vlog_value_threshold)),
            (
                "wal_recovery_mode",
                Value::Text(format!("{:?}", options.wal_recovery_mode)),
            ),
            ("runtime_threads", size(threads)),
        ]
    }

    fn counters(&self) -> Vec<(&'static str, Value)> {
        let errors = self.tree.background_error_count();
        vec![("background_error_count", Value::Integer(errors as i64))]
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.runtime.block_on(self.tree.close())?)
    }
}

/// One worker's session.
pub struct SurrealKvSession<'d> {
    database: &'d SurrealKv,
    /// The scan of the transaction below, before which it is dropped.
    scan: Option<Box<dyn LSMIterator>>,
    /// In a box, which keeps its address while the scan borrows it.
    transaction: Option<Box<Transaction>>,
    /// What a call returned.
    value: Vec<u8>,
    is_write: bool,
    is_backward: bool,
    /// The scan is at a record that was not returned.
    is_at_first: bool,
}

impl SurrealKvSession<'_> {
    fn transaction(&mut self) -> Result<&mut Transaction, Failure> {
        let none = || Failure::new(FailureKind::Engine, "no transaction is open");
        self.transaction.as_deref_mut().ok_or_else(none)
    }
}

/// The first key from a bound on; `after` is whether the bound's own key comes before it.
fn key_from(key: &[u8], after: bool) -> Vec<u8> {
    let mut from = key.to_vec();
    if after {
        from.push(0);
    }
    from
}

impl Session for SurrealKvSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        self.is_write = mode == Mode::Write;
        let mode = if self.is_write {
            surrealkv::Mode::ReadWrite
        } else {
            surrealkv::Mode::ReadOnly
        };
        let transaction = self.database.tree.begin_with_mode(mode)?;
        let transaction = transaction.with_durability(self.database.durability);
        self.transaction = Some(Box::new(transaction));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let Some(mut transaction) = self.transaction.take() else {
            return Ok(());
        };
        if self.is_write {
            self.database.runtime.block_on(transaction.commit())?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.transaction = None;
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        // SurrealKV refuses an empty key, which it never holds.
        if key.is_empty() {
            return Ok(None);
        }
        let Some(value) = self.transaction()?.get(key)? else {
            return Ok(None);
        };
        self.value = value;
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        Ok(self.transaction()?.set(key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        if key.is_empty() {
            return Ok(());
        }
        Ok(self.transaction()?.delete(key)?)
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        let mut options = ReadOptions::new();
        options.set_iterate_lower_bound(match range.lower {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(key_from(key, false)),
            Bound::Excluded(key) => Some(key_from(key, true)),
        });
        options.set_iterate_upper_bound(match range.upper {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(key_from(key, true)),
            Bound::Excluded(key) => Some(key_from(key, false)),
        });
        let scan: Box<dyn LSMIterator + '_> =
            Box::new(self.transaction()?.range_with_options(&options)?);
        // SAFETY: the scan borrows the transaction in its box. Until the scan is dropped, by
        // `end_scan` or before its session, the transaction is neither moved nor used.
        let mut scan: Box<dyn LSMIterator> = unsafe { std::mem::transmute(scan) };
        if range.is_backward {
            scan.seek_last()?;
        } else {
            scan.seek_first()?;
        }
        self.scan = Some(scan);
        (self.is_backward, self.is_at_first) = (range.is_backward, true);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(scan) = &mut self.scan else {
            return Ok(None);
        };
        match (self.is_at_first, self.is_backward) {
            (true, _) => self.is_at_first = false,
            (false, false) => _ = scan.next()?,
            (false, true) => _ = scan.prev()?,
        }
        if !scan.valid() {
            return Ok(None);
        }
        let value = match scan.value_ref()? {
            Cow::Borrowed(value) => value,
            Cow::Owned(value) => {
                self.value = value;
                &self.value
            }
        };
        Ok(Some((scan.key().user_key(), value)))
    }

    fn end_scan(&mut self) {
        self.scan = None;
    }
}
