//! The statements that make and fill the nine tables (clause 1.3) and the two secondary indexes.
//! There are no foreign keys, as the peers' tables have none by default.

use crate::sql::columns::Column;
use crate::sql::dialect::DialectSyntax;
use crate::tpcc::rows::{
    CustomerRow, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow, StockRow,
    Table, TableRow, WarehouseRow,
};

/// A table's columns, in the order in which rows are inserted, and how many of the first are its
/// primary key; HISTORY has none (clause 1.3.1).
fn columns_and_key(table: Table) -> (&'static [Column], usize) {
    const fn of<R: TableRow>() -> (&'static [Column], usize) {
        (R::COLUMNS, R::KEY_COLUMNS)
    }
    match table {
        Table::Warehouse => of::<WarehouseRow>(),
        Table::District => of::<DistrictRow>(),
        Table::Customer => of::<CustomerRow>(),
        Table::History => of::<HistoryRow>(),
        Table::NewOrder => of::<NewOrderRow>(),
        Table::Order => of::<OrderRow>(),
        Table::OrderLine => of::<OrderLineRow>(),
        Table::Item => of::<ItemRow>(),
        Table::Stock => of::<StockRow>(),
    }
}

/// A table's columns, in the order in which rows are inserted.
pub(super) fn columns(table: Table) -> &'static [Column] {
    columns_and_key(table).0
}

/// The columns of a table's primary key.
pub(super) fn key_columns(table: Table) -> &'static [Column] {
    let (columns, key) = columns_and_key(table);
    &columns[..key]
}

/// The column that identifies a row's warehouse; `None` for ITEM, and for HISTORY, which is read as
/// a whole.
pub(super) fn warehouse_column(table: Table) -> Option<&'static str> {
    match table {
        Table::Item | Table::History => None,
        _ => columns(table).first().map(|(name, _, _)| *name),
    }
}

/// The condition that rows are of a warehouse; nothing where [`warehouse_column`] is `None`.
pub(super) fn of_warehouse(table: Table) -> String {
    let column = warehouse_column(table);
    column.map_or_else(String::new, |column| format!(" WHERE {column} = ?"))
}

/// The query for every row of a table for a warehouse.
pub(super) fn all(table: Table) -> String {
    format!("SELECT * FROM {}{}", table.name(), of_warehouse(table))
}

pub(super) fn names(columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _, _)| *name).collect();
    names.join(", ")
}

/// The statement that makes a table.
pub(super) fn create(table: Table, syntax: &DialectSyntax) -> String {
    let columns = columns(table);
    let mut parts: Vec<String> = columns
        .iter()
        .map(|(name, kind, may_be_empty)| {
            let needed = if *may_be_empty { "" } else { " NOT NULL" };
            format!("{name} {}{needed}", (syntax.column_type)(*kind))
        })
        .collect();
    let key = key_columns(table);
    if !key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", names(key)));
    }
    let end = (syntax.table_end)(!key.is_empty());
    format!("CREATE TABLE {} ({}){end}", table.name(), parts.join(", "))
}

/// The statements that make the secondary indexes: of customers by name (clause 2.5.2.2), of orders
/// by customer (clause 2.6.2.2).
pub(super) const INDEXES: [&str; 2] = [
    "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// The columns of a table's secondary index; `None` if it has none.
pub(super) fn indexed(table: Table) -> Option<&'static str> {
    match table {
        Table::Customer => Some("c_w_id, c_d_id, c_last, c_first, c_id"),
        Table::Order => Some("o_w_id, o_d_id, o_c_id, o_id"),
        _ => None,
    }
}

/// The statement that inserts this many rows.
pub(super) fn insert(table: Table, rows: usize) -> String {
    let columns = columns(table);
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let rows = vec![row.as_str(); rows].join(", ");
    format!(
        "INSERT INTO {} ({}) VALUES {rows}",
        table.name(),
        names(columns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::syntax;
    use trueput_engine::Dialect;

    #[test]
    fn each_dialect_makes_its_tables_with_its_own_types() {
        let create = |dialect| create(Table::NewOrder, syntax(dialect));
        let columns = "CREATE TABLE new_order (no_w_id INTEGER NOT NULL, no_d_id SMALLINT NOT \
                       NULL, no_o_id INTEGER NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id))";
        assert_eq!(create(Dialect::Postgresql), columns);
        assert_eq!(create(Dialect::Sqlite), format!("{columns} WITHOUT ROWID"));
        assert_eq!(
            create(Dialect::Informix),
            format!("{columns} LOCK MODE ROW")
        );
        assert_eq!(create(Dialect::Iris), columns);
    }

    #[test]
    fn money_and_moments_have_the_type_that_each_dialect_has_for_them() {
        let made = |dialect| super::create(Table::History, syntax(dialect));
        let types = [
            (
                Dialect::Postgresql,
                "h_date TIMESTAMP NOT NULL, h_amount DECIMAL(12, 2)",
            ),
            (
                Dialect::Mariadb,
                "h_date DATETIME(6) NOT NULL, h_amount DECIMAL(12, 2)",
            ),
            (Dialect::Sqlite, "h_date INTEGER NOT NULL, h_amount INTEGER"),
            (
                Dialect::Informix,
                "h_date DATETIME YEAR TO FRACTION(5) NOT NULL, h_amount DECIMAL(12, 2)",
            ),
            (
                Dialect::Iris,
                "h_date TIMESTAMP NOT NULL, h_amount NUMERIC(12, 2)",
            ),
        ];
        for (dialect, expected) in types {
            let text = made(dialect);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("PRIMARY KEY"), "HISTORY has none: {text}");
        }
        let informix = super::create(Table::Customer, syntax(Dialect::Informix));
        assert!(informix.contains("c_data LVARCHAR(500)"), "{informix}");
    }

    #[test]
    fn the_columns_of_an_index_are_those_that_it_is_made_of() {
        let tables = Table::ALL.into_iter();
        let named: Vec<_> = tables.filter_map(indexed).collect();
        assert_eq!(named.len(), INDEXES.len());
        for (index, columns) in INDEXES.iter().zip(named) {
            assert!(index.ends_with(&format!("({columns})")), "{index}");
        }
    }

    #[test]
    fn an_insert_has_a_parameter_for_each_column_of_each_row() {
        assert_eq!(
            insert(Table::NewOrder, 2),
            "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?), (?, ?, ?)"
        );
        for table in Table::ALL {
            let count = insert(table, 3).matches('?').count();
            assert_eq!(count, 3 * columns(table).len());
        }
    }
}
