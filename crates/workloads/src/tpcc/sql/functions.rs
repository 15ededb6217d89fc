//! The transactions as functions of the server: the statements that make them.

use trueput_engine::Dialect;

/// The statements that make the functions in a dialect; `None` if they are not written for it.
pub(super) fn functions(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Postgresql => Some(include_str!("functions/postgresql.sql")),
        _ => None,
    }
}

/// Whether the transactions exist as functions of a server with this dialect.
pub fn has_procedures(dialect: Dialect) -> bool {
    functions(dialect).is_some()
}
