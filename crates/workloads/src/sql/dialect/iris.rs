//! InterSystems IRIS, written to its "SQL Reference" (2024.1) and not run here.

use super::{DialectSyntax, RowLimit, for_each, standard_type};
use crate::sql::columns::ColumnType;

pub(super) static SYNTAX: DialectSyntax = DialectSyntax {
    is_numbered: false,
    column_type,
    table_end: |_| "",
    // SELECT … FOR UPDATE is taken and locks nothing: the update of the row takes the lock.
    lock: "",
    locks_by_update: true,
    has_returning: false,
    has_arrays: false,
    has_rows: false,
    paging: RowLimit::Top,
    prefer_indexes: None,
    money: Some("NUMERIC(12, 2)"),
    integer: Some("INTEGER"),
    analyze: |tables| for_each(tables, "TUNE TABLE"),
};

fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Moment => "TIMESTAMP".to_owned(),
        ColumnType::Money => "NUMERIC(12, 2)".to_owned(),
        ColumnType::Rate => "NUMERIC(4, 4)".to_owned(),
        // Compared and ordered by its bytes: the default collation, SQLUPPER, ignores case.
        ColumnType::Text(_) | ColumnType::Fixed(_) => {
            format!("{} COLLATE EXACT", standard_type(kind))
        }
        _ => standard_type(kind),
    }
}
