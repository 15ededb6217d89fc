//! Choices on simulated contenders, which are resumed after each of their steps.

use super::*;
use crate::samples::{manifest, record, spec, sqlite};
use jiff::Timestamp;
use std::collections::BTreeSet;
use trueput_findings::capacity::CapacityState;
use trueput_findings::choice::RUN_OFF_PAIRS;
use trueput_record::Value;
use trueput_record::conditions::Arrival;
use trueput_record::measurement::{
    LatencySummary, Measurement, OpenLoop, OperationSummary, ResponseSummary,
};
use trueput_record::search::{CapacitySettings, TuningLimits, TuningScore, TuningStrategy};
use trueput_record::trial_time::OVERHEAD_S;

/// The duration of a trial.
const ELAPSED_S: f64 = 5.0;

fn settings() -> ChoiceSettings {
    ChoiceSettings {
        capacity: CapacitySettings {
            objective: "p99<5ms".parse().unwrap(),
            precision: 0.1,
            budget_s: 400.0,
            arrival: Arrival::Constant,
            limits: TuningLimits::default(),
            fitted_caches: Vec::new(),
        },
        tuning: Some(TuningSettings {
            score: TuningScore::Rate,
            limits: TuningLimits::default(),
            trials: MIN_TUNING_TRIALS,
            seed: 1,
            budget_s: 1_000.0,
            presets: Vec::new(),
            searched: Vec::new(),
            strategy: TuningStrategy::Model,
        }),
        untunable: Vec::new(),
        presets: Vec::new(),
        needed_per_s: None,
        budget_s: 1_000.0,
    }
}

fn question(settings: &CapacitySettings) -> CapacityQuestion<'_> {
    CapacityQuestion {
        settings,
        needed_per_s: None,
    }
}

fn closed_loop() -> TrialSpec {
    contender(0)
}

/// The trial in closed loop of a contender.
fn contender(contender: u32) -> TrialSpec {
    let mut spec = spec(&[]);
    spec.id = format!("{contender:04}");
    spec.cell = contender;
    spec.role = Some(TrialRole {
        contender,
        purpose: TrialPurpose::ClosedLoop,
        configuration: None,
    });
    spec
}

/// A trial on an engine that does 1,000 operations a second, three times as many with a large
/// cache, and keeps the objective up to nine tenths of that.
fn ended(spec: TrialSpec) -> TrialRecord {
    ended_of(spec, 1_000.0)
}

/// A trial on an engine that does so many operations a second.
fn ended_of(spec: TrialSpec, default_per_s: f64) -> TrialRecord {
    let cache = spec.knobs.get("cache_size");
    let is_large = matches!(cache, Some(Value::Integer(bytes)) if *bytes > 4 << 20);
    let per_s = default_per_s * if is_large { 3.0 } else { 1.0 };
    let operation = OperationSummary {
        kind: "op".to_owned(),
        count: 1_000,
        per_s,
        ..OperationSummary::default()
    };
    let open_loop = spec.conditions.rate.map(|rate| OpenLoop {
        rate_per_s: rate.per_s,
        issued: (rate.per_s * ELAPSED_S) as u64,
        responses: vec![ResponseSummary {
            kind: "op".to_owned(),
            count: 1_000,
            latency: LatencySummary {
                p99_ns: if rate.per_s > per_s * 0.9 {
                    9_000_000
                } else {
                    1_000_000
                },
                ..LatencySummary::default()
            },
        }],
        ..OpenLoop::default()
    });
    record(
        spec,
        Measurement {
            elapsed_s: ELAPSED_S,
            operations: vec![operation],
            open_loop,
            ..Measurement::default()
        },
    )
}

/// Runs a choice to its end from these records, and checks that a search that is resumed after any
/// step goes on in the same way.
fn run(mut trials: Vec<TrialRecord>) -> (RunManifest, Vec<TrialRecord>) {
    let closed = closed_loop();
    let manifest = manifest(&[&closed], SearchSettings::Choice(settings()));
    let (settings, engines) = (settings(), [sqlite()]);
    let mut search = ChoiceSearch::new(&settings, &manifest, &engines);
    while let Proposal::Trials(next) = search.next(&trials, 0.0) {
        let mut resumed = ChoiceSearch::new(&settings, &manifest, &engines);
        let again = resumed.next(&trials, 0.0);
        assert_eq!(
            again,
            Proposal::Trials(next.clone()),
            "after {}",
            trials.len()
        );
        trials.extend(next.into_iter().map(ended));
    }
    drop(search);
    (manifest, trials)
}

#[test]
fn a_choice_finds_better_knobs_and_goes_on_alike_when_it_is_resumed() {
    let (manifest, trials) = run(vec![ended(closed_loop())]);
    let found = choice(&manifest, &trials).unwrap();
    let first = found.first().unwrap();
    let (default, best) = (first.default.capacity_per_s, first.best().capacity_per_s);
    assert!((850.0..=950.0).contains(&default.unwrap()), "{default:?}");
    assert!((2_550.0..=2_850.0).contains(&best.unwrap()), "{best:?}");
}

#[test]
fn a_contender_that_was_disturbed_is_searched_again_after_the_others() {
    let (settings, disturbed, mut other) = (settings().capacity, closed_loop(), closed_loop());
    other.role = other.role.map(|role| TrialRole {
        contender: 1,
        ..role
    });
    let mut trials = vec![ended(disturbed.clone()), ended(other.clone())];
    let mut search =
        CapacitySearch::new(vec![&disturbed, &other], question(&settings), 400.0, 400.0);
    while let Some(spec) = search.next_trials(&trials, 0.0).pop() {
        let is_of_other = trials
            .iter()
            .any(|trial| is_probe_of(&other, trial) && trial.spec.conditions.rate.is_some());
        let mut trial = ended(spec);
        // The disturbance lasts until the search for the first contender has ended.
        if is_probe_of(&disturbed, &trial) && !is_of_other {
            let open_loop = trial.measurement.as_mut().unwrap().open_loop.as_mut();
            open_loop.unwrap().responses[0].latency.p99_ns = 50_000_000;
        }
        trials.push(trial);
    }
    for closed in [&disturbed, &other] {
        let found = capacity(closed, &settings, &trials);
        assert_eq!(found.state, CapacityState::Confirmed, "{found:?}");
        let per_s = found.capacity_per_s.unwrap();
        assert!((800.0..=950.0).contains(&per_s), "{per_s}");
    }
}

#[test]
fn contenders_that_share_time_slices_are_searched_side_by_side_and_those_led_leave() {
    let settings = settings().capacity;
    let sliced = |number| {
        let mut spec = contender(number);
        spec.conditions.time_slice_s = Some(0.5);
        spec
    };
    let (fast, slow) = (sliced(0), sliced(1));
    let per_s = |spec: &TrialSpec| match spec.role.unwrap().contender {
        0 => 1_000.0,
        _ => 200.0,
    };
    let run = |spec: TrialSpec| {
        let per_s = per_s(&spec);
        ended_of(spec, per_s)
    };
    let search = || CapacitySearch::new(vec![&fast, &slow], question(&settings), 1e4, 1e4);
    let trials_of = |mut search: CapacitySearch<'_>| {
        let mut trials = vec![run(fast.clone()), run(slow.clone())];
        let mut rounds = Vec::new();
        loop {
            let next = search.next_trials(&trials, 0.0);
            if next.is_empty() {
                return (rounds, trials);
            }
            let ids: BTreeSet<_> = next.iter().map(|spec| spec.id.clone()).collect();
            assert_eq!(ids.len(), next.len(), "each has its own id");
            rounds.push(next.len());
            trials.extend(next.into_iter().map(run));
        }
    };
    let (rounds, trials) = trials_of(search());
    assert_eq!(rounds[..5], [2; 5]);
    for closed in [&fast, &slow] {
        let found = capacity(closed, &settings, &trials);
        assert_eq!(found.state, CapacityState::Confirmed, "{found:?}");
    }
    let (rounds, trials) = trials_of(search().for_the_best());
    assert_eq!((rounds[0], rounds.last()), (2, Some(&1)));
    assert_eq!(
        capacity(&fast, &settings, &trials).state,
        CapacityState::Confirmed
    );
    let led = capacity(&slow, &settings, &trials);
    assert_eq!(led.state, CapacityState::Unconfirmed);
    let estimate = led.estimate.unwrap();
    assert!(estimate.high_per_s < 900.0, "{estimate:?}");
}

#[test]
fn a_contender_that_keeps_the_objective_at_no_rate_is_looked_at_again_once() {
    let (settings, closed) = (settings().capacity, closed_loop());
    let mut trials = vec![ended(closed.clone())];
    let mut search = CapacitySearch::new(vec![&closed], question(&settings), 400.0, 400.0);
    while let Some(spec) = search.next_trials(&trials, 0.0).pop() {
        let mut trial = ended(spec);
        let open_loop = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        open_loop.unwrap().responses[0].latency.p99_ns = 50_000_000;
        trials.push(trial);
    }
    let rates: Vec<_> = trials
        .iter()
        .filter_map(|trial| trial.spec.conditions.rate)
        .collect();
    assert_eq!(rates.first().unwrap().per_s, 333.0);
    assert!(rates[rates.len() - 2].per_s < 4.0 && rates[rates.len() - 1].per_s == 300.0);
    let found = capacity(&closed, &settings, &trials);
    assert_eq!(found.state, CapacityState::NothingHolds);
}

#[test]
fn a_trial_takes_until_the_next_one_starts_unless_the_search_was_interrupted() {
    let mut trials = vec![ended(closed_loop()); 3];
    for (trial, at) in trials
        .iter_mut()
        .zip(["12:00:00", "12:00:05.5", "13:00:00"])
    {
        trial.started_at = format!("2026-11-26T{at}Z");
    }
    let estimated_s = ELAPSED_S + OVERHEAD_S;
    let found: Vec<_> = search_times_s(&trials).collect();
    assert_eq!(found, [5.5, estimated_s, estimated_s]);
}

#[test]
fn a_trial_is_expected_to_take_what_the_others_took_beside_their_duration() {
    let closed = closed_loop();
    let mut trials = vec![ended(closed.clone()); 4];
    let found_s = |trials: &[TrialRecord]| expected_s(&closed, trials);
    assert_eq!(found_s(&trials), ELAPSED_S + OVERHEAD_S);
    for (trial, at) in trials.iter_mut().zip(["00.0", "05.2", "10.4", "15.6"]) {
        trial.started_at = format!("2026-11-26T12:00:{at}Z");
    }
    assert!((found_s(&trials) - 5.2).abs() < 1e-6);
}

#[test]
fn a_choice_that_is_resumed_before_it_tunes_has_time_to_tune() {
    let mut settings = settings();
    let mut trials = vec![ended(closed_loop())];
    trials.extend(vec![trials[0].clone(); 200]);
    let spent_s: f64 = search_times_s(&trials).sum();
    assert!(spent_s > settings.budget_s, "the first session's time");
    settings.budget_s = 600.0;
    assert!(renew_tuning_time(&mut settings, &trials));
    let tuning = settings.tuning.clone().unwrap();
    let manifest = manifest(&[&closed_loop()], SearchSettings::Choice(settings.clone()));
    let search = ChoiceSearch::new(&settings, &manifest, &[]);
    let left_s = search.tuning_time_s(&tuning, &trials);
    assert!((539.0..541.0).contains(&left_s), "{left_s}");
    let mut tuned = trials[0].clone();
    tuned.spec.role = tuned.spec.role.map(|role| TrialRole {
        purpose: TrialPurpose::Tuning,
        ..role
    });
    trials.push(tuned);
    assert!(
        !renew_tuning_time(&mut settings, &trials),
        "its course would change"
    );
}

#[test]
fn the_time_that_tuning_leaves_confirms_a_capacity_without_a_change_to_the_tuning() {
    let (_, whole) = run(vec![ended(closed_loop())]);
    let is_tuning = |trial: &TrialRecord| is_of_tuning(trial);
    let begin = whole.iter().position(is_tuning).unwrap();
    // The time of the defaults was up after two trials, and tuning has begun.
    let cut = whole[..2].iter().chain(&whole[begin..=begin]).cloned();
    let (manifest, trials) = run(cut.collect());
    let later = trials.iter().skip_while(|trial| !is_of_tuning(trial));
    let of_default = |trial: &&TrialRecord| is_probe_of(&closed_loop(), trial);
    assert!(later.filter(of_default).count() > 5);
    let found = choice(&manifest, &trials).unwrap();
    let state = &found.first().unwrap().default.state;
    assert_eq!(*state, trueput_findings::capacity::CapacityState::Confirmed);
}

/// A choice among contenders with these rates, on a clock that moves on with each trial.
fn timed_choice(
    settings: &ChoiceSettings,
    rates_per_s: &[f64],
) -> (RunManifest, Vec<TrialRecord>, SearchEnd, f64) {
    let contenders: Vec<_> = (0..)
        .zip(rates_per_s)
        .map(|(it, _)| contender(it))
        .collect();
    timed_choice_among(settings, &contenders, rates_per_s)
}

fn timed_choice_among(
    settings: &ChoiceSettings,
    contenders: &[TrialSpec],
    rates_per_s: &[f64],
) -> (RunManifest, Vec<TrialRecord>, SearchEnd, f64) {
    let first: Vec<_> = contenders.iter().collect();
    let manifest = manifest(&first, SearchSettings::Choice(settings.clone()));
    let mut now_s = 0.0;
    let mut run = |spec: TrialSpec| {
        let per_s = rates_per_s[spec.role.unwrap().contender as usize];
        let mut trial = ended_of(spec, per_s);
        trial.started_at = Timestamp::from_millisecond((now_s * 1e3) as i64)
            .unwrap()
            .to_string();
        now_s += ELAPSED_S + 0.4;
        (trial, now_s)
    };
    let engines = [sqlite()];
    let mut search = ChoiceSearch::new(settings, &manifest, &engines);
    let (mut trials, mut elapsed_s) = (Vec::new(), 0.0);
    for spec in contenders {
        let (trial, ended_s) = run(spec.clone());
        trials.push(trial);
        elapsed_s = ended_s;
    }
    loop {
        match search.next(&trials, elapsed_s) {
            Proposal::End(end) => {
                drop(search);
                return (manifest, trials, end, elapsed_s);
            }
            Proposal::Trials(specs) => {
                for spec in specs {
                    let (trial, ended_s) = run(spec);
                    trials.push(trial);
                    elapsed_s = ended_s;
                }
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_best_of_several_contenders_is_tuned_first_and_meets_the_second_in_a_run_off() {
    let settings = ChoiceSettings {
        budget_s: 4_000.0,
        tuning: settings().tuning.map(|tuning| TuningSettings {
            budget_s: 4_000.0,
            ..tuning
        }),
        ..settings()
    };
    let (manifest, trials, _, elapsed_s) = timed_choice(&settings, &[400.0, 1_000.0, 700.0]);
    assert!(elapsed_s <= settings.budget_s, "{elapsed_s}");
    let found = choice(&manifest, &trials).unwrap();
    assert_eq!(found.recommended, Some(1));
    let run_off = found.run_off.unwrap();
    assert_eq!(
        (run_off.pairs, run_off.second_held),
        (RUN_OFF_PAIRS as usize, 0)
    );
    let tuned = trials.iter().filter(|trial| is_of_tuning(trial));
    let mut order: Vec<_> = tuned
        .map(|trial| trial.spec.role.unwrap().contender)
        .collect();
    order.dedup();
    assert_eq!(order, [1, 2, 0]);
    let cells = trials.iter().map(|it| (it.spec.cell, it.spec.repeat));
    assert_eq!(cells.collect::<BTreeSet<_>>().len(), trials.len());
}

#[test]
fn the_needed_rate_is_the_first_of_each_contender() {
    let settings = ChoiceSettings {
        needed_per_s: Some(700.0),
        tuning: None,
        budget_s: 4_000.0,
        ..settings()
    };
    let (_, trials, ..) = timed_choice(&settings, &[1_000.0, 600.0]);
    for contender in [0, 1] {
        let own = trials.iter().filter(|trial| {
            let role = trial.spec.role.unwrap();
            role.contender == contender && role.purpose == TrialPurpose::Probe
        });
        let rates: Vec<_> = own
            .map(|trial| trial.spec.conditions.rate.unwrap().per_s)
            .collect();
        let tried = rates.iter().take_while(|rate| **rate == 700.0).count();
        assert_eq!(
            tried,
            1 + contender as usize,
            "once more where it failed: {rates:?}"
        );
    }
}

#[test]
fn a_choice_that_is_short_of_time_leaves_some_for_the_run_off_and_says_so() {
    let settings = ChoiceSettings {
        budget_s: 260.0,
        tuning: None,
        ..settings()
    };
    let (manifest, trials, end, elapsed_s) = timed_choice(&settings, &[1_000.0, 900.0, 800.0]);
    assert_eq!(end, SearchEnd::TimeUp);
    assert!(elapsed_s <= settings.budget_s, "{elapsed_s}");
    let run_off = choice(&manifest, &trials).unwrap().run_off.unwrap();
    assert!(run_off.pairs >= 1, "{run_off:?}");
    let of_run_off = trials.iter().filter(|trial| is_of_run_off(trial));
    let begin = trials.len() - of_run_off.count();
    assert!(trials[begin..].iter().all(is_of_run_off), "it comes last");
}

#[test]
fn a_contender_that_another_one_leads_is_not_taken_up_again_when_time_is_left() {
    let settings = ChoiceSettings {
        budget_s: 4_000.0,
        tuning: None,
        ..settings()
    };
    let sliced = [0, 1, 2].map(|number| {
        let mut spec = contender(number);
        spec.conditions.time_slice_s = Some(0.5);
        spec
    });
    let rates_per_s = [1_000.0, 900.0, 200.0];
    let (manifest, trials, end, _) = timed_choice_among(&settings, &sliced, &rates_per_s);
    assert_eq!(end, SearchEnd::NothingLeft);
    let found = choice(&manifest, &trials).unwrap();
    let led = &found.candidates[2].default;
    assert_eq!(led.contender, 2);
    let by = sliced[0].contender();
    assert_eq!(led.state, CapacityState::Led { by });
    assert!(led.probes.len() < MIN_TRIALS as usize - 1, "{led:?}");
    // A resumed search tells nothing of what an earlier process did.
    let engines = [sqlite()];
    let mut resumed = CapacitySearch::new(
        sliced.iter().collect(),
        question(&settings.capacity),
        4_000.0,
        4_000.0,
    );
    assert_eq!(resumed.news_of(&trials), []);
    let mut resumed = ChoiceSearch::new(&settings, &manifest, &engines);
    resumed.next(&trials, 0.0);
    let is_probe = |news: &SearchNews| matches!(news, SearchNews::Probe { .. });
    assert!(!resumed.take_news().iter().any(is_probe));
}

#[test]
fn a_contender_below_a_quarter_of_the_best_is_not_tuned_and_time_for_it_is_not_missed() {
    let settings = ChoiceSettings {
        budget_s: 4_000.0,
        tuning: settings().tuning.map(|tuning| TuningSettings {
            budget_s: 4_000.0,
            ..tuning
        }),
        ..settings()
    };
    let (_, trials, end, _) = timed_choice(&settings, &[1_000.0, 700.0, 100.0]);
    let tuned = trials.iter().filter(|trial| is_of_tuning(trial));
    let tuned = tuned.map(|trial| trial.spec.role.unwrap().contender);
    assert_eq!(tuned.collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]));
    assert_eq!(end, SearchEnd::NothingLeft);
}

#[test]
fn time_slices_are_long_enough_for_rates_unless_the_plan_gives_their_length() {
    use crate::capacity::contenders;
    use trueput_record::conditions::TimeSlice;
    let mut spec = contender(0);
    spec.conditions.time_slice_s = Some(0.1);
    let slice_s = |planned| {
        contenders(vec![spec.clone()], planned)[0]
            .conditions
            .time_slice_s
    };
    assert_eq!(slice_s(TimeSlice::Auto), Some(0.5));
    assert_eq!(slice_s(TimeSlice::Length(0.1)), Some(0.1));
}

#[test]
fn the_end_of_a_choice_is_told_from_its_trials_when_it_is_resumed() {
    for (budget_s, expected) in [
        (200.0, SearchEnd::TimeUp),
        (4_000.0, SearchEnd::NothingLeft),
    ] {
        let settings = ChoiceSettings {
            budget_s,
            tuning: None,
            ..settings()
        };
        let (manifest, trials, end, elapsed_s) = timed_choice(&settings, &[1_000.0, 900.0, 800.0]);
        assert_eq!(end, expected, "{budget_s}");
        let engines = [sqlite()];
        let mut resumed = ChoiceSearch::new(&settings, &manifest, &engines);
        let next = resumed.next(&trials, elapsed_s.max(budget_s));
        assert_eq!(next, Proposal::End(expected), "{budget_s}");
    }
}
