//! The four tables in SQL, as pgbench makes them, with prepared statements.

mod schema;

use super::bank::{
    BalanceRow, Bank, HistoryOrigin, HistoryRow, IdRange, LoadedRow, UpdateOutcome, Visitor,
};
use super::scale::BalanceTable;
use crate::fixed_text::FixedText;
use crate::sql::columns::number;
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::{change_rows, read_rows, session_sql};
use schema::{FILLER, StatementKind};
use std::collections::HashMap;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Dialect, Error, Mode, Result, Session, Sql};

/// The four tables in SQL, through one session.
pub(super) struct SqlBank<'s> {
    session: &'s mut dyn Session,
    dialect: Dialect,
    syntax: &'static DialectSyntax,
    /// By kind, prepared when first used.
    statements: [Option<Statement>; StatementKind::COUNT],
    /// Those of the load, by table and number of rows.
    inserts: HashMap<(BalanceTable, usize), Statement>,
}

impl<'s> SqlBank<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the session does not speak SQL.
    pub(super) fn new(session: &'s mut dyn Session) -> Result<Self> {
        let dialect = session_sql(session)?.dialect();
        Ok(Self {
            session,
            dialect,
            syntax: syntax(dialect),
            statements: [None; StatementKind::COUNT],
            inserts: HashMap::new(),
        })
    }

    fn sql(&mut self) -> Result<&mut dyn Sql> {
        session_sql(self.session)
    }

    #[inline]
    fn statement(&mut self, kind: StatementKind) -> Result<Statement> {
        if let Some(prepared) = self.statements[kind as usize] {
            return Ok(prepared);
        }
        let text = self.syntax.parameters(&kind.text(self.dialect));
        let prepared = self.sql()?.prepare(&text)?;
        self.statements[kind as usize] = Some(prepared);
        Ok(prepared)
    }

    /// The statement that inserts this many rows.
    fn insert(&mut self, table: BalanceTable, rows: usize) -> Result<Statement> {
        if let Some(prepared) = self.inserts.get(&(table, rows)) {
            return Ok(*prepared);
        }
        let text = self.syntax.parameters(&schema::insert(table, rows));
        let prepared = self.sql()?.prepare(&text)?;
        self.inserts.insert((table, rows), prepared);
        Ok(prepared)
    }

    fn batch(&mut self, statements: &[String]) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.sql()?.batch(statement))
    }
}

impl Bank for SqlBank<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.session.abort()
    }

    fn create(&mut self) -> Result<()> {
        self.batch(&schema::create(self.dialect, self.syntax))
    }

    fn load(&mut self, table: BalanceTable, rows: &[LoadedRow]) -> Result<u64> {
        // pgbench inserts an empty text, which PostgreSQL fills up with blanks.
        let filler = " ".repeat(FILLER.into());
        let columns = schema::loaded_columns(table).len();
        let mut bytes = 0;
        for some in rows.chunks(self.syntax.rows_at_once(columns)) {
            let statement = self.insert(table, some.len())?;
            let mut parameters = Vec::with_capacity(columns * some.len());
            for row in some {
                let (id, branch) = (number(row.id), number(row.branch));
                match table {
                    BalanceTable::Branches => parameters.extend([id, number(0)]),
                    BalanceTable::Tellers => parameters.extend([id, branch, number(0)]),
                    BalanceTable::Accounts => {
                        parameters.extend([id, branch, number(0), Datum::Text(&filler)]);
                        bytes += u64::from(FILLER);
                    }
                }
                // The numbers have four bytes each.
                bytes += 4 * columns.min(3) as u64;
            }
            change_rows(
                self.sql()?,
                table.name(),
                some.len(),
                statement,
                &parameters,
            )?;
        }
        Ok(bytes)
    }

    fn finish_load(&mut self) -> Result<()> {
        self.batch(&schema::finish_load(self.dialect, self.syntax))
    }

    fn add(&mut self, table: BalanceTable, id: u32, delta: i32) -> Result<UpdateOutcome> {
        let statement = self.statement(StatementKind::add_to(table))?;
        let parameters = [number(delta), number(id)];
        match self.sql()?.execute(statement, &parameters)? {
            1 => Ok(UpdateOutcome::Updated { balance: None }),
            // MariaDB counts the rows that an update has changed, not those that it has found.
            0 if delta == 0 => Ok(UpdateOutcome::Updated { balance: None }),
            0 => Ok(UpdateOutcome::Missing),
            changed => {
                let name = table.row_name();
                let text = format!("{name} {id}: {changed} rows changed, not 1");
                Err(Error::engine(text))
            }
        }
    }

    fn balance(&mut self, account: u32) -> Result<Option<i32>> {
        let statement = self.statement(StatementKind::Balance)?;
        let mut balance = None;
        read_rows(self.sql()?, statement, &[number(account)], |columns| {
            balance = Some(columns.integer()?);
            Ok(())
        })?;
        Ok(balance)
    }

    fn point_balance(&mut self, account: u32) -> Result<Option<i32>> {
        // A statement outside of a transaction is one of its own, in pgbench too.
        self.balance(account)
    }

    fn insert_history(&mut self, row: &HistoryRow, _origin: HistoryOrigin) -> Result<()> {
        let statement = self.statement(StatementKind::InsertHistory)?;
        let parameters = [
            number(row.teller),
            number(row.branch),
            number(row.account),
            number(row.delta),
        ];
        change_rows(self.sql()?, "history", 1, statement, &parameters)
    }

    fn each_balance(
        &mut self,
        table: BalanceTable,
        ids: IdRange,
        visitor: Visitor<'_, BalanceRow>,
    ) -> Result<()> {
        let statement = self.statement(StatementKind::rows_of(table))?;
        let first = ids.first.map_or(i64::from(i32::MIN), i64::from);
        let last = ids.last.map_or(i64::from(i32::MAX), i64::from);
        let parameters = [number(first), number(last)];
        read_rows(self.sql()?, statement, &parameters, |columns| {
            let (id, branch) = (columns.integer()?, columns.integer()?);
            let balance = columns.integer()?;
            let is_blank = match table {
                BalanceTable::Accounts => {
                    let filler: FixedText<{ FILLER as usize }> = columns.text()?;
                    filler.as_str().trim_end_matches(' ').is_empty()
                }
                _ => true,
            };
            visitor(BalanceRow {
                id,
                branch,
                balance,
                is_blank,
            });
            Ok(())
        })
    }

    fn each_history(&mut self, visitor: Visitor<'_, HistoryRow>) -> Result<()> {
        let statement = self.statement(StatementKind::Histories)?;
        read_rows(self.sql()?, statement, &[], |columns| {
            visitor(HistoryRow {
                teller: columns.integer()?,
                branch: columns.integer()?,
                account: columns.integer()?,
                delta: columns.integer()?,
            });
            Ok(())
        })
    }
}
