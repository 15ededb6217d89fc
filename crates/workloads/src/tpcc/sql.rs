//! The tables in SQL: the columns and indexes of clause 1.3, prepared statements, and as few round
//! trips as one statement per step of a transaction allows.

mod deliver;
mod functions;
mod load;
mod order;
mod pay;
mod prime;
mod procedures;
mod schema;
mod state;

use super::procedures::Procedures;
use super::rows::{DISTRICTS, DistrictKey, Table};
use super::tables::{Tables, Visitor};
use crate::keyed::transaction::TransactionScope;
use crate::sql::columns::{ColumnReader, money, number};
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::parameters::ParameterBuffer;
use crate::sql::prepared::{PreparedStatements, StatementKey};
use crate::sql::{change_rows, read_rows, session_sql};
pub(super) use functions::has_procedures;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Error, Result, Session, Sql};

/// The kind of a statement; some have a text for each number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementKind {
    Buyer,
    RaiseOrder,
    ReadOrder,
    Items,
    /// By the district whose S_DIST_xx is wanted.
    Stocks,
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
    /// By the table, as are the next three.
    Insert,
    Read,
    Prime,
    PrimeIndex,
    PreferIndexes,
    WarehouseYtd,
    DistrictState,
    Customers,
    Histories,
    Orders,
    NewOrders,
    Lines,
}

/// A kind of statement, and for some kinds which of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatementVariant {
    kind: StatementKind,
    /// The number of a district, or of a table; 0 for the only one of a kind.
    variant: u8,
}

impl StatementVariant {
    /// The number of variants of a kind, at most: the districts from 1, the tables from 0.
    const COUNT: usize = DISTRICTS as usize + 1;
}

impl StatementKind {
    /// The one for a district.
    fn of_district(self, district: u8) -> StatementVariant {
        StatementVariant {
            kind: self,
            variant: district,
        }
    }

    /// The one for a table.
    fn of_table(self, table: Table) -> StatementVariant {
        StatementVariant {
            kind: self,
            variant: table as u8,
        }
    }
}

impl From<StatementKind> for StatementVariant {
    fn from(kind: StatementKind) -> Self {
        Self { kind, variant: 0 }
    }
}

impl StatementKey for StatementVariant {
    fn index(self) -> usize {
        self.kind as usize * Self::COUNT + usize::from(self.variant)
    }
}

/// The nine tables in SQL, through one session.
pub struct SqlTables<'s> {
    session: &'s mut dyn Session,
    syntax: &'static DialectSyntax,
    /// Whether the server does the transactions.
    has_procedures: bool,
    statements: PreparedStatements<StatementVariant>,
    parameters: ParameterBuffer,
    /// The numbers of one statement's condition or array, and those that a query has given.
    numbers: Vec<i64>,
}

impl<'s> SqlTables<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the session does not speak SQL.
    pub fn new(session: &'s mut dyn Session) -> Result<Self> {
        let syntax = syntax(session_sql(session)?.dialect());
        Ok(Self {
            session,
            syntax,
            has_procedures: false,
            statements: PreparedStatements::new(syntax),
            parameters: ParameterBuffer::default(),
            numbers: Vec::new(),
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
        session_sql(self.session)
    }

    /// The statement that is meant, about `count` rows; `text` writes it, with `?` for parameters.
    fn statement(
        &mut self,
        which: impl Into<StatementVariant>,
        count: usize,
        text: impl FnOnce(&DialectSyntax) -> String,
    ) -> Result<Statement> {
        self.statements.get(self.session, which.into(), count, text)
    }

    /// Like [`SqlTables::statement`], for a text that is the same in every dialect and does not
    /// depend on a number of rows.
    fn fixed_statement(&mut self, which: StatementKind, text: &str) -> Result<Statement> {
        self.statement(which, 0, |_| text.to_owned())
    }

    /// Executes a statement that changes rows; returns their number.
    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        self.sql()?.execute(statement, parameters)
    }

    /// Like [`SqlTables::execute`], but any number of changed rows other than `expected` is an
    /// error.
    fn change(
        &mut self,
        subject: &str,
        expected: usize,
        statement: Statement,
        parameters: &[Datum<'_>],
    ) -> Result<()> {
        change_rows(self.sql()?, subject, expected, statement, parameters)
    }

    /// Reads every row of a query.
    fn rows(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        read: impl FnMut(&mut ColumnReader<'_>) -> Result<()>,
    ) -> Result<()> {
        read_rows(self.sql()?, statement, parameters, read)
    }

    /// Shows every row of a query to a visitor.
    fn visit_rows<T>(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: Visitor<'_, T>,
        read: impl Fn(&mut ColumnReader<'_>) -> Result<T>,
    ) -> Result<()> {
        self.rows(statement, parameters, |columns| {
            visitor(read(columns)?);
            Ok(())
        })
    }

    /// Reads the one row of a query; `None` if there is none.
    fn optional_row<T>(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        mut read: impl FnMut(&mut ColumnReader<'_>) -> Result<T>,
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
        subject: &str,
        statement: Statement,
        parameters: &[Datum<'_>],
        read: impl FnMut(&mut ColumnReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.optional_row(statement, parameters, read)?;
        found.ok_or_else(|| Error::engine(format!("{subject} is not there")))
    }
}

/// The key of a district as parameters.
fn district_parameters(district: DistrictKey) -> [Datum<'static>; 2] {
    [number(district.warehouse), number(district.district)]
}

/// The key of a customer as parameters, or that of an order.
fn numbered_parameters(district: DistrictKey, id: u32) -> [Datum<'static>; 3] {
    let [warehouse, district] = district_parameters(district);
    [warehouse, district, number(id)]
}

/// A condition that a row is one of `count` pairs of numbers, two parameters each.
fn one_of_pairs(first: &str, second: &str, count: usize) -> String {
    let pair = format!("({first} = ? AND {second} = ?)");
    format!("({})", vec![pair.as_str(); count].join(" OR "))
}

impl TransactionScope for SqlTables<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl Tables for SqlTables<'_> {
    fn procedures(&mut self) -> Option<&mut dyn Procedures> {
        self.has_procedures.then_some(self as &mut dyn Procedures)
    }

    fn set_price(&mut self, item: u32, price: i64) -> Result<()> {
        let text = "UPDATE item SET i_price = ? WHERE i_id = ?";
        let statement = self.fixed_statement(StatementKind::SetPrice, text)?;
        self.change("the item", 1, statement, &[money(price), number(item)])
    }

    fn prime(&mut self, table: Table, warehouse: u32) -> Result<()> {
        self.prime_by_key(table, warehouse)
    }
}
