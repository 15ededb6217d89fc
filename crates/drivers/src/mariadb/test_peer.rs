//! A server, for tests, that lets a client in and then sends what the test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// The body of a response without rows: one row changed, autocommit.
pub(super) const DONE: &[u8] = &[0, 1, 0, 2, 0, 0, 0];

/// Serves the first client at a port of this machine, on a thread of its own.
pub(super) fn serve<T: Send + 'static>(
    session: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || session(listener.accept().unwrap().0));
    (port, thread)
}

/// Greets a client, and returns the body of its login.
pub(super) fn greet(stream: &mut TcpStream) -> Vec<u8> {
    let greeting = [
        &b"\x0a10.11.6-MariaDB\0\x01\0\0\0abcdefgh\0"[..],
        // Protocol 4.1, secure connection, authentication by plugin; utf8mb4; autocommit.
        b"\x00\x82\x2d\x02\x00\x08\x00\x15",
        &[0; 10],
        b"ijklmnopqrst\0mysql_native_password\0",
    ];
    stream.write_all(&packet(0, &greeting.concat())).unwrap();
    read_packet(stream).unwrap().1
}

/// A packet with this number, whose body is shorter than 256 bytes.
pub(super) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap();
    [&[length, 0, 0, number][..], body].concat()
}

/// Reads a packet: its number and its body; `None` if the client has closed the connection.
pub(super) fn read_packet(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).unwrap();
    Some((header[3], body))
}
