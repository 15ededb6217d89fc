//! The charts of a ranking's databases over time: their size, their write amplification, and the
//! tombstones that iterators pass over.

use super::MEDIAN_REPEAT;
use super::timeline::MORE_POINTS;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use trueput_findings::representative::Representative;
use trueput_findings::storage_over_time::{
    Point, size_points, tombstone_points, write_amplification_points,
};
use trueput_record::Measurement;

/// The least points of a line, and the most.
const MIN_POINTS: usize = 30;
const MAX_POINTS: usize = 240;

/// The charts for which at least one trial has a line with a figure above 0.
pub(crate) fn charts(trials: &[Representative<'_>]) -> Vec<Chart> {
    let most = (MORE_POINTS / trials.len().max(1)).clamp(MIN_POINTS, MAX_POINTS);
    // The size of a user's server and its writes are unknown. A line of zeros is that of an engine
    // without files or writes, such as the null engine, and says nothing.
    let own_lines = |of: &dyn Fn(&Measurement) -> Vec<Point>| {
        let mut lines = groups(trials, |one| {
            if one.trial.spec.is_on_users_server() {
                Vec::new()
            } else {
                of(one.measurement)
            }
        });
        lines.retain(is_above_zero);
        lines
    };
    let charts = [
        chart(
            "Database on disk over time",
            "Blocks of the database's files.",
            ("on disk, bytes", Unit::Bytes),
            own_lines(&|measurement| size_points(measurement, most)),
        ),
        chart(
            "Write amplification over time, bytes of the processes",
            "Bytes that the processes sent to the storage layer, counted when pages become dirty, \
             per byte of keys and values written in the same second; an engine may write later \
             what it was given.",
            ("times the user's bytes", Unit::Times),
            own_lines(&|measurement| write_amplification_points(measurement, most)),
        ),
        chart(
            "Tombstones passed per second over time",
            "Marks of deleted records that iterators passed over, of engines that count them.",
            ("per second", Unit::PerSecond),
            groups(trials, |one| tombstone_points(one.measurement, most)),
        ),
    ];
    charts.into_iter().flatten().collect()
}

/// The trials whose line has at least two points.
fn groups(
    trials: &[Representative<'_>],
    points: impl Fn(&Representative<'_>) -> Vec<Point>,
) -> Vec<ChartGroup> {
    let group = |one: &Representative<'_>| {
        let points = points(one);
        let rows = points.iter().map(|(until_s, y)| vec![*until_s, *y]);
        (points.len() > 1).then(|| ChartGroup::rounded(one.cell.name(), rows))
    };
    trials.iter().filter_map(group).collect()
}

/// Whether a line, whose points are a time and a figure, has a figure above 0.
fn is_above_zero(line: &ChartGroup) -> bool {
    let mut figures = line.rows.iter().map(|row| row.last().copied().flatten());
    figures.any(|figure| figure > Some(0.0))
}

/// A chart of these lines; `None` if no figure of theirs is above 0.
fn chart(
    title: &str,
    note: &str,
    (column, unit): (&str, Unit),
    groups: Vec<ChartGroup>,
) -> Option<Chart> {
    let count = groups.len();
    groups.iter().any(is_above_zero).then(|| Chart {
        says: format!("{title}, a line for each of {count} contenders."),
        title: title.to_owned(),
        note: format!("{note} {MEDIAN_REPEAT}"),
        columns: vec![
            ChartColumn::new("until, seconds", Unit::Seconds),
            ChartColumn::new(column, unit),
        ],
        groups,
        ..Chart::new(ChartKind::Timeline, "contender")
    })
}
