//! MariaDB and MySQL, by MariaDB's Connector/ODBC. Tested with 3.1 of it on MariaDB 10.11.

use super::{
    DialectProfile, DurabilitySettings, Keys, NativeErrors, Paging, PutMethod, REPEATABLE_READ,
    RowLock, Schema, SettingCheck,
};
use crate::binding::BindingOptions;
use trueput_engine::{Dialect, Durability};

const SOURCE: &str = "https://mariadb.com/kb/en/innodb-system-variables/\
                      #innodb_flush_log_at_trx_commit";

pub(super) static PROFILE: DialectProfile = DialectProfile {
    dialect: Dialect::Mariadb,
    reported: &["mariadb", "mysql"],
    isolation: REPEATABLE_READ,
    has_snapshots: true,
    has_writers: true,
    setup: &[
        "SET SESSION time_zone='+00:00', \
         SESSION sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        "USE trueput",
    ],
    // The connector refuses SET NAMES.
    more: |_| "CHARSET=utf8mb4",
    native_errors: NativeErrors {
        deadlocks: &[1213],
        // A lock wait that timed out, a record that has changed since it was read.
        conflicts: &[1205, 1020],
        full: &[1021, 1114],
    },
    binding_options: BindingOptions::STANDARD,
    keys: Keys {
        columns: "k VARBINARY(767) NOT NULL PRIMARY KEY, v LONGBLOB NOT NULL",
        is_hex: false,
        max_key_bytes: 767,
        max_value_bytes: 1 << 20,
        put: PutMethod::One(
            "INSERT INTO record (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
        ),
        begin_write: None,
        lock: RowLock::ForUpdate,
        paging: Paging::Limit,
    },
    durability_settings,
    checkpoint: None,
    schema: Schema {
        enter: &[],
        make: &["CREATE DATABASE IF NOT EXISTS trueput CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"],
        check: None,
        tables: "SELECT table_name FROM information_schema.tables WHERE table_schema = 'trueput'",
        mark_type: "VARCHAR(40)",
        // An engine without transactions: the transaction that holds the lock stays open, and must
        // not see InnoDB.
        mark_end: " ENGINE=MyISAM",
        table_end: " ENGINE=InnoDB",
        quoted: |name| format!("trueput.`{}`", name.replace('`', "``")),
    },
};

const DOUBLEWRITE: SettingCheck = (
    "innodb_doublewrite",
    "SELECT @@innodb_doublewrite",
    &["1", "ON"],
);
const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const FLUSH_ASKED: &str = "SELECT @@innodb_flush_log_at_trx_commit";

const SYNC: &[SettingCheck] = &[
    (FLUSH, FLUSH_ASKED, &["1"]),
    DOUBLEWRITE,
    // A transaction that the binary log has lost is rolled back by the recovery.
    (
        "log_bin without sync_binlog",
        "SELECT @@log_bin AND @@sync_binlog <> 1",
        &["0"],
    ),
];

const BUFFERED: &[SettingCheck] = &[(FLUSH, FLUSH_ASKED, &["0"]), DOUBLEWRITE];

/// The fault that the crate of drivers states for InnoDB, too: `docs/findings/mariadb-first-page`.
const DOUBT: &str = "its recovery does not always restore a page that lost power tore, so a table \
                     can be unreadable; docs/findings shows it";

fn durability_settings(durability: Durability) -> Option<DurabilitySettings> {
    let (asked, text, until) = match durability {
        Durability::Sync => (
            SYNC,
            "innodb_flush_log_at_trx_commit=1, innodb_doublewrite=1",
            None,
        ),
        Durability::Buffered => (
            BUFFERED,
            "innodb_flush_log_at_trx_commit=0, innodb_doublewrite=1",
            Some("the log is written and flushed, which is due each second"),
        ),
        _ => return None,
    };
    Some(DurabilitySettings {
        set: &[],
        asked,
        text,
        until,
        doubt: Some(DOUBT),
        source: SOURCE,
    })
}
