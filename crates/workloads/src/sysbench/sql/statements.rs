//! The texts of the statements: those of sysbench's `oltp_common.lua` and of the scripts on k, with
//! `?` for parameters, and those of load and verification.

use crate::sql::columns::ColumnType;
use crate::sql::dialect::{DialectSyntax, syntax};
use crate::sql::prepared::StatementKey;
use crate::sysbench::tables::RangeQuery;
use trueput_engine::Dialect;

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    PointSelect,
    SimpleRange,
    OrderRange,
    DistinctRange,
    SumRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    /// Of as many rows as are said.
    Insert,
    /// Likewise, of id and k alone.
    InsertPairs,
    /// Of as many values as are said.
    RandomPoints,
    /// Of as many ranges as are said.
    RandomRanges,
    Rows,
    Pairs,
    IndexEntries,
    /// Has the next query read its rows from the index, in dialects without a hint.
    PreferIndexes,
}

impl StatementKind {
    /// The number of kinds.
    const COUNT: usize = Self::PreferIndexes as usize + 1;

    /// The query for the texts of a range.
    pub(super) fn range(query: RangeQuery) -> Self {
        match query {
            RangeQuery::Simple => Self::SimpleRange,
            RangeQuery::Order => Self::OrderRange,
            RangeQuery::Distinct => Self::DistinctRange,
        }
    }
}

/// A kind of statement about a table, by its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableStatement {
    pub(super) kind: StatementKind,
    pub(super) table: u32,
}

impl StatementKey for TableStatement {
    fn index(self) -> usize {
        let tables_before = (self.table as usize).saturating_sub(1);
        tables_before * StatementKind::COUNT + self.kind as usize
    }
}

/// The name of a table.
pub(super) fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// The columns that an insert gives values.
pub(super) fn columns(kind: StatementKind) -> &'static [&'static str] {
    match kind {
        StatementKind::InsertPairs => &["id", "k"],
        _ => &["id", "k", "c", PAD],
    }
}

/// The column that only an insert writes.
const PAD: &str = "pad";

/// The name of a column in a statement. PAD is a reserved word of IRIS ("SQL Reference", 2024.1,
/// "Reserved words").
fn column_name(column: &'static str, dialect: Dialect) -> &'static str {
    match (dialect, column) {
        (Dialect::Iris, PAD) => "\"pad\"",
        _ => column,
    }
}

/// The names of the columns that an insert gives values, with commas between.
fn column_names(kind: StatementKind, dialect: Dialect) -> String {
    let names = columns(kind).iter().copied();
    let names: Vec<_> = names.map(|name| column_name(name, dialect)).collect();
    names.join(", ")
}

/// The text of a statement about a table, for `count` rows, values or ranges where it has several.
pub(super) fn text(kind: StatementKind, table: u32, count: usize, dialect: Dialect) -> String {
    let name = table_name(table);
    let (by_id, in_range) = ("WHERE id = ?", "WHERE id BETWEEN ? AND ?");
    let row = || column_names(StatementKind::Insert, dialect);
    match kind {
        StatementKind::PointSelect => format!("SELECT c FROM {name} {by_id}"),
        StatementKind::SimpleRange => format!("SELECT c FROM {name} {in_range}"),
        StatementKind::OrderRange => format!("SELECT c FROM {name} {in_range} ORDER BY c"),
        StatementKind::DistinctRange => {
            format!("SELECT DISTINCT c FROM {name} {in_range} ORDER BY c")
        }
        StatementKind::SumRange => format!("SELECT SUM(k) FROM {name} {in_range}"),
        StatementKind::IndexUpdate => format!("UPDATE {name} SET k = k + 1 {by_id}"),
        StatementKind::NonIndexUpdate => format!("UPDATE {name} SET c = ? {by_id}"),
        StatementKind::Delete => format!("DELETE FROM {name} {by_id}"),
        StatementKind::Insert | StatementKind::InsertPairs => insert(&name, (kind, dialect), count),
        StatementKind::RandomPoints => {
            let values = vec!["?"; count].join(", ");
            format!("SELECT {} FROM {name} WHERE k IN ({values})", row())
        }
        StatementKind::RandomRanges => {
            let ranges = vec!["k BETWEEN ? AND ?"; count].join(" OR ");
            format!("SELECT COUNT(k) FROM {name} WHERE {ranges}")
        }
        StatementKind::Rows => format!("SELECT {} FROM {name} ORDER BY id", row()),
        StatementKind::Pairs => format!("SELECT id, k FROM {name} ORDER BY id"),
        StatementKind::IndexEntries => {
            let hint = index_hint(table, dialect);
            format!("SELECT k, id FROM {name}{hint} ORDER BY k, id")
        }
        StatementKind::PreferIndexes => {
            let query = syntax(dialect).prefer_indexes;
            query.unwrap_or_default().to_owned()
        }
    }
}

fn insert(name: &str, (kind, dialect): (StatementKind, Dialect), count: usize) -> String {
    let row = format!("({})", vec!["?"; columns(kind).len()].join(", "));
    let rows = vec![row.as_str(); count].join(", ");
    let columns = column_names(kind, dialect);
    format!("INSERT INTO {name} ({columns}) VALUES {rows}")
}

/// The words that have a query read its rows from the index on k, in dialects that have such words.
fn index_hint(table: u32, dialect: Dialect) -> String {
    let index = index_name(table);
    match dialect {
        Dialect::Sqlite => format!(" INDEXED BY {index}"),
        Dialect::Mariadb => format!(" FORCE INDEX ({index})"),
        Dialect::Postgresql | Dialect::Informix | Dialect::Iris => String::new(),
    }
}

fn index_name(table: u32) -> String {
    format!("k_{table}")
}

/// The statement that makes a table.
pub(super) fn create(
    table: u32,
    of_pairs: bool,
    dialect: Dialect,
    syntax: &DialectSyntax,
) -> String {
    let numbers = (syntax.column_type)(ColumnType::Number);
    let fixed = |length| (syntax.column_type)(ColumnType::Fixed(length));
    let texts = if of_pairs {
        String::new()
    } else {
        let (c, pad) = (fixed(120), fixed(60));
        format!(
            "c {c} NOT NULL, {} {pad} NOT NULL, ",
            column_name(PAD, dialect)
        )
    };
    // SQLite's `WITHOUT ROWID` is left out: the key is then the number by which rows are stored.
    let end = (syntax.table_end)(false);
    let name = table_name(table);
    format!(
        "CREATE TABLE {name} (id {numbers} NOT NULL, k {numbers} NOT NULL, {texts}\
         PRIMARY KEY (id)){end}"
    )
}

/// The statement that makes the index on k of a table.
pub(super) fn create_index(table: u32) -> String {
    let (index, name) = (index_name(table), table_name(table));
    format!("CREATE INDEX {index} ON {name} (k)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: StatementKind, count: usize) -> String {
        text(kind, 2, count, Dialect::Mariadb)
    }

    #[test]
    fn statements_are_sysbenchs() {
        for (kind, count, expected) in [
            (
                StatementKind::PointSelect,
                0,
                "SELECT c FROM sbtest2 WHERE id = ?",
            ),
            (
                StatementKind::range(RangeQuery::Distinct),
                0,
                "SELECT DISTINCT c FROM sbtest2 WHERE id BETWEEN ? AND ? ORDER BY c",
            ),
            (
                StatementKind::IndexUpdate,
                0,
                "UPDATE sbtest2 SET k = k + 1 WHERE id = ?",
            ),
            (
                StatementKind::Insert,
                1,
                "INSERT INTO sbtest2 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            ),
            (
                StatementKind::InsertPairs,
                2,
                "INSERT INTO sbtest2 (id, k) VALUES (?, ?), (?, ?)",
            ),
            (
                StatementKind::RandomPoints,
                3,
                "SELECT id, k, c, pad FROM sbtest2 WHERE k IN (?, ?, ?)",
            ),
            (
                StatementKind::RandomRanges,
                2,
                "SELECT COUNT(k) FROM sbtest2 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?",
            ),
        ] {
            assert_eq!(written(kind, count), expected);
        }
    }

    #[test]
    fn each_kind_of_each_table_has_a_number_of_its_own() {
        let kinds = [
            StatementKind::PointSelect,
            StatementKind::SumRange,
            StatementKind::PreferIndexes,
        ];
        let numbers =
            [1, 2, 3].map(|table| kinds.map(|kind| TableStatement { kind, table }.index()));
        let numbers = numbers.concat();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        assert_eq!(numbers[0], 0);
    }

    #[test]
    fn the_index_is_read_where_the_dialect_can_be_made_to() {
        let entries = |dialect| text(StatementKind::IndexEntries, 1, 0, dialect);
        assert_eq!(
            entries(Dialect::Sqlite),
            "SELECT k, id FROM sbtest1 INDEXED BY k_1 ORDER BY k, id"
        );
        assert_eq!(
            entries(Dialect::Mariadb),
            "SELECT k, id FROM sbtest1 FORCE INDEX (k_1) ORDER BY k, id"
        );
        assert_eq!(
            entries(Dialect::Postgresql),
            "SELECT k, id FROM sbtest1 ORDER BY k, id"
        );
        // A transaction that only reads takes it.
        let first = text(StatementKind::PreferIndexes, 1, 0, Dialect::Postgresql);
        assert!(first.starts_with("SELECT set_config("), "{first}");
    }

    #[test]
    fn tables_have_sysbenchs_columns_in_each_dialects_types() {
        let made = |dialect| create(1, false, dialect, syntax(dialect));
        let columns = "CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER NOT NULL, \
                       c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, PRIMARY KEY (id))";
        assert_eq!(made(Dialect::Sqlite), columns);
        let informix = format!("{columns} LOCK MODE ROW");
        assert_eq!(made(Dialect::Informix), informix);
        assert_eq!(
            create(1, true, Dialect::Sqlite, syntax(Dialect::Sqlite)),
            "CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (id))"
        );
        assert_eq!(create_index(1), "CREATE INDEX k_1 ON sbtest1 (k)");
    }

    #[test]
    fn a_column_whose_name_is_reserved_is_quoted() {
        let quoted = |text: &str| text.contains("\"pad\"") && !text.contains(" pad");
        let made = create(1, false, Dialect::Iris, syntax(Dialect::Iris));
        assert!(quoted(&made), "{made}");
        for kind in [
            StatementKind::Insert,
            StatementKind::RandomPoints,
            StatementKind::Rows,
        ] {
            let text = text(kind, 1, 2, Dialect::Iris);
            assert!(quoted(&text), "{text}");
        }
    }
}
