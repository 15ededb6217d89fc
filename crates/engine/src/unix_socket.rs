//! Connects to Unix sockets with a timeout: a server that was stopped takes connections until its
//! queue is full, and then blocks whoever connects.

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time after which a socket with a full queue is given up, where nothing else limits it.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the socket at a path. The stream's reads and writes take any time.
///
/// # Errors
/// [`ErrorKind::TimedOut`] if its queue stays full for `timeout`; the system's own.
pub fn connect_within(path: &Path, timeout: Duration) -> Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let socket = socket(
        AddressFamily::Unix,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    let stream = UnixStream::from(socket);
    let until = Instant::now() + timeout;
    loop {
        // Linux waits for a place in the queue as long as for one to send (unix(7), socket(7)).
        let left = until.saturating_duration_since(Instant::now());
        stream.set_write_timeout(Some(left.max(Duration::from_micros(1))))?;
        match connect(stream.as_raw_fd(), &address) {
            Ok(()) => break,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                let text = format!("no connection was accepted in {} ms", timeout.as_millis());
                return Err(Error::new(ErrorKind::TimedOut, text));
            }
            Err(error) => return Err(error.into()),
        }
    }
    stream.set_write_timeout(None)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, listen};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_whose_queue_is_full_is_given_up_and_one_that_listens_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full");
        let listener = UnixListener::bind(&path).unwrap();
        listen(&listener, Backlog::new(0).unwrap()).unwrap();
        let brief = Duration::from_millis(20);
        let first = connect_within(&path, brief).unwrap();
        let error = connect_within(&path, brief).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        drop(first);

        let path = folder.path().join("open");
        let missing = connect_within(&path, CONNECT_TIMEOUT).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let _listener = UnixListener::bind(&path).unwrap();
        let stream = connect_within(&path, CONNECT_TIMEOUT).unwrap();
        assert_eq!(stream.write_timeout().unwrap(), None);
    }
}
