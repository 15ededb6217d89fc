//! Levels of significance, in words.

use trueput_findings::statistics::{Comparison, LEAST_CLAIM, Summary};
use trueput_findings::units::per_cent;

/// Repeats that would show only greater ratios show nothing.
const MAX_RATIO: f64 = 100.0;

/// Describes the confidence levels of the intervals, which differ if some results were clear.
/// `None` if nothing has an interval.
pub(crate) fn levels<'a>(compared: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let levels = compared
        .into_iter()
        .filter_map(|one| Some(one.ratio?.level));
    let levels = Summary::of(levels)?;
    let (least, most) = (per_cent(levels.min), per_cent(levels.max));
    Some(if least == most {
        least
    } else {
        format!("{least} to {most}")
    })
}

/// The smallest difference that repeats would have shown, as a clause.
pub(crate) fn detectable(smallest_ratio: f64) -> String {
    if smallest_ratio < 2.0 {
        let difference = (smallest_ratio - 1.0).max(LEAST_CLAIM);
        // Rounded up: less is not promised.
        let per_cent = (difference * 100.0).ceil();
        return format!("only differences above {per_cent:.0} % are detectable with these repeats");
    }
    let difference = if smallest_ratio < 10.0 {
        format!("{smallest_ratio:.1}x")
    } else if smallest_ratio < MAX_RATIO {
        format!("{smallest_ratio:.0}x")
    } else {
        return format!("too noisy: not even a difference of {MAX_RATIO}x would be detected");
    };
    format!("too noisy: only a difference of more than {difference} would be detected")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_would_have_shown_is_rounded_up_to_per_cent_and_noise_is_named() {
        for (ratio, sentence) in [
            (
                1.001,
                "only differences above 1 % are detectable with these repeats",
            ),
            (
                1.462,
                "only differences above 47 % are detectable with these repeats",
            ),
            (
                2.0,
                "too noisy: only a difference of more than 2.0x would be detected",
            ),
            (
                6.14,
                "too noisy: only a difference of more than 6.1x would be detected",
            ),
            (
                32.4,
                "too noisy: only a difference of more than 32x would be detected",
            ),
            (
                4e5,
                "too noisy: not even a difference of 100x would be detected",
            ),
        ] {
            assert_eq!(detectable(ratio), sentence);
        }
    }
}
