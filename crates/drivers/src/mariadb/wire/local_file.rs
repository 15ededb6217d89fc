//! LOAD DATA LOCAL INFILE, whose file the client sends (MariaDB documentation, "Clients &
//! Utilities", "MariaDB Client/Server Protocol", "Sending a LOCAL INFILE").
//!
//! There is no file: what is sent is what the caller writes, whatever name the server asks for.

use super::{COM_QUERY, HEADER_BYTES, MariaDbConnection};
use crate::mariadb::value::invalid_packet;
use trueput_engine::Result;

/// The first byte of the packet in which the server asks for a file. The client library says at
/// each login that it sends some (CLIENT_LOCAL_FILES).
const FILE_REQUEST: u8 = 0xfb;

impl MariaDbConnection {
    /// Executes a LOAD DATA LOCAL INFILE, and returns the number of rows that it stored. `write`
    /// appends the next part of the file, less than 16 MiB, and returns whether there may be more.
    /// If it fails, the file ends there: the caller rolls back.
    ///
    /// # Errors
    /// That of `write`, or the first one that the server reports; a connection that is lost.
    pub(in crate::mariadb) fn load_local(
        &mut self,
        statement: &str,
        mut write: impl FnMut(&mut Vec<u8>) -> Result<bool>,
    ) -> Result<u64> {
        self.send(COM_QUERY, |out| {
            out.extend_from_slice(statement.as_bytes());
            Ok(())
        })?;
        let body = self.next_packet()?;
        if self.received[body].first() != Some(&FILE_REQUEST) {
            return Err(invalid_packet());
        }
        let mut has_more = Ok(true);
        while matches!(has_more, Ok(true)) {
            self.begin_packet();
            has_more = write(&mut self.out);
            // An empty packet is the end of the file.
            if has_more.is_ok() && self.out.len() > HEADER_BYTES {
                self.send_packet()?;
            }
        }
        self.begin_packet();
        self.send_packet()?;
        // A server that has given up drops the file, and says so at its end.
        let stored = self.receive(&mut Vec::new(), &mut |_, _| {});
        has_more.and(stored)
    }

    /// Makes room for the header of a packet without a body.
    fn begin_packet(&mut self) {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER_BYTES]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::recorded_connection;
    use super::*;
    use crate::mariadb::test_peer::{DONE, packet};
    use trueput_engine::Error;

    const STATEMENT: &str = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
    const ASKS: &[u8] = b"\xfbx";

    /// The packets that a load is expected to send: the command, these parts, and the end.
    fn sent_for(parts: &[&[u8]]) -> Vec<(u8, Vec<u8>)> {
        let command = [&[COM_QUERY][..], STATEMENT.as_bytes()].concat();
        let file = parts.iter().copied().chain([&b""[..]]);
        let numbered = (2..).zip(file.map(<[u8]>::to_vec));
        [(0, command)].into_iter().chain(numbered).collect()
    }

    #[test]
    fn a_file_goes_in_packets_of_its_parts_and_ends_with_an_empty_one() {
        let answers = vec![packet(1, ASKS), vec![], vec![], packet(5, DONE)];
        let (mut connection, sent) = recorded_connection(answers);
        let mut parts = [&b"ab"[..], b"c", b""].into_iter();
        let stored = connection.load_local(STATEMENT, |out| {
            let part = parts.next().unwrap();
            out.extend_from_slice(part);
            // The last call finds nothing more to write.
            Ok(!part.is_empty())
        });
        assert_eq!(stored, Ok(1));
        let sent: Vec<_> = sent.iter().collect();
        assert_eq!(sent, sent_for(&[b"ab", b"c"]));
    }

    #[test]
    fn the_numbers_of_more_packets_than_a_byte_counts_begin_again() {
        // The command has number 0, the request 1, the parts 2 to 301, and the end 302.
        let mut answers = vec![packet(1, ASKS)];
        answers.extend(vec![vec![]; 300]);
        answers.push(packet(47, DONE));
        let (mut connection, sent) = recorded_connection(answers);
        let mut left = 300;
        let stored = connection.load_local(STATEMENT, |out| {
            out.push(b'a');
            left -= 1;
            Ok(left > 0)
        });
        assert_eq!(stored, Ok(1));
        let numbers: Vec<u8> = sent.iter().map(|(number, _)| number).collect();
        let expected: Vec<u8> = (2..=302_u32).map(|number| number as u8).collect();
        assert_eq!((numbers[0], &numbers[1..]), (0, &expected[..]));
    }

    #[test]
    fn a_refused_load_writes_nothing_and_the_connection_goes_on() {
        let refused = packet(1, b"\xff\x46\x10#HY000disabled");
        let answers = vec![refused, packet(1, ASKS), packet(3, DONE)];
        let (mut connection, _sent) = recorded_connection(answers);
        let error = connection.load_local(STATEMENT, |_| unreachable!("nothing is asked for"));
        let code = 4166;
        let text = "disabled".to_owned();
        assert_eq!(error, Err(Error::Engine { code, text }));
        assert_eq!(connection.load_local(STATEMENT, |_| Ok(false)), Ok(1));
    }

    #[test]
    fn a_file_that_fails_ends_and_its_error_is_reported() {
        let answers = vec![packet(1, ASKS), vec![], packet(4, DONE), packet(1, DONE)];
        let (mut connection, sent) = recorded_connection(answers);
        let mut calls = 0;
        let failed = connection.load_local(STATEMENT, |out| {
            calls += 1;
            out.push(b'a');
            if calls == 1 {
                Ok(true)
            } else {
                Err(Error::engine("too long"))
            }
        });
        assert_eq!(failed, Err(Error::engine("too long")));
        assert_eq!(connection.batch("ROLLBACK"), Ok(()));
        let sent: Vec<_> = sent.iter().take(3).collect();
        assert_eq!(
            sent,
            sent_for(&[b"a"]),
            "what follows the failure is not sent"
        );
    }

    #[test]
    fn a_server_that_asks_for_a_file_unasked_gets_none() {
        let (mut connection, sent) = recorded_connection(vec![packet(1, ASKS)]);
        assert_eq!(connection.batch("COMMIT"), Err(invalid_packet()));
        assert_eq!(sent.iter().count(), 1);
        let later = connection.batch("COMMIT").unwrap_err();
        assert!(later.is_disconnection(), "{later}");
    }
}
