//! Why a difference is not claimed.

use super::{Comparison, MIN_CLAIM, Noise, Verdict};
use crate::statistics::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// Why two are not claimed to differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InconclusiveReason {
    /// They differ by less than their repeats scatter.
    Noise,
    /// They differ by more, but the repeats are too few to rule out chance.
    TooFewRepeats,
    /// They do differ, by less than equals that run side by side may.
    Same,
    /// A run that decides found them equal, within the part that it was to decide.
    Equal,
    /// A run that decides has not found them equal or different.
    Undecided,
}

impl InconclusiveReason {
    /// In words, as a verdict.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Noise => Verdict::NoDifference.words(),
            Self::TooFewRepeats => Verdict::TooFew.words(),
            Self::Same => "equal within 1 %",
            Self::Equal => "equal",
            Self::Undecided => "undecided",
        }
    }
}

/// Returns the reason why no difference between two summaries is claimed; `None` if one is, or if
/// nothing was compared. `floor` is the typical spread of repeats in their runs, as a share.
#[must_use]
pub fn inconclusive_reason(
    comparison: &Comparison,
    one: &Summary,
    other: &Summary,
    floor: f64,
) -> Option<InconclusiveReason> {
    let ratio = comparison.ratio?;
    if comparison.verdict != Verdict::NoDifference {
        return None;
    }
    if ratio.is_boundless() {
        return Some(InconclusiveReason::TooFewRepeats);
    }
    let away = (ratio.estimate - 1.0).abs();
    if !ratio.holds(1.0) && away < MIN_CLAIM {
        return Some(InconclusiveReason::Same);
    }
    let overlap = one.min <= other.max && other.min <= one.max;
    let scatter = Noise {
        floor: floor.max(one.spread).max(other.spread),
        reasons: Vec::new(),
    };
    let within = overlap && scatter.is_within_noise(one.median, other.median);
    let alike = one.median == other.median;
    if ratio.holds(1.0) && (within || alike) {
        Some(InconclusiveReason::Noise)
    } else {
        Some(InconclusiveReason::TooFewRepeats)
    }
}
