//! The scale of our run relative to a document's sizes, so that rows at the same point of their
//! scale are side by side.

use super::rows::{ComparedColumn, ComparedRow, Role, distinct};
use super::trial::Trials;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::published::{Cell, PublishedTable};

/// The fewest sizes that must agree on a scale that nothing else shows.
const MIN_SIZES: usize = 2;

/// Returns the ratio of our sizes to theirs in a dimension that grows with the scale; `None` if one
/// of our sizes is one of theirs, so that equal ones match, or if the scale is unknown.
///
/// A scale must map two of their sizes to ours, or one if another setting that grows with the scale
/// agrees. Of several, the one that maps the most sizes is taken, then the largest.
pub(super) fn common_scale(
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
        let reached = |one: &&f64| theirs.iter().any(|other| scales_to(*other, scale, **one));
        let matches = ours.iter().filter(reached).count();
        (
            matches,
            other_setting_agrees(published, dimension, scale, trials),
            scale,
        )
    };
    let scales = theirs.iter().filter(|size| **size > 0.0);
    let scales = scales.flat_map(|size| ours.iter().map(move |one| one / size));
    let best = scales.map(rank).max_by(|one, other| {
        let counts = (one.0, one.1).cmp(&(other.0, other.1));
        counts.then(one.2.total_cmp(&other.2))
    });
    let (matches, agrees, scale) = best?;
    (matches >= MIN_SIZES || agrees).then_some(scale)
}

/// The sizes of a problem, one for each dimension that grows with it, as in `finish 100,000`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sizes {
    /// Ours.
    pub here: String,
    /// The document's.
    pub there: String,
}

/// The pairs of our sizes and the document's, all at one scale. `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{column}: ours at {} of the document's sizes: {}",
    (scale * 1e6).round() / 1e6,
    pairs_text(pairs)
)]
pub struct ScaleMatch {
    /// The column of the sizes.
    pub column: String,
    /// Ours over theirs.
    pub scale: f64,
    /// Ours, each with that of the document.
    pub pairs: Vec<(Cell, Cell)>,
}

fn pairs_text(pairs: &[(Cell, Cell)]) -> String {
    let texts = pairs.iter();
    let texts = texts.map(|(ours, theirs)| {
        format!(
            "{} for {}",
            super::format_cell(ours),
            super::format_cell(theirs)
        )
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Our sizes and theirs; `None` if they are the same, or if each of ours is one of theirs and thus
/// matches.
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
                let theirs = values.map(|value| super::trial::parse_cell(&value.to_string()));
                let ours = trials.values(name);
                let ours = ours.iter().map(|value| super::trial::parse_cell(value));
                (ours.collect(), theirs.collect())
            }
        };
        let name = name.rsplit('.').next().unwrap_or(name);
        let ranges = range(name, &one).zip(range(name, &other));
        if let Some((one, other)) = ranges.filter(|(one, other)| one != other) {
            here.push(one);
            there.push(other);
        }
    }
    (!here.is_empty()).then_some(Sizes {
        here: here.join(", "),
        there: there.join(", "),
    })
}

/// The one size in a dimension, or the first and the last; `None` if none is known.
fn range(name: &str, sizes: &[Cell]) -> Option<String> {
    let known = sizes.iter().filter(|size| !matches!(size, Cell::Missing));
    let known: Vec<_> = known.map(super::format_cell).collect();
    match &known[..] {
        [] => None,
        [only] => Some(format!("{name} {only}")),
        [first, .., last] => Some(format!("{name} {first} to {last}")),
    }
}

/// Whether a size of theirs is ours at a scale, rounded to whole numbers as plans are.
fn scales_to(theirs: f64, scale: f64, ours: f64) -> bool {
    (theirs * scale).round().max(1.0) == ours
}

/// Whether another setting that grows with the scale has the value that this scale gives it.
fn other_setting_agrees(
    published: &PublishedTable,
    dimension: &str,
    scale: f64,
    trials: &Trials<'_>,
) -> bool {
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
    settings.any(|(theirs, ours): (f64, f64)| scales_to(theirs, scale, ours))
}

/// Whether a key of ours and one of theirs are the same, or are at the same place of the scale.
pub(super) fn same_place(column: &ComparedColumn, ours: &Cell, theirs: &Cell) -> bool {
    let sizes = (column.scale, ours.figure(), theirs.figure());
    match sizes {
        (Some(scale), Some(ours), Some(theirs)) => scales_to(theirs, scale, ours),
        _ => ours.to_string() == theirs.to_string(),
    }
}

/// A key of ours, with theirs if it differs: `10,000 here, 1,000,000 there`.
pub(super) fn both(ours: &Cell, theirs: Option<&Cell>) -> String {
    let here = super::format_cell(ours);
    match theirs
        .map(super::format_cell)
        .filter(|there| *there != here)
    {
        Some(there) => format!("{here} here, {there} there"),
        None => here,
    }
}

/// Pairs our sizes with theirs; `None` if the scale is unknown.
pub(super) fn matches(
    column: &ComparedColumn,
    ours: &[Cell],
    theirs: &[Cell],
) -> Option<ScaleMatch> {
    let pairs = ours.iter().filter_map(|one| {
        let other = theirs.iter().find(|other| same_place(column, one, other))?;
        Some((one.clone(), other.clone()))
    });
    Some(ScaleMatch {
        column: column.name.clone(),
        scale: column.scale?,
        pairs: pairs.collect(),
    })
}

/// Whether a row of ours and one of theirs have the same keys, ignoring size.
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
