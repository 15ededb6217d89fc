//! The tables as `iibench.py` makes them, and the texts of the statements, with `?` for parameters.

use crate::insert_benchmark::purchase::Index;
use crate::insert_benchmark::tables::QUERY_ROWS;
use crate::sql::columns::ColumnType::{self, Large, Moment, Number, Text};
use crate::sql::dialect::{DialectSyntax, RowLimit};
use crate::sql::prepared::StatementKey;
use trueput_engine::Dialect;

/// The columns with their types, and whether they must have a value.
const COLUMNS: [(&str, ColumnType, bool); 7] = [
    ("transactionid", Large, true),
    ("dateandtime", Moment, false),
    ("cashregisterid", Number, true),
    ("customerid", Number, true),
    ("productid", Number, true),
    ("price", Number, true),
    ("data", Text(4_000), false),
];

/// The number of columns.
pub(super) const COLUMN_COUNT: usize = COLUMNS.len();

/// The table of marks.
const MARKS: &str = "pi_marks";

/// A statement that is prepared once per session and table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// Of so many rows.
    Insert(usize),
    /// Of so many rows.
    Delete(u32),
    /// A range query by an index.
    RangeQuery(Index),
    /// A point query.
    PointQuery,
    /// The least id.
    FirstId,
    /// The greatest id.
    LastId,
    /// The number of rows.
    Count,
    /// Rows by their ids.
    Rows,
    /// Entries of an index by its first column.
    Entries(Index),
    /// The number of marks of a kind.
    HasMark,
    /// Makes a mark.
    AddMark,
    /// Takes a mark away.
    RemoveMark,
}

/// A statement about a table, by its number from 1; 0 for those about none in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableStatement {
    pub(super) kind: StatementKind,
    pub(super) table: u32,
}

impl StatementKey for TableStatement {
    fn index(self) -> usize {
        self.table as usize * StatementKind::COUNT + self.kind.index()
    }
}

/// The name of a table in iibench.
fn table_name(table: u32) -> String {
    format!("pi{table}")
}

fn index_name(table: u32, index: Index) -> String {
    format!("{}_{}", table_name(table), index.name())
}

/// The columns of an index.
fn index_columns(index: Index) -> &'static str {
    match index {
        Index::Market => "productid, customerid, price",
        Index::Register => "cashregisterid, customerid, price",
        Index::Pdc => "price, dateandtime, customerid",
    }
}

/// The first column of an index.
fn first_column(index: Index) -> &'static str {
    match index {
        Index::Market => "productid",
        Index::Register => "cashregisterid",
        Index::Pdc => "price",
    }
}

/// A column's type. SQLite's row number is an INTEGER, and MariaDB's moments are iibench's, of
/// whole seconds.
fn column_type(dialect: Dialect, syntax: &DialectSyntax, kind: ColumnType) -> String {
    match (dialect, kind) {
        (Dialect::Sqlite, Large) => "INTEGER".to_owned(),
        (Dialect::Mariadb, Moment) => "DATETIME".to_owned(),
        _ => (syntax.column_type)(kind),
    }
}

/// The statements that make the tables from 1 to this number, and the table of marks.
pub(super) fn create(tables: u32, dialect: Dialect, syntax: &DialectSyntax) -> Vec<String> {
    let columns = COLUMNS.map(|(name, kind, is_needed)| {
        let needed = if is_needed { " NOT NULL" } else { "" };
        format!("{name} {}{needed}", column_type(dialect, syntax, kind))
    });
    let columns = columns.join(", ");
    // A key of one whole number is SQLite's number of the row, so its tables keep that.
    let end = (syntax.table_end)(false);
    let create = |table| {
        let name = table_name(table);
        format!("CREATE TABLE {name} ({columns}, PRIMARY KEY (transactionid)){end}")
    };
    let number = (syntax.column_type)(Number);
    let marks = format!(
        "CREATE TABLE {MARKS} (mark {number} NOT NULL, marked_table {number} NOT NULL, \
         PRIMARY KEY (mark, marked_table)){end}"
    );
    (1..=tables).map(create).chain([marks]).collect()
}

/// The statement that creates an index.
pub(super) fn create_index(table: u32, index: Index) -> String {
    let (name, columns) = (index_name(table, index), index_columns(index));
    format!("CREATE INDEX {name} ON {} ({columns})", table_name(table))
}

/// The statements that make the statistics of the tables from 1 to this number. In PostgreSQL they
/// also remove the index entries of deleted rows, however few there are: `vac_pg` in `iq.sh`.
pub(super) fn analyze(tables: u32, dialect: Dialect, syntax: &DialectSyntax) -> Vec<String> {
    let names: Vec<String> = (1..=tables).map(table_name).collect();
    if dialect == Dialect::Postgresql {
        let vacuum = |name: &String| format!("VACUUM (ANALYZE, INDEX_CLEANUP ON) {name}");
        return names.iter().map(vacuum).collect();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (syntax.analyze)(&names)
}

/// The statements with which a session's queries read indexes wherever they can: PostgreSQL has no
/// hints.
pub(super) fn force_index_plans(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgresql => &[
            "SET enable_seqscan TO off",
            "SET enable_bitmapscan TO off",
            "SET enable_sort TO off",
        ],
        _ => &[],
    }
}

impl StatementKind {
    /// The number of kinds, each index by itself.
    const COUNT: usize = 10 + 2 * Index::ALL.len();

    /// A number below [`StatementKind::COUNT`] that no other kind has.
    fn index(self) -> usize {
        match self {
            Self::Insert(_) => 0,
            Self::Delete(_) => 1,
            Self::PointQuery => 2,
            Self::FirstId => 3,
            Self::LastId => 4,
            Self::Count => 5,
            Self::Rows => 6,
            Self::HasMark => 7,
            Self::AddMark => 8,
            Self::RemoveMark => 9,
            Self::RangeQuery(index) => 10 + index as usize,
            Self::Entries(index) => 10 + Index::ALL.len() + index as usize,
        }
    }

    /// The number of rows that its text is written for; 0 if that is always the same.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Insert(rows) => rows,
            Self::Delete(rows) => rows as usize,
            _ => 0,
        }
    }

    /// Its text for a table in a dialect.
    pub(super) fn text(self, table: u32, dialect: Dialect, syntax: &DialectSyntax) -> String {
        let name = table_name(table);
        match self {
            Self::Insert(rows) => insert(&name, rows),
            Self::Delete(rows) => delete(&name, rows, dialect),
            Self::RangeQuery(index) => range_query(table, index, dialect, syntax),
            Self::PointQuery => {
                let ids = ["?"; QUERY_ROWS].join(", ");
                format!(
                    "SELECT transactionid, productid, data FROM {name} \
                     WHERE transactionid IN ({ids})"
                )
            }
            Self::FirstId => format!("SELECT MIN(transactionid) FROM {name}"),
            Self::LastId => format!("SELECT MAX(transactionid) FROM {name}"),
            Self::Count => format!("SELECT COUNT(*) FROM {name}"),
            Self::Rows => {
                let columns = COLUMNS.map(|(name, _, _)| name).join(", ");
                format!(
                    "SELECT {columns} FROM {name} \
                     WHERE transactionid >= ? AND transactionid < ? ORDER BY transactionid"
                )
            }
            Self::Entries(index) => entries(table, index, dialect),
            Self::HasMark => {
                format!("SELECT COUNT(*) FROM {MARKS} WHERE mark = ? AND marked_table = ?")
            }
            Self::AddMark => format!("INSERT INTO {MARKS} (mark, marked_table) VALUES (?, ?)"),
            Self::RemoveMark => {
                format!("DELETE FROM {MARKS} WHERE mark = ? AND marked_table = ?")
            }
        }
    }
}

fn insert(name: &str, rows: usize) -> String {
    let columns = COLUMNS.map(|(name, _, _)| name).join(", ");
    let row = format!("({})", ["?"; COLUMN_COUNT].join(", "));
    let rows = vec![row; rows].join(", ");
    format!("INSERT INTO {name} ({columns}) VALUES {rows}")
}

/// Whether the delete of a dialect has the id that it ends at as a parameter. iibench counts rows
/// from the first one on in MySQL and PostgreSQL, and has no other dialect.
pub(super) fn deletes_by_range(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Mariadb | Dialect::Postgresql)
}

fn delete(name: &str, rows: u32, dialect: Dialect) -> String {
    let oldest = format!("transactionid >= ? ORDER BY transactionid ASC LIMIT {rows}");
    match dialect {
        Dialect::Mariadb => format!("DELETE FROM {name} WHERE {oldest}"),
        Dialect::Postgresql => format!(
            "DELETE FROM {name} WHERE transactionid IN \
             (SELECT transactionid FROM {name} WHERE {oldest})"
        ),
        _ => format!("DELETE FROM {name} WHERE transactionid >= ? AND transactionid < ?"),
    }
}

fn range_query(table: u32, index: Index, dialect: Dialect, syntax: &DialectSyntax) -> String {
    let (columns, first) = (index_columns(index), first_column(index));
    let hint = match dialect {
        Dialect::Mariadb => format!(" FORCE INDEX ({})", index_name(table, index)),
        _ => String::new(),
    };
    let is_least = index.least_value(0) == 0;
    let comparison = if is_least { ">=" } else { ">" };
    let name = table_name(table);
    let rest = format!("FROM {name}{hint} WHERE {first} {comparison} ? ORDER BY {columns}");
    match syntax.paging {
        RowLimit::Limit => format!("SELECT {columns} {rest} LIMIT {QUERY_ROWS}"),
        RowLimit::First => format!("SELECT FIRST {QUERY_ROWS} {columns} {rest}"),
        RowLimit::Top => format!("SELECT TOP {QUERY_ROWS} {columns} {rest}"),
    }
}

fn entries(table: u32, index: Index, dialect: Dialect) -> String {
    let (columns, first) = (index_columns(index), first_column(index));
    let named = index_name(table, index);
    let hint = match dialect {
        Dialect::Mariadb => format!(" FORCE INDEX ({named})"),
        Dialect::Sqlite => format!(" INDEXED BY {named}"),
        _ => String::new(),
    };
    let name = table_name(table);
    format!(
        "SELECT {columns}, transactionid FROM {name}{hint} \
         WHERE {first} >= ? AND {first} < ? ORDER BY {columns}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::syntax;

    fn text(kind: StatementKind, dialect: Dialect) -> String {
        let syntax = syntax(dialect);
        syntax.parameters(&kind.text(2, dialect, syntax))
    }

    #[test]
    fn tables_have_the_columns_of_iibench_in_each_dialect() {
        let first = |dialect| create(2, dialect, syntax(dialect)).swap_remove(0);
        assert_eq!(
            first(Dialect::Mariadb),
            "CREATE TABLE pi1 (transactionid BIGINT NOT NULL, dateandtime DATETIME, \
             cashregisterid INTEGER NOT NULL, customerid INTEGER NOT NULL, \
             productid INTEGER NOT NULL, price INTEGER NOT NULL, data VARCHAR(4000), \
             PRIMARY KEY (transactionid)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        );
        assert_eq!(
            first(Dialect::Postgresql),
            "CREATE TABLE pi1 (transactionid BIGINT NOT NULL, dateandtime TIMESTAMP, \
             cashregisterid INTEGER NOT NULL, customerid INTEGER NOT NULL, \
             productid INTEGER NOT NULL, price INTEGER NOT NULL, \
             data VARCHAR(4000) COLLATE \"C\", PRIMARY KEY (transactionid))"
        );
        let sqlite = first(Dialect::Sqlite);
        assert!(sqlite.contains("(transactionid INTEGER NOT NULL, dateandtime INTEGER, "));
        assert!(sqlite.ends_with("PRIMARY KEY (transactionid))"), "{sqlite}");
        let all = create(2, Dialect::Sqlite, syntax(Dialect::Sqlite));
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn statistics_of_postgresql_are_made_with_index_entries_removed() {
        let statements = |dialect| analyze(2, dialect, syntax(dialect));
        assert_eq!(
            statements(Dialect::Postgresql),
            ["pi1", "pi2"].map(|name| format!("VACUUM (ANALYZE, INDEX_CLEANUP ON) {name}"))
        );
        assert_eq!(
            statements(Dialect::Mariadb),
            ["ANALYZE TABLE pi1", "ANALYZE TABLE pi2"]
        );
    }

    #[test]
    fn range_queries_are_those_of_iibench() {
        let query = |index, dialect| text(StatementKind::RangeQuery(index), dialect);
        assert_eq!(
            query(Index::Pdc, Dialect::Mariadb),
            "SELECT price, dateandtime, customerid FROM pi2 FORCE INDEX (pi2_pdc) \
             WHERE price >= ? ORDER BY price, dateandtime, customerid LIMIT 10"
        );
        assert_eq!(
            query(Index::Market, Dialect::Postgresql),
            "SELECT productid, customerid, price FROM pi2 WHERE productid >= $1 \
             ORDER BY productid, customerid, price LIMIT 10"
        );
        assert_eq!(
            query(Index::Register, Dialect::Sqlite),
            "SELECT cashregisterid, customerid, price FROM pi2 WHERE cashregisterid > ? \
             ORDER BY cashregisterid, customerid, price LIMIT 10"
        );
        let informix = query(Index::Register, Dialect::Informix);
        assert!(informix.starts_with("SELECT FIRST 10 cashregisterid, "));
    }

    #[test]
    fn deletes_are_those_of_iibench_where_it_has_the_dialect() {
        let delete = |dialect| text(StatementKind::Delete(50), dialect);
        assert_eq!(
            delete(Dialect::Mariadb),
            "DELETE FROM pi2 WHERE transactionid >= ? ORDER BY transactionid ASC LIMIT 50"
        );
        assert_eq!(
            delete(Dialect::Postgresql),
            "DELETE FROM pi2 WHERE transactionid IN (SELECT transactionid FROM pi2 \
             WHERE transactionid >= $1 ORDER BY transactionid ASC LIMIT 50)"
        );
        assert_eq!(
            delete(Dialect::Sqlite),
            "DELETE FROM pi2 WHERE transactionid >= ? AND transactionid < ?"
        );
        for dialect in Dialect::ALL {
            let parameters = 1 + usize::from(deletes_by_range(dialect));
            let text = StatementKind::Delete(50).text(2, dialect, syntax(dialect));
            assert_eq!(text.matches('?').count(), parameters, "{text}");
        }
    }

    #[test]
    fn an_insert_has_a_parameter_for_each_column_of_each_row() {
        let text = text(StatementKind::Insert(3), Dialect::Postgresql);
        assert!(text.starts_with("INSERT INTO pi2 (transactionid, dateandtime, "));
        assert!(
            text.ends_with("($15, $16, $17, $18, $19, $20, $21)"),
            "{text}"
        );
        // The largest transaction is one statement where several rows fit into one.
        assert!(syntax(Dialect::Mariadb).rows_at_once(COLUMN_COUNT) >= 100);
    }

    #[test]
    fn each_kind_of_each_table_has_a_number_of_its_own() {
        let single = [
            StatementKind::Insert(1),
            StatementKind::Delete(1),
            StatementKind::PointQuery,
            StatementKind::FirstId,
            StatementKind::LastId,
            StatementKind::Count,
            StatementKind::Rows,
            StatementKind::HasMark,
            StatementKind::AddMark,
            StatementKind::RemoveMark,
        ];
        let queries = Index::ALL.map(StatementKind::RangeQuery);
        let entries = Index::ALL.map(StatementKind::Entries);
        let kinds = [&single[..], &queries, &entries].concat();
        let mut numbers = Vec::new();
        for table in 0..3 {
            numbers.extend(
                kinds
                    .iter()
                    .map(|kind| TableStatement { kind: *kind, table }.index()),
            );
        }
        assert!(numbers.iter().copied().eq(0..3 * StatementKind::COUNT));
        let sizes = [StatementKind::Insert(7), StatementKind::Delete(8)].map(StatementKind::size);
        assert_eq!(sizes, [7, 8]);
    }

    #[test]
    fn the_check_of_an_index_reads_the_index() {
        let entries = |dialect| text(StatementKind::Entries(Index::Register), dialect);
        assert!(entries(Dialect::Mariadb).contains(" FORCE INDEX (pi2_registersegment) "));
        assert!(entries(Dialect::Sqlite).contains(" INDEXED BY pi2_registersegment "));
        assert!(!force_index_plans(Dialect::Postgresql).is_empty());
    }

    #[test]
    fn the_columns_of_an_index_begin_with_its_first() {
        for index in Index::ALL {
            let columns = index_columns(index);
            assert!(columns.starts_with(first_column(index)), "{columns}");
            assert_eq!(columns.split(", ").count(), 3);
        }
    }
}
