//! The mistakes in the settings of `threen1`, and in a line of the original's input.

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThreeN1Error {
    /// A warm-up is given, although the first starts are part of the work.
    #[error("each start counts: remove warm_up, and choose the first one by start=N")]
    WarmUp,
    /// The range begins above its end.
    #[error("the range {start} to {finish} is reversed; write start={finish} finish={start}")]
    ReversedRange {
        /// The first start.
        start: u64,
        /// The last start.
        finish: u64,
    },
    /// A snapshot per start is given, although a block has one transaction.
    #[error(
        "with commit=per-block the block's own transaction does the look-ups; leave snapshot=start \
         out"
    )]
    SnapshotOfBlock,
    /// A rate is given, although a block has one commit.
    #[error(
        "a rate needs one commit per start or per store, which commit=per-block does not have; \
         give commit=per-store or commit=per-start"
    )]
    RateOfBlocks,
    /// The durability level lets a crash lose the last commits.
    #[error(
        "it cannot count what is missing of a prefix of the commits: choose a level of which every \
         commit survives killed processes, or the workload micro or tpcc"
    )]
    CrashWithPrefix,
}

/// What is wrong with a line of the input. `Display` is one clause, and the right form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputMistake {
    /// It has too few or too many numbers.
    #[error(
        "'{fields}' has {count} {}; write two to four: start finish [workers [block]]",
        if *.count == 1 { "number" } else { "numbers" }
    )]
    Count {
        /// The fields.
        fields: String,
        /// Their number.
        count: usize,
    },
    /// The range begins above its end.
    #[error("the range {start} {finish} is reversed; write {finish} {start}")]
    ReversedRange {
        /// The first start.
        start: u64,
        /// The last start.
        finish: u64,
    },
    /// A number is 0.
    #[error("the {name} is 0; write a whole number from 1 to {max}")]
    Zero {
        /// The name of the field.
        name: &'static str,
        /// Its maximum.
        max: u64,
    },
    /// A field is not a whole number.
    #[error("the {name} '{field}' is not a whole number; write a whole number from 1 to {max}")]
    NoNumber {
        /// The name of the field.
        name: &'static str,
        /// The field as given.
        field: String,
        /// Its maximum.
        max: u64,
    },
    /// A number is too large.
    #[error("the {name} {field} is too large; write a whole number from 1 to {max}")]
    TooLarge {
        /// The name of the field.
        name: &'static str,
        /// The field as given.
        field: String,
        /// Its maximum.
        max: u64,
    },
}
