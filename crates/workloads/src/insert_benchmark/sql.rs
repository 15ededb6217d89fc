//! The tables in SQL, as `iibench.py` makes them, with prepared statements. What is one statement
//! is sent without `BEGIN` and `COMMIT`, as iibench does.

mod schema;

use super::purchase::{Data, Index, IndexTuple, KeyColumns, Purchase};
use super::tables::{IndexEntry, Mark, PointRow, PurchaseTables, QUERY_ROWS, Visitor};
use crate::keyed::transaction::{TransactionScope, in_transaction};
use crate::sql::columns::{ColumnReader, ColumnType, number};
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::parameters::ParameterBuffer;
use crate::sql::prepared::PreparedStatements;
use crate::sql::{change_rows, read_rows, session_sql};
use schema::{COLUMN_COUNT, StatementKind, TableStatement};
use std::ops::Range;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Dialect, Mode, Result, Session, Sql};

/// A second, microseconds.
const SECOND_US: i64 = 1_000_000;

/// The table of statements that are about no table in particular.
const ANY_TABLE: u32 = 0;

/// The tables in SQL, through one session.
pub(super) struct SqlTables<'s> {
    session: &'s mut dyn Session,
    dialect: Dialect,
    syntax: &'static DialectSyntax,
    statements: PreparedStatements<TableStatement>,
    parameters: ParameterBuffer,
}

/// An id as a parameter.
fn id(id: u64) -> Datum<'static> {
    Datum::Integer(id as i64)
}

/// Takes a moment of whole seconds off a row; one that is none equals no row's.
fn time_s(columns: &mut ColumnReader<'_>) -> Result<u64> {
    let time_us: i64 = columns.value(ColumnType::Moment)?;
    let is_whole = time_us % SECOND_US == 0;
    Ok(if is_whole {
        (time_us / SECOND_US) as u64
    } else {
        u64::MAX
    })
}

fn tuple(index: Index, columns: &mut ColumnReader<'_>) -> Result<IndexTuple> {
    let first = columns.integer()?;
    let second = match index {
        Index::Market | Index::Register => columns.integer()?,
        Index::Pdc => time_s(columns)?,
    };
    Ok(IndexTuple {
        first,
        second,
        third: columns.integer()?,
    })
}

fn purchase(columns: &mut ColumnReader<'_>) -> Result<Purchase> {
    let key_columns = KeyColumns {
        id: columns.integer()?,
        time_s: time_s(columns)?,
        cash_register: columns.integer()?,
        customer: columns.integer()?,
        product: columns.integer()?,
        price: columns.integer()?,
    };
    let data: Data = columns.text()?;
    Ok(Purchase {
        columns: key_columns,
        data,
    })
}

impl<'s> SqlTables<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`trueput_engine::Error::Unsupported`] if the session does not speak SQL.
    pub(super) fn new(session: &'s mut dyn Session) -> Result<Self> {
        let dialect = session_sql(session)?.dialect();
        let syntax = syntax(dialect);
        Ok(Self {
            session,
            dialect,
            syntax,
            statements: PreparedStatements::new(syntax),
            parameters: ParameterBuffer::default(),
        })
    }

    fn sql(&mut self) -> Result<&mut dyn Sql> {
        session_sql(self.session)
    }

    #[inline]
    fn statement(&mut self, kind: StatementKind, table: u32) -> Result<Statement> {
        let (key, dialect) = (TableStatement { kind, table }, self.dialect);
        self.statements
            .get(self.session, key, kind.size(), |syntax| {
                kind.text(table, dialect, syntax)
            })
    }

    /// Inserts rows by one statement.
    fn insert_at_once(&mut self, table: u32, rows: &[Purchase]) -> Result<()> {
        let statement = self.statement(StatementKind::Insert(rows.len()), table)?;
        let mut parameters = self.parameters.take();
        for Purchase { columns, data } in rows {
            parameters.extend([
                id(columns.id),
                Datum::Timestamp(columns.time_s as i64 * SECOND_US),
                number(columns.cash_register),
                number(columns.customer),
                number(columns.product),
                number(columns.price),
                Datum::Text(data.as_str()),
            ]);
        }
        let subject = "an insert";
        change_rows(self.sql()?, subject, rows.len(), statement, &parameters)?;
        self.parameters.put_back(parameters);
        Ok(())
    }

    /// Reads a number that a statement without parameters returns; `None` if it returns none.
    fn optional_number(&mut self, kind: StatementKind, table: u32) -> Result<Option<u64>> {
        let statement = self.statement(kind, table)?;
        let mut found = None;
        read_rows(self.sql()?, statement, &[], |columns| {
            found = columns.optional_integer()?;
            Ok(())
        })?;
        Ok(found)
    }

    fn batch(&mut self, statements: &[String]) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.sql()?.batch(statement))
    }
}

impl TransactionScope for SqlTables<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl PurchaseTables for SqlTables<'_> {
    fn create(&mut self, tables: u32) -> Result<()> {
        self.batch(&schema::create(tables, self.dialect, self.syntax))
    }

    fn insert(&mut self, table: u32, rows: &[Purchase], _has_indexes: bool) -> Result<()> {
        let at_once = self.syntax.rows_at_once(COLUMN_COUNT);
        if rows.len() <= at_once {
            return self.insert_at_once(table, rows);
        }
        in_transaction(self, Mode::Write, |tables| {
            let mut parts = rows.chunks(at_once);
            parts.try_for_each(|part| tables.insert_at_once(table, part))
        })
    }

    fn delete(&mut self, table: u32, first: u64, rows: u32) -> Result<u64> {
        let statement = self.statement(StatementKind::Delete(rows), table)?;
        let ends = [id(first), id(first + u64::from(rows))];
        let count = if schema::deletes_by_range(self.dialect) {
            2
        } else {
            1
        };
        self.sql()?.execute(statement, &ends[..count])
    }

    fn extend_index(&mut self, table: u32, index: Index, _from: u64) -> Result<Option<u64>> {
        self.sql()?.batch(&schema::create_index(table, index))?;
        Ok(None)
    }

    fn first_id(&mut self, table: u32) -> Result<Option<u64>> {
        self.optional_number(StatementKind::FirstId, table)
    }

    fn last_id(&mut self, table: u32) -> Result<Option<u64>> {
        self.optional_number(StatementKind::LastId, table)
    }

    fn range_query(
        &mut self,
        table: u32,
        index: Index,
        value: u32,
        found: &mut Vec<IndexEntry>,
    ) -> Result<()> {
        found.clear();
        let statement = self.statement(StatementKind::RangeQuery(index), table)?;
        read_rows(self.sql()?, statement, &[number(value)], |columns| {
            found.push(IndexEntry {
                tuple: tuple(index, columns)?,
                id: None,
            });
            Ok(())
        })
    }

    fn point_query(
        &mut self,
        table: u32,
        ids: &[u64; QUERY_ROWS],
        found: &mut Vec<PointRow>,
    ) -> Result<()> {
        found.clear();
        let statement = self.statement(StatementKind::PointQuery, table)?;
        let parameters = ids.map(id);
        read_rows(self.sql()?, statement, &parameters, |columns| {
            found.push(PointRow {
                id: columns.integer()?,
                product: columns.integer()?,
                data: columns.text()?,
            });
            Ok(())
        })
    }

    fn count(&mut self, table: u32) -> Result<u64> {
        let count = self.optional_number(StatementKind::Count, table)?;
        Ok(count.unwrap_or_default())
    }

    fn each_row(
        &mut self,
        table: u32,
        ids: Range<u64>,
        visitor: Visitor<'_, Purchase>,
    ) -> Result<()> {
        let statement = self.statement(StatementKind::Rows, table)?;
        // There is no larger id in SQL.
        let end = ids.end.min(i64::MAX as u64);
        let parameters = [id(ids.start), id(end)];
        read_rows(self.sql()?, statement, &parameters, |columns| {
            visitor(purchase(columns)?);
            Ok(())
        })
    }

    fn each_entry(
        &mut self,
        table: u32,
        index: Index,
        values: Range<u32>,
        visitor: Visitor<'_, (IndexTuple, u64)>,
    ) -> Result<()> {
        let statement = self.statement(StatementKind::Entries(index), table)?;
        let end = if values.end < index.values() {
            i64::from(values.end)
        } else {
            i64::from(i32::MAX)
        };
        let parameters = [number(values.start), Datum::Integer(end)];
        read_rows(self.sql()?, statement, &parameters, |columns| {
            visitor((tuple(index, columns)?, columns.integer()?));
            Ok(())
        })
    }

    fn force_index_plans(&mut self) -> Result<()> {
        let mut statements = schema::force_index_plans(self.dialect).iter();
        statements.try_for_each(|statement| self.sql()?.batch(statement))
    }

    fn analyze(&mut self, tables: u32) -> Result<()> {
        self.batch(&schema::analyze(tables, self.dialect, self.syntax))
    }

    fn has_mark(&mut self, mark: Mark, table: u32) -> Result<bool> {
        let statement = self.statement(StatementKind::HasMark, ANY_TABLE)?;
        let mut marks = 0_u64;
        let parameters = [number(mark as u32), number(table)];
        read_rows(self.sql()?, statement, &parameters, |columns| {
            marks = columns.integer()?;
            Ok(())
        })?;
        Ok(marks > 0)
    }

    fn set_mark(&mut self, mark: Mark, table: u32, is_set: bool) -> Result<()> {
        let kind = if is_set {
            StatementKind::AddMark
        } else {
            StatementKind::RemoveMark
        };
        let statement = self.statement(kind, ANY_TABLE)?;
        let parameters = [number(mark as u32), number(table)];
        change_rows(self.sql()?, "a mark", 1, statement, &parameters)
    }
}
