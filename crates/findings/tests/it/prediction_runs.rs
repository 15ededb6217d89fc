//! Predictions from made-up runs whose law and costs are known.

use crate::support::run_of;
use trueput_findings::compare::{Selector, Side};
use trueput_findings::prediction::{
    CheckKind, FollowerStep, Prediction, PredictionRequest, predict, steady_state,
};
use trueput_record::load_generator::LoadGenerator;
use trueput_record::testing::scaling::{WORKERS, law, one_node, trial};
use trueput_record::{TrialRecord, Value};

/// Three nodes whose commits wait for a flush of one follower, without a delay and with one.
fn three_nodes(delay_us: u32) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for delay_us in [0, delay_us] {
        for workers in WORKERS {
            // Two commits for each operation, each with one round trip.
            let delay_s = 2.0 * 2.0 * f64::from(delay_us) * 1e-6;
            let state = steady_state(workers, delay_s, law, 32.0);
            let mut trial = trial(trials.len(), workers, state.per_s);
            let knobs = [
                ("nodes", Value::Integer(3)),
                ("synchronous_standbys", Value::Integer(1)),
                ("cluster_commit", Value::from("by-level")),
                ("network_delay", Value::Integer(i64::from(delay_us))),
            ];
            let knobs = knobs.map(|(name, value)| (name.to_owned(), value));
            trial.spec.knobs.extend(knobs);
            trials.push(trial);
        }
    }
    trials
}

fn side(trials: Vec<TrialRecord>) -> Side {
    Side::new("results/RUN", run_of(trials), Selector::default()).unwrap()
}

fn predicted(trials: Vec<TrialRecord>, request: &PredictionRequest) -> Prediction {
    predict(&side(trials), request).unwrap()
}

/// Asserts that there is no prediction, and that one line says why.
#[track_caller]
fn refused(trials: Vec<TrialRecord>, request: &PredictionRequest, parts: &[&str]) {
    let reason = predict(&side(trials), request).unwrap_err().to_string();
    assert!(!reason.contains('\n'), "{reason}");
    for part in parts {
        assert!(reason.contains(part), "'{part}' is not in: {reason}");
    }
}

#[track_caller]
fn near(found: f64, expected: f64, part: f64) {
    let error = found / expected - 1.0;
    assert!(error.abs() < part, "{found}, not {expected}");
}

fn clients(clients: u32) -> PredictionRequest {
    PredictionRequest {
        clients: vec![clients],
        ..PredictionRequest::default()
    }
}

#[test]
fn the_law_is_found_back_and_predicts_more_clients() {
    let prediction = predicted(one_node(), &clients(64));
    near(prediction.law.lambda.value, 2_000.0, 1e-4);
    near(prediction.law.sigma.value, 0.05, 1e-3);
    near(prediction.law.kappa.value, 0.001, 1e-3);
    let answer = prediction.answer().unwrap();
    near(answer.per_s, law(64.0), 1e-3);
    near(answer.response_s, 64.0 / law(64.0), 1e-3);
    let errors = prediction.errors(CheckKind::LeftOut).unwrap();
    assert_eq!(errors.cells, WORKERS.len());
    assert!(errors.worst < 0.001, "{errors:?}");
}

#[test]
fn cells_above_the_limit_of_the_fit_check_it() {
    let request = PredictionRequest {
        fit_to: Some(8),
        ..PredictionRequest::default()
    };
    let mut trials = one_node();
    // The last cell does half of what the law says.
    let slow = law(32.0) / 2.0;
    trials[5] = trial(5, 32, slow);
    let prediction = predicted(trials, &request);
    assert_eq!(prediction.answer().unwrap().clients, 8);
    let errors = prediction.errors(CheckKind::MoreWorkers).unwrap();
    assert_eq!(errors.cells, 2);
    near(errors.worst, 1.0, 0.01);
    let last = prediction.checks.iter().find(|check| check.clients == 32);
    assert_eq!(last.unwrap().is_in_interval, Some(false));
}

#[test]
fn scatter_of_the_rates_widens_the_interval() {
    let width = |scatter: f64| {
        let mut trials = one_node();
        for (index, trial) in trials.iter_mut().enumerate() {
            let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
            let rate = law(f64::from(trial.spec.workers)) * (1.0 + sign * scatter);
            *trial = self::trial(index, trial.spec.workers, rate);
        }
        let prediction = predicted(trials, &clients(16));
        let (low, high) = prediction.answer().unwrap().interval_per_s.unwrap();
        assert!(low < law(16.0) * 1.001 && law(16.0) < high * 1.001);
        high / low
    };
    let widths = [0.0, 0.01, 0.05].map(width);
    assert!(widths[0] < 1.001 && widths[0] < widths[1] && widths[1] < widths[2]);
    assert!(widths[1] > 1.02, "{widths:?}");
}

#[test]
fn rates_far_from_any_law_give_an_interval_that_says_nothing() {
    let mut trials = one_node();
    for (index, factor) in [1.0, 3.0, 0.3, 2.0, 0.5, 1.0].into_iter().enumerate() {
        let workers = trials[index].spec.workers;
        trials[index] = trial(index, workers, law(f64::from(workers)) * factor);
    }
    let factor = |trials| {
        let prediction = predicted(trials, &clients(64));
        let (low, high) = prediction.answer().unwrap().interval_per_s.unwrap();
        high / low
    };
    assert!(factor(trials) > 10.0);
    assert!(factor(one_node()) < 1.01);
}

#[test]
fn a_delay_of_the_network_is_predicted_from_cells_without_one() {
    let request = PredictionRequest {
        network_delays_s: vec![0.002],
        ..clients(64)
    };
    let prediction = predicted(three_nodes(2_000), &request);
    let errors = prediction.errors(CheckKind::OtherDelay).unwrap();
    assert_eq!(errors.cells, WORKERS.len());
    assert!(errors.worst < 0.001, "{errors:?}");
    let answer = prediction.answer().unwrap();
    let expected = steady_state(64, 0.008, law, 32.0);
    near(answer.per_s, expected.per_s, 1e-3);
    near(answer.added_wait.network_s, 0.004, 1e-9);
}

#[test]
fn more_delay_lowers_the_rate_less_the_more_clients_there_are() {
    let request = PredictionRequest {
        clients: vec![1, 8, 64, 512],
        network_delays_s: vec![0.0, 0.001, 0.01],
        nodes: vec![3],
        ..PredictionRequest::default()
    };
    let points = predicted(three_nodes(2_000), &request).points;
    assert_eq!(points.len(), 12);
    let rate = |delay: usize, clients: usize| points[4 * delay + clients].per_s;
    let loss = |clients: usize| rate(2, clients) / rate(0, clients);
    assert!(loss(0) < loss(1) && loss(1) < loss(2), "{points:?}");
    // With one client at a time the round trips are all that is added.
    near(1.0 / rate(1, 0) - 1.0 / rate(0, 0), 0.004, 1e-3);
}

#[test]
fn a_single_node_becomes_a_cluster_by_terms_that_are_measured_or_given() {
    let request = PredictionRequest {
        nodes: vec![3],
        network_delays_s: vec![0.000_5],
        ..clients(1)
    };
    let wait =
        |request: &PredictionRequest| predicted(one_node(), request).answer().unwrap().added_wait;
    let measured = wait(&request);
    near(measured.network_s, 0.001, 1e-9);
    // The fastest of two flushes takes less than the mean of 800 µs, both together more.
    assert!(measured.flush_s > 0.0 && measured.flush_s < 0.000_8);
    let both = PredictionRequest {
        followers: Some(2),
        ..request.clone()
    };
    near(wait(&both).flush_s + measured.flush_s, 2.0 * 0.000_8, 1e-3);
    let applied = PredictionRequest {
        step: Some(FollowerStep::RemoteApply),
        follower_flush_s: Some(0.002),
        follower_apply_s: Some(0.000_3),
        ..request.clone()
    };
    near(wait(&applied).flush_s, measured.flush_s * 2.0 / 0.8, 1e-6);
    near(wait(&applied).apply_s, 0.000_3, 1e-9);
    let local = PredictionRequest {
        step: Some(FollowerStep::Local),
        ..request.clone()
    };
    assert_eq!(wait(&local).total_s(), 0.0);
    assert_eq!(predicted(one_node(), &request).measured.nodes, 1);
}

#[test]
fn a_wait_that_the_law_contains_is_not_taken_out_of_it() {
    let request = PredictionRequest {
        step: Some(FollowerStep::RemoteWrite),
        ..clients(4)
    };
    let prediction = predicted(three_nodes(2_000), &request);
    assert!(prediction.answer().unwrap().is_lower_bound);
    near(prediction.answer().unwrap().per_s, law(4.0), 1e-3);
}

#[test]
fn what_cannot_be_predicted_is_refused_in_one_line() {
    let few = one_node().into_iter().take(3).collect();
    refused(
        few,
        &PredictionRequest::default(),
        &[
            "3 different numbers of workers",
            "; run: trueput run",
            "--workers 1,2,4,8",
        ],
    );

    let mut mixed = one_node();
    mixed[0].spec.engine = "redb".to_owned();
    refused(
        mixed,
        &PredictionRequest::default(),
        &["lmdb sync threen1; redb sync threen1"],
    );

    let mut open = one_node();
    for trial in &mut open {
        let measured = trial.measurement.as_mut().unwrap();
        measured.open_loop = Some(Default::default());
    }
    refused(
        open,
        &PredictionRequest::default(),
        &["no valid trial of a closed loop"],
    );

    let alone = |request: &PredictionRequest, part| refused(one_node(), request, &[part]);
    let delayed = PredictionRequest {
        network_delays_s: vec![0.001],
        ..PredictionRequest::default()
    };
    alone(&delayed, "--nodes 3");
    let many = PredictionRequest {
        nodes: vec![3],
        followers: Some(3),
        ..PredictionRequest::default()
    };
    alone(&many, "3 nodes have 2 followers");
    let none = PredictionRequest {
        fit_to: Some(0),
        ..PredictionRequest::default()
    };
    alone(&none, "the fewest workers that were measured are 1");
}

#[test]
fn a_term_that_is_not_known_leads_to_the_option_or_the_run_that_gives_it() {
    let three = PredictionRequest {
        nodes: vec![3],
        network_delays_s: vec![0.001],
        ..PredictionRequest::default()
    };
    let mut unknown = one_node();
    unknown
        .iter_mut()
        .for_each(|trial| trial.hardware_limits = None);
    refused(unknown, &three, &["--follower-flush 1ms"]);
    let mut uncounted = one_node();
    for trial in &mut uncounted {
        trial.measurement.as_mut().unwrap().commits = None;
    }
    refused(uncounted, &three, &["does not count its commits"]);

    let only_delayed = three_nodes(2_000).into_iter().skip(WORKERS.len()).collect();
    let shorter = PredictionRequest {
        network_delays_s: vec![0.001],
        ..PredictionRequest::default()
    };
    refused(only_delayed, &shorter, &["delay of 2000 µs"]);
}

#[test]
fn of_a_mix_the_time_is_that_of_an_operation_of_any_kind() {
    let mut trials = one_node();
    for trial in &mut trials {
        let operations = &mut trial.measurement.as_mut().unwrap().operations;
        let mut read = operations[0].clone();
        read.kind = "read".to_owned();
        read.count *= 3;
        read.per_s *= 3.0;
        // Clients are the sum of rate times latency.
        operations[0].latency.mean_ns = f64::from(trial.spec.workers) / 7.0 / operations[0].per_s;
        operations[0].latency.mean_ns *= 4e9;
        read.latency.mean_ns = f64::from(trial.spec.workers) / 7.0 / read.per_s * 3e9;
        operations.insert(0, read);
    }
    let prediction = predicted(trials, &clients(16));
    near(prediction.operation_share, 0.25, 1e-9);
    let answer = prediction.answer().unwrap();
    near(answer.per_s, law(16.0), 1e-3);
    near(answer.response_s, 16.0 / 4.0 / law(16.0), 1e-3);
    for check in &prediction.checks {
        near(
            check.predicted_response_s,
            check.measured_latency_s.unwrap(),
            1e-3,
        );
    }
}

#[test]
fn of_a_server_by_its_address_only_other_clients_are_predicted() {
    let mut trials = one_node();
    for trial in &mut trials {
        trial.spec.engine = "etcd".to_owned();
        trial.spec.build = Some("http://a:2379".into());
    }
    assert_eq!(predicted(trials.clone(), &clients(16)).shared_cores, None);
    let three = PredictionRequest {
        nodes: vec![3],
        ..PredictionRequest::default()
    };
    refused(
        trials,
        &three,
        &["the nodes behind the address of etcd are not known"],
    );
}

#[test]
fn trials_that_a_host_may_have_limited_are_named() {
    let mut trials = one_node();
    for trial in &mut trials {
        let host = LoadGenerator {
            cpu_share: Some(0.95),
            ..LoadGenerator::default()
        };
        trial.measurement.as_mut().unwrap().load_generators = vec![host];
    }
    let prediction = predicted(trials, &clients(16));
    assert_eq!(prediction.host_limited_trials, 6);
}
