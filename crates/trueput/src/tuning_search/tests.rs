//! The course of a search on simulated engines.

use super::*;
use crate::tuning_space::tests::first;
use jiff::Timestamp;
use std::collections::BTreeSet;
use trueput_findings::tuning::tuning;
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::search::{SearchSettings, TuningLimits, TuningScore, TuningStrategy};
use trueput_record::{FORMAT_VERSION, HostFacts, Value};

const TRIALS: u32 = 160;

fn settings() -> TuningSettings {
    TuningSettings {
        score: TuningScore::Rate,
        limits: TuningLimits::default(),
        trials: TRIALS,
        seed: 1,
        budget_s: 1e6,
        presets: Vec::new(),
        searched: Vec::new(),
        strategy: TuningStrategy::default(),
    }
}

/// The run of a search whose first trial this is.
pub fn manifest(first: &TrialSpec, search: SearchSettings) -> RunManifest {
    RunManifest {
        format: FORMAT_VERSION,
        name: String::new(),
        about: String::new(),
        started_at: String::new(),
        host: HostFacts {
            memory_bytes: 8 << 30,
            ..HostFacts::default()
        },
        headlines: [(first.workload.clone(), "op".to_owned())].into(),
        changed_settings: Default::default(),
        changed_knobs: Default::default(),
        byte_knobs: Default::default(),
        costs: Default::default(),
        work: None,
        until: None,
        include_assertions: false,
        split_by: None,
        objective: None,
        search: Some(search),
        trials: vec![first.clone()],
        skipped: Vec::new(),
    }
}

/// A trial on an engine on which two knobs matter, and how much is left to `gain`.
fn simulated(spec: TrialSpec, number: usize, gain: f64) -> TrialRecord {
    let integer = |name: &str| match spec.knobs.get(name) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    };
    let is_large = |name: &str, from: i64| i32::from(integer(name) > from);
    let good = is_large("cache_size", 4 << 20) + is_large("mmap_size", 0);
    // A noise of a few per cent.
    let noise = 1.0 + 0.02 * (number as f64 * 12.9898).sin();
    let operation = OperationSummary {
        kind: "op".to_owned(),
        count: 1_000,
        per_s: 1_000.0 * gain.powi(good) * noise,
        ..OperationSummary::default()
    };
    ended(
        spec,
        Measurement {
            operations: vec![operation],
            ..Measurement::default()
        },
    )
}

/// A valid trial that has ended.
pub fn ended(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
    TrialRecord {
        format: FORMAT_VERSION,
        spec,
        outcome: TrialOutcome::Valid,
        resumed: false,
        started_at: String::new(),
        file_system: None,
        log_file_system: None,
        storage: None,
        engine: None,
        conformance: None,
        isolation_check: None,
        audit: None,
        hardware_limits: None,
        load: None,
        measurement: Some(measurement),
        verification: None,
    }
}

fn run(gain: f64) -> (Vec<TrialRecord>, RunManifest) {
    run_of_trials(gain, None)
}

/// A search in which each trial takes this part of what was estimated; `None` if the records do not
/// tell it.
fn run_of_trials(gain: f64, part: Option<f64>) -> (Vec<TrialRecord>, RunManifest) {
    let mut first = first(&[]);
    first.role = Some(TrialRole {
        contender: 0,
        purpose: TrialPurpose::Tuning,
        configuration: Some(0),
    });
    let manifest = manifest(&first, SearchSettings::Tuning(settings()));
    let (settings, registry) = (settings(), crate::registry());
    let mut search = TuningSearch::new(settings, first.clone(), &manifest, &registry).unwrap();
    let trial_s = estimated_s(&first);
    let timed = |spec: TrialSpec, number: usize| {
        let mut trial = simulated(spec, number, gain);
        let start_ms = part.map(|part| (number as f64 * part * trial_s * 1e3) as i64);
        let start = start_ms.map(|start_ms| Timestamp::from_millisecond(start_ms).unwrap());
        trial.started_at = start.map_or_else(String::new, |start| start.to_string());
        trial
    };
    let mut ended = vec![timed(first, 0)];
    loop {
        let next = search.next(&ended);
        if next.is_empty() {
            assert_eq!(search.end(), SearchEnd::NothingLeft);
            return (ended, manifest);
        }
        for spec in next {
            ended.push(timed(spec, ended.len()));
        }
    }
}

#[test]
fn as_many_trials_run_as_the_time_suffices_for() {
    for part in [0.5, 2.0] {
        let (ended, manifest) = run_of_trials(1.5, Some(part));
        let expected = f64::from(TRIALS) / part;
        let off = ended.len() as f64 / expected - 1.0;
        assert!(off.abs() < 0.1, "{part}: {} of {expected}", ended.len());
        // A search that is resumed has the same plan.
        for count in [3, 30, ended.len() / 2, ended.len()] {
            let (first, registry) = (ended[0].spec.clone(), crate::registry());
            let mut again = TuningSearch::new(settings(), first, &manifest, &registry).unwrap();
            let next = again.next(&ended[..count]);
            let next = next.first().map(|spec| &spec.id);
            assert_eq!(next, ended.get(count).map(|trial| &trial.spec.id));
        }
    }
}

#[test]
fn a_search_says_whether_it_ended_for_lack_of_time_also_when_it_is_resumed() {
    let (ended, manifest) = run(1.5);
    let (first, registry) = (ended[0].spec.clone(), crate::registry());
    let end = |budget_s: f64, count: usize| {
        let settings = TuningSettings {
            budget_s,
            ..settings()
        };
        let mut search = TuningSearch::new(settings, first.clone(), &manifest, &registry).unwrap();
        let next = search.next(&ended[..count]);
        next.is_empty().then(|| search.end())
    };
    let all = settings().budget_s;
    assert_eq!(end(all, ended.len()), Some(SearchEnd::NothingLeft));
    assert_eq!(end(all, ended.len() - 1), None);
    assert_eq!(end(0.0, ended.len() - 1), Some(SearchEnd::TimeUp));
    assert_eq!(end(0.0, 20), Some(SearchEnd::TimeUp));
}

#[test]
fn the_ablation_of_a_winner_shows_which_knobs_gain() {
    let (ended, manifest) = run(1.5);
    assert!(ended.len() <= TRIALS as usize, "{}", ended.len());
    let found = tuning(&manifest, &ended).unwrap();
    assert!(found.better().is_some());
    let winner = found.winner.unwrap() as usize;
    let changes = &found.configurations[winner].changes;
    for gain in &found.ablation {
        let factor = gain.factor.unwrap();
        if ["cache_size", "mmap_size"].contains(&gain.knob.as_str()) {
            assert!((1.4..1.6).contains(&factor), "{gain:?}");
        } else {
            assert!((0.95..1.05).contains(&factor), "{gain:?}");
        }
        assert!(changes.contains_key(&gain.knob));
        assert!(gain.comparison.ratio.is_some(), "three rounds or more");
    }
    let known: Vec<_> = found.ablation.iter().map(|gain| &gain.knob).collect();
    assert!(known.len() > 1, "{known:?}");
    let cells = ended.iter().map(|it| (it.spec.cell, it.spec.repeat));
    assert_eq!(cells.collect::<BTreeSet<_>>().len(), ended.len());
}

#[test]
fn a_winner_that_is_claimed_but_not_accepted_is_not_recommended() {
    let (mut ended, manifest) = run(1.5);
    let purpose = |trial: &TrialRecord| trial.spec.role.unwrap().purpose;
    let is_acceptance = |trial: &TrialRecord| purpose(trial) == TrialPurpose::Acceptance;
    let place = ended.iter().position(is_acceptance).unwrap();
    assert_eq!(ended.iter().filter(|it| is_acceptance(it)).count(), 1);
    ended.truncate(place + 1);
    assert!(tuning(&manifest, &ended).unwrap().better().is_some());
    ended[place].outcome = TrialOutcome::Failed {
        reason: "conformance".to_owned(),
        bad_input: false,
    };
    let found = tuning(&manifest, &ended).unwrap();
    assert_eq!(found.holdout_failures, ["conformance"]);
    assert!(found.better().is_none());
    let (first, registry) = (manifest.trials[0].clone(), crate::registry());
    let mut search = TuningSearch::new(settings(), first, &manifest, &registry).unwrap();
    assert!(search.next(&ended).is_empty());
}

#[test]
fn nothing_is_ablated_if_no_winner_was_claimed() {
    let (ended, manifest) = run(1.0);
    let found = tuning(&manifest, &ended).unwrap();
    assert!(found.better().is_none());
    assert!(found.ablation.is_empty());
}
