//! The transactions as functions of the server: one statement each, in a transaction of its own.

use super::{SqlTables, StatementKind};
use crate::fixed_text::FixedText;
use crate::sql::columns::{ColumnReader, money, number};
use crate::tpcc::input::{
    CustomerSelector, Delivery, Line, MAX_LINES, NewOrder, OrderStatus, Payment, StockLevel,
};
use crate::tpcc::procedures::{NewOrderOutcome, Procedures};
use crate::tpcc::transaction;
use std::hint::black_box;
use trueput_engine::{Datum, Error, Result};

/// The error that the functions raise where an item is not there (clause 2.4.2.3), as drivers show
/// it.
const ITEM_IS_NOT_THERE: &str = "SQLSTATE TPC01";

/// A customer's number and name as parameters, one of them empty.
fn selector_parameters(who: &CustomerSelector) -> [Datum<'_>; 2] {
    match who {
        CustomerSelector::Number(id) => [number(*id), Datum::Null],
        CustomerSelector::LastName(last) => [Datum::Null, Datum::Text(last.as_str())],
    }
}

/// A number of each line of an order, and zeros behind them.
fn numbers_of(lines: &[Line], number: impl Fn(&Line) -> i64) -> [i64; MAX_LINES] {
    let mut numbers = [0; MAX_LINES];
    for (slot, line) in numbers.iter_mut().zip(lines) {
        *slot = number(line);
    }
    numbers
}

/// One row of a new-order's result: the order's head, and a line.
struct OrderAnswer {
    order: u32,
    discount: i64,
    tax: i64,
    amount: i64,
}

fn order_answer(columns: &mut ColumnReader<'_>) -> Result<OrderAnswer> {
    let order = columns.integer()?;
    let discount = columns.rate()?;
    let (last, credit): (FixedText<16>, FixedText<2>) = (columns.text()?, columns.text()?);
    let tax = columns.rate()? + columns.rate()?;
    let line: u8 = columns.integer()?;
    let name: FixedText<24> = columns.text()?;
    let (in_stock, is_original): (i32, u8) = (columns.integer()?, columns.integer()?);
    let (price, amount) = (columns.cents()?, columns.cents()?);
    // A terminal would show these; here they are only read.
    black_box((last, credit, line, name, in_stock, is_original, price));
    Ok(OrderAnswer {
        order,
        discount,
        tax,
        amount,
    })
}

impl Procedures for SqlTables<'_> {
    fn new_order(&mut self, input: &NewOrder, at: i64) -> Result<NewOrderOutcome> {
        let text = "SELECT * FROM tpcc_new_order(?, ?, ?, ?, ?, ?, ?)";
        let statement = self.fixed_statement(StatementKind::NewOrder, text)?;
        let lines = input.lines();
        let items = numbers_of(lines, |line| line.item.into());
        let suppliers = numbers_of(lines, |line| line.supplier.into());
        let quantities = numbers_of(lines, |line| line.quantity.into());
        let parameters = [
            number(input.warehouse),
            number(input.district),
            number(input.customer),
            Datum::Integers(&items[..lines.len()]),
            Datum::Integers(&suppliers[..lines.len()]),
            Datum::Integers(&quantities[..lines.len()]),
            Datum::Timestamp(at),
        ];
        let (mut head, mut sum) = (None, 0);
        let answered = self.rows(statement, &parameters, |columns| {
            let answer = order_answer(columns)?;
            sum += answer.amount;
            head = Some(answer);
            Ok(())
        });
        match answered {
            Err(Error::Engine { text, .. }) if text.contains(ITEM_IS_NOT_THERE) => {
                return Ok(NewOrderOutcome::RolledBack);
            }
            answered => answered?,
        }
        let head = head.ok_or_else(|| Error::engine("the new order has no line"))?;
        Ok(NewOrderOutcome::Committed {
            order: head.order,
            total: transaction::total(sum, head.discount, head.tax),
        })
    }

    fn payment(&mut self, input: &Payment, at: i64) -> Result<()> {
        let text = "SELECT * FROM tpcc_payment(?, ?, ?, ?, ?, ?, ?, ?)";
        let statement = self.fixed_statement(StatementKind::Payment, text)?;
        let [id, name] = selector_parameters(&input.who);
        let parameters = [
            number(input.warehouse),
            number(input.district),
            number(input.customer_warehouse),
            number(input.customer_district),
            id,
            name,
            money(input.amount),
            Datum::Timestamp(at),
        ];
        self.row("the payment", statement, &parameters, |columns| {
            let customer: u32 = columns.integer()?;
            black_box(customer);
            Ok(())
        })
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<Option<usize>> {
        let text = "SELECT * FROM tpcc_order_status(?, ?, ?, ?)";
        let statement = self.fixed_statement(StatementKind::OrderStatus, text)?;
        let [id, name] = selector_parameters(&input.who);
        let parameters = [number(input.warehouse), number(input.district), id, name];
        let mut lines = None;
        self.rows(statement, &parameters, |columns| {
            let (customer, names): (u32, FixedText<40>) = (columns.integer()?, columns.text()?);
            black_box((customer, names, columns.cents()?));
            if columns.optional_integer::<u32>()?.is_some() {
                lines = Some(lines.unwrap_or(0) + 1);
            }
            Ok(())
        })?;
        Ok(lines)
    }

    fn delivery(&mut self, input: &Delivery, at: i64) -> Result<usize> {
        let text = "SELECT * FROM tpcc_delivery(?, ?, ?)";
        let statement = self.fixed_statement(StatementKind::Delivery, text)?;
        let parameters = [
            number(input.warehouse),
            number(input.carrier),
            Datum::Timestamp(at),
        ];
        let mut delivered = 0;
        self.rows(statement, &parameters, |columns| {
            let (district, order): (u8, u32) = (columns.integer()?, columns.integer()?);
            black_box((district, order));
            delivered += 1;
            Ok(())
        })?;
        Ok(delivered)
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<u64> {
        let text = "SELECT tpcc_stock_level(?, ?, ?)";
        let statement = self.fixed_statement(StatementKind::StockLevel, text)?;
        let parameters = [
            number(input.warehouse),
            number(input.district),
            number(input.threshold),
        ];
        self.row("the count", statement, &parameters, |columns| {
            columns.integer()
        })
    }
}
