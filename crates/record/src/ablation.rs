//! An ablation: which step of a plan's list a trial is of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the trial that no step has changed.
pub const BASE: &str = "base";

/// The configuration to which each step of an ablation applies its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AblationKind {
    /// Each step builds on the step before it.
    Cumulative,
    /// Each step builds on the base.
    OneAtATime,
}

impl AblationKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Cumulative, Self::OneAtATime];

    /// Returns the kind's name, as in plan files.
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

/// The position of a trial in an ablation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AblationStep {
    /// The configuration to which the step applies its changes.
    pub ablation: AblationKind,
    /// The cell of the trial that no step has changed: steps with one base are one ablation.
    pub base: u32,
    /// The number of the step, from 1; 0 is the base.
    pub index: u32,
    /// The step's name in the plan; [`BASE`] for the base.
    pub name: String,
}
