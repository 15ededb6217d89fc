//! The tables as pgbench makes them (`pgbench -i`), and the texts of the statements, with `?` for
//! parameters. Those of the scripts are pgbench's.

use crate::pgbench::scale::BalanceTable;
use crate::sql::columns::ColumnType::{self, Fixed, Moment, Number};
use crate::sql::dialect::DialectSyntax;
use crate::sql::prepared::StatementKey;
use trueput_engine::Dialect;

/// The width of `filler` in tellers and accounts, characters.
pub(super) const FILLER: u16 = 84;

/// A table: its name, and its columns with their types.
struct TableSchema {
    name: &'static str,
    columns: &'static [(&'static str, ColumnType)],
    /// Whether the first column is the primary key.
    has_key: bool,
}

const HISTORY: TableSchema = TableSchema {
    name: "pgbench_history",
    columns: &[
        ("tid", Number),
        ("bid", Number),
        ("aid", Number),
        ("delta", Number),
        ("mtime", Moment),
        ("filler", Fixed(22)),
    ],
    has_key: false,
};

const TELLERS: TableSchema = TableSchema {
    name: "pgbench_tellers",
    columns: &[
        ("tid", Number),
        ("bid", Number),
        ("tbalance", Number),
        ("filler", Fixed(FILLER)),
    ],
    has_key: true,
};

const ACCOUNTS: TableSchema = TableSchema {
    name: "pgbench_accounts",
    columns: &[
        ("aid", Number),
        ("bid", Number),
        ("abalance", Number),
        ("filler", Fixed(FILLER)),
    ],
    has_key: true,
};

const BRANCHES: TableSchema = TableSchema {
    name: "pgbench_branches",
    columns: &[("bid", Number), ("bbalance", Number), ("filler", Fixed(88))],
    has_key: true,
};

/// The tables, in the order in which pgbench makes them.
static TABLES: [TableSchema; 4] = [HISTORY, TELLERS, ACCOUNTS, BRANCHES];

/// A statement that is prepared once per session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    AddToBranch,
    AddToTeller,
    AddToAccount,
    Balance,
    InsertHistory,
    Branches,
    Tellers,
    Accounts,
    Histories,
    /// Of as many rows as are said, in the load.
    InsertBranches,
    /// Likewise.
    InsertTellers,
    /// Likewise.
    InsertAccounts,
}

impl StatementKey for StatementKind {
    fn index(self) -> usize {
        self as usize
    }
}

impl StatementKind {
    /// The insert of rows into a table.
    pub(super) fn insert_into(table: BalanceTable) -> Self {
        match table {
            BalanceTable::Branches => Self::InsertBranches,
            BalanceTable::Tellers => Self::InsertTellers,
            BalanceTable::Accounts => Self::InsertAccounts,
        }
    }

    /// The update of a table.
    pub(super) fn add_to(table: BalanceTable) -> Self {
        match table {
            BalanceTable::Branches => Self::AddToBranch,
            BalanceTable::Tellers => Self::AddToTeller,
            BalanceTable::Accounts => Self::AddToAccount,
        }
    }

    /// The query for rows of a table.
    pub(super) fn rows_of(table: BalanceTable) -> Self {
        match table {
            BalanceTable::Branches => Self::Branches,
            BalanceTable::Tellers => Self::Tellers,
            BalanceTable::Accounts => Self::Accounts,
        }
    }

    /// Its text in a dialect, for this many rows if it inserts several.
    pub(super) fn text(self, rows: usize, dialect: Dialect) -> String {
        let text = match self {
            Self::AddToBranch => {
                "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?"
            }
            Self::AddToTeller => "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?",
            Self::AddToAccount => {
                "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?"
            }
            Self::Balance => "SELECT abalance FROM pgbench_accounts WHERE aid = ?",
            Self::InsertHistory => {
                let now = now(dialect);
                return format!(
                    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                     VALUES (?, ?, ?, ?, {now})"
                );
            }
            Self::Branches => {
                "SELECT bid, bid, bbalance FROM pgbench_branches \
                 WHERE bid BETWEEN ? AND ? ORDER BY bid"
            }
            Self::Tellers => {
                "SELECT tid, bid, tbalance FROM pgbench_tellers \
                 WHERE tid BETWEEN ? AND ? ORDER BY tid"
            }
            Self::Accounts => {
                "SELECT aid, bid, abalance, filler FROM pgbench_accounts \
                 WHERE aid BETWEEN ? AND ? ORDER BY aid"
            }
            Self::Histories => "SELECT tid, bid, aid, delta FROM pgbench_history",
            Self::InsertBranches => return insert(BalanceTable::Branches, rows),
            Self::InsertTellers => return insert(BalanceTable::Tellers, rows),
            Self::InsertAccounts => return insert(BalanceTable::Accounts, rows),
        };
        text.to_owned()
    }
}

/// The server's date.
fn now(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Informix => "CURRENT",
        _ => "CURRENT_TIMESTAMP",
    }
}

/// Whether primary keys are made after the load, as pgbench makes them.
fn makes_keys_last(dialect: Dialect) -> bool {
    dialect == Dialect::Postgresql
}

/// The statements that make the tables.
pub(super) fn create(dialect: Dialect, syntax: &DialectSyntax) -> Vec<String> {
    let create = |table| create_table(table, dialect, syntax);
    TABLES.iter().map(create).collect()
}

fn create_table(table: &TableSchema, dialect: Dialect, syntax: &DialectSyntax) -> String {
    let columns = table.columns.iter().enumerate();
    let mut parts: Vec<String> = columns
        .map(|(index, (name, kind))| {
            let column_type = match (dialect, kind) {
                // It has no type for a moment, and keeps the text that its function returns.
                (Dialect::Sqlite, Moment) => "TEXT".to_owned(),
                _ => (syntax.column_type)(*kind),
            };
            let needed = if table.has_key && index == 0 {
                " NOT NULL"
            } else {
                ""
            };
            format!("{name} {column_type}{needed}")
        })
        .collect();
    if table.has_key && !makes_keys_last(dialect) {
        parts.push(format!("PRIMARY KEY ({})", table.columns[0].0));
    }
    // A key of one whole number is SQLite's number of the row, so its tables keep that.
    let end = (syntax.table_end)(false);
    format!("CREATE TABLE {} ({}){end}", table.name, parts.join(", "))
}

/// The statements that come after the load: primary keys, where the tables were made without them,
/// and the planner's statistics.
pub(super) fn finish_load(dialect: Dialect, syntax: &DialectSyntax) -> Vec<String> {
    let with_key = TABLES.iter().filter(|table| table.has_key);
    let keys = with_key.filter(|_| makes_keys_last(dialect)).map(|table| {
        let (name, key) = (table.name, table.columns[0].0);
        format!("ALTER TABLE {name} ADD PRIMARY KEY ({key})")
    });
    let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    keys.chain((syntax.analyze)(&names)).collect()
}

/// The columns that the load fills. pgbench leaves the filler of tellers and branches empty.
pub(super) fn loaded_columns(table: BalanceTable) -> &'static [&'static str] {
    match table {
        BalanceTable::Branches => &["bid", "bbalance"],
        BalanceTable::Tellers => &["tid", "bid", "tbalance"],
        BalanceTable::Accounts => &["aid", "bid", "abalance", "filler"],
    }
}

/// The statement that inserts this many rows.
fn insert(table: BalanceTable, rows: usize) -> String {
    let columns = loaded_columns(table);
    let name = match table {
        BalanceTable::Branches => BRANCHES.name,
        BalanceTable::Tellers => TELLERS.name,
        BalanceTable::Accounts => ACCOUNTS.name,
    };
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let rows = vec![row; rows].join(", ");
    format!("INSERT INTO {name} ({}) VALUES {rows}", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::syntax;

    #[test]
    fn tables_have_the_columns_of_pgbench_in_each_dialect() {
        let of = |dialect| create(dialect, syntax(dialect));
        let postgresql = [
            "CREATE TABLE pgbench_history (tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, \
             mtime TIMESTAMP, filler CHAR(22))",
            "CREATE TABLE pgbench_tellers (tid INTEGER NOT NULL, bid INTEGER, tbalance INTEGER, \
             filler CHAR(84))",
            "CREATE TABLE pgbench_accounts (aid INTEGER NOT NULL, bid INTEGER, abalance INTEGER, \
             filler CHAR(84))",
            "CREATE TABLE pgbench_branches (bid INTEGER NOT NULL, bbalance INTEGER, \
             filler CHAR(88))",
        ];
        assert_eq!(of(Dialect::Postgresql), postgresql);
        let sqlite = of(Dialect::Sqlite);
        assert!(sqlite[0].contains("mtime TEXT, "), "{}", sqlite[0]);
        assert!(sqlite[2].ends_with("filler CHAR(84), PRIMARY KEY (aid))"));
        let informix = of(Dialect::Informix);
        assert!(informix[3].ends_with("PRIMARY KEY (bid)) LOCK MODE ROW"));
    }

    #[test]
    fn postgresql_makes_its_keys_after_the_load_and_the_others_with_the_tables() {
        let after = |dialect| finish_load(dialect, syntax(dialect));
        let postgresql = after(Dialect::Postgresql);
        let keys = [
            "ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid)",
            "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)",
            "ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid)",
        ];
        assert_eq!(postgresql[..3], keys);
        assert_eq!(postgresql[3], "VACUUM ANALYZE pgbench_history");
        assert_eq!(postgresql.len(), 7);
        assert_eq!(after(Dialect::Sqlite), ["ANALYZE"]);
        assert_eq!(after(Dialect::Mariadb).len(), 4);
    }

    #[test]
    fn the_statements_of_a_script_are_those_of_pgbench() {
        let dialect = Dialect::Postgresql;
        let text = |kind: StatementKind| syntax(dialect).parameters(&kind.text(0, dialect));
        let script = [
            StatementKind::AddToAccount,
            StatementKind::Balance,
            StatementKind::AddToTeller,
            StatementKind::AddToBranch,
            StatementKind::InsertHistory,
        ];
        assert_eq!(
            script.map(text),
            [
                "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
                "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
                "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
                "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                 VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
            ]
        );
    }

    #[test]
    fn an_insert_has_a_parameter_for_each_column_of_each_row() {
        let text = |table, rows| StatementKind::insert_into(table).text(rows, Dialect::Sqlite);
        assert_eq!(
            text(BalanceTable::Branches, 2),
            "INSERT INTO pgbench_branches (bid, bbalance) VALUES (?, ?), (?, ?)"
        );
        for table in BalanceTable::ALL {
            let count = text(table, 3).matches('?').count();
            assert_eq!(count, 3 * loaded_columns(table).len());
        }
    }
}
