//! InterSystems IRIS, written to its "SQL Reference" (2024.1) and not run here.

use super::{Paging, Writing, for_each, standard_type};
use crate::tpcc::sql::schema::Kind;

pub(super) static WRITING: Writing = Writing {
    is_numbered: false,
    column_type,
    table_end: |_| "",
    // SELECT … FOR UPDATE is taken and locks nothing: the update of the row takes the lock.
    lock: "",
    locks_by_update: true,
    has_returning: false,
    has_arrays: false,
    has_rows: false,
    paging: Paging::Top,
    money: Some("NUMERIC(12, 2)"),
    integer: Some("INTEGER"),
    analyze: |tables| for_each(tables, "TUNE TABLE"),
    procedures: None,
};

fn column_type(kind: Kind) -> String {
    match kind {
        Kind::Moment => "TIMESTAMP".to_owned(),
        Kind::Money => "NUMERIC(12, 2)".to_owned(),
        Kind::Rate => "NUMERIC(4, 4)".to_owned(),
        // Compared and ordered by its bytes: the default collation, SQLUPPER, ignores case.
        Kind::Text(_) | Kind::Fixed(_) => format!("{} COLLATE EXACT", standard_type(kind)),
        _ => standard_type(kind),
    }
}
