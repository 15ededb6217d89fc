//! Limits the number of values of a JSON text before it is parsed: a value of two bytes becomes a
//! list element of hundreds.

use crate::Error;
use std::path::Path;

/// The permitted number of values is the file's size limit divided by this. Records of real trials
/// have one value in 20 bytes, and real files are far below their size limit.
const BYTES_PER_VALUE: u64 = 128;

/// Counts the values of a file, and refuses more than it may have.
#[derive(Debug)]
pub(crate) struct ValueLimit {
    most: u64,
    found: u64,
}

impl ValueLimit {
    /// Creates the limit for a file of at most `max_bytes`.
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            most: max_bytes / BYTES_PER_VALUE,
            found: 0,
        }
    }

    /// Adds the values of a text of the file.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the file now exceeds its limit.
    pub(crate) fn add(&mut self, path: &Path, text: &[u8]) -> Result<(), Error> {
        self.found = self.found.saturating_add(count(text));
        if self.found > self.most {
            Err(Error::TooLarge {
                path: path.to_owned(),
                problem: format!("it has more than {} JSON values", self.most),
            })
        } else {
            Ok(())
        }
    }
}

/// Counts the values of a JSON text, including nested ones; one too many for each empty list or
/// object. For invalid JSON, returns at least the number that a parser finds before it stops.
fn count(text: &[u8]) -> u64 {
    let mut values = 1;
    let mut is_in_string = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_in_string = !is_in_string,
            b'\\' if is_in_string => drop(bytes.next()),
            b',' | b'[' | b'{' if !is_in_string => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_at_every_depth_and_not_within_strings() {
        for (text, values) in [
            ("1", 1),
            ("[1,2]", 3),
            (r#"{"a":[1,{"b":2}],"c":"x"}"#, 6),
            (r#"[",[{","\",[","\\"]"#, 4),
            ("[[],[]]", 5),
        ] {
            assert_eq!(count(text.as_bytes()), values, "{text}");
        }
    }

    #[test]
    fn a_file_has_one_limit_for_all_of_its_lines() {
        let path = Path::new("trials.jsonl");
        let mut limit = ValueLimit::new(5 * BYTES_PER_VALUE);
        limit.add(path, b"[1,2]").unwrap();
        limit.add(path, b"[1]").unwrap();
        let error = limit.add(path, b"1").unwrap_err().to_string();
        assert_eq!(error, "trials.jsonl: it has more than 5 JSON values");
    }
}
