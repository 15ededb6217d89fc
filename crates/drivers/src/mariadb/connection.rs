//! Translates the client library's errors and values from and to the contract's.

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Value as Wire};
use std::io::ErrorKind;
use trueput_engine::sql::calendar::{date_of, days_since_1970};
use trueput_engine::sql::decimal::{decimal, write_decimal};
use trueput_engine::{Datum, Error, Result, common_errors};

const DEADLOCK: u16 = 1213;
/// A lock of a row or of a table's metadata was waited for too long.
pub(super) const TOO_LONG_WAIT: u16 = 1205;
const RECORD_HAS_CHANGED: u16 = 1020;
const DISK_FULL: u16 = 1021;
const TABLE_FULL: u16 = 1114;
const PACKET_TOO_LARGE: u16 = 1153;
const DATA_TOO_LONG: u16 = 1406;
/// The server shuts down.
const SHUTDOWN: u16 = 1053;
/// A node of a cluster takes no transactions: Galera's text says why.
const NOT_READY: u16 = 1047;
const NOT_COMMITTED: u16 = 1180;
/// Unknown user or password, and a schema that the user may not use.
const ACCESS_DENIED: [u16; 3] = [1045, 1044, 1698];
pub(super) const UNKNOWN_VARIABLE: i64 = 1193;

const PLAIN_TEXT: &str = "the server asks for the password in plain text (mysql_clear_password, as \
                          for PAM), where others can read it: name a user who logs in by \
                          mysql_native_password or ed25519";

/// The message about a server whose host drops packets.
const SILENT: &str = "no response: check the host and the port, and whether a firewall drops \
    the packets";

/// The contract's error for the client's.
#[cold]
pub(super) fn client_error(error: mysql::Error) -> Error {
    match error {
        mysql::Error::MySqlError(said) => {
            let text = said.message.replace('\n', " ");
            match said.code {
                DEADLOCK => Error::Deadlock(format!("{text} (code {DEADLOCK})")),
                TOO_LONG_WAIT | RECORD_HAS_CHANGED => {
                    Error::Conflict(format!("{text} (code {})", said.code))
                }
                DISK_FULL | TABLE_FULL => Error::Full(format!("{text} (code {})", said.code)),
                PACKET_TOO_LARGE | DATA_TOO_LONG => {
                    Error::Unsupported(format!("{text} (code {})", said.code))
                }
                SHUTDOWN => Error::Disconnected(format!("{text} (code {SHUTDOWN})")),
                code if is_apart(code, &text) => {
                    Error::Disconnected(format!("{text} (code {code})"))
                }
                code => common_errors::coded(code, text),
            }
        }
        // An error about the password file; the client itself never returns this kind.
        mysql::Error::IoError(error) if error.kind() == ErrorKind::InvalidInput => {
            Error::engine(error.to_string())
        }
        mysql::Error::IoError(error) => Error::Disconnected(format!("the server is gone: {error}")),
        mysql::Error::CodecError(error) if is_of_the_system(&error) => {
            Error::Disconnected(format!("the server is gone: {error}"))
        }
        mysql::Error::DriverError(error) if wants_plain_text(&error) => {
            Error::Unsupported(PLAIN_TEXT.to_owned())
        }
        mysql::Error::DriverError(error @ mysql::DriverError::CouldNotConnect(_)) => {
            Error::Disconnected(error.to_string().replace('\n', " "))
        }
        mysql::Error::DriverError(mysql::DriverError::ConnectTimeout) => Error::engine(SILENT),
        // The client's own `Display` of these names its types around the text.
        mysql::Error::DriverError(error) => one_line(&error),
        mysql::Error::UrlError(error) => one_line(&error),
        mysql::Error::CodecError(error) => one_line(&error),
        other => one_line(&other),
    }
}

/// Whether an error of the protocol is one of the connection below it.
fn is_of_the_system(error: &dyn std::error::Error) -> bool {
    error
        .source()
        .is_some_and(|below| below.is::<std::io::Error>())
}

/// Whether a node of a Galera cluster is apart from the part of the cluster that goes on.
fn is_apart(code: u16, text: &str) -> bool {
    match code {
        NOT_READY => text.contains("WSREP"),
        NOT_COMMITTED => text.contains("Primary Component"),
        _ => false,
    }
}

fn one_line(error: &dyn std::fmt::Display) -> Error {
    Error::engine(error.to_string().replace('\n', " "))
}

/// Whether the server has answered and will not have us, however long we wait.
pub(super) fn is_refusal(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(said) if ACCESS_DENIED.contains(&said.code))
}

/// Whether the server wants the password in plain text.
fn wants_plain_text(error: &mysql::DriverError) -> bool {
    match error {
        mysql::DriverError::CleartextPluginDisabled => true,
        mysql::DriverError::UnknownAuthPlugin(name) => name == "mysql_clear_password",
        _ => false,
    }
}

/// The type of a column's values, as far as the protocol does not send it with each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    Decimal,
    Text,
    Bytes,
    /// The type of the value itself.
    Itself,
}

/// The number of the character set for bytes.
const BINARY: u16 = 63;

impl ValueType {
    pub(super) fn of(column: &Column) -> Self {
        use ColumnType::{
            MYSQL_TYPE_BLOB, MYSQL_TYPE_DECIMAL, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_MEDIUM_BLOB,
            MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_STRING, MYSQL_TYPE_TINY_BLOB, MYSQL_TYPE_VAR_STRING,
            MYSQL_TYPE_VARCHAR,
        };
        match column.column_type() {
            MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL => Self::Decimal,
            MYSQL_TYPE_BLOB
            | MYSQL_TYPE_LONG_BLOB
            | MYSQL_TYPE_MEDIUM_BLOB
            | MYSQL_TYPE_STRING
            | MYSQL_TYPE_TINY_BLOB
            | MYSQL_TYPE_VAR_STRING
            | MYSQL_TYPE_VARCHAR => {
                let is_binary = column.flags().contains(ColumnFlags::BINARY_FLAG);
                if column.character_set() == BINARY && is_binary {
                    Self::Bytes
                } else {
                    Self::Text
                }
            }
            _ => Self::Itself,
        }
    }
}

/// A value of a row, text and bytes where they are.
///
/// # Errors
/// A type that the contract does not have.
pub(super) fn datum(value: &Wire, value_type: ValueType) -> Result<Datum<'_>> {
    match value {
        Wire::NULL => Ok(Datum::Null),
        Wire::Int(number) => Ok(Datum::Integer(*number)),
        Wire::UInt(number) => i64::try_from(*number)
            .map(Datum::Integer)
            .map_err(Error::engine),
        Wire::Bytes(bytes) => match value_type {
            ValueType::Bytes => Ok(Datum::Bytes(bytes)),
            ValueType::Decimal => decimal(bytes),
            ValueType::Text | ValueType::Itself => std::str::from_utf8(bytes)
                .map(Datum::Text)
                .map_err(Error::engine),
        },
        Wire::Date(year, month, day, hour, minute, second, micros) => {
            let days = days_since_1970(i64::from(*year), i64::from(*month), i64::from(*day));
            let time = (i64::from(*hour) * 60 + i64::from(*minute)) * 60 + i64::from(*second);
            let moment = (days * 86_400 + time) * 1_000_000 + i64::from(*micros);
            Ok(Datum::Timestamp(moment))
        }
        other => Err(Error::Unsupported(format!(
            "{other:?} is of a type that has no place here"
        ))),
    }
}

/// A parameter for the wire.
///
/// # Errors
/// An array: MariaDB has no array type.
pub(super) fn wire(datum: Datum<'_>) -> Result<Wire> {
    Ok(match datum {
        Datum::Null => Wire::NULL,
        Datum::Integer(number) => Wire::Int(number),
        Datum::Decimal { units, scale } => {
            let mut text = Vec::new();
            write_decimal(&mut text, units, scale);
            Wire::Bytes(text)
        }
        Datum::Text(text) => Wire::Bytes(text.as_bytes().to_owned()),
        Datum::Bytes(bytes) => Wire::Bytes(bytes.to_owned()),
        Datum::Timestamp(moment) => date(moment),
        Datum::Integers(_) => return Err(common_errors::no_arrays(super::knobs::NAME)),
    })
}

fn date(moment: i64) -> Wire {
    const DAY: i64 = 86_400_000_000;
    let (year, month, day) = date_of(moment.div_euclid(DAY));
    let rest = moment.rem_euclid(DAY);
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    Wire::Date(
        year as u16,
        month as u8,
        day as u8,
        (seconds / 3600) as u8,
        (seconds / 60 % 60) as u8,
        (seconds % 60) as u8,
        micros as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_client_do_not_name_its_types() {
        let error = mysql::Error::DriverError(mysql::DriverError::ConnectTimeout);
        let reason = client_error(error).to_string();
        assert!(
            !reason.is_empty() && !reason.contains(['{', '}']),
            "{reason}"
        );
    }

    #[test]
    fn moments_are_written_and_read_exactly() {
        for moment in [
            0,
            -1,
            951_782_399_999_999,
            951_868_800_000_000,
            4_102_444_800_000_001,
        ] {
            let back = datum(&date(moment), ValueType::Itself).map(|_| ());
            assert_eq!(back, Ok(()));
            assert_eq!(
                datum(&date(moment), ValueType::Itself),
                Ok(Datum::Timestamp(moment))
            );
        }
        assert_eq!(
            date(951_782_400_000_000),
            Wire::Date(2000, 2, 29, 0, 0, 0, 0)
        );
    }

    #[test]
    fn a_refused_password_will_not_pass_by_waiting_and_a_closed_socket_may() {
        let said = |code| {
            mysql::Error::MySqlError(mysql::error::MySqlError {
                state: String::new(),
                message: "said".to_owned(),
                code,
            })
        };
        assert!(is_refusal(&said(1045)) && !is_refusal(&said(1040)));
        let closed = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(!is_refusal(&closed.into()));
        assert!(
            client_error(said(DEADLOCK)).is_deadlock() && !client_error(said(1146)).is_conflict()
        );
        let apart = mysql::Error::MySqlError(mysql::error::MySqlError {
            state: String::new(),
            message: "WSREP has not yet prepared node for application use".to_owned(),
            code: NOT_READY,
        });
        assert!(client_error(apart).is_disconnection());
        assert!(!client_error(said(NOT_READY)).is_disconnection());
        let waited = client_error(said(TOO_LONG_WAIT));
        assert!(waited.is_conflict() && !waited.is_deadlock());
    }
}
