//! The server and schema of a database: a private server's, or a user's.

use super::cluster_access::ClusterAccess;
use super::promise_check::SERVER;
use super::socket::{DATA, LOGIN_TIMEOUT, SCHEMA, SOCKET, SocketFolder, within};
use crate::library;
use crate::percent::unescape;
use mysql::{Conn, Opts, OptsBuilder};
use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueput_engine::{Address, Error, Result, Secret};

/// The subfolder of its log, if a knob separates it.
pub(super) const LOG: &str = "log";
/// The file that marks the instance as complete.
pub(super) const COMPLETE_MARKER: &str = "instance-made";
/// The timeout of a connection to a host, unless the URL sets one (`tcp_connect_timeout_ms`): the
/// kernel's own timeout for a host that drops packets is two minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The variable by which MariaDB's own clients are given a password.
const PASSWORD: &str = "MYSQL_PWD";

/// The folder of the private instance to which a database's folder belongs: itself or its parent.
pub(super) fn instance_folder(directory: &Path) -> Option<&Path> {
    let mut folders = directory.ancestors().take(2);
    folders.find(|folder| folder.join(COMPLETE_MARKER).exists())
}

/// A server to connect to, and the schema in it.
#[derive(Clone)]
pub(super) enum ServerAccess {
    /// The private instance in whose data folder the socket is, and the schema in it.
    Private(PathBuf, String),
    /// A private Galera cluster.
    Cluster(ClusterAccess),
    /// A server of the user's.
    External(Box<ExternalServer>),
}

/// A server of the user's, by its URL.
#[derive(Clone)]
pub(super) struct ExternalServer {
    options: Opts,
    /// The file whose first line is the password, if the URL names one. It is read when the server
    /// is connected to: showing a plan reads no file.
    password_file: Option<PathBuf>,
    schema: String,
    /// The URL without its password.
    shown: String,
}

impl ExternalServer {
    /// Reads `mysql://USER:PASSWORD@HOST:PORT/SCHEMA`, or the same with `mariadb://`.
    ///
    /// # Errors
    /// One line that never repeats the password.
    pub(super) fn new(given: &Address) -> Result<Self> {
        let shown = given.redacted().to_owned();
        let schemes = ["mysql://", "mariadb://"];
        let rest = schemes.iter().find_map(|scheme| shown.strip_prefix(scheme));
        let rest = rest.ok_or_else(|| invalid_url("it begins with mysql://"))?;
        let unread = || invalid_url(&format!("'{shown}' cannot be read"));
        let address = Opts::from_url(&format!("mysql://{rest}")).map_err(|_| unread())?;
        if address.get_compress().is_some() {
            let reason = "connections are not compressed: leave compress out";
            return Err(invalid_url(reason));
        }
        let schema = address.get_db_name().unwrap_or(SCHEMA).to_owned();
        let (mut escaped, mut file) = (given.password().map(Secret::expose), None);
        for option in given.secret_options() {
            match option.split_once('=') {
                Some(("password", text)) => escaped = Some(text),
                Some(("password_file", path)) => {
                    file = Some(unescape(path).ok_or_else(unread)?);
                }
                Some((name, _)) => return Err(unknown(&shown, &format!("'{name}'"))),
                None => return Err(unknown(&shown, "without a value")),
            }
        }
        let (password, password_file) = match (escaped, file) {
            (Some(escaped), _) => (Some(unescape(escaped).ok_or_else(unread)?), None),
            (None, Some(file)) => (None, Some(PathBuf::from(file))),
            (None, None) => (std::env::var(PASSWORD).ok(), None),
        };
        // No password in plain text, regardless of the URL: the connection is not encrypted.
        let patience = address.get_tcp_connect_timeout().unwrap_or(CONNECT_TIMEOUT);
        let options = OptsBuilder::from_opts(address)
            .tcp_connect_timeout(Some(patience))
            .pass(password)
            .enable_cleartext_plugin(false)
            .secure_auth(true)
            .into();
        let is_ours = schema == SCHEMA
            || schema.strip_prefix("trueput_").is_some_and(|rest| {
                rest.chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            });
        if !is_ours {
            return Err(Error::Unsupported(format!(
                "'{schema}' is not this program's: the database in {shown} must be named trueput, \
                 or trueput_ and more"
            )));
        }
        Ok(Self {
            options,
            password_file,
            schema,
            shown,
        })
    }

    /// Returns the options of a connection, with the password.
    ///
    /// # Errors
    /// One line, if the password's file cannot be read, or others can read it, too.
    fn with_password(&self) -> Result<OptsBuilder> {
        let options = OptsBuilder::from_opts(self.options.clone());
        Ok(match &self.password_file {
            Some(file) => options.pass(Some(library::first_line(file)?.expose())),
            None => options,
        })
    }

    /// Connects. To let the client in, and then for each answer, the server may take `timeout`;
    /// without one, as long as any login, and then any time.
    ///
    /// # Errors
    /// The client library's error.
    pub(super) fn connect(
        &self,
        schema: Option<&str>,
        timeout: Option<Duration>,
    ) -> mysql::Result<Conn> {
        let patience = self.options.get_tcp_connect_timeout();
        let patience = patience.unwrap_or(CONNECT_TIMEOUT);
        let options = self
            .with_password()
            .map_err(|error| IoError::new(ErrorKind::InvalidInput, error.to_string()))?
            .db_name(schema)
            .read_timeout(timeout)
            .write_timeout(timeout)
            .prefer_socket(false)
            .stmt_cache_size(0);
        within(timeout.unwrap_or(LOGIN_TIMEOUT + patience), move || {
            Conn::new(options)
        })
    }

    /// The URL without its password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

fn invalid_url(reason: &str) -> Error {
    Error::Unsupported(format!(
        "a MariaDB server's URL is mysql://USER:PASSWORD@HOST:PORT/trueput: {reason}"
    ))
}

/// An option of an address that has no meaning; its value may be a secret.
fn unknown(shown: &str, option: &str) -> Error {
    invalid_url(&format!(
        "{shown} has an option {option}, which is not known"
    ))
}

impl ServerAccess {
    /// The private instance that runs in `directory`, or in the folder that holds it: then it is
    /// another database of that instance.
    pub(super) fn private(directory: &Path) -> Option<Self> {
        let running = |instance_folder: &Path| {
            let data = instance_folder.join(DATA);
            data.join(SOCKET).exists().then_some(data)
        };
        if let Some(data) = running(directory) {
            return Some(Self::Private(data, SCHEMA.to_owned()));
        }
        let data = running(directory.parent()?)?;
        let name = directory.file_name()?.to_string_lossy();
        let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        Some(Self::Private(data, format!("{SCHEMA}_{name}")))
    }

    /// Whether the server is a user's, who may have rights on one database only.
    pub(super) fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// Whether the server is a node of a private cluster.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// The server that sessions use now, in words.
    pub(super) fn name(&self) -> String {
        let leader = match self {
            Self::Cluster(cluster) => cluster.leader(),
            Self::Private(..) | Self::External(_) => None,
        };
        leader.map_or_else(|| SERVER.to_owned(), |number| format!("node {number}"))
    }

    /// The schema in which everything happens.
    pub(super) fn schema(&self) -> &str {
        match self {
            Self::Private(_, schema) => schema,
            Self::Cluster(cluster) => cluster.schema(),
            Self::External(server) => &server.schema,
        }
    }

    /// Connects for a session, with the schema as the default one.
    ///
    /// # Errors
    /// The client library's error.
    pub(super) fn connect_session(&self) -> mysql::Result<Conn> {
        match self {
            Self::Cluster(cluster) => cluster.connect_session(),
            Self::Private(..) | Self::External(_) => self.connect(Some(self.schema())),
        }
    }

    /// Connects, with `schema` as the default one: to the node that leads, in a cluster.
    ///
    /// # Errors
    /// The client library's error.
    pub(super) fn connect(&self, schema: Option<&str>) -> mysql::Result<Conn> {
        match self {
            Self::Private(data, _) => SocketFolder::open(data)?.log_in(schema, LOGIN_TIMEOUT, None),
            Self::Cluster(cluster) => cluster.connect_to_leader(schema),
            Self::External(server) => server.connect(schema, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::test_peer::{self, packet, read_packet};
    use std::io::Write;

    fn server_of(url: &str) -> Result<ExternalServer> {
        ExternalServer::new(&Address::of(url))
    }

    #[test]
    fn a_password_is_never_shown() {
        let server = server_of("mysql://me:s%3Acret@host:3307/trueput_2").unwrap();
        assert_eq!(server.shown(), "mysql://me@host:3307/trueput_2");
        assert_eq!(server.options.get_pass(), Some("s:cret"));
        let option = server_of("mysql://me@host/trueput_3?password=hu%20sh").unwrap();
        assert_eq!(option.shown(), "mysql://me@host/trueput_3");
        assert_eq!(option.options.get_pass(), Some("hu sh"));
        let blank = server_of("mysql://me:hu sh@host/trueput_4").unwrap();
        assert_eq!(blank.shown(), "mysql://me@host/trueput_4");
        assert_eq!(blank.options.get_pass(), Some("hu sh"));
        let foreign = server_of("mariadb://me:secret@host/accounts");
        let unknown = server_of("mysql://me@host/trueput_5?token=secret");
        for invalid_url in [unknown, foreign, server_of("postgresql://me:secret@host/x")] {
            let reason = invalid_url.err().unwrap().to_string();
            assert!(!reason.contains("secret"), "{reason}");
        }
    }

    #[test]
    fn a_connection_that_would_be_compressed_is_refused() {
        let refused = server_of("mysql://me@host/trueput?compress=true");
        let reason = refused.err().unwrap().to_string();
        assert!(reason.contains("leave compress out"), "{reason}");
    }

    #[test]
    fn a_password_file_is_read_to_connect_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        let url = format!(
            "mysql://me@127.0.0.1:1/trueput_6?password_file={}",
            file.display()
        );
        let server = server_of(&url).unwrap();
        let reason = server.with_password().err().unwrap().to_string();
        assert!(reason.contains("password file"), "{reason}");
        let server_access = ServerAccess::External(Box::new(server.clone()));
        let client_error =
            crate::mariadb::connection::client_error(server_access.connect(None).err().unwrap());
        assert_eq!(client_error.to_string(), reason);
        std::fs::write(&file, "hush\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, mode).unwrap();
        let options = Opts::from(server.with_password().unwrap());
        assert_eq!(options.get_pass(), Some("hush"));
    }

    /// Logs in at a peer that asks for authentication by this plugin: how it ended, and all that
    /// the peer was sent.
    fn log_in_by(plugin: &str) -> (String, Vec<u8>) {
        let switch = [b"\xfe", plugin.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat();
        let (port, peer) = test_peer::serve(move |mut stream| {
            let login = test_peer::greet(&mut stream);
            stream.write_all(&packet(2, &switch)).unwrap();
            let second = read_packet(&mut stream).map(|(_, body)| body);
            [login, second.unwrap_or_default()].concat()
        });
        let url = format!("mysql://me:hush@127.0.0.1:{port}/trueput?enable_cleartext_plugin=true");
        let server = server_of(&url).unwrap();
        let failed = ServerAccess::External(Box::new(server))
            .connect(None)
            .err()
            .unwrap();
        let reason = crate::mariadb::connection::client_error(failed).to_string();
        (reason, peer.join().unwrap())
    }

    #[test]
    fn a_password_is_never_sent_in_plain_text_whatever_server_and_url_say() {
        let hush = |bytes: &[u8]| bytes.windows(4).any(|part| part == b"hush");
        let (reason, sent) = log_in_by("mysql_clear_password");
        assert!(
            reason.contains("plain text") && !reason.contains("hush"),
            "{reason}"
        );
        assert!(!sent.is_empty() && !hush(&sent), "{sent:?}");
        // The peer closes the connection after the answer.
        let (reason, sent) = log_in_by("mysql_native_password");
        assert!(!reason.contains("plain text"), "{reason}");
        assert!(sent.len() > 40 && !hush(&sent), "{sent:?}");
    }

    #[test]
    fn a_host_that_answers_nothing_is_given_up_and_what_to_check_is_said() {
        let peer = crate::unresponsive_peer::UnresponsivePeer::new();
        let url = format!("mysql://me@{}/trueput", peer.address());
        let usual = server_of(&url).unwrap();
        assert_eq!(
            usual.options.get_tcp_connect_timeout(),
            Some(CONNECT_TIMEOUT)
        );
        let server = server_of(&format!("{url}?tcp_connect_timeout_ms=300")).unwrap();
        let failed = ServerAccess::External(Box::new(server))
            .connect(None)
            .err()
            .unwrap();
        let reason = crate::mariadb::connection::client_error(failed).to_string();
        assert!(
            reason.contains("no response") && reason.contains("firewall"),
            "{reason}"
        );
    }

    #[test]
    fn a_server_that_accepts_a_connection_and_answers_nothing_is_given_up() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let server = server_of(&format!("mysql://me@127.0.0.1:{port}/trueput")).unwrap();
        let limit = Some(Duration::from_millis(50));
        let failed = server.connect(None, limit).err().unwrap();
        let error = crate::mariadb::connection::client_error(failed);
        assert!(error.is_disconnection(), "{error}");
    }

    #[test]
    fn only_a_schema_named_for_this_program_is_taken() {
        assert_eq!(server_of("mysql://me@host").unwrap().schema, "trueput");
        for ours in ["trueput", "trueput_", "trueput_of_me"] {
            assert!(server_of(&format!("mysql://me@host/{ours}")).is_ok());
        }
        for foreign in ["mysql", "trueputs", "trueput_`x", "accounts"] {
            assert!(server_of(&format!("mysql://me@host/{foreign}")).is_err());
        }
    }
}
