//! PostgreSQL.

use super::{DialectSyntax, RowLimit, for_each, standard_type};
use crate::sql::columns::ColumnType;

pub(super) static SYNTAX: DialectSyntax = DialectSyntax {
    is_numbered: true,
    column_type,
    table_end: |_| "",
    lock: " FOR UPDATE",
    locks_by_update: false,
    has_returning: true,
    has_arrays: true,
    has_rows: true,
    paging: RowLimit::Limit,
    prefer_indexes: Some("SELECT set_config('enable_seqscan', 'off', true)"),
    money: Some("DECIMAL(12, 2)"),
    integer: Some("INTEGER"),
    analyze: |tables| for_each(tables, "VACUUM ANALYZE"),
};

/// Text is ordered by its bytes, regardless of the database's own collation.
fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Text(_) => format!("{} COLLATE \"C\"", standard_type(kind)),
        _ => standard_type(kind),
    }
}
