//! The lines of a manifest that name skipped parts of a plan: the runner writes them, a report
//! recognizes some of them.

use crate::Durability;

/// Why a step without effect is skipped.
pub const STEP_WITHOUT_EFFECT: &str = "it changes nothing, so it is not measured again";

const UNSUPPORTED_LEVEL: &str = " does not support durability '";

/// The line for a durability level that an engine lacks; `supported` are those that it has.
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

/// Whether a line is about a durability level that an engine lacks.
#[must_use]
pub fn is_unsupported_level(line: &str) -> bool {
    line.contains(UNSUPPORTED_LEVEL)
}

/// The line for a step that a contender does not take.
#[must_use]
pub fn skipped_step(contender: &str, step: &str, reason: &str) -> String {
    format!("{contender}: step '{step}': {reason}")
}

/// The reason of such a line; `None` for every other line.
#[must_use]
pub fn step_reason<'l>(line: &'l str, contender: &str, step: &str) -> Option<&'l str> {
    line.strip_prefix(&skipped_step(contender, step, ""))
}
