//! The mistakes in the settings of `custom`.

use super::limits::{MAX_KINDS, MAX_SCAN_RECORDS, MAX_STEPS, MAX_VALUE_BYTES};
use crate::generate::key::{KeyError, MAX_KEY_BYTES};
use crate::keyed::action::Action;
use crate::keyed::error::RecordError;
use trueput_record::value::format_bytes;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CustomError {
    #[error(
        "unknown operation '{text}'{hint}; choose from {}(N)",
        Action::ALL.map(Action::word).join(", ")
    )]
    UnknownOperation { text: String, hint: String },
    #[error(
        "'{text}' is not a scan; write the number of records, 1 to {MAX_SCAN_RECORDS}, as in scan(50)"
    )]
    ScanLength { text: String },
    #[error(
        "'{text}' has no weight; write operation:weight, as in {}",
        with_weight(.text)
    )]
    NoWeight { text: String },
    #[error("'{names}' has more than {MAX_STEPS} operations; split it")]
    TooManyOperations { names: String },
    #[error(
        "'{weight}' is not the weight of {names}; write a number from 0 to 1e9, as in {names}:70"
    )]
    Weight { weight: String, names: String },
    #[error("'{part}' is not repeated 1 to {MAX_STEPS} times; write {name}*8, for example")]
    Repeats { part: String, name: String },
    #[error("{transaction} is there twice; give it once, with the sum of the weights")]
    Twice { transaction: String },
    #[error("there are more than {MAX_KINDS} transactions; leave the rarest out")]
    TooManyTransactions,
    #[error("no operation has a weight above 0; give one, as in get:70 update:30")]
    NoTransaction,

    #[error("{0}")]
    Size(String),
    #[error(
        "unknown distribution of sizes '{name}'{hint}; write one size, uniform({example}), \
         zipfian({example}) or lognormal({example})"
    )]
    UnknownSizes {
        name: String,
        hint: String,
        example: &'static str,
    },
    #[error("'{text}' has no range; write two sizes with .. between, as in {name}({example})")]
    NoRange {
        text: String,
        name: String,
        example: &'static str,
    },
    #[error("the range of '{text}' is reversed; write {name}({second}..{first})")]
    ReversedRange {
        text: String,
        name: String,
        first: String,
        second: String,
    },
    #[error("keys of {bytes} bytes are too short{of}; give {min_bytes} to {MAX_KEY_BYTES} bytes")]
    ShortKeys {
        bytes: u64,
        /// What has that minimum, after a space.
        of: &'static str,
        min_bytes: usize,
    },
    #[error(
        "keys of {bytes} bytes{derivation} are too long; give {min_bytes} to {MAX_KEY_BYTES} bytes"
    )]
    LongKeys {
        bytes: u64,
        /// How the length follows from the setting, between commas.
        derivation: &'static str,
        min_bytes: usize,
    },
    #[error(
        "values of {} are too long; {} is the maximum",
        format_bytes(*.bytes),
        format_bytes(MAX_VALUE_BYTES)
    )]
    LongValues { bytes: u64 },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Key(#[from] KeyError),

    #[error("histogram needs a file of weights; write histogram(FILE)")]
    NoHistogram,
    #[error("'{text}' takes no argument; write {name}")]
    NoArgument { text: String, name: String },
    #[error(
        "unknown distribution '{name}'{hint}; choose from uniform, zipfian, zipfian(0.8), latest, \
         hotspot(20%..80%), pareto, sequential, oldest, histogram(FILE)"
    )]
    UnknownDistribution { name: String, hint: String },
    #[error("'{text}' has no exponent between 0 and 1, both excluded; write zipfian(0.8)")]
    Exponent { text: String },
    #[error(
        "'{text}' is not a share of the records and one of the operations; write \
         hotspot(20%..80%) for 20 % of the records and 80 % of the operations"
    )]
    Hotspot { text: String },
    #[error("the histogram cannot be read: {0}")]
    UnreadableHistogram(String),
    #[error("{file} is not text; give a file with a weight on each line")]
    HistogramIsNoText { file: &'static str },
    #[error("{file}:{line}: '{shown}' is not a weight; write a number of 0 or more")]
    HistogramWeight {
        file: &'static str,
        line: usize,
        shown: String,
    },
    #[error(
        "{file} has no weight above 0; write a weight on each line, one for each equal slice of \
         the records"
    )]
    EmptyHistogram { file: &'static str },

    #[error(
        "at a fixed rate the arrivals, not think_time={think_time}, decide when a transaction \
         begins; leave think_time or rate out"
    )]
    ThinksAtRate { think_time: f64 },
    #[error(
        "distribution={name} chooses by age and working_set={working_set} the first records; \
         leave one of them out"
    )]
    AgeOfPart {
        name: &'static str,
        working_set: f64,
    },
    #[error(
        "distribution=oldest is a queue: give only insert, get, scan(N) and delete, or another \
         distribution"
    )]
    QueueOverwrites,
    #[error(
        "with deletes it cannot verify what a crash lost: remove delete from operations, or \
         remove crash_and_recover"
    )]
    CrashWithDeletes,
}

/// What a transaction without `:` and a weight is meant to be: `get:70` for `get`, `get=70` and
/// `get70`.
fn with_weight(text: &str) -> String {
    let name = text.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let weight = &text[name.len()..];
    let name = name.trim_end_matches('=');
    match weight.parse::<f64>() {
        _ if name.is_empty() => "get:70".to_owned(),
        Ok(_) if !name.ends_with('*') => format!("{name}:{weight}"),
        _ => format!("{}:70", text.trim_end_matches('=')),
    }
}
