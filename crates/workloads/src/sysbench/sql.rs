//! The tables in SQL: sysbench's statements, prepared when a session first uses them.

mod statements;

use super::rows::{Row, RowKey};
use super::tables::{IdRange, KRange, RangeQuery, Statements, StoredRow, TableContents, TableLoad};
use super::text::{CText, PadText, fit};
use crate::keyed::transaction::TransactionScope;
use crate::sql::columns::{ColumnReader, number};
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::parameters::ParameterBuffer;
use crate::sql::prepared::PreparedStatements;
use crate::sql::{change_rows, read_rows, session_sql};
use statements::{StatementKind, TableStatement};
use std::ops::ControlFlow;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Dialect, Result, Session, Sql};

/// The tables in SQL, through one session.
pub(super) struct SqlTables<'s> {
    session: &'s mut dyn Session,
    dialect: Dialect,
    syntax: &'static DialectSyntax,
    statements: PreparedStatements<TableStatement>,
    parameters: ParameterBuffer,
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

    /// A statement about a table, with parameters for `count` rows or values.
    fn statement(&mut self, kind: StatementKind, table: u32, count: usize) -> Result<Statement> {
        let (key, dialect) = (TableStatement { kind, table }, self.dialect);
        self.statements.get(self.session, key, count, |_| {
            statements::text(kind, table, count, dialect)
        })
    }

    /// Executes a statement about one row; whether the row was there.
    fn execute(
        &mut self,
        kind: StatementKind,
        row: RowKey,
        parameters: &[Datum<'_>],
    ) -> Result<bool> {
        let statement = self.statement(kind, row.table, 0)?;
        Ok(self.sql()?.execute(statement, parameters)? > 0)
    }

    /// Reads the one number that a query gives; 0 if that is nothing.
    fn number(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        let mut found = None;
        read_rows(self.sql()?, statement, parameters, |columns| {
            found = columns.optional_integer::<i64>()?;
            Ok(())
        })?;
        Ok(found.map_or(0, |found| u64::try_from(found).unwrap_or_default()))
    }

    /// The number of rows that one statement inserts, at most.
    fn rows_at_once(&self, kind: StatementKind) -> usize {
        let columns = statements::columns(kind).len();
        self.syntax.rows_at_once(columns)
    }

    /// Inserts this many rows by one statement.
    fn insert_at_once(
        &mut self,
        (kind, table): (StatementKind, u32),
        rows: usize,
        parameters: &[Datum<'_>],
    ) -> Result<()> {
        let statement = self.statement(kind, table, rows)?;
        change_rows(self.sql()?, "new rows", rows, statement, parameters)
    }
}

/// A column's text, which is of type text or bytes; nothing of another type.
fn bytes<'d>(datum: Option<&Datum<'d>>) -> &'d [u8] {
    match datum.copied() {
        Some(Datum::Text(text)) => text.as_bytes(),
        Some(Datum::Bytes(bytes)) => bytes,
        _ => &[],
    }
}

/// A text as a parameter: its bytes are digits and dashes.
fn text(text: &[u8]) -> Datum<'_> {
    Datum::Text(std::str::from_utf8(text).unwrap_or_default())
}

/// The parameters of a row.
fn row_parameters(row: &Row) -> [Datum<'_>; 4] {
    [number(row.id), number(row.k), text(&row.c), text(&row.pad)]
}

/// A whole number of a row; -1 for one that is none or is not there.
fn integer(columns: &[Datum<'_>], index: usize) -> i64 {
    let column = columns.get(index..).unwrap_or_default();
    ColumnReader(column).integer().unwrap_or(-1)
}

fn range_parameters(ids: &IdRange) -> [Datum<'static>; 2] {
    [number(*ids.start()), number(*ids.end())]
}

impl Statements for SqlTables<'_> {
    fn select_c(&mut self, row: RowKey, out: &mut CText) -> Result<bool> {
        let statement = self.statement(StatementKind::PointSelect, row.table, 0)?;
        let mut is_found = false;
        self.sql()?
            .query(statement, &[number(row.id)], &mut |columns| {
                *out = fit(bytes(columns.first()));
                is_found = true;
                ControlFlow::Continue(())
            })?;
        Ok(is_found)
    }

    fn select_range(
        &mut self,
        query: RangeQuery,
        table: u32,
        ids: IdRange,
        out: &mut Vec<CText>,
    ) -> Result<()> {
        out.clear();
        let statement = self.statement(StatementKind::range(query), table, 0)?;
        let parameters = range_parameters(&ids);
        self.sql()?.query(statement, &parameters, &mut |columns| {
            out.push(fit(bytes(columns.first())));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn sum_k(&mut self, table: u32, ids: IdRange) -> Result<u64> {
        let statement = self.statement(StatementKind::SumRange, table, 0)?;
        self.number(statement, &range_parameters(&ids))
    }

    fn add_to_k(&mut self, row: RowKey) -> Result<bool> {
        self.execute(StatementKind::IndexUpdate, row, &[number(row.id)])
    }

    fn set_c(&mut self, row: RowKey, c: &CText) -> Result<bool> {
        let parameters = [text(c), number(row.id)];
        self.execute(StatementKind::NonIndexUpdate, row, &parameters)
    }

    fn delete(&mut self, row: RowKey) -> Result<bool> {
        self.execute(StatementKind::Delete, row, &[number(row.id)])
    }

    fn insert(&mut self, table: u32, row: &Row) -> Result<()> {
        self.insert_at_once((StatementKind::Insert, table), 1, &row_parameters(row))
    }

    fn select_by_k(&mut self, table: u32, ks: &[u32], out: &mut Vec<Row>) -> Result<()> {
        out.clear();
        let statement = self.statement(StatementKind::RandomPoints, table, ks.len())?;
        let mut parameters = self.parameters.take();
        parameters.extend(ks.iter().map(|k| number(*k)));
        read_rows(self.sql()?, statement, &parameters, |columns| {
            let (id, k) = (columns.integer()?, columns.integer()?);
            let texts = columns.0;
            let c: CText = fit(bytes(texts.first()));
            let pad: PadText = fit(bytes(texts.get(1)));
            out.push(Row { id, k, c, pad });
            Ok(())
        })?;
        self.parameters.put_back(parameters);
        Ok(())
    }

    fn count_k(&mut self, table: u32, ranges: &[KRange]) -> Result<u64> {
        let statement = self.statement(StatementKind::RandomRanges, table, ranges.len())?;
        let mut parameters = self.parameters.take();
        let ends = ranges.iter().flat_map(|range| [range.low, range.high]);
        parameters.extend(ends.map(number));
        let count = self.number(statement, &parameters)?;
        self.parameters.put_back(parameters);
        Ok(count)
    }

    fn insert_pairs(&mut self, table: u32, first: u32, rows: u32) -> Result<()> {
        let kind = StatementKind::InsertPairs;
        let (at_once, end) = (self.rows_at_once(kind), first.saturating_add(rows));
        let mut parameters = self.parameters.take();
        for start in (first..end).step_by(at_once) {
            let ids = start..end.min(start.saturating_add(at_once as u32));
            parameters.clear();
            parameters.extend(ids.clone().flat_map(|id| [number(id), number(id)]));
            self.insert_at_once((kind, table), ids.len(), &parameters)?;
        }
        self.parameters.put_back(parameters);
        Ok(())
    }
}

impl TableLoad for SqlTables<'_> {
    fn create(&mut self, tables: u32, of_pairs: bool) -> Result<()> {
        for table in 1..=tables {
            let create = statements::create(table, of_pairs, self.dialect, self.syntax);
            self.sql()?.batch(&create)?;
        }
        Ok(())
    }

    fn load(&mut self, table: u32, rows: &[Row]) -> Result<u64> {
        let kind = StatementKind::Insert;
        let mut parameters = self.parameters.take();
        for some in rows.chunks(self.rows_at_once(kind)) {
            parameters.clear();
            parameters.extend(some.iter().flat_map(row_parameters));
            self.insert_at_once((kind, table), some.len(), &parameters)?;
        }
        self.parameters.put_back(parameters);
        Ok(rows.len() as u64 * Row::BYTES)
    }

    fn finish_load(&mut self, tables: u32) -> Result<()> {
        for table in 1..=tables {
            self.sql()?.batch(&statements::create_index(table))?;
        }
        let names: Vec<_> = (1..=tables).map(statements::table_name).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        for statement in (self.syntax.analyze)(&names) {
            self.sql()?.batch(&statement)?;
        }
        Ok(())
    }
}

impl TableContents for SqlTables<'_> {
    fn each_row(&mut self, table: u32, visitor: &mut dyn FnMut(StoredRow<'_>)) -> Result<()> {
        let statement = self.statement(StatementKind::Rows, table, 0)?;
        self.sql()?.query(statement, &[], &mut |columns| {
            visitor(StoredRow {
                id: integer(columns, 0),
                k: integer(columns, 1),
                c: bytes(columns.get(2)),
                pad: bytes(columns.get(3)),
            });
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn each_pair(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()> {
        let statement = self.statement(StatementKind::Pairs, table, 0)?;
        self.each_two(statement, visitor)
    }

    fn each_index_entry(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()> {
        if self.syntax.prefer_indexes.is_some() {
            let first = self.statement(StatementKind::PreferIndexes, table, 0)?;
            self.sql()?
                .query(first, &[], &mut |_| ControlFlow::Continue(()))?;
        }
        let statement = self.statement(StatementKind::IndexEntries, table, 0)?;
        self.each_two(statement, visitor)
    }
}

impl SqlTables<'_> {
    /// Shows the two numbers of each row of a query.
    fn each_two(&mut self, statement: Statement, visitor: &mut dyn FnMut(i64, i64)) -> Result<()> {
        self.sql()?.query(statement, &[], &mut |columns| {
            visitor(integer(columns, 0), integer(columns, 1));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }
}

impl TransactionScope for SqlTables<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}
