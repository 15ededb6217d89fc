//! Informix, by the driver of IBM's Client SDK. Written to the "IBM Informix Guide to SQL: Syntax"
//! (14.10) and the "ODBC Driver Programmer's Manual", and not run here.

use super::{
    DialectProfile, DurabilitySettings, Keys, NameCheck, NativeErrors, Paging, PutMethod,
    REPEATABLE_READ, RowLock, Schema,
};
use crate::binding::BindingOptions;
use trueput_engine::{Dialect, Durability};

const SOURCE: &str = "IBM Informix Guide to SQL: Syntax (14.10), 'SET LOG statement'";

pub(super) static PROFILE: DialectProfile = DialectProfile {
    dialect: Dialect::Informix,
    reported: &["informix", "ibm informix"],
    // Locks on every row that was read, to the end of the transaction.
    isolation: REPEATABLE_READ,
    has_snapshots: true,
    has_writers: true,
    // Otherwise a lock that another holds is an error at once.
    setup: &["SET LOCK MODE TO WAIT 10"],
    more: |_| "",
    native_errors: NativeErrors {
        // ISAM found a deadlock.
        deadlocks: &[-143],
        // A record is locked, a wait that timed out (and may have been a deadlock between two
        // servers), and the errors of reading, writing and finding a row under which ISAM's -107
        // and -154 come.
        conflicts: &[-107, -144, -154, -233, -243, -244, -245, -246],
        // No free disk space; a transaction too long for the logical logs.
        full: &[-131, -458],
    },
    binding_options: BindingOptions {
        has_decimals: true,
        binds_columns: true,
        binds_each_time: false,
        // DATETIME YEAR TO FRACTION(5).
        fraction_digits: 5,
    },
    keys: Keys {
        // It has no type for bytes in an index. VARCHAR holds 255 bytes, a row 32,767.
        columns: "k VARCHAR(240) NOT NULL PRIMARY KEY, v LVARCHAR(32000) NOT NULL",
        is_hex: true,
        max_key_bytes: 120,
        max_value_bytes: 16_000,
        put: PutMethod::UpdateOrInsert,
        begin_write: None,
        lock: RowLock::ByIsolation,
        paging: Paging::First,
    },
    durability_settings,
    checkpoint: None,
    schema: Schema {
        enter: &[],
        make: &[],
        check: Some(NameCheck {
            query: "SELECT DBINFO('dbname') FROM systables WHERE tabid = 1",
            hint: "Informix has no schemas apart from users: name a database of this program's own \
                   in the connection string, made by CREATE DATABASE trueput WITH LOG",
        }),
        tables: "SELECT tabname FROM systables WHERE tabid >= 100 AND tabtype IN ('T', 'V')",
        mark_type: "VARCHAR(40)",
        mark_end: " LOCK MODE ROW",
        // The default would lock whole pages.
        table_end: " LOCK MODE ROW",
        quoted: str::to_owned,
    },
};

fn durability_settings(durability: Durability) -> Option<DurabilitySettings> {
    let (set, text, until): (&'static [_], _, _) = match durability {
        Durability::Sync => (&["SET LOG"], "SET LOG", None),
        Durability::Buffered => (
            &["SET BUFFERED LOG"],
            "SET BUFFERED LOG",
            Some("the logical-log buffer is full, or another's commit or a checkpoint flushes it"),
        ),
        _ => return None,
    };
    Some(DurabilitySettings {
        set,
        asked: &[],
        text,
        until,
        doubt: None,
        source: SOURCE,
    })
}
