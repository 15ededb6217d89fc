//! The mistakes in the settings of `insert-benchmark`, and what it needs of an engine.

/// Why `insert-benchmark` cannot be run as asked. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InsertBenchmarkError {
    /// There are not as many workers as tables.
    #[error(
        "tables={tables} and {workers} workers do not go together, because each table of \
         insert-benchmark has a client of its own: give tables={workers} or {tables} workers, and \
         one number of each in a run"
    )]
    Workers {
        /// The tables.
        tables: u32,
        /// The workers of the plan.
        workers: u32,
    },
    /// The workers of a step whose writers wait for each other are processes.
    #[error(
        "in {step} of insert-benchmark a client's inserts and deletes wait for each other, which \
         processes cannot: give --worker-kind threads"
    )]
    Processes {
        /// The step.
        step: &'static str,
    },
    /// There is a warm-up.
    #[error("a step begins with the database as the step before it left it: remove warm_up")]
    WarmUp,
    /// The lengths of a column are reversed.
    #[error(
        "data_length_min={min} is more than data_length_max={max}; give a minimum up to the \
         maximum"
    )]
    DataLengths {
        /// The minimum.
        min: usize,
        /// The maximum.
        max: usize,
    },
    /// The engine lacks an ability.
    #[error("it needs an engine that {ability}, and this does not")]
    Lacks {
        /// The ability, as a clause.
        ability: &'static str,
    },
    /// The engine has no room for a record.
    #[error(
        "it has keys of {key_bytes} bytes and values of {value_bytes}, which are too long for \
         this engine"
    )]
    Room {
        /// The longest key, bytes.
        key_bytes: usize,
        /// The longest value, bytes.
        value_bytes: usize,
    },
    /// The engine speaks no SQL.
    #[error("this engine does not support SQL: give store=kv")]
    NoSql,
    /// A crash may have lost a part of an index.
    #[error(
        "it cannot tell which part of an index a crash may lose at this level: choose a step \
         other than l.x, or remove crash_and_recover"
    )]
    CrashOfIndexes,
}
