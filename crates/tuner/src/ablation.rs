//! The ablation of a winner: each changed parameter returned to its default, one at a time.
//!
//! What the score loses is what the parameter gains, given all others (Fawcett and Hoos, "Analysing
//! differences between algorithm configurations through ablation", 2016, start from the same
//! question). A parameter that loses nothing can stay at its default.

use crate::rounds::{ConfigurationId, Rounds};
use serde::{Deserialize, Serialize};
use trueput_record::value::Settings;

/// The winner with one parameter at its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationStep {
    /// The parameter.
    pub parameter: String,
    /// The winner's settings without it.
    pub settings: Settings,
}

/// Returns the steps of a configuration: the parameters of greatest importance to the search first.
/// Steps that the fence refuses are left out. Empty for the default.
#[must_use]
pub fn ablation(search: &Rounds, winner: ConfigurationId) -> Vec<AblationStep> {
    let Some(winner) = search.configuration(winner) else {
        return Vec::new();
    };
    let importance = search.importance();
    let rank = |name: &str| importance.iter().position(|(known, _)| *known == name);
    let step = |parameter: &String| {
        let mut settings = winner.settings.clone();
        settings.remove(parameter);
        AblationStep {
            parameter: parameter.clone(),
            settings,
        }
    };
    let mut steps: Vec<_> = winner.settings.keys().map(step).collect();
    steps.retain(|step| search.space().check(&step.settings).is_ok());
    // What was never ranked comes last, by name.
    steps.sort_by_key(|step| rank(&step.parameter).unwrap_or(usize::MAX));
    steps
}
