//! SQLite: decimals are whole numbers of their smallest unit, moments are microseconds. It locks
//! the database, not rows.

use super::{DialectSyntax, RowLimit, standard_type};
use crate::sql::columns::ColumnType;

pub(super) static SYNTAX: DialectSyntax = DialectSyntax {
    is_numbered: false,
    column_type,
    table_end: |has_key| if has_key { " WITHOUT ROWID" } else { "" },
    lock: "",
    locks_by_update: false,
    has_returning: true,
    has_arrays: false,
    has_rows: true,
    paging: RowLimit::Limit,
    prefer_indexes: None,
    money: None,
    integer: None,
    analyze: |_| vec!["ANALYZE".to_owned()],
};

fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Money | ColumnType::Rate | ColumnType::Moment => "INTEGER".to_owned(),
        _ => standard_type(kind),
    }
}
