//! The five transactions (clauses 2.4.2 to 2.8.2), written once over [`Tables`].
//!
//! Where the store has its server do the transactions ([`super::procedures`]) they are handed over.
//!
//! Every error is the engine's. An attempt that ends in one has been aborted; one that met a
//! conflict is to be made again with the same input.

use super::input::{Delivery, Line, MAX_LINES, NewOrder, OrderStatus, Payment, StockLevel};
use super::procedures::NewOrderOutcome;
use super::random::ORIGINAL;
use super::rows::{CustomerRow, DistrictKey, HistoryRow, OrderLineRow, OrderRow};
use super::tables::{
    CustomerChange, DeliveredOrder, Item, ReadIntent, Stock, StockChange, StockKey, Tables,
    UndeliveredOrder,
};
use crate::fixed_text::FixedText;
use crate::keyed::transaction::{Completion, attempt, in_transaction};
use std::fmt::Write;
use trueput_engine::{Error, Mode, Result};

/// The whole of which taxes and discounts are parts.
const WHOLE: i64 = 10_000;

/// Buffers that the transactions of one worker reuse, so that none allocates.
#[derive(Debug, Default)]
pub struct TransactionBuffers {
    ids: Vec<u32>,
    items: Vec<Option<Item>>,
    keys: Vec<StockKey>,
    stocks: Vec<Stock>,
    changes: Vec<StockChange>,
    order_lines: Vec<OrderLineRow>,
    customer: CustomerRow,
    due: Vec<UndeliveredOrder>,
    delivered: Vec<DeliveredOrder>,
}

/// New-order, clause 2.4.2.2. One that will be rolled back does all of its work first, as clause
/// 2.4.2.3 requires, except for the line of the unused item.
pub fn new_order(
    tables: &mut dyn Tables,
    scratch: &mut TransactionBuffers,
    input: &NewOrder,
    at: i64,
) -> Result<NewOrderOutcome> {
    if let Some(procedures) = tables.procedures() {
        return procedures.new_order(input, at);
    }
    attempt(tables, Mode::Write, |tables| {
        let (ordered, complete) = place_order(tables, scratch, input, at)?;
        Ok(if complete {
            Completion::Commit(ordered)
        } else {
            Completion::RollBack(NewOrderOutcome::RolledBack)
        })
    })
}

/// Places an order, except for begin and commit: returns its total if it is committed, and whether
/// every item existed.
pub(super) fn place_order(
    tables: &mut dyn Tables,
    scratch: &mut TransactionBuffers,
    input: &NewOrder,
    at: i64,
) -> Result<(NewOrderOutcome, bool)> {
    let NewOrder {
        warehouse,
        district,
        customer,
        ..
    } = *input;
    let home = DistrictKey::new(warehouse, district);
    let buyer = tables.buyer(home, customer)?;
    let number = tables.take_order_number(home)?;
    let lines = input.lines();
    tables.insert_order(&OrderRow {
        warehouse,
        district,
        id: number.order,
        customer,
        at,
        carrier: None,
        lines: lines.len() as u8,
        all_local: lines.iter().all(|line| line.supplier == warehouse),
    })?;
    scratch.ask_for(lines);
    tables.items(&scratch.ids, &mut scratch.items)?;
    scratch.drop_unused(lines);
    tables.stocks(&scratch.keys, district, &mut scratch.stocks)?;
    let (sum, complete) = scratch.fill(input, number.order)?;
    tables.update_stocks(&scratch.changes)?;
    tables.insert_order_lines(&scratch.order_lines)?;
    let tax = buyer.warehouse_tax + number.district_tax;
    let ordered = NewOrderOutcome::Committed {
        order: number.order,
        total: total(sum, buyer.discount, tax),
    };
    Ok((ordered, complete))
}

/// The total amount of an order whose lines sum to `sum` cents, with the customer's discount and
/// the warehouse's and the district's tax together, parts of ten thousand (clause 2.4.2.2).
pub(super) fn total(sum: i64, discount: i64, tax: i64) -> i64 {
    sum * (WHOLE - discount) / WHOLE * (WHOLE + tax) / WHOLE
}

impl TransactionBuffers {
    /// The items and the stocks of an order's lines, each once and ascending: transactions that
    /// lock them do so in one order, and do not wait for each other in a circle.
    fn ask_for(&mut self, lines: &[Line]) {
        self.ids.clear();
        self.ids.extend(lines.iter().map(|line| line.item));
        self.ids.sort_unstable();
        self.ids.dedup();
    }

    /// Keeps the keys of the stocks whose lines' items exist.
    fn drop_unused(&mut self, lines: &[Line]) {
        self.keys.clear();
        for line in lines {
            if self.item(line.item).is_some() {
                self.keys.push(StockKey {
                    warehouse: line.supplier,
                    item: line.item,
                });
            }
        }
        self.keys.sort_unstable();
        self.keys.dedup();
    }

    fn item(&self, id: u32) -> Option<&Item> {
        let index = self.ids.binary_search(&id).ok()?;
        self.items.get(index)?.as_ref()
    }

    /// Computes the order-lines and the new stocks (clause 2.4.2.2). Returns the sum of the lines,
    /// and whether every item existed.
    fn fill(&mut self, input: &NewOrder, order: u32) -> Result<(i64, bool)> {
        self.changes.clear();
        let seen = self.keys.iter().zip(&self.stocks);
        self.changes.extend(seen.map(|(&key, stock)| StockChange {
            key,
            quantity: stock.quantity,
            ytd: stock.ytd,
            order_count: stock.order_count,
            remote_count: stock.remote_count,
        }));
        self.order_lines.clear();
        let (mut sum, mut complete) = (0, true);
        for (number, line) in (1..).zip(input.lines()) {
            let Some(&item) = self.item(line.item) else {
                complete = false;
                continue;
            };
            let key = StockKey {
                warehouse: line.supplier,
                item: line.item,
            };
            let unread = || Error::engine(format!("the stock {key:?} was not read"));
            let index = self.keys.binary_search(&key).map_err(|_| unread())?;
            let stock = *self.stocks.get(index).ok_or_else(unread)?;
            let change = self.changes.get_mut(index).ok_or_else(unread)?;
            take_from_stock(change, line, input.warehouse);
            let amount = i64::from(line.quantity) * item.price;
            sum += amount;
            let is_original = |data: &FixedText<50>| data.as_str().contains(ORIGINAL);
            // The brand-generic field of the screen, which is not shown here.
            std::hint::black_box(is_original(&item.data) && is_original(&stock.data));
            self.order_lines.push(OrderLineRow {
                warehouse: input.warehouse,
                district: input.district,
                order,
                number,
                item: line.item,
                supplier: line.supplier,
                delivered_at: None,
                quantity: line.quantity,
                amount,
                district_info: stock.district_info,
            });
        }
        debug_assert!(self.order_lines.len() <= MAX_LINES);
        Ok((sum, complete))
    }
}

/// A stock that would fall below ten is filled up by 91 (clause 2.4.2.2).
fn take_from_stock(change: &mut StockChange, line: &Line, home: u32) {
    let quantity = i32::from(line.quantity);
    change.quantity -= quantity;
    if change.quantity < 10 {
        change.quantity += 91;
    }
    change.ytd += i64::from(quantity);
    change.order_count += 1;
    change.remote_count += u32::from(line.supplier != home);
}

/// Payment, clause 2.5.2.2. The customer is updated first and the warehouse, which all payments of
/// its terminals contend for, last, so that it is locked for the shortest time. `key` is the writer
/// and number of the history row.
pub fn payment(
    tables: &mut dyn Tables,
    scratch: &mut TransactionBuffers,
    input: &Payment,
    at: i64,
    key: (u32, u64),
) -> Result<()> {
    if let Some(procedures) = tables.procedures() {
        return procedures.payment(input, at);
    }
    let Payment {
        warehouse,
        district,
        amount,
        ..
    } = *input;
    in_transaction(tables, Mode::Write, |tables| {
        let row = &mut scratch.customer;
        let home = DistrictKey::new(input.customer_warehouse, input.customer_district);
        tables.customer(home, &input.who, ReadIntent::Pay, row)?;
        let data = (row.credit.as_str() == "BC").then(|| with_note(row, input));
        tables.pay_customer(&CustomerChange {
            warehouse: home.warehouse,
            district: home.district,
            customer: row.id,
            balance: row.balance - amount,
            ytd_payment: row.ytd_payment + amount,
            payment_count: row.payment_count + 1,
            data: data.as_ref(),
        })?;
        let paid_in = DistrictKey::new(warehouse, district);
        let of_district = tables.pay_district(paid_in, amount)?;
        let of_warehouse = tables.pay_warehouse(warehouse, amount)?;
        let mut about = FixedText::<24>::cut(of_warehouse.name.as_str());
        about.push("    ");
        about.push(of_district.name.as_str());
        tables.insert_history(&HistoryRow {
            writer: key.0,
            number: key.1,
            customer_warehouse: input.customer_warehouse,
            customer_district: input.customer_district,
            customer: row.id,
            warehouse,
            district,
            at,
            amount,
            data: about,
        })
    })
}

/// The new C_DATA of a customer of bad credit: the payment is prepended, and characters beyond 500
/// are dropped from the end (clause 2.5.2.2).
fn with_note(row: &CustomerRow, input: &Payment) -> FixedText<500> {
    let mut data = FixedText::<500>::EMPTY;
    let (units, cents) = (input.amount / 100, input.amount % 100);
    let noted = write!(
        data,
        "{} {} {} {} {} {units}.{cents:02}|",
        row.id, row.district, row.warehouse, input.district, input.warehouse
    );
    debug_assert!(noted.is_ok(), "seven short numbers");
    let old = row.data.as_str();
    let room = old.floor_char_boundary(500 - data.len());
    data.push(&old[..room]);
    data
}

/// Order-status, clause 2.6.2.2. Returns the number of lines of the customer's last order; `None`
/// if there is no order.
pub fn order_status(
    tables: &mut dyn Tables,
    scratch: &mut TransactionBuffers,
    input: &OrderStatus,
) -> Result<Option<usize>> {
    if let Some(procedures) = tables.procedures() {
        return procedures.order_status(input);
    }
    let home = DistrictKey::new(input.warehouse, input.district);
    in_transaction(tables, Mode::Read, |tables| {
        let row = &mut scratch.customer;
        tables.customer(home, &input.who, ReadIntent::Show, row)?;
        let Some(order) = tables.last_order(home, row.id)? else {
            return Ok(None);
        };
        let lines = &mut scratch.order_lines;
        tables.order_lines(home, order.id, lines)?;
        std::hint::black_box((&row, &lines));
        Ok(Some(lines.len()))
    })
}

/// Delivery, clause 2.7.4.2, all ten districts in one transaction. How many orders were delivered;
/// districts without one are skipped.
pub fn delivery(
    tables: &mut dyn Tables,
    scratch: &mut TransactionBuffers,
    input: &Delivery,
    at: i64,
) -> Result<usize> {
    if let Some(procedures) = tables.procedures() {
        return procedures.delivery(input, at);
    }
    in_transaction(tables, Mode::Write, |tables| {
        deliver(tables, scratch, input, at).map(<[_]>::len)
    })
}

/// Does a delivery, except for begin and commit; returns the delivered orders.
pub(super) fn deliver<'s>(
    tables: &mut dyn Tables,
    scratch: &'s mut TransactionBuffers,
    input: &Delivery,
    at: i64,
) -> Result<&'s [DeliveredOrder]> {
    let (due, delivered) = (&mut scratch.due, &mut scratch.delivered);
    tables.take_oldest_new_orders(input.warehouse, due)?;
    tables.deliver(input.warehouse, due, input.carrier, at, delivered)?;
    tables.credit_deliveries(input.warehouse, delivered)?;
    Ok(delivered)
}

/// Stock-level, clause 2.8.2.2. How many items are low.
pub fn stock_level(tables: &mut dyn Tables, input: &StockLevel) -> Result<u64> {
    if let Some(procedures) = tables.procedures() {
        return procedures.stock_level(input);
    }
    in_transaction(tables, Mode::Read, |tables| {
        let district = DistrictKey::new(input.warehouse, input.district);
        tables.low_stock(district, input.threshold)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_that_would_fall_below_ten_is_filled_up() {
        let line = |quantity| Line {
            item: 1,
            supplier: 2,
            quantity,
        };
        let after = |quantity, taken, home| {
            let mut change = StockChange {
                quantity,
                ..StockChange::default()
            };
            take_from_stock(&mut change, &line(taken), home);
            (
                change.quantity,
                change.ytd,
                change.order_count,
                change.remote_count,
            )
        };
        assert_eq!(after(20, 10, 2), (10, 10, 1, 0));
        assert_eq!(after(19, 10, 2), (100, 10, 1, 0));
        assert_eq!(after(50, 3, 1), (47, 3, 1, 1));
    }

    #[test]
    fn a_payment_is_noted_in_front_and_the_end_falls_off() {
        let row = CustomerRow {
            warehouse: 1,
            district: 2,
            id: 3,
            data: FixedText::cut(&"x".repeat(500)),
            ..CustomerRow::default()
        };
        let input = Payment {
            warehouse: 4,
            district: 5,
            customer_warehouse: 1,
            customer_district: 2,
            who: super::super::input::CustomerSelector::Number(3),
            amount: 12_305,
        };
        let data = with_note(&row, &input);
        assert!(data.as_str().starts_with("3 2 1 5 4 123.05|xxx"));
        assert_eq!(data.len(), 500);
    }
}
