//! Transactions of one or several operations, retried after conflicts, with their reads checked.
//!
//! Nothing here allocates, formats or locks between two transactions, except to report an error.

use super::action::Action;
use super::draws::ValueLengths;
use super::expected_state::worker_findings;
use super::queue_scan::QueueScan;
use super::read_check::RecordState;
use super::record_reader::{GET, POINT_READ, RecordReader};
use super::transaction::retry;
use super::versions::{FIRST_VERSION, TrialVersions};
use super::write_tracker::PendingWrite;
use crate::{JobTask, Result, WorkerFindings};
use trueput_engine::{Mode, Result as EngineResult, Session};

/// One operation of a transaction and its record's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedOperation {
    pub action: Action,
    pub item: u64,
    /// Whether the record may be there: not that of an empty queue.
    pub exists: bool,
    /// The records that it covers: more than one only in a scan.
    pub records: u32,
    /// The scan of the worker's queue that it does; `None`: it is none, or one of all records.
    pub queue_scan: Option<QueueScan>,
    /// The length of the value that it stores, bytes; `None`: that of the record's version.
    pub value_bytes: Option<u32>,
}

impl PlannedOperation {
    /// An operation on one record that is there. What it stores is as long as the record's version.
    pub(crate) fn new(action: Action, item: u64) -> Self {
        Self {
            action,
            item,
            exists: true,
            records: 1,
            queue_scan: None,
            value_bytes: None,
        }
    }

    /// The records whose least numbers are noted before the transaction, from its record on. What
    /// is in a queue is known without them.
    fn noted_records(&self) -> u32 {
        if self.queue_scan.is_some() {
            0
        } else {
            self.records
        }
    }
}

/// Does the transactions of one worker.
pub(crate) struct TransactionExecutor<'w, L> {
    reader: RecordReader<'w, L>,
    /// Whether a write bears the number after the one that it read.
    counts_writes: bool,
    versions: TrialVersions,
    /// The writes of the current transaction, by operation.
    writes: Vec<Option<PendingWrite>>,
    /// Describes a transaction, for an error's text.
    doing: &'static str,
    /// Transactions done, including the warm-up.
    done: u64,
}

impl<'w, L: ValueLengths> TransactionExecutor<'w, L> {
    /// Nothing was done yet. No transaction has more than `max_operations`; `doing` describes one,
    /// for an error's text.
    pub(crate) fn new(
        reader: RecordReader<'w, L>,
        counts_writes: bool,
        max_operations: usize,
        doing: &'static str,
        task: &JobTask<'_>,
    ) -> Self {
        Self {
            reader,
            counts_writes,
            versions: TrialVersions::new(task.generation),
            writes: vec![None; max_operations],
            doing,
            done: 0,
        }
    }

    /// The findings of a worker that has finished.
    pub(crate) fn into_findings(self, task: &JobTask<'_>) -> WorkerFindings {
        let RecordReader { reads, tracker, .. } = self.reader;
        worker_findings(task, self.done, &reads, tracker)
    }

    /// Does a transaction of these operations until it commits, and measures it as one of `kind`.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts; a stop by the user.
    pub(crate) fn execute(
        &mut self,
        operations: &[PlannedOperation],
        kind: usize,
        task: &mut JobTask<'_>,
    ) -> Result<()> {
        self.begin_writes(operations);
        let covered = operations.iter().map(|it| (it.item, it.noted_records()));
        self.reader.note_floors(covered);
        self.transact(operations, task)?;
        for write in &mut self.writes[..operations.len()] {
            if let Some(write) = write.take() {
                self.reader.lacks_record |= !self.reader.tracker.complete_write(write);
            }
        }
        if self.reader.lacks_record {
            task.meter.not_found(kind);
        }
        task.meter.finish(kind);
        task.meter.finish_unit(kind);
        self.done += 1;
        Ok(())
    }

    fn transact(&mut self, operations: &[PlannedOperation], task: &mut JobTask<'_>) -> Result<()> {
        let reads = self.reader.reads;
        let doing = self.doing;
        let doing = || doing.to_owned();
        if let [
            PlannedOperation {
                action: Action::Get,
                item,
                exists,
                ..
            },
        ] = *operations
        {
            let (session, meter) = (&mut *task.session, &mut *task.meter);
            return retry(meter, doing, |_| {
                self.reader.restart(reads);
                self.reader.read(session, POINT_READ, (item, exists), 0)
            })
            .map(drop);
        }
        let writes = operations.iter().any(|it| it.action.writes());
        let mode = if writes { Mode::Write } else { Mode::Read };
        task.transact(mode, doing, |session, _| {
            self.reader.restart(reads);
            self.attempt(operations, session)
        })
    }

    /// Begins the writes of a transaction, before it does. A new record beyond those that are
    /// tracked has no other write.
    fn begin_writes(&mut self, operations: &[PlannedOperation]) {
        for (write, planned) in self.writes.iter_mut().zip(operations) {
            let (action, item) = (planned.action, planned.item);
            let is_new = action == Action::Insert && item >= self.reader.tracker.records();
            if action.writes() && !is_new {
                let deletes = action == Action::Delete;
                *write = Some(self.reader.tracker.begin_write(item, deletes));
            }
        }
    }

    /// Does the operations of a transaction, once.
    fn attempt(
        &mut self,
        operations: &[PlannedOperation],
        session: &mut dyn Session,
    ) -> EngineResult<()> {
        // The place of the operation's floors.
        let mut floor = 0;
        for (index, planned) in operations.iter().enumerate() {
            let record = (planned.item, planned.exists);
            match planned.action {
                Action::Get => {
                    self.reader.read(session, GET, record, floor)?;
                }
                Action::Put | Action::Insert => {
                    self.put(session, planned, self.own_version(index))?;
                }
                Action::Update => self.update(session, index, planned, floor)?,
                Action::ReadModifyWrite => {
                    self.reader.read(session, GET, record, floor)?;
                    self.update(session, index, planned, floor)?;
                }
                Action::Delete => {
                    session.delete(self.reader.maker.key(planned.item))?;
                    self.reader.lacks_record |= !planned.exists;
                }
                Action::Scan => {
                    let (item, records) = (planned.item, planned.records);
                    match planned.queue_scan {
                        Some(scan) => self.reader.scan_queue(session, (item, records), scan)?,
                        None => self.reader.scan(session, item, records, floor)?,
                    }
                }
            }
            floor += planned.noted_records() as usize;
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
        planned: &PlannedOperation,
        floor: usize,
    ) -> EngineResult<()> {
        let record = (planned.item, true);
        let state = self.reader.read(session, GET, record, floor)?;
        let version = if self.counts_writes {
            self.next_version(state)
        } else {
            self.own_version(index)
        };
        self.put(session, planned, version)
    }

    /// The version after the one that was read.
    fn next_version(&self, state: RecordState) -> u32 {
        let read = match state {
            RecordState::Version(read) => read,
            _ => FIRST_VERSION,
        };
        self.versions.version(self.versions.next_number(read))
    }

    fn put(
        &mut self,
        session: &mut dyn Session,
        planned: &PlannedOperation,
        version: u32,
    ) -> EngineResult<()> {
        let maker = &mut self.reader.maker;
        let (key, value) = match planned.value_bytes {
            Some(bytes) => maker.make_sized(planned.item, version, bytes as usize),
            None => maker.make(planned.item, version),
        };
        session.put(key, value)
    }
}
