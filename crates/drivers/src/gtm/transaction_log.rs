//! The reads and writes of a transaction, as the routine `commit` takes them.

use super::process::{MAX_STRING_BYTES, ProcessGuard};
use trueput_engine::Result;

/// Values longer than this travel by themselves.
const LONG_VALUE: usize = 256 << 10;
/// The operation, the key's length and the value's, in digits.
const HEADER: usize = 12;

/// An operation, by the letter that the routine knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogOperation {
    Put,
    Delete,
    /// Read: the key has this value.
    Value,
    /// Read: the key is not there.
    Absent,
    /// Read: the next key is that of the value.
    Next,
    /// Read: the key before is that of the value.
    Previous,
}

impl LogOperation {
    fn letter(self, is_long: bool) -> u8 {
        match self {
            Self::Put if is_long => b'p',
            Self::Put => b'P',
            Self::Delete => b'D',
            Self::Value if is_long => b'v',
            Self::Value => b'V',
            Self::Absent => b'A',
            Self::Next => b'F',
            Self::Previous => b'B',
        }
    }
}

/// Operations in their order, in chunks that are strings of GT.M's.
#[derive(Default)]
pub(super) struct TransactionLog {
    /// All but the last are full.
    chunks: Vec<Vec<u8>>,
    last: Vec<u8>,
    long_values: Vec<Vec<u8>>,
}

impl TransactionLog {
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.last.clear();
        self.long_values.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    pub(super) fn add(&mut self, op: LogOperation, key: &[u8], value: &[u8]) {
        if value.len() > LONG_VALUE {
            self.long_values.push(value.to_vec());
            let number = self.long_values.len().to_string();
            self.write(op.letter(true), key, number.as_bytes());
        } else {
            self.write(op.letter(false), key, value);
        }
    }

    fn write(&mut self, letter: u8, key: &[u8], value: &[u8]) {
        if self.last.len() + HEADER + key.len() + value.len() > MAX_STRING_BYTES {
            self.chunks.push(std::mem::take(&mut self.last));
        }
        self.last.push(letter);
        push_digits::<4>(&mut self.last, key.len());
        push_digits::<7>(&mut self.last, value.len());
        self.last.extend_from_slice(key);
        self.last.extend_from_slice(value);
    }

    /// Replays everything in one GT.M transaction; returns false if a record read has changed.
    pub(super) fn commit(&self, guard: &mut ProcessGuard<'_>, durable: bool) -> Result<bool> {
        for value in &self.long_values {
            guard.value(value)?;
        }
        for chunk in &self.chunks {
            guard.chunk(chunk)?;
        }
        guard.commit(durable, &self.last)
    }
}

/// Appends a number in this many decimal digits.
fn push_digits<const DIGITS: usize>(text: &mut Vec<u8>, number: usize) {
    let mut digits = [b'0'; DIGITS];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    text.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_a_letter_two_lengths_and_two_strings() {
        let mut script = TransactionLog::default();
        script.add(LogOperation::Put, b"key", b"value");
        assert_eq!(script.last, b"P00030000005keyvalue");
    }

    #[test]
    fn long_values_and_full_chunks_are_put_apart() {
        let mut script = TransactionLog::default();
        script.add(LogOperation::Put, b"long", &[0; LONG_VALUE + 1]);
        assert_eq!(script.last, b"p00040000001long1");
        for _ in 0..5 {
            script.add(LogOperation::Put, b"key", &[0; LONG_VALUE]);
        }
        assert_eq!(script.long_values.len(), 1);
        assert_eq!(script.chunks.len(), 1);
        assert!(script.chunks[0].len() <= MAX_STRING_BYTES);
    }
}
