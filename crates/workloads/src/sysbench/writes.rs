//! The writes of one worker: their content before the transaction begins, and what is known of them
//! once it is committed.

use super::events::{Event, Step};
use super::read_checker::{ReadChecker, tracker};
use super::report::WorkerReport;
use super::rows::{LoadedRows, MAX_ID, Row, RowKey, RowMaker};
use super::settings::Settings;
use super::shared_state::SharedState;
use super::text::{C_BYTES, PAD_BYTES, WriteName};
use crate::keyed::write_tracker::{PendingWrite, WriteKnowledge, WriteTracker};
use crate::{Error, JobTask, Result};

/// What a step needs besides its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedStep {
    /// The fewest writes of the row that a read must find.
    pub(super) floor: u32,
    /// The columns to write.
    pub(super) row: Row,
    content: Option<PendingWrite>,
    insert: Option<PendingWrite>,
    /// Index updates of the row that come before its insert, at least.
    erased_least: u32,
}

/// A step that writes nothing.
const READ: PlannedStep = PlannedStep {
    floor: 0,
    row: Row {
        id: 0,
        k: 0,
        c: [0; C_BYTES],
        pad: [0; PAD_BYTES],
    },
    content: None,
    insert: None,
    erased_least: 0,
};

/// A transaction with the content of its writes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The transaction.
    pub(super) event: Event,
    /// For each of its steps.
    pub(super) steps: Vec<PlannedStep>,
}

/// Names the writes of one worker, and notes those that are committed.
pub(super) struct WriteBook<'w> {
    maker: RowMaker,
    rows: LoadedRows,
    writer: u32,
    /// `None`: nothing is checked.
    shared: Option<&'w SharedState>,
    inserts: WriteTracker<'w>,
    /// A bit for each row that the worker has deleted and inserted again, by its item.
    inserted: Vec<u64>,
}

impl<'w> WriteBook<'w> {
    /// Nothing written yet.
    pub(super) fn new(
        settings: &Settings,
        shared: Option<&'w SharedState>,
        task: &JobTask<'_>,
    ) -> Self {
        let notes = shared.is_some() && settings.statements.delete_inserts > 0;
        let rows = settings.rows;
        let words = if notes { rows.count().div_ceil(64) } else { 0 };
        Self {
            maker: settings.maker(task.seed),
            rows,
            writer: task.worker + 1,
            shared,
            inserts: tracker(shared.map(|shared| &shared.inserts), settings, task),
            inserted: vec![0; words as usize],
        }
    }

    /// Makes the content of an event's writes, and notes that they begin.
    ///
    /// # Errors
    /// There is no id left for a new row.
    pub(super) fn plan(&mut self, plan: &mut Plan, checker: &mut ReadChecker<'_>) -> Result<()> {
        plan.steps.clear();
        for (index, step) in plan.event.steps.iter().enumerate() {
            let planned = match *step {
                Step::PointSelect(row) | Step::Range(_, row) => PlannedStep {
                    floor: checker.floor(row),
                    ..READ
                },
                Step::IndexUpdate(row) => {
                    if let Some(shared) = self.shared {
                        shared.updates.begin(self.rows.item(row));
                    }
                    READ
                }
                Step::NonIndexUpdate(row) => self.plan_update(row, checker),
                Step::DeleteInsert(row) => {
                    let earlier = &plan.event.steps[..index];
                    self.plan_replacement(row, earlier, checker)
                }
                Step::Insert(row) => self.plan_insert(row)?,
                Step::BulkInsert(first) if first.id > MAX_ID => return Err(no_id(first)),
                _ => READ,
            };
            plan.steps.push(planned);
        }
        Ok(())
    }

    /// The name of a write, which no other write of its row has.
    fn name(&self, tracker: &WriteTracker<'_>, write: PendingWrite) -> WriteName {
        WriteName {
            writer: self.writer,
            number: tracker.version(write),
        }
    }

    fn plan_update(&self, row: RowKey, checker: &mut ReadChecker<'_>) -> PlannedStep {
        let write = checker.contents.begin_write(self.rows.item(row), false);
        let name = self.name(&checker.contents, write);
        PlannedStep {
            row: Row {
                c: self.maker.c(row, name),
                ..READ.row
            },
            content: Some(write),
            ..READ
        }
    }

    fn plan_replacement(
        &mut self,
        row: RowKey,
        earlier: &[Step],
        checker: &mut ReadChecker<'_>,
    ) -> PlannedStep {
        let item = self.rows.item(row);
        let content = checker.contents.begin_write(item, false);
        let insert = self.inserts.begin_write(item, false);
        let c = self.name(&checker.contents, content);
        let pad = self.name(&self.inserts, insert);
        let committed = self
            .shared
            .map_or(0, |shared| shared.updates.committed(item));
        let own = earlier
            .iter()
            .filter(|step| **step == Step::IndexUpdate(row));
        PlannedStep {
            row: self.maker.row(row, c, pad),
            content: Some(content),
            insert: Some(insert),
            erased_least: committed.saturating_add(own.count() as u32),
            ..READ
        }
    }

    fn plan_insert(&self, row: RowKey) -> Result<PlannedStep> {
        if row.id > MAX_ID {
            return Err(no_id(row));
        }
        let name = inserted_name(self.writer);
        Ok(PlannedStep {
            row: self.maker.row(row, name, name),
            ..READ
        })
    }

    /// Notes that every write of a transaction is committed.
    pub(super) fn complete(&mut self, plan: &Plan, checker: &mut ReadChecker<'_>) {
        for (step, planned) in plan.event.steps.iter().zip(&plan.steps) {
            if let Some(write) = planned.content {
                checker.contents.complete_write(write);
            }
            if let Some(write) = planned.insert {
                self.inserts.complete_write(write);
            }
            let Some(shared) = self.shared else {
                continue;
            };
            match *step {
                Step::IndexUpdate(row) => shared.updates.commit(self.rows.item(row)),
                Step::DeleteInsert(row) => {
                    let item = self.rows.item(row);
                    shared.updates.erase(item, planned.erased_least);
                    if let Some(word) = self.inserted.get_mut((item / 64) as usize) {
                        *word |= 1 << (item % 64);
                    }
                }
                _ => {}
            }
        }
    }

    /// The report of a worker that has done so many transactions.
    pub(super) fn into_report(self, done: u64, contents: WriteTracker<'_>) -> WorkerReport {
        let is_inserted = |item: &u64| {
            let word = self.inserted.get((item / 64) as usize);
            word.is_some_and(|word| word >> (item % 64) & 1 == 1)
        };
        let mut erased = Vec::new();
        if let Some(shared) = self.shared.filter(|_| !self.inserted.is_empty()) {
            for item in (0..self.rows.count()).filter(is_inserted) {
                if let Some((least, most)) = shared.updates.erased(item) {
                    erased.push((item, least, most));
                }
            }
        }
        WorkerReport {
            worker: self.writer - 1,
            done,
            knows_all: contents.knowledge() == WriteKnowledge::All,
            contents: contents.into_unsettled(),
            inserts: self.inserts.into_unsettled(),
            erased,
        }
    }
}

/// The name that c and pad of a row which a worker inserts for good have.
pub(super) fn inserted_name(writer: u32) -> WriteName {
    WriteName { writer, number: 0 }
}

#[cold]
fn no_id(row: RowKey) -> Error {
    let table = row.table;
    Error::Workload(format!(
        "sbtest{table} has no ids left; give fewer events or a shorter duration"
    ))
}
