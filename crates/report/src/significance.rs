//! Levels of significance, in words.

use trueput_findings::statistics::{Comparison, Summary};
use trueput_findings::units::per_cent;

/// Describes the confidence levels of the intervals, which differ if some results were clear.
/// `None` if nothing has an interval.
pub(crate) fn levels<'a>(compared: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let levels = compared
        .into_iter()
        .filter_map(|one| Some(one.ratio?.level));
    let levels = Summary::of(levels)?;
    let (least, most) = (per_cent(levels.min), per_cent(levels.max));
    Some(match least == most {
        true => least,
        false => format!("{least} to {most}"),
    })
}
