//! MariaDB, with InnoDB or MyRocks, as the session's default is.

use super::{DialectSyntax, RowLimit, for_each, standard_type};
use crate::sql::columns::ColumnType;

pub(super) static SYNTAX: DialectSyntax = DialectSyntax {
    is_numbered: false,
    column_type,
    table_end: |_| " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    lock: " FOR UPDATE",
    locks_by_update: false,
    has_returning: false,
    has_arrays: false,
    has_rows: true,
    paging: RowLimit::Limit,
    prefer_indexes: None,
    money: Some("DECIMAL(12, 2)"),
    integer: Some("SIGNED"),
    analyze: |tables| for_each(tables, "ANALYZE TABLE"),
};

fn column_type(kind: ColumnType) -> String {
    match kind {
        // A TIMESTAMP would end in 2038 and follow the session's time zone.
        ColumnType::Moment => "DATETIME(6)".to_owned(),
        _ => standard_type(kind),
    }
}
