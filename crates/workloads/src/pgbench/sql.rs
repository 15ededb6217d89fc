//! The four tables in SQL, as pgbench makes them, with prepared statements.

mod schema;

use super::bank::{
    BalanceRow, Bank, HistoryOrigin, HistoryRow, IdRange, LoadedRow, UpdateOutcome, Visitor,
};
use super::scale::BalanceTable;
use crate::fixed_text::FixedText;
use crate::keyed::transaction::TransactionScope;
use crate::sql::columns::number;
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::parameters::ParameterBuffer;
use crate::sql::prepared::PreparedStatements;
use crate::sql::{change_rows, read_rows, session_sql};
use schema::{FILLER, StatementKind};
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Dialect, Error, Result, Session, Sql};

/// The four tables in SQL, through one session.
pub(super) struct SqlBank<'s> {
    session: &'s mut dyn Session,
    dialect: Dialect,
    syntax: &'static DialectSyntax,
    statements: PreparedStatements<StatementKind>,
    parameters: ParameterBuffer,
}

impl<'s> SqlBank<'s> {
    /// The tables through this session.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the session does not speak SQL.
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

    /// The statement of a kind.
    #[inline]
    fn statement(&mut self, kind: StatementKind) -> Result<Statement> {
        self.statement_of_rows(kind, 0)
    }

    /// The statement of a kind that inserts this many rows.
    #[inline]
    fn statement_of_rows(&mut self, kind: StatementKind, rows: usize) -> Result<Statement> {
        let dialect = self.dialect;
        let text = |_: &DialectSyntax| kind.text(rows, dialect);
        self.statements.get(self.session, kind, rows, text)
    }

    fn batch(&mut self, statements: &[String]) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.sql()?.batch(statement))
    }
}

impl TransactionScope for SqlBank<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl Bank for SqlBank<'_> {
    fn create(&mut self) -> Result<()> {
        self.batch(&schema::create(self.dialect, self.syntax))
    }

    fn load(&mut self, table: BalanceTable, rows: &[LoadedRow]) -> Result<u64> {
        // pgbench inserts an empty text, which PostgreSQL fills up with blanks.
        let filler = " ".repeat(FILLER.into());
        let columns = schema::loaded_columns(table).len();
        let (kind, mut bytes) = (StatementKind::insert_into(table), 0);
        let mut parameters = self.parameters.take();
        for some in rows.chunks(self.syntax.rows_at_once(columns)) {
            let statement = self.statement_of_rows(kind, some.len())?;
            parameters.clear();
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
        self.parameters.put_back(parameters);
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
