//! Searches on simulated contenders: a step, a queue of which the theory is known, and noise.

use super::*;
use crate::capacity::{CapacityQuestion, CapacitySearch};
use crate::trial_search::TrialSearch;
use hdrhistogram::Histogram;
use trueput_findings::capacity::{CapacityEstimate, capacity};
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{LatencySummary, OpenLoop, OperationSummary, ResponseSummary};
use trueput_record::search::{CapacitySettings, TrialPurpose, TrialRole, TuningLimits};
use trueput_record::stall::{StalledPart, TrialStall};
use trueput_record::testing::{self, ended};
use trueput_record::trial::Proposal;
use trueput_record::{Conditions, Durability, Measurement, Outcome, TrialRecord, TrialSpec};

fn settings(objective: &str) -> CapacitySettings {
    CapacitySettings {
        objective: objective.parse().unwrap(),
        precision: 0.1,
        budget_s: 600.0,
        arrival: Arrival::Poisson,
        limits: TuningLimits::default(),
        fitted_caches: Vec::new(),
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
fn open_loop(rate_per_s: f64, elapsed_s: f64, backlog: u64, times_ns: &[u64]) -> TrialRecord {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for &time_ns in times_ns {
        histogram.record(time_ns).unwrap();
    }
    let open_loop = OpenLoop {
        rate_per_s,
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
    ended(spec(Some(rate_per_s), TrialPurpose::Probe), measurement)
}

/// Searches the capacity of a contender, which answers each probe.
fn search(
    settings: &CapacitySettings,
    closed_per_s: f64,
    mut answer: impl FnMut(f64) -> TrialRecord,
) -> Capacity {
    let first = closed_loop(closed_per_s);
    let first_spec = first.spec.clone();
    let mut trials = vec![first];
    loop {
        let found = capacity(&first_spec, settings, &trials);
        match next_rate_per_s(&found, None) {
            Some(rate_per_s) => trials.push(answer(rate_per_s)),
            None => return found,
        }
    }
}

/// The result of a trial that holds or fails.
fn result(rate_per_s: f64, holds: bool) -> TrialRecord {
    let time_ns = if holds { 1_000_000 } else { 1_000_000_000 };
    let requests = (rate_per_s * 5.0).max(1.0) as usize;
    open_loop(rate_per_s, 5.0, 0, &vec![time_ns; requests])
}

/// A contender that answers in a millisecond up to a rate, and in a second above it.
fn step(limit_per_s: f64) -> impl FnMut(f64) -> TrialRecord {
    move |rate_per_s| result(rate_per_s, rate_per_s <= limit_per_s)
}

/// The ends of the interval of a capacity.
fn ends(found: &Capacity) -> (f64, f64) {
    let CapacityEstimate {
        low_per_s,
        high_per_s,
        ..
    } = found.estimate.unwrap();
    (low_per_s, high_per_s)
}

#[test]
fn a_limit_is_found_to_within_the_precision() {
    for limit_per_s in [37.0, 260.0, 999.0, 1_400.0] {
        let found = search(&settings("p99<5ms"), 1_000.0, step(limit_per_s));
        let per_s = found.capacity_per_s.unwrap();
        assert_eq!(found.state, CapacityState::Confirmed, "{limit_per_s}");
        assert!(
            (per_s / limit_per_s - 1.0).abs() < 0.05,
            "{limit_per_s}: {per_s}"
        );
        let (low_per_s, high_per_s) = ends(&found);
        assert!(
            low_per_s <= limit_per_s && limit_per_s <= high_per_s,
            "{limit_per_s}"
        );
        let probes = found.probes.len();
        assert!(
            (12..=DEFAULT_TRIALS as usize).contains(&probes),
            "{limit_per_s}: {probes}"
        );
    }
}

#[test]
fn a_disturbance_that_passes_hardly_moves_a_capacity() {
    let (mut trials, mut steady) = (0, step(8_000.0));
    let found = search(&settings("p99<5ms"), 10_000.0, |rate_per_s| {
        trials += 1;
        if (4..=9).contains(&trials) {
            result(rate_per_s, false)
        } else {
            steady(rate_per_s)
        }
    });
    let per_s = found.capacity_per_s.unwrap();
    assert!((7_200.0..=8_400.0).contains(&per_s), "{per_s}: {found:?}");
    let disturbed = found.estimate.unwrap().disturbed_share;
    let probes = found.probes.len();
    assert!(disturbed > 0.05, "{disturbed} of {probes}");
}

#[test]
fn an_objective_that_nothing_meets_ends_soon_at_the_lowest_rate_with_the_nearest_result() {
    let found = search(&settings("p99<0.5ms"), 1_000.0, step(100.0));
    assert_eq!(found.state, CapacityState::NothingHolds);
    assert_eq!(found.capacity_per_s, None);
    assert!(found.probes.len() <= 12, "{}", found.probes.len());
    let nearest = found.nearest().unwrap();
    assert_eq!(nearest.judgement.figures[0].metric, "p99");
    let lowest_per_s = found.lowest_rate_per_s();
    let mut rates = found.probes.iter().map(|probe| probe.rate_per_s);
    assert!(rates.all(|rate_per_s| rate_per_s >= lowest_per_s));
}

#[test]
fn no_rate_is_tried_at_which_the_longest_trial_has_too_few_requests() {
    let mut spec = spec(None, TrialPurpose::ClosedLoop);
    let found = |spec: &TrialSpec| capacity(spec, &settings("p99<5ms"), &[closed_loop(10.0)]);
    assert_eq!(found(&spec).least_rate_per_s(), 1.0);
    spec.conditions.duration_s = Some(0.5);
    assert_eq!(found(&spec).least_rate_per_s(), 10.0);
    assert_eq!(next_rate_per_s(&found(&spec), None), Some(10.0));
}

#[test]
fn the_needed_rate_is_tried_first_and_once_more_if_it_fails() {
    let settings = settings("p99<5ms");
    let first = closed_loop(10_000.0);
    let next = |results: &[(f64, bool)]| {
        let results = results
            .iter()
            .map(|(rate_per_s, holds)| result(*rate_per_s, *holds));
        let trials: Vec<_> = std::iter::once(first.clone()).chain(results).collect();
        let found = capacity(&first.spec, &settings, &trials);
        next_rate_per_s(&found, Some(2_000.0)).unwrap()
    };
    assert_eq!(next(&[]), 2_000.0);
    assert_eq!(next(&[(2_000.0, false)]), 2_000.0);
    assert_ne!(next(&[(2_000.0, true)]), 2_000.0);
    assert!(next(&[(2_000.0, false), (2_000.0, false)]) < 2_000.0);
    let found = capacity(&first.spec, &settings, std::slice::from_ref(&first));
    let impossible = next_rate_per_s(&found, Some(16_000.0)).unwrap();
    assert!(impossible < 10_000.0, "{impossible}");
}

#[test]
fn a_contender_that_kept_nothing_is_tried_again_once() {
    let settings = settings("p99<5ms");
    let found = search(&settings, 1_000.0, step(0.0));
    let rate_per_s = retry_rate_per_s(&found).unwrap();
    assert_eq!(rate_per_s, 300.0);
    let mut trials = vec![closed_loop(1_000.0)];
    trials.extend(
        found
            .probes
            .iter()
            .map(|probe| result(probe.rate_per_s, false)),
    );
    trials.push(result(rate_per_s, false));
    let again = capacity(&trials[0].spec, &settings, &trials);
    assert_eq!(retry_rate_per_s(&again), None);
    // One that holds then is searched further.
    trials.pop();
    trials.push(result(rate_per_s, true));
    let again = capacity(&trials[0].spec, &settings, &trials);
    assert!(next_rate_per_s(&again, None).is_some(), "{again:?}");
}

/// What searches found, over many contenders.
#[derive(Debug, Default)]
struct SimulationTotals {
    searches: f64,
    /// Mean of the capacity's error.
    bias: f64,
    /// The share that is off by more than a tenth.
    off: f64,
    probes: f64,
    /// The share of intervals that contain the capacity.
    covered: f64,
}

/// Searches for capacities between 0.1 and 1 of the closed loop. A share of the trials is
/// disturbed, in bursts of this length.
fn simulate(searches: u64, disturbed: f64, burst: u32) -> SimulationTotals {
    const CLOSED_PER_S: f64 = 1_000.0;
    const WIDTH: f64 = 0.02;
    let mut all = SimulationTotals::default();
    for seed in 0..searches {
        let mut random = seed;
        let true_per_s = CLOSED_PER_S * 0.1_f64.powf(uniform(&mut random));
        let mut left = 0;
        let found = search(&settings("p99<5ms"), CLOSED_PER_S, |rate_per_s| {
            if left == 0 && uniform(&mut random) < disturbed / f64::from(burst) {
                left = burst;
            }
            let is_disturbed = left > 0;
            left = left.saturating_sub(1);
            let above_ln = (true_per_s / rate_per_s).ln();
            let holds = uniform(&mut random) < 1.0 / (1.0 + (-above_ln / WIDTH).exp());
            result(rate_per_s, holds && !is_disturbed)
        });
        let error = found.capacity_per_s.unwrap() / true_per_s - 1.0;
        let (low_per_s, high_per_s) = ends(&found);
        all.searches += 1.0;
        all.bias += error;
        all.off += f64::from(u8::from(error.abs() > 0.1));
        all.probes += found.probes.len() as f64;
        let is_covered = low_per_s <= true_per_s && true_per_s <= high_per_s;
        all.covered += f64::from(u8::from(is_covered));
    }
    all.bias /= all.searches;
    all.off /= all.searches;
    all.probes /= all.searches;
    all.covered /= all.searches;
    all
}

#[test]
fn a_search_with_and_without_disturbed_trials_finds_the_capacity() {
    for disturbed in [0.0, 0.1] {
        let found = simulate(10, disturbed, 1);
        assert!(
            found.bias.abs() < 0.03 && found.off < 0.11,
            "{disturbed}: {found:?}"
        );
        assert!(
            found.covered >= 0.8 && found.probes < 22.0,
            "{disturbed}: {found:?}"
        );
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn many_searches_are_as_near_and_as_sure_as_in_the_simulation_that_chose_the_rule() {
    for (disturbed, burst, most_off, most_probes) in [
        (0.0, 1, 0.01, 16.0),
        (0.1, 1, 0.015, 19.0),
        (0.2, 3, 0.06, 25.0),
    ] {
        let found = simulate(200, disturbed, burst);
        println!("{disturbed} disturbed, bursts of {burst}: {found:?}");
        assert!(
            found.bias.abs() < 0.015 && found.off <= most_off,
            "{disturbed}: {found:?}"
        );
        assert!(
            found.covered >= 0.92 && found.probes <= most_probes,
            "{disturbed}: {found:?}"
        );
    }
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
fn queue(rate_per_s: f64, random: &mut u64) -> TrialRecord {
    let (mut due_s, mut free_s) = (0.0, 0.0_f64);
    let (mut times_ns, mut backlog) = (Vec::new(), 0);
    loop {
        due_s -= (1.0 - uniform(random)).ln() / rate_per_s;
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
    open_loop(rate_per_s, TRIAL_S, backlog, &times_ns)
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

/// Searches the capacity of the queue as `trueput capacity` does.
fn capacity_of_queue(settings: &CapacitySettings, random: &mut u64) -> Capacity {
    let first = closed_loop(1.0 / SERVICE_S);
    let closed = first.spec.clone();
    let question = CapacityQuestion {
        settings,
        needed_per_s: None,
    };
    let mut search = CapacitySearch::new(vec![&closed], question, f64::MAX, f64::MAX);
    let mut trials = vec![first];
    while let Proposal::Trials(specs) = search.next(&trials, 0.0) {
        for spec in specs {
            let rate_per_s = spec.conditions.rate.unwrap().per_s;
            let trial = queue(rate_per_s, random);
            trials.push(TrialRecord { spec, ..trial });
        }
    }
    capacity(&closed, settings, &trials)
}

#[test]
fn the_capacity_of_a_queue_agrees_with_its_theory() {
    let mut random = 1;
    let limits = [("p99<3ms", 0.003), ("p99<5ms", 0.005), ("p99<10ms", 0.01)];
    let errors = limits.map(|(limit, limit_s)| {
        let found = capacity_of_queue(&settings(limit), &mut random);
        assert_eq!(found.state, CapacityState::Confirmed, "{limit}");
        found.capacity_per_s.unwrap() / theory_per_s(limit_s) - 1.0
    });
    assert!(errors.iter().all(|it| it.abs() <= 0.05), "{errors:?}");
    let bias = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(bias.abs() <= 0.03, "{errors:?}");
}

#[test]
fn a_contender_that_is_killed_at_every_rate_is_given_up_after_three() {
    let killed = |rate_per_s| {
        let mut trial = result(rate_per_s, true);
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
    assert_eq!(retry_rate_per_s(&found), None);
    // One that is measured in between is searched to its end.
    let (mut trials, mut steady) = (0, step(8_000.0));
    let found = search(&settings, 10_000.0, |rate_per_s| {
        trials += 1;
        match trials {
            1 | 2 => killed(rate_per_s),
            _ => steady(rate_per_s),
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
    let stalled = |rate_per_s| {
        let mut trial = result(rate_per_s, true);
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
    let found = search(&settings, 1e5, |rate_per_s| {
        let mut trial = stalled(rate_per_s);
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
    assert_eq!(next_rate_per_s(&found, None), None);
    assert_eq!(retry_rate_per_s(&found), None);
}

#[test]
fn a_trial_lasts_until_the_percentile_has_requests_beyond_it() {
    let objective: Objective = "p50<1ms,p99<5ms".parse().unwrap();
    assert_eq!(trial_duration_s(1_000.0, 5.0, &objective), 5.0);
    assert_eq!(trial_duration_s(100.0, 5.0, &objective), 10.0);
    assert_eq!(trial_duration_s(1.0, 5.0, &objective), 30.0);
    assert_eq!(trial_duration_s(1e6, 0.5, &objective), 0.5);
}
