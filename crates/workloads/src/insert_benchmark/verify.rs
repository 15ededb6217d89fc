//! Compares the tables after a step with the rows that its workers inserted and deleted.

use super::findings::{COMPARED, DELETED, DELETED_FOUND, END, FIRST, INSERTED, TABLE};
use super::purchase::Index;
use super::settings::Settings;
use super::store;
use super::table_check::{TableFindings, check_tables, count_rows};
use crate::keyed::read_check::ReadCounts;
use crate::keyed::transaction::retry_unmetered;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result, WorkerFindings, finding};
use std::ops::Range;
use trueput_record::measurement::Check;
use trueput_record::{Survival, Value, VerifyLevel};

/// The results, and the checks where verification is on.
///
/// # Errors
/// Errors of the engine.
pub(super) fn verify(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let store = settings.store.resolve(&mut *target.open_session()?);
    let results: [(&str, Value); 6] = [
        ("store", store.word().into()),
        ("tables", u64::from(settings.tables).into()),
        ("rows of a table", settings.rows.into()),
        (
            "rows of a transaction",
            u64::from(settings.step.transaction_rows()).into(),
        ),
        ("rows inserted", ended.sum_of(INSERTED).into()),
        ("rows deleted", ended.sum_of(DELETED).into()),
    ];
    let results = results.map(|(name, value)| (name.to_owned(), value));
    conclusion.results.extend(results);
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let acknowledged: Vec<_> = (1..=settings.tables)
        .map(|table| TableOutcome::new(table, ended))
        .collect();
    let ids: Vec<_> = match ended.crashed {
        None => acknowledged.iter().map(TableOutcome::ids).collect(),
        Some(survival) => {
            let left = find_left(settings, target)?;
            let missing = acknowledged.iter().zip(&left);
            let missing = missing
                .map(|(table, left)| table.missing(left))
                .sum::<u64>();
            let name = "missing_acknowledged".to_owned();
            conclusion.results.insert(name, missing.into());
            if survival == Survival::ConsistentPrefix {
                let rows = settings.step.transaction_rows().into();
                conclusion
                    .checks
                    .push(check_prefix(&acknowledged, &left, rows));
                left
            } else {
                acknowledged.iter().map(TableOutcome::ids).collect()
            }
        }
    };
    let found = check_tables(settings, target, &ids, ended.verify)?;
    let checks = &mut conclusion.checks;
    checks.push(check_count(settings, target, &ids, (ended.verify, &found))?);
    checks.push(found.rows.check("each row", "rows"));
    if settings.step.leaves_indexes() {
        let indexes = Index::ALL.into_iter().zip(&found.indexes);
        checks.extend(indexes.map(|(index, found)| found.check(index.name(), "entries")));
    }
    checks.extend(check_work(settings, ended));
    Ok(conclusion)
}

/// What a step has made of a table, by the reports of its workers.
struct TableOutcome {
    table: u32,
    /// The ids when it began.
    begun_with: Range<u64>,
    inserted: u64,
    deleted: u64,
}

impl TableOutcome {
    fn new(table: u32, ended: &ExecutionSummary) -> Self {
        let is_of_table = |report: &&WorkerFindings| finding(report, TABLE) == u64::from(table);
        let reports = ended.findings.iter().filter(is_of_table);
        let sum = |name| {
            let numbers = reports.clone().map(|report| finding(report, name));
            numbers.sum::<u64>()
        };
        let begun_with = reports
            .clone()
            .next()
            .map_or(1..1, |report| finding(report, FIRST)..finding(report, END));
        Self {
            table,
            begun_with,
            inserted: sum(INSERTED),
            deleted: sum(DELETED),
        }
    }

    /// The ids that it must have.
    fn ids(&self) -> Range<u64> {
        let Range { start, end } = self.begun_with;
        start + self.deleted..end + self.inserted
    }

    /// The rows that are missing or back, if these ids are left.
    fn missing(&self, left: &Range<u64>) -> u64 {
        let Range { start, end } = self.ids();
        end.saturating_sub(left.end) + start.saturating_sub(left.start)
    }

    /// Why these ids are not those after some of its transactions of so many rows, and none of a
    /// later one; `None` if they are.
    fn objection(&self, left: &Range<u64>, rows: u64) -> Option<String> {
        let (table, own) = (self.table, self.ids());
        let is_whole = |id: u64, begun_with: u64, all: u64| {
            let done = id.checked_sub(begun_with);
            done.is_some_and(|done| id == all || done.is_multiple_of(rows))
        };
        if left.end > own.end || left.start > own.start {
            let text = "has rows that nobody has acknowledged, or lacks those that nobody deleted";
            return Some(format!("pi{table} {text}"));
        }
        let is_prefix = is_whole(left.end, self.begun_with.end, own.end)
            && is_whole(left.start, self.begun_with.start, own.start);
        (!is_prefix).then(|| {
            let Range { start, end } = left;
            format!("pi{table} has rows from {start} to below {end}: a part of a transaction")
        })
    }
}

/// Finds the ids that are left in each table.
fn find_left(settings: &Settings, target: &JobDatabase<'_>) -> Result<Vec<Range<u64>>> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let doing = || "reading the ids".to_owned();
    (1..=settings.tables)
        .map(|table| {
            let first = retry_unmetered(doing, || tables.first_id(table))?;
            let last = retry_unmetered(doing, || tables.last_id(table))?;
            let ends = first.zip(last);
            Ok(ends.map_or(1..1, |(first, last)| first..last + 1))
        })
        .collect()
}

/// Checks that what a crash has left are whole transactions, none of them unknown.
fn check_prefix(acknowledged: &[TableOutcome], left: &[Range<u64>], rows: u64) -> Check {
    let mut tables = acknowledged.iter().zip(left);
    let objection = tables.find_map(|(table, left)| table.objection(left, rows));
    let detail = objection.clone();
    let detail = detail.unwrap_or_else(|| "whole transactions, in their order".to_owned());
    Check::new("a prefix of the commits", objection.is_none(), detail)
}

/// Checks the number of rows of all tables. A pass over all of them has met each row.
fn check_count(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ids: &[Range<u64>],
    (level, found): (VerifyLevel, &TableFindings),
) -> Result<Check> {
    let expected = ids.iter().map(|ids| ids.end.saturating_sub(ids.start));
    let expected: u64 = expected.sum();
    let rows = if level == VerifyLevel::Full {
        found.rows_met
    } else {
        count_rows(settings, target)?
    };
    Ok(Check::equal("rows", &expected, &rows))
}

/// Checks what the workers met: rows that they deleted, and what they queried.
fn check_work(settings: &Settings, ended: &ExecutionSummary) -> Vec<Check> {
    let mut checks = Vec::new();
    if settings.step.deletes() {
        let (rows, found) = (ended.sum_of(DELETED), ended.sum_of(DELETED_FOUND));
        checks.push(Check::equal("rows deleted", &rows, &found));
        let made_up = ended.sum_of(INSERTED);
        checks.push(Check::equal(
            "rows deleted for those inserted",
            &made_up,
            &rows,
        ));
        let reads = ReadCounts::sum(&ended.findings);
        let compared = ended.sum_of(COMPARED);
        checks.push(reads.check("queries", || {
            let checked = reads.checked();
            format!("{checked} right, {compared} range queries compared with all rows")
        }));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_leaves_is_a_prefix_if_it_is_whole_transactions_of_acknowledged_rows() {
        let table = TableOutcome {
            table: 1,
            begun_with: 1..101,
            inserted: 47,
            deleted: 47,
        };
        let objection = |left: Range<u64>| table.objection(&left, 10);
        for (left, missing) in [(48..148, 0), (48..141, 7), (31..141, 24), (1..101, 94)] {
            assert_eq!(objection(left.clone()), None, "{left:?}");
            assert_eq!(table.missing(&left), missing, "{left:?}");
        }
        for left in [48..145, 33..148] {
            assert!(objection(left).unwrap().contains("a part of"));
        }
        for left in [48..149, 49..148] {
            assert!(objection(left).unwrap().contains("nobody has acknowledged"));
        }
    }
}
