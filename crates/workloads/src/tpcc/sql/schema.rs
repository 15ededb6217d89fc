//! The nine tables and their columns (clause 1.3), primary keys, and the two secondary indexes.
//! There are no foreign keys, as the peers' tables have none by default.

use super::column_type::ColumnType::{
    self, Fixed, Large, Moment, Money, Number, Rate, Small, Text,
};
use super::dialect::DialectSyntax;
use crate::tpcc::rows::Table;

/// A column: its name, what it holds, and whether it may be empty.
pub(super) type Column = (&'static str, ColumnType, bool);

const WAREHOUSE: &[Column] = &[
    ("w_id", Number, false),
    ("w_name", Text(10), false),
    ("w_street_1", Text(20), false),
    ("w_street_2", Text(20), false),
    ("w_city", Text(20), false),
    ("w_state", Fixed(2), false),
    ("w_zip", Fixed(9), false),
    ("w_tax", Rate, false),
    ("w_ytd", Money, false),
];

const DISTRICT: &[Column] = &[
    ("d_w_id", Number, false),
    ("d_id", Small, false),
    ("d_name", Text(10), false),
    ("d_street_1", Text(20), false),
    ("d_street_2", Text(20), false),
    ("d_city", Text(20), false),
    ("d_state", Fixed(2), false),
    ("d_zip", Fixed(9), false),
    ("d_tax", Rate, false),
    ("d_ytd", Money, false),
    ("d_next_o_id", Number, false),
];

const CUSTOMER: &[Column] = &[
    ("c_w_id", Number, false),
    ("c_d_id", Small, false),
    ("c_id", Number, false),
    ("c_first", Text(16), false),
    ("c_middle", Fixed(2), false),
    ("c_last", Text(16), false),
    ("c_street_1", Text(20), false),
    ("c_street_2", Text(20), false),
    ("c_city", Text(20), false),
    ("c_state", Fixed(2), false),
    ("c_zip", Fixed(9), false),
    ("c_phone", Fixed(16), false),
    ("c_since", Moment, false),
    ("c_credit", Fixed(2), false),
    ("c_credit_lim", Money, false),
    ("c_discount", Rate, false),
    ("c_balance", Money, false),
    ("c_ytd_payment", Money, false),
    ("c_payment_cnt", Number, false),
    ("c_delivery_cnt", Number, false),
    ("c_data", Text(500), false),
];

const HISTORY: &[Column] = &[
    ("h_c_id", Number, false),
    ("h_c_d_id", Small, false),
    ("h_c_w_id", Number, false),
    ("h_d_id", Small, false),
    ("h_w_id", Number, false),
    ("h_date", Moment, false),
    ("h_amount", Money, false),
    ("h_data", Text(24), false),
];

const NEW_ORDER: &[Column] = &[
    ("no_w_id", Number, false),
    ("no_d_id", Small, false),
    ("no_o_id", Number, false),
];

const ORDERS: &[Column] = &[
    ("o_w_id", Number, false),
    ("o_d_id", Small, false),
    ("o_id", Number, false),
    ("o_c_id", Number, false),
    ("o_entry_d", Moment, false),
    ("o_carrier_id", Small, true),
    ("o_ol_cnt", Small, false),
    ("o_all_local", Small, false),
];

const ORDER_LINE: &[Column] = &[
    ("ol_w_id", Number, false),
    ("ol_d_id", Small, false),
    ("ol_o_id", Number, false),
    ("ol_number", Small, false),
    ("ol_i_id", Number, false),
    ("ol_supply_w_id", Number, false),
    ("ol_delivery_d", Moment, true),
    ("ol_quantity", Small, false),
    ("ol_amount", Money, false),
    ("ol_dist_info", Fixed(24), false),
];

const ITEM: &[Column] = &[
    ("i_id", Number, false),
    ("i_im_id", Number, false),
    ("i_name", Text(24), false),
    ("i_price", Money, false),
    ("i_data", Text(50), false),
];

const STOCK: &[Column] = &[
    ("s_w_id", Number, false),
    ("s_i_id", Number, false),
    ("s_quantity", Number, false),
    ("s_dist_01", Fixed(24), false),
    ("s_dist_02", Fixed(24), false),
    ("s_dist_03", Fixed(24), false),
    ("s_dist_04", Fixed(24), false),
    ("s_dist_05", Fixed(24), false),
    ("s_dist_06", Fixed(24), false),
    ("s_dist_07", Fixed(24), false),
    ("s_dist_08", Fixed(24), false),
    ("s_dist_09", Fixed(24), false),
    ("s_dist_10", Fixed(24), false),
    ("s_ytd", Large, false),
    ("s_order_cnt", Number, false),
    ("s_remote_cnt", Number, false),
    ("s_data", Text(50), false),
];

/// A table's columns, in the order in which rows are inserted.
pub(super) fn columns(table: Table) -> &'static [Column] {
    match table {
        Table::Warehouse => WAREHOUSE,
        Table::District => DISTRICT,
        Table::Customer => CUSTOMER,
        Table::History => HISTORY,
        Table::NewOrder => NEW_ORDER,
        Table::Order => ORDERS,
        Table::OrderLine => ORDER_LINE,
        Table::Item => ITEM,
        Table::Stock => STOCK,
    }
}

/// How many of a table's first columns are its primary key; HISTORY has none (clause 1.3.1).
pub(super) fn key_columns(table: Table) -> usize {
    match table {
        Table::History => 0,
        Table::Warehouse | Table::Item => 1,
        Table::District | Table::Stock => 2,
        Table::Customer | Table::NewOrder | Table::Order => 3,
        Table::OrderLine => 4,
    }
}

/// The column that says of which warehouse a row is; `None` for ITEM, and for HISTORY, which is
/// read as a whole.
pub(super) fn warehouse_column(table: Table) -> Option<&'static str> {
    match table {
        Table::Item | Table::History => None,
        _ => columns(table).first().map(|(name, _, _)| *name),
    }
}

pub(super) fn names(columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _, _)| *name).collect();
    names.join(", ")
}

/// The statement that makes a table.
pub(super) fn create(table: Table, writing: &DialectSyntax) -> String {
    let columns = columns(table);
    let mut parts: Vec<String> = columns
        .iter()
        .map(|(name, kind, may_be_empty)| {
            let needed = if *may_be_empty { "" } else { " NOT NULL" };
            format!("{name} {}{needed}", (writing.column_type)(*kind))
        })
        .collect();
    let key = &columns[..key_columns(table)];
    if !key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", names(key)));
    }
    let end = (writing.table_end)(!key.is_empty());
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
    use super::super::dialect::writing;
    use super::*;
    use trueput_engine::Dialect;

    #[test]
    fn each_dialect_makes_its_tables_with_its_own_types() {
        let create = |dialect| create(Table::NewOrder, writing(dialect));
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
        let made = |dialect| super::create(Table::History, writing(dialect));
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
        let informix = super::create(Table::Customer, writing(Dialect::Informix));
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
