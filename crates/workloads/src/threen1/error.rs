//! The mistakes in the settings of `threen1`, and in a line of the original's input.

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThreeN1Error {
    #[error(
        "it ends when its range is done: leave duration and warm_up out, and choose the range with \
         start and finish"
    )]
    Timed,
    #[error("the range {start} to {finish} is reversed; write start={finish} finish={start}")]
    ReversedRange { start: u64, finish: u64 },
    #[error(
        "with commit=per-block the block's own transaction does the look-ups; leave snapshot=start \
         out"
    )]
    SnapshotOfBlock,
    #[error(
        "a rate needs one commit per start or per store, which commit=per-block does not have; \
         choose per-store or per-start"
    )]
    RateOfBlocks,
    #[error(
        "it cannot count what is missing of a prefix of the commits: choose a level of which every \
         commit survives killed processes, or the workload micro or tpcc"
    )]
    CrashWithPrefix,
}

/// What is wrong with a line of the input. `Display` is one clause, and the right form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputMistake {
    #[error(
        "'{fields}' has {count} {}; write two to four: start finish [workers [block]]",
        if *.count == 1 { "number" } else { "numbers" }
    )]
    Count { fields: String, count: usize },
    #[error("the range {start} {finish} is reversed; write {finish} {start}")]
    ReversedRange { start: u64, finish: u64 },
    #[error("the {name} is 0; write a whole number from 1 to {max}")]
    Zero { name: &'static str, max: u64 },
    #[error("the {name} '{field}' is not a whole number; write a whole number from 1 to {max}")]
    NoNumber {
        name: &'static str,
        field: String,
        max: u64,
    },
    #[error("the {name} {field} is too large; write a whole number from 1 to {max}")]
    TooLarge {
        name: &'static str,
        field: String,
        max: u64,
    },
}
