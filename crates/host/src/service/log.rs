//! What a server, or a program that creates its instance, wrote to its log: for the reason of a
//! failure.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read from the end of a log to find its last line.
const TAIL_BYTES: u64 = 8 << 10;

/// Bytes read from the beginning of what a process wrote to find its first error.
const HEAD_BYTES: u64 = 256 << 10;

/// Characters of a line that are quoted.
const LINE_CHARACTERS: usize = 300;

/// Words of the operating system that are the cause of whatever else is reported.
const CAUSES: [&str; 8] = [
    "no space left",
    "quota exceeded",
    "read-only file system",
    "permission denied",
    "cannot allocate memory",
    "input/output error",
    "too many open files",
    "file too large",
];

/// Words of lines that report an error.
const COMPLAINTS: [&str; 6] = ["error", "fatal", "panic", "could not", "cannot", "can't"];

/// Marks of lines that report no error, whatever words are in them.
const REMARKS: [&str; 6] = ["warning", "[note]", "hint:", "log:", "notice:", "detail:"];

/// A line of the log of a process, to follow a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogQuote {
    /// It wrote nothing.
    Nothing,
    /// The last line.
    Last(String),
    /// The line with the cause, or the first error.
    Cause(String),
}

impl fmt::Display for LogQuote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Last(line) => write!(formatter, "; it last wrote: {line}"),
            Self::Cause(line) => write!(formatter, "; it wrote: {line}"),
        }
    }
}

/// The log of a process, which may begin after what others wrote.
pub(super) struct ServerLog {
    path: PathBuf,
    begin: u64,
}

impl ServerLog {
    /// The log of a process that is not started yet.
    pub fn of_next(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            begin: path.metadata().map_or(0, |metadata| metadata.len()),
        }
    }

    /// Quotes the last line.
    pub fn quote_last(&self) -> LogQuote {
        self.last_line().map_or(LogQuote::Nothing, LogQuote::Last)
    }

    /// Quotes the line with the cause, or the first error, or the last line. A program that fails
    /// goes on to say what it removes and where to ask.
    pub fn quote_cause(&self) -> LogQuote {
        let last = self.quote_last();
        match self.error_line() {
            Some(line) if last != LogQuote::Last(line.clone()) => LogQuote::Cause(line),
            _ => last,
        }
    }

    fn error_line(&self) -> Option<String> {
        let head = self.read(self.begin, HEAD_BYTES)?;
        let find = |words: &[&str], others: &[&str]| {
            let mut lines = head.lines().map(str::trim);
            lines.find(|line| {
                let line = line.to_lowercase();
                let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
                has(words) && !has(others)
            })
        };
        let cause = find(&CAUSES, &[]);
        cause.or_else(|| find(&COMPLAINTS, &REMARKS)).map(shorten)
    }

    /// Returns the last line that says something. MariaDB ends with one that does not.
    fn last_line(&self) -> Option<String> {
        let bytes = self.path.metadata().ok()?.len();
        let tail = self.read(bytes.saturating_sub(TAIL_BYTES), TAIL_BYTES)?;
        let mut lines = tail.lines().rev().map(str::trim);
        let line = lines.find(|line| !line.is_empty() && !line.ends_with("Aborting"));
        line.map(shorten)
    }

    fn read(&self, begin: u64, bytes: u64) -> Option<String> {
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(begin)).ok()?;
        let mut text = Vec::new();
        file.take(bytes).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

fn shorten(line: &str) -> String {
    line.chars().take(LINE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(before: &str, written: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, before).unwrap();
        let log = ServerLog::of_next(&path);
        std::fs::write(&path, format!("{before}{written}")).unwrap();
        format!("it failed{}", log.quote_cause())
    }

    #[test]
    fn the_line_with_the_cause_is_quoted_and_not_what_follows_it() {
        let postgresql = "creating directory data/pg_wal ... \n\
            initdb: error: could not create directory \"data/pg_wal\": No space left on device\n\
            initdb: removing data directory \"data\"\n";
        let expected = "it failed; it wrote: initdb: error: could not create directory \
            \"data/pg_wal\": No space left on device";
        assert_eq!(quoted("", postgresql), expected);
        let mariadb = "Installing MariaDB/MySQL system tables in './data' ...\n\
            [ERROR] InnoDB: preallocating 12582912 bytes failed with error 28\n\
            [ERROR] Error writing file './data/a' (Errcode: 28 \"No space left on device\")\n\
            Please report any problems at https://mariadb.org/jira\n";
        let quote = quoted("an earlier error\n", mariadb);
        assert!(
            quote.ends_with("(Errcode: 28 \"No space left on device\")"),
            "{quote}"
        );
        let other = "FATAL: out of luck\nhint\n";
        assert_eq!(quoted("", other), "it failed; it wrote: FATAL: out of luck");
    }

    #[test]
    fn a_warning_is_no_error() {
        let written = "[Warning] Could not increase number of max_open_files to more than 1024\n\
            [ERROR] Unknown storage engine 'x'\nAborting\n";
        let expected = "it failed; it last wrote: [ERROR] Unknown storage engine 'x'";
        assert_eq!(quoted("", written), expected);
    }

    #[test]
    fn without_an_error_the_last_line_is_quoted() {
        let quote = quoted("an error of another\n", "one\ntwo\n\n");
        assert_eq!(quote, "it failed; it last wrote: two");
        assert_eq!(quoted("", ""), "it failed");
    }
}
