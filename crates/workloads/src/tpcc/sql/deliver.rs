//! Delivery, clause 2.7.4.2: all districts of a warehouse in six statements.

use super::{SqlTables, StatementKind, one_of_pairs};
use crate::sql::columns::{money, number};
use crate::tpcc::tables::{DeliveredOrder, DeliveryTables, UndeliveredOrder};
use trueput_engine::{Datum, Error, Result};

/// The smallest NO_O_ID of each district, by the primary key.
const OLDEST: &str = "SELECT d_id, (SELECT MIN(no_o_id) FROM new_order \
                      WHERE no_w_id = d_w_id AND no_d_id = d_id) \
                      FROM district WHERE d_w_id = ? ORDER BY d_id";

/// The pairs of district and order, two parameters each.
fn pairs<'p>(due: &[UndeliveredOrder], parameters: &mut Vec<Datum<'p>>) {
    for one in due {
        parameters.extend([number(one.district), number(one.order)]);
    }
}

fn orders(count: usize) -> String {
    format!("o_w_id = ? AND {}", one_of_pairs("o_d_id", "o_id", count))
}

fn lines(count: usize) -> String {
    format!(
        "ol_w_id = ? AND {}",
        one_of_pairs("ol_d_id", "ol_o_id", count)
    )
}

impl DeliveryTables for SqlTables<'_> {
    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        let statement = self.fixed_statement(StatementKind::Oldest, OLDEST)?;
        self.rows(statement, &[number(warehouse)], |columns| {
            let district = columns.integer()?;
            if let Some(order) = columns.optional_integer()? {
                out.push(UndeliveredOrder { district, order });
            }
            Ok(())
        })?;
        if out.is_empty() {
            return Ok(());
        }
        let count = out.len();
        let statement = self.statement(StatementKind::TakeOldest, count, |_| {
            let these = one_of_pairs("no_d_id", "no_o_id", count);
            format!("DELETE FROM new_order WHERE no_w_id = ? AND {these}")
        })?;
        let mut parameters = self.parameters.take();
        parameters.push(number(warehouse));
        pairs(out, &mut parameters);
        let taken = self.execute(statement, &parameters)?;
        self.parameters.put_back(parameters);
        if taken == count as u64 {
            return Ok(());
        }
        // They were read without a lock.
        Err(Error::Conflict(
            "another delivery has taken a new order".to_owned(),
        ))
    }

    fn deliver(
        &mut self,
        warehouse: u32,
        due: &[UndeliveredOrder],
        carrier: u8,
        at: i64,
        out: &mut Vec<DeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        let count = due.len();
        if count == 0 {
            return Ok(());
        }
        // A value to set, and the orders, which the queries have alone.
        let mut parameters = self.parameters.take();
        parameters.extend([number(carrier), number(warehouse)]);
        pairs(due, &mut parameters);
        let statement = self.statement(StatementKind::DeliverOrders, count, |_| {
            format!("UPDATE orders SET o_carrier_id = ? WHERE {}", orders(count))
        })?;
        self.change("the orders", count, statement, &parameters)?;
        let statement = self.statement(StatementKind::DeliveredOrders, count, |_| {
            format!("SELECT o_d_id, o_c_id FROM orders WHERE {}", orders(count))
        })?;
        out.extend(due.iter().map(|one| DeliveredOrder {
            district: one.district,
            ..DeliveredOrder::default()
        }));
        self.rows(statement, &parameters[1..], |columns| {
            let customer = (columns.integer()?, columns.integer()?);
            of_district(out, customer.0)?.customer = customer.1;
            Ok(())
        })?;
        let statement = self.statement(StatementKind::DeliverLines, count, |_| {
            format!(
                "UPDATE order_line SET ol_delivery_d = ? WHERE {}",
                lines(count)
            )
        })?;
        parameters[0] = Datum::Timestamp(at);
        self.execute(statement, &parameters)?;
        let statement = self.statement(StatementKind::DeliveredLines, count, |_| {
            format!(
                "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {} GROUP BY ol_d_id",
                lines(count)
            )
        })?;
        self.rows(statement, &parameters[1..], |columns| {
            let amount = (columns.integer()?, columns.cents()?);
            of_district(out, amount.0)?.amount = amount.1;
            Ok(())
        })?;
        self.parameters.put_back(parameters);
        Ok(())
    }

    fn credit_deliveries(&mut self, warehouse: u32, delivered: &[DeliveredOrder]) -> Result<()> {
        let count = delivered.len();
        if count == 0 {
            return Ok(());
        }
        let statement = self.statement(StatementKind::Credit, count, |syntax| {
            let case = format!("WHEN ? THEN {}", syntax.money_parameter());
            let cases = vec![case.as_str(); count].join(" ");
            let these = one_of_pairs("c_d_id", "c_id", count);
            format!(
                "UPDATE customer SET c_balance = c_balance + CASE c_d_id {cases} END, \
                 c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND {these}"
            )
        })?;
        let mut parameters = self.parameters.take();
        for one in delivered {
            parameters.extend([number(one.district), money(one.amount)]);
        }
        parameters.push(number(warehouse));
        for one in delivered {
            parameters.extend([number(one.district), number(one.customer)]);
        }
        self.change("the customers", count, statement, &parameters)?;
        self.parameters.put_back(parameters);
        Ok(())
    }
}

fn of_district(delivered: &mut [DeliveredOrder], district: u8) -> Result<&mut DeliveredOrder> {
    let mut all = delivered.iter_mut();
    let found = all.find(|one| one.district == district);
    found.ok_or_else(|| Error::engine("an order of a district that is not due"))
}
