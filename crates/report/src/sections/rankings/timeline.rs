//! The chart of a ranking's rates over time.

use super::MEDIAN_REPEAT;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, ChartMark, Unit, short};
use trueput_findings::over_time::rate_points;
use trueput_findings::rankings::Ranking;
use trueput_findings::representative::Representative;
use trueput_findings::text::capitalized;
use trueput_findings::units::plural;
use trueput_record::Measurement;
use trueput_record::recovery::EventRecord;

/// The most points of all timelines of a chart together, and the least of each.
const MAX_POINTS: usize = 12_000;
const MIN_POINTS: usize = 30;
const ENOUGH_POINTS: usize = 240;

/// The most events that are marked on a line.
const MAX_MARKS: usize = 200;

/// Rates over time; `None` if no trial was long enough for two points.
pub(crate) fn over_time(ranking: &Ranking, trials: &[Representative<'_>]) -> Option<Chart> {
    let budget = (MAX_POINTS / trials.len().max(1)).clamp(MIN_POINTS, ENOUGH_POINTS);
    let group = |one: &Representative<'_>| {
        let points = rate_points(one.measurement, &ranking.headline, budget)?;
        let rows = points
            .into_iter()
            .map(|(until_s, per_s)| vec![until_s, per_s]);
        let rows: Vec<_> = rows.collect();
        (rows.len() > 1).then(|| ChartGroup {
            marks: marks(one.measurement),
            ..ChartGroup::rounded(one.cell.name(), rows)
        })
    };
    let groups: Vec<_> = trials.iter().filter_map(group).collect();
    let (first, _) = groups.split_first()?;
    let mut note = MEDIAN_REPEAT.to_owned();
    if groups.iter().any(|group| !group.marks.is_empty()) {
        note += " Dots: what the engines did by themselves, and what happened to nodes.";
    }
    let names = trials.iter().map(|one| one.cell.name());
    let without = names.filter(|name| groups.iter().all(|group| group.name != *name));
    let without: Vec<_> = without.collect();
    if !without.is_empty() {
        note += &format!(" Too short for a line: {}.", without.join(", "));
    }
    let title = format!(
        "{} per second over time",
        capitalized(&plural(&ranking.headline))
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
            ChartColumn::new("until, seconds", Unit::Seconds),
            ChartColumn::new("per second", Unit::PerSecond),
        ],
        groups,
        ..Chart::new(ChartKind::Timeline, "contender")
    })
}

/// The kind of an event; what happened to a node of a cluster.
fn mark_text(event: &EventRecord) -> String {
    match event.kind.as_str() {
        EventRecord::NODE => event.detail.clone(),
        kind => kind.to_owned(),
    }
}

/// The engine events of a trial that fit in the chart.
fn marks(measurement: &Measurement) -> Vec<ChartMark> {
    let events = measurement.events.iter().flatten();
    let within = |event: &&EventRecord| event.at_s <= measurement.elapsed_s;
    let begun = events.filter(|event| !event.is_end()).filter(within);
    let begun = begun.take(MAX_MARKS);
    let mark = |event: &EventRecord| ChartMark {
        at_s: short(event.at_s),
        text: mark_text(event),
    };
    begun.map(mark).collect()
}
