//! The charts of a ranking's rates and latencies over time.

use super::MEDIAN_REPEAT;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, ChartMark, Unit, short};
use trueput_findings::latency_bands::BandShare;
use trueput_findings::over_time::{LatencyPoint, latency_points, rate_points};
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

/// The most columns of a heat map, and the most heat maps.
const MAX_COLUMNS: usize = 40;
const MAX_MAPS: usize = 6;

/// A percentile of a point, nanoseconds.
type PercentileReader = fn(&LatencyPoint) -> u64;

/// A percentile with its name.
type LatencyPercentile = (&'static str, PercentileReader);

/// A contender and its latencies over time.
type LatencyLine = (String, Vec<LatencyPoint>);

/// The percentile of several contenders that is drawn first.
const DRAWN_FIRST: LatencyPercentile = ("p99", |point| point.p99_ns);

/// The lines of a contender's latencies over time.
const PERCENTILES: [LatencyPercentile; 4] = [
    ("p50", |point| point.p50_ns),
    DRAWN_FIRST,
    ("p99.9", |point| point.p999_ns),
    ("max", |point| point.max_ns),
];

/// The points that all the other charts of latencies of a ranking share, as far as each line has
/// [`MIN_POINTS`]: most readers leave them folded, and the page has to be sent.
pub(super) const MORE_POINTS: usize = 3_000;

/// The most kinds of operation that have charts of latencies.
const MAX_TIMED_KINDS: usize = 6;

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

/// The latencies of the headline over time: the 99th percentile of each contender, or several
/// percentiles of the only one; `None` if no trial has two points.
pub(crate) fn latencies(ranking: &Ranking, trials: &[Representative<'_>]) -> Option<Chart> {
    let kind = &ranking.headline;
    let most = (MAX_POINTS / trials.len().max(1)).clamp(MIN_POINTS, ENOUGH_POINTS);
    match latency_lines(kind, trials, most).as_slice() {
        [] => None,
        [only] => Some(latencies_of_one(kind, only)),
        several => Some(latencies_of_all(kind, DRAWN_FIRST, several)),
    }
}

/// The other latencies over time, for a reader who wants another kind of operation or another
/// percentile than [`latencies`] draws; empty if no trial has two points.
pub(crate) fn more_latencies(ranking: &Ranking, trials: &[Representative<'_>]) -> Vec<Chart> {
    let mut kinds = ranking.frequent_kinds();
    kinds.truncate(MAX_TIMED_KINDS);
    let lines = (trials.len() * kinds.len() * PERCENTILES.len()).max(1);
    let most = (MORE_POINTS / lines).clamp(MIN_POINTS, ENOUGH_POINTS);
    let mut charts = Vec::new();
    for kind in kinds {
        let is_headline = kind == ranking.headline;
        match latency_lines(kind, trials, most).as_slice() {
            [] => {}
            [only] => charts.extend((!is_headline).then(|| latencies_of_one(kind, only))),
            several => {
                let is_new = |(name, _): &LatencyPercentile| !is_headline || *name != DRAWN_FIRST.0;
                let others = PERCENTILES.into_iter().filter(is_new);
                charts.extend(others.map(|one| latencies_of_all(kind, one, several)));
            }
        }
    }
    charts
}

/// The contenders whose latencies of a kind have at least two points, at most so many each.
fn latency_lines(kind: &str, trials: &[Representative<'_>], most: usize) -> Vec<LatencyLine> {
    let points = trials.iter().map(|one| {
        let points = latency_points(one.measurement, kind, most);
        (one.cell.name(), points)
    });
    points.filter(|(_, points)| points.len() > 1).collect()
}

/// The percentiles of the only contender.
fn latencies_of_one(kind: &str, (contender, points): &LatencyLine) -> Chart {
    let groups = PERCENTILES
        .into_iter()
        .map(|(name, of)| group(name.to_owned(), points, of))
        .collect();
    let lines = format!("percentiles of {contender}");
    latency_chart("Latency", kind, &lines, "percentile", groups)
}

/// A percentile of each contender.
fn latencies_of_all(
    kind: &str,
    (percentile, of): LatencyPercentile,
    several: &[LatencyLine],
) -> Chart {
    let groups = several
        .iter()
        .map(|(name, points)| group(name.clone(), points, of))
        .collect();
    let lines = format!("a line for each of {} contenders", several.len());
    latency_chart(percentile, kind, &lines, "contender", groups)
}

/// A chart of a figure of a kind's latency over time.
fn latency_chart(
    figure: &str,
    kind: &str,
    lines: &str,
    group: &'static str,
    groups: Vec<ChartGroup>,
) -> Chart {
    let title = format!("{figure} of {kind} over time");
    Chart {
        groups,
        says: format!("{title} on a log scale, {lines}."),
        title,
        note: format!("Service time, log scale. {MEDIAN_REPEAT}"),
        columns: vec![
            ChartColumn::new("until, seconds", Unit::Seconds),
            ChartColumn::new("service time, ns", Unit::Nanoseconds),
        ],
        ..Chart::new(ChartKind::LatencyTimeline, group)
    }
}

fn group(name: String, points: &[LatencyPoint], of: PercentileReader) -> ChartGroup {
    let rows = points.iter();
    ChartGroup::rounded(
        name,
        rows.map(|point| vec![point.until_s, of(point) as f64]),
    )
}

/// The latencies of the headline over time in bands, a map for each of the first contenders; `None`
/// if no run folder has them.
pub(crate) fn heat_map(ranking: &Ranking, trials: &[Representative<'_>]) -> Option<Chart> {
    let kind = &ranking.headline;
    let map = |one: &Representative<'_>| {
        let cells = one.latency_bands(kind, MAX_COLUMNS);
        let row = |cell: &BandShare| {
            let BandShare {
                from_s,
                until_s,
                low_ns,
                high_ns,
                share,
            } = *cell;
            vec![from_s, until_s, low_ns, high_ns, share]
        };
        let rows: Vec<_> = cells.iter().map(row).collect();
        (!rows.is_empty()).then(|| ChartGroup::rounded(one.cell.name(), rows))
    };
    let groups: Vec<_> = trials.iter().filter_map(map).take(MAX_MAPS).collect();
    if groups.is_empty() {
        return None;
    }
    let mut note = format!(
        "Darker: a larger share of the operations of that time. Service time, log scale. \
         {MEDIAN_REPEAT}"
    );
    if groups.len() == MAX_MAPS && trials.len() > MAX_MAPS {
        note += &format!(" The first {MAX_MAPS} contenders.");
    }
    let title = format!("Latencies of {kind} over time");
    Some(Chart {
        says: format!(
            "{title} on a log scale, a heat map for each of {} contenders.",
            groups.len()
        ),
        title,
        note,
        columns: vec![
            ChartColumn::new("from, seconds", Unit::Seconds),
            ChartColumn::new("until, seconds", Unit::Seconds),
            ChartColumn::new("from, ns", Unit::Nanoseconds),
            ChartColumn::new("to, ns", Unit::Nanoseconds),
            ChartColumn::new("share", Unit::Share),
        ],
        groups,
        ..Chart::new(ChartKind::HeatMap, "contender")
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
