//! The stores of workloads whose tables are in SQL, or are keys and values.

use trueput_engine::{Dialect, Session, choices};

choices! {
    /// The stores that a plan can ask for.
    pub(crate) enum TableStore {
        /// SQL if the session speaks it, keys and values otherwise.
        Auto = "auto",
        /// Keys and values.
        KeyValue = "kv",
        /// SQL.
        Sql = "sql",
    }
}

impl TableStore {
    /// Whether an engine that speaks this dialect, or none, has the store.
    pub(crate) fn is_supported(self, dialect: Option<Dialect>) -> bool {
        self != Self::Sql || dialect.is_some()
    }

    /// The store that a session gets: never `Auto`.
    pub(crate) fn resolve(self, session: &mut dyn Session) -> Self {
        match self {
            Self::Auto if session.sql().is_some() => Self::Sql,
            Self::Auto => Self::KeyValue,
            given => given,
        }
    }
}
