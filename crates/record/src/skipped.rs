//! The skipped parts of a plan: the runner says what they are, reports tell of them.

use crate::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason for skipping a step without effect.
pub const STEP_WITHOUT_EFFECT: &str = "it changes nothing, so it is not measured again";

const UNSUPPORTED_LEVEL: &str = " does not support durability '";

/// A part of a plan that is skipped. In JSON it is its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SkippedPart {
    /// What it is.
    #[serde(skip)]
    pub kind: SkipKind,
    /// What is skipped, and why: one sentence.
    pub sentence: String,
}

/// What a skipped part of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkipKind {
    /// A durability level that the engine does not support: nothing that a user can change.
    Level,
    /// Anything else, kinds of later versions too.
    #[serde(other)]
    Other,
}

impl SkippedPart {
    /// Returns the part for a durability level that an engine does not support.
    #[must_use]
    pub fn level(sentence: String) -> Self {
        Self {
            kind: SkipKind::Level,
            sentence,
        }
    }

    /// Returns a part of a run that does not state what it is: an unsupported level is known by its
    /// words.
    pub(crate) fn of_older_run(sentence: &str) -> Self {
        let kind = if sentence.contains(UNSUPPORTED_LEVEL) {
            SkipKind::Level
        } else {
            SkipKind::Other
        };
        Self {
            kind,
            sentence: sentence.to_owned(),
        }
    }
}

impl From<String> for SkippedPart {
    fn from(sentence: String) -> Self {
        Self {
            kind: SkipKind::Other,
            sentence,
        }
    }
}

/// Returns the sentence for a durability level that an engine does not support; `supported` are its
/// levels.
#[must_use]
pub fn unsupported_level(
    engine: &str,
    level: Durability,
    supported: impl IntoIterator<Item = Durability>,
) -> String {
    let supported: Vec<_> = supported.into_iter().map(Durability::name).collect();
    let supported = supported.join(", ");
    format!("{engine}{UNSUPPORTED_LEVEL}{level}'; it supports {supported}")
}

/// Returns the sentence for a step that a contender skips.
#[must_use]
pub fn skipped_step(contender: &str, step: &str, reason: &str) -> String {
    format!("{contender}: step '{step}': {reason}")
}

/// Returns the reason in the sentence of a skipped step; `None` for every other sentence.
#[must_use]
pub fn step_reason<'l>(sentence: &'l str, contender: &str, step: &str) -> Option<&'l str> {
    sentence.strip_prefix(&skipped_step(contender, step, ""))
}
