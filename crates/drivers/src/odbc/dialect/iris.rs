//! InterSystems IRIS, by its own driver. Written to its "SQL Reference" (2024.1) and not run here.

use super::{Check, Keeping, Keys, Lock, Manner, Natives, Paging, Put, READ_COMMITTED, Schema};
use crate::odbc::statement::Ways;
use trueput_engine::{Dialect, Durability};

pub(super) static MANNER: Manner = Manner {
    dialect: Dialect::Iris,
    reported: &["intersystems", "iris", "cache"],
    // It has no more.
    isolation: READ_COMMITTED,
    has_snapshots: false,
    has_writers: true,
    setup: &["SET OPTION DEFAULT_SCHEMA = trueput"],
    more: |_| "",
    natives: Natives {
        // It has no number of its own for a deadlock: a lock is waited for until that times out.
        deadlocks: &[],
        // Locking conflicts: in filing, and of a row of a SELECT, UPDATE, DELETE or INSERT.
        conflicts: &[-110, -111, -112, -113, -114],
        full: &[],
    },
    ways: Ways::STANDARD,
    keys: Keys {
        // Its order of bytes has canonical numbers before all else; SQLSTRING orders by text, and
        // a subscript of the index has 511 bytes at the most.
        columns: "k VARCHAR(400) COLLATE SQLSTRING NOT NULL, v VARCHAR(2000000) NOT NULL, \
                  PRIMARY KEY (k)",
        is_hex: true,
        longest_key: 200,
        longest_value: 1_000_000,
        put: Put::One("INSERT OR UPDATE record (k, v) VALUES (?, ?)"),
        begin_write: None,
        lock: Lock::ByUpdate,
        paging: Paging::Top,
    },
    keeping,
    checkpoint: None,
    schema: Schema {
        enter: &["SET OPTION DEFAULT_SCHEMA = trueput"],
        // The first table makes it.
        make: &[],
        check: Some(Check {
            query: "SELECT %SYSTEM_SQL.DefaultSchema()",
            hint: "unqualified names must be in a separate schema: ask the server's \
                administrator to set this user's default schema to trueput",
        }),
        tables: "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES \
                 WHERE LOWER(TABLE_SCHEMA) = 'trueput'",
        mark_type: "VARCHAR(40)",
        mark_end: "",
        table_end: "",
        quoted: str::to_owned,
    },
};

/// Whether a commit waits for the journal is the server's setting `SynchCommit`, which is off by
/// default and cannot be asked for in SQL: what both settings keep is promised.
fn keeping(durability: Durability) -> Option<Keeping> {
    (durability == Durability::Buffered).then_some(Keeping {
        set: &[],
        asked: &[],
        text: "SynchCommit as the server has it",
        until: Some("the journal's buffer is written: every two seconds, or when it is full"),
        source: "InterSystems IRIS Configuration Parameter File Reference, 'SynchCommit'",
    })
}
