//! The socket of a private server, and the data folder and the schema to which it leads.

use mysql::{Conn, OptsBuilder};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a server may take to let a client in.
const ADMISSION_LIMIT: Duration = Duration::from_secs(15);

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

    /// Checks that the server lets a client in: the kernel accepts connections for one that was
    /// stopped, which never answers. Statements may take any time, so their connections have no
    /// such limit.
    ///
    /// # Errors
    /// The client library's error.
    pub fn check_response(&self) -> mysql::Result<()> {
        let options = self.options().read_timeout(Some(ADMISSION_LIMIT));
        Conn::new(options).map(drop)
    }

    /// Returns the options of a connection, which is made while the folder is open.
    pub fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .socket(Some(self.path().display().to_string()))
            .user(Some("root"))
            .max_allowed_packet(Some(1 << 30))
            .stmt_cache_size(0)
    }
}

/// Whether a server listens at the socket in a data folder, answering or not.
pub(super) fn is_listening(data: &Path) -> bool {
    SocketFolder::open(data).is_ok_and(|folder| UnixStream::connect(folder.path()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_server_that_answers_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let _silent = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let opened = SocketFolder::open(folder.path()).unwrap();
        assert!(opened.check_response().is_err());
    }
}
