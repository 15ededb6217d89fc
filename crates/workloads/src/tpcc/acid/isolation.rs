//! The isolation tests 1 to 9 that TPC-C revision 5.11 lays down in clauses 3.4.2.1 to 3.4.2.9.
//!
//! In each, a transaction T1 stops half-way, a second one is begun during it, and T1 goes on when
//! that has ended or has been waited for. What stops, where, and what is verified is after the
//! clause that each test names. Other than the clauses, which are written for engines that lock:
//!
//! - Neither order is asked for. Tests 1 to 6 have the second transaction wait; clause 3.4.2 leaves
//!   it to other schemes to be tested in another way. Here one that does not wait may see what was
//!   committed before it began, and nothing else.
//! - A transaction that the engine aborts (a conflict) is tried again where it is the second, as
//!   terminals do. Where it is the first it counts as rolled back, and the rest is held to that.
//! - Customer, district and items are not drawn at random.
//! - Test 8 empties the district by deliveries, so that the tables stay consistent.
//!
//! Each check says which case was followed, as the comments of clauses 3.4.2.7 to 3.4.2.9 ask.

use super::{
    AcidSuite, CUSTOMER, CompletionMode, DISTRICT, HOME, TestResult, WAREHOUSE, end_transaction,
    is_raised_within, none_after_conflict, retry_conflicts, run_transaction,
};
use crate::threads::join;
use crate::tpcc::input::{CustomerSelector, Delivery, Line, NewOrder, Payment};
use crate::tpcc::procedures::NewOrderOutcome;
use crate::tpcc::rows::{CustomerRow, OrderLineRow, OrderRow};
use crate::tpcc::tables::{ReadIntent, Tables};
use crate::tpcc::transaction::{self, TransactionBuffers};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use trueput_engine::{Error, Mode, Result};
use trueput_record::measurement::Check;

/// The pause of T1: a second transaction that has not ended by then is taken to wait for it.
const PAUSE: Duration = Duration::from_millis(400);
/// The maximum time that the second transaction waits for T1 to reach its pause.
const HALF_WAY_TIMEOUT: Duration = Duration::from_secs(60);
/// The items x and y of test 7, followed by the items that fill the orders up to five lines.
const ITEMS: [u32; 2] = [1, 2];
const LINES: [(u32, u8); 5] = [(1, 3), (2, 4), (1, 5), (3, 1), (4, 2)];
/// The amount that is paid in tests 5 and 6, cents.
const PAID: i64 = 700;
/// O_CARRIER_ID of the deliveries.
const CARRIER: u8 = 7;
/// The entry date of the tests' rows.
const AT: i64 = 0;
/// The first writer of history rows of these payments.
const WRITER: u32 = 2_000;

/// The results of two concurrent transactions.
struct ConcurrentResults<R, S> {
    /// The result of T1; `None` if the engine rolled it back.
    first: Option<R>,
    second: S,
    /// Whether the second had ended before T1 went on.
    has_overtaken: bool,
}

impl<R, S> ConcurrentResults<R, S> {
    /// The name of the case that the engine followed.
    fn case(&self) -> &'static str {
        match (&self.first, self.has_overtaken) {
            (Some(_), true) => "the second did not wait",
            (Some(_), false) => "the second ended after the first",
            (None, _) => "the engine rolled the first back",
        }
    }

    /// The check that `found` is one of `allowed`.
    fn check<T: Debug + PartialEq>(&self, name: &str, found: &T, allowed: &[T]) -> Check {
        let case = self.case();
        let passed = allowed.contains(found);
        let detail = match (passed, allowed) {
            (true, _) => case.to_owned(),
            (false, [one]) => format!("{case}: expected {one:?}, found {found:?}"),
            (false, _) => format!("{case}: expected one of {allowed:?}, found {found:?}"),
        };
        Check::new(name, passed, detail)
    }
}

/// The customer's last order, as an order-status shows it.
#[derive(Debug, Clone, PartialEq)]
struct LastOrder {
    order: Option<OrderRow>,
    lines: Vec<OrderLineRow>,
}

impl LastOrder {
    fn read(tables: &mut dyn Tables) -> Result<Self> {
        let mut row = CustomerRow::default();
        let who = CustomerSelector::Number(CUSTOMER);
        tables.customer(HOME, &who, ReadIntent::Show, &mut row)?;
        let order = tables.last_order(HOME, row.id)?;
        let mut lines = Vec::new();
        if let Some(order) = order {
            tables.order_lines(HOME, order.id, &mut lines)?;
        }
        Ok(Self { order, lines })
    }

    /// O_ID, and item and quantity of each line.
    fn entered(&self) -> (Option<u32>, Vec<(u32, u8)>) {
        let lines = self.lines.iter().map(|line| (line.item, line.quantity));
        (self.order.map(|order| order.id), lines.collect())
    }
}

impl AcidSuite<'_> {
    /// Runs the nine tests; each is a check.
    pub(super) fn isolation(&self) -> TestResult<Vec<Check>> {
        Ok(vec![
            self.an_order_status_during_a_new_order(CompletionMode::Commit)?,
            self.an_order_status_during_a_new_order(CompletionMode::Abort)?,
            self.two_new_orders(CompletionMode::Commit)?,
            self.two_new_orders(CompletionMode::Abort)?,
            self.a_payment_during_a_delivery(CompletionMode::Commit)?,
            self.a_payment_during_a_delivery(CompletionMode::Abort)?,
            self.prices_changed_during_a_new_order()?,
            self.a_new_order_during_a_delivery()?,
            self.a_new_order_during_an_order_status()?,
        ])
    }

    /// Begins T1 with `start`, has `second` done during it, and goes on with `rest`.
    fn run_concurrently<A, R, S: Send>(
        &self,
        (mode, stop): (Mode, CompletionMode),
        mut start: impl FnMut(&mut dyn Tables) -> Result<A>,
        mut second: impl FnMut(&mut dyn Tables) -> Result<S> + Send,
        rest: impl FnOnce(&mut dyn Tables, A) -> Result<R>,
    ) -> TestResult<ConcurrentResults<R, S>> {
        let (is_half_way, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let run_second = || {
            let done = self.with("the second transaction", |tables| {
                is_raised_within(&is_half_way, HALF_WAY_TIMEOUT);
                retry_conflicts(|| second(tables))
            });
            is_over.store(true, Relaxed);
            done
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(run_second);
            let first = self.with("the first transaction", |tables| {
                let started = retry_conflicts(|| begin_transaction(tables, mode, &mut start))?;
                is_half_way.store(true, Relaxed);
                let has_overtaken = is_raised_within(&is_over, PAUSE);
                let done = rest(tables, started);
                let first = none_after_conflict(end_transaction(tables, stop, done))?;
                Ok((first, has_overtaken))
            });
            // After an error, the second must not wait for it.
            is_half_way.store(true, Relaxed);
            let second = join(thread)?;
            let (first, has_overtaken) = first?;
            Ok(ConcurrentResults {
                first,
                second,
                has_overtaken,
            })
        })
    }

    fn read<T>(&self, read: impl FnMut(&mut dyn Tables) -> Result<T>) -> TestResult<T> {
        self.transact("reading", Mode::Read, CompletionMode::Commit, read)
    }

    /// Clauses 3.4.2.1 and 3.4.2.2: T1 is a new-order that stops before its end, the second an
    /// order-status of its customer, which sees the order of T1 or the one before it, and not the
    /// former unless T1 was committed first.
    fn an_order_status_during_a_new_order(&self, stop: CompletionMode) -> TestResult<Check> {
        let name = match stop {
            CompletionMode::Commit => {
                "isolation test 1 (clause 3.4.2.1): an order-status during a new-order that commits"
            }
            CompletionMode::Abort => {
                "isolation test 2 (clause 3.4.2.2): an order-status during a new-order that is \
                 rolled back"
            }
        };
        let before = self.read(LastOrder::read)?;
        let status = |tables: &mut dyn Tables| {
            run_transaction(tables, Mode::Read, CompletionMode::Commit, LastOrder::read)
        };
        let run = self.run_concurrently((Mode::Write, stop), place_own_order, status, unchanged)?;
        let after = self.read(LastOrder::read)?;
        let left = match (stop, run.first) {
            (CompletionMode::Commit, Some(order)) => (Some(order), LINES.to_vec()),
            _ => before.entered(),
        };
        if after.entered() != left {
            return Ok(run.check(name, &after.entered(), &[left]));
        }
        let allowed = if run.has_overtaken {
            vec![before]
        } else {
            vec![before, after]
        };
        Ok(run.check(name, &run.second, &allowed))
    }

    /// Clauses 3.4.2.3 and 3.4.2.4: T1 is a new-order that stops before its end, the second another
    /// of the same customer, whose number is the next after that of T1, or its own where T1 was
    /// rolled back. D_NEXT_O_ID is one greater than the last number.
    fn two_new_orders(&self, stop: CompletionMode) -> TestResult<Check> {
        let name = match stop {
            CompletionMode::Commit => {
                "isolation test 3 (clause 3.4.2.3): two new-orders, of which the first commits"
            }
            CompletionMode::Abort => {
                "isolation test 4 (clause 3.4.2.4): two new-orders, of which the first is rolled \
                 back"
            }
        };
        let next = self.next_order()?;
        let run = self.run_concurrently((Mode::Write, stop), place_own_order, order, unchanged)?;
        let expected = match (stop, run.first) {
            (CompletionMode::Commit, Some(_)) => (Some(next), next + 1, next + 2),
            (CompletionMode::Abort, Some(_)) => (Some(next), next, next + 1),
            (_, None) => (None, next, next + 1),
        };
        let found = (run.first, run.second, self.next_order()?);
        Ok(run.check(name, &found, &[expected]))
    }

    /// D_NEXT_O_ID.
    fn next_order(&self) -> TestResult<u32> {
        let state = self.read(|tables| tables.district_state(HOME))?;
        Ok(state.next_order)
    }

    /// Clauses 3.4.2.5 and 3.4.2.6: T1 is a delivery that stops before its end, the second a
    /// payment of a customer whose order is being delivered. C_BALANCE has both in it, or the
    /// payment only where T1 was rolled back.
    fn a_payment_during_a_delivery(&self, stop: CompletionMode) -> TestResult<Check> {
        let (name, writer) = match stop {
            CompletionMode::Commit => (
                "isolation test 5 (clause 3.4.2.5): a payment during a delivery that commits",
                WRITER,
            ),
            CompletionMode::Abort => (
                "isolation test 6 (clause 3.4.2.6): a payment during a delivery that is rolled \
                 back",
                WRITER + 1,
            ),
        };
        // There is something to deliver.
        self.with("ordering", |tables| retry_conflicts(|| order(tables)))?;
        let customer = self.read(customer_of_oldest)?;
        let before = self.read(|tables| balance(tables, customer))?;
        let payment = Payment {
            warehouse: WAREHOUSE,
            district: DISTRICT,
            customer_warehouse: WAREHOUSE,
            customer_district: DISTRICT,
            who: CustomerSelector::Number(customer),
            amount: PAID,
        };
        let pay = |tables: &mut dyn Tables| {
            let mut scratch = TransactionBuffers::default();
            transaction::payment(tables, &mut scratch, &payment, AT, (writer, 0))
        };
        let run = self.run_concurrently((Mode::Write, stop), deliver, pay, unchanged)?;
        let delivered = match (stop, run.first) {
            (CompletionMode::Commit, Some(amount)) => amount,
            _ => 0,
        };
        let after = self.read(|tables| balance(tables, customer))?;
        Ok(run.check(name, &after, &[before + delivered - PAID]))
    }

    /// Clause 3.4.2.7: a new-order stops when it has read the price of item x, prices of x and y
    /// are raised by a tenth during it, and it goes on to read x again, and y: every line has the
    /// price that was there when it began, unless it is rolled back (the clause's case B). The
    /// prices are the new ones afterwards (cases A, B and D; C does not come, as the change is
    /// tried again).
    fn prices_changed_during_a_new_order(&self) -> TestResult<Check> {
        let name = "isolation test 7 (clause 3.4.2.7): prices changed during a new-order";
        let old = self.read(prices)?;
        let new = old.map(|price| price + price / 10);
        let change = |tables: &mut dyn Tables| {
            run_transaction(tables, Mode::Write, CompletionMode::Commit, |tables| {
                let mut changes = ITEMS.into_iter().zip(new);
                changes.try_for_each(|(item, price)| tables.set_price(item, price))
            })
        };
        let first_read = |tables: &mut dyn Tables| price(tables, ITEMS[0]);
        let rest = |tables: &mut dyn Tables, seen| Ok((seen, place_own_order(tables)?));
        let kind = (Mode::Write, CompletionMode::Commit);
        let run = self.run_concurrently(kind, first_read, change, rest)?;
        let now = self.read(prices)?;
        if now != new {
            return Ok(run.check(name, &now, &[new]));
        }
        let Some((seen, order)) = run.first else {
            return Ok(run.check(name, &now, &[new]));
        };
        let mut lines = Vec::new();
        self.read(|tables| tables.order_lines(HOME, order, &mut lines))?;
        let each = lines.iter().take(3);
        let mut found = vec![seen];
        found.extend(each.map(|line| line.amount / i64::from(line.quantity.max(1))));
        let [x, y] = old;
        Ok(run.check(name, &found, &[vec![x, x, y, x]]))
    }

    /// Clause 3.4.2.8: a delivery stops when it has found no row of NEW-ORDER, a new-order is
    /// placed during it, and the delivery looks again: there is still none.
    fn a_new_order_during_a_delivery(&self) -> TestResult<Check> {
        let name = "isolation test 8 (clause 3.4.2.8): a new-order during a delivery";
        while self.with("delivering", |tables| {
            let (mut scratch, input) = (TransactionBuffers::default(), DELIVERY);
            retry_conflicts(|| transaction::delivery(tables, &mut scratch, &input, AT))
        })? > 0
        {}
        let look = |tables: &mut dyn Tables| {
            let mut due = Vec::new();
            tables.take_oldest_new_orders(WAREHOUSE, &mut due)?;
            Ok(due.len())
        };
        let second_read = |tables: &mut dyn Tables, found| Ok((found, new_orders(tables)?));
        let kind = (Mode::Write, CompletionMode::Commit);
        let run = self.run_concurrently(kind, look, order, second_read)?;
        let left = self.read(new_orders)?;
        match &run.first {
            Some(seen) if left == [run.second] => Ok(run.check(name, seen, &[(0, vec![])])),
            _ => Ok(run.check(name, &left, &[vec![run.second]])),
        }
    }

    /// Clause 3.4.2.9: an order-status stops when it has read the customer's last order, a
    /// new-order of that customer is placed during it, and the order-status looks again: it is the
    /// same order.
    fn a_new_order_during_an_order_status(&self) -> TestResult<Check> {
        let name = "isolation test 9 (clause 3.4.2.9): a new-order during an order-status";
        let before = self.read(last_order)?;
        let second_read = |tables: &mut dyn Tables, seen| Ok((seen, last_order(tables)?));
        let kind = (Mode::Read, CompletionMode::Commit);
        let run = self.run_concurrently(kind, last_order, order, second_read)?;
        let after = self.read(last_order)?;
        match &run.first {
            Some(seen) if after == Some(run.second) => {
                Ok(run.check(name, seen, &[(before, before)]))
            }
            _ => Ok(run.check(name, &after, &[Some(run.second)])),
        }
    }
}

const DELIVERY: Delivery = Delivery {
    warehouse: WAREHOUSE,
    carrier: CARRIER,
};

fn unchanged<T>(_: &mut dyn Tables, value: T) -> Result<T> {
    Ok(value)
}

/// Begins a transaction and leaves it open.
fn begin_transaction<T>(
    tables: &mut dyn Tables,
    mode: Mode,
    start: &mut impl FnMut(&mut dyn Tables) -> Result<T>,
) -> Result<T> {
    tables.begin(mode)?;
    start(tables).inspect_err(|_| {
        // This error is more specific than one from the abort.
        let _ = tables.abort();
    })
}

fn input() -> NewOrder {
    let lines = LINES.map(|(item, quantity)| Line {
        item,
        supplier: WAREHOUSE,
        quantity,
    });
    NewOrder::of(WAREHOUSE, DISTRICT, CUSTOMER, &lines)
}

fn number(ordered: NewOrderOutcome) -> Result<u32> {
    match ordered {
        NewOrderOutcome::Committed { order, .. } => Ok(order),
        NewOrderOutcome::RolledBack => Err(Error::engine("an item is not there")),
    }
}

/// All of a new-order but its end; its O_ID.
fn place_own_order(tables: &mut dyn Tables) -> Result<u32> {
    let (ordered, _) =
        transaction::place_order(tables, &mut TransactionBuffers::default(), &input(), AT)?;
    number(ordered)
}

/// A whole new-order; its O_ID.
fn order(tables: &mut dyn Tables) -> Result<u32> {
    number(transaction::new_order(
        tables,
        &mut TransactionBuffers::default(),
        &input(),
        AT,
    )?)
}

/// Does a delivery except for its commit; returns the total of the order of the tests' district,
/// cents.
fn deliver(tables: &mut dyn Tables) -> Result<i64> {
    let mut scratch = TransactionBuffers::default();
    let delivered = transaction::deliver(tables, &mut scratch, &DELIVERY, AT)?;
    let mut of_district = delivered.iter().filter(|one| one.district == DISTRICT);
    let due = of_district.next().map(|one| one.amount);
    due.ok_or_else(|| Error::engine("nothing was delivered"))
}

/// O_C_ID of the oldest order that is to be delivered.
fn customer_of_oldest(tables: &mut dyn Tables) -> Result<u32> {
    let oldest = new_orders(tables)?.first().copied();
    let mut customer = None;
    tables.each_order(HOME, &mut |order| {
        if Some(order.id) == oldest {
            customer = Some(order.customer);
        }
    })?;
    customer.ok_or_else(|| Error::engine("there is nothing to deliver"))
}

fn new_orders(tables: &mut dyn Tables) -> Result<Vec<u32>> {
    let mut orders = Vec::new();
    tables.each_new_order(HOME, &mut |order| orders.push(order))?;
    Ok(orders)
}

/// C_BALANCE, cents.
fn balance(tables: &mut dyn Tables, customer: u32) -> Result<i64> {
    let mut row = CustomerRow::default();
    let who = CustomerSelector::Number(customer);
    tables.customer(HOME, &who, ReadIntent::Show, &mut row)?;
    Ok(row.balance)
}

/// I_PRICE, cents.
fn price(tables: &mut dyn Tables, item: u32) -> Result<i64> {
    let mut items = Vec::new();
    tables.items(&[item], &mut items)?;
    let found = items.into_iter().flatten().next();
    found
        .map(|item| item.price)
        .ok_or_else(|| Error::engine("an item is not there"))
}

fn prices(tables: &mut dyn Tables) -> Result<[i64; 2]> {
    let [x, y] = ITEMS;
    Ok([price(tables, x)?, price(tables, y)?])
}

/// O_ID of the customer's last order.
fn last_order(tables: &mut dyn Tables) -> Result<Option<u32>> {
    let order = tables.last_order(HOME, CUSTOMER)?;
    Ok(order.map(|order| order.id))
}
