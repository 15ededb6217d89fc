//! Events of a run, for a progress bar, plain lines, or another program.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use trueput_record::{TrialRecord, TrialSpec};

/// Something that happened, in the order in which it happened. As JSON, one object per line, its
/// `event` field naming the variant.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The run folder.
        folder: PathBuf,
        /// Trials still to be run.
        trials: usize,
        /// Trials that the folder holds already (a resumed run).
        done_before: usize,
    },
    /// An engine went through the conformance suite before its first trial at a level.
    ConformanceChecked {
        /// The contender.
        contender: String,
        /// The level.
        durability: trueput_record::Durability,
        /// Checks passed.
        passed: usize,
        /// The failed ones, one sentence each; its trials are invalid if there are any.
        failures: Vec<String>,
        /// When they were passed, RFC 3339, if that was in an earlier run: this run does not repeat
        /// them.
        #[serde(skip_serializing_if = "Option::is_none")]
        remembered_from: Option<String>,
    },
    /// An engine went through the anomaly suite before its first trial.
    IsolationChecked {
        /// The contender.
        contender: String,
        /// Schedules that ran; 0 if they could not be run.
        schedules: usize,
        /// The anomalies that its stated isolation proscribes and that occurred, one sentence each;
        /// its trials are invalid if there are any.
        refutations: Vec<String>,
        /// Why the schedules could not be run.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_run: Option<String>,
        /// When it passed, RFC 3339, if that was in an earlier run.
        #[serde(skip_serializing_if = "Option::is_none")]
        remembered_from: Option<String>,
    },
    /// A trial began.
    TrialStarted {
        /// Its number in this run, from 1.
        number: usize,
        /// The number of trials.
        of: usize,
        /// The specification.
        spec: Box<TrialSpec>,
    },
    /// About a second has passed in a trial.
    TrialProgress {
        /// The trial.
        id: String,
        /// The current phase.
        phase: Phase,
        /// The part of the phase that is done, 0 to 1.
        fraction: f64,
        /// Operations per second over the last second, all kinds and workers; 0 outside `run`.
        rate_per_s: f64,
    },
    /// A trial ended; its line is in the run folder.
    TrialEnded {
        /// The trial record.
        record: Box<TrialRecord>,
    },
    /// A problem that the user should know about and that stops nothing.
    Warning {
        /// One sentence.
        message: String,
    },
    /// The run ended.
    RunEnded {
        /// The run folder.
        folder: PathBuf,
        /// Whether the user stopped it.
        interrupted: bool,
    },
}

/// A phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The database is made and filled.
    Prepare,
    /// The workers run: the measured part.
    Run,
    /// The engine compacts the database. The part that is done is unknown, and stated as 0.
    Compact,
    /// The outcome is checked.
    Verify,
}
