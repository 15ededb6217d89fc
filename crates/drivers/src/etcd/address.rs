//! The address of a node: a socket in the folder of a private one, or a user's URL.

use crate::percent::unescape;
use std::fmt;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use trueput_engine::{Error, Result, Secret, credentials};

/// The default port of clients.
const PORT: u16 = 2379;

/// The name that etcd gives to a private node's socket for clients: its URL needs a port.
pub(super) const CLIENT_SOCKET: &str = "client:0";

/// The endpoint of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// By the socket in a private node's folder.
    Folder(PathBuf),
    /// Over a network.
    Host {
        /// Its name or address.
        host: String,
        /// The port.
        port: u16,
    },
}

/// Returns a short path of the socket in a private node's folder: that of a socket has 107 bytes
/// at most (unix(7)).
pub(super) fn socket_in(folder: &File) -> PathBuf {
    PathBuf::from(format!(
        "/proc/self/fd/{}/{CLIENT_SOCKET}",
        folder.as_raw_fd()
    ))
}

/// The endpoint of a node, with the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    /// The socket or host to connect to.
    pub endpoint: Endpoint,
    user: Option<(String, Secret)>,
    /// The address in messages.
    shown: String,
}

impl ServerAddress {
    /// Of the private node in that folder.
    pub fn private(node: &Path) -> Self {
        Self {
            endpoint: Endpoint::Folder(node.to_owned()),
            user: None,
            shown: format!("the private node in {}", node.display()),
        }
    }

    /// Of a URL: `http://USER:PASSWORD@HOST:PORT`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with one sentence that names the defect.
    pub fn parse(given: &credentials::Address) -> Result<Self> {
        let url = given.redacted();
        let wrong = |reason: &str| {
            let form = "http://USER:PASSWORD@HOST:PORT";
            Error::Unsupported(format!("etcd: {url} {reason}; an address is {form}"))
        };
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest.trim_end_matches('/'),
            Some(("https", _)) => {
                return Err(wrong("requires TLS, which trueput does not support"));
            }
            _ => return Err(wrong("is the address of another kind of server")),
        };
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        if host.contains(['/', '?', '#', ',']) {
            return Err(wrong("names more than one node's host and port"));
        }
        let broken = || wrong("has a broken % escape");
        let password = given.password().map(Secret::expose).map(unescape);
        let user = match (user.map(unescape), password) {
            (None, None) => None,
            (Some(Some(user)), Some(Some(password))) => Some((user, Secret::new(password))),
            (Some(None), _) | (_, Some(None)) => return Err(broken()),
            (Some(_), None) => return Err(wrong("has a user without a password")),
            (None, Some(_)) => return Err(wrong("has a password without a user")),
        };
        let (host, port) = match split_port(host) {
            Some((host, port)) if !host.is_empty() => (host.to_owned(), port),
            _ => return Err(wrong("has no host, or an invalid port")),
        };
        Ok(Self {
            endpoint: Endpoint::Host { host, port },
            user,
            shown: url.to_owned(),
        })
    }

    /// Returns the name and the password of the user, if there is one.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (name, password) = self.user.as_ref()?;
        Some((name.clone(), password.expose().to_owned()))
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

/// Splits a host and its port; `None` if the port is not a number. An IPv6 address is in brackets.
fn split_port(host: &str) -> Option<(&str, u16)> {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or(rest)),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    match port {
        "" => Some((name, PORT)),
        port => Some((name, port.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<ServerAddress> {
        ServerAddress::parse(&credentials::Address::of(url))
    }

    #[test]
    fn a_url_says_where_and_who() {
        let endpoint = |url: &str| parsed(url).unwrap().endpoint;
        let host = |host: &str, port| Endpoint::Host {
            host: host.to_owned(),
            port,
        };
        assert_eq!(endpoint("http://db.example"), host("db.example", 2379));
        assert_eq!(
            endpoint("http://127.0.0.1:23790/"),
            host("127.0.0.1", 23790)
        );
        assert_eq!(endpoint("http://[::1]:7"), host("::1", 7));
        let address = parsed("http://me:s%20p@db.example").unwrap();
        let known = Some(("me".to_owned(), "s p".to_owned()));
        assert_eq!(address.credentials(), known);
        assert!(!format!("{address:?} {address}").contains("s p"));
    }

    #[test]
    fn a_url_that_cannot_be_is_refused_with_what_would_be_right() {
        for (url, reason) in [
            ("https://host", "TLS"),
            ("mysql://host", "another kind of server"),
            ("http://host:99999", "port"),
            ("http://a,b", "more than one node"),
            ("http://a:1,b:2", "more than one node"),
            ("http://host/path", "more than one node"),
            ("http://me@host", "without a password"),
        ] {
            let error = parsed(url).unwrap_err().to_string();
            assert!(
                error.contains(reason) && error.contains("http://USER"),
                "{error}"
            );
        }
    }
}
