//! PostgreSQL, by psqlodbc. Tested with 13.02 of it on PostgreSQL 15.

use super::{
    DialectProfile, DurabilitySettings, Keys, NativeErrors, Paging, PutMethod, REPEATABLE_READ,
    RowLock, Schema, SettingCheck,
};
use crate::binding::BindingOptions;
use crate::statement::StatementText;
use trueput_engine::{Dialect, Durability};

const SOURCE: &str = "PostgreSQL documentation, 'Asynchronous Commit' and 'Write Ahead Log'";

pub(super) static PROFILE: DialectProfile = DialectProfile {
    dialect: Dialect::Postgresql,
    reported: &["postgresql"],
    isolation: REPEATABLE_READ,
    has_snapshots: true,
    has_writers: true,
    setup: &[
        "SET search_path TO trueput",
        "SET TimeZone TO 'UTC'",
        "SET client_encoding TO 'UTF8'",
    ],
    // It would set and release a savepoint around each statement, a round trip each, so that one
    // that fails does not end the transaction: ours are aborted then.
    more: |info| {
        if info.driver.starts_with("psqlodbc") {
            "Protocol=7.4-0"
        } else {
            ""
        }
    },
    native_errors: NativeErrors {
        deadlocks: &[],
        conflicts: &[],
        full: &[],
    },
    binding_options: BindingOptions::STANDARD,
    keys: Keys {
        columns: "k bytea PRIMARY KEY, v bytea NOT NULL",
        is_hex: false,
        // A third of an index page, less the page's overhead.
        max_key_bytes: 2_600,
        max_value_bytes: 16 << 20,
        put: PutMethod::One(
            "INSERT INTO record (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        ),
        begin_write: None,
        lock: RowLock::ByIsolation,
        paging: Paging::Limit,
    },
    durability_settings,
    checkpoint: None,
    schema: Schema {
        enter: &[],
        make: &["CREATE SCHEMA trueput"],
        check: None,
        tables: "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = 'trueput' AND relkind IN ('r', 'p')",
        mark_type: "text",
        mark_end: "",
        table_end: "",
        quoted: |name| format!("trueput.\"{}\"", name.replace('"', "\"\"")),
    },
};

const FLUSHES: &[SettingCheck] = &[
    ("fsync", "SHOW fsync", &["on"]),
    ("full_page_writes", "SHOW full_page_writes", &["on"]),
];

fn durability_settings(durability: Durability) -> Option<DurabilitySettings> {
    match durability {
        Durability::Sync => Some(DurabilitySettings {
            set: &["SET synchronous_commit TO on"],
            asked: FLUSHES,
            text: "fsync=on, synchronous_commit=on",
            until: None,
            doubt: None,
            source: SOURCE,
        }),
        Durability::Buffered => Some(DurabilitySettings {
            set: &["SET synchronous_commit TO off"],
            asked: FLUSHES,
            text: "fsync=on, synchronous_commit=off",
            until: Some("the log's writer has written it: within three times wal_writer_delay"),
            doubt: None,
            source: SOURCE,
        }),
        _ => None,
    }
}

/// Rewrites a statement from `$1`, `$2` … to `?`, outside quotes.
pub(super) fn unnumbered(statement: &str, is_reading: bool) -> StatementText {
    let (mut text, mut order) = (String::with_capacity(statement.len()), Vec::new());
    let (mut quote, mut rest) = (None, statement);
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let number = match (letter, quote) {
            ('$', None) => after[..digits].parse::<usize>().ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| *number > 0) {
            text.push('?');
            order.push(number - 1);
            rest = &after[digits..];
            continue;
        }
        quote = match (quote, letter) {
            (None, '\'' | '"') => Some(letter),
            (Some(open), _) if open == letter => None,
            _ => quote,
        };
        text.push(letter);
        rest = after;
    }
    let with_lock_held = order
        .iter()
        .enumerate()
        .all(|(index, number)| index == *number);
    StatementText {
        text,
        order: (!with_lock_held).then_some(order),
        is_reading,
    }
}
