//! Levels of significance, in words.

use trueput_findings::statistics::{Comparison, InconclusiveReason, MIN_CLAIM, Summary};
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

/// The smallest difference that repeats would have shown, as a clause. Only noise is called so, not
/// a difference that more repeats of the same would show.
pub(crate) fn detectable(smallest_ratio: f64, reason: InconclusiveReason) -> String {
    let is_noise = reason == InconclusiveReason::Noise;
    if smallest_ratio >= MAX_RATIO {
        return if is_noise {
            format!("too noisy: not even a difference of {MAX_RATIO}x would be detected")
        } else {
            format!("not even a difference of {MAX_RATIO}x is detectable with these repeats")
        };
    }
    let difference = if smallest_ratio < 2.0 {
        let difference = (smallest_ratio - 1.0).max(MIN_CLAIM);
        // Rounded up: less is not promised.
        format!("{:.0} %", (difference * 100.0).ceil())
    } else if smallest_ratio < 10.0 {
        format!("{smallest_ratio:.1}x")
    } else {
        format!("{smallest_ratio:.0}x")
    };
    if is_noise && smallest_ratio >= 2.0 {
        format!("too noisy: only a difference of more than {difference} would be detected")
    } else {
        format!("only differences above {difference} are detectable with these repeats")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_would_have_shown_is_rounded_up_to_per_cent_and_noise_is_named() {
        let noise = |ratio| detectable(ratio, InconclusiveReason::Noise);
        let few = |ratio| detectable(ratio, InconclusiveReason::TooFewRepeats);
        let end = "are detectable with these repeats";
        for (ratio, difference) in [(1.001, "1 %"), (1.462, "47 %")] {
            let sentence = format!("only differences above {difference} {end}");
            assert_eq!((noise(ratio), few(ratio)), (sentence.clone(), sentence));
        }
        for (ratio, difference) in [(2.0, "2.0x"), (6.14, "6.1x"), (32.4, "32x")] {
            let sentence =
                format!("too noisy: only a difference of more than {difference} would be detected");
            assert_eq!(noise(ratio), sentence);
            let sentence = format!("only differences above {difference} {end}");
            assert_eq!(few(ratio), sentence);
        }
        let sentence = "not even a difference of 100x";
        assert_eq!(
            noise(4e5),
            format!("too noisy: {sentence} would be detected")
        );
        assert_eq!(
            few(4e5),
            format!("{sentence} is detectable with these repeats")
        );
    }
}
