//! The verification of a trial: the histories of all workers, and a final read of every key.

use super::check::{HistoryReport, check};
use super::config::{HistoryConfig, RECORDED, read_key};
use super::transactions::{FINAL_READER, History, Operation, OperationKind, Outcome};
use super::version::ValueBuffer;
use crate::keyed::transaction::transact_unmetered;
use crate::{Error, ExecutionSummary, JobDatabase, JobResults, Result};
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use trueput_engine::{Direction, Isolation, KeyRange, Mode};
use trueput_record::measurement::Check;
use trueput_record::{Survival, VerifyLevel};

/// The results, and the checks where verification is on.
pub(super) fn verify(
    config: &HistoryConfig,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let mut history = gather(ended)?;
    let survival = ended.crashed.unwrap_or(Survival::EveryCommit);
    add_final_read(config, target, &mut history)?;
    (target.progress)(0.5);
    let report = check(&history, survival);
    let outcomes = OutcomeCounts::of(&history);
    let results = &mut conclusion.results;
    for (name, count) in [
        ("history_committed", outcomes.committed),
        ("history_aborted", outcomes.aborted),
        ("history_unknown", outcomes.unknown),
        ("history_unrecorded", history.unrecorded),
        ("history_dependencies", report.dependencies as u64),
        ("missing_acknowledged", report.missing),
        ("visible_then_lost", report.visible_then_lost),
    ] {
        results.insert(name.to_owned(), count.into());
    }
    let fits: Vec<&str> = report.levels().map(Isolation::name).collect();
    results.insert("history_fits".to_owned(), fits.join(", ").into());
    conclusion.checks = vec![
        check_isolation(&report, target.isolation, &outcomes, history.unrecorded),
        check_recency(&report, target.reads_are_recent),
        check_acknowledged(&report, survival),
    ];
    (target.progress)(1.0);
    Ok(conclusion)
}

/// Transactions by outcome, without the final read.
struct OutcomeCounts {
    committed: u64,
    aborted: u64,
    unknown: u64,
}

impl OutcomeCounts {
    fn of(history: &History) -> Self {
        let count = |outcome| {
            let transactions = history.transactions().iter();
            let workers = transactions.filter(|one| one.worker != FINAL_READER);
            workers.filter(|one| one.outcome == outcome).count() as u64
        };
        Self {
            committed: count(Outcome::Committed),
            aborted: count(Outcome::Aborted),
            unknown: count(Outcome::Unknown),
        }
    }
}

fn gather(ended: &ExecutionSummary) -> Result<History> {
    let mut history = History::default();
    for attachment in &ended.attachments {
        let part = History::decode(attachment);
        let part = part.ok_or_else(|| {
            Error::Workload("a worker handed over a history that cannot be read".to_owned())
        })?;
        history.append(&part);
    }
    Ok(history)
}

/// Reads every key in one transaction, and adds it to the history as its last one.
fn add_final_read(
    config: &HistoryConfig,
    target: &JobDatabase<'_>,
    history: &mut History,
) -> Result<()> {
    let transactions = history.transactions();
    let ends = transactions
        .iter()
        .map(|transaction| transaction.completed_ns);
    let begin_ns = ends.max().map_or(0, |end_ns| end_ns.saturating_add(1));
    let operations = transactions
        .iter()
        .flat_map(|transaction| history.operations(transaction));
    let mut absent: HashSet<u32> = operations.map(|operation| operation.key).collect();
    let mut session = target.open_session()?;
    let mut value = ValueBuffer::new(config.model, config.key_writes);
    let (first, end) = ([RECORDED], [RECORDED + 1]);
    let range = KeyRange {
        lower: Bound::Included(&first),
        upper: Bound::Excluded(&end),
    };
    let doing = || "the final read".to_owned();
    let found = transact_unmetered(&mut *session, Mode::Read, doing, |session| {
        let mut found = Vec::new();
        session.scan(range, Direction::Forward, &mut |key, bytes| {
            if let Some(key) = read_key(key) {
                value.set(bytes);
                let (version, digest) = value.identify(key);
                found.push(read_of(key, version, digest));
            }
            ControlFlow::Continue(())
        })?;
        trueput_engine::Result::Ok(found)
    })?;
    history.begin(FINAL_READER, begin_ns);
    for read in found {
        absent.remove(&read.key);
        history.add(read);
    }
    for key in absent {
        value.clear();
        let (version, digest) = value.identify(key);
        history.add(read_of(key, version, digest));
    }
    history.end(Outcome::Committed, begin_ns.saturating_add(1));
    Ok(())
}

fn read_of(key: u32, version: super::version::Version, digest: u32) -> Operation {
    Operation {
        kind: OperationKind::Read,
        key,
        version,
        digest,
    }
}

/// Checks that the history shows no anomaly that the stated level proscribes. An engine that states
/// none must still not show those that every level proscribes.
fn check_isolation(
    report: &HistoryReport,
    stated: Option<Isolation>,
    outcomes: &OutcomeCounts,
    unrecorded: u64,
) -> Check {
    let name = "isolation";
    let level = stated.unwrap_or(Isolation::ReadUncommitted);
    let claim = stated.map_or("no isolation", Isolation::name);
    if let Some(anomaly) = report.violation(level) {
        let cause = match (report.missing, report.visible_then_lost) {
            (0, 0) => "",
            (0, _) => "; commits without an answer were visible, then lost, which may be the cause",
            _ => "; acknowledged writes are missing, which may be the cause",
        };
        return Check::new(name, false, format!("{claim} is stated; {anomaly}{cause}"));
    }
    let OutcomeCounts {
        committed,
        aborted,
        unknown,
    } = outcomes;
    let mut detail = format!(
        "{claim} is stated and not refuted by {committed} committed, {aborted} aborted and \
         {unknown} unknown transactions with {} dependencies",
        report.dependencies
    );
    let kinds: Vec<String> = report
        .anomalies
        .iter()
        .map(|anomaly| anomaly.kind.to_string())
        .collect();
    if !kinds.is_empty() {
        detail += &format!("; occurred and permitted: {}", kinds.join(", "));
    }
    if unrecorded > 0 {
        detail += &format!("; {unrecorded} later transactions were not recorded");
    }
    Check::new(name, true, detail)
}

/// Checks that transactions saw what had been committed before they began, if that is stated.
fn check_recency(report: &HistoryReport, is_stated: bool) -> Check {
    let name = "recency";
    match &report.stale {
        Some(stale) if is_stated => Check::new(name, false, stale),
        Some(stale) => Check::new(name, true, format!("not stated; occurred: {stale}")),
        None => Check::new(name, true, "each key by itself is a linearizable register"),
    }
}

/// Checks that acknowledged writes are there at the end.
fn check_acknowledged(report: &HistoryReport, survival: Survival) -> Check {
    let name = "acknowledged";
    let missing = report.missing;
    match &report.first_missing {
        Some(first) if survival == Survival::EveryCommit => Check::new(
            name,
            false,
            format!("{missing} writes are missing; {first}"),
        ),
        Some(_) => {
            let detail = format!("{missing} writes are missing, which the level permits");
            Check::new(name, true, detail)
        }
        None => {
            let lost = match report.visible_then_lost {
                0 => String::new(),
                lost => format!("; writes without an answer that were visible, then lost: {lost}"),
            };
            Check::new(
                name,
                true,
                format!("no acknowledged write is missing{lost}"),
            )
        }
    }
}
