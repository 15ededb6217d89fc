//! An ablation: which step of a plan's list a trial is of.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the trial that no step has changed.
pub const BASE: &str = "base";

/// What the steps of an ablation stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AblationKind {
    /// Each on top of the one before it.
    Cumulative,
    /// Each on the base alone.
    OneAtATime,
}

impl AblationKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Cumulative, Self::OneAtATime];

    /// The kind's name, as in plan files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cumulative => "cumulative",
            Self::OneAtATime => "one-at-a-time",
        }
    }
}

impl fmt::Display for AblationKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// Which step of an ablation a trial is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AblationStep {
    /// What the steps stand on.
    pub ablation: AblationKind,
    /// The cell of the trial that no step has changed: steps with one base are one ablation.
    pub base: u32,
    /// Which step, from 1; 0 is the base.
    pub index: u32,
    /// The step's name in the plan; [`BASE`] for the base.
    pub name: String,
}
