//! One worker: its terminals' users key in, wait for the answer, and think.

use super::input::{Delivery, Input, TerminalUsers};
use super::procedures::NewOrderOutcome;
use super::rows::Table;
use super::settings::Settings;
use super::store;
use super::tables::Tables;
use super::transaction::{self, TransactionBuffers};
use super::{consistency, kinds};
use crate::keyed::backoff::Backoff;
use crate::keyed::transaction::retry_with_backoff;
use crate::{JobTask, Meter, Result, WorkerFindings};
use trueput_engine::Error as EngineError;
use trueput_record::WorkerKind;

const SECOND_NS: u64 = 1_000_000_000;

/// Seconds that a user keys in, and thinks on average, by kind (clauses 5.2.5.2 and 5.2.5.4, in the
/// order of [`kinds`]).
const KEYING_S: [u64; 5] = [18, 3, 2, 2, 2];
const THINKING_S: [u64; 5] = [12, 12, 10, 5, 5];

/// The number of transactions that a worker has done, including its warm-up.
#[derive(Debug, Default)]
struct TransactionCounts {
    new_orders: u64,
    rolled_back: u64,
    payments: u64,
    statuses_without_order: u64,
    delivered_orders: u64,
    skipped_districts: u64,
    deliveries: u64,
}

impl TransactionCounts {
    fn findings(&self) -> WorkerFindings {
        let found = [
            ("new orders", self.new_orders),
            ("rolled back", self.rolled_back),
            ("payments", self.payments),
            ("statuses without order", self.statuses_without_order),
            ("delivered orders", self.delivered_orders),
            ("skipped districts", self.skipped_districts),
            ("deliveries", self.deliveries),
        ];
        found.map(|(name, count)| (name.to_owned(), count)).into()
    }
}

/// Does a worker's share.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn run(task: &mut JobTask<'_>, settings: &Settings) -> Result<WorkerFindings> {
    let (worker, workers) = (task.worker, task.workers);
    let users = TerminalUsers::new(
        settings.scale,
        settings.remote,
        task.seed,
        (worker, workers),
    );
    let mut terminal = Terminal {
        tables: store::tables(&mut *task.session, settings.store)?,
        meter: &mut *task.meter,
        users,
        backoff: Backoff::new(settings.retry_pause_us, task.seed, worker),
        scratch: TransactionBuffers::default(),
        // The load is writer 0.
        writer: worker + 1,
        payments: 0,
        counts: TransactionCounts::default(),
    };
    let mut left = settings.share(worker, workers);
    while left != Some(0) && terminal.meter.next_unit() {
        let warming = terminal.meter.is_warming_up();
        let input = terminal.users.next_input();
        let goes_on = if settings.is_paced {
            terminal.run_terminal_cycle(&input)?
        } else {
            terminal.meter.start();
            let kind = terminal.transact(&input)?;
            terminal.record_answer(kind);
            true
        };
        if !goes_on {
            break;
        }
        if !warming {
            terminal.meter.advance(1);
            left = left.map(|left| left - 1);
        }
    }
    Ok(terminal.counts.findings())
}

struct Terminal<'t> {
    tables: Box<dyn Tables + 't>,
    meter: &'t mut dyn Meter,
    users: TerminalUsers,
    backoff: Backoff,
    scratch: TransactionBuffers,
    writer: u32,
    payments: u64,
    counts: TransactionCounts,
}

impl Terminal<'_> {
    fn record_answer(&mut self, kind: usize) {
        self.meter.finish(kind);
        self.meter.finish_unit(kind);
    }

    /// One cycle of a terminal (clause 5.2.1): the user keys in, waits for the answer, and thinks.
    /// A delivery is answered when it is queued, and is executed while the user thinks (clause
    /// 2.7.1). Returns `false` if the time is up before the user has finished keying in or
    /// thinking.
    fn run_terminal_cycle(&mut self, input: &Input) -> Result<bool> {
        let kind = kinds::of(input);
        let began = self.meter.timestamp();
        if !self.meter.wait_since(began, KEYING_S[kind] * SECOND_NS) {
            return Ok(false);
        }
        let think_ns = self.users.think_ns(THINKING_S[kind] * SECOND_NS);
        self.meter.start();
        let queued = self.meter.timestamp();
        let done = self.transact(input)?;
        self.record_answer(done);
        let answered = match input {
            Input::Delivery(_) => queued,
            _ => self.meter.timestamp(),
        };
        Ok(self.meter.wait_since(answered, think_ns))
    }

    /// Does one transaction until it meets no conflict; the kind that it was.
    fn transact(&mut self, input: &Input) -> Result<usize> {
        let at = self.meter.date_us();
        let kind = match input {
            Input::NewOrder(order) => match self.retry("new-order", |tables, scratch| {
                transaction::new_order(tables, scratch, order, at)
            })? {
                NewOrderOutcome::Committed { .. } => {
                    self.counts.new_orders += 1;
                    kinds::NEW_ORDER
                }
                NewOrderOutcome::RolledBack => {
                    self.counts.rolled_back += 1;
                    kinds::ROLLED_BACK
                }
            },
            Input::Payment(payment) => {
                // An aborted attempt has left no row, so its number is used again.
                let key = (self.writer, self.payments);
                self.retry("payment", |tables, scratch| {
                    transaction::payment(tables, scratch, payment, at, key)
                })?;
                self.payments += 1;
                self.counts.payments += 1;
                kinds::PAYMENT
            }
            Input::OrderStatus(status) => {
                let lines = self.retry("order-status", |tables, scratch| {
                    transaction::order_status(tables, scratch, status)
                })?;
                self.counts.statuses_without_order += u64::from(lines.is_none());
                kinds::ORDER_STATUS
            }
            Input::Delivery(delivery) => {
                self.deliver(delivery, at)?;
                kinds::DELIVERY
            }
            Input::StockLevel(level) => {
                let low = self.retry("stock-level", |tables, _| {
                    transaction::stock_level(tables, level)
                })?;
                std::hint::black_box(low);
                kinds::STOCK_LEVEL
            }
        };
        Ok(kind)
    }

    /// Executes a delivery. What clause 2.7.2.2 has written to a file is counted: orders delivered
    /// and districts skipped.
    fn deliver(&mut self, delivery: &Delivery, at: i64) -> Result<()> {
        let delivered = self.retry("delivery", |tables, scratch| {
            transaction::delivery(tables, scratch, delivery, at)
        })?;
        self.counts.deliveries += 1;
        self.counts.delivered_orders += delivered as u64;
        self.counts.skipped_districts += u64::from(super::rows::DISTRICTS) - delivered as u64;
        Ok(())
    }

    fn retry<T>(
        &mut self,
        doing: &str,
        mut attempt: impl FnMut(&mut dyn Tables, &mut TransactionBuffers) -> Result<T, EngineError>,
    ) -> Result<T> {
        let backoff = &mut self.backoff;
        let (tables, scratch) = (&mut *self.tables, &mut self.scratch);
        retry_with_backoff(
            &mut *self.meter,
            || doing.to_owned(),
            |conflicts| backoff.pause(conflicts),
            |_| attempt(tables, scratch),
        )
    }
}

/// Reads tables into the cache. Threads of one process share its cache, so each reads every n-th
/// warehouse (a single thread reads all); a process of its own reads all.
pub(super) fn prime(
    session: &mut dyn trueput_engine::Session,
    settings: &Settings,
    (worker, workers, kind): (u32, u32, WorkerKind),
) -> Result<()> {
    if settings.prime.is_empty() {
        return Ok(());
    }
    let mut tables = store::tables(session, settings.store)?;
    let (own, all) = match kind {
        WorkerKind::Threads => (worker, workers),
        WorkerKind::Processes => (0, 1),
    };
    for &table in settings.prime {
        let is_of_none = matches!(table, Table::Item | Table::History);
        let pieces = if is_of_none {
            1
        } else {
            settings.scale.warehouses
        };
        for piece in (0..pieces).filter(|piece| piece % all == own) {
            let doing = || format!("reading the table {} into the cache", table.name());
            consistency::read_in_transaction(&mut *tables, doing, |tables| {
                tables.prime(table, piece + 1)
            })?;
        }
    }
    Ok(())
}
