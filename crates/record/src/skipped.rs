//! The lines of a manifest that name skipped parts of a plan: the runner writes them, a report
//! recognizes some of them.

use crate::Durability;

/// The reason for skipping a step without effect.
pub const STEP_WITHOUT_EFFECT: &str = "it changes nothing, so it is not measured again";

const UNSUPPORTED_LEVEL: &str = " does not support durability '";

/// Returns the line for a durability level that an engine does not support; `supported` are its
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

/// Returns whether a line reports an unsupported durability level.
#[must_use]
pub fn is_unsupported_level(line: &str) -> bool {
    line.contains(UNSUPPORTED_LEVEL)
}

/// Returns the line for a step that a contender skips.
#[must_use]
pub fn skipped_step(contender: &str, step: &str, reason: &str) -> String {
    format!("{contender}: step '{step}': {reason}")
}

/// Returns the reason in the line of a skipped step; `None` for every other line.
#[must_use]
pub fn step_reason<'l>(line: &'l str, contender: &str, step: &str) -> Option<&'l str> {
    line.strip_prefix(&skipped_step(contender, step, ""))
}
