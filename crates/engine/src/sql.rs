//! SQL, for engines that support it: statements that are prepared once per session and executed
//! with parameters inside the session's transactions.
//!
//! Each engine keeps its own dialect. The workload deals with the differences (types, paging,
//! locking clauses) by the dialect's name.

pub mod calendar;
pub mod decimal;
pub mod scan;
pub mod schema_mark;

use crate::Result;
use std::ops::ControlFlow;

/// A family of statements that are written alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL: parameters are `$1`, `$2` …
    Postgresql,
    /// MariaDB and MySQL: parameters are `?`.
    Mariadb,
    /// SQLite: parameters are `?`; it has no decimal type.
    Sqlite,
    /// Informix: parameters are `?`.
    Informix,
    /// InterSystems IRIS: parameters are `?`.
    Iris,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 5] = [
        Self::Postgresql,
        Self::Mariadb,
        Self::Sqlite,
        Self::Informix,
        Self::Iris,
    ];

    /// Its name in plans and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgresql => "postgresql",
            Self::Mariadb => "mariadb",
            Self::Sqlite => "sqlite",
            Self::Informix => "informix",
            Self::Iris => "iris",
        }
    }

    /// Returns the dialect of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

/// A value that goes into a statement as a parameter, or comes out of it as a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A decimal number, `units` times ten to the power of minus `scale`: money is `scale` 2. An
    /// engine without a decimal type keeps the units as a whole number.
    Decimal {
        /// The digits as a whole number.
        units: i64,
        /// The number of digits after the point.
        scale: u8,
    },
    /// Text, in UTF-8.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A timestamp, microseconds since 1970-01-01 00:00 UTC. An engine without such a type stores
    /// the number.
    Timestamp(i64),
    /// Several whole numbers as one parameter, for dialects with arrays (PostgreSQL).
    Integers(&'a [i64]),
}

/// A statement that a session has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement(pub usize);

/// Visits a row in the driver's memory; the slice is valid only during the call. `Break` ends the
/// query.
pub type RowVisitor<'v> = dyn FnMut(&[Datum<'_>]) -> ControlFlow<()> + 'v;

/// The SQL of a session: [`crate::Session::sql`]. Transactions are the session's own:
/// [`crate::Session::begin`], `commit` and `abort` enclose the statements, with the same rules
/// for errors. A statement outside a transaction is a transaction of its own.
pub trait Sql {
    /// Returns the dialect in which statements are written.
    fn dialect(&self) -> Dialect;

    /// Executes statements that give no rows and take no parameters, separated by semicolons: a
    /// schema, `ANALYZE`.
    ///
    /// # Errors
    /// As [`Sql::execute`].
    fn batch(&mut self, statements: &str) -> Result<()>;

    /// Prepares a statement for this session; it lives as long as the session does.
    ///
    /// # Errors
    /// The errors of the engine: a fault in the statement, a missing table.
    fn prepare(&mut self, statement: &str) -> Result<Statement>;

    /// Executes a statement that returns no rows, and returns the number of rows changed.
    ///
    /// # Errors
    /// [`crate::Error::Deadlock`] for a deadlock, [`crate::Error::Conflict`] for a lock wait that
    /// timed out or a serialization failure: the caller should abort and retry the transaction.
    /// Otherwise the errors of the engine.
    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64>;

    /// Executes a statement and shows its rows to `visitor` until it breaks; says how many it
    /// showed. The columns of a row are in the order of the statement.
    ///
    /// # Errors
    /// As [`Sql::execute`].
    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_found_by_its_name() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::named(dialect.name()), Some(dialect));
        }
        assert_eq!(Dialect::named("cobol"), None);
    }
}
