//! The differences between the dialects of SQL, each dialect in a file of its own.

mod informix;
mod iris;
mod mariadb;
mod postgresql;
mod sqlite;

use super::columns::ColumnType;
use trueput_engine::Dialect;

/// The clause that limits a query to a number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLimit {
    /// `SELECT … LIMIT n`.
    Limit,
    /// `SELECT FIRST n …`.
    First,
    /// `SELECT TOP n …`.
    Top,
}

/// The syntax that differs between dialects.
pub(crate) struct DialectSyntax {
    /// Parameters are `$1`, `$2` … and not `?`.
    pub(crate) is_numbered: bool,
    /// The type of a column.
    pub(crate) column_type: fn(ColumnType) -> String,
    /// The text after a table's closing parenthesis; the argument is whether it has a primary key.
    pub(crate) table_end: fn(bool) -> &'static str,
    /// The text at a query's end that locks the rows that it reads.
    pub(crate) lock: &'static str,
    /// Whether rows that are read to be written must first be updated to their own values: queries
    /// cannot lock their rows, and the server does not lock the whole database.
    pub(crate) locks_by_update: bool,
    /// `UPDATE … RETURNING` gives the rows that it has changed.
    pub(crate) has_returning: bool,
    /// A parameter can be an array: `= ANY(…)`.
    pub(crate) has_arrays: bool,
    /// `INSERT … VALUES (…), (…)` inserts several rows.
    pub(crate) has_rows: bool,
    pub(crate) paging: RowLimit,
    /// The query after which the queries of its transaction read tables by their indexes, if the
    /// planner has to be told so and queries have no hints. It is no other statement, because a
    /// transaction that only reads takes none.
    pub(crate) prefer_indexes: Option<&'static str>,
    /// The type to which a standalone parameter of money is cast; `None` if a parameter carries its
    /// type.
    pub(crate) money: Option<&'static str>,
    /// The same for a whole number.
    pub(crate) integer: Option<&'static str>,
    /// The statements that refresh the planner's statistics.
    pub(crate) analyze: fn(&[&str]) -> Vec<String>,
}

/// The syntax of a dialect.
pub(crate) fn syntax(dialect: Dialect) -> &'static DialectSyntax {
    match dialect {
        Dialect::Postgresql => &postgresql::SYNTAX,
        Dialect::Mariadb => &mariadb::SYNTAX,
        Dialect::Sqlite => &sqlite::SYNTAX,
        Dialect::Informix => &informix::SYNTAX,
        Dialect::Iris => &iris::SYNTAX,
    }
}

/// The standard's type, for dialects without one of their own.
fn standard_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Number => "INTEGER".to_owned(),
        ColumnType::Small => "SMALLINT".to_owned(),
        ColumnType::Large => "BIGINT".to_owned(),
        ColumnType::Money => "DECIMAL(12, 2)".to_owned(),
        ColumnType::Rate => "DECIMAL(4, 4)".to_owned(),
        ColumnType::Fixed(length) => format!("CHAR({length})"),
        ColumnType::Text(length) => format!("VARCHAR({length})"),
        ColumnType::Moment => "TIMESTAMP".to_owned(),
    }
}

/// One statement for each table.
fn for_each(tables: &[&str], start: &str) -> Vec<String> {
    tables
        .iter()
        .map(|table| format!("{start} {table}"))
        .collect()
}

impl DialectSyntax {
    /// A statement that was written with `?`, as this dialect has its parameters.
    pub(crate) fn parameters(&self, statement: &str) -> String {
        if !self.is_numbered {
            return statement.to_owned();
        }
        let mut written = String::with_capacity(statement.len() + 64);
        let mut number = 0;
        for letter in statement.chars() {
            if letter == '?' {
                number += 1;
                written.push('$');
                written.push_str(&number.to_string());
            } else {
                written.push(letter);
            }
        }
        written
    }

    /// A standalone parameter of money.
    pub(crate) fn money_parameter(&self) -> String {
        cast(self.money)
    }

    /// A standalone integer parameter.
    pub(crate) fn integer_parameter(&self) -> String {
        cast(self.integer)
    }

    /// A query for the first row of `rest`, the query's text from `FROM` on.
    pub(crate) fn first(&self, columns: &str, rest: &str) -> String {
        match self.paging {
            RowLimit::Limit => format!("SELECT {columns} {rest} LIMIT 1"),
            RowLimit::First => format!("SELECT FIRST 1 {columns} {rest}"),
            RowLimit::Top => format!("SELECT TOP 1 {columns} {rest}"),
        }
    }

    /// A condition that `column` is one of `count` numbers, and how many parameters it has.
    pub(crate) fn one_of(&self, column: &str, count: usize) -> String {
        if self.has_arrays {
            return format!("{column} = ANY(?)");
        }
        format!("{column} IN ({})", vec!["?"; count].join(", "))
    }

    /// The number of rows with this many columns in one `INSERT`: within the limits of every
    /// server, including the 999 parameters of the oldest SQLite.
    pub(crate) fn rows_at_once(&self, columns: usize) -> usize {
        const MAX_ROWS: usize = 100;
        const MAX_PARAMETERS: usize = 900;
        if self.has_rows {
            (MAX_PARAMETERS / columns.max(1)).clamp(1, MAX_ROWS)
        } else {
            1
        }
    }
}

fn cast(to: Option<&str>) -> String {
    match to {
        Some(to) => format!("CAST(? AS {to})"),
        None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_where_the_dialect_numbers_them() {
        let written = syntax(Dialect::Postgresql).parameters("a = ? AND b IN (?, ?)");
        assert_eq!(written, "a = $1 AND b IN ($2, $3)");
        let written = syntax(Dialect::Mariadb).parameters("a = ?");
        assert_eq!(written, "a = ?");
    }

    #[test]
    fn the_first_row_is_asked_for_as_each_dialect_does() {
        let first = |dialect| syntax(dialect).first("a", "FROM t ORDER BY a");
        assert_eq!(first(Dialect::Sqlite), "SELECT a FROM t ORDER BY a LIMIT 1");
        assert_eq!(
            first(Dialect::Informix),
            "SELECT FIRST 1 a FROM t ORDER BY a"
        );
        assert_eq!(first(Dialect::Iris), "SELECT TOP 1 a FROM t ORDER BY a");
    }

    #[test]
    fn each_dialect_locks_what_it_reads_to_write_in_one_way() {
        for dialect in Dialect::ALL {
            let syntax = syntax(dialect);
            // SQLite locks the database.
            let ways = [
                !syntax.lock.is_empty(),
                syntax.locks_by_update,
                dialect == Dialect::Sqlite,
            ];
            assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{dialect:?}");
        }
    }

    #[test]
    fn several_rows_go_into_one_insert_where_the_dialect_can() {
        assert_eq!(syntax(Dialect::Mariadb).rows_at_once(3), 100);
        assert_eq!(syntax(Dialect::Mariadb).rows_at_once(21), 42);
        assert_eq!(syntax(Dialect::Informix).rows_at_once(3), 1);
    }
}
