//! A node's counters, as it gives them over HTTP in the text format of Prometheus.

use super::address::{Endpoint, ServerAddress, socket_in};
use crate::tcp_connection;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;
use trueput_engine::unix_socket::connect_within;
use trueput_engine::{Error, Result, Value};

/// A request whose response ends with the connection.
const REQUEST: &[u8] = b"GET /metrics HTTP/1.0\r\n\r\n";

/// The time that a node may take to accept a connection, and for each part of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the counters of a node: those of etcd itself that have one value.
///
/// # Errors
/// [`Error::Disconnected`], if it is not reached.
pub(super) fn read(address: &ServerAddress) -> Result<BTreeMap<String, Value>> {
    read_within(address, TIMEOUT)
}

fn read_within(address: &ServerAddress, timeout: Duration) -> Result<BTreeMap<String, Value>> {
    let text = match &address.endpoint {
        Endpoint::Folder(folder) => File::open(folder)
            .and_then(|folder| connect_within(&socket_in(&folder), timeout))
            .and_then(|stream| {
                stream.set_read_timeout(Some(timeout))?;
                ask(stream)
            }),
        Endpoint::Host { host, port } => {
            tcp_connection::connect(host, *port, timeout).and_then(|stream| {
                stream.set_read_timeout(Some(timeout))?;
                ask(stream)
            })
        }
    };
    let unreached = |error| Error::Disconnected(format!("cannot reach {address}: {error}"));
    text.map(|text| parse(&text)).map_err(unreached)
}

fn ask(mut stream: impl Read + Write) -> std::io::Result<String> {
    stream.write_all(REQUEST)?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn parse(text: &str) -> BTreeMap<String, Value> {
    let lines = text.lines().filter(|line| line.starts_with("etcd_"));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    let single = pairs.filter(|(name, _)| !name.contains('{'));
    single
        .filter_map(|(name, value)| Some((name.to_owned(), number(value)?)))
        .collect()
}

fn number(text: &str) -> Option<Value> {
    let number: f64 = text.parse().ok()?;
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    Some(if is_whole {
        Value::Integer(number as i64)
    } else {
        Value::Float(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::address::CLIENT_SOCKET;
    use crate::unresponsive_peer::{UnresponsivePeer, full_socket};
    use trueput_engine::Address;

    #[test]
    fn a_node_that_accepts_no_connection_is_given_up() {
        let brief = Duration::from_millis(50);
        let folder = tempfile::tempdir().unwrap();
        let _full = full_socket(&folder.path().join(CLIENT_SOCKET));
        let peer = UnresponsivePeer::new();
        let url = format!("http://{}", peer.address());
        for address in [
            ServerAddress::private(folder.path()),
            ServerAddress::parse(&Address::of(&url)).unwrap(),
        ] {
            let error = read_within(&address, brief).unwrap_err();
            assert!(error.is_disconnection(), "{error}");
        }
    }

    #[test]
    fn counters_with_one_value_are_taken() {
        let text = "HTTP/1.0 200 OK\r\n\r\n# TYPE etcd_a counter\netcd_a 2.147483648e+09\n\
                    etcd_b 0.25\netcd_c{le=\"1\"} 3\ngo_threads 9\n";
        let counters = parse(text);
        assert_eq!(counters.len(), 2);
        assert_eq!(counters["etcd_a"], Value::Integer(2_147_483_648));
        assert_eq!(counters["etcd_b"], Value::Float(0.25));
    }
}
