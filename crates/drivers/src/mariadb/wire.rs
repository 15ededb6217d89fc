//! A session's connection. The client library logs in and prepares statements; from then on,
//! commands are written to its socket here, and rows are shown where they were received (MariaDB
//! documentation, "Clients & Utilities", "MariaDB Client/Server Protocol").
//!
//! The library's own execution allocates for each parameter, packet, row and text, copies each row
//! twice, and goes through a receive buffer of 4 MiB, which leaves the processor's caches before it
//! is used again. Nothing is lost by going past it: between two commands it has nothing buffered.

mod local_file;

use super::connection::{client_error, lost_connection, server_error};
use super::value::{ColumnFormat, encode_parameters, invalid_packet, take_array, take_number};
use crate::receive_buffer::{KEPT_BYTES, ReceiveBuffer, SmallMessages};
use mysql::Conn;
use mysql::prelude::Queryable;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use trueput_engine::{Datum, Error, Result};

/// Commands.
const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;

/// The first byte of a response without rows.
const OK: u8 = 0x00;
/// The first byte of an error.
const ERROR: u8 = 0xff;
/// The first byte of the packet behind the last row. A row that begins with it is longer.
const END: u8 = 0xfe;
/// The state of a connection in which another response follows.
const MORE_RESULTS: u16 = 0x0008;

/// The length of a packet's body, and its number.
const HEADER_BYTES: usize = 4;
/// A body of this length goes on in the next packet.
const MAX_BODY_BYTES: usize = 0xff_ffff;

/// Looks at the body of a row; the formats are those of its columns.
pub(super) type RowBodyVisitor<'v> = dyn FnMut(&[u8], &[ColumnFormat]) + 'v;

/// A connection that is logged in.
pub(super) struct MariaDbConnection {
    client: Conn,
    /// The command to send.
    out: Vec<u8>,
    /// The packets in a row that took little room in it.
    small_messages: SmallMessages,
    received: ReceiveBuffer,
    /// The number that the next packet must have.
    number: u8,
    /// Whether a command was sent whose response has not come whole: no other one can be told apart
    /// from the rest of it.
    awaits_response: bool,
}

/// The end of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ResponseEnd {
    /// Rows changed.
    changed: u64,
    /// The state of the connection.
    state: u16,
}

impl ResponseEnd {
    /// Of the body of a response without rows.
    fn of_ok(body: &[u8]) -> Result<Self> {
        let mut rest = body.get(1..).unwrap_or_default();
        let changed = take_number(&mut rest)?;
        let _last_insert_id = take_number(&mut rest)?;
        let state = u16::from_le_bytes(take_array(&mut rest)?);
        Ok(Self { changed, state })
    }

    /// Of the body of the packet behind the last row; `None` if the body is a row's.
    fn of_rows(body: &[u8]) -> Option<Self> {
        match *body {
            [END, _, _, low, high] => Some(Self {
                changed: 0,
                state: u16::from_le_bytes([low, high]),
            }),
            _ => None,
        }
    }
}

impl MariaDbConnection {
    /// A connection over the client library's, which does not compress.
    pub(super) fn new(client: Conn) -> Self {
        Self {
            client,
            out: Vec::with_capacity(1 << 10),
            small_messages: SmallMessages::default(),
            received: ReceiveBuffer::default(),
            number: 0,
            awaits_response: false,
        }
    }

    /// Has a statement prepared.
    ///
    /// # Errors
    /// The server's, and those of the connection.
    pub(super) fn prepare(&mut self, text: &str) -> Result<mysql::Statement> {
        self.check_no_response_is_due()?;
        let prepared = self.client.prep(text);
        // What the client library has not read of the response would be taken for the next one.
        self.awaits_response = matches!(
            prepared,
            Err(mysql::Error::IoError(_) | mysql::Error::CodecError(_))
        );
        prepared.map_err(client_error)
    }

    /// Executes statements without parameters, and reads every response: that of a later one may be
    /// an error.
    ///
    /// # Errors
    /// See [`MariaDbConnection::execute`].
    pub(super) fn batch(&mut self, statements: &str) -> Result<()> {
        self.send(COM_QUERY, |out| {
            out.extend_from_slice(statements.as_bytes());
            Ok(())
        })?;
        self.receive(&mut Vec::new(), &mut |_, _| {}).map(drop)
    }

    /// Executes the prepared statement of this id, shows the rows of its first response, and
    /// returns the number of rows changed. The server describes the columns anew if they have
    /// changed, and `formats` then becomes theirs.
    ///
    /// # Errors
    /// The first error that the server reports; a connection that is lost.
    pub(super) fn execute(
        &mut self,
        id: u32,
        parameters: &[Datum<'_>],
        formats: &mut Vec<ColumnFormat>,
        on_row: &mut RowBodyVisitor<'_>,
    ) -> Result<u64> {
        self.send(COM_STMT_EXECUTE, |out| {
            out.extend_from_slice(&id.to_le_bytes());
            // Without a cursor, and once, as always.
            out.push(0);
            out.extend_from_slice(&1_u32.to_le_bytes());
            encode_parameters(out, parameters)
        })?;
        self.receive(formats, on_row)
    }

    fn check_no_response_is_due(&self) -> Result<()> {
        if self.awaits_response {
            let text = "an earlier response of the server did not come whole";
            return Err(Error::Disconnected(text.to_owned()));
        }
        Ok(())
    }

    /// Sends a command, whose body `write` appends.
    fn send(&mut self, command: u8, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.check_no_response_is_due()?;
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER_BYTES]);
        self.out.push(command);
        write(&mut self.out)?;
        let length = self.out.len() - HEADER_BYTES;
        if length >= MAX_BODY_BYTES {
            return Err(Error::Unsupported(
                "a statement of 16 MiB or more".to_owned(),
            ));
        }
        // The number of a command's packet is 0.
        self.number = 0;
        self.awaits_response = true;
        self.send_packet()
    }

    /// Sends the packet whose body is in `out`, behind room for the header, with the next number.
    /// The body is shorter than [`MAX_BODY_BYTES`].
    fn send_packet(&mut self) -> Result<()> {
        let length = (self.out.len() - HEADER_BYTES) as u32;
        let header = (length | u32::from(self.number) << 24).to_le_bytes();
        self.out[..HEADER_BYTES].copy_from_slice(&header);
        self.number = self.number.wrapping_add(1);
        let sent = send_all(self.client.as_raw_fd(), &self.out);
        if self.small_messages.count(self.out.len()) && self.out.capacity() > KEPT_BYTES {
            self.out.clear();
            self.out.shrink_to(KEPT_BYTES);
        }
        sent
    }

    /// Reads the responses to a command, and shows the rows of the first; returns the number of
    /// rows that it changed.
    fn receive(
        &mut self,
        formats: &mut Vec<ColumnFormat>,
        on_row: &mut RowBodyVisitor<'_>,
    ) -> Result<u64> {
        let ResponseEnd { changed, mut state } = self.receive_one(formats, on_row)?;
        while state & MORE_RESULTS != 0 {
            state = self.receive_one(&mut Vec::new(), &mut |_, _| {})?.state;
        }
        self.awaits_response = false;
        Ok(changed)
    }

    /// Reads one response.
    fn receive_one(
        &mut self,
        formats: &mut Vec<ColumnFormat>,
        on_row: &mut RowBodyVisitor<'_>,
    ) -> Result<ResponseEnd> {
        let body = self.next_packet()?;
        let mut head = &self.received[body];
        if head.first() == Some(&OK) {
            return ResponseEnd::of_ok(head);
        }
        let columns = take_number(&mut head)?;
        // Since MariaDB 10.6 a zero says that the descriptions are the ones that were sent last,
        // and are left out (MARIADB_CLIENT_CACHE_METADATA).
        if head.first() != Some(&0) {
            formats.clear();
            for _ in 0..columns {
                let body = self.next_packet()?;
                formats.push(ColumnFormat::described(&self.received[body])?);
            }
        }
        if formats.len() as u64 != columns {
            return Err(invalid_packet());
        }
        let body = self.next_packet()?;
        if ResponseEnd::of_rows(&self.received[body]).is_none() {
            return Err(invalid_packet());
        }
        loop {
            let body = self.next_packet()?;
            let row = &self.received[body];
            if let Some(end) = ResponseEnd::of_rows(row) {
                return Ok(end);
            }
            on_row(row, formats);
        }
    }

    /// Reads the next packet; its body is where the result says until the one after it is read.
    #[inline]
    fn next_packet(&mut self) -> Result<Range<usize>> {
        self.receive_at_least(HEADER_BYTES)?;
        let header = self.received.unread();
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let number = header[3];
        if length == MAX_BODY_BYTES {
            return Err(Error::Unsupported("a row of 16 MiB or more".to_owned()));
        }
        self.receive_at_least(HEADER_BYTES + length)?;
        let packet = self.received.take(HEADER_BYTES + length);
        let body = packet.start + HEADER_BYTES..packet.end;
        let first = self.received[body.clone()].first();
        // A server that shuts down reports that with a number of its own.
        if first == Some(&ERROR) {
            self.awaits_response = false;
            return Err(reported_error(&self.received[body]));
        }
        if number != self.number {
            return Err(Error::Disconnected(
                "the server's packets are not in order".to_owned(),
            ));
        }
        self.number = self.number.wrapping_add(1);
        Ok(body)
    }

    /// Reads until this many bytes are unread.
    #[inline]
    fn receive_at_least(&mut self, bytes: usize) -> Result<()> {
        let socket = self.client.as_raw_fd();
        let filled = self.received.fill(bytes, |room| {
            recv(socket, room, MsgFlags::empty()).map_err(std::io::Error::from)
        });
        filled.map_err(|error| lost_connection(&error))
    }
}

fn send_all(socket: RawFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match send(socket, bytes, MsgFlags::MSG_NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::EINTR) => {}
            Err(error) => return Err(lost_connection(&error.into())),
        }
    }
    Ok(())
}

/// The error of a packet's body: a byte, the code, a sign and five letters for the state, and the
/// message.
#[cold]
fn reported_error(body: &[u8]) -> Error {
    let mut rest = body.get(1..).unwrap_or_default();
    let Ok(code) = take_array(&mut rest).map(u16::from_le_bytes) else {
        return invalid_packet();
    };
    let message = match rest {
        [b'#', _, _, _, _, _, message @ ..] => message,
        message => message,
    };
    server_error(code, &String::from_utf8_lossy(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::test_peer::{self, DONE, packet, read_packet};
    use mysql::OptsBuilder;
    use std::io::Write;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    /// The body of the packet behind descriptions and rows.
    const ENDED: &[u8] = &[END, 0, 0, 2, 0];
    const NUMBER: ColumnFormat = ColumnFormat::Integer {
        bytes: 4,
        is_unsigned: false,
    };

    /// The packets of the response to a command.
    fn response(bodies: &[&[u8]]) -> Vec<u8> {
        let packets = (1..).zip(bodies);
        packets
            .flat_map(|(number, body)| packet(number, body))
            .collect()
    }

    /// Logs in at a peer that gives each command the next of these responses, and then closes the
    /// connection.
    fn connection(responses: Vec<Vec<u8>>) -> MariaDbConnection {
        recorded_connection(responses).0
    }

    /// The same for each packet, and what the peer is sent after the login: the number and the body
    /// of each packet.
    pub(super) fn recorded_connection(
        responses: Vec<Vec<u8>>,
    ) -> (MariaDbConnection, Receiver<(u8, Vec<u8>)>) {
        timed_connection(responses, None)
    }

    /// The same, with the time that the peer may take for each response.
    fn timed_connection(
        responses: Vec<Vec<u8>>,
        timeout: Option<Duration>,
    ) -> (MariaDbConnection, Receiver<(u8, Vec<u8>)>) {
        let (sender, received) = channel();
        let (port, _) = test_peer::serve(move |mut stream| {
            test_peer::greet(&mut stream);
            stream.write_all(&packet(2, DONE)).unwrap();
            for response in responses {
                let Some(packet) = read_packet(&mut stream) else {
                    return;
                };
                stream.write_all(&response).unwrap();
                // Most tests do not look at it.
                let _ = sender.send(packet);
            }
        });
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .user(Some("me"))
            .prefer_socket(false)
            .max_allowed_packet(Some(1 << 20))
            .read_timeout(timeout)
            .stmt_cache_size(0);
        let connection = MariaDbConnection::new(Conn::new(options).unwrap());
        (connection, received)
    }

    /// Executes a statement, and returns the bodies of its rows.
    fn rows(connection: &mut MariaDbConnection, formats: &mut Vec<ColumnFormat>) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        let parameters = [Datum::Integer(5)];
        let executed = connection.execute(1, &parameters, formats, &mut |row, formats| {
            assert!(!formats.is_empty());
            rows.push(row.to_vec());
        });
        assert_eq!(executed, Ok(0));
        rows
    }

    #[test]
    fn rows_are_shown_whether_their_columns_are_described_again_or_not() {
        let text = b"\x03def\x01s\x01t\x01t\x01c\x01c\x0c\x2d\0\x09\0\0\0\xfd\0\0\0\0\0";
        let (number_row, text_row): (&[u8], &[u8]) = (&[0, 0, 7, 0, 0, 0], &[0, 0, 1, b'a']);
        let mut connection = connection(vec![
            // A column, and that its description is left out.
            response(&[&[1, 0], ENDED, number_row, number_row, ENDED]),
            response(&[&[1, 1], text, ENDED, text_row, ENDED]),
            // A server that leaves none out says nothing about it.
            response(&[&[1], text, ENDED, ENDED]),
            response(&[&[1, 0], ENDED, text_row, ENDED]),
        ]);
        let mut formats = vec![NUMBER];
        assert_eq!(rows(&mut connection, &mut formats), [number_row; 2]);
        assert_eq!(formats, [NUMBER]);
        assert_eq!(rows(&mut connection, &mut formats), [text_row]);
        assert_eq!(formats, [ColumnFormat::Text]);
        assert!(rows(&mut connection, &mut formats).is_empty());
        assert_eq!(rows(&mut connection, &mut formats), [text_row]);
    }

    #[test]
    fn an_error_in_a_later_response_is_reported_and_the_connection_goes_on() {
        let more: &[u8] = &[OK, 0, 0, MORE_RESULTS as u8, 0, 0, 0];
        let rows_and_more: &[u8] = &[END, 0, 0, MORE_RESULTS as u8, 0];
        let row: &[u8] = &[0, 0, 7, 0, 0, 0];
        let deadlock: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
        let mut connection = connection(vec![
            response(&[more, deadlock]),
            response(&[&[1, 0], ENDED, row, deadlock]),
            response(&[&[1, 0], ENDED, row, rows_and_more, DONE]),
            response(&[DONE]),
        ]);
        assert!(connection.batch("A; B").unwrap_err().is_deadlock());
        let (mut formats, mut shown) = (vec![NUMBER], 0);
        let mut execute = || connection.execute(1, &[], &mut formats, &mut |_, _| shown += 1);
        assert!(execute().unwrap_err().is_deadlock());
        assert_eq!(execute(), Ok(0));
        assert_eq!(execute(), Ok(1));
        assert_eq!(shown, 2);
    }

    #[test]
    fn a_response_that_does_not_come_whole_ends_the_use_of_the_connection() {
        let out_of_order = [packet(1, &[1, 0]), packet(3, ENDED)].concat();
        let cut = response(&[&[1, 0], ENDED])[..7].to_vec();
        for (sent, expected) in [(out_of_order, "not in order"), (cut, "gone")] {
            let mut connection = connection(vec![sent]);
            let mut formats = vec![NUMBER];
            let failed = connection.execute(1, &[], &mut formats, &mut |_, _| {});
            let error = failed.unwrap_err();
            assert!(error.is_disconnection(), "{error}");
            assert!(error.to_string().contains(expected), "{error}");
            let later = connection.batch("COMMIT").unwrap_err();
            assert!(later.is_disconnection(), "{later}");
            assert!(later.to_string().contains("whole"), "{later}");
        }
    }

    #[test]
    fn a_preparation_whose_response_does_not_come_whole_ends_the_use_of_the_connection() {
        // The statement's number, its columns, of which it has none, and its parameters.
        let prepared: &[u8] = &[OK, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let half = packet(1, prepared)[..9].to_vec();
        let timeout = Some(Duration::from_secs(1));
        let (mut cut, sent) = timed_connection(vec![half, response(&[DONE])], timeout);
        let error = cut.prepare("DO ?").err().unwrap();
        assert!(error.is_disconnection(), "{error}");
        assert!(error.to_string().contains("respond in time"), "{error}");
        let later = cut.batch("COMMIT").unwrap_err();
        assert!(later.is_disconnection(), "{later}");
        assert!(later.to_string().contains("whole"), "{later}");
        drop(cut);
        let commands: Vec<u8> = sent.iter().map(|(_, body)| body[0]).collect();
        assert!(!commands.contains(&COM_QUERY), "{commands:?}");
        // The control: an error of the server is a whole response.
        let refused = response(&[b"\xff\x28\x04#42000syntax"]);
        let mut connection = connection(vec![refused, response(&[DONE])]);
        let error = connection.prepare("DO").err().unwrap();
        assert!(!error.is_disconnection(), "{error}");
        assert_eq!(connection.batch("COMMIT"), Ok(()));
    }

    #[test]
    fn the_end_of_a_response_says_what_changed_and_whether_another_follows() {
        let ok = [0, 0xfc, 0x2c, 0x01, 5, 8, 0, 0, 0, b'R', b'o', b'w', b's'];
        let end = ResponseEnd {
            changed: 300,
            state: MORE_RESULTS,
        };
        assert_eq!(ResponseEnd::of_ok(&ok), Ok(end));
        assert!(ResponseEnd::of_ok(&ok[..5]).is_err());
        let end = ResponseEnd {
            changed: 0,
            state: 2,
        };
        assert_eq!(ResponseEnd::of_rows(&[END, 0, 0, 2, 0]), Some(end));
        // A text of 4 GiB begins a row in this way, and none in the binary protocol does.
        assert_eq!(ResponseEnd::of_rows(&[END, 0, 0, 0, 0, 1, 0, 0, 0]), None);
        assert_eq!(ResponseEnd::of_rows(&[0, 0, 1]), None);
    }

    #[test]
    fn an_error_keeps_its_code_and_its_message() {
        let deadlock = reported_error(b"\xff\xbd\x04#40001Deadlock found");
        let expected = Error::Deadlock("Deadlock found (code 1213)".to_owned());
        assert_eq!(deadlock, expected);
        let early = reported_error(b"\xff\x10\x04Too many connections");
        let expected = Error::Engine {
            code: 1040,
            text: "Too many connections".to_owned(),
        };
        assert_eq!(early, expected);
        assert_eq!(reported_error(b"\xff"), invalid_packet());
    }
}
