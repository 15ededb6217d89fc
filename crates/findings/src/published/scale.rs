//! At what part of a document's size ours ran, so that what is at the same place of its scale
//! is side by side.

use super::rows::{ComparedColumn, ComparedRow, Role, distinct};
use super::trial::Trials;
use serde::Serialize;
use trueput_record::published::{Cell, PublishedTable};

/// Fewest sizes that must agree on a scale that nothing else tells.
const FEWEST: usize = 2;

/// Our sizes over theirs in a dimension that grows with the scale; `None` if ours has a size of
/// theirs, so that equal ones are together, or where no scale can be told.
///
/// A scale is one that takes sizes of theirs to two of ours, or to one where another setting that
/// grows with the scale agrees. Of several, that which takes most of them, then the largest.
pub(super) fn found(
    published: &PublishedTable,
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

/// How large the problem was here and there, in words: `finish 100,000`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Ours.
    pub here: String,
    /// The document's.
    pub there: String,
}

/// The sizes of ours and theirs; `None` if both are the same, or each of
/// ours is one of theirs, by which the rows are together.
pub(super) fn sizes(
    published: &PublishedTable,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
    trials: &Trials<'_>,
) -> Option<Sizes> {
    let experiment = &published.experiment;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for name in &experiment.scales {
        let mut stated = published.columns.iter();
        let place = stated.position(|column| column.ours.as_ref() == Some(name));
        let (one, other) = match place {
            Some(place) => {
                let (here, there) = (distinct(ours, place), distinct(theirs, place));
                let is_theirs =
                    |size: &Cell| there.iter().any(|other| other.figure() == size.figure());
                if columns[place].role == Role::Key && here.iter().all(is_theirs) {
                    continue;
                }
                (here, there)
            }
            None => {
                let setting = experiment.settings.iter().find(|one| one.name == *name);
                let values = setting.into_iter().flat_map(|one| &one.values);
                let theirs = values.map(|value| super::trial::written(&value.to_string()));
                let ours = trials.values(name);
                let ours = ours.iter().map(|value| super::trial::written(value));
                (ours.collect(), theirs.collect())
            }
        };
        let (one, other) = (spanned(&one), spanned(&other));
        if let (Some(one), Some(other)) = (one, other)
            && one != other
        {
            let name = name.rsplit('.').next().unwrap_or(name);
            here.push(format!("{name} {one}"));
            there.push(format!("{name} {other}"));
        }
    }
    (!here.is_empty()).then(|| Sizes {
        here: here.join(", "),
        there: there.join(", "),
    })
}

/// Sizes in words: the one that there is, or the first and the last of several.
fn spanned(sizes: &[Cell]) -> Option<String> {
    let known = sizes.iter().filter(|size| !matches!(size, Cell::Missing));
    let known: Vec<_> = known.map(super::shown).collect();
    match known.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first, .., last] => Some(format!("{first} to {last}")),
    }
}

/// Whether a size of theirs comes to ours at a scale, as plans are scaled: to whole numbers.
fn reaches(theirs: f64, scale: f64, ours: f64) -> bool {
    (theirs * scale).round().max(1.0) == ours
}

/// Whether another setting that grows with the scale has come to what it would at this one.
fn agrees(published: &PublishedTable, dimension: &str, scale: f64, trials: &Trials<'_>) -> bool {
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

/// Whether a key of ours and one of theirs are the same, or are at the same place of the scale.
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

/// In words, which of our sizes is beside which of theirs.
pub(super) fn in_words(column: &ComparedColumn, ours: &[Cell], theirs: &[Cell]) -> Option<String> {
    let scale = column.scale?;
    let pairs = ours.iter().filter_map(|one| {
        let other = theirs.iter().find(|other| same_place(column, one, other))?;
        Some(format!("{} for {}", super::shown(one), super::shown(other)))
    });
    let pairs: Vec<_> = pairs.collect();
    Some(format!(
        "{}: ours at {} of the document's sizes: {}",
        column.name,
        (scale * 1e6).round() / 1e6,
        pairs.join("; ")
    ))
}

/// Whether a row of ours and one of theirs were given the same, whatever their size.
pub(super) fn same_keys(
    columns: &[ComparedColumn],
    ours: &ComparedRow,
    theirs: &ComparedRow,
) -> bool {
    let mut keys = columns.iter().zip(ours.cells.iter().zip(&theirs.cells));
    keys.all(|(column, (ours, theirs))| {
        column.role != Role::Key || same_place(column, ours, theirs)
    })
}
