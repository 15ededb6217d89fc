//! The address of a server and the user's credentials: the private instance's socket, or a user's
//! URL.

use crate::percent::unescape;
use std::fmt;
use std::path::{Path, PathBuf};
use trueput_engine::{Error, Result, Secret, credentials};

/// The default port.
pub(super) const PORT: u16 = 5432;
/// The folder of a socket where none is named: Debian's.
const SOCKETS: &str = "/var/run/postgresql";
/// The option that names a file whose first line is the password.
const PASSWORD_FILE: &str = "password_file";

/// The endpoint of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// By the socket in a folder.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The number in the socket's name.
        port: u16,
    },
    /// Over a network.
    Host {
        /// Its name or address.
        host: String,
        /// The port.
        port: u16,
    },
}

impl Endpoint {
    /// Returns the endpoint of a host or of the folder of a socket.
    fn of(host: String, port: u16) -> Self {
        match host.as_str() {
            "" => Self::Folder {
                folder: SOCKETS.into(),
                port,
            },
            folder if folder.starts_with('/') => Self::Folder {
                folder: folder.into(),
                port,
            },
            _ => Self::Host { host, port },
        }
    }
}

/// The endpoint of a server, with the user and the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    /// The socket or host to connect to.
    pub endpoint: Endpoint,
    /// The other servers of a user's cluster, any of which may take transactions.
    pub others: Vec<Endpoint>,
    /// The user of the server's.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password that the URL has, in its user's part or as an option.
    pub password: Option<Secret>,
    /// The file that the URL names, whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// The address in messages.
    shown: String,
}

impl ServerAddress {
    /// Of the private instance in that folder.
    pub fn private(instance: &Path) -> Self {
        Self {
            endpoint: Endpoint::Folder {
                folder: instance.join("data"),
                port: PORT,
            },
            others: Vec::new(),
            user: "postgres".to_owned(),
            database: "postgres".to_owned(),
            password: None,
            password_file: None,
            shown: "the private server".to_owned(),
        }
    }

    /// Of a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. It is libpq's kind of URL, in which
    /// `#` is a letter, a host can be the folder of a socket, and the servers of a cluster are
    /// separated by commas; it is not that of the crate `url`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with one sentence that names the defect.
    pub fn parse(given: &credentials::Address) -> Result<Self> {
        let url = given.redacted();
        let wrong = |reason: &str| {
            let form = "postgres://USER:PASSWORD@HOST:PORT/DATABASE";
            Error::Unsupported(format!("postgresql: {url} {reason}; an address is {form}"))
        };
        let rest = ["postgres://", "postgresql://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or_else(|| wrong("is the address of another kind of server"))?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (
                unescape(user).ok_or_else(|| wrong("has a broken % escape"))?,
                host,
            ),
            None => ("postgres".to_owned(), authority),
        };
        let options = options.split('&').chain(given.secret_options());
        let folder = folder_of(options, &wrong)?;
        // A comma in a list of engines separates engines, so that of a host may be escaped.
        let hosts = host.replace("%2C", ",").replace("%2c", ",");
        let endpoints = hosts.split(',').map(|host| {
            let (host, port) = split_port(host).ok_or_else(|| wrong("has an invalid port"))?;
            let host = unescape(host).ok_or_else(|| wrong("has a broken % escape"))?;
            Ok(Endpoint::of(folder.clone().unwrap_or(host), port))
        });
        let mut endpoints: Vec<_> = endpoints.collect::<Result<_>>()?;
        let endpoint = endpoints.remove(0);
        let database = unescape(database).ok_or_else(|| wrong("has a broken % escape"))?;
        let secret_option = |name: &str| {
            let mut options = given.secret_options();
            options.find_map(|option| unescape(option.strip_prefix(name)?.strip_prefix('=')?))
        };
        let password = given
            .password()
            .and_then(|escaped| unescape(escaped.expose()));
        let password = password.or_else(|| secret_option("password"));
        Ok(Self {
            endpoint,
            others: endpoints,
            database: if database.is_empty() {
                user.clone()
            } else {
                database
            },
            user,
            password: password.map(Secret::new),
            password_file: secret_option(PASSWORD_FILE).map(PathBuf::from),
            shown: url.to_owned(),
        })
    }
}

impl ServerAddress {
    /// Returns the address of each server of a user's cluster, or this one.
    pub fn servers(&self) -> impl Iterator<Item = Self> {
        let endpoints = std::iter::once(&self.endpoint).chain(&self.others);
        endpoints.map(|endpoint| Self {
            endpoint: endpoint.clone(),
            others: Vec::new(),
            ..self.clone()
        })
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

/// Returns the folder of a socket from the URL's options; `wrong` is given what is wrong with one.
fn folder_of<'a>(
    options: impl Iterator<Item = &'a str>,
    wrong: &dyn Fn(&str) -> Error,
) -> Result<Option<String>> {
    let mut found = None;
    for option in options.filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("host", folder)) => found = unescape(folder),
            Some(("sslmode", "disable" | "allow" | "prefer")) => {}
            Some(("sslmode", _)) => {
                return Err(wrong("requires TLS, which trueput does not support"));
            }
            // The password is read when the server asks for it.
            Some(("password" | PASSWORD_FILE, _)) => {}
            // What follows a name may be secret.
            Some((name, _)) => {
                return Err(wrong(&format!(
                    "has the option '{name}', which is not known"
                )));
            }
            None => return Err(wrong("has an option without a value")),
        }
    }
    Ok(found)
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

    fn parsed(url: &str) -> ServerAddress {
        ServerAddress::parse(&credentials::Address::of(url)).unwrap()
    }

    #[test]
    fn a_url_says_who_where_and_what() {
        let address = parsed("postgres://me%40home@db.example:7777/bench%20mark");
        let host = "db.example".to_owned();
        assert_eq!(address.endpoint, Endpoint::Host { host, port: 7777 });
        assert_eq!(
            (address.user.as_str(), address.database.as_str()),
            ("me@home", "bench mark")
        );
        let near = parsed("postgresql:///shop?host=/run/pg");
        let folder = PathBuf::from("/run/pg");
        assert_eq!(near.endpoint, Endpoint::Folder { folder, port: 5432 });
        assert_eq!(near.database, "shop");
        let six = parsed("postgres://u@[::1]:5433");
        let host = "::1".to_owned();
        assert_eq!(six.endpoint, Endpoint::Host { host, port: 5433 });
        assert_eq!(six.database, "u");
    }

    #[test]
    fn a_url_can_name_the_servers_of_a_cluster() {
        let host = |name: &str, port| Endpoint::Host {
            host: name.to_owned(),
            port,
        };
        for url in [
            "postgres://u@one:7001,two/db",
            "postgres://u@one:7001%2Ctwo/db",
        ] {
            let address = parsed(url);
            let servers: Vec<_> = address.servers().map(|server| server.endpoint).collect();
            assert_eq!(servers, [host("one", 7001), host("two", 5432)], "{url}");
        }
        assert_eq!(parsed("postgres://u@one/db").servers().count(), 1);
    }

    #[test]
    fn a_url_that_cannot_be_is_refused_with_what_would_be_right() {
        for (url, reason) in [
            ("mysql://host/db", "another kind of server"),
            ("postgres://host:70000/db", "port"),
            ("postgres://host/db?sslmode=require", "TLS"),
            ("postgres://host/db?magic=on", "'magic'"),
            ("postgres://us%er@host/db", "escape"),
        ] {
            let error = ServerAddress::parse(&credentials::Address::of(url))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(reason) && error.contains("postgres://USER"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_password_of_an_address_is_kept_apart_from_it() {
        let hush = Some(Secret::new("s p"));
        for url in [
            "postgres://it:s%20p@host/db",
            "postgres://it@host/db?password=s%20p",
        ] {
            let address = parsed(url);
            assert_eq!(address.password, hush);
            assert_eq!(address.to_string(), "postgres://it@host/db");
            assert!(!format!("{address:?}").contains("s p"), "{address:?}");
        }
        let unknown = credentials::Address::of("postgres://it@host/unknown?sslpassword=hush");
        let reason = ServerAddress::parse(&unknown).unwrap_err().to_string();
        assert!(
            reason.contains("'sslpassword'") && !reason.contains("hush"),
            "{reason}"
        );
    }
}
