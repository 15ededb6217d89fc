//! Lines of a file that may come from anybody, one after the other.

use crate::Error;
use crate::text::without_byte_order_mark;
use crate::value::format_bytes;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The limit on a line is the limit on the whole file divided by this.
const LINE_PART: u64 = 4;

/// Reads a file line by line and holds no more than one of them.
#[derive(Debug)]
pub(crate) struct LineReader<'a> {
    file: BufReader<File>,
    path: &'a Path,
    max_bytes: u64,
    read_bytes: u64,
    number: usize,
    line: Vec<u8>,
}

impl<'a> LineReader<'a> {
    /// Creates a reader of a file of at most `max_bytes`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the file is larger, [`Error::Io`] if its length cannot be determined.
    pub(crate) fn new(file: File, path: &'a Path, max_bytes: u64) -> Result<Self, Error> {
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        let reader = Self {
            file: BufReader::new(file),
            path,
            max_bytes,
            read_bytes: 0,
            number: 0,
            line: Vec::new(),
        };
        if metadata.len() > max_bytes {
            Err(reader.too_large("it", max_bytes))
        } else {
            Ok(reader)
        }
    }

    /// Returns the next line without its line ending, and its number from 1; `None` after the last
    /// one.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the line or the file is too long, [`Error::Io`] if it cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &[u8])>, Error> {
        self.line.clear();
        self.number += 1;
        let most = self.max_bytes / LINE_PART;
        let mut limited = (&mut self.file).take(most.saturating_add(1));
        let read = limited
            .read_until(b'\n', &mut self.line)
            .map_err(|source| Error::io(self.path, source))?;
        self.read_bytes = self.read_bytes.saturating_add(read as u64);
        if read as u64 > most {
            let line = format!("line {}", self.number);
            return Err(self.too_large(&line, most));
        }
        // It may have grown since it was opened.
        if self.read_bytes > self.max_bytes {
            return Err(self.too_large("it", self.max_bytes));
        }
        if read == 0 {
            return Ok(None);
        }
        let line = match self.number {
            1 => without_byte_order_mark(&self.line),
            _ => &self.line,
        };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some((self.number, line)))
    }

    fn too_large(&self, part: &str, most: u64) -> Error {
        Error::TooLarge {
            path: self.path.to_owned(),
            problem: format!("{part} has more than {}", format_bytes(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, max_bytes: u64) -> Result<Vec<(usize, String)>, Error> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lines");
        std::fs::write(&path, text).unwrap();
        let mut reader = LineReader::new(File::open(&path).unwrap(), &path, max_bytes)?;
        let mut lines = Vec::new();
        while let Some((number, line)) = reader.next()? {
            lines.push((number, String::from_utf8_lossy(line).into_owned()));
        }
        Ok(lines)
    }

    #[test]
    fn lines_come_with_their_numbers_and_the_last_needs_no_end() {
        let lines = read("one\n\nthree", 100).unwrap();
        let expected = [(1, "one"), (2, ""), (3, "three")];
        assert_eq!(lines, expected.map(|(n, line)| (n, line.to_owned())));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let marked = read("\u{feff}one\n\u{feff}two", 100).unwrap();
        assert_eq!(marked[0].1, "one");
        assert_eq!(marked[1].1, "\u{feff}two", "only at the beginning");
    }

    #[test]
    fn a_file_or_a_line_that_is_too_long_is_refused() {
        assert!(read(&"ab\n".repeat(10), 30).is_ok());
        let long = read(&"ab\n".repeat(11), 30).unwrap_err().to_string();
        assert!(long.ends_with("it has more than 30 B"), "{long}");
        let line = read(&format!("ab\n{}\n", "x".repeat(12)), 40).unwrap_err();
        assert!(
            line.to_string().ends_with("line 2 has more than 10 B"),
            "{line}"
        );
    }
}
