//! One worker: does its transactions one after the other, each until it meets no conflict.

use super::events::{EventStream, Step, range_ids};
use super::read_checker::ReadChecker;
use super::rows::{Row, RowKey};
use super::settings::{Script, Settings};
use super::shared_state::SharedState;
use super::store;
use super::tables::{RangeQuery, Tables};
use super::text::{C_BYTES, CText};
use super::writes::{Plan, WriteBook};
use crate::keyed::backoff::Backoff;
use crate::keyed::transaction::{in_transaction, retry_with_backoff};
use crate::{JobTask, Meter, Result, WorkerFindings};
use trueput_engine::{Error as EngineError, Mode, Result as EngineResult};

/// The one kind of operation: a script's transaction.
const TRANSACTION: usize = 0;

/// Does a worker's share.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn run(
    task: &mut JobTask<'_>,
    settings: &Settings,
    shared: Option<&SharedState>,
) -> Result<WorkerFindings> {
    let mut left = settings.share(task.worker, task.workers);
    let place = (task.worker, task.workers);
    let checker = ReadChecker::new(settings, shared, task);
    let mut worker = Worker {
        settings,
        stream: EventStream::new(settings, task.seed, task.generation, place),
        plan: Plan::default(),
        writes: WriteBook::new(settings, shared, task),
        backoff: Backoff::new(settings.retry_pause_us, task.seed, task.worker),
        executor: Executor {
            mode: if settings.writes() {
                Mode::Write
            } else {
                Mode::Read
            },
            range_size: settings.range_size,
            bulk_rows: settings.bulk_rows,
            checker,
            c: [0; C_BYTES],
            texts: Vec::with_capacity(settings.range_size as usize),
            rows: Vec::with_capacity(settings.random_points as usize),
            lacks_row: false,
        },
        tables: store::tables(&mut *task.session, settings.store)?,
        meter: &mut *task.meter,
        done: 0,
    };
    while left != Some(0) && worker.meter.next_unit() {
        let is_counted = !worker.meter.is_warming_up();
        worker.do_event()?;
        if is_counted {
            worker.meter.advance(1);
            left = left.map(|left| left - 1);
        }
    }
    let (findings, report) = worker.finish()?;
    if shared.is_some() {
        *task.attachment = report;
    }
    Ok(findings)
}

struct Worker<'w> {
    settings: &'w Settings,
    stream: EventStream<'w>,
    plan: Plan,
    writes: WriteBook<'w>,
    backoff: Backoff,
    executor: Executor<'w>,
    tables: Box<dyn Tables + 'w>,
    meter: &'w mut dyn Meter,
    done: u64,
}

impl Worker<'_> {
    /// Does the next transaction.
    fn do_event(&mut self) -> Result<()> {
        self.stream.next(&mut self.plan.event);
        let (plan, executor) = (&mut self.plan, &mut self.executor);
        self.writes.plan(plan, &mut executor.checker)?;
        let (tables, script) = (&mut *self.tables, self.settings.script);
        self.meter.start();
        if self.settings.begins_transaction() {
            retry(&mut *self.meter, &mut self.backoff, script, || {
                executor.attempt_transaction(tables, plan)
            })?;
        } else {
            for (index, step) in plan.event.steps.iter().enumerate() {
                for part in 0..parts(*step) {
                    retry(&mut *self.meter, &mut self.backoff, script, || {
                        executor.attempt_statement(tables, plan, (index, part))
                    })?;
                }
            }
        }
        self.writes.complete(plan, &mut executor.checker);
        self.done += 1;
        if std::mem::take(&mut executor.lacks_row) {
            self.meter.not_found(TRANSACTION);
        }
        self.meter.finish(TRANSACTION);
        self.meter.finish_unit(TRANSACTION);
        Ok(())
    }

    /// The findings, and the report for the verification.
    fn finish(self) -> Result<(WorkerFindings, Vec<u8>)> {
        let checker = self.executor.checker;
        let findings = checker.tally.findings();
        let report = self.writes.into_report(self.done, checker.contents);
        Ok((findings, report.encode()?))
    }
}

/// Makes attempts until one meets no conflict.
fn retry(
    meter: &mut dyn Meter,
    backoff: &mut Backoff,
    script: Script,
    mut attempt: impl FnMut() -> EngineResult<()>,
) -> Result<()> {
    retry_with_backoff(
        meter,
        || script.word().to_owned(),
        |conflicts| backoff.pause(conflicts),
        |_| attempt(),
    )
}

/// The number of statements of a step.
fn parts(step: Step) -> usize {
    match step {
        Step::DeleteInsert(_) => 2,
        _ => 1,
    }
}

/// Sends the statements of one worker, and has their results checked.
struct Executor<'e> {
    mode: Mode,
    range_size: u32,
    bulk_rows: u32,
    checker: ReadChecker<'e>,
    /// Results.
    c: CText,
    texts: Vec<CText>,
    rows: Vec<Row>,
    /// Whether a delete found no row.
    lacks_row: bool,
}

impl Executor<'_> {
    /// Does every statement in one transaction. Of an attempt that fails no result counts.
    fn attempt_transaction(&mut self, tables: &mut dyn Tables, plan: &Plan) -> EngineResult<()> {
        let before = self.checker.tally;
        let outcome = in_transaction(tables, self.mode, |tables| {
            self.run_statements(tables, plan)
        });
        if outcome.is_err() {
            self.checker.tally = before;
        }
        outcome
    }

    fn run_statements(&mut self, tables: &mut dyn Tables, plan: &Plan) -> EngineResult<()> {
        for (index, step) in plan.event.steps.iter().enumerate() {
            for part in 0..parts(*step) {
                self.run_statement(tables, plan, (index, part))?;
            }
        }
        Ok(())
    }

    /// Does one statement as a transaction of its own.
    fn attempt_statement(
        &mut self,
        tables: &mut dyn Tables,
        plan: &Plan,
        place: (usize, usize),
    ) -> EngineResult<()> {
        let before = self.checker.tally;
        let outcome = self.run_statement(tables, plan, place);
        if outcome.is_err() {
            self.checker.tally = before;
        }
        outcome
    }

    fn run_statement(
        &mut self,
        tables: &mut dyn Tables,
        plan: &Plan,
        (index, part): (usize, usize),
    ) -> EngineResult<()> {
        let planned = &plan.steps[index];
        match plan.event.steps[index] {
            Step::PointSelect(row) => {
                let found = tables.select_c(row, &mut self.c)?;
                self.expect_row(tables, row, found)?;
                if found {
                    self.checker.check_point(row, planned.floor, &self.c);
                }
            }
            Step::Range(query, first) => self.select_range(tables, query, first, planned.floor)?,
            Step::SumRange(first) => {
                let ids = range_ids(first.id, self.range_size);
                let sum = tables.sum_k(first.table, ids.clone())?;
                self.checker.check_sum(first, &ids, sum);
            }
            Step::IndexUpdate(row) => {
                let found = tables.add_to_k(row)?;
                self.expect_row(tables, row, found)?;
            }
            Step::NonIndexUpdate(row) => {
                let found = tables.set_c(row, &planned.row.c)?;
                self.expect_row(tables, row, found)?;
            }
            Step::DeleteInsert(row) if part == 0 => {
                let found = tables.delete(row)?;
                self.expect_row(tables, row, found)?;
            }
            Step::DeleteInsert(row) | Step::Insert(row) => {
                tables.insert(row.table, &planned.row)?;
            }
            Step::Delete(row) => self.lacks_row = !tables.delete(row)?,
            Step::RandomPoints => {
                let ks = &plan.event.ks;
                tables.select_by_k(1, ks, &mut self.rows)?;
                self.checker.check_rows_by_k(1, ks, &self.rows);
            }
            Step::RandomRanges => {
                let ranges = &plan.event.ranges;
                let count = tables.count_k(1, ranges)?;
                self.checker.check_count(ranges, count);
            }
            Step::BulkInsert(first) => {
                let rows = self.bulk_rows;
                tables.insert_pairs(first.table, first.id, rows)?;
            }
        }
        Ok(())
    }

    fn select_range(
        &mut self,
        tables: &mut dyn Tables,
        query: RangeQuery,
        first: RowKey,
        floor: u32,
    ) -> EngineResult<()> {
        let ids = range_ids(first.id, self.range_size);
        let texts = &mut self.texts;
        tables.select_range(query, first.table, ids.clone(), texts)?;
        self.checker.check_range(query, first, (ids, floor), texts);
        Ok(())
    }

    /// Checks that a statement found its row. Where another transaction has deleted and inserted
    /// the row meanwhile, a statement of PostgreSQL that locks the row finds, at read committed,
    /// neither the old one nor the new one. It reports no conflict, so this does. Otherwise the row
    /// is lost.
    fn expect_row(
        &mut self,
        tables: &mut dyn Tables,
        row: RowKey,
        is_found: bool,
    ) -> EngineResult<()> {
        if is_found {
            return Ok(());
        }
        if tables.select_c(row, &mut self.c)? {
            let reason = "another transaction has replaced the row at the same time";
            return Err(EngineError::Conflict(reason.to_owned()));
        }
        self.checker.note_lost(row);
        Ok(())
    }
}
