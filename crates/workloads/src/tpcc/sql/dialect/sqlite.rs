//! SQLite: decimals are whole numbers of their smallest unit, moments are microseconds. It locks
//! the database, not rows.

use super::{Paging, Writing, standard_type};
use crate::tpcc::sql::schema::Kind;

pub(super) static WRITING: Writing = Writing {
    is_numbered: false,
    column_type,
    table_end: |has_key| if has_key { " WITHOUT ROWID" } else { "" },
    lock: "",
    locks_by_update: false,
    has_returning: true,
    has_arrays: false,
    has_rows: true,
    paging: Paging::Limit,
    money: None,
    integer: None,
    analyze: |_| vec!["ANALYZE".to_owned()],
    procedures: None,
};

fn column_type(kind: Kind) -> String {
    match kind {
        Kind::Money | Kind::Rate | Kind::Moment => "INTEGER".to_owned(),
        _ => standard_type(kind),
    }
}
