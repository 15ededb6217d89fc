//! What can be wrong with a trace file, its lines, and the settings of `trace`.

use super::grammar::{
    COLUMNS, FormatChoice, MAX_LINE_BYTES, MAX_OPERATIONS, MAX_SCAN_RECORDS, MAX_SPAN_NS,
    MAX_VALUE_BYTES, SECOND_NS,
};
use crate::keyed::action::Action;
use trueput_record::value::format_bytes;

/// An object of the JSON format.
const JSON_EXAMPLE: &str =
    "write an object as in {\"time\":0.5,\"operation\":\"get\",\"key\":\"a\",\"size\":100}";

/// What is wrong with a line. `Display` is one clause: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is too long.
    #[error("it has more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// It is not text in UTF-8.
    #[error("it is not text in UTF-8; write a key of other bytes as 0x and hexadecimal digits")]
    NotText,
    /// The first line belongs to no known format.
    #[error(
        "the format of '{line}' is not recognized; give one: {}, or begin a CSV file with the \
         line time,operation,key,size",
        FormatChoice::WORDS[1..].join(", ")
    )]
    UnknownFormat {
        /// The line.
        line: String,
    },
    /// The first line of a CSV file names an unknown column.
    #[error(
        "unknown column '{name}'{hint}; the first line names the columns: {}",
        COLUMNS.join(", ")
    )]
    UnknownColumn {
        /// The name.
        name: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// The first line of a CSV file names a column twice.
    #[error("column '{name}' is named twice; name it once")]
    ColumnTwice {
        /// The name.
        name: String,
    },
    /// The first line of a CSV file lacks a column.
    #[error("column '{name}' is missing from the first line")]
    NoColumn {
        /// The name.
        name: &'static str,
    },
    /// A line of a CSV file has another number of fields than the first.
    #[error("{}; the first line names {named}", fields_of(*.fields))]
    ColumnCount {
        /// The fields that it has.
        fields: usize,
        /// The columns that the first line names.
        named: usize,
    },
    /// Text follows the end of a quoted field.
    #[error("'{after}' follows a quoted field; expected a comma")]
    NoComma {
        /// The text after the field.
        after: String,
    },
    /// A quoted field has no end.
    #[error("a quoted field does not end; close it with a double quote")]
    OpenQuote,
    /// It is not a JSON object.
    #[error("'{shown}' is not a JSON object; {JSON_EXAMPLE}")]
    NotAnObject {
        /// The line, cut.
        shown: String,
    },
    /// A JSON object has an unknown name.
    #[error("unknown name '{name}'{hint}; {JSON_EXAMPLE}")]
    UnknownName {
        /// The name.
        name: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// A JSON object lacks a name.
    #[error("the line has no {name}; {JSON_EXAMPLE}")]
    NoName {
        /// The name.
        name: &'static str,
    },
    /// A value of a JSON object is not of the right kind.
    #[error("{name} {value} is not {right}")]
    JsonValue {
        /// The name.
        name: String,
        /// The value as given.
        value: String,
        /// The right kind, with its article.
        right: &'static str,
    },
    /// A JSON object has a name twice.
    #[error("a name is there twice; {JSON_EXAMPLE}")]
    NameTwice,
    /// It has another number of fields than its format.
    #[error("{}; a line is {columns}", fields_of(*.fields))]
    FieldCount {
        /// The fields that it has.
        fields: usize,
        /// The columns of the format.
        columns: &'static str,
    },
    /// A key in hexadecimal digits has others.
    #[error("key '{key}' is not 0x and pairs of hexadecimal digits")]
    KeyIsNotHexadecimal {
        /// The key as given.
        key: String,
    },
    /// It deletes a range, whose end the trace does not have.
    #[error("type 4 deletes a range whose end the trace does not have; leave the line out")]
    DeletesRange,
    /// The number of its operation is not known.
    #[error(
        "unknown type {number}; known are 0 get, 1 put, 2 delete, 3 single delete, 5 merge, 6 and \
         7 seek, 8 multiget"
    )]
    UnknownType {
        /// The number.
        number: u64,
    },
    /// It lacks an operation.
    #[error("the operation is empty; give one: {}", Action::ALL.map(Action::word).join(", "))]
    EmptyOperation,
    /// Its operation is not known.
    #[error(
        "unknown operation '{word}'{hint}; known are {}",
        Action::ALL.map(Action::word).join(", ")
    )]
    UnknownOperation {
        /// The word as given.
        word: String,
        /// A suggestion, with the punctuation before it; empty if there is none.
        hint: String,
    },
    /// Its operation is not known in a trace of a cache.
    #[error(
        "unknown operation '{word}'; known are get, gets, set, add, replace, cas, append, prepend, \
         delete, incr, decr"
    )]
    UnknownCacheOperation {
        /// The word as given.
        word: String,
    },
    /// Its operation is not known in a trace of a block device.
    #[error("unknown type '{word}'; known are Read and Write")]
    UnknownBlockType {
        /// The word as given.
        word: String,
    },
    /// Its time is not a number of seconds in range.
    #[error("time '{text}' is not a number of seconds from 0 to 18 billion, as in 12.000250")]
    Seconds {
        /// The text as given.
        text: String,
    },
    /// A field is not a whole number.
    #[error("{name} '{text}' is not a whole number from 0 on")]
    WholeNumber {
        /// The name.
        name: &'static str,
        /// The text as given.
        text: String,
    },
    /// A number is too large.
    #[error("{name} {number} is too large")]
    TooLarge {
        /// The name.
        name: &'static str,
        /// The number.
        number: u64,
    },
    /// Its key is empty.
    #[error("the key is empty; give one")]
    EmptyKey,
    /// It lacks a time, unlike the lines before it.
    #[error("it has no time, and the lines before it have")]
    NoTime,
    /// It has a time, unlike the lines before it.
    #[error("it has a time, and the lines before it have none")]
    UnexpectedTime,
    /// Its time is too far from that of another line.
    #[error(
        "its time, {} s, is more than 18 years from the {} s of a line before it; give times at \
         most {} s apart, or leave one of the two lines out",
        whole_seconds(*.time_ns),
        whole_seconds(*.other_ns),
        whole_seconds(MAX_SPAN_NS)
    )]
    FarTime {
        /// Its time, nanoseconds.
        time_ns: u64,
        /// The other line's, nanoseconds.
        other_ns: u64,
    },
    /// The trace has too many operations.
    #[error("more than {MAX_OPERATIONS} operations; give requests=N")]
    TooManyOperations,
    /// Its scan is too long.
    #[error("a scan of {records} records is too long; {MAX_SCAN_RECORDS} is the maximum")]
    LongScan {
        /// Its length.
        records: u64,
    },
    /// Its value is too long.
    #[error(
        "a value of {bytes} bytes is too long; {} is the maximum",
        format_bytes(MAX_VALUE_BYTES)
    )]
    LongValue {
        /// Its length.
        bytes: u64,
    },
}

fn whole_seconds(time_ns: u64) -> u64 {
    time_ns / SECOND_NS
}

/// A number of fields, in words.
fn fields_of(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} field{s}")
}

/// What is wrong with a file as a whole. `Display` is one clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("the trace cannot be read: {0}")]
    Unreadable(String),
    /// It is compressed.
    #[error("it is compressed; decompress it first, with '{program}'")]
    Compressed {
        /// The program that decompresses it.
        program: &'static str,
    },
    /// No operation is in it.
    #[error("it has no operation")]
    NoOperation,
    /// It takes too much memory.
    #[error(
        "its first {operations} operations on {keys} keys take {} of memory, more than half of \
         this machine's {}; give requests={requests} or less",
        format_bytes(*.bytes),
        format_bytes(*.memory_bytes)
    )]
    TooLarge {
        /// Operations that were read.
        operations: u64,
        /// Their keys.
        keys: u64,
        /// The memory that they take.
        bytes: u64,
        /// The machine's memory.
        memory_bytes: u64,
        /// Requests that were read.
        requests: u64,
    },
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Why a trace cannot be replayed. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// The file as a whole is wrong.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Its mistake.
        error: FileError,
    },
    /// A line is wrong.
    #[error("{file} line {line}: {error}")]
    Line {
        /// The file.
        file: String,
        /// The line's number, from 1.
        line: u64,
        /// Its mistake.
        error: LineError,
    },
    /// No file is given.
    #[error("give file=PATH, the path of a trace file, or file=example")]
    NoFile,
    /// A rate is given beside the trace's own times.
    #[error(
        "with pace=recorded the trace says when requests are made: remove the rate, or give \
         pace=closed for requests in their order at that rate"
    )]
    RateOfRecorded,
    /// The trace has no times to replay it at.
    #[error("{file} states no times: give pace=closed")]
    NoTimes {
        /// The file.
        file: &'static str,
    },
    /// All requests of the trace are due at once.
    #[error("all times of {file} are the same: give pace=closed")]
    SameTimes {
        /// The file.
        file: &'static str,
    },
    /// Nothing would be left after the warm-up.
    #[error(
        "a warm-up of {warm_up_s} s is longer than the {recorded_s:.3} s of the replay, so nothing \
         would be measured; give a shorter warm_up"
    )]
    LongWarmUp {
        /// The warm-up, seconds.
        warm_up_s: f64,
        /// The replay, seconds.
        recorded_s: f64,
    },
    /// Nothing was left after the warm-up.
    #[error(
        "the {requests} requests of the trace ended within the warm-up of {warm_up_s} s, so \
         nothing was measured; give a shorter warm_up"
    )]
    NothingMeasured {
        /// All requests.
        requests: u64,
        /// The warm-up, seconds.
        warm_up_s: f64,
    },
    /// Keys or values are longer than an engine takes.
    #[error(
        "the trace has {subject} of {}, longer than the {} that this engine takes; replay it on \
         another engine, or on this one without those lines",
        format_bytes(*.bytes as u64),
        format_bytes(*.max_bytes as u64)
    )]
    TooLong {
        /// What is too long, with its article.
        subject: &'static str,
        /// Its length.
        bytes: usize,
        /// The engine's limit.
        max_bytes: usize,
    },
    /// A crash cannot be told from a delete.
    #[error(
        "the trace inserts or deletes keys, and a key that is missing after a crash could be \
         either: give load=all and a trace without deletes, or remove crash_and_recover"
    )]
    CrashWithDeletes,
}
