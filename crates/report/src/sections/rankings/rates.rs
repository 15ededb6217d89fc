//! The main chart of a ranking: a bar for each contender, with its repeats and the interval of its
//! verdict.

use super::columns::by_name;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::objective::time_limit;
use crate::significance::levels;
use trueput_findings::cells::RankedCell;
use trueput_findings::rankings::Ranking;
use trueput_findings::significance::counting;
use trueput_findings::statistics::Comparison;
use trueput_findings::text::capitalized;
use trueput_findings::units::{nanoseconds, number, plural};
use trueput_findings::{Run, eligibility};
use trueput_record::objective::{ObjectiveLimit, ObjectiveMetric};

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

/// A limit that is further than this many times the longest bar would make all bars short.
const MAX_LIMIT_FACTOR: f64 = 4.0;

const BY_NAME: &str = " Sorted by name: these contenders have no order.";

/// The chart of the figure that orders a ranking, sorted by name if the order means nothing. `None`
/// if nothing is ranked.
pub(crate) fn ranking_chart(report: &Run, ranking: &Ranking, in_order: bool) -> Option<Chart> {
    let waits = ranking
        .rate_per_s
        .and_then(|rate_per_s| responses(report, ranking, rate_per_s));
    waits.or_else(|| rates(report, ranking, in_order))
}

/// The median rates.
fn rates(report: &Run, ranking: &Ranking, in_order: bool) -> Option<Chart> {
    let rate = |cell: &&RankedCell| cell.figures.headline_per_s.median;
    // Of equal rates the first is kept.
    let rates = ranking.cells.iter().rev();
    let best = rates.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let leader = ranking.cells.first().map(|cell| rate(&cell))?;
    let title = format!("{} per second", capitalized(&plural(&ranking.headline)));
    let group = |cell: &RankedCell| {
        let repeats = counting(&report.trials, cell.cell, &ranking.headline);
        let rates = repeats
            .iter()
            .filter_map(|trial| eligibility::rate(trial, &ranking.headline));
        let row = row(rate(&cell), cell.against_best, leader, rates);
        ChartGroup::of_row(cell.name(), row)
    };
    let (name, most) = (best.name(), number(best.figures.headline_per_s.median));
    let (cells, first, order) = if in_order {
        (
            ranking.cells.clone(),
            format!("{name} has the highest rate, {most}"),
            "",
        )
    } else {
        (
            by_name(&ranking.cells),
            "they have no order".to_owned(),
            BY_NAME,
        )
    };
    let groups: Vec<_> = cells.iter().map(group).collect();
    let is_marked = in_order && groups.len() > 1 && ranking.rate_per_s.is_none();
    let compared = ranking.cells.iter();
    let compared = compared.filter_map(|cell| cell.against_best.as_ref());
    Some(Chart {
        says: format!(
            "{title} of {} contenders at {}: {first}.",
            groups.len(),
            ranking.durability
        ),
        label: title.clone(),
        title,
        note: note(levels(compared), is_marked, "ends before") + order + sign_note(&groups),
        columns: columns(&groups, Unit::PerSecond),
        reference: is_marked.then_some(leader),
        groups,
        ..Chart::new(ChartKind::Bars, "contender")
    })
}

/// The chart of response times if all had one rate; `None` if there are none.
fn responses(report: &Run, ranking: &Ranking, rate_per_s: f64) -> Option<Chart> {
    let found = |cell: &RankedCell| Some((cell.clone(), cell.at_rate.clone()?));
    let found: Vec<_> = ranking.cells.iter().filter_map(found).collect();
    let (first, at_first) = found.first()?;
    let leader = at_first.response_p99_ns.median;
    let group = |(cell, at_rate): &(RankedCell, trueput_findings::fixed_rate::FixedRateResult)| {
        let repeats = counting(&report.trials, cell.cell, &ranking.headline);
        let times = trueput_findings::fixed_rate::times(&repeats, &at_rate.worst_kind);
        let median = at_rate.response_p99_ns.median;
        let row = row(median, at_rate.against_best, leader, times.into_values());
        ChartGroup::of_row(cell.name(), row)
    };
    let groups: Vec<_> = found.iter().map(group).collect();
    let compared = found.iter().filter_map(|(_, at)| at.against_best.as_ref());
    let is_marked = at_first.kept && groups.len() > 1;
    let mut note = note(levels(compared), is_marked, "begins after") + sign_note(&groups);
    let late = found.iter().filter(|(_, at)| !at.kept);
    let late: Vec<_> = late.map(|(cell, _)| cell.name()).collect();
    if !late.is_empty() {
        note += &format!(
            " Did not keep the rate, and users waited longer than this: {}.",
            late.join(", ")
        );
    }
    if ranking.has_several_response_kinds() {
        note.insert_str(0, "Each contender's slowest kind of operation. ");
    }
    let objective = report.manifest.objective.as_ref();
    let limit = time_limit(objective, |metric| metric == ObjectiveMetric::P99);
    let times = found.iter().map(|(_, at)| at.response_p99_ns.median);
    let longest = times.fold(0.0, f64::max);
    let is_near = |limit: &ObjectiveLimit| limit.below * NS_PER_S < longest * MAX_LIMIT_FACTOR;
    note += &limit.map_or_else(String::new, |limit| {
        if is_near(&limit) {
            format!(" Dotted: the limit, {limit}.")
        } else {
            format!(" The limit, {limit}, is beyond the chart.")
        }
    });
    let limit = limit.filter(is_near);
    let title = "Response time, 99th percentile".to_owned();
    Some(Chart {
        says: format!(
            "{title}, at {} and {} requests per second, {} contenders: the first is {} with {}.",
            ranking.durability,
            number(rate_per_s),
            groups.len(),
            first.name(),
            nanoseconds(leader)
        ),
        label: format!("{title}, shorter is better"),
        title,
        note,
        columns: columns(&groups, Unit::Nanoseconds),
        reference: is_marked.then_some(leader),
        limit: limit.map(|limit| limit.below * NS_PER_S),
        groups,
        ..Chart::new(ChartKind::Bars, "contender")
    })
}

/// The median of a cell, the ends of its interval, and its repeats. The interval is that of the
/// ratio to the leader times the leader's figure: if it contains the leader's figure, no difference
/// is claimed.
fn row(
    median: f64,
    compared: Option<Comparison>,
    leader: f64,
    repeats: impl Iterator<Item = f64>,
) -> Vec<Option<f64>> {
    let ratio = compared.and_then(|compared| compared.ratio);
    let mut row = vec![
        Some(median),
        ratio.map(|ratio| ratio.low * leader),
        ratio.map(|ratio| ratio.high * leader),
    ];
    row.extend(repeats.map(Some));
    row
}

fn columns(groups: &[ChartGroup], unit: Unit) -> Vec<ChartColumn> {
    let longest = groups.iter().flat_map(|group| &group.rows).map(Vec::len);
    let repeats = longest.max().unwrap_or_default().saturating_sub(3);
    let fixed = ["median", "interval from", "interval to"].map(str::to_owned);
    let repeats = (1..=repeats).map(|repeat| format!("repeat {repeat}"));
    let titles = fixed.into_iter().chain(repeats);
    titles.map(|title| ChartColumn::new(title, unit)).collect()
}

/// Names longer than these lose their marks where a chart is narrow.
const LONG_NAME: usize = 30;

/// Says what the sign of a marked name is; empty if no name is so long that it gets one.
fn sign_note(groups: &[ChartGroup]) -> &'static str {
    let is_long =
        |group: &ChartGroup| group.name.ends_with(']') && group.name.chars().count() > LONG_NAME;
    if groups.iter().any(is_long) {
        " *: has marks, named in the table."
    } else {
        ""
    }
}

/// Explains the marks and, if a contender is marked as slower, the condition for that.
fn note(level: Option<String>, is_marked: bool, clear_of: &str) -> String {
    let marks = "Bars: medians. Points: repeats.";
    match (level, is_marked) {
        (None, false) => marks.to_owned(),
        (None, true) => format!("{marks} Dashed: the leader."),
        (Some(level), false) => format!("{marks} Lines: intervals ({level})."),
        (Some(level), true) => format!(
            "{marks} Lines: intervals ({level}). Dashed: the leader. A contender is slower if its \
             interval {clear_of} the dashed line, a rank test agrees and the difference is at \
             least 1 %."
        ),
    }
}
