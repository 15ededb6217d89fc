//! The bytes that a server has sent and that have not been parsed yet, in memory that is kept.

use std::io::{Error, ErrorKind, Result};
use std::ops::{Index, Range};

/// The most bytes that are read from a socket at once, unless a message is longer.
const CHUNK_BYTES: usize = 16 << 10;
/// A buffer that a large message has made larger than this shrinks again when it has not been
/// needed for long ([`SmallMessages`]). A record with a value of 1 MiB, the longest that MariaDB's
/// driver takes, comes with its key in a message that is longer, and memory for it is always kept.
pub(crate) const KEPT_BYTES: usize = 2 << 20;

/// The small messages in a row after which a buffer shrinks. Where messages are large again and
/// again, its memory is kept, so that it is not allocated, and set to zeros, for each of them.
const SHRINK_AFTER: u32 = 1_000;

/// The messages in a row that had room in [`KEPT_BYTES`].
#[derive(Debug, Default)]
pub(crate) struct SmallMessages(u32);

impl SmallMessages {
    /// Counts a message of so many bytes, and returns whether larger ones have not come for so long
    /// that the memory for them should go.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) -> bool {
        self.0 = if bytes > KEPT_BYTES {
            0
        } else {
            self.0.saturating_add(1)
        };
        self.0 >= SHRINK_AFTER
    }
}

/// The bytes received, of which messages are taken off the front.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    received: Vec<u8>,
    unread: Range<usize>,
    small_messages: SmallMessages,
}

impl ReceiveBuffer {
    /// The bytes that have not been taken.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.received[self.unread.clone()]
    }

    /// Takes bytes that [`ReceiveBuffer::fill`] has read, and returns where they are until its next
    /// call.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Range<usize> {
        let start = self.unread.start;
        self.unread.start += bytes;
        start..start + bytes
    }

    /// Reads by `read` until this many bytes have not been taken.
    ///
    /// # Errors
    /// Those of `read`, which is called again if it is interrupted; [`ErrorKind::UnexpectedEof`] if
    /// it reads nothing.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        bytes: usize,
        read: impl FnMut(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        if self.unread.len() >= bytes {
            return Ok(());
        }
        self.read_until(bytes, read)
    }

    fn read_until(
        &mut self,
        bytes: usize,
        mut read: impl FnMut(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        self.received.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let is_unused = self.small_messages.count(bytes);
        if is_unused && self.unread.is_empty() && self.received.len() > KEPT_BYTES {
            self.received.truncate(CHUNK_BYTES);
            self.received.shrink_to_fit();
        }
        if self.received.len() < bytes.max(CHUNK_BYTES) {
            self.received.resize(bytes.max(CHUNK_BYTES), 0);
        }
        while self.unread.len() < bytes {
            match read(&mut self.received[self.unread.end..]) {
                Ok(0) => {
                    let text = "the server has closed the connection";
                    return Err(Error::new(ErrorKind::UnexpectedEof, text));
                }
                Ok(count) => self.unread.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Bytes that were taken.
impl Index<Range<usize>> for ReceiveBuffer {
    type Output = [u8];

    #[inline]
    fn index(&self, taken: Range<usize>) -> &[u8] {
        &self.received[taken]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn messages_come_whole_however_the_bytes_arrive() {
        let sent: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        for at_once in [1, 7, 16 << 10, 1 << 20] {
            let (mut stream, mut buffer) = (&sent[..], ReceiveBuffer::default());
            let mut read = |room: &mut [u8]| {
                let most = at_once.min(room.len());
                stream.read(&mut room[..most])
            };
            let mut start = 0;
            for bytes in [4, 90_000, 0, 9_996] {
                buffer.fill(bytes, &mut read).unwrap();
                let taken = buffer.take(bytes);
                assert_eq!(buffer[taken], sent[start..start + bytes], "{at_once}");
                start += bytes;
            }
            let end = buffer.fill(1, &mut read).unwrap_err();
            assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn memory_for_more_than_a_record_of_1_mib_goes_after_a_thousand_small_messages_in_a_row() {
        for (large, is_kept) in [((1 << 20) + 1_000, true), (3 << 20, false)] {
            let mut buffer = ReceiveBuffer::default();
            let mut has_room_after = |bytes: usize| {
                let read = |room: &mut [u8]| Ok(bytes.min(room.len()));
                buffer.fill(bytes, read).unwrap();
                buffer.take(bytes);
                buffer.received.capacity() >= large
            };
            // The second large message comes before a thousand small ones: the count begins anew.
            for _ in 0..2 {
                assert!(has_room_after(large));
                assert!((1..1_000).all(|_| has_room_after(1)), "{large}");
            }
            assert_eq!(has_room_after(1), is_kept, "{large}");
        }
    }

    #[test]
    fn what_is_not_taken_stays_and_a_call_that_is_interrupted_is_repeated() {
        let mut buffer = ReceiveBuffer::default();
        let mut calls = 0;
        let mut read = |room: &mut [u8]| {
            calls += 1;
            if calls == 1 {
                return Err(Error::from(ErrorKind::Interrupted));
            }
            room[..3].copy_from_slice(b"abc");
            Ok(3)
        };
        buffer.fill(2, &mut read).unwrap();
        let taken = buffer.take(2);
        assert_eq!((&buffer[taken], buffer.unread()), (&b"ab"[..], &b"c"[..]));
        buffer.fill(2, &mut read).unwrap();
        assert_eq!(buffer.unread(), b"cabc");
    }
}
