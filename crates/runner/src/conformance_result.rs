//! The result of a conformance suite.

use trueput_record::measurement::Conformance;

/// The result of a contender's conformance suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConformanceResult {
    /// It passed every check; `None` if there is nothing to check.
    Passed(Option<Conformance>),
    /// It failed some.
    Failed {
        /// How many it passed.
        passed: usize,
        /// The failures, one sentence each.
        reasons: Vec<String>,
    },
    /// It opens no database with the knobs that the trial gives, and does with others: in one
    /// sentence, which begins with `bad input: `.
    KnobsRefused(String),
}
