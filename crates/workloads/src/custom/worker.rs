//! One worker's share: transactions of one or several operations.
//!
//! Nothing here allocates, formats or locks between two transactions, except to report an error.

use super::config::CustomConfig;
use super::mix::{MAX_STEPS, Step, Transaction};
use super::transaction_stream::{PlannedStep, TransactionStream};
use crate::generate::value::Values;
use crate::keyed::draws::RecordLengths;
use crate::keyed::expected_state::{ReplayableJob, worker_findings};
use crate::keyed::load::FIRST_VERSION;
use crate::keyed::read_check::RecordState;
use crate::keyed::record_reader::{GET, POINT_READ, RecordReader};
use crate::keyed::transaction::retry;
use crate::keyed::units::run_units;
use crate::keyed::write_tracker::{PendingWrite, WriteTable, version, version_parts};
use crate::{JobTask, Result, WorkerFindings};
use trueput_engine::{Mode, Result as EngineResult, Session};

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w CustomConfig,
    stream: TransactionStream,
    reader: RecordReader<'w, RecordLengths>,
    /// Whether a write bears the number after the one that it read.
    counts_writes: bool,
    generation: u32,
    /// The writes of the current transaction, by operation; only of loaded records.
    writes: [Option<PendingWrite>; MAX_STEPS],
    /// Transactions done, including the warm-up.
    done: u64,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w CustomConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Result<Self> {
        let (seed, generation) = (task.seed, task.generation);
        let maker = config.maker_of(values, seed);
        let most_records = config.mix.iter().map(Transaction::records).max();
        Ok(Self {
            config,
            stream: config.stream(seed, generation, task.worker, task.workers)?,
            reader: RecordReader::new(config, maker, table, task, most_records.unwrap_or(0)),
            counts_writes: config.counts_writes(),
            generation,
            writes: [None; MAX_STEPS],
            done: 0,
        })
    }

    /// Does the share.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let quota = self.config.quota(task.worker, task.workers);
        let mut thinks = false;
        run_units(task, quota, |task, _| {
            // The time between two transactions is part of no latency.
            if thinks {
                let mark = task.meter.timestamp();
                if !task.meter.wait_since(mark, self.config.think_ns) {
                    return Ok(0);
                }
                task.meter.start();
            }
            thinks = self.config.think_ns > 0;
            let kind = self.stream.next_transaction();
            self.transact(task)?;
            if self.reader.lacks_record {
                task.meter.not_found(kind);
            }
            task.meter.finish(kind);
            task.meter.finish_unit(kind);
            self.done += 1;
            Ok(1)
        })?;
        let RecordReader { reads, tracker, .. } = self.reader;
        Ok(worker_findings(task, self.done, &reads, tracker))
    }

    fn transact(&mut self, task: &mut JobTask<'_>) -> Result<()> {
        self.begin_writes();
        let covered = self.stream.steps().iter();
        let covered = covered.map(|it| (it.item, it.step.records()));
        self.reader.note_floors(covered);
        let reads = self.reader.reads;
        match *self.stream.steps() {
            [
                PlannedStep {
                    step: Step::Get,
                    item,
                    exists,
                },
            ] => {
                let (session, meter) = (&mut *task.session, &mut *task.meter);
                retry(meter, doing, |_| {
                    self.reader.restart(reads);
                    self.reader.read(session, POINT_READ, (item, exists), 0)
                })?;
            }
            _ => {
                let writes = self.stream.steps().iter().any(|it| it.step.writes());
                let mode = if writes { Mode::Write } else { Mode::Read };
                task.transact(mode, doing, |session, _| {
                    self.reader.restart(reads);
                    self.attempt(session)
                })?;
            }
        }
        for write in self.writes.iter_mut().filter_map(Option::take) {
            self.reader.lacks_record |= !self.reader.tracker.complete_write(write);
        }
        Ok(())
    }

    /// Begins the writes of the transaction, before it does.
    fn begin_writes(&mut self) {
        for (write, planned) in self.writes.iter_mut().zip(self.stream.steps()) {
            if planned.step.mutates() {
                let deletes = planned.step == Step::Delete;
                *write = Some(self.reader.tracker.begin_write(planned.item, deletes));
            }
        }
    }

    /// Does the operations of the transaction, once.
    fn attempt(&mut self, session: &mut dyn Session) -> EngineResult<()> {
        // The place of the operation's floors.
        let mut floor = 0;
        for index in 0..self.stream.steps().len() {
            let PlannedStep { step, item, exists } = self.stream.steps()[index];
            match step {
                Step::Get => {
                    self.reader.read(session, GET, (item, exists), floor)?;
                }
                Step::Put => self.put(session, item, self.own_version(index))?,
                Step::Update => self.update(session, index, item, floor)?,
                Step::ReadModifyWrite => {
                    self.reader.read(session, GET, (item, exists), floor)?;
                    self.update(session, index, item, floor)?;
                }
                Step::Insert => self.put(session, item, FIRST_VERSION)?,
                Step::Delete => {
                    session.delete(self.reader.maker.key(item))?;
                    self.reader.lacks_record |= !exists;
                }
                Step::Scan(records) => self.reader.scan(session, item, records, floor)?,
            }
            floor += step.records() as usize;
        }
        Ok(())
    }

    /// The version of a write that does not depend on what it read.
    fn own_version(&self, index: usize) -> u32 {
        self.writes[index].map_or(FIRST_VERSION, |write| self.reader.tracker.version(write))
    }

    fn update(
        &mut self,
        session: &mut dyn Session,
        index: usize,
        item: u64,
        floor: usize,
    ) -> EngineResult<()> {
        let state = self.reader.read(session, GET, (item, true), floor)?;
        let version = match state {
            _ if !self.counts_writes => self.own_version(index),
            RecordState::Version(read) => match version_parts(read) {
                (generation, number) if generation == self.generation => {
                    version(generation, number + 1)
                }
                _ => version(self.generation, 1),
            },
            _ => version(self.generation, 1),
        };
        self.put(session, item, version)
    }

    fn put(&mut self, session: &mut dyn Session, item: u64, version: u32) -> EngineResult<()> {
        let (key, value) = self.reader.maker.make(item, version);
        session.put(key, value)
    }
}

/// Describes a transaction, for an error's text.
fn doing() -> String {
    "doing a transaction".to_owned()
}
