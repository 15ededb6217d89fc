//! The tables in SQL: the columns and indexes of clause 1.3, prepared statements, and as few round
//! trips as one statement per step of a transaction allows.

mod columns;
mod deliver;
mod dialect;
mod load;
mod order;
mod pay;
mod prime;
mod procedures;
mod schema;
mod state;

use super::procedures::Procedures;
use super::rows::{CustomerRow, HistoryRow, OrderLineRow, OrderRow, Table};
use super::tables::{
    BuyerState, CustomerChange, CustomerSelector, CustomerState, DeliveredOrder, DistrictState,
    HistoryState, Item, LineState, OrderNumber, OrderState, Place, ReadIntent, Rows, Stock,
    StockChange, StockKey, Tables, UndeliveredOrder,
};
use columns::ColumnReader;
pub(super) use dialect::has_procedures;
use dialect::{DialectSyntax, writing};
use std::collections::HashMap;
use std::ops::ControlFlow;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Error, Mode, Result, Session, Sql};

/// The kind of a statement; some are written anew for each number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StatementKind {
    Buyer,
    RaiseOrder,
    ReadOrder,
    Items,
    /// By the number of stocks and the district whose S_DIST_xx is wanted.
    Stocks(u8),
    TouchStocks,
    UpdateStocks,
    PayWarehouse,
    ReadWarehouse,
    PayDistrict,
    ReadDistrict,
    CustomerNames,
    Customer,
    CustomerToPay,
    TouchCustomer,
    TouchNamed,
    PayCustomer,
    PayBadCustomer,
    LastOrder,
    OrderLines,
    Oldest,
    TakeOldest,
    DeliverOrders,
    DeliveredOrders,
    DeliverLines,
    DeliveredLines,
    Credit,
    LowStock,
    SetPrice,
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    Insert(Table),
    Read(Table),
    Prime(Table),
    PrimeIndex(Table),
    WarehouseYtd,
    DistrictState,
    Customers,
    Histories,
    Orders,
    NewOrders,
    Lines,
}

/// The nine tables in SQL, through one session.
pub struct SqlTables<'s> {
    session: &'s mut dyn Session,
    writing: &'static DialectSyntax,
    /// Whether the server does the transactions.
    has_procedures: bool,
    /// Prepared when first used, by what is meant and how many rows it is about.
    statements: HashMap<(StatementKind, usize), Statement>,
}

impl<'s> SqlTables<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the session speaks no SQL.
    pub fn new(session: &'s mut dyn Session) -> Result<Self> {
        let dialect = session.sql().ok_or_else(no_sql)?.dialect();
        Ok(Self {
            session,
            writing: writing(dialect),
            has_procedures: false,
            statements: HashMap::new(),
        })
    }

    /// The same tables, with the transactions as functions of the server, which are made with the
    /// tables.
    #[must_use]
    pub fn with_procedures(self) -> Self {
        Self {
            has_procedures: true,
            ..self
        }
    }

    fn sql(&mut self) -> Result<&mut dyn Sql> {
        self.session.sql().ok_or_else(no_sql)
    }

    /// The statement that is meant, about `count` rows; `text` writes it, with `?` for parameters.
    fn statement(
        &mut self,
        which: StatementKind,
        count: usize,
        text: impl FnOnce(&DialectSyntax) -> String,
    ) -> Result<Statement> {
        if let Some(known) = self.statements.get(&(which, count)) {
            return Ok(*known);
        }
        let written = self.writing.parameters(&text(self.writing));
        let prepared = self.sql()?.prepare(&written)?;
        self.statements.insert((which, count), prepared);
        Ok(prepared)
    }

    /// Executes a statement that changes rows, and says how many.
    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        self.sql()?.execute(statement, parameters)
    }

    /// As [`SqlTables::execute`]; that it changed other than `expected` rows is an error.
    fn change(
        &mut self,
        what: &str,
        expected: usize,
        statement: Statement,
        parameters: &[Datum<'_>],
    ) -> Result<()> {
        let changed = self.execute(statement, parameters)?;
        if changed == expected as u64 {
            return Ok(());
        }
        Err(Error::engine(format!(
            "{what}: {changed} rows changed, not {expected}"
        )))
    }

    /// Reads every row of a query.
    fn rows(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        mut read: impl FnMut(ColumnReader<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut told = Ok(());
        self.sql()?.query(statement, parameters, &mut |row| {
            told = read(ColumnReader(row));
            match told {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        told
    }

    /// Reads the one row of a query; `None` where there is none.
    fn optional_row<T>(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        mut read: impl FnMut(ColumnReader<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.rows(statement, parameters, |columns| {
            found = Some(read(columns)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the one row of a query, which must be there.
    fn row<T>(
        &mut self,
        what: &str,
        statement: Statement,
        parameters: &[Datum<'_>],
        read: impl FnMut(ColumnReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.optional_row(statement, parameters, read)?;
        found.ok_or_else(|| Error::engine(format!("{what} is not there")))
    }
}

fn no_sql() -> Error {
    Error::Unsupported("this engine speaks no SQL".to_owned())
}

/// A condition that a row is one of `count` pairs of numbers, two parameters each.
fn one_of_pairs(first: &str, second: &str, count: usize) -> String {
    let pair = format!("({first} = ? AND {second} = ?)");
    format!("({})", vec![pair.as_str(); count].join(" OR "))
}

impl Tables for SqlTables<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.session.abort()
    }

    fn procedures(&mut self) -> Option<&mut dyn Procedures> {
        self.has_procedures.then_some(self as &mut dyn Procedures)
    }

    fn buyer(&mut self, warehouse: u32, district: u8, customer: u32) -> Result<BuyerState> {
        self.read_buyer(warehouse, district, customer)
    }

    fn take_order_number(&mut self, warehouse: u32, district: u8) -> Result<OrderNumber> {
        self.raise_order_number(warehouse, district)
    }

    fn insert_order(&mut self, order: &OrderRow) -> Result<()> {
        self.insert_order_rows(order)
    }

    fn items(&mut self, ids: &[u32], out: &mut Vec<Option<Item>>) -> Result<()> {
        self.read_items(ids, out)
    }

    fn stocks(&mut self, keys: &[StockKey], district: u8, out: &mut Vec<Stock>) -> Result<()> {
        self.read_stocks(keys, district, out)
    }

    fn update_stocks(&mut self, changes: &[StockChange]) -> Result<()> {
        self.write_stocks(changes)
    }

    fn insert_order_lines(&mut self, lines: &[OrderLineRow]) -> Result<()> {
        self.insert(lines).map(|_| ())
    }

    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Place> {
        self.add_to_warehouse(warehouse, amount)
    }

    fn pay_district(&mut self, warehouse: u32, district: u8, amount: i64) -> Result<Place> {
        self.add_to_district(warehouse, district, amount)
    }

    fn customer(
        &mut self,
        warehouse: u32,
        district: u8,
        who: &CustomerSelector,
        intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        self.read_customer(warehouse, district, who, intent, out)
    }

    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()> {
        self.write_customer(change)
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        self.insert(std::slice::from_ref(row)).map(|_| ())
    }

    fn last_order(
        &mut self,
        warehouse: u32,
        district: u8,
        customer: u32,
    ) -> Result<Option<OrderRow>> {
        self.read_last_order(warehouse, district, customer)
    }

    fn order_lines(
        &mut self,
        warehouse: u32,
        district: u8,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        self.read_order_lines(warehouse, district, order, out)
    }

    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()> {
        self.take_oldest(warehouse, out)
    }

    fn deliver(
        &mut self,
        warehouse: u32,
        due: &[UndeliveredOrder],
        carrier: u8,
        at: i64,
        out: &mut Vec<DeliveredOrder>,
    ) -> Result<()> {
        self.deliver_orders(warehouse, due, carrier, at, out)
    }

    fn credit_deliveries(&mut self, warehouse: u32, delivered: &[DeliveredOrder]) -> Result<()> {
        self.credit_customers(warehouse, delivered)
    }

    fn low_stock(&mut self, warehouse: u32, district: u8, threshold: i32) -> Result<u64> {
        self.count_low_stock(warehouse, district, threshold)
    }

    fn set_price(&mut self, item: u32, price: i64) -> Result<()> {
        let text = "UPDATE item SET i_price = ? WHERE i_id = ?";
        let statement = self.statement(StatementKind::SetPrice, 0, |_| text.to_owned())?;
        let parameters = [columns::money(price), columns::number(item)];
        self.change("the item", 1, statement, &parameters)
    }

    fn create(&mut self) -> Result<()> {
        self.create_tables()
    }

    fn load(&mut self, rows: Rows<'_>) -> Result<u64> {
        self.load_rows(rows)
    }

    fn finish_load(&mut self) -> Result<()> {
        self.finish_tables()
    }

    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64> {
        self.read_warehouse_ytd(warehouse)
    }

    fn district_state(&mut self, warehouse: u32, district: u8) -> Result<DistrictState> {
        self.read_district_state(warehouse, district)
    }

    fn each_customer(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(CustomerState),
    ) -> Result<()> {
        self.visit_customers(warehouse, district, visitor)
    }

    fn each_history(&mut self, visitor: &mut dyn FnMut(HistoryState)) -> Result<()> {
        self.visit_histories(visitor)
    }

    fn each_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(OrderState),
    ) -> Result<()> {
        self.visit_orders(warehouse, district, visitor)
    }

    fn each_new_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(u32),
    ) -> Result<()> {
        self.visit_new_orders(warehouse, district, visitor)
    }

    fn each_order_line(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(LineState),
    ) -> Result<()> {
        self.visit_order_lines(warehouse, district, visitor)
    }

    fn read_table(&mut self, table: Table, warehouse: u32) -> Result<u64> {
        self.read_whole(table, warehouse)
    }

    fn prime(&mut self, table: Table, warehouse: u32) -> Result<()> {
        self.prime_by_key(table, warehouse)
    }
}
