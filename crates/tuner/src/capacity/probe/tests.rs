//! Searches on simulated contenders: a step, a queue of which the theory is known, and noise.

use super::*;
use hdrhistogram::Histogram;
use trueput_findings::capacity::capacity;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{LatencySummary, OpenLoop, OperationSummary, ResponseSummary};
use trueput_record::search::{TrialRole, TuningLimits};
use trueput_record::stall::{StalledPart, TrialStall};
use trueput_record::testing::{self, ended};
use trueput_record::{Conditions, Durability, Measurement, Outcome, TrialRecord, TrialSpec};

fn settings(objective: &str) -> CapacitySettings {
    CapacitySettings {
        objective: objective.parse().unwrap(),
        precision: 0.05,
        confirmations: 3,
        budget_s: 600.0,
        arrival: Arrival::Poisson,
        limits: TuningLimits::default(),
    }
}

fn spec(rate: Option<f64>, purpose: TrialPurpose) -> TrialSpec {
    TrialSpec {
        id: format!("{purpose:?}-{rate:?}"),
        workers: 1,
        conditions: Conditions {
            rate: rate.map(|per_s| Rate {
                per_s,
                arrival: Arrival::Poisson,
            }),
            ..Conditions::default()
        },
        role: Some(TrialRole {
            contender: 0,
            purpose,
            configuration: None,
        }),
        ..testing::spec(0, "null", Durability::None, 1)
    }
}

fn closed_loop(per_s: f64) -> TrialRecord {
    let operation = OperationSummary {
        kind: "update".to_owned(),
        per_s,
        ..OperationSummary::default()
    };
    let measurement = Measurement {
        operations: vec![operation],
        ..Measurement::default()
    };
    ended(spec(None, TrialPurpose::ClosedLoop), measurement)
}

/// The result of a trial at a rate with these response times, nanoseconds.
fn open_loop(probe: NextProbe, elapsed_s: f64, backlog: u64, times_ns: &[u64]) -> TrialRecord {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for &time_ns in times_ns {
        histogram.record(time_ns).unwrap();
    }
    let open_loop = OpenLoop {
        rate_per_s: probe.rate_per_s,
        issued: times_ns.len() as u64 - backlog,
        backlog,
        responses: vec![ResponseSummary {
            kind: "update".to_owned(),
            count: times_ns.len() as u64,
            latency: LatencySummary::of(&histogram),
        }],
        ..OpenLoop::default()
    };
    let measurement = Measurement {
        elapsed_s,
        open_loop: Some(open_loop),
        ..Measurement::default()
    };
    ended(spec(Some(probe.rate_per_s), probe.purpose), measurement)
}

/// Searches the capacity of a contender, which answers each probe.
fn search(
    settings: &CapacitySettings,
    closed_per_s: f64,
    mut answer: impl FnMut(NextProbe) -> TrialRecord,
) -> Capacity {
    let first = closed_loop(closed_per_s);
    let first_spec = first.spec.clone();
    let mut trials = vec![first];
    loop {
        let found = capacity(&first_spec, settings, &trials);
        match next_probe(&found, settings) {
            Some(probe) => trials.push(answer(probe)),
            None => return found,
        }
    }
}

/// A contender that answers in a millisecond up to a rate, and in a second above it.
fn step(limit_per_s: f64) -> impl FnMut(NextProbe) -> TrialRecord {
    move |probe| {
        let time_ns = if probe.rate_per_s <= limit_per_s {
            1_000_000
        } else {
            1_000_000_000
        };
        let requests = (probe.rate_per_s * 5.0).max(1.0) as usize;
        open_loop(probe, 5.0, 0, &vec![time_ns; requests])
    }
}

#[test]
fn a_rate_that_held_before_a_disturbance_is_tried_again_after_it() {
    let (mut trials, mut steady, mut disturbed) = (0, step(8_000.0), step(0.0));
    let found = search(&settings("p99<5ms"), 10_000.0, |probe| {
        trials += 1;
        if (4..=20).contains(&trials) {
            disturbed(probe)
        } else {
            steady(probe)
        }
    });
    assert_eq!(found.state, CapacityState::Confirmed);
    let holds_per_s = found.holds_per_s.unwrap();
    assert!((7_500.0..=8_000.0).contains(&holds_per_s), "{holds_per_s}");
    assert!(trials < 50, "{trials}");
}

#[test]
fn a_limit_is_found_to_within_the_precision_confirmed_and_exceeded() {
    for limit_per_s in [37.0, 260.0, 999.0, 1_400.0] {
        let found = search(&settings("p99<5ms"), 1_000.0, step(limit_per_s));
        let holds = found.holds_per_s.unwrap();
        assert_eq!(found.state, CapacityState::Confirmed, "{limit_per_s}");
        assert!(
            (limit_per_s / 1.06..=limit_per_s).contains(&holds),
            "{limit_per_s}: {holds}"
        );
        assert_eq!(found.held_trials(), 4);
        for last in &found.probes[found.probes.len() - 2..] {
            assert_eq!(last.purpose, TrialPurpose::Excess);
            assert!(!last.judgement.holds() && last.rate_per_s > limit_per_s);
        }
        assert!(
            found.probes.len() < usual_trials(3) as usize + 4,
            "{}",
            found.probes.len()
        );
    }
}

#[test]
fn an_objective_that_nothing_meets_ends_at_the_lowest_rate_with_the_nearest_result() {
    let found = search(&settings("p99<0.5ms"), 1_000.0, step(100.0));
    assert_eq!(found.state, CapacityState::NothingHolds);
    assert_eq!(found.holds_per_s, None);
    let nearest = found.nearest().unwrap();
    assert_eq!(nearest.judgement.figures[0].metric, "p99");
    assert!((nearest.judgement.figures[0].value - 0.001).abs() < 1e-5);
    assert!(
        found
            .probes
            .iter()
            .all(|probe| probe.rate_per_s >= found.least_rate_per_s())
    );
}

#[test]
fn no_rate_is_tried_at_which_the_longest_trial_has_too_few_requests() {
    let mut spec = spec(None, TrialPurpose::ClosedLoop);
    let found = |spec: &TrialSpec| capacity(spec, &settings("p99<5ms"), &[closed_loop(10.0)]);
    assert_eq!(found(&spec).least_rate_per_s(), 1.0);
    spec.conditions.duration_s = Some(0.5);
    assert_eq!(found(&spec).least_rate_per_s(), 10.0);
    let first = next_probe(&found(&spec), &settings("p99<5ms")).unwrap();
    assert_eq!(first.rate_per_s, 10.0);
    assert!(found(&spec).is_too_low(9.9));
}

#[test]
fn a_rate_that_holds_only_now_and_then_is_not_confirmed() {
    let mut trial = 0;
    let found = search(&settings("p99<5ms"), 1_000.0, |probe| {
        trial += 1;
        // Between 500 and 800 every other trial fails.
        let limit_per_s = if trial % 2 == 0 { 500.0 } else { 800.0 };
        step(limit_per_s)(probe)
    });
    let holds = found.holds_per_s.unwrap();
    assert_eq!(found.state, CapacityState::Confirmed);
    assert!(holds <= 505.0, "{holds}");
}

#[test]
fn pauses_in_some_trials_hardly_lower_a_capacity() {
    const SEEDS: u64 = 100;
    const LIMIT_PER_S: f64 = 700.0;
    let found = (0..SEEDS).map(|seed| {
        let (mut random, mut paused, mut steady) = (seed, step(0.0), step(LIMIT_PER_S));
        let found = search(&settings("p99<5ms"), 1_000.0, |probe| {
            if uniform(&mut random) < 0.1 {
                paused(probe)
            } else {
                steady(probe)
            }
        });
        assert_eq!(found.state, CapacityState::Confirmed, "{seed}");
        found.holds_per_s.unwrap() / LIMIT_PER_S
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(f64::total_cmp);
    assert!(found.iter().all(|part| *part <= 1.0));
    let near = found.iter().filter(|part| **part >= 1.0 / 1.1).count();
    assert!(
        near as u64 * 10 >= SEEDS * 9,
        "{near} of {SEEDS}: {found:?}"
    );
}

/// A random number between 0 and 1 (splitmix64).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

const SERVICE_S: f64 = 0.001;
const TRIAL_S: f64 = 120.0;

/// A queue with random arrivals, one server and a constant service time (M/D/1).
fn queue(probe: NextProbe, random: &mut u64) -> TrialRecord {
    let (mut due_s, mut free_s) = (0.0, 0.0_f64);
    let (mut times_ns, mut backlog) = (Vec::new(), 0);
    loop {
        due_s -= (1.0 - uniform(random)).ln() / probe.rate_per_s;
        if due_s >= TRIAL_S {
            break;
        }
        let begins_s = free_s.max(due_s);
        if begins_s >= TRIAL_S {
            backlog += 1;
            times_ns.push(((TRIAL_S - due_s) * 1e9) as u64);
            continue;
        }
        free_s = begins_s + SERVICE_S;
        times_ns.push(((free_s - due_s) * 1e9) as u64);
    }
    open_loop(probe, TRIAL_S, backlog, &times_ns)
}

/// The part of the requests that wait at most `wait_s` in M/D/1 (A. K. Erlang, 1909).
fn waits_at_most(wait_s: f64, rate_per_s: f64) -> f64 {
    let steps = (wait_s / SERVICE_S).floor() as i32;
    let mut sum = 0.0;
    for step in 0..=steps {
        let exponent = rate_per_s * (f64::from(step) * SERVICE_S - wait_s);
        let factorial: f64 = (1..=step).map(f64::from).product();
        sum += exponent.powi(step) / factorial * (-exponent).exp();
    }
    (1.0 - rate_per_s * SERVICE_S) * sum
}

/// The rate at which 99 % of the requests of M/D/1 take at most `limit_s`.
fn theory_per_s(limit_s: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 / SERVICE_S);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(limit_s - SERVICE_S, middle) >= 0.99 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn the_capacity_of_a_queue_agrees_with_its_theory_within_five_per_cent() {
    for (limit, limit_s) in [("p99<3ms", 0.003), ("p99<5ms", 0.005), ("p99<10ms", 0.01)] {
        let mut random = 1;
        let found = search(&settings(limit), 1_000.0, |probe| queue(probe, &mut random));
        let (holds, expected) = (found.holds_per_s.unwrap(), theory_per_s(limit_s));
        assert_eq!(found.state, CapacityState::Confirmed, "{limit}");
        let off = holds / expected - 1.0;
        assert!(off.abs() <= 0.05, "{limit}: {holds} against {expected}");
    }
}

#[test]
fn a_contender_that_is_killed_at_every_rate_is_given_up_after_three() {
    let killed = |probe| {
        let mut trial = open_loop(probe, 5.0, 0, &[1_000_000]);
        trial.measurement = None;
        trial.outcome = Outcome::Failed {
            reason: "worker 0 was killed by the memory limit of 64 MiB".to_owned(),
            bad_input: false,
        };
        trial
    };
    let settings = settings("p99<5ms");
    let found = search(&settings, 1e5, killed);
    let CapacityState::Unmeasured { message } = &found.state else {
        panic!("{found:?}");
    };
    assert!(message.contains("memory limit"), "{message}");
    assert_eq!(found.probes.len(), 3);
    assert_eq!(retry_probe(&found), None);
    // One that is measured in between is searched to its end.
    let (mut trials, mut steady) = (0, step(8_000.0));
    let found = search(&settings, 10_000.0, |probe| {
        trials += 1;
        match trials {
            1 | 2 => killed(probe),
            _ => steady(probe),
        }
    });
    assert_eq!(found.state, CapacityState::Confirmed);
}

#[test]
fn a_contender_whose_trials_were_disturbed_did_nothing_wrong() {
    let stall = TrialStall {
        part: StalledPart::Machine,
        worker: None,
        from_s: 1.0,
        length_s: 9.0,
    };
    let stalled = |probe| {
        let mut trial = open_loop(probe, 5.0, 0, &[1_000_000]);
        if let Some(measurement) = &mut trial.measurement {
            measurement.stalls.push(stall);
        }
        let reasons = vec![stall.doubt()];
        trial.outcome = Outcome::Invalid { reasons };
        trial
    };
    let settings = settings("p99<5ms");
    let found = search(&settings, 1e5, stalled);
    let CapacityState::Unmeasured { message } = &found.state else {
        panic!("{found:?}");
    };
    assert!(message.contains("did not run"), "{message}");
    // The control: one that lost records, too, is wrong.
    let found = search(&settings, 1e5, |probe| {
        let mut trial = stalled(probe);
        let reasons = vec![stall.doubt(), "records: 1 missing".to_owned()];
        trial.outcome = Outcome::Invalid { reasons };
        trial
    });
    let CapacityState::Rejected { message } = &found.state else {
        panic!("{found:?}");
    };
    assert_eq!(message, "records: 1 missing");
}

#[test]
fn a_contender_whose_promise_an_audit_refuted_has_no_capacity() {
    let mut first = closed_loop(1_000.0);
    first.audit = Some(AuditStanding {
        audited_at: "2026-11-26T12:00:00Z".to_owned(),
        models: vec![ModelStanding {
            model: StorageModel::Journal,
            file_system: None,
            states: 10,
            distinct: 10,
            refuted: 1,
            undecided: false,
            counterexample: None,
        }],
    });
    let settings = settings("p99<5ms");
    let found = capacity(&first.spec, &settings, &[first.clone()]);
    let CapacityState::Rejected { message } = &found.state else {
        panic!("{found:?}");
    };
    assert!(message.contains("refuted"), "{message}");
    assert_eq!(next_probe(&found, &settings), None);
    assert_eq!(retry_probe(&found), None);
}

#[test]
fn a_trial_lasts_until_the_percentile_has_requests_beyond_it() {
    let objective: Objective = "p50<1ms,p99<5ms".parse().unwrap();
    assert_eq!(trial_duration_s(1_000.0, 5.0, &objective), 5.0);
    assert_eq!(trial_duration_s(100.0, 5.0, &objective), 10.0);
    assert_eq!(trial_duration_s(1.0, 5.0, &objective), 30.0);
    assert_eq!(trial_duration_s(1e6, 0.5, &objective), 0.5);
}
