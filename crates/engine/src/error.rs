//! Errors of engines.

use crate::Durability;

/// A result with the contract's error.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another transaction interfered (a conflict, a lock timeout, a busy database) and the caller
    /// should retry the transaction. This is counted as data of the measurement and is not a
    /// failure.
    #[error("conflict: {0}")]
    Conflict(String),
    /// A conflict that the engine reports as a deadlock: transactions waited for each other, and
    /// this one was chosen to abort. It is retried and counted like any conflict, and also counted
    /// separately. An engine that does not distinguish deadlocks returns [`Error::Conflict`].
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// The engine, or this session as it was opened, cannot do that at all.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The engine, or a part that it needs, is not on this machine. The text says what installs it.
    #[error("{0}")]
    Missing(String),
    /// No room: the disk, the map or a configured limit is full.
    #[error("full: {0}")]
    Full(String),
    /// The connection to a server was lost, or the server takes no transactions any more. If this
    /// came from a commit, its outcome is unknown; otherwise the transaction had no effect.
    #[error("{0}")]
    Disconnected(String),
    /// Anything else that the engine said.
    #[error("{text}{}", with_code(*code))]
    Engine {
        /// The engine's own code; 0 if it has none.
        code: i64,
        /// The engine's own words.
        text: String,
    },
}

/// Formats the suffix of an engine's message: its code, if it has one.
fn with_code(code: i64) -> String {
    match code {
        0 => String::new(),
        code => format!(" (code {code})"),
    }
}

impl Error {
    /// Creates an engine's error without a code.
    pub fn engine(text: impl std::fmt::Display) -> Self {
        Self::Engine {
            code: 0,
            text: text.to_string(),
        }
    }

    /// Creates the error of an engine, or a part of it, that is not on this machine.
    pub fn missing(text: impl Into<String>) -> Self {
        Self::Missing(text.into())
    }

    /// The error for a level of durability that the engine of that name does not have.
    #[must_use]
    pub fn no_durability(engine: &str, durability: Durability) -> Self {
        Self::Unsupported(format!(
            "{engine} does not support durability '{durability}'"
        ))
    }

    /// Returns a hint for the driver's author if an engine's error text says that it is a conflict
    /// between transactions, to follow that text; empty for any other error.
    #[must_use]
    pub fn conflict_hint(&self) -> &'static str {
        const SIGNS: [&str; 6] = [
            "conflict",
            "deadlock",
            "busy",
            "try again",
            "retry",
            "serializ",
        ];
        match self {
            Self::Engine { text, .. } => {
                let text = text.to_lowercase();
                if SIGNS.iter().any(|sign| text.contains(sign)) {
                    "; if another transaction was in the way, the driver must return \
                         Error::Conflict, which is counted and retried (docs/ADDING_AN_ENGINE.md)"
                } else {
                    ""
                }
            }
            _ => "",
        }
    }

    /// Returns whether the transaction should be retried: a conflict, including a deadlock.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_) | Self::Deadlock(_))
    }

    /// Returns whether the connection to the server was lost.
    #[must_use]
    pub fn is_disconnection(&self) -> bool {
        matches!(self, Self::Disconnected(_))
    }

    /// Returns whether the engine reports a deadlock.
    #[must_use]
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Self::Deadlock(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_shown_where_there_is_one() {
        let text = "no such file".to_owned();
        let error = Error::Engine { code: -7, text };
        assert_eq!(error.to_string(), "no such file (code -7)");
        assert_eq!(Error::engine("no library").to_string(), "no library");
    }

    #[test]
    fn a_deadlock_is_a_conflict_and_another_conflict_is_no_deadlock() {
        let deadlock = Error::Deadlock("two sessions, two keys".to_owned());
        assert!(deadlock.is_conflict() && deadlock.is_deadlock());
        let other = Error::Conflict("busy".to_owned());
        assert!(other.is_conflict() && !other.is_deadlock());
        assert!(!Error::engine("no library").is_conflict());
    }

    #[test]
    fn an_error_that_speaks_of_a_conflict_says_how_a_driver_returns_one() {
        let hint = Error::engine("write conflict").conflict_hint();
        assert!(hint.contains("must return Error::Conflict"), "{hint}");
        for other in [
            Error::engine("no such file"),
            Error::Conflict("busy".to_owned()),
            Error::Full("the retry buffer".to_owned()),
        ] {
            assert_eq!(other.conflict_hint(), "", "{other}");
        }
    }
}
