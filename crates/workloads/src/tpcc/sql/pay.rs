//! Payment, clause 2.5.2.2, and order-status, clause 2.6.2.2.

use super::columns::{ColumnReader, money, number};
use super::{SqlTables, StatementKind};
use crate::tpcc::input::CustomerSelector;
use crate::tpcc::rows::{CustomerRow, HistoryRow, OrderLineRow, OrderRow};
use crate::tpcc::tables::{CustomerChange, OrderStatusTables, Payee, PaymentTables, ReadIntent};
use trueput_engine::{Datum, Error, Result};

const CUSTOMER: &str = "SELECT c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, \
                        c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
                        c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, \
                        c_delivery_cnt, c_data FROM customer \
                        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const NAMES: &str = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
                     ORDER BY c_first, c_id";

const ORDER: &str = "o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local";

const LAST_ORDER: &str = "FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                          ORDER BY o_id DESC";

const LINES: &str = "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
                     ol_delivery_d, ol_quantity, ol_amount, ol_dist_info FROM order_line \
                     WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_number";

/// One of the two tables that a payment adds to.
struct PaidTable {
    pay: StatementKind,
    read: StatementKind,
    what: &'static str,
    table: &'static str,
    prefix: &'static str,
    condition: &'static str,
}

const WAREHOUSE: PaidTable = PaidTable {
    pay: StatementKind::PayWarehouse,
    read: StatementKind::ReadWarehouse,
    what: "the warehouse",
    table: "warehouse",
    prefix: "w_",
    condition: "w_id = ?",
};

const DISTRICT: PaidTable = PaidTable {
    pay: StatementKind::PayDistrict,
    read: StatementKind::ReadDistrict,
    what: "the district",
    table: "district",
    prefix: "d_",
    condition: "d_w_id = ? AND d_id = ?",
};

fn payee(mut columns: ColumnReader<'_>) -> Result<Payee> {
    Ok(Payee {
        name: columns.text()?,
        address: columns.address()?,
    })
}

fn read_row(mut columns: ColumnReader<'_>, out: &mut CustomerRow) -> Result<()> {
    out.warehouse = columns.whole()?;
    out.district = columns.whole()?;
    out.id = columns.whole()?;
    out.first = columns.text()?;
    out.middle = columns.text()?;
    out.last = columns.text()?;
    out.address = columns.address()?;
    out.phone = columns.text()?;
    out.since = columns.moment()?;
    out.credit = columns.text()?;
    out.credit_limit = columns.cents()?;
    out.discount = columns.rate()?;
    out.balance = columns.cents()?;
    out.ytd_payment = columns.cents()?;
    out.payment_count = columns.whole()?;
    out.delivery_count = columns.whole()?;
    out.data = columns.text()?;
    Ok(())
}

impl PaymentTables for SqlTables<'_> {
    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Payee> {
        self.add(&WAREHOUSE, &[number(warehouse)], amount)
    }

    fn pay_district(&mut self, warehouse: u32, district: u8, amount: i64) -> Result<Payee> {
        self.add(&DISTRICT, &[number(warehouse), number(district)], amount)
    }

    fn customer(
        &mut self,
        warehouse: u32,
        district: u8,
        who: &CustomerSelector,
        intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        if intent == ReadIntent::Pay && self.writing.locks_by_update {
            self.touch_customer(warehouse, district, who)?;
        }
        let id = match who {
            CustomerSelector::Number(id) => *id,
            CustomerSelector::LastName(last) => self.named(warehouse, district, last.as_str())?,
        };
        let statement = match intent {
            ReadIntent::Show => self.statement(StatementKind::Customer, 0, |_| CUSTOMER.to_owned()),
            ReadIntent::Pay => self.statement(StatementKind::CustomerToPay, 0, |writing| {
                format!("{CUSTOMER}{}", writing.lock)
            }),
        }?;
        let parameters = [number(warehouse), number(district), number(id)];
        self.row("the customer", statement, &parameters, |columns| {
            read_row(columns, out)
        })
    }

    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()> {
        let which = match change.data {
            Some(_) => StatementKind::PayBadCustomer,
            None => StatementKind::PayCustomer,
        };
        let statement = self.statement(which, 0, |_| {
            let data = if which == StatementKind::PayBadCustomer {
                ", c_data = ?"
            } else {
                ""
            };
            format!(
                "UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?{data} \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            )
        })?;
        let mut parameters = Vec::with_capacity(7);
        parameters.extend([money(change.balance), money(change.ytd_payment)]);
        parameters.push(number(change.payment_count));
        parameters.extend(change.data.map(|data| Datum::Text(data.as_str())));
        parameters.extend([number(change.warehouse), number(change.district)]);
        parameters.push(number(change.customer));
        self.change("the customer", 1, statement, &parameters)
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        self.insert(std::slice::from_ref(row)).map(|_| ())
    }
}

impl OrderStatusTables for SqlTables<'_> {
    fn last_order(
        &mut self,
        warehouse: u32,
        district: u8,
        customer: u32,
    ) -> Result<Option<OrderRow>> {
        let statement = self.statement(StatementKind::LastOrder, 0, |writing| {
            writing.first(ORDER, LAST_ORDER)
        })?;
        let parameters = [number(warehouse), number(district), number(customer)];
        self.optional_row(statement, &parameters, |mut columns| {
            Ok(OrderRow {
                warehouse: columns.whole()?,
                district: columns.whole()?,
                id: columns.whole()?,
                customer: columns.whole()?,
                at: columns.moment()?,
                carrier: columns.optional_integer()?,
                lines: columns.whole()?,
                all_local: columns.whole::<u8>()? != 0,
            })
        })
    }

    fn order_lines(
        &mut self,
        warehouse: u32,
        district: u8,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        out.clear();
        let statement = self.statement(StatementKind::OrderLines, 0, |_| LINES.to_owned())?;
        let parameters = [number(warehouse), number(district), number(order)];
        self.rows(statement, &parameters, |mut columns| {
            out.push(OrderLineRow {
                warehouse: columns.whole()?,
                district: columns.whole()?,
                order: columns.whole()?,
                number: columns.whole()?,
                item: columns.whole()?,
                supplier: columns.whole()?,
                delivered_at: columns.optional_moment()?,
                quantity: columns.whole()?,
                amount: columns.cents()?,
                district_info: columns.text()?,
            });
            Ok(())
        })
    }
}

impl SqlTables<'_> {
    /// Adds cents to a table's YTD, and reads name and address.
    fn add(&mut self, paid: &PaidTable, key: &[Datum<'_>], amount: i64) -> Result<Payee> {
        let (table, prefix, condition) = (paid.table, paid.prefix, paid.condition);
        let columns = ["name", "street_1", "street_2", "city", "state", "zip"]
            .map(|column| format!("{prefix}{column}"))
            .join(", ");
        let mut parameters = Vec::with_capacity(3);
        parameters.push(money(amount));
        parameters.extend_from_slice(key);
        let has_returning = self.writing.has_returning;
        let pay = self.statement(paid.pay, 0, |writing| {
            let amount = writing.money_parameter();
            let set = format!("UPDATE {table} SET {prefix}ytd = {prefix}ytd + {amount}");
            match has_returning {
                true => format!("{set} WHERE {condition} RETURNING {columns}"),
                false => format!("{set} WHERE {condition}"),
            }
        })?;
        if has_returning {
            return self.row(paid.what, pay, &parameters, payee);
        }
        self.change(paid.what, 1, pay, &parameters)?;
        let read = self.statement(paid.read, 0, |_| {
            format!("SELECT {columns} FROM {table} WHERE {condition}")
        })?;
        self.row(paid.what, read, key, payee)
    }

    /// The C_ID of the customer of that name in the middle of the order of C_FIRST.
    fn named(&mut self, warehouse: u32, district: u8, last: &str) -> Result<u32> {
        let statement = self.statement(StatementKind::CustomerNames, 0, |_| NAMES.to_owned())?;
        let parameters = [number(warehouse), number(district), Datum::Text(last)];
        let mut ids: Vec<u32> = Vec::with_capacity(8);
        self.rows(statement, &parameters, |mut columns| {
            ids.push(columns.whole()?);
            Ok(())
        })?;
        let middle = ids.len().div_ceil(2).checked_sub(1);
        let found = middle.and_then(|middle| ids.get(middle)).copied();
        found.ok_or_else(|| Error::engine(format!("there is no customer named {last}")))
    }

    /// Locks the customers that are about to be read, of whom one is to pay: all of a name, since
    /// whoever has read them all before could not raise his lock while another holds the same.
    fn touch_customer(
        &mut self,
        warehouse: u32,
        district: u8,
        who: &CustomerSelector,
    ) -> Result<()> {
        let (which, column, value) = match who {
            CustomerSelector::Number(id) => (StatementKind::TouchCustomer, "c_id", number(*id)),
            CustomerSelector::LastName(last) => (
                StatementKind::TouchNamed,
                "c_last",
                Datum::Text(last.as_str()),
            ),
        };
        let touch = self.statement(which, 0, |_| {
            format!(
                "UPDATE customer SET c_balance = c_balance \
                 WHERE c_w_id = ? AND c_d_id = ? AND {column} = ?"
            )
        })?;
        let parameters = [number(warehouse), number(district), value];
        self.execute(touch, &parameters).map(drop)
    }
}
