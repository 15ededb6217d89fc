//! The columns of a published table that are computed from other rows of the same set.

use super::rows::{ComparedColumn, ComparedRow, Role};
use trueput_record::published::{Cell, PublishedTable, Ratio, SideBySide};

/// Fills the derived columns of our rows: the gain of a step over the one before, or over the first
/// if each changes only the base; the speed in per cent of the row to which the table's first ratio
/// refers; and the rate as a multiple of that row's.
pub(super) fn fill(
    published: &PublishedTable,
    layout: &SideBySide,
    columns: &[ComparedColumn],
    ours: &mut [ComparedRow],
    on_base_alone: bool,
) {
    let place = |wanted: &str| {
        let mut columns = published.columns.iter();
        columns.position(|column| column.ours.as_deref() == Some(wanted))
    };
    if let (Some(to), Some(rate)) = (place("gain_percent"), place("per_minute")) {
        let gains = gains(ours, rate, on_base_alone);
        put(ours, to, gains);
    }
    if let (Some(to), Some(ratio)) = (place("speed_percent"), layout.ratios.first()) {
        let speeds = over_base(columns, ratio, ours, |base_s, row_s| {
            let percent = (base_s / row_s * 100.0).round();
            (row_s > 0.0).then_some(Cell::Integer(percent as i64))
        });
        put(ours, to, speeds);
    }
    if let (Some(to), Some(ratio)) = (place("times_base"), layout.ratios.first()) {
        let times = over_base(columns, ratio, ours, |base_per_s, row_per_s| {
            (base_per_s > 0.0).then(|| Cell::Number(row_per_s / base_per_s))
        });
        put(ours, to, times);
    }
}

fn put(ours: &mut [ComparedRow], to: usize, cells: Vec<Option<Cell>>) {
    for (row, cell) in ours.iter_mut().zip(cells) {
        row.cells[to] = cell.unwrap_or(Cell::Missing);
    }
}

fn gains(ours: &[ComparedRow], rate: usize, on_base_alone: bool) -> Vec<Option<Cell>> {
    let gain = |index: usize| {
        let row = &ours[index];
        let mut earlier = ours[..index].iter().filter(|one| one.who == row.who);
        let before = (if on_base_alone {
            earlier.next()
        } else {
            earlier.next_back()
        })?;
        let above = row.cells[rate].figure()?;
        let below = before.cells[rate].figure().filter(|below| *below > 0.0)?;
        Some(Cell::Text(format!("{:.1}", (above / below - 1.0) * 100.0)))
    };
    (0..ours.len()).map(gain).collect()
}

/// A cell of each row from the figure of the row that the ratio is over, and its own. That row has
/// the name of this one, unless the ratio compares contenders and no such row is there.
fn over_base(
    columns: &[ComparedColumn],
    ratio: &Ratio,
    ours: &[ComparedRow],
    derive: impl Fn(f64, f64) -> Option<Cell>,
) -> Vec<Option<Cell>> {
    let figure = columns
        .iter()
        .position(|column| column.name == ratio.figure);
    let is_base = |row: &ComparedRow| {
        let pairs = ratio.along.iter().zip(&ratio.over);
        pairs.into_iter().all(|(along, over)| {
            let place = columns.iter().position(|column| column.name == *along);
            place.is_some_and(|place| row.cells[place].to_string() == over.to_string())
        })
    };
    let is_along = |column: &ComparedColumn| ratio.along.contains(&column.name);
    let mut contenders = columns.iter().filter(|column| column.names_contender);
    let compares_contenders = contenders.any(is_along);
    let cell = |row: &ComparedRow| {
        let mut set = ours
            .iter()
            .filter(|other| is_base(other) && differ_only_along(columns, ratio, row, other));
        let first = set.clone().next().filter(|_| compares_contenders);
        let base = set.find(|other| row.who == other.who).or(first)?;
        derive(base.cells[figure?].figure()?, row.cells[figure?].figure()?)
    };
    ours.iter().map(cell).collect()
}

/// Whether the keys of two rows of a set differ only in the dimension of the ratio.
pub(super) fn differ_only_along(
    columns: &[ComparedColumn],
    ratio: &Ratio,
    one: &ComparedRow,
    other: &ComparedRow,
) -> bool {
    let mut cells = columns.iter().zip(one.cells.iter().zip(&other.cells));
    cells.all(|(column, (one, other))| {
        column.role == Role::Figure || ratio.along.contains(&column.name) || one == other
    })
}
