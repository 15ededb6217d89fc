//! Compares the tables after a trial with the transactions of its workers.

use super::expected::ExpectedRows;
use super::inspection::{Inspection, PairInspection, SumOfK};
use super::read_checker::{COUNTS, SUMS};
use super::report::WorkerReport;
use super::settings::{Script, Settings};
use super::store;
use crate::keyed::final_check::FailureCount;
use crate::keyed::read_check::{ReadCounts, compared_part};
use crate::keyed::transaction::retry_unmetered;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result};
use trueput_record::measurement::Check;
use trueput_record::{Survival, VerifyLevel};

/// The results, and the checks where verification is on.
pub(super) fn verify(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let results = &mut conclusion.results;
    let store = settings.store.resolve(&mut *target.open_session()?);
    results.insert("store".to_owned(), store.word().into());
    let tables = settings.tables(target.workers);
    results.insert("tables".to_owned(), u64::from(tables).into());
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let reports = ended.attachments.iter();
    let reports = reports.map(|bytes| WorkerReport::decode(bytes));
    let reports: Vec<_> = reports.collect::<Result<_>>()?;
    conclusion.checks = result_checks(ended, &reports);
    if settings.script == Script::BulkInsert {
        check_pairs(settings, target, ended, &reports, &mut conclusion)?;
    } else {
        check_tables(settings, target, ended, &reports, &mut conclusion)?;
    }
    Ok(conclusion)
}

/// Whether only a prefix of the commits is promised, so that the others are counted.
fn may_miss(ended: &ExecutionSummary) -> bool {
    ended.crashed == Some(Survival::ConsistentPrefix)
}

/// The checks of what the workers' statements returned.
fn result_checks(ended: &ExecutionSummary, reports: &[WorkerReport]) -> Vec<Check> {
    let mut checks = Vec::new();
    let reads = ReadCounts::sum(&ended.findings);
    if reads.checked() > 0 {
        let knows_all = reports.iter().all(|report| report.knows_all);
        checks.push(reads.check("reads", || {
            let unknown = if knows_all {
                String::new()
            } else {
                format!("; {}", Check::STALE_UNKNOWN)
            };
            let (checked, compared) = (reads.checked(), compared_part(ended.verify));
            format!("{checked} rows seen as they may be{compared}{unknown}")
        }));
    }
    for (name, [checked, wrong]) in [("sums of k", SUMS), ("counts by k", COUNTS)] {
        let (checked, wrong) = (ended.sum_of(checked), ended.sum_of(wrong));
        if checked > 0 {
            let detail = format!("{wrong} of {checked} wrong");
            checks.push(Check::new(name, wrong == 0, detail));
        }
    }
    checks
}

/// The checks of the tables and of their indexes.
fn check_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    reports: &[WorkerReport],
    conclusion: &mut JobResults,
) -> Result<()> {
    let expected = ExpectedRows::replay(settings, target, ended.verify, reports);
    let has_replacements = settings.statements.delete_inserts > 0;
    let allowed = (may_miss(ended), has_replacements);
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let doing = || "looking at the tables".to_owned();
    let found = retry_unmetered(doing, || {
        Inspection::run(&mut *tables, &expected, allowed, target.progress)
    })?;
    let rows: u64 = expected.tables().map(|table| expected.count(table)).sum();
    let results = &mut conclusion.results;
    results.insert("rows at the end".to_owned(), found.rows_found.into());
    if ended.crashed.is_some() {
        results.insert("missing_acknowledged".to_owned(), found.missing.into());
    }
    let looked_at = found.looked_at;
    conclusion.checks.extend([
        found.rows.check("rows", || {
            format!("{} found, {rows} expected", found.rows_found)
        }),
        found.contents.check("contents", || {
            format!("{looked_at} rows intact, to the last byte")
        }),
        found
            .versions
            .check("versions", || describe_versions(&expected, looked_at)),
        found.ks.check("k", || {
            format!("{looked_at} rows with the index updates that were committed")
        }),
        check_sum(found.sum),
        found.index.check("index", || {
            format!("{} entries, one for each row", found.entries_found)
        }),
    ]);
    Ok(())
}

fn describe_versions(expected: &ExpectedRows, looked_at: u64) -> String {
    match (expected.is_inexact(), expected.unsettled()) {
        (true, _) => format!("{looked_at} within what may be, too many writes having met"),
        (false, 0) => format!("{looked_at} as last written"),
        (false, met) => {
            format!("{looked_at} as last written, {met} of them by one of several writes that met")
        }
    }
}

fn check_sum(SumOfK { found, least, most }: SumOfK) -> Check {
    let name = "sum of k";
    if least == most {
        return Check::equal(name, &least, &found);
    }
    let detail = format!("{found}, of {least} to {most} that transactions under way at once leave");
    Check::new(name, (least..=most).contains(&found), detail)
}

/// The checks of the tables of pairs.
fn check_pairs(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    reports: &[WorkerReport],
    conclusion: &mut JobResults,
) -> Result<()> {
    let batch = u64::from(settings.bulk_rows);
    let count = settings.tables(target.workers);
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let doing = || "looking at the tables".to_owned();
    let found = retry_unmetered(doing, || PairInspection::run(&mut *tables, count))?;
    let (mut wrong, mut expected, mut missing) = (FailureCount::default(), 0, 0);
    for (table, rows) in (1..).zip(&found.rows) {
        let report = reports.iter().find(|report| report.worker + 1 == table);
        let wanted = report.map_or(0, |report| report.done * batch);
        let is_right = if may_miss(ended) {
            *rows <= wanted && rows.is_multiple_of(batch)
        } else {
            *rows == wanted
        };
        if !is_right {
            wrong.note(|| format!("sbtest{table}: expected {wanted}, found {rows}"));
        }
        expected += wanted;
        missing += wanted.saturating_sub(*rows);
    }
    let rows: u64 = found.rows.iter().sum();
    let results = &mut conclusion.results;
    results.insert("rows at the end".to_owned(), rows.into());
    if ended.crashed.is_some() {
        results.insert("missing_acknowledged".to_owned(), missing.into());
    }
    conclusion.checks.extend([
        wrong.check("rows", || format!("{rows} found, {expected} expected")),
        found
            .contents
            .check("contents", || format!("{rows} rows whose k is their id")),
    ]);
    Ok(())
}
