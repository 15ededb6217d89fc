//! SQLite, by Christian Werner's driver (sqliteodbc). Tested with 0.9998 of it.

use super::{
    DialectProfile, DurabilitySettings, Keys, NativeErrors, Paging, PutMethod, RowLock,
    SERIALIZABLE, Schema,
};
use crate::binding::BindingOptions;
use crate::statement::StatementText;
use trueput_engine::{Dialect, Durability};

pub(super) static PROFILE: DialectProfile = DialectProfile {
    dialect: Dialect::Sqlite,
    reported: &["sqlite"],
    isolation: SERIALIZABLE,
    has_snapshots: true,
    has_writers: false,
    setup: &[],
    more: |_| "",
    native_errors: NativeErrors {
        // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_BUSY_SNAPSHOT.
        deadlocks: &[],
        conflicts: &[5, 6, 517],
        full: &[13],
    },
    binding_options: BindingOptions {
        has_decimals: false,
        // A column without a declared type is described by the value in its first row, and a BLOB
        // always as 255 bytes.
        binds_columns: false,
        binds_each_time: true,
        fraction_digits: 6,
    },
    keys: Keys {
        columns: "k BLOB PRIMARY KEY, v BLOB NOT NULL",
        is_hex: false,
        max_key_bytes: 1 << 16,
        max_value_bytes: 16 << 20,
        put: PutMethod::One(
            "INSERT INTO record (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        ),
        // The driver begins transactions itself, and not as write transactions: two that have read
        // could not both go on. A write that changes nothing takes the lock.
        begin_write: Some("UPDATE trueput_marker SET made = made WHERE 0"),
        lock: RowLock::ByIsolation,
        paging: Paging::Limit,
    },
    durability_settings,
    checkpoint: Some("PRAGMA wal_checkpoint(TRUNCATE)"),
    schema: Schema {
        enter: &[],
        make: &[],
        check: None,
        tables: "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') \
                 AND name NOT LIKE 'sqlite_%'",
        mark_type: "VARCHAR(40)",
        mark_end: "",
        table_end: "",
        quoted: |name| format!("\"{}\"", name.replace('"', "\"\"")),
    },
};

fn durability_settings(durability: Durability) -> Option<DurabilitySettings> {
    (durability == Durability::Sync).then_some(DurabilitySettings {
        set: &["PRAGMA journal_mode=wal", "PRAGMA synchronous=FULL"],
        asked: &[
            ("journal_mode", "PRAGMA journal_mode", &["wal"]),
            ("synchronous", "PRAGMA synchronous", &["2"]),
        ],
        text: "journal_mode=wal, synchronous=FULL",
        until: None,
        doubt: None,
        source: "https://sqlite.org/pragma.html#pragma_synchronous",
    })
}

/// A statement that gives the rows that it has changed, written so that the driver sees a query: it
/// goes by the first word, and shows no rows of an `UPDATE … RETURNING`.
pub(super) fn written_as_query(statement: &str, is_reading: bool) -> StatementText {
    let returns = statement.to_ascii_uppercase().contains(" RETURNING ");
    let text = if returns && !is_reading {
        format!("WITH no_rows AS (SELECT 1) {statement}")
    } else {
        statement.to_owned()
    };
    StatementText {
        text,
        order: None,
        is_reading,
    }
}
