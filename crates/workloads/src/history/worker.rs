//! The measured work: random transactions, each recorded with its begin, its end and its outcome.
//!
//! Nothing here allocates, locks or formats between two transactions, except to report an error.

use super::config::{
    Access, HistoryConfig, HistoryOperation, KEY_BYTES, RECORDED, UNRECORDED, write_key,
};
use super::transactions::{History, Operation, OperationKind, Outcome};
use super::version::{Key, ValueBuffer, Version};
use crate::generate::random::Random;
use crate::keyed::kinds::operation_kinds;
use crate::keyed::scan::scan_first;
use crate::keyed::units::run_units;
use crate::{Error, ErrorContext, JobTask, Result};
use std::ops::Bound;
use trueput_engine::{Error as EngineError, KeyRange, Mode, Result as EngineResult, Session};

operation_kinds! {
    /// A kind of transaction. The first one ranks contenders.
    enum Kind {
        /// A transaction that wrote.
        Update = "update",
        /// A transaction that only read.
        Read = "read",
    }
}

/// The pause before a transaction is tried after the connection was lost, nanoseconds.
const RECONNECT_PAUSE_NS: u64 = 10_000_000;

/// Attempts in a row that find no connection before the worker fails: a minute.
const MAX_RECONNECTS: u32 = 6_000;

/// A key in use.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// How many keys were here before.
    generation: u32,
    /// The most writes of the key that the worker knows of.
    writes: u64,
}

/// One worker: its state, and memory that was allocated before the first transaction.
pub(super) struct Worker<'w> {
    config: &'w HistoryConfig,
    random: Random,
    worker: u32,
    history: History,
    /// Whether the transaction is recorded.
    is_recorded: bool,
    /// Keys in use; those of transactions that are not recorded follow.
    slots: Vec<Slot>,
    plan: Vec<HistoryOperation>,
    value: ValueBuffer,
    /// Versions written so far.
    writes: u64,
    /// Attempts in a row that found no connection.
    disconnections: u32,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub fn new(config: &'w HistoryConfig, task: &JobTask<'_>) -> Self {
        let checks = task.verifies_reads();
        let recorded = config.recorded_by(task.worker, task.workers);
        let recorded = if checks { recorded } else { 0 };
        // As many as a transaction has on average if each of them reads and writes.
        let operations = recorded.saturating_mul(config.operations as usize + 1);
        let planned = HistoryOperation {
            slot: 0,
            access: Access::Get,
        };
        Self {
            config,
            random: Random::for_worker(task.seed, task.worker, "history"),
            worker: task.worker,
            history: History::with_room(recorded, operations + config.recorded_operations()),
            is_recorded: false,
            slots: vec![Slot::default(); 2 * config.keys as usize],
            plan: vec![planned; config.operations as usize],
            value: ValueBuffer::new(config.model, config.key_writes),
            writes: 0,
            disconnections: 0,
        }
    }

    /// Does the worker's share, and returns what it recorded.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts and lost connections; a stop by the user.
    pub fn run(mut self, task: &mut JobTask<'_>) -> Result<History> {
        let quota = self.config.quota(task.worker, task.workers);
        run_units(task, quota, |task, _| {
            let count = self.config.plan(&mut self.random, &mut self.plan).len();
            let Some(kind) = self.transact(task, count)? else {
                return Ok(0);
            };
            task.meter.finish(kind as usize);
            task.meter.finish_unit(kind as usize);
            Ok(1)
        })?;
        Ok(self.history)
    }

    /// Makes attempts until one commits; `None` if the time is up before. Each attempt is a
    /// transaction of the history, with versions of its own.
    fn transact(&mut self, task: &mut JobTask<'_>, count: usize) -> Result<Option<Kind>> {
        loop {
            self.is_recorded = self.history.has_room(self.config.recorded_operations());
            if self.is_recorded {
                self.history.begin(self.worker, task.meter.monotonic_ns());
            }
            let attempted = self.attempt(task.session, count);
            let outcome = match &attempted {
                Ok(_) => Outcome::Committed,
                Err((EngineError::Disconnected(_), Step::Commit)) => Outcome::Unknown,
                Err(_) => Outcome::Aborted,
            };
            if self.is_recorded {
                self.history.end(outcome, task.meter.monotonic_ns());
            } else {
                self.history.unrecorded += 1;
            }
            let error = match attempted {
                Ok(kind) => {
                    self.disconnections = 0;
                    return Ok(Some(kind));
                }
                Err((error, _)) => error,
            };
            if error.is_conflict() {
                task.meter.conflict(&error);
                if task.meter.is_stopped() {
                    return Err(Error::Stopped);
                }
            } else if error.is_disconnection() && self.disconnections < MAX_RECONNECTS {
                self.disconnections += 1;
                let mark = task.meter.timestamp();
                if !task.meter.wait_since(mark, RECONNECT_PAUSE_NS) {
                    return Ok(None);
                }
            } else {
                return Err(error).context(|| "a transaction".to_owned());
            }
        }
    }

    /// Does one transaction.
    fn attempt(
        &mut self,
        session: &mut dyn Session,
        count: usize,
    ) -> Result<Kind, (EngineError, Step)> {
        let writes = self.plan[..count].iter().any(|one| one.access.is_write());
        let mode = if writes { Mode::Write } else { Mode::Read };
        session.begin(mode).map_err(|error| (error, Step::Before))?;
        let mut kind = Kind::Read;
        for at in 0..count {
            match self.operate(session, self.plan[at]) {
                Ok(true) => kind = Kind::Update,
                Ok(false) => {}
                Err(error) => {
                    // The first error says more than an error of the abort.
                    let _ = session.abort();
                    return Err((error, Step::Before));
                }
            }
        }
        session.commit().map_err(|error| (error, Step::Commit))?;
        Ok(kind)
    }

    /// Does one operation; returns whether it wrote.
    fn operate(
        &mut self,
        session: &mut dyn Session,
        planned: HistoryOperation,
    ) -> EngineResult<bool> {
        let family = if self.is_recorded {
            RECORDED
        } else {
            UNRECORDED
        };
        let place = planned.slot + usize::from(!self.is_recorded) * self.config.keys as usize;
        let key = self.key(planned.slot, place);
        let mut bytes = [0; KEY_BYTES];
        write_key(family, key, &mut bytes);
        if planned.access != Access::Overwrite {
            self.read(session, planned.access, key, &bytes)?;
            self.slots[place].writes = self.slots[place].writes.max(self.value.writes());
        }
        let slot = &mut self.slots[place];
        if slot.writes >= self.config.key_writes.into() {
            // The key is full: the next operation in this place uses another one.
            *slot = Slot {
                generation: slot.generation.wrapping_add(1),
                writes: 0,
            };
            return Ok(false);
        }
        if !planned.access.is_write() {
            return Ok(false);
        }
        let version = Version::new(self.worker, self.writes);
        self.writes += 1;
        let written = session.put(&bytes, self.value.write(version, slot.writes));
        slot.writes = slot.writes.max(self.value.writes());
        self.record(OperationKind::Write, key);
        written.map(|()| true)
    }

    /// Reads a key into the buffer.
    fn read(
        &mut self,
        session: &mut dyn Session,
        access: Access,
        key: Key,
        bytes: &[u8],
    ) -> EngineResult<()> {
        let value = &mut self.value;
        value.clear();
        if access == Access::Scan {
            let range = KeyRange {
                lower: Bound::Included(bytes),
                upper: Bound::Included(bytes),
            };
            scan_first(session, range, 1, |_, found| value.set(found))?;
        } else {
            session.get(bytes, &mut |found| value.set(found))?;
        }
        self.record(OperationKind::Read, key);
        Ok(())
    }

    /// Records an operation on the value in the buffer.
    fn record(&mut self, kind: OperationKind, key: Key) {
        if self.is_recorded {
            let (version, digest) = self.value.identify(key);
            self.history.add(Operation {
                kind,
                key,
                version,
                digest,
            });
        }
    }

    /// Returns the key in use at a place.
    fn key(&self, slot: usize, place: usize) -> Key {
        let generation = self.slots[place].generation;
        generation
            .wrapping_mul(self.config.keys)
            .wrapping_add(slot as u32)
    }
}

/// The step of a transaction that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// One before the commit: the transaction has no effect.
    Before,
    /// The commit.
    Commit,
}
