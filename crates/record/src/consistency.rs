//! Checks that the parts of a record agree: a trial's line, its histograms and the plan.
//!
//! A run states most of its counts more than once: per operation, per worker, per second and in the
//! histograms. If a record comes from an untrusted source, or storage has damaged it, the checks
//! find a part that was changed alone. They do not prove who wrote it: all parts may have been
//! changed consistently.

mod fixed_amount;
mod open_loop;
mod seconds;

use crate::flush_evidence::{FlushEvidence, FlushVerdict};
use crate::histogram::LoggedHistogram;
use crate::load_generator::LoadGenerator;
use crate::measurement::{LatencySummary, Measurement, OperationSummary};
use crate::{Outcome, TrialRecord, TrialSpec};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Rates and means are written as they were computed, to the last digit; other programs may round.
const ROUNDING: f64 = 1e-6;

/// The tolerance between an interval in a histogram log and the elapsed time, seconds: the log has
/// three decimals.
const INTERVAL_ROUNDING_S: f64 = 0.002;

/// Completed requests at most that no counter shows yet: one on each processor, and Linux knows no
/// more of them.
const MAX_UNCOUNTED: u64 = 8_192;

/// The most sentences about one trial.
const MAX_SENTENCES: usize = 8;

/// Returns the contradictions between the parts of a trial's record, one sentence each; empty if
/// all agree.
///
/// `planned` is the trial in the run's plan, and `histograms` the contents of its log; `None` if
/// that file does not exist.
#[must_use]
pub fn contradictions(
    record: &TrialRecord,
    planned: Option<&TrialSpec>,
    histograms: Option<&[LoggedHistogram]>,
) -> Vec<String> {
    let mut found = Vec::from_iter(plan(record, planned));
    found.extend(check_engine(record));
    found.extend(check_promise(record));
    found.extend(check_verification(record));
    found.extend(check_outcome(record));
    if let Some(measured) = &record.measurement {
        found.extend(check_elapsed(measured));
        found.extend(check_rates(measured));
        found.extend(check_counts(measured));
        found.extend(seconds::contradictions(measured));
        found.extend(check_load_generators(record, measured));
        found.extend(check_open_loop(record, measured));
        found.extend(check_units(record, measured));
        found.extend(open_loop::contradictions(record, measured));
        found.extend(fixed_amount::contradictions(record, measured));
        if let Some(evidence) = &measured.flush_evidence {
            found.extend(check_flushes(evidence));
            found.extend(check_committers(record, measured, evidence));
        }
        if let Some(logged) = histograms {
            found.extend(check_log(record, measured, logged));
        }
    }
    if found.len() > MAX_SENTENCES {
        let more = found.len() - MAX_SENTENCES;
        found.truncate(MAX_SENTENCES);
        found.push(format!("and in {more} more places"));
    }
    found
}

/// Computes each rate from count and elapsed time.
pub fn derive_rates(measured: &mut Measurement) {
    let elapsed_s = measured.elapsed_s;
    for operation in &mut measured.operations {
        operation.per_s = rate(operation.count, elapsed_s);
    }
}

fn rate(count: u64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 {
        count as f64 / elapsed_s
    } else {
        0.0
    }
}

fn is_near(stated: f64, derived: f64) -> bool {
    (stated - derived).abs() <= ROUNDING * derived.abs()
}

fn plan(record: &TrialRecord, planned: Option<&TrialSpec>) -> Option<String> {
    match planned {
        None => Some("run.json plans no trial of that name".to_owned()),
        Some(planned) if *planned != record.spec => {
            Some("trials.jsonl and run.json describe the trial differently".to_owned())
        }
        Some(_) => None,
    }
}

/// Checks the engine's name against the one that described itself: contenders whose names were
/// exchanged would have each other's results.
fn check_engine(record: &TrialRecord) -> Option<String> {
    let (planned, found) = (&record.spec.engine, &record.engine.as_ref()?.name);
    (!found.is_empty() && found != planned).then(|| {
        let (planned, found) = (quote(planned), quote(found));
        format!("the trial is of {planned}, and the engine that was opened is {found}")
    })
}

fn check_promise(record: &TrialRecord) -> Option<String> {
    let promised = record.engine.as_ref()?.promise.durability;
    let planned = record.spec.durability;
    (promised != planned)
        .then(|| format!("the engine promises '{promised}' where the plan says '{planned}'"))
}

fn check_verification(record: &TrialRecord) -> Option<String> {
    let verified = record.verification.as_ref()?;
    let failed = verified.failures();
    let passed = !verified.checks.is_empty() && failed.is_empty();
    (verified.passed && !passed).then(|| {
        let (failed, all) = (failed.len(), verified.checks.len());
        format!("the verification is said to have passed, and {failed} of {all} checks failed")
    })
}

/// Checks the outcome against the other parts of the record.
fn check_outcome(record: &TrialRecord) -> Vec<String> {
    if record.outcome != Outcome::Valid {
        return Vec::new();
    }
    let mut found = Vec::new();
    if record.verification.as_ref().is_some_and(|it| !it.passed) {
        found.push("the trial is said to be valid, and its verification failed".to_owned());
    }
    let evidence = record.measurement.as_ref();
    let evidence = evidence.and_then(|measured| measured.flush_evidence.as_ref());
    if let Some(doubt) = evidence.and_then(FlushEvidence::doubt) {
        found.push(format!("the trial is said to be valid, and {doubt}"));
    }
    let engine = record.engine.iter();
    let contradictions = engine.flat_map(|engine| &engine.contradictions);
    found.extend(contradictions.map(|one| format!("the trial is said to be valid, and {one}")));
    found
}

/// Checks the rows of the hosts that ran the workers against the trial's, and their stalls against
/// the outcome.
fn check_load_generators(record: &TrialRecord, measured: &Measurement) -> Vec<String> {
    let hosts = &measured.load_generators;
    if hosts.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for operation in &measured.operations {
        let of_kind = hosts.iter().flat_map(|host| &host.operations);
        let of_kind = of_kind.filter(|own| own.kind == operation.kind);
        let sum: u128 = of_kind.map(|own| u128::from(own.count)).sum();
        if sum != u128::from(operation.count) {
            found.push(format!(
                "its hosts did {sum} operations '{}', the trial {}",
                operation.kind, operation.count
            ));
        }
    }
    if record.outcome == Outcome::Valid
        && let Some(doubt) = hosts.iter().flat_map(LoadGenerator::doubts).next()
    {
        found.push(format!("the trial is said to be valid, and {doubt}"));
    }
    found
}

/// Checks the verdict on flushes against the counts.
fn check_flushes(evidence: &FlushEvidence) -> Option<String> {
    let verdict = |uncounted| evidence.clone().with_verdict(uncounted).verdict;
    let (least, most) = (verdict(0), verdict(MAX_UNCOUNTED));
    let FlushEvidence {
        commits, writes, ..
    } = evidence;
    // The program that wrote the record knew how many requests no counter showed yet.
    let agrees = match evidence.verdict {
        FlushVerdict::NotCounted => most == FlushVerdict::NotCounted,
        FlushVerdict::Explained => evidence.basis.is_some() && most != FlushVerdict::Impossible,
        FlushVerdict::Impossible => least == FlushVerdict::Impossible,
    };
    if agrees {
        return None;
    }
    let flushes = evidence
        .flushes
        .map_or_else(String::new, |flushes| format!(" and {flushes} flushes"));
    let stated = match evidence.verdict {
        FlushVerdict::NotCounted => "nothing was counted",
        FlushVerdict::Explained => "flushes can explain its commits",
        FlushVerdict::Impossible => "flushes cannot explain its commits",
    };
    Some(format!(
        "it is said that {stated}, and the record has {writes} writes{flushes} for {commits} \
         commits"
    ))
}

/// Checks the number of committing sessions against the workers: more sessions would excuse more
/// commits without a flush.
fn check_committers(
    record: &TrialRecord,
    measured: &Measurement,
    evidence: &FlushEvidence,
) -> Option<String> {
    let workers = match measured.workers.len() {
        0 => record.spec.workers,
        workers => u32::try_from(workers).unwrap_or(u32::MAX),
    };
    (evidence.sessions > workers).then(|| {
        format!(
            "its flushes are judged for {} sessions, and the trial had {workers} workers",
            evidence.sessions
        )
    })
}

/// Checks the elapsed time against the end of the timeline and of each worker.
fn check_elapsed(measured: &Measurement) -> Vec<String> {
    let mut found = Vec::new();
    let elapsed_s = measured.elapsed_s;
    let some = measured.operations.iter().any(|one| one.count > 0);
    if elapsed_s < 0.0 || (some && elapsed_s == 0.0) {
        found.push(format!("{elapsed_s} s is no time for what was done"));
    }
    if let Some(last) = measured.timeline.last()
        && !is_near(last.at_s, elapsed_s)
    {
        found.push(format!(
            "the timeline ends after {} s, the trial after {elapsed_s} s",
            last.at_s
        ));
    }
    let is_ordered = |pair: &[f64; 2]| pair[0] < pair[1];
    let ends: Vec<_> = measured.timeline.iter().map(|one| one.at_s).collect();
    if !ends.array_windows().all(is_ordered) {
        found.push("the timeline's seconds are out of order".to_owned());
    }
    let longest = measured.workers.iter().map(|worker| worker.elapsed_s);
    let longest = longest.fold(0.0, f64::max);
    if longest > elapsed_s * (1.0 + ROUNDING) {
        found.push(format!(
            "a worker took {longest} s, the trial {elapsed_s} s"
        ));
    }
    found
}

fn check_rates(measured: &Measurement) -> Vec<String> {
    let wrong = measured.operations.iter().filter_map(|one| {
        let derived = rate(one.count, measured.elapsed_s);
        (!is_near(one.per_s, derived)).then(|| {
            format!(
                "per_s of {} is {}, and {} in {} s are {derived}",
                quote(&one.kind),
                one.per_s,
                one.count,
                measured.elapsed_s
            )
        })
    });
    wrong.collect()
}

/// Checks the counts against those of the timeline and of the workers.
fn check_counts(measured: &Measurement) -> Vec<String> {
    let seconds = measured.timeline.iter().map(|one| one.counts.as_slice());
    let workers = measured.workers.iter().map(|one| one.counts.as_slice());
    let parts = [
        ("the timeline's seconds", sums(measured, seconds)),
        ("the workers", sums(measured, workers)),
    ];
    let mut found = Vec::new();
    for (part, sums) in parts {
        for (operation, sum) in measured.operations.iter().zip(sums) {
            let OperationSummary { kind, count, .. } = operation;
            if sum != u128::from(*count) {
                let kind = quote(kind);
                found.push(format!("{part} have {sum} of {kind}, the trial {count}"));
            }
        }
    }
    let sum = |of: fn(&crate::measurement::WorkerReport) -> u64| -> u128 {
        measured.workers.iter().map(|one| u128::from(of(one))).sum()
    };
    let retried = [
        ("conflicts", measured.conflicts, sum(|one| one.conflicts)),
        ("deadlocks", measured.deadlocks, sum(|one| one.deadlocks)),
    ];
    for (events, stated, sum) in retried {
        if u128::from(stated) != sum {
            found.push(format!(
                "the workers have {sum} {events}, the trial {stated}"
            ));
        }
    }
    found
}

/// Sums parts by kind of operation.
fn sums<'a>(measured: &Measurement, parts: impl Iterator<Item = &'a [u64]>) -> Vec<u128> {
    let mut sums = vec![0; measured.operations.len()];
    for counts in parts {
        let each = sums.iter_mut().zip(counts);
        each.for_each(|(sum, count)| *sum += u128::from(*count));
    }
    sums
}

fn check_open_loop(record: &TrialRecord, measured: &Measurement) -> Option<String> {
    let (kept, asked) = (&measured.open_loop, record.spec.conditions.rate);
    match (kept, asked) {
        (Some(kept), Some(asked)) if is_near(kept.rate_per_s, asked.per_s) => None,
        (Some(kept), None) if kept.is_recorded() => None,
        (None, None) => None,
        (None, Some(_)) if !is_timed(measured) => None,
        _ => Some("the plan and the measurement have different rates of an open loop".to_owned()),
    }
}

/// Checks the units of an open loop against their response times and the counts of operations:
/// without its backlog, a contender that fell behind would seem to have kept the rate.
fn check_units(record: &TrialRecord, measured: &Measurement) -> Vec<String> {
    let Some(open) = &measured.open_loop else {
        return Vec::new();
    };
    // Each worker may be at a unit when the warm-up ends, and when the time is up.
    let slack = 2 * u64::from(record.spec.workers);
    let mut found = Vec::new();
    let ended: u128 = open.responses.iter().map(|one| u128::from(one.count)).sum();
    let due = u128::from(open.issued) + u128::from(open.backlog);
    if ended > due + u128::from(slack) {
        found.push(format!(
            "{ended} units have response times, and {due} were begun or due"
        ));
    }
    if let Some(first) = open.responses.first() {
        if first.count < open.backlog {
            found.push(format!(
                "{} of {} have response times, and {} were due and not begun",
                first.count,
                quote(&first.kind),
                open.backlog
            ));
        }
        let done = measured.operation(&first.kind).map(|one| one.count);
        let most = done.map(|done| done.saturating_add(open.backlog).saturating_add(slack));
        if let (Some(done), Some(most)) = (done, most)
            && first.count > most
        {
            found.push(format!(
                "{} of {} have response times, and {done} were done and {} not begun",
                first.count,
                quote(&first.kind),
                open.backlog
            ));
        }
    }
    found
}

/// Returns whether any operation was timed: native programs time none.
#[must_use]
pub fn is_timed(measured: &Measurement) -> bool {
    let mut operations = measured.operations.iter();
    operations.any(|operation| operation.latency.is_measured())
}

/// Checks counts and latencies against the histograms.
fn check_log(
    record: &TrialRecord,
    measured: &Measurement,
    logged: &[LoggedHistogram],
) -> Vec<String> {
    let mut found = Vec::new();
    let mut spans = logged.iter().map(|one| one.duration_s);
    if let Some(wrong) =
        spans.find(|duration_s| (duration_s - measured.elapsed_s).abs() > INTERVAL_ROUNDING_S)
    {
        let elapsed_s = measured.elapsed_s;
        found.push(format!(
            "the histograms span {wrong} s, the trial {elapsed_s} s"
        ));
    }
    let mut by_kind = merge_by_kind(logged);
    // Native programs count and time nothing.
    let timed = by_kind.values().any(|histogram| !histogram.is_empty());
    // Work that was done again after a conflict is in the histograms each time.
    let repeated = measured.conflicts > 0 || record.spec.conditions.warm_up_s > 0.0;
    for OperationSummary {
        kind,
        count,
        latency,
        not_found,
        ..
    } in &measured.operations
    {
        let Some(histogram) = take(&mut by_kind, kind) else {
            found.push(format!("the histograms have none of {}", quote(kind)));
            continue;
        };
        let (total, kind) = (histogram.len(), quote(kind));
        if not_found > count {
            found.push(format!(
                "{not_found} of {count} of {kind} looked for a record that was not there"
            ));
        }
        if timed && (total < *count || (total > *count && !repeated)) {
            found.push(format!(
                "the histogram has {total} of {kind}, the trial {count}"
            ));
        }
        found.extend(latencies(&kind, latency, &histogram));
    }
    for response in measured.open_loop.iter().flat_map(|one| &one.responses) {
        let kind = format!("{}-response", response.kind);
        let Some(histogram) = take(&mut by_kind, &kind) else {
            found.push(format!("the histograms have none of {}", quote(&kind)));
            continue;
        };
        let (total, count, kind) = (histogram.len(), response.count, quote(&kind));
        if total != count {
            found.push(format!(
                "the histogram has {total} of {kind}, the trial {count}"
            ));
        }
        found.extend(latencies(&kind, &response.latency, &histogram));
    }
    let others = by_kind.keys().map(|kind| {
        let kind = quote(kind);
        format!("there is a histogram of {kind}, but the trial has no {kind}")
    });
    found.extend(others);
    found
}

/// Takes the histogram of a kind. Former versions left it without a tag where the kind's name has a
/// space.
fn take(by_kind: &mut BTreeMap<String, Histogram<u64>>, kind: &str) -> Option<Histogram<u64>> {
    let tag = crate::histogram::tag(kind);
    let untagged = || {
        if tag == kind {
            None
        } else {
            Some(String::new())
        }
    };
    by_kind
        .remove(&tag)
        .or_else(|| by_kind.remove(&untagged()?))
}

/// Merges the histograms by kind, of which there may be several.
fn merge_by_kind(logged: &[LoggedHistogram]) -> BTreeMap<String, Histogram<u64>> {
    let mut by_kind: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for LoggedHistogram {
        kind, histogram, ..
    } in logged
    {
        let sum = by_kind
            .entry(kind.clone())
            .or_insert_with(crate::histogram::new);
        // Decoding has checked the bounds: all fit into one histogram.
        let _ = sum.add(histogram);
    }
    by_kind
}

fn latencies(kind: &str, stated: &LatencySummary, histogram: &Histogram<u64>) -> Option<String> {
    let drawn = LatencySummary::of(histogram);
    let whole = |one: &LatencySummary| {
        let LatencySummary {
            mean_ns: _,
            min_ns,
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            max_ns,
        } = *one;
        [min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns]
    };
    let same = whole(stated) == whole(&drawn) && is_near(stated.mean_ns, drawn.mean_ns);
    (!same).then(|| {
        let p99 = |one: &LatencySummary| one.p99_ns;
        format!(
            "the latencies of {kind} are not the histogram's (p99 {} ns, there {} ns)",
            p99(stated),
            p99(&drawn)
        )
    })
}

/// Formats a name for quotation in a sentence: names in untrusted records may be long.
fn quote(name: &str) -> String {
    const MAX_NAME_CHARS: usize = 40;
    match name.chars().nth(MAX_NAME_CHARS) {
        Some(_) => format!(
            "'{}…'",
            name.chars().take(MAX_NAME_CHARS).collect::<String>()
        ),
        None => format!("'{name}'"),
    }
}

#[cfg(test)]
mod tests;
