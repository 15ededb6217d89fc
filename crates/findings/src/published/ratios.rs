//! The ratios inside each set, ours and theirs side by side: they survive a change of machine.

use super::derived::differ_only_along;
use super::rows::{ComparedColumn, ComparedRow, Role};
use super::scale::{self, same_keys};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::published::{Cell, ColumnsByDimension, Ratio, Share, SideBySide};

/// Ratios of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioTable {
    /// The two things whose ratio is shown.
    pub title: String,
    /// The names of the keys of each ratio.
    pub keys: Vec<String>,
    /// Source of the figures; empty if the columns show it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The ratios.
    pub rows: Vec<RatioRow>,
}

/// A ratio of ours, with the document's if it has one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioRow {
    /// Our contender; empty for a ratio that only they have.
    pub who: String,
    /// The column whose figures are divided, in a table with ratios of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// Values of the keys that identify the ratio.
    pub keys: Vec<String>,
    /// Ours, from our figures only.
    pub here: Option<f64>,
    /// Theirs, from their figures only.
    pub there: Option<f64>,
}

/// Computes every ratio that a published table asks for and of which ours has a figure.
pub(super) fn tables(
    layout: &SideBySide,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
) -> Vec<RatioTable> {
    let across = layout.across.as_ref();
    let across = across.and_then(|across| across_columns(across, columns, ours, theirs));
    let along = layout
        .ratios
        .iter()
        .map(|ratio| along_rows(ratio, layout, columns, ours, theirs));
    let shares = layout.shares.iter();
    let shares = shares.map(|share| in_rows(share, columns, ours, theirs));
    across
        .into_iter()
        .chain(along)
        .chain(shares)
        .filter(|table| {
            let mut rows = table.rows.iter();
            rows.any(|row| row.here.is_some() || layout.pairs)
        })
        .collect()
}

/// Each column over the base's, row by row, ours next to theirs with the same keys. Rows that have
/// no counterpart are named by their own.
fn across_columns(
    across: &ColumnsByDimension,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
) -> Option<RatioTable> {
    let has = |rows: &[ComparedRow], place: usize| {
        rows.iter().any(|row| row.cells[place].figure().is_some())
    };
    let shared: Vec<usize> = (0..columns.len())
        .filter(|&place| columns[place].at.is_some() && has(ours, place) && has(theirs, place))
        .collect();
    let named = |place: &&usize| columns[**place].at.as_ref() == Some(&across.base);
    let base = *shared.iter().find(named).or(shared.first())?;
    let mut keys = vec![across.dimension.clone()];
    let of_row = |column: &&ComparedColumn| column.role == Role::Key;
    keys.extend(
        columns
            .iter()
            .filter(of_row)
            .map(|column| column.name.clone()),
    );
    let mut rows = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let Some(value) = column.at.as_ref().filter(|_| place != base) else {
            continue;
        };
        if !has(ours, place) {
            continue;
        }
        let ratio = |row: &ComparedRow| quotient(&row.cells[place], &row.cells[base]);
        for mut row in paired(columns, ours, theirs, &ratio) {
            row.keys.insert(0, value.clone());
            rows.push(row);
        }
    }
    let base = columns[base].at.clone().unwrap_or_default();
    Some(RatioTable {
        title: format!("each {} over {base}", across.dimension),
        keys,
        note: String::new(),
        rows,
    })
}

/// Pairs the ratio of each of our rows with that of the published row with the same keys, followed
/// by the published ratios without a counterpart.
fn paired(
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
    ratio: &dyn Fn(&ComparedRow) -> Option<f64>,
) -> Vec<RatioRow> {
    let mut rows = Vec::new();
    let measured: Vec<_> = ours.iter().filter(|row| ratio(row).is_some()).collect();
    for row in &measured {
        let mut same = theirs.iter().filter(|other| same_keys(columns, row, other));
        let there = same.find(|other| ratio(other).is_some());
        rows.push(RatioRow {
            who: row.who.clone(),
            figure: None,
            keys: keys_of(columns, row, there),
            here: ratio(row),
            there: there.and_then(ratio),
        });
    }
    let beside_none =
        |other: &&ComparedRow| !measured.iter().any(|row| same_keys(columns, row, other));
    for row in theirs.iter().filter(beside_none) {
        rows.extend(ratio(row).map(|there| RatioRow {
            who: String::new(),
            figure: None,
            keys: keys_of(columns, row, None),
            here: None,
            there: Some(there),
        }));
    }
    rows
}

/// One figure of each row over another of it.
fn in_rows(
    share: &Share,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
) -> RatioTable {
    let place = |name: &String| columns.iter().position(|column| column.name == *name);
    let (figure, of) = (place(&share.figure), place(&share.of));
    let ratio = |row: &ComparedRow| quotient(&row.cells[figure?], &row.cells[of?]);
    let keys = columns.iter().filter(|column| column.role == Role::Key);
    RatioTable {
        title: share.title.clone(),
        keys: keys.map(|column| column.name.clone()).collect(),
        note: share.arithmetic.trim().to_owned(),
        rows: paired(columns, ours, theirs, &ratio),
    }
}

/// The keys of a row, with those of its counterpart if they differ.
fn keys_of(
    columns: &[ComparedColumn],
    row: &ComparedRow,
    counterpart: Option<&ComparedRow>,
) -> Vec<String> {
    let keys = columns.iter().enumerate();
    let keys = keys.filter(|(_, column)| column.role == Role::Key);
    keys.map(|(place, _)| {
        let counterpart = counterpart.map(|counterpart| &counterpart.cells[place]);
        scale::both(&row.cells[place], counterpart)
    })
    .collect()
}

fn quotient(above: &Cell, below: &Cell) -> Option<f64> {
    let below = below.figure().filter(|below| *below > 0.0)?;
    Some(above.figure()? / below)
}

/// Each of our rows over the one that the ratio is taken over, and theirs with the same keys,
/// figure by figure.
fn along_rows(
    ratio: &Ratio,
    layout: &SideBySide,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
) -> RatioTable {
    let others: Vec<usize> = (0..columns.len())
        .filter(|&place| columns[place].role == Role::Key)
        .filter(|&place| !ratio.along.contains(&columns[place].name))
        .collect();
    let several = !ratio.other_figures.is_empty();
    let mut keys = vec![ratio.along.join(", ")];
    keys.extend(others.iter().map(|&place| columns[place].name.clone()));
    let mut rows = Vec::new();
    let pairs = pairs(ratio, columns, ours, theirs);
    let figures = ratio.figures().filter_map(|figure| {
        let place = columns.iter().position(|column| column.name == *figure)?;
        Some((figure, place))
    });
    let cases = figures.flat_map(|figure| pairs.iter().map(move |pair| (figure, pair)));
    for ((figure, place), (base, this)) in cases {
        for row in ours
            .iter()
            .filter(|row| values_along(ratio, columns, row) == *this)
        {
            let same = |other: &&ComparedRow| {
                values_along(ratio, columns, other) == *this
                    && others.iter().all(|&place| {
                        let (here, there) = (&row.cells[place], &other.cells[place]);
                        scale::same_place(&columns[place], here, there)
                    })
            };
            let counterpart = theirs.iter().find(same);
            let in_set = |set, row| ratio_in(set, row, base, ratio, columns, place);
            let here = in_set(ours, row);
            let there = counterpart.and_then(|other| in_set(theirs, other));
            // A pair is shown with whichever of its ratios there is.
            if here.is_none() && (there.is_none() || !layout.pairs) {
                continue;
            }
            let mut words = vec![format!("{} over {}", this.join(", "), base.join(", "))];
            words.extend(others.iter().map(|&place| {
                let theirs = counterpart.map(|row| &row.cells[place]);
                scale::both(&row.cells[place], theirs)
            }));
            rows.push(RatioRow {
                who: row.who.clone(),
                figure: several.then(|| figure.clone()),
                keys: words,
                here,
                there,
            });
        }
    }
    RatioTable {
        title: ratio.title.clone(),
        keys,
        note: String::new(),
        rows,
    }
}

/// The ratio of a row's figure to that of the row of its set that has `base` in place of another
/// value.
fn ratio_in(
    set: &[ComparedRow],
    row: &ComparedRow,
    base: &[String],
    ratio: &Ratio,
    columns: &[ComparedColumn],
    figure: usize,
) -> Option<f64> {
    let mut candidates = set
        .iter()
        .filter(|other| values_along(ratio, columns, other) == base)
        .filter(|other| differ_only_along(columns, ratio, row, other));
    let is_along = |column: &ComparedColumn| ratio.along.contains(&column.name);
    let mut contenders = columns.iter().filter(|column| column.names_contender);
    let first = candidates
        .clone()
        .next()
        .filter(|_| contenders.any(is_along));
    let below = candidates.find(|other| row.who == other.who).or(first)?;
    quotient(&row.cells[figure], &below.cells[figure])
}

/// The value of a row in the columns along which a ratio is taken.
fn values_along(ratio: &Ratio, columns: &[ComparedColumn], row: &ComparedRow) -> Vec<String> {
    let cell = |name: &String| {
        let place = columns.iter().position(|column| column.name == *name)?;
        row.cells.get(place).map(super::format_cell)
    };
    ratio.along.iter().filter_map(cell).collect()
}

/// The pairs of a ratio: everything over the named one, or each step of the document over the
/// previous step.
fn pairs(
    ratio: &Ratio,
    columns: &[ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
) -> Vec<(Vec<String>, Vec<String>)> {
    let mut steps: Vec<Vec<String>> = Vec::new();
    let named = !ratio.over.is_empty();
    let rows = theirs.iter().chain(ours.iter().filter(|_| named));
    for step in rows.map(|row| values_along(ratio, columns, row)) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    if named {
        let written = |value: &trueput_record::Value| {
            super::format_cell(&super::trial::parse_cell(&value.to_string()))
        };
        let base: Vec<_> = ratio.over.iter().map(written).collect();
        let others = steps.into_iter().filter(|step| *step != base);
        return others.map(|step| (base.clone(), step)).collect();
    }
    let before = steps.iter().cloned();
    before.zip(steps.iter().skip(1).cloned()).collect()
}
