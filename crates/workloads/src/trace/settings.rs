//! The settings of `trace`.

use super::error::TraceError;
use super::grammar::{FormatChoice, MAX_SCAN_RECORDS};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::static_text::intern;
use trueput_engine::{choices, parameters};

/// The setting that names a file.
pub(super) const FILE: &str = "file";

/// The path of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TraceFile(pub(super) &'static str);

impl TraceFile {
    fn parse(text: &str) -> Result<Self, TraceError> {
        match text {
            "" => Err(TraceError::NoFile),
            path => Ok(Self(intern(path))),
        }
    }
}

choices! {
    /// When requests are made.
    pub(super) enum Pace {
        Recorded = "recorded",
        Closed = "closed",
    }
}

choices! {
    /// The keys that are loaded before the replay.
    pub(super) enum LoadedKeys {
        Needed = "needed",
        All = "all",
        None = "none",
    }
}

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// Trace to replay; example: a small one that is part of the program.
        file: Text<TraceFile> = "example" by TraceFile::parse as "a path, or example",
        /// Format of the file.
        format: Choice<FormatChoice> = Auto,
        /// When requests are made. recorded: at the trace's own times, as an open loop. closed:
        /// each worker makes the next one when the last has ended, or at the run's rate.
        pace: Choice<Pace> = Recorded,
        /// How many times as fast as recorded.
        speed: Fraction = 1.0 in 0.000_1..=1_000_000.0,
        /// Requests to replay, the first ones of the file; 0: all.
        requests: Integer = 0 in 0.., unit "requests",
        /// Keys to load before the replay. needed: those that begin with a get, update, scan or
        /// delete. all: also those that begin with a put or insert. none: no key.
        load: Choice<LoadedKeys> = Needed,
        /// Size of values whose size the trace does not state.
        value_bytes: Bytes = 100 B in (MIN_VALUE_BYTES as u64) B..=1 GiB,
        /// Records of a scan whose length the trace does not state.
        scan_records: Integer<u32> = 1 in 1..=(MAX_SCAN_RECORDS as i64), unit "records",
        /// Size of the values after compression, as a percentage of their size.
        compressibility: Integer<u8> = 50 in 1..=100, unit "%",
        /// Records per transaction of the load.
        loadbatchsize: Integer = 1000 in 1..=1_000_000, unit "records",
    }
}
