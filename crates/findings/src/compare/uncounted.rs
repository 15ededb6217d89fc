//! Records of a run that do not count in a comparison or a history.

use crate::eligibility::Ineligibility;
use crate::marks::MarkedName;
use crate::text::serialize_as_text;
use crate::units::{counted, number};
use trueput_record::Durability;
use trueput_record::folder::DamagedLine;

/// A line of a run's trials that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{run}: line {} of trials.jsonl unreadable, skipped: {}", damage.line, damage.message)]
pub struct UnreadableLine {
    /// Label of the run, as the user typed it.
    pub run: String,
    /// The line, with the parser's message.
    pub damage: DamagedLine,
}

impl UnreadableLine {
    /// Returns the unreadable lines of the run with this label.
    pub(crate) fn all<'a>(
        run: &'a str,
        damaged: &'a [DamagedLine],
    ) -> impl Iterator<Item = Self> + 'a {
        damaged.iter().map(|damage| Self {
            run: run.to_owned(),
            damage: damage.clone(),
        })
    }
}

/// A trial or a line of a run that does not count. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UncountedRecord {
    /// A line that cannot be read.
    #[error(transparent)]
    Line(UnreadableLine),
    /// A trial.
    #[error("{run}: {} {id}: {reason}", reason.status())]
    Trial {
        /// Label of the run, as the user typed it.
        run: String,
        /// The trial.
        id: String,
        /// Why it does not count.
        reason: Ineligibility,
    },
}

/// Why the second side of a result may be worse than its figures. Its `Display` is the phrase that
/// JSON has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BrokenResult {
    /// A trial failed or is invalid.
    #[error("{id} {}: {reason}", reason.status())]
    Trial {
        /// The trial.
        id: String,
        /// The reason.
        reason: Ineligibility,
    },
    /// The contender did not keep a rate that the first side kept: its response times are longer
    /// than recorded.
    #[error("{contender} did not keep the rate of {}/s", number(*.rate_per_s))]
    LostRate {
        /// The contender.
        contender: MarkedName,
        /// The offered rate, per second.
        rate_per_s: f64,
    },
}

/// A cell that only one side has. Its `Display` is the name that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{contender} ({workload}, {durability}, {})", counted(u64::from(*.workers), "worker"))]
pub struct UnmatchedCell {
    /// The contender.
    pub contender: MarkedName,
    /// The workload.
    pub workload: String,
    /// Durability level of each commit.
    pub durability: Durability,
    /// Number of workers.
    pub workers: u32,
}

serialize_as_text!(UncountedRecord, BrokenResult, UnmatchedCell);
