//! The tables in SQL: sysbench's statements, prepared when a session first uses them.

mod statements;

use super::rows::{Row, RowKey};
use super::tables::{
    IdRange, KRange, RangeQuery, Statements, StoredRow, TableContents, TableLoad, Tables,
};
use super::text::{CText, PadText, fit};
use crate::sql::columns::{ColumnReader, number};
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::{change_rows, read_rows, session_sql};
use statements::StatementKind;
use std::collections::HashMap;
use std::ops::ControlFlow;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Dialect, Mode, Result, Session, Sql};

/// The tables in SQL, through one session.
pub(super) struct SqlTables<'s> {
    session: &'s mut dyn Session,
    dialect: Dialect,
    syntax: &'static DialectSyntax,
    /// Statements prepared when first used, by kind, table and number of rows or values.
    statements: HashMap<(StatementKind, u32, usize), Statement>,
}

impl<'s> SqlTables<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`trueput_engine::Error::Unsupported`] if the session does not speak SQL.
    pub(super) fn new(session: &'s mut dyn Session) -> Result<Self> {
        let dialect = session_sql(session)?.dialect();
        Ok(Self {
            session,
            dialect,
            syntax: syntax(dialect),
            statements: HashMap::new(),
        })
    }

    fn sql(&mut self) -> Result<&mut dyn Sql> {
        session_sql(self.session)
    }

    /// A statement about a table, with parameters for `count` rows or values.
    fn statement(&mut self, kind: StatementKind, table: u32, count: usize) -> Result<Statement> {
        if let Some(known) = self.statements.get(&(kind, table, count)) {
            return Ok(*known);
        }
        let text = statements::text(kind, table, count, self.dialect);
        let prepared = session_sql(self.session)?.prepare(&self.syntax.parameters(&text))?;
        self.statements.insert((kind, table, count), prepared);
        Ok(prepared)
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

    /// Inserts rows, several with each statement; `push` appends the parameters of one.
    fn insert_rows<R>(
        &mut self,
        (kind, table): (StatementKind, u32),
        rows: &[R],
        push: impl for<'r> Fn(&'r R, &mut Vec<Datum<'r>>),
    ) -> Result<()> {
        let columns = statements::columns(kind).len();
        for some in rows.chunks(self.syntax.rows_at_once(columns)) {
            let statement = self.statement(kind, table, some.len())?;
            let mut parameters = Vec::with_capacity(columns * some.len());
            some.iter().for_each(|row| push(row, &mut parameters));
            change_rows(self.sql()?, "new rows", some.len(), statement, &parameters)?;
        }
        Ok(())
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
fn push_row<'r>(row: &'r Row, parameters: &mut Vec<Datum<'r>>) {
    parameters.extend([number(row.id), number(row.k), text(&row.c), text(&row.pad)]);
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
        let statement = self.statement(StatementKind::Range(query), table, 0)?;
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
        let statement = self.statement(StatementKind::Insert, table, 1)?;
        let parameters = [number(row.id), number(row.k), text(&row.c), text(&row.pad)];
        change_rows(self.sql()?, "a new row", 1, statement, &parameters)
    }

    fn select_by_k(&mut self, table: u32, ks: &[u32], out: &mut Vec<Row>) -> Result<()> {
        out.clear();
        let statement = self.statement(StatementKind::RandomPoints, table, ks.len())?;
        let parameters: Vec<_> = ks.iter().map(|k| number(*k)).collect();
        read_rows(self.sql()?, statement, &parameters, |columns| {
            let (id, k) = (columns.integer()?, columns.integer()?);
            let texts = columns.0;
            let c: CText = fit(bytes(texts.first()));
            let pad: PadText = fit(bytes(texts.get(1)));
            out.push(Row { id, k, c, pad });
            Ok(())
        })
    }

    fn count_k(&mut self, table: u32, ranges: &[KRange]) -> Result<u64> {
        let statement = self.statement(StatementKind::RandomRanges, table, ranges.len())?;
        let ends = ranges.iter().flat_map(|range| [range.low, range.high]);
        let parameters: Vec<_> = ends.map(number).collect();
        self.number(statement, &parameters)
    }

    fn insert_pairs(&mut self, table: u32, first: u32, rows: u32) -> Result<()> {
        let ids: Vec<u32> = (first..first.saturating_add(rows)).collect();
        self.insert_rows(
            (StatementKind::InsertPairs, table),
            &ids,
            |id, parameters| {
                parameters.extend([number(*id), number(*id)]);
            },
        )
    }
}

impl TableLoad for SqlTables<'_> {
    fn create(&mut self, tables: u32, of_pairs: bool) -> Result<()> {
        for table in 1..=tables {
            let create = statements::create(table, of_pairs, self.syntax);
            self.sql()?.batch(&create)?;
        }
        Ok(())
    }

    fn load(&mut self, table: u32, rows: &[Row]) -> Result<u64> {
        self.insert_rows((StatementKind::Insert, table), rows, push_row)?;
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
        if let Some(first) = statements::before_index_scan(self.dialect) {
            self.sql()?.batch(first)?;
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
}
