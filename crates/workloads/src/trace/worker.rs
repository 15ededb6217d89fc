//! One worker's requests, each in a transaction.
//!
//! Nothing here allocates, formats or locks between two requests, except to report an error.

use super::config::{TraceConfig, TraceLengths, maker_of};
use super::operation::Action;
use super::stored::{Operation, kind};
use super::stream::{RequestStream, TraceReplay};
use crate::generate::value::Values;
use crate::keyed::expected_state::worker_findings;
use crate::keyed::record_reader::{GET, POINT_READ, RecordReader};
use crate::keyed::transaction::retry;
use crate::keyed::write_tracker::{PendingWrite, WriteTable};
use crate::{JobTask, Result, WorkerFindings};
use trueput_engine::{Mode, Result as EngineResult, Session};

/// How often a worker without requests looks whether the warm-up is over, nanoseconds.
const WARM_UP_STEP_NS: u64 = 10_000_000;

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
    reader: RecordReader<'w, TraceLengths>,
    /// The writes of the request, by operation.
    writes: Vec<Option<PendingWrite>>,
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
        let maker = maker_of(&replay.config, values);
        let most_records = if task.verifies_reads() {
            config.most_records()
        } else {
            0
        };
        Self {
            config,
            stream: replay.requests(task.worker, task.workers),
            requests: RequestState {
                config,
                reader: RecordReader::new(replay, maker, table, task, most_records),
                writes: vec![None; config.trace.longest_request],
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
            if self.requests.reader.lacks_record {
                task.meter.not_found(kind);
            }
            task.meter.finish(kind);
            task.meter.finish_unit(kind);
            self.done += 1;
            task.meter.advance(u64::from(counts));
        }
        // A worker whose requests were all made during the warm-up has measured none of them.
        while task.meter.is_warming_up() {
            let now = task.meter.timestamp();
            if !task.meter.wait_since(now, WARM_UP_STEP_NS) {
                break;
            }
        }
        let RecordReader { reads, tracker, .. } = self.requests.reader;
        Ok(worker_findings(task, self.done, &reads, tracker))
    }
}

impl RequestState<'_> {
    fn transact(&mut self, request: &[Operation], task: &mut JobTask<'_>) -> Result<()> {
        self.begin(request);
        let reads = self.reader.reads;
        match request {
            [get] if get.action() == Action::Get => {
                let (session, meter) = (&mut *task.session, &mut *task.meter);
                let record = (get.key.into(), true);
                retry(meter, doing, |_| {
                    self.reader.restart(reads);
                    self.reader.read(session, POINT_READ, record, 0)
                })?;
            }
            _ => {
                let writes = request.iter().any(|it| it.action().writes());
                let mode = if writes { Mode::Write } else { Mode::Read };
                task.transact(mode, doing, |session, _| {
                    self.reader.restart(reads);
                    self.attempt(request, session)
                })?;
            }
        }
        for write in self.writes[..request.len()].iter_mut() {
            if let Some(write) = write.take() {
                self.reader.lacks_record |= !self.reader.tracker.complete_write(write);
            }
        }
        Ok(())
    }

    /// Begins the writes of a request, and notes what it must find at least, before it begins.
    fn begin(&mut self, request: &[Operation]) {
        let config = self.config;
        let covered = request.iter();
        let covered = covered.map(|it| (u64::from(it.key), config.records_of(*it)));
        self.reader.note_floors(covered);
        for (write, operation) in self.writes.iter_mut().zip(request) {
            let action = operation.action();
            if action.writes() {
                let (item, deletes) = (operation.key.into(), action == Action::Delete);
                *write = Some(self.reader.tracker.begin_write(item, deletes));
            }
        }
    }

    /// Does the operations of a request, once.
    fn attempt(&mut self, request: &[Operation], session: &mut dyn Session) -> EngineResult<()> {
        // The place of the operation's floors.
        let mut floor = 0;
        for (index, operation) in request.iter().enumerate() {
            let item = u64::from(operation.key);
            let (record, records) = ((item, true), self.config.records_of(*operation));
            match operation.action() {
                Action::Get => {
                    self.reader.read(session, GET, record, floor)?;
                }
                Action::Put | Action::Insert => self.put(session, index, *operation)?,
                Action::Update => {
                    self.reader.read(session, GET, record, floor)?;
                    self.put(session, index, *operation)?;
                }
                Action::ReadModifyWrite => {
                    self.reader.read(session, GET, record, floor)?;
                    self.reader.read(session, GET, record, floor)?;
                    self.put(session, index, *operation)?;
                }
                Action::Delete => session.delete(self.config.trace.keys.key(item))?,
                Action::Scan => self.reader.scan(session, item, records, floor)?,
            }
            floor += records as usize;
        }
        Ok(())
    }

    fn put(
        &mut self,
        session: &mut dyn Session,
        index: usize,
        operation: Operation,
    ) -> EngineResult<()> {
        let version = self.writes[index].map_or(0, |write| self.reader.tracker.version(write));
        let (item, bytes) = (operation.key.into(), self.config.bytes(operation.size));
        let (key, value) = self.reader.maker.make_sized(item, version, bytes);
        session.put(key, value)
    }
}

/// Describes a request, for an error's text.
fn doing() -> String {
    "doing a request of the trace".to_owned()
}
