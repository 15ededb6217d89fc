//! A connection to a server, in version 3 of the frontend/backend protocol (PostgreSQL
//! documentation, chapter "Frontend/Backend Protocol"). One thread sends and waits: no task, no
//! runtime and no copy of a row is between the workload and the socket.
//!
//! Headers are read by the crate `postgres-protocol`. Its `Message::parse` and `frontend` are not
//! used: they need a shared buffer, which makes the answer to one point read take 471 ns instead of
//! 63 ns to go through (on a busy machine; neither allocates), and boxed errors.

mod authentication;
mod copy;

use super::address::{Endpoint, ServerAddress};
use super::message::{
    RowColumns, column_names, end_message, field, invalid_message, push_text, rows_of,
};
use crate::receive_buffer::{KEPT_BYTES, ReceiveBuffer, SmallMessages};
use crate::tcp_connection;
use postgres_protocol::message::backend::Header;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::{ControlFlow, Range};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use trueput_engine::unix_socket::connect_within;
use trueput_engine::{Error, Result};

/// Version 3.0.
const PROTOCOL: i32 = 196_608;
/// The parameter and result format that is not text.
const BINARY: i16 = 1;
/// The tag of a message and its length.
const HEADER_BYTES: usize = 5;
/// The time that a server may take for each answer until it has let a client in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The first version whose sessions hand their counters over on request.
const FLUSHES_COUNTERS_FROM: u32 = 15;

/// The socket of a connection.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Connects within this time, which then limits each read and write.
    fn open(endpoint: &Endpoint, timeout: Duration) -> std::io::Result<Self> {
        let stream = match endpoint {
            // The kernel follows the link to the folder, however long its own path is: the name of
            // a socket may have 107 bytes.
            Endpoint::Folder { folder, port } => {
                use std::os::fd::AsRawFd;
                let opened = std::fs::File::open(folder)?;
                let name = format!("/proc/self/fd/{}/.s.PGSQL.{port}", opened.as_raw_fd());
                connect_within(name.as_ref(), timeout).map(Self::Unix)
            }
            Endpoint::Host { host, port } => {
                let timeout = timeout.min(tcp_connection::CONNECT_TIMEOUT);
                let stream = tcp_connection::connect(host, *port, timeout)?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
        }?;
        stream.set_timeout(Some(timeout))?;
        Ok(stream)
    }

    /// Whether others can read the traffic: it crosses a network without encryption.
    fn is_exposed(&self) -> std::io::Result<bool> {
        match self {
            Self::Unix(_) => Ok(false),
            Self::Tcp(stream) => Ok(!stream.peer_addr()?.ip().to_canonical().is_loopback()),
        }
    }

    fn set_timeout(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

/// The result of a round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CommandResult {
    /// Rows that the last statement changed or gave.
    pub rows: u64,
}

/// A connection.
pub(super) struct PostgresqlConnection {
    stream: Stream,
    /// Whether others can read the traffic.
    is_exposed: bool,
    /// Messages to be sent together.
    out: Vec<u8>,
    /// The times in a row that they took little room.
    small_messages: SmallMessages,
    received: ReceiveBuffer,
    /// `I` without a transaction, `T` in one, `E` in one that has failed.
    status: u8,
    /// The parameters that the server reports.
    parameters: BTreeMap<String, String>,
}

impl PostgresqlConnection {
    /// Connects and logs in, with these settings for the session. Its statements may take any time.
    ///
    /// # Errors
    /// [`Error::Engine`] with the server's message, or the reason why it cannot be reached.
    pub fn open(address: &ServerAddress, settings: &[(&str, &str)]) -> Result<Self> {
        let connection = Self::open_one(address, settings, LOGIN_TIMEOUT)?;
        connection
            .stream
            .set_timeout(None)
            .map_err(|error| connection_error(&error))?;
        Ok(connection)
    }

    /// Connects and logs in. No answer takes longer than `timeout`, from the login on.
    ///
    /// # Errors
    /// As [`PostgresqlConnection::open`].
    pub fn open_within(address: &ServerAddress, timeout: Duration) -> Result<Self> {
        Self::open_one(address, &[], timeout)
    }

    /// Connects to the first server of an address that takes transactions.
    fn open_one(
        address: &ServerAddress,
        settings: &[(&str, &str)],
        timeout: Duration,
    ) -> Result<Self> {
        if address.others.is_empty() {
            return Self::open_server(address, settings, timeout);
        }
        let mut reasons = Vec::new();
        for server in address.servers() {
            match Self::open_server(&server, settings, timeout) {
                Ok(mut connection) => match connection.follows() {
                    Ok(false) => return Ok(connection),
                    Ok(true) => reasons.push("it follows another server".to_owned()),
                    Err(error) => reasons.push(error.to_string()),
                },
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::Disconnected(format!(
            "no server of {address} takes transactions: {}",
            reasons.join("; ")
        )))
    }

    /// Returns whether the server follows another one, and takes no transactions that write.
    fn follows(&mut self) -> Result<bool> {
        let mut follows = false;
        self.simple("SELECT pg_is_in_recovery()", &mut |_, text| {
            follows = text == "t";
        })?;
        Ok(follows)
    }

    fn open_server(
        address: &ServerAddress,
        settings: &[(&str, &str)],
        timeout: Duration,
    ) -> Result<Self> {
        let stream = Stream::open(&address.endpoint, timeout)
            .map_err(|error| Error::Disconnected(format!("cannot reach {address}: {error}")))?;
        let is_exposed = stream
            .is_exposed()
            .map_err(|error| connection_error(&error))?;
        Self::over_stream(stream, is_exposed, address, settings)
    }

    /// Logs in over a stream.
    fn over_stream(
        stream: Stream,
        is_exposed: bool,
        address: &ServerAddress,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let mut connection = Self {
            stream,
            is_exposed,
            out: Vec::with_capacity(1 << 10),
            small_messages: SmallMessages::default(),
            received: ReceiveBuffer::default(),
            status: b'I',
            parameters: BTreeMap::new(),
        };
        connection.log_in(address, settings)?;
        Ok(connection)
    }

    /// Returns a parameter that the server reports: `server_version` …
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Whether the server's sessions hand their counters over on request.
    pub fn can_flush_counters(&self) -> bool {
        let version = self.parameter("server_version").unwrap_or_default();
        let digits = version.split(|sign: char| !sign.is_ascii_digit()).next();
        let major: Option<u32> = digits.and_then(|digits| digits.parse().ok());
        major.is_some_and(|major| major >= FLUSHES_COUNTERS_FROM)
    }

    /// Asks for the value of one of the server's settings.
    ///
    /// # Errors
    /// See [`PostgresqlConnection::finish`].
    pub fn setting(&mut self, name: &str) -> Result<String> {
        let mut value = String::new();
        self.simple(&format!("SHOW {name}"), &mut |_, text| {
            text.clone_into(&mut value);
        })?;
        Ok(value)
    }

    /// Whether the server has a transaction open that has failed.
    pub fn has_failed(&self) -> bool {
        self.status == b'E'
    }

    fn log_in(&mut self, address: &ServerAddress, settings: &[(&str, &str)]) -> Result<()> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&PROTOCOL.to_be_bytes());
        let fixed = [
            ("user", address.user.as_str()),
            ("database", address.database.as_str()),
            ("application_name", "trueput"),
            ("client_encoding", "UTF8"),
        ];
        for (name, value) in fixed.iter().chain(settings) {
            push_text(&mut self.out, name)?;
            push_text(&mut self.out, value)?;
        }
        self.out.push(0);
        end_message(&mut self.out, start)?;
        self.flush()?;
        loop {
            let (tag, body) = self.next()?;
            match tag {
                b'R' => self.authenticate(address, body)?,
                b'E' => return Err(login_error(&self.received[body], address)),
                b'Z' => {
                    self.status = self.received[body].first().copied().unwrap_or(b'I');
                    return Ok(());
                }
                _ => self.note_parameter(tag, body),
            }
        }
    }

    /// Has a statement prepared under a name; it is known once the messages are sent.
    pub fn parse(&mut self, name: &str, statement: &str) -> Result<()> {
        self.message(b'P', |out| {
            push_text(out, name)?;
            push_text(out, statement)?;
            out.extend_from_slice(&0_i16.to_be_bytes());
            Ok(())
        })
    }

    /// Requests the parameter and column types of a prepared statement.
    pub fn describe(&mut self, name: &str) -> Result<()> {
        self.message(b'D', |out| {
            out.push(b'S');
            push_text(out, name)
        })
    }

    /// Has a prepared statement executed with `count` parameters that `values` writes, each as its
    /// length and its bytes.
    pub fn execute(
        &mut self,
        name: &str,
        count: usize,
        values: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let count = i16::try_from(count).map_err(|_| too_many())?;
        let before = self.out.len();
        let bound = self.message(b'B', |out| {
            push_text(out, "")?;
            push_text(out, name)?;
            for number in [1, BINARY, count] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            values(out)?;
            for number in [1, BINARY] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            Ok(())
        });
        if let Err(error) = bound {
            self.out.truncate(before);
            return Err(error);
        }
        self.message(b'E', |out| {
            push_text(out, "")?;
            out.extend_from_slice(&0_i32.to_be_bytes());
            Ok(())
        })
    }

    /// Forgets messages that were not sent.
    pub fn discard(&mut self) {
        self.out.clear();
    }

    /// Sends the queued requests, waits for their completion, and passes each row's body to
    /// `on_row`.
    ///
    /// # Errors
    /// The first error that the server reports; it skips the requests after it.
    pub fn finish(
        &mut self,
        on_row: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<CommandResult> {
        self.message(b'S', |_| Ok(()))?;
        self.flush()?;
        self.receive(on_row, &mut |_, _| Ok(()))
    }

    /// Like [`PostgresqlConnection::finish`], but passes the descriptions: tag and body.
    ///
    /// # Errors
    /// See [`PostgresqlConnection::finish`].
    pub fn finish_described(
        &mut self,
        on_description: &mut dyn FnMut(u8, &[u8]) -> Result<()>,
    ) -> Result<CommandResult> {
        self.message(b'S', |_| Ok(()))?;
        self.flush()?;
        self.receive(&mut |_| Ok(ControlFlow::Continue(())), on_description)
    }

    /// Executes statements without parameters, and shows the rows' columns as text with their
    /// names.
    ///
    /// # Errors
    /// See [`PostgresqlConnection::finish`].
    pub fn simple(
        &mut self,
        statements: &str,
        on_column: &mut dyn FnMut(&str, &str),
    ) -> Result<CommandResult> {
        self.message(b'Q', |out| push_text(out, statements))?;
        self.flush()?;
        let names = std::cell::RefCell::new(Vec::<String>::new());
        self.receive(
            &mut |row| {
                let mut columns = RowColumns::of(row)?;
                for name in names.borrow().iter() {
                    let text = columns.next_column()?.map(String::from_utf8_lossy);
                    text.iter().for_each(|text| on_column(name, text));
                }
                Ok(ControlFlow::Continue(()))
            },
            &mut |tag, body| {
                if tag == b'T' {
                    *names.borrow_mut() = column_names(body)?;
                }
                Ok(())
            },
        )
    }

    /// Reads until the server is ready for the next request.
    fn receive(
        &mut self,
        on_row: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
        on_description: &mut dyn FnMut(u8, &[u8]) -> Result<()>,
    ) -> Result<CommandResult> {
        let mut result = CommandResult::default();
        let mut failure: Option<Error> = None;
        let mut wanted = true;
        loop {
            let (tag, body) = match self.next() {
                Ok(message) => message,
                // The server's last words say more than the end of the connection.
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match tag {
                b'D' if wanted && failure.is_none() => match on_row(&self.received[body]) {
                    Ok(flow) => wanted = flow.is_continue(),
                    Err(error) => failure = Some(error),
                },
                b'C' => result.rows = rows_of(&self.received[body]),
                b'E' => {
                    let error = server_error(&self.received[body]);
                    failure.get_or_insert(error);
                }
                b't' | b'T' => {
                    let described = on_description(tag, &self.received[body]);
                    failure = failure.or(described.err());
                }
                b'Z' => {
                    self.status = self.received[body].first().copied().unwrap_or(b'I');
                    return failure.map_or(Ok(result), Err);
                }
                _ => self.note_parameter(tag, body),
            }
        }
    }

    /// Records a parameter that the server reports unasked.
    fn note_parameter(&mut self, tag: u8, body: Range<usize>) {
        if tag == b'S' {
            let mut texts = self.received[body].split(|&byte| byte == 0);
            let mut text = || {
                texts
                    .next()
                    .map(|text| String::from_utf8_lossy(text).into_owned())
            };
            if let (Some(name), Some(value)) = (text(), text()) {
                self.parameters.insert(name, value);
            }
        }
    }

    /// Appends a message to the send buffer.
    fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let before = self.out.len();
        self.out.push(tag);
        self.out.extend_from_slice(&[0; 4]);
        let written = body(&mut self.out).and_then(|()| end_message(&mut self.out, before + 1));
        if written.is_err() {
            self.out.truncate(before);
        }
        written
    }

    fn flush(&mut self) -> Result<()> {
        let sent = self.stream.write_all(&self.out);
        let is_unused = self.small_messages.count(self.out.len());
        self.out.clear();
        if is_unused && self.out.capacity() > KEPT_BYTES {
            self.out.shrink_to(KEPT_BYTES);
        }
        match sent {
            // What the server said before it closed the connection can still be read.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            sent => sent.map_err(|error| connection_error(&error)),
        }
    }

    /// The next message: its tag, and where its body is until the one after is asked for.
    fn next(&mut self) -> Result<(u8, Range<usize>)> {
        self.receive_at_least(HEADER_BYTES)?;
        let header = Header::parse(self.received.unread()).ok().flatten();
        let header = header.ok_or_else(invalid_message)?;
        let whole = 1 + usize::try_from(header.len()).map_err(|_| invalid_message())?;
        self.receive_at_least(whole)?;
        let message = self.received.take(whole);
        Ok((header.tag(), message.start + HEADER_BYTES..message.end))
    }

    /// Reads until this many bytes are unread.
    #[inline]
    fn receive_at_least(&mut self, bytes: usize) -> Result<()> {
        let stream = &mut self.stream;
        let filled = self.received.fill(bytes, |room| stream.read(room));
        filled.map_err(|error| connection_error(&error))
    }
}

impl Drop for PostgresqlConnection {
    fn drop(&mut self) {
        self.discard();
        // An error means that the server has gone already.
        let _ = self.message(b'X', |_| Ok(()));
        let _ = self.flush();
    }
}

fn too_many() -> Error {
    Error::Unsupported("a statement takes 32,767 parameters at most".to_owned())
}

fn connection_error(error: &std::io::Error) -> Error {
    Error::Disconnected(match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "the server did not respond in time".to_owned()
        }
        ErrorKind::UnexpectedEof => error.to_string(),
        _ => format!("the connection to the server was lost: {error}"),
    })
}

/// An error that the server reports (documentation, appendix "PostgreSQL Error Codes").
fn server_error(body: &[u8]) -> Error {
    let code = field(body, b'C').unwrap_or_default();
    let message = field(body, b'M').unwrap_or_default();
    let text = match field(body, b'D') {
        Some(detail) => format!("{message} ({detail}; SQLSTATE {code})"),
        None => format!("{message} (SQLSTATE {code})"),
    };
    match code.as_str() {
        "40P01" => Error::Deadlock(text),
        // Serialization failure, lock not available.
        "40001" | "55P03" => Error::Conflict(text),
        // Disk full.
        "53100" => Error::Full(text),
        // The server shuts down, has crashed, starts, or follows another one.
        "57P01" | "57P02" | "57P03" | "25006" => Error::Disconnected(text),
        _ => Error::engine(text),
    }
}

/// The error for a refused login.
fn login_error(body: &[u8], address: &ServerAddress) -> Error {
    let code = field(body, b'C').unwrap_or_default();
    let message = field(body, b'M').unwrap_or_default();
    match code.as_str() {
        // Still starting up, or shutting down: it may be asked again.
        "57P03" => Error::Conflict(message),
        "57P01" | "57P02" => Error::Disconnected(message),
        _ => Error::engine(format!("{address} refuses: {message} (SQLSTATE {code})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unresponsive_peer::full_socket;

    #[test]
    fn what_stays_on_this_machine_is_not_exposed() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        assert!(!Stream::Tcp(client).is_exposed().unwrap());
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert!(!Stream::Unix(ours).is_exposed().unwrap());
    }

    #[test]
    fn a_server_of_a_cluster_that_goes_while_it_is_asked_is_not_the_last_that_is_tried() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let going = std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let mut greeting = [0; 512];
            let _ = client.read(&mut greeting).unwrap();
            client
                .write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
                .unwrap();
        });
        let url = format!("postgres://me@127.0.0.1:{port},%2Fno%2Fsuch%2Ffolder/db");
        let address = ServerAddress::parse(&trueput_engine::Address::of(&url)).unwrap();
        let error = PostgresqlConnection::open(&address, &[]).err().unwrap();
        going.join().unwrap();
        let text = error.to_string();
        assert!(text.contains("closed") || text.contains("lost"), "{text}");
        assert!(text.contains("cannot reach"), "{text}");
    }

    #[test]
    fn a_server_that_accepts_no_connection_or_answers_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let _full = full_socket(&data.join(".s.PGSQL.5432"));
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let url = format!("postgres://me@127.0.0.1:{port},127.0.0.1:{port}/db");
        for address in [
            ServerAddress::private(folder.path()),
            ServerAddress::parse(&trueput_engine::Address::of(&url)).unwrap(),
        ] {
            let opened = PostgresqlConnection::open_within(&address, Duration::from_millis(50));
            let error = opened.err().unwrap();
            assert!(error.is_disconnection(), "{error}");
        }
    }

    fn error(code: &str) -> Error {
        server_error(format!("SERROR\0C{code}\0Mno luck\0\0").as_bytes())
    }

    #[test]
    fn conflicts_and_full_disks_are_distinguished_from_other_errors() {
        for code in ["40001", "55P03"] {
            assert_eq!(
                error(code),
                Error::Conflict(format!("no luck (SQLSTATE {code})"))
            );
        }
        assert_eq!(
            error("40P01"),
            Error::Deadlock("no luck (SQLSTATE 40P01)".to_owned())
        );
        assert_eq!(
            error("53100"),
            Error::Full("no luck (SQLSTATE 53100)".to_owned())
        );
        assert_eq!(error("23505"), Error::engine("no luck (SQLSTATE 23505)"));
    }
}
