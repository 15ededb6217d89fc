//! The mistakes in the settings of `custom`.

use super::limits::{MAX_DELETED_RECORDS, MAX_KINDS, MAX_SCAN_RECORDS, MAX_STEPS, MAX_VALUE_BYTES};
use crate::generate::key::{KeyError, MAX_KEY_BYTES};
use crate::keyed::action::Action;
use crate::keyed::error::RecordError;
use trueput_record::value::{ParseBytesError, format_bytes};

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CustomError {
    /// A step of a transaction is no known operation.
    #[error(
        "unknown operation '{text}'{hint}; choose from {}(N), delete-range(N), first, last",
        Action::ALL.map(Action::word).join(", ")
    )]
    UnknownOperation {
        /// The text as given.
        text: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// A transaction lacks an operation.
    #[error("an operation is missing {place} in '{text}'; write one, as in get+update:20")]
    NoOperation {
        /// Where it is missing.
        place: &'static str,
        /// The transaction as given.
        text: String,
    },
    /// A scan has no length, or one out of range.
    #[error(
        "'{text}' is not a scan; write the number of records, 1 to {MAX_SCAN_RECORDS}, as in \
         scan(50)"
    )]
    ScanLength {
        /// The text as given.
        text: String,
    },
    /// A range of deletes has no length, or one out of range.
    #[error(
        "'{text}' is not a range of deletes; write the number of records, 1 to \
         {MAX_DELETED_RECORDS}, as in delete-range(8)"
    )]
    DeleteLength {
        /// The text as given.
        text: String,
    },
    /// A transaction has no weight.
    #[error(
        "'{text}' has no weight; write operation:weight, as in {}",
        with_weight(.text)
    )]
    NoWeight {
        /// The text as given.
        text: String,
    },
    /// A transaction has too many operations.
    #[error("'{names}' has more than {MAX_STEPS} operations; split it")]
    TooManyOperations {
        /// The operations as given.
        names: String,
    },
    /// A weight is not a number in range.
    #[error(
        "'{weight}' is not the weight of {names}; write a number from 0 to 1e9, as in {names}:70"
    )]
    Weight {
        /// The text in its place.
        weight: String,
        /// The transaction's operations.
        names: String,
    },
    /// The count of an operation is not a number in range.
    #[error("'{part}' is not repeated 1 to {MAX_STEPS} times; write {name}*8, for example")]
    Repeats {
        /// The operation with its count, as given.
        part: String,
        /// The operation.
        name: String,
    },
    /// A transaction is given twice.
    #[error("{transaction} is there twice; give it once, with the sum of the weights")]
    Twice {
        /// The transaction.
        transaction: String,
    },
    /// The mix has too many transactions.
    #[error("there are more than {MAX_KINDS} transactions; leave the rarest out")]
    TooManyTransactions,
    /// No transaction has a weight above 0.
    #[error("no operation has a weight above 0; give one, as in get:70 update:30")]
    NoTransaction,

    /// A size cannot be read.
    #[error(transparent)]
    Size(#[from] ParseBytesError),
    /// The distribution of sizes is not known.
    #[error(
        "unknown distribution of sizes '{name}'{hint}; write one size, uniform({example}), \
         zipfian({example}) or lognormal({example})"
    )]
    UnknownSizes {
        /// The name as given.
        name: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
        /// A range of sizes that would be right.
        example: &'static str,
    },
    /// A distribution of sizes has no range.
    #[error("'{text}' has no range; write two sizes with .. between, as in {name}({example})")]
    NoRange {
        /// The text as given.
        text: String,
        /// The distribution.
        name: String,
        /// A range of sizes that would be right.
        example: &'static str,
    },
    /// The range of a distribution of sizes begins above its end.
    #[error("the range of '{text}' is reversed; write {name}({second}..{first})")]
    ReversedRange {
        /// The text as given.
        text: String,
        /// The distribution.
        name: String,
        /// The first size, as given.
        first: String,
        /// The second size, as given.
        second: String,
    },
    /// Keys would be shorter than the minimum.
    #[error("keys of {bytes} bytes are too short{of}; give {min_bytes} to {MAX_KEY_BYTES} bytes")]
    ShortKeys {
        /// The shortest key.
        bytes: u64,
        /// What has that minimum, after a space.
        of: &'static str,
        /// The minimum.
        min_bytes: usize,
    },
    /// Keys would be longer than the maximum.
    #[error(
        "keys of {bytes} bytes{derivation} are too long; give {min_bytes} to {MAX_KEY_BYTES} bytes"
    )]
    LongKeys {
        /// The longest key.
        bytes: u64,
        /// How the length follows from the setting, between commas.
        derivation: &'static str,
        /// The minimum.
        min_bytes: usize,
    },
    /// Values would be longer than the maximum.
    #[error(
        "values of {} are too long; {} is the maximum",
        format_bytes(*.bytes),
        format_bytes(MAX_VALUE_BYTES)
    )]
    LongValues {
        /// The longest value.
        bytes: u64,
    },
    /// The records do not fit their size, their check or the engine.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The key format cannot be made.
    #[error(transparent)]
    Key(#[from] KeyError),

    /// A histogram is given without its file.
    #[error("histogram needs a file of weights; write histogram(FILE)")]
    NoHistogram,
    /// A distribution that takes no argument has one.
    #[error("'{text}' takes no argument; write {name}")]
    NoArgument {
        /// The text as given.
        text: String,
        /// The distribution.
        name: String,
    },
    /// The distribution of records is not known.
    #[error(
        "unknown distribution '{name}'{hint}; choose from uniform, zipfian, zipfian(0.8), latest, \
         hotspot(20%..80%), pareto, sequential, oldest, histogram(FILE)"
    )]
    UnknownDistribution {
        /// The name as given.
        name: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// The exponent of a Zipfian distribution is out of range.
    #[error("'{text}' has no exponent between 0 and 1, both excluded; write zipfian(0.8)")]
    Exponent {
        /// The text as given.
        text: String,
    },
    /// The two shares of a hotspot cannot be read.
    #[error(
        "'{text}' is not a share of the records and one of the operations; write \
         hotspot(20%..80%) for 20 % of the records and 80 % of the operations"
    )]
    Hotspot {
        /// The text as given.
        text: String,
    },
    /// The hot share of the records is less than one of them.
    #[error(
        "{} % of {records} records are none; give a larger share, as in hotspot(20%..80%), or more \
         records",
        short(*.percent)
    )]
    NoHotRecord {
        /// The share, percent.
        percent: f64,
        /// The records that are chosen from.
        records: u64,
    },
    /// All records are hot.
    #[error(
        "all records are hot, so the other {} % of the operations have none: give fewer than 100 % \
         of the records, as in hotspot(20%..80%), or uniform",
        short(*.percent)
    )]
    NoColdRecord {
        /// The share of the operations that is left, percent.
        percent: f64,
    },
    /// A histogram's file cannot be read; the text of the error.
    #[error("the histogram cannot be read: {0}")]
    UnreadableHistogram(String),
    /// A histogram's file is not text.
    #[error("{file} is not text; give a file with a weight on each line")]
    HistogramIsNoText {
        /// The file.
        file: &'static str,
    },
    /// A line of a histogram's file is not a weight.
    #[error("{file}:{line}: '{shown}' is not a weight; write a number of 0 or more")]
    HistogramWeight {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// The line as given.
        shown: String,
    },
    /// A histogram's file has no weight above 0.
    #[error(
        "{file} has no weight above 0; write a weight on each line, one for each equal slice of \
         the records"
    )]
    EmptyHistogram {
        /// The file.
        file: &'static str,
    },
    /// The sum of a histogram's weights is infinite.
    #[error("the weights of {file} are too large: their sum exceeds 1.8e308; write smaller ones")]
    LargeWeights {
        /// The file.
        file: &'static str,
    },

    /// A think time is given beside a rate.
    #[error(
        "at a fixed rate the arrivals, not think_time={think_time}, decide when a transaction \
         begins; leave think_time or rate out"
    )]
    ThinksAtRate {
        /// The think time, seconds.
        think_time: f64,
    },
    /// A distribution by age is given beside a working set.
    #[error(
        "distribution={name} chooses by age and working_set={working_set} the first records; \
         leave one of them out"
    )]
    AgeOfPart {
        /// The distribution.
        name: &'static str,
        /// The share of the records that is used.
        working_set: f64,
    },
    /// A queue has operations that overwrite records.
    #[error(
        "distribution=oldest is a queue: give only insert, get, first, last, scan(N), delete and \
         delete-range(N), or another distribution"
    )]
    QueueOverwrites,
    /// An end of a queue is sought where there is none.
    #[error(
        "{operation} seeks an end of a queue: give distribution=oldest, or scan(1) in its place"
    )]
    SeekWithoutQueue {
        /// The operation.
        operation: String,
    },
    /// Records are deleted in a trial that crashes.
    #[error(
        "with deletes it cannot verify what a crash lost: remove delete from operations, or \
         remove crash_and_recover"
    )]
    CrashWithDeletes,
}

/// A number without the digits that its arithmetic added.
fn short(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

/// What a transaction without `:` and a weight is meant to be: `get:70` for `get`, `get=70` and
/// `get70`.
fn with_weight(text: &str) -> String {
    let text = text.trim_matches('+');
    let name = text.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let weight = &text[name.len()..];
    let name = name.trim_end_matches('=');
    match weight.parse::<f64>() {
        _ if name.is_empty() => "get:70".to_owned(),
        Ok(_) if !name.ends_with('*') => format!("{name}:{weight}"),
        _ => format!("{}:70", text.trim_end_matches('=')),
    }
}
