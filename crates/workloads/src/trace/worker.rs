//! One worker's requests, each in a transaction.
//!
//! Nothing here allocates, formats or locks between two requests, except to report an error.

use super::config::{Maker, TraceConfig, maker_of};
use super::operation::Action;
use super::stored::{Operation, kind};
use super::stream::{RequestStream, TraceReplay};
use crate::generate::value::Values;
use crate::keyed::expected_state::{ReplayableJob, worker_findings};
use crate::keyed::read_check::{ReadCounts, ReadValidator, RecordState};
use crate::keyed::scan::{ScanCheck, scan_first};
use crate::keyed::transaction::retry;
use crate::keyed::write_tracker::{
    PendingWrite, TrialWrites, WriteKnowledge, WriteTable, WriteTracker,
};
use crate::{JobTask, Result, WorkerFindings};
use std::hint::black_box;
use trueput_engine::{KeyRange, Mode, Result as EngineResult, Session};

/// The way to get a record: within a transaction, or by a look-up of its own.
type RecordGetter =
    fn(&mut dyn Session, &[u8], &mut trueput_engine::ValueVisitor<'_>) -> EngineResult<bool>;

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w TraceConfig,
    stream: RequestStream,
    requests: RequestState<'w>,
    /// Requests done, including the warm-up.
    done: u64,
}

/// What a worker needs for the operations of one request.
struct RequestState<'w> {
    config: &'w TraceConfig,
    maker: Maker,
    tracker: WriteTracker<'w>,
    reads: ReadCounts,
    /// Whether reads are checked.
    verifies: bool,
    /// The writes of the request, by operation.
    writes: Vec<Option<PendingWrite>>,
    /// The least numbers that the operations may read.
    floors: Vec<u32>,
    /// The same for each record of a scan; those of one request one after the other.
    scan_floors: Vec<u32>,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        replay: &'w TraceReplay,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Self {
        let config = &*replay.config;
        let mutators = replay.mutators(task.workers);
        let knowledge = WriteKnowledge::of(task.worker_kind, task.worker, &mutators);
        let trial = TrialWrites {
            generation: task.generation,
            records: replay.records(),
            mutates: !mutators.is_empty(),
            deletes: replay.deletes(),
        };
        let stream = replay.requests(task.worker, task.workers);
        let verifies = task.verifies_reads();
        let longest = config.trace.longest_request;
        Self {
            config,
            stream,
            requests: RequestState {
                config,
                maker: maker_of(&replay.config, values),
                tracker: WriteTracker::new(table, knowledge, trial),
                reads: ReadCounts::default(),
                verifies,
                writes: vec![None; longest],
                floors: vec![0; longest],
                scan_floors: vec![0; if verifies { scan_room(config) } else { 0 }],
            },
            done: 0,
        }
    }

    /// Does the share, until it ends or the time is up.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        while self.stream.left() > 0 && task.meter.next_unit() {
            let counts = !task.meter.is_warming_up();
            let request = self.stream.next_request();
            let kind = self.config.kinds.index(kind(request));
            self.requests.transact(request, task)?;
            task.meter.finish(kind);
            task.meter.finish_unit(kind);
            self.done += 1;
            task.meter.advance(u64::from(counts));
        }
        let RequestState { reads, tracker, .. } = self.requests;
        Ok(worker_findings(task, self.done, &reads, tracker))
    }
}

impl RequestState<'_> {
    fn transact(&mut self, request: &[Operation], task: &mut JobTask<'_>) -> Result<()> {
        self.begin(request);
        let reads = self.reads;
        match request {
            [get] if get.action() == Action::Get => {
                let (session, meter) = (&mut *task.session, &mut *task.meter);
                let point_read: RecordGetter =
                    |session, key, visitor| session.point_read(key, visitor);
                retry(meter, doing, |_| {
                    self.reads = reads;
                    self.read(session, point_read, 0, get.key.into())
                })?;
            }
            _ => {
                let writes = request.iter().any(|it| it.action().writes());
                let mode = if writes { Mode::Write } else { Mode::Read };
                task.transact(mode, doing, |session, _| {
                    // What an attempt that conflicts has read is not judged.
                    self.reads = reads;
                    self.attempt(request, session)
                })?;
            }
        }
        for write in self.writes[..request.len()].iter_mut() {
            if let Some(write) = write.take() {
                self.tracker.complete_write(write);
            }
        }
        Ok(())
    }

    /// Begins the writes of a request, and notes what it must find at least, before it begins.
    fn begin(&mut self, request: &[Operation]) {
        let mut scanned = 0;
        for (index, operation) in request.iter().enumerate() {
            let (action, item) = (operation.action(), u64::from(operation.key));
            if self.verifies && action == Action::Scan {
                let length = self.config.scan_records(operation.size) as usize;
                let floors = &mut self.scan_floors[scanned..scanned + length];
                for (floor, item) in floors.iter_mut().zip(item..) {
                    *floor = self.tracker.floor(item);
                }
                scanned += length;
            } else if self.verifies {
                self.floors[index] = self.tracker.floor(item);
            }
        }
        for (write, operation) in self.writes.iter_mut().zip(request) {
            let action = operation.action();
            if action.writes() {
                let deletes = action == Action::Delete;
                *write = Some(self.tracker.begin_write(operation.key.into(), deletes));
            }
        }
    }

    /// Does the operations of a request, once.
    fn attempt(&mut self, request: &[Operation], session: &mut dyn Session) -> EngineResult<()> {
        let get: RecordGetter = |session, key, visitor| session.get(key, visitor);
        let mut scanned = 0;
        for (index, operation) in request.iter().enumerate() {
            let item = u64::from(operation.key);
            match operation.action() {
                Action::Get => self.read(session, get, index, item)?,
                Action::Put | Action::Insert => self.put(session, index, *operation)?,
                Action::Update => {
                    self.read(session, get, index, item)?;
                    self.put(session, index, *operation)?;
                }
                Action::ReadModifyWrite => {
                    self.read(session, get, index, item)?;
                    self.read(session, get, index, item)?;
                    self.put(session, index, *operation)?;
                }
                Action::Delete => session.delete(self.config.trace.keys.key(item))?,
                Action::Scan => {
                    let records = self.config.scan_records(operation.size);
                    self.scan(session, scanned, item, records)?;
                    scanned += records as usize;
                }
            }
        }
        Ok(())
    }

    /// Reads a record and checks it.
    fn read(
        &mut self,
        session: &mut dyn Session,
        get: RecordGetter,
        index: usize,
        item: u64,
    ) -> EngineResult<()> {
        let config = self.config;
        let (maker, verifies) = (&mut self.maker, self.verifies);
        let mut state = RecordState::Absent;
        get(session, config.trace.keys.key(item), &mut |value| {
            if verifies {
                state = maker.state(item, value);
            } else {
                black_box(value.first().copied());
            }
        })?;
        if self.verifies {
            let verdict = self.tracker.validate(item, self.floors[index], state);
            self.reads.count(item, verdict);
        }
        Ok(())
    }

    fn put(
        &mut self,
        session: &mut dyn Session,
        index: usize,
        operation: Operation,
    ) -> EngineResult<()> {
        let version = self.writes[index].map_or(0, |write| self.tracker.version(write));
        let bytes = self.config.bytes(operation.size);
        let (key, value) = self.maker.make_sized(operation.key.into(), version, bytes);
        session.put(key, value)
    }

    fn scan(
        &mut self,
        session: &mut dyn Session,
        scanned: usize,
        item: u64,
        records: u32,
    ) -> EngineResult<()> {
        let (config, verifies) = (self.config, self.verifies);
        let wanted = u64::from(records);
        let floors = match verifies {
            true => &self.scan_floors[scanned..scanned + records as usize],
            false => &[],
        };
        let from = (item, floors);
        let mut check = ScanCheck::new(&mut self.maker, &self.tracker, from, self.reads);
        let range = KeyRange::from(config.trace.keys.key(item));
        let shown = scan_first(session, range, wanted, |key, value| {
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

/// Room for the floors of all scans of any request.
fn scan_room(config: &TraceConfig) -> usize {
    let records = |operation: &Operation| match operation.action() {
        Action::Scan => config.scan_records(operation.size) as usize,
        _ => 0,
    };
    let requests = config.trace.requests();
    let of_request = requests.map(|request| request.iter().map(records).sum());
    of_request.max().unwrap_or(0)
}

/// Describes a request, for an error's text.
fn doing() -> String {
    "doing a request of the trace".to_owned()
}
