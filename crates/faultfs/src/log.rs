//! The log of operations: written by the file system, read afterwards.

use crate::check::{LogCheck, LogDefect};
use crate::clock::OperationClock;
use crate::flush_watch::{FlushWatch, Watch};
use crate::operation::{LoggedOperation, Operation};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use trueput_host::private_files::create_file;
use trueput_record::{Error, regular_file};

const OPERATIONS_FILE: &str = "operations.jsonl";
const DATA_FILE: &str = "data.bin";
const CLOCK_FILE: &str = "clock.bin";
const WATCH_FILE: &str = "watch.json";

/// Bytes of the clock's file at most.
const CLOCK_BYTES: u64 = 4096;

/// Bytes of the file of what was seen at most.
const WATCH_BYTES: u64 = 64 << 10;

/// The permitted number of operations is the limit on a file divided by this. Real ones take about
/// as much.
const BYTES_PER_OPERATION: u64 = 100;

/// Appends operations to the log in a folder.
pub(crate) struct LogWriter {
    operations: BufWriter<File>,
    data: BufWriter<File>,
    data_bytes: u64,
    clock: OperationClock,
    /// The flushes that are under way.
    pub(crate) flushes: FlushWatch,
    watch_file: File,
    is_finished: bool,
    /// The first error, after which the log would not be whole.
    failure: Option<(io::ErrorKind, String)>,
}

impl LogWriter {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        // The server of the file system has no umask.
        let create = |name: &str| create_file(&folder.join(name)).map(BufWriter::new);
        Ok(Self {
            operations: create(OPERATIONS_FILE)?,
            data: create(DATA_FILE)?,
            data_bytes: 0,
            clock: OperationClock::create(&folder.join(CLOCK_FILE))?,
            flushes: FlushWatch::default(),
            watch_file: create_file(&folder.join(WATCH_FILE))?,
            is_finished: false,
            failure: None,
        })
    }

    /// Appends an operation. The caller has applied it and has not replied yet.
    pub(crate) fn append(&mut self, operation: Operation) -> io::Result<()> {
        self.check()?;
        let phase = self.clock.phase();
        let line = serde_json::to_string(&LoggedOperation { operation, phase })?;
        let written = self.operations.write_all(line.as_bytes());
        let written = written.and_then(|()| self.operations.write_all(b"\n"));
        self.note(written)?;
        self.clock.tick();
        Ok(())
    }

    /// Returns the number of operations that were logged.
    pub(crate) fn length(&self) -> usize {
        usize::try_from(self.clock.operations()).unwrap_or(usize::MAX)
    }

    /// Notes that the log is not whole, because something could not be seen.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.failure
            .get_or_insert_with(|| (error.kind(), error.to_string()));
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some((kind, _)) => Err((*kind).into()),
            None if self.is_finished => Err(io::Error::other("the recording has ended")),
            None => Ok(()),
        }
    }

    fn note(&mut self, written: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &written {
            self.fail(error);
        }
        written
    }

    /// Appends the data of a write and returns its position in the data file.
    pub(crate) fn append_data(&mut self, data: &[u8]) -> io::Result<u64> {
        self.check()?;
        let position = self.data_bytes;
        let written = self.data.write_all(data);
        self.note(written)?;
        self.data_bytes += data.len() as u64;
        Ok(position)
    }

    /// Declares the operations so far to be the initial state of the folder.
    pub(crate) fn mark_base(&self) {
        self.clock.mark_base();
    }

    /// Writes what is buffered. A process that still has a file open cannot append any more.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.is_finished = true;
        self.data.flush()?;
        self.operations.flush()?;
        let watch = serde_json::to_vec(&self.flushes.watch)?;
        self.watch_file.set_len(0)?;
        self.watch_file.write_all_at(&watch, 0)?;
        let failure = self.failure.clone();
        failure.map_or(Ok(()), |(kind, words)| Err(io::Error::new(kind, words)))
    }
}

/// A log that was read back.
#[derive(Debug)]
pub struct Recording {
    /// The operations, in the order of effect.
    pub operations: Vec<LoggedOperation>,
    /// The number of operations that describe the folder as it was when recording began.
    pub base: usize,
    /// How far the calls behind flushes were seen.
    pub watch: Watch,
    /// The data of all writes.
    data: Vec<u8>,
}

impl Recording {
    /// Reads the log of a folder.
    ///
    /// # Errors
    /// If a file is missing or damaged, or if the log is shorter than its clock says.
    pub fn read(folder: &Path) -> io::Result<Self> {
        Self::read_checked(folder, Path::new(""), None)
    }

    /// Reads the log in `within` of a folder of unknown origin. Links are not followed, and no file
    /// may have more than `max_bytes`.
    ///
    /// # Errors
    /// As [`Recording::read`]; also if a name, link or number in it leads out of the folder in
    /// which the operations are applied, or takes more memory than the limit suggests.
    pub fn read_foreign(folder: &Path, within: &Path, max_bytes: u64) -> io::Result<Self> {
        Self::read_checked(folder, within, Some(max_bytes))
    }

    fn read_checked(folder: &Path, within: &Path, max_bytes: Option<u64>) -> io::Result<Self> {
        let read = |name: &str, most| {
            let read = regular_file::read(folder, &within.join(name), most);
            read.map_err(io::Error::other)
        };
        let clock = OperationClock::read(&read(CLOCK_FILE, CLOCK_BYTES)?);
        let most = max_bytes.unwrap_or(u64::MAX);
        let data = read(DATA_FILE, most)?;
        let mut check = LogCheck::new(data.len() as u64, max_bytes);
        let place = folder.join(within).join(OPERATIONS_FILE);
        let wrong = |reason: String| io::Error::other(format!("{}{reason}", place.display()));
        let mut operations: Vec<LoggedOperation> = Vec::new();
        let text = read(OPERATIONS_FILE, most)?;
        for (index, line) in text.split_inclusive(is_end).enumerate() {
            let number = index + 1;
            if number as u64 > most / BYTES_PER_OPERATION {
                return Err(wrong(format!(": more than {index} operations")));
            }
            let read = serde_json::from_slice(line);
            let logged = read
                .map_err(|error| LogDefect::Syntax(error.to_string()))
                .and_then(|logged: LoggedOperation| {
                    check.add(&logged.operation)?;
                    Ok(logged)
                });
            operations.push(logged.map_err(|defect| wrong(format!(":{number}: {defect}")))?);
        }
        let found = operations.len() as u64;
        let [expected, base] = clock;
        if found != expected || base > found {
            let reason =
                format!(": {found} operations, but the clock says {expected} after {base}");
            return Err(wrong(reason));
        }
        let base = usize::try_from(base).unwrap_or(usize::MAX);
        let watch = read_watch(folder, within)?;
        Ok(Self {
            watch,
            ..Self::new(operations, base, data)
        })
    }

    /// Creates a recording from operations and their data.
    #[must_use]
    pub fn new(operations: Vec<LoggedOperation>, base: usize, data: Vec<u8>) -> Self {
        Self {
            operations,
            base,
            watch: Watch::default(),
            data,
        }
    }

    /// Returns the data of a write; empty for any other operation.
    #[must_use]
    pub fn data(&self, operation: &Operation) -> &[u8] {
        match operation {
            Operation::Write {
                data_at, length, ..
            } => {
                let start = usize::try_from(*data_at).unwrap_or(usize::MAX);
                let length = usize::try_from(*length).unwrap_or(usize::MAX);
                let end = start.saturating_add(length);
                self.data.get(start..end).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

/// Returns whether a byte ends a line.
fn is_end(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Reads how far calls were seen; recordings of earlier versions saw none. The file is empty until
/// the recording ends.
fn read_watch(folder: &Path, within: &Path) -> io::Result<Watch> {
    match regular_file::read(folder, &within.join(WATCH_FILE), WATCH_BYTES) {
        Ok(text) if text.is_empty() => Err(io::Error::other(format!(
            "{}: the recording did not end",
            folder.join(within).join(WATCH_FILE).display()
        ))),
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(Watch::default())
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Opens the clock of the log in a folder.
///
/// # Errors
/// The file system's own.
pub fn open_clock(folder: &Path) -> io::Result<OperationClock> {
    OperationClock::open(&folder.join(CLOCK_FILE))
}
