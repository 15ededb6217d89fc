//! Translates the errors of the server and of the client library to the contract's.

use std::io::ErrorKind;
use trueput_engine::{Error, common_errors};

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
        mysql::Error::MySqlError(said) => server_error(said.code, &said.message),
        // An error about the password file; the client itself never returns this kind.
        mysql::Error::IoError(error) if error.kind() == ErrorKind::InvalidInput => {
            Error::engine(error.to_string())
        }
        mysql::Error::IoError(error) => lost_connection(&error),
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
        mysql::Error::CodecError(error) => match system_error(&error) {
            Some(below) => lost_connection(below),
            None => one_line(&error),
        },
        other => one_line(&other),
    }
}

/// The contract's error for one that the server reports.
#[cold]
pub(super) fn server_error(code: u16, message: &str) -> Error {
    let text = message.replace('\n', " ");
    let coded = || format!("{text} (code {code})");
    match code {
        DEADLOCK => Error::Deadlock(coded()),
        TOO_LONG_WAIT | RECORD_HAS_CHANGED => Error::Conflict(coded()),
        DISK_FULL | TABLE_FULL => Error::Full(coded()),
        PACKET_TOO_LARGE | DATA_TOO_LONG => Error::Unsupported(coded()),
        SHUTDOWN => Error::Disconnected(coded()),
        code if is_apart(code, &text) => Error::Disconnected(coded()),
        code => common_errors::coded(code, text),
    }
}

/// The error for a connection that cannot be read or written any more.
#[cold]
pub(super) fn lost_connection(error: &std::io::Error) -> Error {
    let is_timeout = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    Error::Disconnected(match error.raw_os_error() {
        // That of a login has a text of its own, and no code.
        Some(_) if is_timeout => "the server did not respond in time".to_owned(),
        _ => format!("the server is gone: {error}"),
    })
}

/// The error of the connection below one of the protocol, if that has one.
fn system_error(error: &dyn std::error::Error) -> Option<&std::io::Error> {
    error.source()?.downcast_ref()
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

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
    fn a_silent_server_did_not_respond_in_time_and_one_that_closes_is_gone() {
        let text = |errno: Errno| lost_connection(&errno.into()).to_string();
        for errno in [Errno::EAGAIN, Errno::ETIMEDOUT] {
            assert!(text(errno).contains("did not respond in time"), "{errno}");
        }
        assert!(text(Errno::ECONNRESET).contains("is gone"));
        let login = std::io::Error::new(ErrorKind::TimedOut, "it let no client in");
        let error = client_error(login.into());
        assert!(error.is_disconnection(), "{error}");
        assert!(error.to_string().contains("let no client in"), "{error}");
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
