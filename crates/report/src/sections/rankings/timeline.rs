//! The chart of a ranking's rates over time.

use super::capital;
use super::representative::{MEDIAN_REPEAT, Representative};
use crate::chart::{Chart, Column, Group, Kind, Mark, Unit, short};
use trueput_findings::rankings::Ranking;
use trueput_findings::units::plural;
use trueput_record::Measurement;
use trueput_record::recovery::EventRecord;

/// A part of the timeline shorter than this has too few samples for a rate, seconds.
const SHORTEST_S: f64 = 0.25;

/// How many points all timelines of a chart have together, and the least that each keeps.
const MOST_POINTS: usize = 12_000;
const FEWEST_POINTS: usize = 30;
const ENOUGH_POINTS: usize = 240;

/// The most events that are marked on a line.
const MOST_MARKS: usize = 200;

/// Rates over time; `None` if no trial was long enough for two points.
pub(crate) fn over_time(ranking: &Ranking, chosen: &[Representative<'_>]) -> Option<Chart> {
    let budget = (MOST_POINTS / chosen.len().max(1)).clamp(FEWEST_POINTS, ENOUGH_POINTS);
    let group = |one: &Representative<'_>| {
        let rows = rate_points(one.measurement, &ranking.headline, budget)?;
        (rows.len() > 1).then(|| Group {
            marks: marks(one.measurement),
            ..Group::rounded(one.cell.name(), rows)
        })
    };
    let groups: Vec<_> = chosen.iter().filter_map(group).collect();
    let (first, _) = groups.split_first()?;
    let mut note = MEDIAN_REPEAT.to_owned();
    if groups.iter().any(|group| !group.marks.is_empty()) {
        note += " Dots: what the engines did by themselves.";
    }
    let names = chosen.iter().map(|one| one.cell.name());
    let without = names.filter(|name| groups.iter().all(|group| group.name != *name));
    let without: Vec<_> = without.collect();
    if !without.is_empty() {
        note += &format!(" Too short for a line: {}.", without.join(", "));
    }
    let title = format!(
        "{} per second over time",
        capital(&plural(&ranking.headline))
    );
    Some(Chart {
        says: format!(
            "{title}, a line for each of {} contenders; the first is {}.",
            groups.len(),
            first.name
        ),
        title,
        note,
        columns: vec![
            Column::new("until, seconds", Unit::Seconds),
            Column::new("per second", Unit::PerSecond),
        ],
        groups,
        ..Chart::new(Kind::Timeline, "contender")
    })
}

/// What the engine of a trial began by itself, as far as there is room for it.
fn marks(measurement: &Measurement) -> Vec<Mark> {
    let events = measurement.events.iter().flatten();
    let within = |event: &&EventRecord| event.at_s <= measurement.elapsed_s;
    let begun = events.filter(|event| !event.is_end()).filter(within);
    let begun = begun.take(MOST_MARKS);
    let mark = |event: &EventRecord| Mark {
        at_s: short(event.at_s),
        text: event.kind.clone(),
    };
    begun.map(mark).collect()
}

/// End and rate of each second, of several seconds together where there are too many.
fn rate_points(measurement: &Measurement, kind: &str, most: usize) -> Option<Vec<Vec<f64>>> {
    let operations = &measurement.operations;
    let index = operations
        .iter()
        .position(|operation| operation.kind == kind)?;
    let together = measurement.timeline.len().div_ceil(most).max(1);
    let mut from_s = 0.0;
    let mut points = Vec::new();
    for seconds in measurement.timeline.chunks(together) {
        let Some(last) = seconds.last() else { continue };
        let counts = seconds.iter().filter_map(|second| second.counts.get(index));
        let span_s = last.at_s - from_s;
        if span_s >= SHORTEST_S {
            points.push(vec![last.at_s, counts.sum::<u64>() as f64 / span_s]);
        }
        from_s = last.at_s;
    }
    Some(points)
}
