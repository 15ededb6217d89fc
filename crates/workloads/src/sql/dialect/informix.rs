//! Informix, written to the "IBM Informix Guide to SQL: Syntax" (14.10) and not run here.

use super::{DialectSyntax, RowLimit, for_each, standard_type};
use crate::sql::columns::ColumnType;

pub(super) static SYNTAX: DialectSyntax = DialectSyntax {
    is_numbered: false,
    column_type,
    // The default would lock whole pages.
    table_end: |_| " LOCK MODE ROW",
    // FOR UPDATE is for cursors that update by position. REPEATABLE READ takes shared locks on the
    // rows read: two transactions that then want to write them would wait for each other.
    lock: "",
    locks_by_update: true,
    has_returning: false,
    has_arrays: false,
    has_rows: false,
    paging: RowLimit::First,
    prefer_indexes: None,
    money: Some("DECIMAL(12, 2)"),
    integer: Some("INTEGER"),
    analyze: |tables| for_each(tables, "UPDATE STATISTICS MEDIUM FOR TABLE"),
};

fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Moment => "DATETIME YEAR TO FRACTION(5)".to_owned(),
        // VARCHAR holds 255 bytes at the most.
        ColumnType::Text(length) if length > 255 => format!("LVARCHAR({length})"),
        _ => standard_type(kind),
    }
}
