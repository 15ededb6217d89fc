//! The log of operations: written by the file system, read afterwards.

use crate::clock::OperationClock;
use crate::flush_watch::{FlushWatch, Watch};
use crate::operation::{LoggedOperation, Operation};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const OPERATIONS_FILE: &str = "operations.jsonl";
const DATA_FILE: &str = "data.bin";
const CLOCK_FILE: &str = "clock.bin";
const WATCH_FILE: &str = "watch.json";

/// Appends operations to the log in a folder.
pub(crate) struct LogWriter {
    operations: BufWriter<File>,
    data: BufWriter<File>,
    data_bytes: u64,
    clock: OperationClock,
    /// The flushes that are under way.
    pub(crate) flushes: FlushWatch,
    watch_file: PathBuf,
    is_finished: bool,
    /// The first error, after which the log would not be whole.
    failure: Option<io::ErrorKind>,
}

impl LogWriter {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let create = |name: &str| File::create_new(folder.join(name)).map(BufWriter::new);
        Ok(Self {
            operations: create(OPERATIONS_FILE)?,
            data: create(DATA_FILE)?,
            data_bytes: 0,
            clock: OperationClock::create(&folder.join(CLOCK_FILE))?,
            flushes: FlushWatch::default(),
            watch_file: folder.join(WATCH_FILE),
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
        self.failure.get_or_insert(error.kind());
    }

    fn check(&self) -> io::Result<()> {
        match self.failure {
            Some(kind) => Err(kind.into()),
            None if self.is_finished => Err(io::Error::other("the recording has ended")),
            None => Ok(()),
        }
    }

    fn note(&mut self, written: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &written {
            self.failure.get_or_insert(error.kind());
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
        std::fs::write(&self.watch_file, serde_json::to_vec(&self.flushes.watch)?)?;
        self.failure.map_or(Ok(()), |kind| Err(kind.into()))
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
        let clock = OperationClock::open(&folder.join(CLOCK_FILE))?;
        let mut operations = Vec::new();
        for line in BufReader::new(File::open(folder.join(OPERATIONS_FILE))?).lines() {
            operations.push(serde_json::from_str(&line?)?);
        }
        let expected = clock.operations();
        if operations.len() as u64 != expected {
            return Err(io::Error::other(format!(
                "{}: {} operations, but the clock says {expected}",
                folder.join(OPERATIONS_FILE).display(),
                operations.len(),
            )));
        }
        let mut data = Vec::new();
        File::open(folder.join(DATA_FILE))?.read_to_end(&mut data)?;
        let recording = Self {
            operations,
            base: usize::try_from(clock.base()).unwrap_or(usize::MAX),
            watch: read_watch(folder)?,
            data,
        };
        recording.check(folder)?;
        Ok(recording)
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

    fn check(&self, folder: &Path) -> io::Result<()> {
        let complete = self
            .operations
            .iter()
            .all(|logged| match &logged.operation {
                Operation::Write { length, .. } => {
                    self.data(&logged.operation).len() as u64 == *length
                }
                _ => true,
            });
        if complete && self.base <= self.operations.len() {
            return Ok(());
        }
        let file = folder.join(DATA_FILE);
        Err(io::Error::other(format!("{}: too short", file.display())))
    }
}

/// Reads how far calls were seen; recordings of earlier versions saw none.
fn read_watch(folder: &Path) -> io::Result<Watch> {
    let path = folder.join(WATCH_FILE);
    match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Watch::default()),
        text => Ok(serde_json::from_slice(&text?)?),
    }
}

/// Opens the clock of the log in a folder.
///
/// # Errors
/// The file system's own.
pub fn open_clock(folder: &Path) -> io::Result<OperationClock> {
    OperationClock::open(&folder.join(CLOCK_FILE))
}
