//! The measured work: look-ups and writes of single records. Passes and scans are in `scan`,
//! look-ups of several in `multi_read`.
//!
//! Nothing here allocates, formats or locks between two operations, except to report an error.

use super::bulk_load;
use super::conditional_puts::own_version;
use super::config::{MicroConfig, Test, WorkerRole};
use super::kinds::Kind;
use super::large_values;
use super::multi_read;
use super::operation_stream::{MicroOperation, Operation, OperationStream};
use super::scan;
use super::worker::{Worker, reading, writing};
use crate::generate::value::Values;
use crate::keyed::rate_limiter::RateLimiter;
use crate::keyed::read_check::{ReadFault, ReadValidator, RecordState};
use crate::keyed::units::run_units;
use crate::keyed::versions::FIRST_VERSION;
use crate::keyed::write_tracker::{PendingWrite, WriteTable};
use crate::{JobTask, Result, WorkerFindings};
use std::hint::black_box;
use trueput_engine::{Mode, Result as EngineResult};

/// Does one worker's share.
///
/// # Errors
/// Errors of the engine, except conflicts; a stop by the user.
pub(super) fn run(
    config: &MicroConfig,
    values: Values,
    table: Option<&WriteTable>,
    task: &mut JobTask<'_>,
) -> Result<WorkerFindings> {
    let mut worker = Worker::new(config, values, table, task);
    let quota = config.quota(task.worker, task.workers);
    match (config.role(task.worker, task.workers), config.test) {
        (WorkerRole::Scanner, _) => scan::scan_all(&mut worker, task, Kind::Next, false, None)?,
        (WorkerRole::Main, Test::Pass { reverse }) => {
            scan::scan_all(&mut worker, task, Kind::Read, reverse, quota)?;
        }
        (role, _) => {
            let (seed, generation) = (task.seed, task.generation);
            if config.loads_in_bulk && bulk_load::run(&mut worker, task, quota)? {
                return Ok(worker.findings(task));
            }
            let stream = OperationStream::new(config, seed, generation, task.worker, task.workers)?;
            let limiter = config.rate_limiter(task.worker, task.workers);
            if role == WorkerRole::Main && config.test == Test::ReadMany {
                multi_read::run(&mut worker, task, stream, quota)?;
            } else if role == WorkerRole::Main && config.batch > 1 {
                worker.run_batches(task, stream, quota)?;
            } else if let Some(limiter) = limiter {
                worker.run_at_rate(task, stream, limiter)?;
            } else {
                worker.run_single_operations(task, stream, quota)?;
            }
        }
    }
    Ok(worker.findings(task))
}

impl Worker<'_> {
    /// Transactions of one operation each.
    fn run_single_operations(
        &mut self,
        task: &mut JobTask<'_>,
        mut stream: OperationStream,
        quota: Option<u64>,
    ) -> Result<()> {
        run_units(task, quota, |task, _| {
            self.run_unit(task, stream.next_operation())?;
            Ok(1)
        })
    }

    /// The same, as often as the limiter lets it.
    fn run_at_rate(
        &mut self,
        task: &mut JobTask<'_>,
        mut stream: OperationStream,
        mut limiter: RateLimiter,
    ) -> Result<()> {
        while limiter.admit(task.meter) && task.meter.next_unit() {
            let counts = !task.meter.is_warming_up();
            task.meter.start();
            self.run_unit(task, stream.next_operation())?;
            if counts {
                task.meter.advance(1);
            }
        }
        Ok(())
    }

    /// One operation, counted.
    #[inline]
    fn run_unit(&mut self, task: &mut JobTask<'_>, step: MicroOperation) -> Result<()> {
        self.lacks_record = false;
        let kind = self.run_operation(task, step)?;
        if self.lacks_record {
            task.meter.not_found(self.kinds.index(kind));
        }
        task.meter.finish(self.kinds.index(kind));
        task.meter.finish_unit(self.paced.index(kind));
        self.done += 1;
        Ok(())
    }

    fn run_operation(&mut self, task: &mut JobTask<'_>, step: MicroOperation) -> Result<Kind> {
        match step.operation {
            Operation::Read if self.parts.are_several() => {
                large_values::read(self, task, step.item).map(|()| Kind::Read)
            }
            Operation::Update if self.parts.are_several() => {
                large_values::overwrite(self, task, step.item).map(|()| Kind::Update)
            }
            Operation::Read => self.read(task, step.item).map(|()| Kind::Read),
            Operation::ReadMissing => self.read_missing(task, step.item).map(|()| Kind::Read),
            Operation::Seek => scan::scan_from(self, task, step.item).map(|()| Kind::Seek),
            Operation::Scan => scan::scan_from(self, task, step.item).map(|()| Kind::Scan),
            Operation::Insert => self.write(task, step).map(|()| Kind::Insert),
            Operation::Update => self.write(task, step).map(|()| Kind::Update),
            Operation::Delete => self.write(task, step).map(|()| Kind::Delete),
            Operation::PutIfAbsent => self.put_if_absent(task, step.item),
        }
    }

    /// Puts a record in the worker's own version, unless it is there.
    fn put_if_absent(&mut self, task: &mut JobTask<'_>, item: u64) -> Result<Kind> {
        let (key, value) = self.maker.make(item, own_version(task.worker));
        let stored = task.transact(Mode::Write, writing, |session, _| {
            session.put_if_absent(key, value)
        })?;
        self.stored += u64::from(stored);
        Ok(if stored { Kind::Insert } else { Kind::Existing })
    }

    fn read(&mut self, task: &mut JobTask<'_>, item: u64) -> Result<()> {
        let floor = self.tracker.floor(item);
        let key = self.config.format.write(item, &mut self.key);
        let (maker, verifies) = (&mut self.maker, self.verifies);
        let is_compared = verifies && maker.is_read_whole(item);
        let touches = self.config.is_large() && !is_compared;
        let mut state = RecordState::Absent;
        let there = task.point_read(key, reading, &mut |value| {
            if touches {
                large_values::touch(value);
            }
            if verifies {
                state = maker.state(item, value);
            } else {
                black_box(value.first().copied());
            }
        })?;
        self.lacks_record = !there;
        if !there {
            // An attempt that ended in a conflict may have shown a value.
            state = RecordState::Absent;
        }
        if self.verifies {
            self.reads
                .count(item, self.tracker.validate(item, floor, state));
        }
        Ok(())
    }

    fn read_missing(&mut self, task: &mut JobTask<'_>, item: u64) -> Result<()> {
        let key = self.config.format.write(item, &mut self.key);
        self.missing[..key.len()].copy_from_slice(key);
        let missing = &self.missing;
        let there = task.point_read(missing, reading, &mut |value| {
            black_box(value.first().copied());
        })?;
        if self.verifies {
            let verdict = if there {
                Err(ReadFault::Unexpected)
            } else {
                Ok(())
            };
            self.reads.count(item, verdict);
        }
        Ok(())
    }

    /// Begins a write of a record that was loaded; `None` for a new record, which has no other.
    fn begin_write(&mut self, step: MicroOperation) -> Option<PendingWrite> {
        let deletes = step.operation == Operation::Delete;
        (step.operation != Operation::Insert).then(|| self.tracker.begin_write(step.item, deletes))
    }

    fn write(&mut self, task: &mut JobTask<'_>, step: MicroOperation) -> Result<()> {
        let write = self.begin_write(step);
        if step.operation == Operation::Delete {
            let key = self.maker.key(step.item);
            task.transact(Mode::Write, writing, |session, _| session.delete(key))?;
        } else {
            let version = write.map_or(FIRST_VERSION, |write| self.tracker.version(write));
            let (key, value) = self.maker.make(step.item, version);
            task.transact(Mode::Write, writing, |session, _| session.put(key, value))?;
        }
        if let Some(write) = write {
            self.lacks_record = !self.tracker.complete_write(write);
        }
        Ok(())
    }

    /// Does transactions of several writes each, and times the commit as a separate operation.
    fn run_batches(
        &mut self,
        task: &mut JobTask<'_>,
        mut stream: OperationStream,
        quota: Option<u64>,
    ) -> Result<()> {
        let room = usize::try_from(self.config.batch).unwrap_or(usize::MAX);
        let mut batch = Vec::with_capacity(room);
        run_units(task, quota, |task, left| {
            batch.clear();
            for _ in 0..self.config.batch.min(left) {
                let step = stream.next_operation();
                batch.push((step, self.begin_write(step)));
            }
            self.write_batch(task, &batch)?;
            task.meter.finish(self.kinds.index(Kind::Commit));
            task.meter.finish_unit(0);
            self.done += batch.len() as u64;
            Ok(batch.len() as u64)
        })
    }

    fn write_batch(
        &mut self,
        task: &mut JobTask<'_>,
        batch: &[(MicroOperation, Option<PendingWrite>)],
    ) -> Result<()> {
        let Self {
            maker,
            tracker,
            kinds,
            ..
        } = self;
        // All operations of a batch are of one kind: the test's.
        let kind = kinds.index(match batch.first().map(|(step, _)| step.operation) {
            Some(Operation::Delete) => Kind::Delete,
            Some(Operation::Update) => Kind::Update,
            _ => Kind::Insert,
        });
        let mut finished = 0;
        task.transact(Mode::Write, writing, |session, meter| -> EngineResult<()> {
            meter.uncount(kind, finished);
            finished = 0;
            for (step, write) in batch {
                if step.operation == Operation::Delete {
                    session.delete(maker.key(step.item))?;
                } else {
                    let version = write.map_or(FIRST_VERSION, |write| tracker.version(write));
                    let (key, value) = maker.make(step.item, version);
                    session.put(key, value)?;
                }
                meter.finish(kind);
                finished += 1;
            }
            Ok(())
        })?;
        let writes = batch.iter().filter_map(|(_, write)| *write);
        // Batches delete each record once.
        writes.for_each(|write| {
            tracker.complete_write(write);
        });
        Ok(())
    }
}
