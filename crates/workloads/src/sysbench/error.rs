//! The mistakes in the settings of `sysbench`, and what it needs of an engine.

/// Why `sysbench` cannot be run as asked. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SysbenchError {
    /// The engine lacks an ability.
    #[error("it needs an engine that {ability}, and this does not")]
    Lacks {
        /// The ability, as a clause.
        ability: &'static str,
    },
    /// The engine has no snapshots for reads of keys and values.
    #[error(
        "it needs an engine that shows a read transaction one state of the database, and this does \
         not; in SQL, where the engine speaks it, sysbench runs without: give store=sql"
    )]
    NoSnapshots,
    /// The engine speaks no SQL.
    #[error("this engine does not support SQL: give store=kv")]
    NoSql,
    /// The transactions have no statement.
    #[error("script={script} has no statement with these settings; give one of {settings}")]
    NoStatement {
        /// The script.
        script: &'static str,
        /// The settings that give it statements.
        settings: String,
    },
    /// A script that knows one table only is to use several.
    #[error("script={script} reads sbtest1 alone, as in sysbench: give tables=1, not {tables}")]
    OneTable {
        /// The script.
        script: &'static str,
        /// The tables.
        tables: u32,
    },
    /// Several workers would delete and insert rows in transactions of one statement.
    #[error(
        "with skip_trx=on a row is gone between its delete and its insert, and {workers} workers \
         would insert it twice: give delete_inserts=0, one worker, or skip_trx=off"
    )]
    SeparateReplacements {
        /// The workers.
        workers: u32,
    },
    /// More workers than the texts of rows can name.
    #[error(
        "its rows name the worker that wrote them, and {workers} are too many: give {most} or fewer"
    )]
    Workers {
        /// The workers that were given.
        workers: u32,
        /// The most.
        most: u32,
    },
}
