//! A network peer, for tests, that never answers: packets to it are dropped.

use nix::sys::socket::{Backlog, listen};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use trueput_engine::unix_socket::connect_within;

/// Listens at a Unix socket with a full connection queue, as long as what is returned lives.
pub(crate) fn full_socket(path: &Path) -> (UnixListener, UnixStream) {
    let listener = UnixListener::bind(path).unwrap();
    listen(&listener, Backlog::new(0).unwrap()).unwrap();
    let waiting = connect_within(path, Duration::from_secs(10)).unwrap();
    (listener, waiting)
}

/// The peer, which is silent for as long as this lives.
pub(crate) struct UnresponsivePeer {
    listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl UnresponsivePeer {
    /// Listens with a full connection queue, so that the kernel drops further connections.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: the descriptor is that of an open socket.
        let code = unsafe { nix::libc::listen(listener.as_raw_fd(), 0) };
        assert_eq!(code, 0);
        let address = listener.local_addr().unwrap();
        let brief = Duration::from_millis(200);
        let connect = || TcpStream::connect_timeout(&address, brief).ok();
        let waiting = std::iter::from_fn(connect).collect();
        Self {
            listener,
            _waiting: waiting,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }
}
