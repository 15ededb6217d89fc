//! One worker's share: transactions of one or several operations.
//!
//! Nothing here allocates, formats or locks between two transactions, except to report an error.

use super::config::{CustomConfig, Maker};
use super::mix::{MAX_STEPS, Step};
use super::transaction_stream::{PlannedStep, TransactionStream};
use crate::generate::key::KeyBuffer;
use crate::generate::value::Values;
use crate::keyed::expected_state::{ReplayableJob, worker_findings};
use crate::keyed::load::FIRST_VERSION;
use crate::keyed::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use crate::keyed::scan::{ScanCheck, scan_first};
use crate::keyed::transaction::retry;
use crate::keyed::units::run_units;
use crate::keyed::write_tracker::{
    PendingWrite, TrialWrites, WriteKnowledge, WriteTable, WriteTracker, version, version_parts,
};
use crate::{JobTask, Result, WorkerFindings};
use std::hint::black_box;
use trueput_engine::{KeyRange, Mode, Result as EngineResult, Session};

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w CustomConfig,
    stream: TransactionStream,
    maker: Maker,
    tracker: WriteTracker<'w>,
    reads: ReadCounts,
    /// Whether reads are checked.
    verifies: bool,
    /// Whether a write bears the number after the one that it read.
    counts_writes: bool,
    generation: u32,
    key: KeyBuffer,
    /// The writes of the current transaction, by operation; only of loaded records.
    writes: [Option<PendingWrite>; MAX_STEPS],
    /// The least numbers that the operations may read.
    floors: [u32; MAX_STEPS],
    /// The same for each record of a scan, by operation.
    scan_floors: Vec<Vec<u32>>,
    /// Transactions done, including the warm-up.
    done: u64,
}

/// The way to get a record: within a transaction, or by a look-up of its own.
type RecordGetter =
    fn(&mut dyn Session, &[u8], &mut trueput_engine::ValueVisitor<'_>) -> EngineResult<bool>;

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w CustomConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Result<Self> {
        let mutators = config.mutators(task.workers);
        let knowledge = WriteKnowledge::of(task.worker_kind, task.worker, &mutators);
        let trial = TrialWrites {
            generation: task.generation,
            records: config.records,
            mutates: !mutators.is_empty(),
            deletes: config.deletes(),
        };
        let (seed, generation) = (task.seed, task.generation);
        Ok(Self {
            config,
            stream: config.stream(seed, generation, task.worker, task.workers)?,
            maker: config.maker_of(values, task.seed),
            tracker: WriteTracker::new(table, knowledge, trial),
            reads: ReadCounts::default(),
            verifies: task.verifies_reads(),
            counts_writes: config.counts_writes(),
            generation,
            key: KeyBuffer::default(),
            writes: [None; MAX_STEPS],
            floors: [0; MAX_STEPS],
            scan_floors: scan_floors(config),
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
            task.meter.finish(kind);
            task.meter.finish_unit(kind);
            self.done += 1;
            Ok(1)
        })?;
        Ok(worker_findings(task, self.done, &self.reads, self.tracker))
    }

    fn transact(&mut self, task: &mut JobTask<'_>) -> Result<()> {
        self.begin_writes();
        self.note_floors();
        let reads = self.reads;
        match *self.stream.steps() {
            [
                PlannedStep {
                    step: Step::Get,
                    item,
                    exists,
                },
            ] => {
                let (session, meter) = (&mut *task.session, &mut *task.meter);
                let get: RecordGetter = |session, key, visitor| session.point_read(key, visitor);
                retry(meter, doing, |_| {
                    self.reads = reads;
                    self.read(session, get, 0, (item, exists)).map(drop)
                })?;
            }
            _ => {
                let writes = self.stream.steps().iter().any(|it| it.step.writes());
                let mode = if writes { Mode::Write } else { Mode::Read };
                task.transact(mode, doing, |session, _| {
                    // What an attempt that conflicts has read is not judged.
                    self.reads = reads;
                    self.attempt(session)
                })?;
            }
        }
        for write in self.writes.iter_mut().filter_map(Option::take) {
            self.tracker.complete_write(write);
        }
        Ok(())
    }

    /// Begins the writes of the transaction, before it does.
    fn begin_writes(&mut self) {
        for (write, planned) in self.writes.iter_mut().zip(self.stream.steps()) {
            if planned.step.mutates() {
                let deletes = planned.step == Step::Delete;
                *write = Some(self.tracker.begin_write(planned.item, deletes));
            }
        }
    }

    /// Notes what the transaction must find at least, before it begins.
    fn note_floors(&mut self) {
        if !self.verifies {
            return;
        }
        for (index, planned) in self.stream.steps().iter().enumerate() {
            match planned.step {
                Step::Scan(records) => {
                    let floors = &mut self.scan_floors[index][..records as usize];
                    for (floor, item) in floors.iter_mut().zip(planned.item..) {
                        *floor = self.tracker.floor(item);
                    }
                }
                _ => self.floors[index] = self.tracker.floor(planned.item),
            }
        }
    }

    /// Does the operations of the transaction, once.
    fn attempt(&mut self, session: &mut dyn Session) -> EngineResult<()> {
        for index in 0..self.stream.steps().len() {
            let PlannedStep { step, item, exists } = self.stream.steps()[index];
            let get: RecordGetter = |session, key, visitor| session.get(key, visitor);
            match step {
                Step::Get => {
                    self.read(session, get, index, (item, exists))?;
                }
                Step::Put => self.put(session, item, self.own_version(index))?,
                Step::Update => self.update(session, index, item)?,
                Step::ReadModifyWrite => {
                    self.read(session, get, index, (item, exists))?;
                    self.update(session, index, item)?;
                }
                Step::Insert => self.put(session, item, FIRST_VERSION)?,
                Step::Delete => {
                    session.delete(self.maker.key(item))?;
                }
                Step::Scan(records) => self.scan(session, index, item, records)?,
            }
        }
        Ok(())
    }

    /// Reads a record and checks it, or that it is not there if it does not exist.
    fn read(
        &mut self,
        session: &mut dyn Session,
        get: RecordGetter,
        index: usize,
        (item, exists): (u64, bool),
    ) -> EngineResult<RecordState> {
        let key = self.config.format.write(item, &mut self.key);
        let (maker, verifies) = (&mut self.maker, self.verifies || self.counts_writes);
        let mut state = RecordState::Absent;
        get(session, key, &mut |value| {
            if verifies {
                state = maker.state(item, value);
            } else {
                black_box(value.first().copied());
            }
        })?;
        if self.verifies {
            let verdict = match (exists, state) {
                (true, _) => self.tracker.validate(item, self.floors[index], state),
                (false, RecordState::Absent) => Ok(()),
                (false, _) => Err(ReadFault::Unexpected),
            };
            self.reads.count(item, verdict);
        }
        Ok(state)
    }

    /// The version of a write that does not depend on what it read.
    fn own_version(&self, index: usize) -> u32 {
        self.writes[index].map_or(FIRST_VERSION, |write| self.tracker.version(write))
    }

    fn update(&mut self, session: &mut dyn Session, index: usize, item: u64) -> EngineResult<()> {
        let get: RecordGetter = |session, key, visitor| session.get(key, visitor);
        let state = self.read(session, get, index, (item, true))?;
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
        let (key, value) = self.maker.make(item, version);
        session.put(key, value)
    }

    fn scan(
        &mut self,
        session: &mut dyn Session,
        index: usize,
        item: u64,
        records: u32,
    ) -> EngineResult<()> {
        let wanted = u64::from(records);
        let key = self.config.format.write(item, &mut self.key);
        let verifies = self.verifies;
        let floors = &self.scan_floors[index][..if verifies { records as usize } else { 0 }];
        let from = (item, floors);
        let mut check = ScanCheck::new(&mut self.maker, &self.tracker, from, self.reads);
        let shown = scan_first(session, KeyRange::from(key), wanted, |key, value| {
            if verifies {
                check.check_record(key, value);
            } else {
                black_box((key.first().copied(), value.first().copied()));
            }
        })?;
        if verifies && shown < wanted {
            // The scan ended early: the remaining records must not exist.
            check.check_missing(item.checked_add(wanted));
        }
        self.reads = check.reads;
        Ok(())
    }
}

/// Room for the floors of the longest scan at each place of a transaction.
fn scan_floors(config: &CustomConfig) -> Vec<Vec<u32>> {
    let longest = |place: usize| {
        let at_place = config.mix.iter().filter_map(|it| it.steps().get(place));
        let lengths = at_place.map(|step| match step {
            Step::Scan(records) => *records as usize,
            _ => 0,
        });
        lengths.max().unwrap_or(0)
    };
    (0..MAX_STEPS)
        .map(|place| vec![0; longest(place)])
        .collect()
}

/// Describes a transaction, for an error's text.
fn doing() -> String {
    "doing a transaction".to_owned()
}
