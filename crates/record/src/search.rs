//! Searches: runs whose trials are proposed one after the other, from the results so far.

use crate::conditions::Arrival;
use crate::objective::Objective;
use serde::{Deserialize, Serialize};

/// The question that a run's trials are proposed to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SearchSettings {
    /// The highest rate at which each contender keeps an objective.
    Capacity(CapacitySettings),
}

/// The settings of a search for capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacitySettings {
    /// The objective that the rate must keep.
    pub objective: Objective,
    /// The search ends when the lowest rate that fails is at most this part above the highest that
    /// holds.
    pub precision: f64,
    /// Trials at the rate that was found, each of which must keep the objective.
    pub confirmations: u32,
    /// The time for all contenders, seconds.
    pub budget_s: f64,
    /// When the requests of the open loops become due.
    pub arrival: Arrival,
}

impl CapacitySettings {
    /// The rate at which the objective must fail, as a multiple of the capacity.
    pub const EXCESS: f64 = 1.1;
}

/// The part that a trial has in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialRole {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The reason for the trial.
    pub purpose: TrialPurpose,
}

/// The reason for a trial of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialPurpose {
    /// A closed loop, whose rate tells where to begin.
    ClosedLoop,
    /// A rate that narrows the range in which the capacity lies.
    Probe,
    /// The rate that was found, once more.
    Confirmation,
    /// A rate above the one that was found, which must fail.
    Excess,
}

impl TrialPurpose {
    /// Returns the reason in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClosedLoop => "closed loop",
            Self::Probe => "probe",
            Self::Confirmation => "confirmation",
            Self::Excess => "excess",
        }
    }
}
