//! The columns of a ranking, and the order in which they are dropped if there is no room.

use crate::charts::{Charts, bar};
use crate::document::{Column, ColumnRole, Table, TableBuilder};
use crate::isolation;
use crate::objective::kept_text;
use trueput_findings::audits::AuditState;
use trueput_findings::cells::{CellFigures, OperationFigures, RankedCell, SEVERAL_VERSIONS};
use trueput_findings::contender::version_number;
use trueput_findings::fixed_rate::FixedRateResult;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::{
    bytes, hit_ratio, nanoseconds, number, per_cent, plural, seconds, separate, whole,
};

/// With more kinds of operation than this, only the headline's latencies have columns.
const MAX_TIMED: usize = 4;

/// Characters of the longest bar.
const BAR: usize = 16;

/// A builder of the table of contenders.
type ContenderTable<'a> = TableBuilder<'a, RankedCell>;

/// The table of the ranked cells, best first, with these ranks. Without ranks the order means
/// nothing: the cells are sorted by name, without shares of the best.
pub fn ranked(ranking: &Ranking, ranks: Option<Vec<String>>, charts: Charts) -> Table {
    let in_order = ranks.is_some();
    let cells = if in_order {
        ranking.cells.clone()
    } else {
        by_name(&ranking.cells)
    };
    let mut ranks = ranks.into_iter().flatten();
    let mut table = Table::of(&cells).when(in_order, |table| {
        table.text("", 0, |_| ranks.next().unwrap_or_default())
    });
    table = identity(table);
    table = responses(table, ranking);
    table = rates(table, ranking);
    table = isolation(audits(table, &cells), &cells)
        .when(in_order, |table| {
            table.column(leading("of best", 2), |cell| {
                cell.relative_to_best.map_or_else(String::new, per_cent)
            })
        })
        .when(
            charts != Charts::Off && ranking.rate_per_s.is_none(),
            |table| {
                table.text("rate", 2, |cell| {
                    bar(cell.relative_to_best.unwrap_or_default(), BAR, charts)
                })
            },
        )
        .when(in_order, |table| {
            table.column(leading("of best from–to", 5), |cell| {
                let ratio = cell.against_best.and_then(|comparison| comparison.ratio);
                ratio.map_or_else(String::new, |ratio| {
                    format!("{}–{}", number(ratio.low * 100.0), per_cent(ratio.high))
                })
            })
        });
    filled(storage(processor(latencies(table, ranking), 7)))
}

/// The figures of a ranking's only contender in one line instead of a table; `None` for other
/// rankings.
pub fn only_contender(ranking: &Ranking) -> Option<String> {
    let [cell] = ranking.cells.as_slice() else {
        return None;
    };
    let table = ranked(ranking, None, Charts::Off);
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
    let mut table = identity(Table::of(&ranking.not_comparable));
    table = audits(table, &ranking.not_comparable);
    table = rates(responses(table, ranking), ranking);
    filled(storage(processor(latencies(table, ranking), 7)))
}

/// Cells by their contenders' names.
pub fn by_name(cells: &[RankedCell]) -> Vec<RankedCell> {
    let mut cells = cells.to_vec();
    cells.sort_by(|one, other| one.contender.cmp(&other.contender));
    cells
}

/// The table of the null engine's cells: rates and cost per operation, without columns of a
/// database.
pub fn harness(ranking: &Ranking) -> Table {
    let table = processor(identity(Table::of(&ranking.harness)), 1);
    filled(latencies(rates(table, ranking), ranking))
}

/// The table without empty columns.
fn filled(table: ContenderTable<'_>) -> Table {
    table.build().without_columns_of("")
}

fn leading(title: &str, dispensable: u8) -> Column {
    Column::figures(title, dispensable).in_role(ColumnRole::Leading)
}

fn identity(table: ContenderTable<'_>) -> ContenderTable<'_> {
    let name = Column::text("contender", 0).in_role(ColumnRole::Name);
    table
        .column(name, RankedCell::name)
        .text("version", 4, |cell| short_version(&cell.version))
        .text("workers", 2, |cell| &cell.worker_kind)
}

/// Adds the stated isolation levels if they differ; the column is never left out.
fn isolation<'a>(table: ContenderTable<'a>, cells: &[RankedCell]) -> ContenderTable<'a> {
    let column = Column::text("isolation", 0).in_role(ColumnRole::Isolation);
    table.when(isolation::differs(cells), |table| {
        table.column(column, |cell| {
            trueput_findings::isolation::word(cell.isolation)
        })
    })
}

/// Adds the response times that order a ranking at one rate; no column for other rankings.
fn responses<'a>(table: ContenderTable<'a>, ranking: &Ranking) -> ContenderTable<'a> {
    let of_rate = |value: fn(&FixedRateResult) -> String| {
        move |cell: &RankedCell| cell.at_rate.as_ref().map_or_else(String::new, value)
    };
    let kept = of_rate(|one| {
        if one.kept {
            "yes".to_owned()
        } else {
            format!("no: backlog {}", separate(&one.backlog.to_string()))
        }
    });
    let is_late = |cell: &RankedCell| cell.at_rate.as_ref().is_some_and(|one| !one.kept);
    let p99 = of_rate(|one| nanoseconds(one.response_p99_ns.median));
    let mut table = table.figures("response p99", 0, p99);
    if ranking.has_several_response_kinds() {
        table = table.text("worst kind", 2, of_rate(|one| one.worst_kind.clone()));
        for kind in ranking.response_kinds() {
            table = table.figures(format!("{kind} response p99"), 5, |cell| {
                let mut all = cell.at_rate.iter().flat_map(|one| &one.responses);
                let response = all.find(|response| response.kind == kind);
                response.map_or_else(String::new, |one| nanoseconds(one.p99_ns.median))
            });
        }
    }
    table = table.when(ranking.contenders().any(is_late), |table| {
        table.figures("kept the rate", 0, kept)
    });
    let is_judged = |cell: &RankedCell| cell.objective.is_some();
    table.when(ranking.contenders().any(is_judged), |table| {
        table.text("objective", 0, |cell| {
            cell.objective.as_ref().map_or_else(String::new, kept_text)
        })
    })
}

/// The number of a version, or all numbers if there are two. The full text is below the table.
fn short_version(version: &str) -> &str {
    if version.contains(SEVERAL_VERSIONS) {
        version
    } else {
        version_number(version)
    }
}

/// Adds the audits of the contenders' promises if there are any.
fn audits<'a>(table: ContenderTable<'a>, cells: &[RankedCell]) -> ContenderTable<'a> {
    let is_audited = |cell: &RankedCell| {
        let audit = cell.audit.as_ref();
        audit.is_some_and(|audit| *audit != AuditState::NotAudited)
    };
    table.when(cells.iter().any(is_audited), |table| {
        table.text("audit", 2, |cell| {
            cell.audit
                .as_ref()
                .map_or_else(String::new, ToString::to_string)
        })
    })
}

fn rates<'a>(table: ContenderTable<'a>, ranking: &Ranking) -> ContenderTable<'a> {
    let headline = plural(&ranking.headline);
    // If all had the same rate, its spread says nothing.
    let scatters = ranking.rate_per_s.is_none();
    let range = |low: f64, high: f64| format!("{}–{}", number(low), number(high));
    let mut table = table
        .figures(format!("{headline}/s"), 0, |cell| {
            number(cell.figures.headline_per_s.median)
        })
        .figures("min–max", 3, |cell| {
            let rate = Some(cell.figures.headline_per_s).filter(|_| scatters);
            rate.map_or_else(String::new, |rate| range(rate.min, rate.max))
        })
        .figures("repeats", 5, |cell| cell.repeats)
        .figures("95 % interval", 5, |cell| {
            let interval = cell.figures.headline_interval.filter(|_| scatters);
            interval.map_or_else(String::new, |interval| range(interval.low, interval.high))
        })
        .figures("elapsed", 8, |cell| seconds(cell.figures.elapsed_s.median));
    let mut others = ranking.frequent_kinds();
    others.retain(|kind| *kind != ranking.headline);
    for kind in others {
        let per_s = of_operation(kind, |operation| number(operation.per_s));
        table = table.figures(format!("{}/s", plural(kind)), 4, per_s);
    }
    table
}

/// Whether a ranking has so many kinds of operation that only the headline's latencies get columns.
pub fn times_headline_only(ranking: &Ranking) -> bool {
    ranking.frequent_kinds().len() > MAX_TIMED
}

/// The kinds of operation whose latencies have columns, the headline first.
pub fn timed_kinds(ranking: &Ranking) -> Vec<&str> {
    let mut timed = ranking.frequent_kinds();
    if times_headline_only(ranking) {
        timed.truncate(1);
    }
    timed
}

fn latencies<'a>(mut table: ContenderTable<'a>, ranking: &Ranking) -> ContenderTable<'a> {
    for kind in timed_kinds(ranking) {
        let is_headline = kind == ranking.headline;
        let more = if is_headline { 0 } else { 4 };
        // At an offered rate, the response times beside them include the time in the queue.
        let timed = match ranking.rate_per_s {
            Some(_) => format!("{kind} service"),
            None => kind.to_owned(),
        };
        let p99 = if is_headline {
            leading(&format!("{timed} p99"), 6)
        } else {
            Column::figures(format!("{timed} p99"), 6 + more)
        };
        table = table
            .figures(
                format!("{timed} p50"),
                7 + more,
                of_operation(kind, |operation| latency(operation.p50_ns)),
            )
            .column(
                p99,
                of_operation(kind, |operation| latency(operation.p99_ns)),
            )
            .figures(
                format!("{timed} max"),
                10 + more,
                of_operation(kind, |operation| latency(operation.max_ns)),
            );
    }
    table
}

/// A latency, or a dash if no operation was timed.
pub fn latency(latency_ns: Option<f64>) -> String {
    latency_ns.map_or_else(|| "–".to_owned(), nanoseconds)
}

fn processor(table: ContenderTable<'_>, dispensable: u8) -> ContenderTable<'_> {
    table
        .figures("CPU", 9, |cell| seconds(cell.figures.cpu_s))
        .column(leading("CPU/operation", dispensable), |cell| {
            let per_operation = cell.figures.cpu_ns_per_operation;
            per_operation.map_or_else(String::new, nanoseconds)
        })
}

fn storage(table: ContenderTable<'_>) -> ContenderTable<'_> {
    let figure = |write: fn(&CellFigures) -> String| move |cell: &RankedCell| write(&cell.figures);
    let known = |of: fn(&CellFigures) -> Option<String>| {
        move |cell: &RankedCell| of(&cell.figures).unwrap_or_default()
    };
    table
        .figures("peak PSS", 11, figure(|it| bytes(it.peak_pss_bytes)))
        .figures(
            "database",
            6,
            figure(|it| bytes(it.database_allocated_bytes)),
        )
        .figures("written", 9, figure(|it| bytes(it.storage_written_bytes)))
        .figures(
            "device written",
            14,
            known(|it| it.device_written_bytes.map(bytes)),
        )
        .figures(
            "flushes/commit",
            13,
            known(|it| it.flushes_per_commit.map(|flushes| format!("{flushes:.2}"))),
        )
        .figures(
            "cache hits",
            14,
            known(|it| it.cache_hit_ratio.map(hit_ratio)),
        )
        .figures("switches", 15, figure(|it| whole(it.context_switches)))
        .figures("conflicts", 15, figure(|it| whole(it.conflicts)))
        .figures(
            "of which deadlocks",
            16,
            known(|it| (it.conflicts > 0.0).then(|| whole(it.deadlocks))),
        )
}

/// The cells of the column for a kind of operation; empty for a contender without that kind.
fn of_operation<'a>(
    kind: &'a str,
    value: fn(&OperationFigures) -> String,
) -> impl Fn(&RankedCell) -> String + 'a {
    move |cell| {
        let mut operations = cell.figures.operations.iter();
        let operation = operations.find(|operation| operation.kind == kind);
        operation.map_or_else(String::new, value)
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
