//! The results of the conformance suite and of the anomaly suite.

use std::time::Duration;
use trueput_record::measurement::{Conformance, IsolationCheck};

/// The result of a contender's conformance suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConformanceResult {
    /// The engine passed every check; `None` if there is nothing to check.
    Passed(Option<Conformance>),
    /// The engine failed some checks.
    Failed {
        /// The number of passed checks.
        passed: usize,
        /// The failures, one sentence each.
        reasons: Vec<String>,
    },
    /// The engine opens no database with the trial's knobs, but does with others: one sentence,
    /// which begins with `bad input: `.
    KnobsRefused(String),
    /// The suite had no room on the disk, so that the engine's conformance is unknown: one
    /// sentence.
    NotCompleted(String),
    /// A process of the suite was killed, from outside or by the engine itself: one sentence.
    Killed(String),
    /// The suite exceeded its limit, so that the engine's conformance is unknown: one sentence.
    Overrun(String),
}

/// The result of the anomaly suite.
#[derive(Debug, Clone)]
pub(crate) enum IsolationResult {
    /// No anomaly refuted the stated level; `None` if no level is stated.
    Stands(Option<IsolationCheck>),
    /// Anomalies that it proscribes occurred: the reasons why trials are invalid.
    Refuted(Vec<String>),
}

/// An anomaly suite that hung before the run was interrupted.
#[derive(Debug, Clone)]
pub(crate) struct HungSuite {
    /// SHA-256 of the engine's file.
    pub sha256: String,
    /// The limit that it exceeded.
    pub limit: Duration,
    /// What its trial recorded.
    pub check: IsolationCheck,
}
