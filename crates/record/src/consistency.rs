//! Whether the parts of a record say the same: a trial's line, its histograms and the plan.
//!
//! A run states most of what it counted more than once: per operation, per worker, per second and in
//! the histograms. Where a record comes from anybody, or storage has damaged it, that shows whether
//! one of them was changed alone. It is no proof of who wrote it: all may have been changed alike.

use crate::flush_evidence::{FlushEvidence, FlushVerdict};
use crate::histogram::LoggedHistogram;
use crate::measurement::{LatencySummary, Measurement, OperationSummary};
use crate::{Outcome, TrialRecord, TrialSpec};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Rates and means are written as they were computed, to the last digit; other programs may round.
const ROUNDING: f64 = 1e-6;

/// What an interval in a histogram log may differ by from the elapsed time, seconds: it is written
/// with three decimals.
const INTERVAL_ROUNDING_S: f64 = 0.002;

/// Completed requests at most that no counter shows yet: one on each processor, and Linux knows no
/// more of them.
const MOST_UNCOUNTED: u64 = 8_192;

/// Sentences about one trial at most.
const MOST: usize = 8;

/// Where the parts of a trial's record disagree, one sentence each; none where they say the same.
///
/// `planned` is the trial in the run's plan, and `histograms` what its log holds; absent where its
/// file is not there.
#[must_use]
pub fn contradictions(
    record: &TrialRecord,
    planned: Option<&TrialSpec>,
    histograms: Option<&[LoggedHistogram]>,
) -> Vec<String> {
    let mut found = Vec::from_iter(plan(record, planned));
    found.extend(promise(record));
    found.extend(verification(record));
    found.extend(outcome(record));
    if let Some(measured) = &record.measurement {
        found.extend(elapsed(measured));
        found.extend(rates(measured));
        found.extend(counts(measured));
        found.extend(open_loop(record, measured));
        found.extend(measured.flush_evidence.as_ref().and_then(flushes));
        if let Some(logged) = histograms {
            found.extend(log(record, measured, logged));
        }
    }
    if found.len() > MOST {
        let more = found.len() - MOST;
        found.truncate(MOST);
        found.push(format!("and in {more} more places"));
    }
    found
}

/// Sets each rate to what count and elapsed time make it.
pub fn derive_rates(measured: &mut Measurement) {
    let elapsed_s = measured.elapsed_s;
    for operation in &mut measured.operations {
        operation.per_s = rate(operation.count, elapsed_s);
    }
}

fn rate(count: u64, elapsed_s: f64) -> f64 {
    match elapsed_s > 0.0 {
        true => count as f64 / elapsed_s,
        false => 0.0,
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

fn promise(record: &TrialRecord) -> Option<String> {
    let promised = record.engine.as_ref()?.promise.durability;
    let planned = record.spec.durability;
    (promised != planned)
        .then(|| format!("the engine promises '{promised}' where the plan says '{planned}'"))
}

fn verification(record: &TrialRecord) -> Option<String> {
    let verified = record.verification.as_ref()?;
    let failed = verified.failures();
    let passed = !verified.checks.is_empty() && failed.is_empty();
    (verified.passed && !passed).then(|| {
        let (failed, all) = (failed.len(), verified.checks.len());
        format!("the verification is said to have passed, and {failed} of {all} checks failed")
    })
}

/// The outcome, beside what speaks against it.
fn outcome(record: &TrialRecord) -> Vec<String> {
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
    found
}

/// The verdict on its flushes, beside what was counted.
fn flushes(evidence: &FlushEvidence) -> Option<String> {
    let verdict = |uncounted| evidence.clone().judged(uncounted).verdict;
    let (least, most) = (verdict(0), verdict(MOST_UNCOUNTED));
    let FlushEvidence {
        commits, writes, ..
    } = evidence;
    // The program that wrote the record knew how many requests no counter showed yet.
    let agrees = match evidence.verdict {
        FlushVerdict::NotCounted => least == FlushVerdict::NotCounted,
        FlushVerdict::Explained => most == FlushVerdict::Explained,
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
        "it is said that {stated}, and the record has {writes} writes{flushes} for {commits} commits"
    ))
}

/// The elapsed time, beside the timeline's end and each worker's own.
fn elapsed(measured: &Measurement) -> Vec<String> {
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

fn rates(measured: &Measurement) -> Vec<String> {
    let wrong = measured.operations.iter().filter_map(|one| {
        let derived = rate(one.count, measured.elapsed_s);
        (!is_near(one.per_s, derived)).then(|| {
            format!(
                "per_s of {} is {}, and {} in {} s are {derived}",
                shown(&one.kind),
                one.per_s,
                one.count,
                measured.elapsed_s
            )
        })
    });
    wrong.collect()
}

/// The counts, beside those of the timeline and of the workers.
fn counts(measured: &Measurement) -> Vec<String> {
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
                let kind = shown(kind);
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
    for (what, stated, sum) in retried {
        if u128::from(stated) != sum {
            found.push(format!("the workers have {sum} {what}, the trial {stated}"));
        }
    }
    found
}

/// The sums of parts by kind of operation.
fn sums<'a>(measured: &Measurement, parts: impl Iterator<Item = &'a [u64]>) -> Vec<u128> {
    let mut sums = vec![0; measured.operations.len()];
    for counts in parts {
        let each = sums.iter_mut().zip(counts);
        each.for_each(|(sum, count)| *sum += u128::from(*count));
    }
    sums
}

fn open_loop(record: &TrialRecord, measured: &Measurement) -> Option<String> {
    let (kept, asked) = (&measured.open_loop, record.spec.conditions.rate);
    match (kept, asked) {
        (Some(kept), Some(asked)) if is_near(kept.rate_per_s, asked.per_s) => None,
        (None, None) => None,
        (None, Some(_)) if !is_timed(measured) => None,
        _ => Some("the plan and the measurement have different rates of an open loop".to_owned()),
    }
}

/// Whether any operation was timed: native programs time none.
#[must_use]
pub fn is_timed(measured: &Measurement) -> bool {
    let mut operations = measured.operations.iter();
    operations.any(|operation| operation.latency.is_measured())
}

/// Counts and latencies beside the histograms.
fn log(record: &TrialRecord, measured: &Measurement, logged: &[LoggedHistogram]) -> Vec<String> {
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
    let mut by_kind = merged(logged);
    // Native programs count and time nothing.
    let timed = by_kind.values().any(|histogram| !histogram.is_empty());
    // Work that was done again after a conflict is in the histograms each time.
    let repeated = measured.conflicts > 0 || record.spec.conditions.warm_up_s > 0.0;
    for OperationSummary {
        kind,
        count,
        latency,
        ..
    } in &measured.operations
    {
        let Some(histogram) = take(&mut by_kind, kind) else {
            found.push(format!("the histograms have none of {}", shown(kind)));
            continue;
        };
        let (total, kind) = (histogram.len(), shown(kind));
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
            found.push(format!("the histograms have none of {}", shown(&kind)));
            continue;
        };
        let (total, count, kind) = (histogram.len(), response.count, shown(&kind));
        if total != count {
            found.push(format!(
                "the histogram has {total} of {kind}, the trial {count}"
            ));
        }
        found.extend(latencies(&kind, &response.latency, &histogram));
    }
    let others = by_kind.keys().map(|kind| {
        let kind = shown(kind);
        format!("there is a histogram of {kind}, which the trial has not")
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

/// The histograms by kind: several of one kind may be added.
fn merged(logged: &[LoggedHistogram]) -> BTreeMap<String, Histogram<u64>> {
    let mut by_kind: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for LoggedHistogram {
        kind, histogram, ..
    } in logged
    {
        let sum = by_kind
            .entry(kind.clone())
            .or_insert_with(crate::histogram::new);
        // Bounds are checked where a histogram is decoded: all fit into one of ours.
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

/// A name as a sentence quotes it: records may come from anybody, and be long.
fn shown(name: &str) -> String {
    const MOST: usize = 40;
    match name.chars().nth(MOST) {
        Some(_) => format!("'{}…'", name.chars().take(MOST).collect::<String>()),
        None => format!("'{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flush_evidence::FlushBasis;
    use crate::measurement::{
        Check, EngineReport, OpenLoop, ResponseSummary, TimelineSecond, Verification, WorkerReport,
    };
    use crate::{Durability, VerifyLevel};

    fn histogram(count: u64) -> Histogram<u64> {
        let mut histogram = crate::histogram::new();
        (0..count).for_each(|n| histogram.saturating_record(1_000 + n * 37));
        histogram
    }

    fn logged(kind: &str, count: u64) -> LoggedHistogram {
        LoggedHistogram {
            kind: kind.to_owned(),
            duration_s: 2.5,
            histogram: histogram(count),
        }
    }

    fn operation(kind: &str, count: u64) -> OperationSummary {
        OperationSummary {
            kind: kind.to_owned(),
            count,
            per_s: count as f64 / 2.5004,
            latency: LatencySummary::of(&histogram(count)),
        }
    }

    fn spec() -> TrialSpec {
        let text = r#"{"id": "1-a", "cell": 0, "repeat": 1, "workload": "w", "settings": {},
            "engine": "e", "durability": "async", "knobs": {}, "workers": 2,
            "worker_kind": "threads", "verify": "full", "seed": 1}"#;
        serde_json::from_str(text).unwrap()
    }

    /// A record that agrees with itself, and its histograms.
    fn honest() -> (TrialRecord, Vec<LoggedHistogram>) {
        let second = |at_s: f64, counts: [u64; 2]| TimelineSecond {
            at_s,
            counts: counts.to_vec(),
            ..TimelineSecond::default()
        };
        let worker = |index: u32, counts: [u64; 2]| WorkerReport {
            index,
            elapsed_s: 2.5,
            counts: counts.to_vec(),
            ..WorkerReport::default()
        };
        let measured = Measurement {
            elapsed_s: 2.5004,
            operations: vec![operation("read", 300), operation("rolled back", 20)],
            timeline: vec![
                second(1.0, [100, 5]),
                second(2.0, [100, 10]),
                second(2.5004, [100, 5]),
            ],
            workers: vec![worker(0, [120, 20]), worker(1, [180, 0])],
            ..Measurement::default()
        };
        let record = TrialRecord {
            format: crate::FORMAT_VERSION,
            spec: spec(),
            outcome: Outcome::Valid,
            resumed: false,
            started_at: String::new(),
            file_system: None,
            log_file_system: None,
            engine: None,
            conformance: None,
            ceilings: None,
            load: None,
            measurement: Some(measured),
            verification: None,
        };
        (record, vec![logged("read", 300), logged("rolled-back", 20)])
    }

    fn found(change: impl Fn(&mut TrialRecord, &mut Vec<LoggedHistogram>)) -> Vec<String> {
        let (mut record, mut logged) = honest();
        change(&mut record, &mut logged);
        contradictions(&record, Some(&spec()), Some(&logged))
    }

    fn measured(record: &mut TrialRecord) -> &mut Measurement {
        record.measurement.as_mut().unwrap()
    }

    #[test]
    fn a_record_that_says_the_same_everywhere_is_not_accused() {
        assert_eq!(found(|_, _| {}), [""; 0]);
        // Former versions gave no tag to a kind with a space in its name.
        assert_eq!(found(|_, logged| logged[1].kind.clear()), [""; 0]);
        // Work that a conflict undid is in the histogram, and not in the count.
        let conflict = found(|record, logged| {
            measured(record).conflicts = 1;
            measured(record).workers[0].conflicts = 1;
            measured(record).operations[0] = OperationSummary {
                latency: LatencySummary::of(&histogram(303)),
                ..operation("read", 300)
            };
            logged[0] = self::logged("read", 303);
        });
        assert_eq!(conflict, [""; 0]);
        // A native program counts and times nothing.
        let native = found(|record, logged| {
            for operation in &mut measured(record).operations {
                operation.latency = LatencySummary::default();
            }
            *logged = vec![self::logged("read", 0), self::logged("rolled-back", 0)];
        });
        assert_eq!(native, [""; 0]);
        let (record, _) = honest();
        assert_eq!(contradictions(&record, Some(&spec()), None), [""; 0]);
    }

    type Change = fn(&mut TrialRecord, &mut Vec<LoggedHistogram>);

    #[test]
    fn each_part_that_is_changed_alone_is_named() {
        let changes: [(&str, Change); 15] = [
            ("per_s of 'read' is", |r, _| {
                measured(r).operations[0].per_s *= 10.0;
            }),
            ("per_s of 'read' is", |r, _| measured(r).elapsed_s /= 10.0),
            ("the histograms span 2.5 s", |r, _| {
                measured(r).elapsed_s /= 10.0;
            }),
            ("the timeline ends after", |r, _| {
                measured(r).elapsed_s /= 10.0;
            }),
            ("a worker took 2.5 s", |r, _| measured(r).elapsed_s /= 10.0),
            ("the workers have 300 of 'read'", |r, _| {
                measured(r).operations[0] = operation("read", 3_000);
            }),
            ("the timeline's seconds have 210 of", |r, _| {
                measured(r).timeline[1].counts[0] = 10;
            }),
            ("the histogram has 300 of 'read', the trial 3000", |r, _| {
                measured(r).operations[0].count = 3_000;
            }),
            ("the latencies of 'read' are not", |r, _| {
                measured(r).operations[0].latency.p99_ns /= 10;
            }),
            ("there is a histogram of 'other'", |_, logged| {
                logged.push(self::logged("other", 1));
            }),
            ("the histograms have none of 'read'", |_, logged| {
                logged.remove(0);
            }),
            ("describe the trial differently", |r, _| {
                r.spec.durability = Durability::Sync;
            }),
            ("the engine promises 'sync'", |r, _| {
                r.engine = Some(promising());
            }),
            ("said to have passed, and 1 of 1", |r, _| {
                r.verification = Some(lying());
            }),
            ("different rates of an open loop", |r, _| {
                measured(r).open_loop = Some(OpenLoop::default());
            }),
        ];
        for (expected, change) in changes {
            let found = found(change).join("; ");
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }

    fn promising() -> EngineReport {
        let text = r#"{"version": "1", "origin": "", "sha256": "", "settings": {},
            "promise": {"durability": "sync", "mapped_to": "", "source": ""}}"#;
        serde_json::from_str(text).unwrap()
    }

    fn lying() -> Verification {
        Verification {
            level: VerifyLevel::Full,
            passed: true,
            checks: vec![Check::new("answers", false, "others")],
            elapsed_s: 0.0,
        }
    }

    #[test]
    fn an_outcome_and_a_verdict_changed_by_hand_are_named() {
        let evidence = |commits: u64, verdict: Option<FlushVerdict>| {
            let drawn = FlushEvidence {
                commits,
                sessions: 2,
                devices: vec!["vda".to_owned()],
                writes: 25,
                basis: Some(FlushBasis::Writes),
                ..FlushEvidence::default()
            };
            let drawn = drawn.judged(1);
            let verdict = verdict.unwrap_or(drawn.verdict);
            FlushEvidence { verdict, ..drawn }
        };
        let of = |outcome: &Outcome, evidence: FlushEvidence| {
            let found = found(|record, _| {
                record.outcome = outcome.clone();
                measured(record).flush_evidence = Some(evidence.clone());
            });
            found.join("; ")
        };
        let invalid = Outcome::Invalid {
            reasons: vec!["flushes cannot explain its commits".to_owned()],
        };
        let absent = FlushEvidence::not_counted(60, 2, "on tmpfs".to_owned());
        // The controls: what the runner writes.
        for (outcome, evidence) in [
            (&Outcome::Valid, evidence(52, None)),
            (&invalid, evidence(100_000, None)),
            (&Outcome::Valid, absent),
        ] {
            assert_eq!(of(outcome, evidence), "");
        }
        let (explained, impossible) = (FlushVerdict::Explained, FlushVerdict::Impossible);
        for (evidence, expected) in [
            (
                evidence(100_000, None),
                "said to be valid, and flushes cannot",
            ),
            (
                evidence(100_000, Some(explained)),
                "flushes can explain its commits, and the record has 25 writes for 100000 commits",
            ),
            (evidence(20, Some(impossible)), "said that flushes cannot"),
            (
                evidence(100_000, Some(FlushVerdict::NotCounted)),
                "said that nothing was counted",
            ),
        ] {
            let said = of(&Outcome::Valid, evidence);
            assert!(said.contains(expected), "{expected}: {said}");
        }
        let failed = |outcome: &Outcome| {
            let found = found(|record, _| {
                record.outcome = outcome.clone();
                let check = Check::new("answers", false, "others");
                let checks = vec![check];
                record.verification =
                    Some(Verification::from_checks(VerifyLevel::Full, checks, 0.0));
            });
            found.join("; ")
        };
        assert!(failed(&Outcome::Valid).contains("valid, and its verification failed"));
        assert_eq!(failed(&invalid), "");
    }

    #[test]
    fn response_times_are_checked_against_their_histogram() {
        let with = |count: u64| {
            found(|record, logged| {
                let rate = crate::conditions::Rate {
                    per_s: 100.0,
                    arrival: crate::conditions::Arrival::Constant,
                };
                record.spec.conditions.rate = Some(rate);
                measured(record).open_loop = Some(OpenLoop {
                    rate_per_s: 100.0,
                    responses: vec![ResponseSummary {
                        kind: "read".to_owned(),
                        count,
                        latency: LatencySummary::of(&histogram(count)),
                    }],
                    ..OpenLoop::default()
                });
                logged.push(self::logged("read-response", 310));
            })
        };
        // The plan of these tests has no rate: that is named, and nothing else.
        assert_eq!(with(310).len(), 1, "{:?}", with(310));
        let found = with(31).join("; ");
        assert!(
            found.contains("has 310 of 'read-response', the trial 31"),
            "{found}"
        );
    }

    #[test]
    fn counts_that_cannot_be_added_up_do_not_stop_the_check() {
        let found = found(|record, _| {
            for worker in &mut measured(record).workers {
                worker.counts = vec![u64::MAX, u64::MAX];
                worker.conflicts = u64::MAX;
            }
        });
        assert!(found.len() >= 3, "{found:?}");
    }

    #[test]
    fn rates_are_what_counts_and_time_make_them() {
        let (mut record, _) = honest();
        measured(&mut record).operations[0].per_s = 1e9;
        derive_rates(measured(&mut record));
        assert_eq!(measured(&mut record).operations[0].per_s, 300.0 / 2.5004);
    }
}
