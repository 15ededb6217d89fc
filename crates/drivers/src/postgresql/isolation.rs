//! The isolation of transactions.

use trueput_engine::{Mode, choices};

choices! {
    /// The isolation of write transactions.
    pub(super) enum PostgresqlIsolation {
        ReadCommitted = "read-committed",
        RepeatableRead = "repeatable-read",
        Serializable = "serializable",
    }
}

impl PostgresqlIsolation {
    /// The statement that begins a transaction. One that reads sees one state at every level.
    pub fn begin(self, mode: Mode) -> &'static str {
        match (mode, self) {
            (Mode::Write, Self::ReadCommitted) => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            (Mode::Write, Self::RepeatableRead) => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
            }
            (Mode::Write, Self::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",
            (Mode::Read, Self::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
            (Mode::Read, _) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// The server's name for the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}
