//! The columns of a ranking: what is in them, and which go first if there is no room.

use crate::charts::{Charts, bar};
use crate::document::{Column, ColumnRole, Table};
use crate::isolation;
use trueput_findings::cells::{OperationFigures, RankedCell, SEVERAL_VERSIONS};
use trueput_findings::contender::version_number;
use trueput_findings::fixed_rate::FixedRateResult;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::plural;
use trueput_findings::units::{
    bytes, hit_ratio, nanoseconds, number, per_cent, seconds, separate, whole,
};

/// With more kinds of operation than this, only the headline's latencies have columns.
const MOST_TIMED: usize = 4;

/// Characters of the longest bar.
const BAR: usize = 16;

/// Writes a row's cell. The number is the row's rank, from 1.
type Value<'a> = Box<dyn Fn(usize, &RankedCell) -> String + 'a>;

/// A column with the way to fill it.
struct ColumnSource<'a> {
    column: Column,
    value: Value<'a>,
}

impl ColumnSource<'_> {
    fn in_role(self, role: ColumnRole) -> Self {
        let column = self.column.in_role(role);
        Self { column, ..self }
    }
}

/// The table of the ranked cells, best first; where their order means nothing by name, without
/// places and shares of the best.
pub fn ranked(ranking: &Ranking, in_order: bool, charts: Charts) -> Table {
    let place = |rank: usize, _: &RankedCell| rank.to_string();
    let mut columns: Vec<_> = in_order.then(|| text("", 0, place)).into_iter().collect();
    columns.extend(identity());
    columns.extend(responses(ranking));
    columns.extend(rates(ranking));
    columns.extend(isolation(&ranking.cells));
    let of_best = |_, cell: &RankedCell| cell.relative_to_best.map_or_else(String::new, per_cent);
    columns.extend(in_order.then(|| leading("of best", 2, of_best)));
    columns.extend(bars(charts).filter(|_| ranking.rate_per_s.is_none()));
    let from_to = |_, cell: &RankedCell| {
        let ratio = cell.against_best.and_then(|comparison| comparison.ratio);
        ratio.map_or_else(String::new, |ratio| {
            format!("{}–{}", number(ratio.low * 100.0), per_cent(ratio.high))
        })
    };
    columns.extend(in_order.then(|| leading("of best from–to", 5, from_to)));
    columns.extend(latencies(ranking));
    columns.extend(processor(7));
    columns.extend(storage());
    match in_order {
        true => fill(columns, &ranking.cells),
        false => fill(columns, &by_name(&ranking.cells)),
    }
}

/// The figures of the only contender of a ranking in one line, for which a table is too much;
/// `None` for any other ranking.
pub fn only_contender(ranking: &Ranking) -> Option<String> {
    let [cell] = ranking.cells.as_slice() else {
        return None;
    };
    let table = ranked(ranking, false, Charts::Off);
    let name = cell.name();
    let figures = table.columns.iter().zip(table.rows.first()?);
    let is_name = |column: &Column| column.role == ColumnRole::Name;
    let figures = figures.filter(|(column, value)| !is_name(column) && !value.is_empty());
    let figures = figures.map(|(column, value)| format!("{} {value}", column.title));
    let figures = figures.collect::<Vec<_>>().join(", ");
    Some(format!(
        "Only contender at these settings: {name}: {figures}."
    ))
}

/// The table of the cells that are not ranked: as that of the ranked ones, without places and
/// shares of the best.
pub fn not_comparable(ranking: &Ranking) -> Table {
    let mut columns = identity();
    columns.extend(responses(ranking));
    columns.extend(rates(ranking));
    columns.extend(latencies(ranking));
    columns.extend(processor(7));
    columns.extend(storage());
    fill(columns, &ranking.not_comparable)
}

/// Cells by their contenders' names.
pub fn by_name(cells: &[RankedCell]) -> Vec<RankedCell> {
    let mut cells = cells.to_vec();
    cells.sort_by(|one, other| one.contender.cmp(&other.contender));
    cells
}

/// The table of the null engine's cells: rates and what an operation costs, and nothing about a
/// database that is not there.
pub fn harness(ranking: &Ranking) -> Table {
    let mut columns = identity();
    columns.extend(processor(1));
    columns.extend(rates(ranking));
    columns.extend(latencies(ranking));
    fill(columns, &ranking.harness)
}

/// A column in which no cell has anything is left out.
fn fill(columns: Vec<ColumnSource<'_>>, cells: &[RankedCell]) -> Table {
    let filled = columns.into_iter().filter_map(|column| {
        let values = cells.iter().enumerate();
        let values = values.map(|(index, cell)| (column.value)(index + 1, cell));
        let values: Vec<_> = values.collect();
        let says_something = values.iter().any(|value| !value.is_empty());
        (says_something || cells.is_empty()).then_some((column.column, values))
    });
    let (columns, values): (Vec<_>, Vec<_>) = filled.unzip();
    let row = |index: usize| values.iter().map(|column| column[index].clone()).collect();
    Table::new(columns, (0..cells.len()).map(row).collect())
}

fn identity<'a>() -> Vec<ColumnSource<'a>> {
    vec![
        text("contender", 0, |_, cell| cell.name()).in_role(ColumnRole::Name),
        text("version", 4, |_, cell| {
            short_version(&cell.version).to_owned()
        }),
        text("workers", 2, |_, cell| cell.worker_kind.to_string()),
    ]
}

/// What each states, where they differ: nowhere is it left out for want of room.
fn isolation<'a>(cells: &[RankedCell]) -> Option<ColumnSource<'a>> {
    let stated =
        |_, cell: &RankedCell| trueput_findings::isolation::word(cell.isolation).to_owned();
    isolation::differs(cells).then(|| text("isolation", 0, stated).in_role(ColumnRole::Isolation))
}

/// What orders a ranking at one rate: nothing in any other.
fn responses(ranking: &Ranking) -> Vec<ColumnSource<'_>> {
    let of_rate = |value: fn(&FixedRateResult) -> String| {
        move |_: usize, cell: &RankedCell| cell.at_rate.as_ref().map_or_else(String::new, value)
    };
    let p99 = |one: &FixedRateResult| nanoseconds(one.response_p99_ns.median);
    let kept = |one: &FixedRateResult| match one.kept {
        true => "yes".to_owned(),
        false => format!("no: backlog {}", separate(&one.backlog.to_string())),
    };
    let is_late = |cell: &RankedCell| cell.at_rate.as_ref().is_some_and(|one| !one.kept);
    let mut columns = vec![figure("response p99", 0, of_rate(p99))];
    if ranking.has_several_response_kinds() {
        columns.push(text("worst kind", 2, of_rate(|one| one.worst_kind.clone())));
    }
    let kinds = ranking.response_kinds().into_iter();
    let kinds = kinds.filter(|_| ranking.has_several_response_kinds());
    columns.extend(kinds.map(|kind| {
        figure(&format!("{kind} response p99"), 5, move |_, cell| {
            let mut all = cell.at_rate.iter().flat_map(|one| &one.responses);
            let response = all.find(|response| response.kind == kind);
            response.map_or_else(String::new, |one| nanoseconds(one.p99_ns.median))
        })
    }));
    if ranking.contenders().any(is_late) {
        columns.push(figure("kept the rate", 0, of_rate(kept)));
    }
    columns
}

/// The number of a version, or all of them where there are two. The whole text is below the
/// table.
fn short_version(version: &str) -> &str {
    match version.contains(SEVERAL_VERSIONS) {
        true => version,
        false => version_number(version),
    }
}

/// The rates as bars, where charts are drawn.
fn bars<'a>(charts: Charts) -> Option<ColumnSource<'a>> {
    let drawn = move |_, cell: &RankedCell| {
        let part = cell.relative_to_best.unwrap_or_default();
        bar(part, BAR, charts)
    };
    (charts != Charts::Off).then(|| text("rate", 2, drawn))
}

fn rates(ranking: &Ranking) -> Vec<ColumnSource<'_>> {
    let headline = plural(&ranking.headline);
    // Where all had the same rate, how far it scatters says nothing.
    let scatters = ranking.rate_per_s.is_none();
    let mut columns = vec![
        figure(&format!("{headline}/s"), 0, |_, cell| {
            number(cell.figures.headline_per_s.median)
        }),
        figure("min–max", 3, move |_, cell| {
            let rate = Some(cell.figures.headline_per_s).filter(|_| scatters);
            rate.map_or_else(String::new, |rate| {
                format!("{}–{}", number(rate.min), number(rate.max))
            })
        }),
        figure("repeats", 5, |_, cell| cell.repeats.to_string()),
        figure("95 % interval", 5, move |_, cell| {
            let interval = cell.figures.headline_interval.filter(|_| scatters);
            interval.map_or_else(String::new, |interval| {
                format!("{}–{}", number(interval.low), number(interval.high))
            })
        }),
        figure("elapsed", 8, |_, cell| {
            seconds(cell.figures.elapsed_s.median)
        }),
    ];
    let mut others = ranking.frequent_kinds();
    others.retain(|kind| *kind != ranking.headline);
    for kind in others {
        columns.push(of_operation(
            &format!("{}/s", plural(kind)),
            4,
            kind,
            |operation| number(operation.per_s),
        ));
    }
    columns
}

/// Whether a ranking has so many kinds of operation that only the headline's latencies have
/// columns.
pub fn times_headline_only(ranking: &Ranking) -> bool {
    ranking.frequent_kinds().len() > MOST_TIMED
}

fn latencies(ranking: &Ranking) -> Vec<ColumnSource<'_>> {
    let mut columns = Vec::new();
    let mut timed = ranking.frequent_kinds();
    if times_headline_only(ranking) {
        timed.truncate(1);
    }
    for kind in timed {
        let more = if kind == ranking.headline { 0 } else { 4 };
        let title = |figure: &str| format!("{kind} {figure}");
        columns.push(of_operation(&title("p50"), 7 + more, kind, |o| {
            latency(o.p50_ns)
        }));
        let p99 = of_operation(&title("p99"), 6 + more, kind, |o| latency(o.p99_ns));
        columns.push(match kind == ranking.headline {
            true => p99.in_role(ColumnRole::Leading),
            false => p99,
        });
        columns.push(of_operation(&title("max"), 10 + more, kind, |o| {
            latency(o.max_ns)
        }));
    }
    columns
}

/// A latency, or a dash where no operation was timed.
fn latency(latency_ns: Option<f64>) -> String {
    latency_ns.map_or_else(|| "–".to_owned(), nanoseconds)
}

fn processor<'a>(dispensable: u8) -> Vec<ColumnSource<'a>> {
    vec![
        figure("CPU", 9, |_, cell| seconds(cell.figures.cpu_s)),
        leading("CPU/operation", dispensable, |_, cell| {
            cell.figures
                .cpu_ns_per_operation
                .map_or_else(String::new, nanoseconds)
        }),
    ]
}

fn storage<'a>() -> Vec<ColumnSource<'a>> {
    vec![
        figure("peak PSS", 11, |_, cell| bytes(cell.figures.peak_pss_bytes)),
        figure("database", 6, |_, cell| {
            bytes(cell.figures.database_allocated_bytes)
        }),
        figure("written", 9, |_, cell| {
            bytes(cell.figures.storage_written_bytes)
        }),
        figure("device written", 14, |_, cell| {
            cell.figures
                .device_written_bytes
                .map_or_else(String::new, bytes)
        }),
        figure("flushes/commit", 13, |_, cell| {
            cell.figures
                .flushes_per_commit
                .map_or_else(String::new, |flushes| format!("{flushes:.2}"))
        }),
        figure("cache hits", 14, |_, cell| {
            cell.figures
                .cache_hit_ratio
                .map_or_else(String::new, hit_ratio)
        }),
        figure("switches", 15, |_, cell| {
            whole(cell.figures.context_switches)
        }),
        figure("conflicts", 15, |_, cell| whole(cell.figures.conflicts)),
        figure("of which deadlocks", 16, |_, cell| {
            match cell.figures.conflicts > 0.0 {
                true => whole(cell.figures.deadlocks),
                false => String::new(),
            }
        }),
    ]
}

fn of_operation<'a>(
    title: &str,
    dispensable: u8,
    kind: &'a str,
    value: impl Fn(&OperationFigures) -> String + 'a,
) -> ColumnSource<'a> {
    figure(title, dispensable, move |_, cell: &RankedCell| {
        let mut operations = cell.figures.operations.iter();
        operations
            .find(|operation| operation.kind == kind)
            .map_or_else(String::new, &value)
    })
}

fn text<'a>(
    title: &str,
    dispensable: u8,
    value: impl Fn(usize, &RankedCell) -> String + 'a,
) -> ColumnSource<'a> {
    ColumnSource {
        column: Column::text(title, dispensable),
        value: Box::new(value),
    }
}

fn leading<'a>(
    title: &str,
    dispensable: u8,
    value: impl Fn(usize, &RankedCell) -> String + 'a,
) -> ColumnSource<'a> {
    figure(title, dispensable, value).in_role(ColumnRole::Leading)
}

fn figure<'a>(
    title: &str,
    dispensable: u8,
    value: impl Fn(usize, &RankedCell) -> String + 'a,
) -> ColumnSource<'a> {
    ColumnSource {
        column: Column::figures(title, dispensable),
        value: Box::new(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_the_number_of_a_version_and_no_less_where_there_are_two() {
        assert_eq!(short_version("3.54.1 2026-10-16 555e07ef"), "3.54.1");
        assert_eq!(short_version("LMDB 0.9.70: (December 19, 2015)"), "0.9.70");
        assert_eq!(short_version("unknown"), "unknown");
        assert_eq!(short_version("1.2 and 1.3"), "1.2 and 1.3");
    }
}
