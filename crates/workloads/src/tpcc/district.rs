//! The totals of one district: its orders with their lines, its new-orders and its customers, held
//! against each other.

use super::conditions::{CheckPhase, ConditionCounts};
use super::rows::DistrictKey;
use super::scale::Scale;
use super::tables::{CustomerState, DistrictState, Tables};
use trueput_engine::Result;

/// Rows that were met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    /// Rows of ORDER; taken from D_NEXT_O_ID if the district was not inspected.
    pub(super) orders: u64,
    /// Of NEW-ORDER, in the districts that were looked at.
    pub(super) new_orders: u64,
    /// Of ORDER-LINE, likewise.
    pub(super) lines: u64,
    /// Of CUSTOMER, likewise.
    pub(super) customers: u64,
    /// Whether districts were skipped.
    pub(super) is_sample: bool,
}

impl RowCounts {
    pub(super) fn merge(&mut self, other: &Self) {
        self.orders += other.orders;
        self.new_orders += other.new_orders;
        self.lines += other.lines;
        self.customers += other.customers;
        self.is_sample |= other.is_sample;
    }
}

/// One order, from the three tables.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    /// Whether ORDER has it.
    is_there: bool,
    has_carrier: bool,
    /// Whether NEW-ORDER has it.
    is_new: bool,
    customer: u32,
    /// O_OL_CNT.
    stated_lines: u8,
    lines: u32,
    delivered_lines: u32,
    /// The sum of the delivered lines' OL_AMOUNT.
    delivered: i64,
}

/// The totals of one district.
pub(super) struct DistrictTotals<'p> {
    district: DistrictKey,
    state: DistrictState,
    /// By O_ID less 1.
    orders: Vec<Order>,
    /// Rows of NEW-ORDER and ORDER-LINE whose number is beyond all orders.
    strays: u64,
    largest_order: u32,
    new_orders: Vec<u32>,
    customers: Vec<CustomerState>,
    /// The payments of each customer, by C_ID less 1.
    paid: &'p [i64],
}

impl<'p> DistrictTotals<'p> {
    /// Reads the totals within one transaction.
    pub(super) fn read(
        tables: &mut dyn Tables,
        scale: &Scale,
        district: DistrictKey,
        paid: &'p [i64],
    ) -> Result<Self> {
        let mut totals = Self {
            district,
            state: tables.district_state(district)?,
            orders: Vec::new(),
            strays: 0,
            largest_order: 0,
            new_orders: Vec::new(),
            customers: Vec::with_capacity(scale.customers as usize),
            paid,
        };
        tables.each_order(district, &mut |row| {
            totals.largest_order = totals.largest_order.max(row.id);
            let Some(order) = totals.order(row.id) else {
                return;
            };
            order.is_there = true;
            order.has_carrier = row.has_carrier;
            order.customer = row.customer;
            order.stated_lines = row.lines;
        })?;
        tables.each_new_order(district, &mut |id| {
            totals.new_orders.push(id);
            if let Some(order) = totals.order(id) {
                order.is_new = true;
            }
        })?;
        tables.each_order_line(district, &mut |row| {
            if let Some(order) = totals.order(row.order) {
                order.lines += 1;
                if row.is_delivered {
                    order.delivered_lines += 1;
                    order.delivered += row.amount;
                }
            }
        })?;
        tables.each_customer(district, &mut |row| totals.customers.push(row))?;
        Ok(totals)
    }

    /// The rows of an order of this number, as far as the district's numbers go.
    fn order(&mut self, id: u32) -> Option<&mut Order> {
        let index = (id as usize).checked_sub(1);
        // An absurd number must not take memory for all below it.
        let index = index.filter(|_| id <= self.state.next_order.saturating_add(1_000));
        let Some(index) = index else {
            self.strays += 1;
            return None;
        };
        if self.orders.len() <= index {
            self.orders.resize(index + 1, Order::default());
        }
        self.orders.get_mut(index)
    }

    /// The rows.
    pub(super) fn counts(&self) -> RowCounts {
        let orders = self.orders.iter();
        RowCounts {
            orders: orders.clone().filter(|order| order.is_there).count() as u64,
            new_orders: self.new_orders.len() as u64,
            lines: orders.map(|order| u64::from(order.lines)).sum(),
            customers: self.customers.len() as u64,
            is_sample: false,
        }
    }

    fn of(&self, finding: &str) -> String {
        format!("{}: {finding}", self.district)
    }

    /// Judges every condition that speaks of a district, an order or a customer.
    pub(super) fn check(&self, scale: &Scale, when: CheckPhase, verdicts: &mut ConditionCounts) {
        self.check_numbers(scale, when, verdicts);
        self.check_orders(verdicts);
        self.check_customers(scale, verdicts);
    }

    /// Conditions 2, 3, 4 and 11.
    fn check_numbers(&self, scale: &Scale, when: CheckPhase, verdicts: &mut ConditionCounts) {
        let last = self.state.next_order.saturating_sub(1);
        let largest_new = self.new_orders.iter().max().copied();
        let numbers_hold = last == self.largest_order
            && largest_new.is_none_or(|largest| largest == last)
            && self.strays == 0;
        verdicts.check(2, numbers_hold, || {
            let largest = self.largest_order;
            self.of(&format!(
                "D_NEXT_O_ID - 1 is {last}, the largest O_ID {largest}, the largest NO_O_ID \
                 {largest_new:?}, rows beyond them {}",
                self.strays
            ))
        });
        let smallest_new = self.new_orders.iter().min().copied();
        let span = largest_new.zip(smallest_new);
        let span = span.map_or(0, |(largest, smallest)| largest - smallest + 1);
        let rows = self.new_orders.len();
        verdicts.check(3, span as usize == rows, || {
            self.of(&format!("NO_O_ID span {span}, of which {rows} are there"))
        });
        let present = || self.orders.iter().filter(|order| order.is_there);
        let stated: u64 = present().map(|order| u64::from(order.stated_lines)).sum();
        let lines: u64 = self.orders.iter().map(|order| u64::from(order.lines)).sum();
        verdicts.check(4, stated == lines, || {
            self.of(&format!(
                "O_OL_CNT sum to {stated}, order-lines are {lines}"
            ))
        });
        if when == CheckPhase::Loaded {
            let delivered = present().count().checked_sub(rows);
            let expected = scale.customers as usize - scale.undelivered().count();
            verdicts.check(11, delivered == Some(expected), || {
                self.of(&format!("expected {expected}, found {delivered:?}"))
            });
        }
    }

    /// Conditions 5, 6 and 7. A row of NEW-ORDER or ORDER-LINE without its order breaks them too.
    fn check_orders(&self, verdicts: &mut ConditionCounts) {
        for (id, order) in (1_u32..).zip(&self.orders) {
            let named = |finding: &str| self.of(&format!("order {id}: {finding}"));
            let no_carrier = order.is_there && !order.has_carrier;
            verdicts.check(5, no_carrier == order.is_new, || {
                named(&format!(
                    "carrier {}, new {}",
                    order.has_carrier, order.is_new
                ))
            });
            let stated = u32::from(order.stated_lines);
            verdicts.check(6, stated == order.lines, || {
                named(&format!("O_OL_CNT {stated}, order-lines {}", order.lines))
            });
            let expected = if order.has_carrier { order.lines } else { 0 };
            verdicts.check(7, order.delivered_lines == expected, || {
                let (delivered, lines) = (order.delivered_lines, order.lines);
                let carrier = order.has_carrier;
                named(&format!(
                    "carrier {carrier}, {delivered} of {lines} lines delivered"
                ))
            });
        }
    }

    /// Conditions 10 and 12.
    fn check_customers(&self, scale: &Scale, verdicts: &mut ConditionCounts) {
        let mut delivered = vec![0_i64; scale.customers as usize + 1];
        for order in self.orders.iter().filter(|order| order.is_there) {
            if let Some(sum) = delivered.get_mut(order.customer as usize) {
                *sum += order.delivered;
            }
        }
        for customer in &self.customers {
            let CustomerState {
                id,
                balance,
                ytd_payment,
            } = *customer;
            let delivered = delivered.get(id as usize).copied().unwrap_or_default();
            let index = (id as usize).checked_sub(1);
            let paid = index.and_then(|index| self.paid.get(index));
            let paid = paid.copied().unwrap_or_default();
            let named = |finding: &str| self.of(&format!("customer {id}: {finding}"));
            verdicts.check(10, balance == delivered - paid, || {
                named(&format!(
                    "balance {balance} cents, delivered {delivered}, paid {paid}"
                ))
            });
            verdicts.check(12, balance + ytd_payment == delivered, || {
                named(&format!(
                    "balance {balance} cents and paid to date {ytd_payment}, delivered {delivered}"
                ))
            });
        }
    }
}
