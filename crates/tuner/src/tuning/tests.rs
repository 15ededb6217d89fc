//! The course of a search on simulated engines.

use super::*;
use crate::samples::{manifest, record, spec, sqlite};
use jiff::Timestamp;
use std::collections::BTreeSet;
use trueput_findings::tuning::tuning;
use trueput_record::Value;
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::search::{SearchEnd, SearchSettings, TuningScore, TuningStrategy};

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
    record(
        spec,
        Measurement {
            operations: vec![operation],
            ..Measurement::default()
        },
    )
}

fn run(gain: f64) -> (Vec<TrialRecord>, RunManifest) {
    run_of_trials(gain, None)
}

/// A search in which each trial takes this part of what was estimated; `None` if the records do not
/// tell it.
fn run_of_trials(gain: f64, part: Option<f64>) -> (Vec<TrialRecord>, RunManifest) {
    let mut first = spec(&[]);
    first.role = Some(TrialRole {
        contender: 0,
        purpose: TrialPurpose::Tuning,
        configuration: Some(0),
    });
    let manifest = manifest(&[&first], SearchSettings::Tuning(settings()));
    let mut search = search(settings(), &manifest);
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
        match search.next(&ended, 0.0) {
            Proposal::End(end) => {
                assert_eq!(end, SearchEnd::NothingLeft);
                drop(search);
                return (ended, manifest);
            }
            Proposal::Trials(specs) => {
                for spec in specs {
                    ended.push(timed(spec, ended.len()));
                }
            }
        }
    }
}

/// The search of a run, from its beginning.
fn search(settings: TuningSettings, manifest: &RunManifest) -> TuningSearch<'_> {
    let first = manifest.trials[0].clone();
    TuningSearch::new(settings, first, manifest, sqlite(), 0.0).unwrap()
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
            let next = match search(settings(), &manifest).next(&ended[..count], 0.0) {
                Proposal::Trials(specs) => specs.into_iter().next(),
                Proposal::End(_) => None,
            };
            assert_eq!(next.as_ref(), ended.get(count).map(|trial| &trial.spec));
        }
    }
}

#[test]
fn a_search_says_whether_it_ended_for_lack_of_time_also_when_it_is_resumed() {
    let (ended, manifest) = run(1.5);
    let end = |budget_s: f64, count: usize| {
        let settings = TuningSettings {
            budget_s,
            ..settings()
        };
        match search(settings, &manifest).next(&ended[..count], 0.0) {
            Proposal::Trials(_) => None,
            Proposal::End(end) => Some(end),
        }
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
    let next = search(settings(), &manifest).next(&ended, 0.0);
    assert_eq!(next, Proposal::End(SearchEnd::NothingLeft));
}

#[test]
fn nothing_is_ablated_if_no_winner_was_claimed() {
    let (ended, manifest) = run(1.0);
    let found = tuning(&manifest, &ended).unwrap();
    assert!(found.better().is_none());
    assert!(found.ablation.is_empty());
}
