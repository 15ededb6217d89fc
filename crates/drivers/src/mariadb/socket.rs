//! The socket of a private server, and the data folder and the schema to which it leads.

use mysql::{Conn, OptsBuilder};
use std::fs::File;
use std::io::{Error as IoError, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use trueput_engine::unix_socket::connect_within;

/// The time that a server may take to let a client in.
pub(super) const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// The time for a place in the queue of a socket, to see that somebody listens.
const LISTENING_TIMEOUT: Duration = Duration::from_millis(100);

/// The private instance's data, within the database's folder.
pub(super) const DATA: &str = "data";
/// Our schema, on every server.
pub(super) const SCHEMA: &str = "trueput";
/// The socket, within the data.
pub(super) const SOCKET: &str = "server.sock";

/// A data folder that is open, by which the socket in it has a short path: a socket's has a limit
/// of 107 bytes, which a folder's may exceed.
pub(super) struct SocketFolder(File);

impl SocketFolder {
    /// # Errors
    /// The file system's own.
    pub fn open(data: &Path) -> std::io::Result<Self> {
        File::open(data).map(Self)
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", self.0.as_raw_fd()))
    }

    /// Connects and logs in. Each later answer may take `read_timeout`.
    ///
    /// # Errors
    /// The client library's error.
    pub fn log_in(
        self,
        schema: Option<&str>,
        login_timeout: Duration,
        read_timeout: Option<Duration>,
    ) -> mysql::Result<Conn> {
        let options = self
            .options()
            .db_name(schema)
            .read_timeout(read_timeout)
            .write_timeout(read_timeout);
        within(login_timeout, move || {
            let connection = Conn::new(options);
            // The path of the socket leads through it.
            drop(self);
            connection
        })
    }

    fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .socket(Some(self.path().display().to_string()))
            .user(Some("root"))
            .max_allowed_packet(Some(1 << 30))
            .stmt_cache_size(0)
    }
}

/// Logs in, on a thread: the client library waits for any time for a place in the queue of a socket
/// and, where statements may take any time, for the greeting. A server that was stopped keeps
/// clients waiting in both ways.
///
/// # Errors
/// The client library's error; [`ErrorKind::TimedOut`] if there is no answer. The thread then ends
/// with the server.
pub(super) fn within(
    timeout: Duration,
    log_in: impl FnOnce() -> mysql::Result<Conn> + Send + 'static,
) -> mysql::Result<Conn> {
    let (sender, answer) = sync_channel(1);
    std::thread::Builder::new()
        .name("login".to_owned())
        .spawn(move || {
            // Nobody waits any more after the timeout.
            let _ = sender.send(log_in());
        })?;
    answer.recv_timeout(timeout).unwrap_or_else(|error| {
        let (kind, text) = match error {
            RecvTimeoutError::Timeout => {
                let text = format!("it let no client in within {} s", timeout.as_secs_f64());
                (ErrorKind::TimedOut, text)
            }
            RecvTimeoutError::Disconnected => (
                ErrorKind::Other,
                "the login ended without an answer".to_owned(),
            ),
        };
        Err(IoError::new(kind, text).into())
    })
}

/// Whether a server listens at the socket in a data folder, answering or not.
pub(super) fn is_listening(data: &Path) -> bool {
    SocketFolder::open(data).is_ok_and(|folder| {
        let connected = connect_within(&folder.path(), LISTENING_TIMEOUT);
        // The queue of one that was stopped may be full.
        connected.map_or_else(|error| error.kind() == ErrorKind::TimedOut, |_| true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unresponsive_peer::full_socket;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_server_that_answers_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let brief = Duration::from_millis(50);
        let log_in = || {
            let opened = SocketFolder::open(folder.path()).unwrap();
            let failed = opened.log_in(None, brief, None).err().unwrap();
            crate::mariadb::connection::client_error(failed)
        };
        assert!(!is_listening(folder.path()));
        let silent = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        assert!(is_listening(folder.path()));
        let error = log_in();
        assert!(error.is_disconnection(), "{error}");

        drop(silent);
        std::fs::remove_file(folder.path().join(SOCKET)).unwrap();
        let _full = full_socket(&folder.path().join(SOCKET));
        assert!(is_listening(folder.path()));
        let error = log_in();
        assert!(error.is_disconnection(), "{error}");
    }
}
