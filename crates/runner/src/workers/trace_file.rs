//! The trace that a trial has recorded: what its workers noted, in the order of time, as the CSV
//! that the workload `trace` replays.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a worker did with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Get,
    Put,
    Delete,
    Scan,
}

impl OperationKind {
    const ALL: [Self; 4] = [Self::Get, Self::Put, Self::Delete, Self::Scan];

    fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Scan => "scan",
        }
    }
}

/// An operation as a worker's buffer holds it: 22 bytes and the key. The numbers have their lowest
/// byte first: 8 bytes of time, 1 of kind, 1 that is not 0 where a transaction begins, 8 of size, 4
/// of the key's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedOperation<'k> {
    /// When its transaction began, on the machine's monotonic clock, nanoseconds.
    pub time_ns: u64,
    pub kind: OperationKind,
    /// Whether it is the first of its transaction.
    pub begins: bool,
    /// Bytes of the value, or records of the scan.
    pub size: u64,
    pub key: &'k [u8],
}

const HEADER_BYTES: usize = 22;
const SIZE_AT: usize = 10;

impl<'k> RecordedOperation<'k> {
    /// Writes it at the start of `room`, and returns its bytes; `None` if they do not fit.
    pub fn write(&self, room: &mut [u8]) -> Option<usize> {
        let length = HEADER_BYTES + self.key.len();
        let room = room.get_mut(..length)?;
        let (header, key) = room.split_at_mut(HEADER_BYTES);
        header[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        header[8] = self.kind as u8;
        header[9] = u8::from(self.begins);
        header[SIZE_AT..SIZE_AT + 8].copy_from_slice(&self.size.to_le_bytes());
        header[SIZE_AT + 8..].copy_from_slice(&(self.key.len() as u32).to_le_bytes());
        key.copy_from_slice(self.key);
        Some(length)
    }

    /// Changes the size of the operation that `room` begins with.
    pub fn set_size(room: &mut [u8], size: u64) {
        room[SIZE_AT..SIZE_AT + 8].copy_from_slice(&size.to_le_bytes());
    }

    /// Reads the operation that `bytes` begin with, and returns the bytes after it.
    fn read(bytes: &'k [u8]) -> Option<(Self, &'k [u8])> {
        let (time_ns, rest) = bytes.split_first_chunk()?;
        let (&[kind, begins], rest) = rest.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let operation = Self {
            time_ns: u64::from_le_bytes(*time_ns),
            kind: *OperationKind::ALL.get(usize::from(kind))?,
            begins: begins != 0,
            size: u64::from_le_bytes(*size),
            key,
        };
        Some((operation, rest))
    }
}

/// The file in which a worker leaves its part of a trace. It is empty if there was no room for it.
pub(crate) fn part_path(folder: &Path, worker: u32) -> PathBuf {
    folder.join(format!("{worker}.part"))
}

/// The trace that was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WrittenTrace {
    /// Requests in it: operations alone, and transactions.
    pub requests: u64,
    /// Whether a worker's buffer was full before the trial ended.
    pub is_cut: bool,
}

/// Writes the parts of all workers as one trace.
///
/// # Errors
/// The error of the operating system; that of a full disk if a worker had no room for its part.
pub(crate) fn merge(folder: &Path, target: &Path) -> io::Result<WrittenTrace> {
    let paths = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let parts = paths.iter().map(std::fs::read);
    let parts = parts.collect::<io::Result<Vec<_>>>()?;
    let mut transactions: Vec<Vec<RecordedOperation<'_>>> = Vec::new();
    let mut written = WrittenTrace::default();
    // Behind the end of a full part the requests of its worker are missing: the trace ends there.
    let mut end_ns = u64::MAX;
    for part in &parts {
        let Some((is_full, mut rest)) = part.split_first() else {
            return Err(io::ErrorKind::StorageFull.into());
        };
        let first = transactions.len();
        while let Some((operation, after)) = RecordedOperation::read(rest) {
            match transactions.last_mut().filter(|_| !operation.begins) {
                Some(transaction) => transaction.push(operation),
                None => transactions.push(vec![operation]),
            }
            rest = after;
        }
        if *is_full != 0 {
            written.is_cut = true;
            let last = transactions[first..].last();
            end_ns = end_ns.min(last.map_or(0, |last| last[0].time_ns));
        }
    }
    transactions.retain(|transaction| transaction[0].time_ns <= end_ns);
    transactions.sort_by_key(|transaction| transaction[0].time_ns);
    written.requests = transactions.len() as u64;
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = BufWriter::new(File::create_new(target)?);
    write_all(&mut file, &transactions, written.is_cut)?;
    file.flush()?;
    Ok(written)
}

fn write_all(
    file: &mut impl Write,
    transactions: &[Vec<RecordedOperation<'_>>],
    is_cut: bool,
) -> io::Result<()> {
    if is_cut {
        writeln!(file, "# A worker's buffer was full before the trial ended.")?;
    }
    writeln!(file, "time,operation,key,size,transaction")?;
    let first_ns = transactions.first().map_or(0, |first| first[0].time_ns);
    for (number, transaction) in transactions.iter().enumerate() {
        let passed_ns = transaction[0].time_ns - first_ns;
        let (seconds, rest_ns) = (passed_ns / 1_000_000_000, passed_ns % 1_000_000_000);
        let mut line = |word: &str, operation: &RecordedOperation<'_>, number: &str| {
            let key = key_text(operation.key);
            let size = match operation.size {
                0 => String::new(),
                size => size.to_string(),
            };
            writeln!(file, "{seconds}.{rest_ns:09},{word},{key},{size},{number}")
        };
        match one_word(transaction) {
            Some(word) => line(word, &transaction[transaction.len() - 1], "")?,
            None => {
                for operation in transaction {
                    line(operation.kind.word(), operation, &number.to_string())?;
                }
            }
        }
    }
    Ok(())
}

/// The one operation that a transaction is, if it is one: a get and a put of one key are an update,
/// and two gets and a put a read-modify-write.
fn one_word(transaction: &[RecordedOperation<'_>]) -> Option<&'static str> {
    use OperationKind::{Get, Put};
    let key = transaction.first()?.key;
    if transaction.iter().any(|operation| operation.key != key) {
        return None;
    }
    let kinds = transaction.iter().map(|operation| operation.kind);
    match *kinds.collect::<Vec<_>>() {
        [alone] => Some(alone.word()),
        [Get, Put] => Some("update"),
        [Get, Get, Put] => Some("read-modify-write"),
        _ => None,
    }
}

/// A key as text, if it is plain, or as `0x` and hexadecimal digits.
fn key_text(key: &[u8]) -> Cow<'_, str> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b',' | b'"' | b'#');
    match std::str::from_utf8(key) {
        Ok(text) if key.iter().all(is_plain) && !text.starts_with("0x") => text.into(),
        _ => {
            let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{digits}").into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(operations: &[(u64, OperationKind, bool, u64, &str)]) -> Vec<u8> {
        let mut bytes = vec![0];
        for (time_ns, kind, begins, size, key) in operations {
            let operation = RecordedOperation {
                time_ns: *time_ns,
                kind: *kind,
                begins: *begins,
                size: *size,
                key: key.as_bytes(),
            };
            let mut room = [0; 64];
            let length = operation.write(&mut room).unwrap();
            assert_eq!(operation.write(&mut room[..length - 1]), None);
            assert_eq!(
                RecordedOperation::read(&room),
                Some((operation, &room[length..]))
            );
            bytes.extend(&room[..length]);
        }
        bytes
    }

    #[test]
    fn parts_become_one_trace_in_the_order_of_time() {
        use OperationKind::{Delete, Get, Put, Scan};
        let folder = tempfile::tempdir().unwrap();
        let first = [
            (5_000_000_000, Get, true, 10, "a"),
            (5_000_000_000, Put, false, 12, "a"),
            (6_500_000_001, Get, true, 0, "b,c"),
            (6_500_000_001, Put, false, 7, "a"),
        ];
        let second = [
            (5_500_000_000, Scan, true, 3, "\0"),
            (7_000_000_000, Get, true, 4, "0x"),
            (7_000_000_000, Get, false, 4, "0x"),
            (7_000_000_000, Put, false, 4, "0x"),
            (8_000_000_000, Delete, true, 0, "d"),
        ];
        std::fs::write(part_path(folder.path(), 0), write(&first)).unwrap();
        std::fs::write(part_path(folder.path(), 2), write(&second)).unwrap();
        let results = tempfile::tempdir().unwrap();
        let target = results.path().join("traces/1.csv");
        let written = merge(folder.path(), &target).unwrap();
        assert_eq!((written.requests, written.is_cut), (5, false));
        let expected = "time,operation,key,size,transaction\n\
                        0.000000000,update,a,12,\n\
                        0.500000000,scan,0x00,3,\n\
                        1.500000001,get,0x622c63,,2\n\
                        1.500000001,put,a,7,2\n\
                        2.000000000,read-modify-write,0x3078,4,\n\
                        3.000000000,delete,d,,\n";
        assert_eq!(std::fs::read_to_string(target).unwrap(), expected);
    }

    #[test]
    fn no_trace_is_made_without_the_part_of_a_worker_that_had_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let part = write(&[(0, OperationKind::Get, true, 10, "a")]);
        std::fs::write(part_path(folder.path(), 0), part).unwrap();
        std::fs::write(part_path(folder.path(), 1), "").unwrap();
        let target = folder.path().join("1.csv");
        let error = merge(folder.path(), &target).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!target.exists());
    }
}
