//! Records as the text of a LOAD DATA (MariaDB documentation, "LOAD DATA INFILE"): a line for each,
//! key and value divided by a tab, and a backslash before each tab, newline and backslash in them.
//! With `CHARACTER SET binary` every other byte stands for itself.

use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{Error, RecordSource, Result};

const FIELD_END: u8 = b'\t';
const LINE_END: u8 = b'\n';
const ESCAPE: u8 = b'\\';

/// The bytes of a part of the text, about: it ends with the record that exceeds them.
const PART_BYTES: usize = 64 << 10;
/// The bytes of a statement, about. It is a transaction, which the server keeps in memory with
/// MyRocks, and sends to other nodes in one piece with Galera.
const STATEMENT_BYTES: usize = 16 << 20;
/// The records of a statement from which on it ends with a part: MyRocks locks up to 1,048,576 rows
/// (`rocksdb_max_row_locks`).
const STATEMENT_RECORDS: u64 = 250_000;

/// Writes records as text, in statements of bounded size.
#[derive(Debug)]
pub(super) struct RecordText {
    has_more: bool,
    /// Whether no record was taken yet.
    is_unused: bool,
    /// Bytes and records of the current statement.
    bytes: usize,
    count: u64,
}

impl Default for RecordText {
    fn default() -> Self {
        Self {
            has_more: true,
            is_unused: true,
            bytes: 0,
            count: 0,
        }
    }
}

impl RecordText {
    /// Whether the records may go on.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether no record was taken yet.
    pub(super) fn is_unused(&self) -> bool {
        self.is_unused
    }

    /// Appends the next records; returns whether the statement takes more of them.
    ///
    /// # Errors
    /// A record that is too long.
    pub(super) fn write_part(
        &mut self,
        out: &mut Vec<u8>,
        records: &mut dyn RecordSource,
        limits: LengthLimits,
    ) -> Result<bool> {
        self.is_unused = false;
        let start = out.len();
        while out.len() < start + PART_BYTES {
            let Some((key, value)) = records.next_record() else {
                self.has_more = false;
                return Ok(false);
            };
            limits.check(key, value)?;
            push_field(out, key);
            out.push(FIELD_END);
            push_field(out, value);
            out.push(LINE_END);
            self.count += 1;
        }
        self.bytes += out.len() - start;
        Ok(self.bytes < STATEMENT_BYTES && self.count < STATEMENT_RECORDS)
    }

    /// Ends a statement that stored so many rows, and begins the next one.
    ///
    /// # Errors
    /// Not every record was stored: the server leaves out a record whose key exists, and only warns
    /// of it.
    pub(super) fn end_statement(&mut self, stored: u64) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        self.bytes = 0;
        if stored == count {
            Ok(())
        } else {
            Err(Error::engine(format!(
                "LOAD DATA stored {stored} of {count} records: the keys of the others exist"
            )))
        }
    }
}

/// Appends a key or a value, with what divides them escaped.
fn push_field(out: &mut Vec<u8>, mut bytes: &[u8]) {
    let is_special = |byte: &u8| matches!(*byte, FIELD_END | LINE_END | ESCAPE);
    while let Some(position) = bytes.iter().position(is_special) {
        out.extend_from_slice(&bytes[..position]);
        out.extend_from_slice(&[ESCAPE, bytes[position]]);
        bytes = &bytes[position + 1..];
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LengthLimits = LengthLimits::new(100, 100_000);

    /// Records of a key and of a value of so many bytes.
    struct Records {
        key: &'static [u8],
        value: Vec<u8>,
        left: u64,
    }

    impl RecordSource for Records {
        fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
            self.left = self.left.checked_sub(1)?;
            Some((self.key, &self.value))
        }
    }

    fn records(key: &'static [u8], value: &[u8], left: u64) -> Records {
        let value = value.to_vec();
        Records { key, value, left }
    }

    #[test]
    fn what_divides_keys_and_values_is_escaped_in_them_and_nothing_else_is() {
        let mut source = records(b"\\N\0", b"a\tb\nc\\\xff", 2);
        let (mut text, mut out) = (RecordText::default(), b"head".to_vec());
        assert_eq!(text.write_part(&mut out, &mut source, LIMITS), Ok(false));
        let line = b"\\\\N\0\ta\\\tb\\\nc\\\\\xff\n";
        assert_eq!(out, [&b"head"[..], line, line].concat());
        assert!(!text.has_more());
        assert_eq!(text.end_statement(2), Ok(()));
    }

    #[test]
    fn statements_end_by_bytes_or_by_records_and_the_next_one_goes_on() {
        for (value_bytes, least) in [(10_000, STATEMENT_BYTES as u64 / 10_004), (0, 250_000)] {
            let mut source = records(b"k", &vec![b'v'; value_bytes], u64::MAX);
            let mut text = RecordText::default();
            for _ in 0..2 {
                let mut out = Vec::new();
                while text.write_part(&mut out, &mut source, LIMITS).unwrap() {
                    assert!(out.len() < PART_BYTES + 10_004);
                    out.clear();
                }
                let count = text.count;
                assert!(count >= least && count < least + 30_000, "{count}");
                assert_eq!(text.end_statement(count), Ok(()));
                assert!(text.has_more());
            }
        }
    }

    #[test]
    fn a_record_that_the_server_left_out_or_that_is_too_long_is_an_error() {
        let mut text = RecordText::default();
        assert!(text.is_unused());
        let mut source = records(b"key", b"", 3);
        let written = text.write_part(&mut Vec::new(), &mut source, LIMITS);
        assert_eq!(written, Ok(false));
        assert!(!text.is_unused());
        let error = text.end_statement(2).unwrap_err();
        assert!(error.to_string().contains("2 of 3"), "{error}");
        let mut long = records(&[0; 101], b"", 1);
        let mut text = RecordText::default();
        assert!(text.write_part(&mut Vec::new(), &mut long, LIMITS).is_err());
    }
}
