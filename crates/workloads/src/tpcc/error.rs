//! The mistakes in the settings of `tpcc`, and what it needs of an engine.

use super::sql::has_procedures;
use trueput_engine::Dialect;

/// Why `tpcc` cannot be run as asked. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TpccError {
    /// A rate is given, although the pacing decides when transactions begin.
    #[error(
        "pacing=tpc lets the terminals' users decide when transactions come: remove the rate, or \
         give pacing=none"
    )]
    PacedAtRate,
    /// The workers are not ten for each warehouse, as the pacing needs.
    #[error(
        "pacing=tpc needs 10 terminals per warehouse (clause 4.2.2), so {terminals} workers for \
         warehouses={warehouses}, not {workers}; give {terminals} workers, or pacing=none"
    )]
    Terminals {
        /// The workers that are needed.
        terminals: u64,
        /// The warehouses.
        warehouses: u32,
        /// The workers that were given.
        workers: u32,
    },
    /// The engine lacks an ability.
    #[error("it needs an engine that {ability}, and this does not")]
    Lacks {
        /// The ability, as a clause.
        ability: &'static str,
    },
    /// The engine has no snapshots for reads of keys and values.
    #[error(
        "it needs an engine that shows a read transaction one state of the database (clause 3.4), \
         and this does not; in SQL, where the engine speaks it, tpcc runs without and says so in \
         its result: give store=sql"
    )]
    NoSnapshots,
    /// The engine speaks no SQL.
    #[error("this engine does not support SQL: give store=kv")]
    NoSql,
    /// There are no server functions for the engine's SQL dialect.
    #[error(
        "the transactions are written as functions of the server only for {}: give store=sql or \
         store=kv",
        dialects_with_procedures()
    )]
    NoProcedures,
}

fn dialects_with_procedures() -> String {
    let with_procedures = Dialect::ALL.into_iter().filter(|one| has_procedures(*one));
    let names: Vec<_> = with_procedures.map(Dialect::name).collect();
    names.join(" and ")
}
