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
use trueput_record::address::is_address_for;

/// The least points of a line, and the most.
const MIN_POINTS: usize = 30;
const MAX_POINTS: usize = 240;

/// The charts for which at least one trial has two points, and a figure above 0.
pub(crate) fn charts(trials: &[Representative<'_>]) -> Vec<Chart> {
    let most = (MORE_POINTS / trials.len().max(1)).clamp(MIN_POINTS, MAX_POINTS);
    let lines = |of: &dyn Fn(&Measurement) -> Vec<Point>| groups(trials, |one| of(one.measurement));
    // The size of a user's server and its writes are unknown.
    let own_lines = |of: &dyn Fn(&Measurement) -> Vec<Point>| {
        groups(trials, |one| {
            if is_users_server(one) {
                Vec::new()
            } else {
                of(one.measurement)
            }
        })
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
            lines(&|measurement| tombstone_points(measurement, most)),
        ),
    ];
    charts.into_iter().flatten().collect()
}

/// Whether the trial ran on a server that was there before, and stays.
fn is_users_server(one: &Representative<'_>) -> bool {
    let spec = &one.trial.spec;
    let build = spec.build.as_deref();
    build.is_some_and(|build| is_address_for(&spec.engine, build))
}

/// The trials whose line has at least two points. A line of zeros is that of an engine without
/// files or writes, such as the null engine, and says nothing.
fn groups(
    trials: &[Representative<'_>],
    points: impl Fn(&Representative<'_>) -> Vec<Point>,
) -> Vec<ChartGroup> {
    let group = |one: &Representative<'_>| {
        let points = points(one);
        let has_some = points.iter().any(|(_, y)| *y > 0.0);
        let rows = points.iter().map(|(until_s, y)| vec![*until_s, *y]);
        (points.len() > 1 && has_some).then(|| ChartGroup::rounded(one.cell.name(), rows))
    };
    trials.iter().filter_map(group).collect()
}

fn chart(
    title: &str,
    note: &str,
    (column, unit): (&str, Unit),
    groups: Vec<ChartGroup>,
) -> Option<Chart> {
    let count = groups.len();
    (count > 0).then(|| Chart {
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
