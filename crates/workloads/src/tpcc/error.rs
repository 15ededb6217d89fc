//! The mistakes in the settings of `tpcc`, and what it needs of an engine.

use super::sql::has_procedures;
use trueput_engine::Dialect;

/// Why `tpcc` cannot be run as asked. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TpccError {
    #[error(
        "pacing tpc lets the terminals' users decide when transactions come: leave the rate out, \
         or give pacing none"
    )]
    PacedAtRate,
    #[error(
        "pacing tpc needs 10 terminals per warehouse (clause 4.2.2), so {terminals} workers for \
         warehouses {warehouses}, not {workers}; give workers {terminals}, or pacing none"
    )]
    Terminals {
        terminals: u64,
        warehouses: u32,
        workers: u32,
    },
    #[error("it needs an engine that {ability}, and this does not")]
    Lacks { ability: &'static str },
    #[error(
        "it needs an engine that shows a read transaction one state of the database (clause 3.4), \
         and this does not; in SQL, where the engine speaks it, tpcc runs without and says so in \
         its result: give store sql"
    )]
    NoSnapshots,
    #[error("this engine does not support SQL: give store kv")]
    NoSql,
    #[error(
        "the transactions are written as functions of the server only for {}: give store sql or kv",
        dialects_with_procedures()
    )]
    NoProcedures,
}

fn dialects_with_procedures() -> String {
    let with_procedures = Dialect::ALL.into_iter().filter(|one| has_procedures(*one));
    let names: Vec<_> = with_procedures.map(Dialect::name).collect();
    names.join(" and ")
}
