//! Charts of times by percentile: how long operations took, and how long users of an open loop
//! waited.

use super::MEDIAN_REPEAT;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use trueput_findings::representative::{Percentile, Representative};
use trueput_findings::units::number;

/// The chart of latencies of a kind of operation; `None` if none was timed.
pub(crate) fn service(kind: &str, trials: &[Representative<'_>]) -> Option<Chart> {
    let note = format!("Service time, log scale. {MEDIAN_REPEAT}");
    by_percentile(
        format!("Latency of {kind} by percentile"),
        note,
        trials,
        |one| one.percentiles(kind),
    )
}

/// The charts of response times in an open loop, one for each of the first kinds of unit; empty if
/// no trial was an open loop.
pub(crate) fn responses(trials: &[Representative<'_>], most_kinds: usize) -> Vec<Chart> {
    let loops = || {
        trials
            .iter()
            .filter_map(|one| one.measurement.open_loop.as_ref())
    };
    let mut kinds: Vec<&str> = Vec::new();
    for response in loops().flat_map(|one| &one.responses) {
        if response.count > 0 && !kinds.contains(&response.kind.as_str()) {
            kinds.push(&response.kind);
        }
    }
    kinds.truncate(most_kinds);
    let mut rates: Vec<_> = loops().map(|one| one.rate_per_s).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let rates: Vec<_> = rates.into_iter().map(number).collect();
    let mut note = format!(
        "From when each was due, {} a second, to its end; log scale. {MEDIAN_REPEAT}",
        rates.join(" or ")
    );
    if loops().any(|one| one.backlog > 0) {
        note +=
            " What was due and not begun counts with its wait so far: such times are too short.";
    }
    let chart = |kind: &str| {
        by_percentile(
            format!("Response time of {kind} by percentile"),
            note.clone(),
            trials,
            |one| one.response_percentiles(kind),
        )
    };
    kinds.into_iter().filter_map(chart).collect()
}

/// A line for each contender that has points.
fn by_percentile(
    title: String,
    note: String,
    trials: &[Representative<'_>],
    points: impl Fn(&Representative<'_>) -> Vec<Percentile>,
) -> Option<Chart> {
    let group = |one: &Representative<'_>| {
        let points = points(one).into_iter();
        let rows: Vec<_> = points
            .map(|one| vec![one.percentile, one.latency_ns])
            .collect();
        (!rows.is_empty()).then(|| ChartGroup::new(one.cell.name(), rows))
    };
    let groups: Vec<_> = trials.iter().filter_map(group).collect();
    (!groups.is_empty()).then(|| Chart {
        says: format!(
            "{title} on a log scale, a line for each of {} contenders.",
            groups.len()
        ),
        title,
        note,
        columns: vec![
            ChartColumn::new("percentile", Unit::Percentile),
            ChartColumn::new("latency, ns", Unit::Nanoseconds),
        ],
        groups,
        ..Chart::new(ChartKind::Percentiles, "contender")
    })
}
