//! The number of logged operations, in memory that the file system shares with workers.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use trueput_host::shared_counters::SharedCounters;

const OPERATIONS: usize = 0;
const BASE: usize = 1;
const PHASE: usize = 2;
const WORDS: usize = 3;

/// A clock that ticks with each logged operation.
#[derive(Debug)]
pub struct OperationClock {
    words: SharedCounters,
}

impl OperationClock {
    /// Creates the clock's file, at zero.
    ///
    /// # Errors
    /// The file system's own.
    pub fn create(path: &Path) -> io::Result<Self> {
        let words = SharedCounters::create(path, WORDS)?;
        Ok(Self { words })
    }

    /// Opens a clock that another process created.
    ///
    /// # Errors
    /// The file system's own.
    pub fn open(path: &Path) -> io::Result<Self> {
        let words = SharedCounters::open(path, WORDS)?;
        Ok(Self { words })
    }

    /// Reads the operations and the base of a clock from the bytes of its file; 0 where these are
    /// missing.
    pub(crate) fn read(bytes: &[u8]) -> [u64; 2] {
        [OPERATIONS, BASE].map(|word| {
            let words = bytes.as_chunks().0;
            words.get(word).map_or(0, |word| u64::from_ne_bytes(*word))
        })
    }

    /// Returns the number of operations that were logged.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.words.get(OPERATIONS).load(Ordering::SeqCst)
    }

    /// Returns the number of operations that describe the folder as it was when recording began.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.words.get(BASE).load(Ordering::SeqCst)
    }

    /// Sets the phase that is logged with the next operations.
    pub fn set_phase(&self, phase: u32) {
        self.words
            .get(PHASE)
            .store(u64::from(phase), Ordering::SeqCst);
    }

    pub(crate) fn phase(&self) -> u32 {
        u32::try_from(self.words.get(PHASE).load(Ordering::SeqCst)).unwrap_or(u32::MAX)
    }

    pub(crate) fn tick(&self) {
        self.words.get(OPERATIONS).fetch_add(1, Ordering::SeqCst);
    }

    /// Declares the operations so far to be persistent: recording begins now.
    pub fn mark_base(&self) {
        self.words
            .get(BASE)
            .store(self.operations(), Ordering::SeqCst);
    }
}
