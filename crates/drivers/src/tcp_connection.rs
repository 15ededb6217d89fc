//! Connects over a network with a timeout: without one, a host that drops packets blocks for two
//! minutes.

use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The time for which all addresses of a host together may be silent.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Connects to a host within this time, by the first of its addresses that answers.
///
/// # Errors
/// The reason why the last host could not be reached, with advice if none answered.
pub(crate) fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    connect_to_any(&addresses, timeout)
}

fn connect_to_any(addresses: &[SocketAddr], patience: Duration) -> Result<TcpStream> {
    let until = Instant::now() + patience;
    let mut failed = Error::new(ErrorKind::NotFound, "the host has no address");
    for (address, others) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let left = until.saturating_duration_since(Instant::now());
        // One that is silent leaves the others their share.
        let share = left / u32::try_from(others).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = connect_error(address, &error),
        }
    }
    Err(failed)
}

fn connect_error(address: &SocketAddr, error: &Error) -> Error {
    let kind = error.kind();
    let text = match kind {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!(
            "{address} does not respond: check the host and the port, and whether a firewall \
                drops the packets"
        ),
        _ => error.to_string(),
    };
    Error::new(kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unresponsive_peer::UnresponsivePeer;
    use std::net::TcpListener;

    #[test]
    fn a_host_that_answers_nothing_is_given_up_by_name_and_another_is_still_tried() {
        let (peer, patience) = (UnresponsivePeer::new(), Duration::from_millis(400));
        let reason = connect_to_any(&[peer.address()], patience)
            .unwrap_err()
            .to_string();
        let named = format!("{} does not respond", peer.address());
        assert!(
            reason.contains(&named) && reason.contains("firewall"),
            "{reason}"
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let stream = connect_to_any(&[peer.address(), live], patience).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), live);
    }

    #[test]
    fn a_host_that_refuses_and_one_without_an_address_are_distinguished() {
        let closed = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let refused = connect_to_any(&[closed], CONNECT_TIMEOUT).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(
            connect_to_any(&[], CONNECT_TIMEOUT).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
