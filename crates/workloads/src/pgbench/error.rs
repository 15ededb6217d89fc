//! The mistakes in the settings of `pgbench`, and what it needs of an engine.

use super::kinds::Script;
use crate::keyed::kinds::KindCatalog;

/// Why `pgbench` cannot be run as asked. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PgbenchError {
    /// The script is not known.
    #[error("unknown script '{name}'{hint}; choose from {}", script_names())]
    UnknownScript {
        /// The name as given.
        name: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// A weight is not a whole number in range.
    #[error("'{weight}' is not the weight of {script}; write a whole number, as in {script}@2")]
    Weight {
        /// The text in its place.
        weight: String,
        /// The script.
        script: &'static str,
    },
    /// A script is given twice.
    #[error("{script} is given twice; give it once, with the sum of the weights")]
    Twice {
        /// The script.
        script: &'static str,
    },
    /// No script has a weight above 0.
    #[error("no script has a weight above 0; give one, as in tpcb-like@2 select-only@8")]
    NoScript,
    /// The engine lacks an ability.
    #[error("it needs an engine that {ability}, and this does not")]
    Lacks {
        /// The ability, as a clause.
        ability: &'static str,
    },
    /// The engine speaks no SQL.
    #[error("this engine does not support SQL: give store=kv")]
    NoSql,
}

fn script_names() -> String {
    let names: Vec<_> = Script::ALL.iter().map(|script| script.name()).collect();
    names.join(", ")
}
