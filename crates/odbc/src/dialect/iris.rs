//! InterSystems IRIS, by its own driver. Written to its "SQL Reference" (2024.1) and not run here.

use super::{
    DialectProfile, DurabilitySettings, Keys, NameCheck, NativeErrors, Paging, PutMethod,
    READ_COMMITTED, RowLock, Schema,
};
use crate::binding::BindingOptions;
use trueput_engine::{Dialect, Durability};

pub(super) static PROFILE: DialectProfile = DialectProfile {
    dialect: Dialect::Iris,
    reported: &["intersystems", "iris", "cache"],
    // It has no more.
    isolation: READ_COMMITTED,
    has_snapshots: false,
    has_writers: true,
    setup: &["SET OPTION DEFAULT_SCHEMA = trueput"],
    more: |_| "",
    native_errors: NativeErrors {
        // It has no number of its own for a deadlock: a lock is waited for until that times out.
        deadlocks: &[],
        // Locking conflicts: in filing, and of a row of a SELECT, UPDATE, DELETE or INSERT.
        conflicts: &[-110, -111, -112, -113, -114],
        full: &[],
    },
    binding_options: BindingOptions::STANDARD,
    keys: Keys {
        // Its order of bytes has canonical numbers before all else; SQLSTRING orders by text, and
        // a subscript of the index has 511 bytes at the most.
        columns: "k VARCHAR(400) COLLATE SQLSTRING NOT NULL, v VARCHAR(2000000) NOT NULL, \
                  PRIMARY KEY (k)",
        is_hex: true,
        max_key_bytes: 200,
        max_value_bytes: 1_000_000,
        put: PutMethod::One("INSERT OR UPDATE record (k, v) VALUES (?, ?)"),
        begin_write: None,
        lock: RowLock::ByUpdate,
        paging: Paging::Top,
    },
    durability_settings,
    checkpoint: None,
    schema: Schema {
        enter: &["SET OPTION DEFAULT_SCHEMA = trueput"],
        // The first table makes it.
        make: &[],
        check: Some(NameCheck {
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

/// The server setting `SynchCommit` decides whether a commit waits for the journal. It is off by
/// default and cannot be read in SQL, so the promise is the one that holds in both states.
fn durability_settings(durability: Durability) -> Option<DurabilitySettings> {
    (durability == Durability::Buffered).then_some(DurabilitySettings {
        set: &[],
        asked: &[],
        text: "SynchCommit as the server has it",
        until: Some("the journal's buffer is written: every two seconds, or when it is full"),
        doubt: None,
        source: "InterSystems IRIS Configuration Parameter File Reference, 'SynchCommit'",
    })
}
