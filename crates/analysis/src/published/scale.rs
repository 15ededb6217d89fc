//! At what part of a document's size ours ran, so that what stands at the same place of its scale
//! stands side by side.

use super::beside::ComparedColumn;
use super::trial::Trials;
use trueput_record::published::{Cell, Published};

/// Fewest sizes that must agree on a scale that nothing else tells.
const FEWEST: usize = 2;

/// Our sizes over theirs in a dimension that grows with the scale; `None` where ours has a size of
/// theirs, so that equal ones stand together, or where no scale can be told.
///
/// A scale is one that takes sizes of theirs to two of ours, or to one where another setting that
/// grows with the scale agrees. Of several, that which takes most of them, then the largest.
pub(super) fn found(
    published: &Published,
    dimension: &str,
    ours: &[f64],
    theirs: &[f64],
    trials: &Trials<'_>,
) -> Option<f64> {
    if ours.iter().any(|one| theirs.contains(one)) {
        return None;
    }
    let rank = |scale: f64| {
        let reached = |one: &&f64| theirs.iter().any(|other| reaches(*other, scale, **one));
        let matches = ours.iter().filter(reached).count();
        (matches, agrees(published, dimension, scale, trials), scale)
    };
    let scales = theirs.iter().filter(|size| **size > 0.0);
    let scales = scales.flat_map(|size| ours.iter().map(move |one| one / size));
    let best = scales.map(rank).max_by(|one, other| {
        let counts = (one.0, one.1).cmp(&(other.0, other.1));
        counts.then(one.2.total_cmp(&other.2))
    });
    let (matches, agrees, scale) = best?;
    (matches >= FEWEST || agrees).then_some(scale)
}

/// Whether a size of theirs comes to ours at a scale, as plans are scaled: to whole numbers.
fn reaches(theirs: f64, scale: f64, ours: f64) -> bool {
    (theirs * scale).round().max(1.0) == ours
}

/// Whether another setting that grows with the scale has come to what it would at this one.
fn agrees(published: &Published, dimension: &str, scale: f64, trials: &Trials<'_>) -> bool {
    let experiment = &published.experiment;
    let others = experiment.scales.iter().filter(|name| *name != dimension);
    let mut settings = others.filter_map(|name| {
        let setting = experiment.settings.iter().find(|one| one.name == *name)?;
        let [theirs] = &setting.values[..] else {
            return None;
        };
        let [ours] = &trials.values(name)[..] else {
            return None;
        };
        Some((theirs.to_string().parse().ok()?, ours.parse().ok()?))
    });
    settings.any(|(theirs, ours): (f64, f64)| reaches(theirs, scale, ours))
}

/// Whether a key of ours and one of theirs are the same, or stand at the same place of the scale.
pub(super) fn same_place(column: &ComparedColumn, ours: &Cell, theirs: &Cell) -> bool {
    let sizes = (column.scale, ours.figure(), theirs.figure());
    match sizes {
        (Some(scale), Some(ours), Some(theirs)) => reaches(theirs, scale, ours),
        _ => ours.to_string() == theirs.to_string(),
    }
}

/// A key of ours, with theirs where it is another: `10,000 here, 1,000,000 there`.
pub(super) fn both(ours: &Cell, theirs: Option<&Cell>) -> String {
    let here = super::shown(ours);
    match theirs.map(super::shown).filter(|there| *there != here) {
        Some(there) => format!("{here} here, {there} there"),
        None => here,
    }
}

/// In words, which of our sizes stands beside which of theirs.
pub(super) fn in_words(column: &ComparedColumn, ours: &[Cell], theirs: &[Cell]) -> Option<String> {
    let scale = column.scale?;
    let pairs = ours.iter().filter_map(|one| {
        let other = theirs.iter().find(|other| same_place(column, one, other))?;
        Some(format!(
            "{} beside {}",
            super::shown(one),
            super::shown(other)
        ))
    });
    let pairs: Vec<_> = pairs.collect();
    Some(format!(
        "{}: each here stands beside the document's at the same place of its scale, {} of the \
         size: {}",
        column.name,
        (scale * 1e6).round() / 1e6,
        pairs.join("; ")
    ))
}
