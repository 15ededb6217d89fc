//! Charts of times by percentile: how long operations took, and how long users of an open loop
//! waited.

use super::MEDIAN_REPEAT;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::objective::time_limit;
use trueput_findings::representative::{Percentile, Representative};
use trueput_findings::units::number;
use trueput_record::objective::Objective;

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

/// The chart of latencies of a kind of operation; `None` if none was timed.
pub(crate) fn service(kind: &str, trials: &[Representative<'_>]) -> Option<Chart> {
    let note = format!("Service time, log scale. {MEDIAN_REPEAT}");
    let is_open = trials.iter().any(|one| one.measurement.open_loop.is_some());
    // Beside response times, which are latencies too, the word would say nothing.
    let figure = if is_open { "Service time" } else { "Latency" };
    let title = format!("{figure} of {kind} by percentile");
    by_percentile(title, "service time, ns", note, trials, |one| {
        one.percentiles(kind)
    })
}

/// The charts of response times in an open loop, one for each of the first kinds of unit and of
/// those that were the slowest of a contender, with the limit of an objective; empty if no trial
/// was an open loop.
pub(crate) fn responses(
    trials: &[Representative<'_>],
    max_kinds: usize,
    objective: Option<&Objective>,
) -> Vec<Chart> {
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
    kinds.truncate(max_kinds);
    let slowest = trials.iter().filter_map(|one| one.cell.at_rate.as_ref());
    for kind in slowest.map(|at_rate| at_rate.worst_kind.as_str()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
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
    let limit = time_limit(objective, |_| true);
    if let Some(limit) = limit {
        note += &format!(" Dashed: the limit, {limit}.");
    }
    let chart = |kind: &str| {
        let chart = by_percentile(
            format!("Response time of {kind} by percentile"),
            "response time, ns",
            note.clone(),
            trials,
            |one| one.response_percentiles(kind),
        );
        chart.map(|chart| Chart {
            reference: limit.map(|limit| limit.below * NS_PER_S),
            ..chart
        })
    };
    kinds.into_iter().filter_map(chart).collect()
}

/// A line for each contender that has points.
fn by_percentile(
    title: String,
    column: &str,
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
            ChartColumn::new(column, Unit::Nanoseconds),
        ],
        groups,
        ..Chart::new(ChartKind::Percentiles, "contender")
    })
}
