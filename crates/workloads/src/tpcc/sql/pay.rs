//! Payment, clause 2.5.2.2, and order-status, clause 2.6.2.2.

use super::{SqlTables, StatementKind, district_parameters, numbered_parameters, schema};
use crate::sql::columns::{ColumnReader, ColumnType, money, number};
use crate::tpcc::input::CustomerSelector;
use crate::tpcc::rows::{CustomerRow, DistrictKey, HistoryRow, OrderLineRow, OrderRow, TableRow};
use crate::tpcc::tables::{CustomerChange, OrderStatusTables, Payee, PaymentTables, ReadIntent};
use trueput_engine::{Datum, Error, Result};

const NAMES: &str = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
                     ORDER BY c_first, c_id";

const LAST_ORDER: &str = "FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                          ORDER BY o_id DESC";

const LINES: &str = "FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? \
                     ORDER BY ol_number";

/// The query for a customer's row.
fn customer(lock: &str) -> String {
    let columns = schema::names(CustomerRow::COLUMNS);
    format!("SELECT {columns} FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?{lock}")
}

/// One of the two tables that a payment adds to.
struct PaidTable {
    pay: StatementKind,
    read: StatementKind,
    subject: &'static str,
    table: &'static str,
    prefix: &'static str,
    condition: &'static str,
}

const WAREHOUSE: PaidTable = PaidTable {
    pay: StatementKind::PayWarehouse,
    read: StatementKind::ReadWarehouse,
    subject: "the warehouse",
    table: "warehouse",
    prefix: "w_",
    condition: "w_id = ?",
};

const DISTRICT: PaidTable = PaidTable {
    pay: StatementKind::PayDistrict,
    read: StatementKind::ReadDistrict,
    subject: "the district",
    table: "district",
    prefix: "d_",
    condition: "d_w_id = ? AND d_id = ?",
};

fn payee(columns: &mut ColumnReader<'_>) -> Result<Payee> {
    Ok(Payee {
        name: columns.text()?,
        address: columns.value(ColumnType::Text(20))?,
    })
}

impl PaymentTables for SqlTables<'_> {
    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Payee> {
        self.add(&WAREHOUSE, &[number(warehouse)], amount)
    }

    fn pay_district(&mut self, district: DistrictKey, amount: i64) -> Result<Payee> {
        self.add(&DISTRICT, &district_parameters(district), amount)
    }

    fn customer(
        &mut self,
        district: DistrictKey,
        who: &CustomerSelector,
        intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        if intent == ReadIntent::Pay && self.syntax.locks_by_update {
            self.touch_customer(district, who)?;
        }
        let id = match who {
            CustomerSelector::Number(id) => *id,
            CustomerSelector::LastName(last) => self.customer_by_name(district, last.as_str())?,
        };
        let statement = match intent {
            ReadIntent::Show => self.statement(StatementKind::Customer, 0, |_| customer("")),
            ReadIntent::Pay => self.statement(StatementKind::CustomerToPay, 0, |syntax| {
                customer(syntax.lock)
            }),
        }?;
        let parameters = numbered_parameters(district, id);
        self.row("the customer", statement, &parameters, |columns| {
            out.read_values(columns)
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
        let mut parameters = self.parameters.take();
        parameters.extend([money(change.balance), money(change.ytd_payment)]);
        parameters.push(number(change.payment_count));
        parameters.extend(change.data.map(|data| Datum::Text(data.as_str())));
        parameters.extend([number(change.warehouse), number(change.district)]);
        parameters.push(number(change.customer));
        self.change("the customer", 1, statement, &parameters)?;
        self.parameters.put_back(parameters);
        Ok(())
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        self.insert(std::slice::from_ref(row)).map(|_| ())
    }
}

impl OrderStatusTables for SqlTables<'_> {
    fn last_order(&mut self, district: DistrictKey, customer: u32) -> Result<Option<OrderRow>> {
        let statement = self.statement(StatementKind::LastOrder, 0, |syntax| {
            syntax.first(&schema::names(OrderRow::COLUMNS), LAST_ORDER)
        })?;
        let parameters = numbered_parameters(district, customer);
        self.optional_row(statement, &parameters, read_row)
    }

    fn order_lines(
        &mut self,
        district: DistrictKey,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        out.clear();
        let statement = self.statement(StatementKind::OrderLines, 0, |_| {
            format!("SELECT {} {LINES}", schema::names(OrderLineRow::COLUMNS))
        })?;
        let parameters = numbered_parameters(district, order);
        self.visit_rows(statement, &parameters, &mut |row| out.push(row), read_row)
    }
}

/// Reads a row with all of its columns.
fn read_row<R: TableRow + Default>(columns: &mut ColumnReader<'_>) -> Result<R> {
    let mut row = R::default();
    row.read_values(columns)?;
    Ok(row)
}

impl SqlTables<'_> {
    /// Adds cents to a table's YTD, and reads name and address.
    fn add(&mut self, paid: &PaidTable, key: &[Datum<'_>], amount: i64) -> Result<Payee> {
        let (table, prefix, condition) = (paid.table, paid.prefix, paid.condition);
        let columns = || {
            let columns = ["name", "street_1", "street_2", "city", "state", "zip"];
            columns.map(|column| format!("{prefix}{column}")).join(", ")
        };
        // A key has two columns at most.
        let mut parameters = [money(amount); 3];
        parameters[1..=key.len()].copy_from_slice(key);
        let parameters = &parameters[..=key.len()];
        let has_returning = self.syntax.has_returning;
        let pay = self.statement(paid.pay, 0, |syntax| {
            let amount = syntax.money_parameter();
            let set = format!("UPDATE {table} SET {prefix}ytd = {prefix}ytd + {amount}");
            if has_returning {
                format!("{set} WHERE {condition} RETURNING {}", columns())
            } else {
                format!("{set} WHERE {condition}")
            }
        })?;
        if has_returning {
            return self.row(paid.subject, pay, parameters, payee);
        }
        self.change(paid.subject, 1, pay, parameters)?;
        let read = self.statement(paid.read, 0, |_| {
            format!("SELECT {} FROM {table} WHERE {condition}", columns())
        })?;
        self.row(paid.subject, read, key, payee)
    }

    /// The C_ID of the customer of that name in the middle of the order of C_FIRST.
    fn customer_by_name(&mut self, district: DistrictKey, last: &str) -> Result<u32> {
        let statement = self.fixed_statement(StatementKind::CustomerNames, NAMES)?;
        let [warehouse, district] = district_parameters(district);
        let parameters = [warehouse, district, Datum::Text(last)];
        let mut ids = std::mem::take(&mut self.numbers);
        ids.clear();
        self.rows(statement, &parameters, |columns| {
            ids.push(columns.integer::<u32>()?.into());
            Ok(())
        })?;
        let middle = ids.len().div_ceil(2).checked_sub(1);
        let found = middle.and_then(|middle| ids.get(middle)).copied();
        self.numbers = ids;
        let found = found.and_then(|id| u32::try_from(id).ok());
        found.ok_or_else(|| Error::engine(format!("there is no customer named {last}")))
    }

    /// Locks the customers that are about to be read, of whom one is to pay. All of a name are
    /// locked: a transaction that has read them under shared locks could not lock one to write it
    /// while another holds the same.
    fn touch_customer(&mut self, district: DistrictKey, who: &CustomerSelector) -> Result<()> {
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
        let [warehouse, district] = district_parameters(district);
        let parameters = [warehouse, district, value];
        self.execute(touch, &parameters).map(drop)
    }
}
