use super::*;
use crate::flush_evidence::FlushBasis;
use crate::load_generator::Stall;
use crate::measurement::{
    Check, EngineReport, OpenLoop, ResponseSummary, TimelineSecond, Verification, WorkerReport,
};
use crate::testing::ended;
use crate::{Durability, VerifyLevel};

fn histogram(count: u64) -> Histogram<u64> {
    let mut histogram = crate::histogram::new();
    (0..count).for_each(|n| histogram.saturating_record(1_000 + n * 37));
    histogram
}

fn logged(kind: &str, count: u64) -> LoggedHistogram {
    LoggedHistogram {
        kind: kind.to_owned(),
        start_s: 0.0,
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
        not_found: 0,
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
    let record = ended(spec(), measured);
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
fn the_rows_of_hosts_add_up_to_the_trial() {
    let host = |reads, rolled_back| LoadGenerator {
        operations: vec![
            operation("read", reads),
            operation("rolled back", rolled_back),
        ],
        ..LoadGenerator::default()
    };
    let of_two = |second: LoadGenerator| {
        found(|record, _| {
            measured(record).load_generators = vec![host(100, 20), second.clone()];
        })
    };
    assert_eq!(of_two(host(200, 0)), [""; 0]);
    let wrong = of_two(host(201, 0));
    assert_eq!(
        wrong,
        ["its hosts did 301 operations 'read', the trial 300"]
    );
    let stalled = of_two(LoadGenerator {
        stalls: vec![Stall::default()],
        ..host(200, 0)
    });
    assert!(
        stalled[0].contains("said to be valid, and host  did not run"),
        "{stalled:?}"
    );
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
        let drawn = drawn.with_verdict(1);
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
    // The controls: records as the runner writes them.
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
            record.verification = Some(Verification::from_checks(VerifyLevel::Full, checks, 0.0));
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
                issued: 300,
                backlog: 10,
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
fn a_rate_is_checked_against_the_requests_and_their_time() {
    let with = |per_s: f64, issued: u64, responses: u64, duration_s: Option<f64>| {
        let found = found(|record, _| {
            record.spec.conditions.duration_s = duration_s;
            measured(record).open_loop = Some(OpenLoop {
                rate_per_s: per_s,
                issued,
                responses: vec![ResponseSummary {
                    count: responses,
                    ..ResponseSummary::default()
                }],
                ..OpenLoop::default()
            });
        });
        let of_loop = |one: &&String| one.contains("became due") || one.contains("have begun");
        found.iter().filter(of_loop).count()
    };
    let timed = Some(2.5);
    assert_eq!(with(120.0, 300, 300, timed), 0);
    // Random arrivals vary, and each worker may be at a request when the time is up.
    assert_eq!(with(110.0, 303, 300, timed), 0);
    // The rate of a capacity, and then the requests, multiplied by hand.
    assert_eq!(with(99_999.0, 300, 300, timed), 1);
    assert_eq!(with(1_200.0, 3_000, 300, timed), 1);
    assert_eq!(with(120.0, 3_000, 3_000, timed), 1);
    assert_eq!(with(12.0, 300, 300, None), 1);
    // Work of a fixed amount ends late where the rate is not kept.
    assert_eq!(with(1_200.0, 300, 300, None), 0);
}

/// The contradictions of an open loop whose record was changed.
fn of_rate(per_s: f64, issued: u64, change: impl Fn(&mut TrialRecord)) -> usize {
    let found = found(|record, _| {
        record.spec.conditions.duration_s = Some(2.5);
        measured(record).open_loop = Some(OpenLoop {
            rate_per_s: per_s,
            issued,
            responses: vec![ResponseSummary {
                count: issued,
                ..ResponseSummary::default()
            }],
            ..OpenLoop::default()
        });
        change(record);
    });
    let of_loop = |one: &&String| one.contains("became due");
    found.iter().filter(of_loop).count()
}

#[test]
fn no_more_is_done_than_a_trace_or_a_setting_has() {
    // 320 operations are counted.
    let of = |workload: &str, setting: (&str, i64), requests: Option<i64>| {
        let (mut record, logged) = honest();
        record.spec.workload = workload.to_owned();
        let (name, amount) = setting;
        record.spec.settings.insert(name.to_owned(), amount.into());
        record.verification = Some(Verification {
            passed: true,
            ..lying()
        });
        record.verification.as_mut().unwrap().checks = vec![Check::new("c", true, "")];
        let results = &mut measured(&mut record).results;
        results.extend(requests.map(|all| ("trace_requests".to_owned(), all.into())));
        let planned = record.spec.clone();
        contradictions(&record, Some(&planned), Some(&logged))
    };
    for (workload, setting, requests) in [
        ("trace", ("requests", 0), Some(320)),
        ("trace", ("requests", 320), Some(5_000)),
        ("ycsb", ("operationcount", 320), None),
        ("ycsb", ("operationcount", 0), None),
        ("pgbench", ("transactions", 320), None),
        ("w", ("operationcount", 1), None),
    ] {
        assert_eq!(of(workload, setting, requests), [""; 0], "{workload}");
    }
    for (workload, setting, requests, said) in [
        ("trace", ("requests", 0), Some(319), "trace_requests is 319"),
        ("trace", ("requests", 319), Some(320), "requests is 319"),
        ("trace", ("requests", 320), None, "are not stated"),
        (
            "custom",
            ("operationcount", 319),
            None,
            "operationcount is 319",
        ),
        (
            "mixgraph",
            ("mix_accesses", 319),
            None,
            "mix_accesses is 319",
        ),
        (
            "pgbench",
            ("transactions", 319),
            None,
            "transactions is 319",
        ),
        ("sysbench", ("events", 319), None, "events is 319"),
    ] {
        let found = of(workload, setting, requests);
        assert!(found.len() == 1 && found[0].contains(said), "{found:?}");
    }
    let forged = found(|record, _| {
        measured(record).open_loop = Some(OpenLoop {
            responses: vec![ResponseSummary::default()],
            ..OpenLoop::default()
        });
    });
    assert!(forged.iter().all(|one| !one.contains("operations ended")));
}

#[test]
fn workers_that_the_job_adds_keep_no_rate() {
    let added = |record: &mut TrialRecord| record.spec.workers = 1;
    assert_eq!(of_rate(2_000.0, 5_000, added), 0);
    // The added worker has no share that could hide requests.
    assert_eq!(of_rate(2_000.0, 10_000, added), 1);
    assert_eq!(of_rate(2_000.0, 2_500, added), 1);
}

#[test]
fn work_that_ends_at_its_count_before_its_time_may_be_behind_its_rate() {
    let ended = |ended: usize| {
        move |record: &mut TrialRecord| {
            record.spec.conditions.duration_s = Some(60.0);
            let measured = measured(record);
            measured.elapsed_s = 60.0;
            for (index, worker) in measured.workers.iter_mut().enumerate() {
                worker.elapsed_s = if index < ended { 20.0 } else { 60.0 };
            }
        }
    };
    assert_eq!(of_rate(5_000.0, 1_000, ended(2)), 0);
    // One of two had the whole time: half of the rate was due.
    assert_eq!(of_rate(5_000.0, 151_000, ended(1)), 0);
    assert_eq!(of_rate(5_000.0, 100_000, ended(1)), 1);
    assert_eq!(of_rate(5_000.0, 151_000, ended(0)), 1);
}

#[test]
fn a_contender_under_the_name_of_another_is_named() {
    let named = |name: &str| {
        found(|record, _| {
            let mut engine = promising();
            engine.promise.durability = Durability::Async;
            name.clone_into(&mut engine.name);
            record.engine = Some(engine);
        })
    };
    assert_eq!(named("e"), [""; 0]);
    assert_eq!(named(""), [""; 0], "older records have no name");
    assert_eq!(
        named("lmdb"),
        ["the trial is of 'e', and the engine that was opened is 'lmdb'"]
    );
}

#[test]
fn a_backlog_and_sessions_are_checked_against_what_was_done() {
    let with = |issued: u64, backlog: u64, responses: u64| {
        let found = found(|record, logged| {
            let measured = measured(record);
            let first = &measured.operations[0].kind.clone();
            measured.open_loop = Some(OpenLoop {
                issued,
                backlog,
                responses: vec![ResponseSummary {
                    kind: first.clone(),
                    count: responses,
                    latency: LatencySummary::of(&histogram(responses)),
                }],
                ..OpenLoop::default()
            });
            logged.push(self::logged(&format!("{first}-response"), responses));
        });
        let of_units = |one: &&String| one.contains("response times");
        found.iter().filter(of_units).count()
    };
    // 300 of the first kind were done.
    assert_eq!(with(300, 50, 350), 0);
    assert_eq!(with(301, 0, 300), 0);
    // The backlog is omitted; counted as begun; larger than the number of waiting units.
    assert_ne!(with(300, 0, 350), 0);
    assert_ne!(with(350, 0, 350), 0);
    assert_ne!(with(300, 500, 350), 0);

    let judged = |sessions| {
        found(|record, _| {
            let evidence = FlushEvidence::not_counted(60, sessions, "on tmpfs".to_owned());
            measured(record).flush_evidence = Some(evidence);
        })
    };
    assert_eq!(judged(2), Vec::<String>::new());
    assert!(judged(1_000)[0].contains("judged for 1000 sessions"));
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
