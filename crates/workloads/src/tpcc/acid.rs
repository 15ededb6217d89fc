//! Tests of atomicity and isolation after clauses 3.2 and 3.4, on any engine and either store, at
//! the level of isolation that its write transactions have. Those of isolation that are here are
//! named for the phenomena of clause 3.4.1; those that clause 3.4.2 lays down are in [`isolation`].
//! All stop transactions half-way, which [`super::transaction`] does not, so they speak to
//! [`Tables`] themselves.

mod isolation;

use super::input::CustomerSelector;
use super::rows::{CustomerRow, DistrictKey, HistoryRow};
use super::store::{self, TableStore};
use super::tables::{CustomerChange, ReadIntent, Tables, UndeliveredOrder};
use super::{load, scale::Scale};
use crate::threads::join;
use crate::{Error, ErrorContext, JobDatabase};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use trueput_engine::{Mode, Result};
use trueput_record::measurement::Check;

/// The warehouse that the tests use.
const WAREHOUSE: u32 = 1;
const DISTRICT: u8 = 1;
const HOME: DistrictKey = DistrictKey::new(WAREHOUSE, DISTRICT);
const CUSTOMER: u32 = 1;
/// Increments of each thread of [`AcidSuite::updates_are_not_lost`].
const INCREMENTS: usize = 40;
/// Threads of it.
const THREADS: usize = 4;
/// The number of reads that look for an unfinished transaction's writes.
const READS: usize = 20;

/// The result of a test: an engine's error, except conflicts, which are retried.
type TestResult<T> = std::result::Result<T, Error>;

/// The suite on one database, which it fills.
pub struct AcidSuite<'a> {
    target: &'a JobDatabase<'a>,
    store: TableStore,
}

/// The way in which a transaction ends.
#[derive(Debug, Clone, Copy)]
enum CompletionMode {
    Commit,
    Abort,
}

impl<'a> AcidSuite<'a> {
    /// Loads a small population into a new database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn load(target: &'a JobDatabase<'a>, scale: &Scale, store: TableStore) -> TestResult<Self> {
        load::load(scale, store, target)?;
        Ok(Self { target, store })
    }

    /// Runs every test; each is a check.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts.
    pub fn run(&self) -> TestResult<Vec<Check>> {
        let mut checks = vec![
            self.an_aborted_payment_leaves_nothing()?,
            self.a_committed_payment_is_whole()?,
            self.what_is_not_committed_is_not_read()?,
            self.a_read_transaction_sees_one_state()?,
            self.updates_are_not_lost()?,
            self.no_order_is_delivered_twice()?,
        ];
        checks.extend(self.isolation()?);
        Ok(checks)
    }

    fn with<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&mut dyn Tables) -> Result<T>,
    ) -> TestResult<T> {
        let mut session = self.target.open_session()?;
        let mut tables = store::tables(&mut *session, self.store)?;
        work(&mut *tables).context(|| doing.to_owned())
    }

    /// Runs `body` in a transaction of a new session, and retries it after conflicts.
    fn transact<T>(
        &self,
        doing: &str,
        mode: Mode,
        end: CompletionMode,
        body: impl FnMut(&mut dyn Tables) -> Result<T>,
    ) -> TestResult<T> {
        self.with(doing, |tables| run_transaction(tables, mode, end, body))
    }

    /// W_YTD, D_YTD, C_BALANCE and the rows of HISTORY.
    fn balances(&self) -> TestResult<PaymentBalances> {
        let (doing, read) = ("reading what was paid", PaymentBalances::read);
        self.transact(doing, Mode::Read, CompletionMode::Abort, read)
    }

    /// Makes a payment in a transaction of a new session.
    fn pay(&self, writer: u32, amount: i64, end: CompletionMode) -> TestResult<()> {
        let payment = |tables: &mut dyn Tables| pay(tables, writer, amount);
        self.transact("paying", Mode::Write, end, payment)
    }

    /// Clause 3.2.2.2: a payment that is rolled back changes nothing.
    fn an_aborted_payment_leaves_nothing(&self) -> TestResult<Check> {
        let before = self.balances()?;
        self.pay(1, 100, CompletionMode::Abort)?;
        let name = "atomicity (clause 3.2.2.2): a payment that is rolled back leaves nothing";
        Ok(compare(name, before, self.balances()?))
    }

    /// Clause 3.2.2.1: a committed payment is in every table.
    fn a_committed_payment_is_whole(&self) -> TestResult<Check> {
        let before = self.balances()?;
        self.pay(2, 100, CompletionMode::Commit)?;
        let name =
            "atomicity (clause 3.2.2.1): a payment that is committed is there in every table";
        Ok(compare(name, before.after(100), self.balances()?))
    }

    /// Dirty read (P1 of clause 3.4.1): nobody reads the writes of a payment that is later rolled
    /// back. An engine may make the reader wait or report a conflict.
    fn what_is_not_committed_is_not_read(&self) -> TestResult<Check> {
        let name =
            "isolation (after clause 3.4.1, dirty read P1): what is not committed is not read";
        let before = self.balances()?;
        let is_written = AtomicBool::new(false);
        let is_over = AtomicBool::new(false);
        let reading = || -> TestResult<Option<PaymentBalances>> {
            while !is_written.load(Relaxed) {
                std::thread::yield_now();
            }
            let mut seen = None;
            for _ in 0..READS {
                let read = self.with("reading what was paid", |tables| {
                    let (mode, stop) = (Mode::Read, CompletionMode::Abort);
                    none_after_conflict(attempt(tables, mode, stop, PaymentBalances::read))
                })?;
                seen = seen.or(read.filter(|money| *money != before));
            }
            is_over.store(true, Relaxed);
            Ok(seen)
        };
        let seen = std::thread::scope(|scope| {
            let reader = scope.spawn(reading);
            let written = self.with("paying", |tables| {
                tables.begin(Mode::Write)?;
                let paid = pay(tables, 3, 100);
                is_written.store(true, Relaxed);
                wait_for(&is_over);
                let ended = tables.abort();
                paid.and(ended)
            });
            is_written.store(true, Relaxed);
            let seen = join(reader);
            written.and(seen)
        })?;
        let found = seen.map_or(before, |seen| seen);
        Ok(compare(name, before, found))
    }

    /// Non-repeatable read (P2 of clause 3.4.1): a read transaction reads the same data again,
    /// whatever others commit meanwhile.
    fn a_read_transaction_sees_one_state(&self) -> TestResult<Check> {
        let name = "isolation (after clause 3.4.1, non-repeatable read P2): a read transaction \
                    sees one state";
        let (has_read, has_paid) = (AtomicBool::new(false), AtomicBool::new(false));
        let paying = || -> TestResult<()> {
            wait_for(&has_read);
            let paid = self.pay(4, 100, CompletionMode::Commit);
            has_paid.store(true, Relaxed);
            paid
        };
        let (first, second) = std::thread::scope(|scope| {
            let payer = scope.spawn(paying);
            let read = self.with("reading what was paid twice", |tables| {
                tables.begin(Mode::Read)?;
                let first = PaymentBalances::read(tables);
                has_read.store(true, Relaxed);
                wait_for(&has_paid);
                let second = PaymentBalances::read(tables);
                let ended = tables.abort();
                first.and_then(|first| second.and_then(|second| ended.map(|()| (first, second))))
            });
            has_read.store(true, Relaxed);
            join(payer).and(read)
        })?;
        Ok(compare(name, first, second))
    }

    /// Dirty write (P0 of clause 3.4.1): payments of several sessions to one customer all count.
    fn updates_are_not_lost(&self) -> TestResult<Check> {
        let name = "isolation (after clause 3.4.1, dirty write P0): no update is lost";
        let before = self.balances()?;
        let paying = |thread: usize| -> TestResult<()> {
            self.with("paying", |tables| {
                (0..INCREMENTS).try_for_each(|number| {
                    let writer = 10 + (thread * INCREMENTS + number) as u32;
                    let payment = |tables: &mut dyn Tables| pay(tables, writer, 1);
                    run_transaction(tables, Mode::Write, CompletionMode::Commit, payment)
                })
            })
        };
        std::thread::scope(|scope| {
            let start = |thread| scope.spawn(move || paying(thread));
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            threads.into_iter().try_for_each(join)
        })?;
        let expected = (0..THREADS * INCREMENTS).fold(before, |money, _| money.after(1));
        Ok(compare(name, expected, self.balances()?))
    }

    /// Phantom (P3 of clause 3.4.1): deliveries of several sessions each look for the oldest
    /// new-orders, and no new-order is taken by two.
    fn no_order_is_delivered_twice(&self) -> TestResult<Check> {
        let name = "isolation (after clause 3.4.1, phantom P3): no order is delivered twice";
        let delivering = || -> TestResult<Vec<UndeliveredOrder>> {
            self.with("delivering", |tables| {
                let mut all = Vec::new();
                for _ in 0..2 {
                    let mut due = Vec::new();
                    run_transaction(tables, Mode::Write, CompletionMode::Commit, |tables| {
                        tables.take_oldest_new_orders(WAREHOUSE, &mut due)
                    })?;
                    all.extend(due);
                }
                Ok(all)
            })
        };
        let mut taken = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(delivering)).collect();
            let mut taken = Vec::new();
            for thread in threads {
                taken.extend(join(thread)?);
            }
            Ok::<_, Error>(taken)
        })?;
        let all = taken.len();
        taken.sort_unstable_by_key(|due| (due.district, due.order));
        taken.dedup();
        let twice = all - taken.len();
        let detail = format!("{all} taken, {twice} of them twice");
        Ok(Check::new(name, twice == 0 && all > 0, detail))
    }
}

/// The balances that a payment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PaymentBalances {
    warehouse: i64,
    district: i64,
    balance: i64,
    histories: u64,
}

impl PaymentBalances {
    fn read(tables: &mut dyn Tables) -> Result<Self> {
        let mut row = CustomerRow::default();
        let who = CustomerSelector::Number(CUSTOMER);
        tables.customer(HOME, &who, ReadIntent::Show, &mut row)?;
        let mut histories = 0;
        tables.each_history(&mut |_| histories += 1)?;
        Ok(Self {
            warehouse: tables.warehouse_ytd(WAREHOUSE)?,
            district: tables.district_state(HOME)?.ytd,
            balance: row.balance,
            histories,
        })
    }

    /// Returns the balances after a payment.
    fn after(self, amount: i64) -> Self {
        Self {
            warehouse: self.warehouse + amount,
            district: self.district + amount,
            balance: self.balance - amount,
            histories: self.histories + 1,
        }
    }
}

fn compare(name: &str, expected: PaymentBalances, found: PaymentBalances) -> Check {
    let passed = expected == found;
    let detail = if passed {
        format!("{found:?}")
    } else {
        format!("expected {expected:?}, found {found:?}")
    };
    Check::new(name, passed, detail)
}

/// Waits for the flag with a limit: if the engine makes one transaction wait for the other, the
/// test goes on after it, and neither has seen the other's writes.
fn wait_for(flag: &AtomicBool) {
    is_raised_within(flag, Duration::from_secs(2));
}

/// Waits for a flag; whether it was raised in time.
fn is_raised_within(flag: &AtomicBool, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while !flag.load(Relaxed) {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// The writes of a payment.
fn pay(tables: &mut dyn Tables, writer: u32, amount: i64) -> Result<()> {
    let mut row = CustomerRow::default();
    let who = CustomerSelector::Number(CUSTOMER);
    tables.customer(HOME, &who, ReadIntent::Pay, &mut row)?;
    tables.pay_customer(&CustomerChange {
        warehouse: WAREHOUSE,
        district: DISTRICT,
        customer: CUSTOMER,
        balance: row.balance - amount,
        ytd_payment: row.ytd_payment + amount,
        payment_count: row.payment_count + 1,
        data: None,
    })?;
    tables.pay_district(HOME, amount)?;
    tables.pay_warehouse(WAREHOUSE, amount)?;
    tables.insert_history(&HistoryRow {
        writer: 1_000 + writer,
        number: 0,
        customer_warehouse: WAREHOUSE,
        customer_district: DISTRICT,
        customer: CUSTOMER,
        warehouse: WAREHOUSE,
        district: DISTRICT,
        at: 0,
        amount,
        ..HistoryRow::default()
    })
}

/// Does `body` in a transaction once.
fn attempt<T>(
    tables: &mut dyn Tables,
    mode: Mode,
    stop: CompletionMode,
    body: impl FnOnce(&mut dyn Tables) -> Result<T>,
) -> Result<T> {
    tables.begin(mode)?;
    let done = body(tables);
    end_transaction(tables, stop, done)
}

/// Ends a transaction of which `done` came.
fn end_transaction<T>(tables: &mut dyn Tables, stop: CompletionMode, done: Result<T>) -> Result<T> {
    match done {
        Ok(value) => match stop {
            CompletionMode::Commit => tables.commit().map(|()| value),
            CompletionMode::Abort => tables.abort().map(|()| value),
        },
        Err(error) => {
            // This error is more specific than one from the abort.
            let _ = tables.abort();
            Err(error)
        }
    }
}

/// `None` if it was a conflict.
fn none_after_conflict<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Err(error) if error.is_conflict() => Ok(None),
        done => done.map(Some),
    }
}

/// Does `body` in a transaction until that meets no conflict.
fn run_transaction<T>(
    tables: &mut dyn Tables,
    mode: Mode,
    stop: CompletionMode,
    mut body: impl FnMut(&mut dyn Tables) -> Result<T>,
) -> Result<T> {
    retry_conflicts(|| attempt(tables, mode, stop, &mut body))
}

/// Retries until there is no conflict. Unlike [`keyed::transaction::retry`], it keeps the engine's
/// error, which a test reports, and lets the other session of the test go on first.
///
/// [`keyed::transaction::retry`]: crate::keyed::transaction::retry
fn retry_conflicts<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        if let Some(value) = none_after_conflict(attempt())? {
            return Ok(value);
        }
        std::thread::yield_now();
    }
}
