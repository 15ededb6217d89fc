use super::*;
use crate::error::Refusal;
use crate::space::Restrictions;
use trueput_record::parameter::{DefaultValue, Parameter, ValueKind};

fn space(fence: crate::space::Fence) -> Space {
    let parameter = |name, kind| Parameter {
        name,
        summary: "",
        cost: "",
        kind,
        unit: "",
    };
    let share = ValueKind::Fraction {
        default: DefaultValue::Value(0.1),
        min: 0.0,
        max: 1.0,
    };
    let flush = ValueKind::Boolean { default: true };
    let parameters = [parameter("share", share), parameter("flush", flush)];
    Space::new(&parameters, &Restrictions::default(), fence).unwrap()
}

fn open() -> Space {
    space(Box::new(|_| Ok(())))
}

fn plan(trials: usize, presets: Vec<Preset>) -> SearchPlan {
    SearchPlan {
        seed: 5,
        trials,
        strategy: TuningStrategy::Model,
        presets,
    }
}

fn preset(name: &str, settings: &[(&str, trueput_record::Value)]) -> Preset {
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Preset {
        name: name.to_owned(),
        settings: settings.collect(),
    }
}

/// A score without noise: the higher the share, the better.
fn score(search: &Rounds, entry: &Entry) -> Outcome {
    let settings = &search.configuration(entry.configuration).unwrap().settings;
    let point = search.space().point(settings);
    Outcome::Score(100.0 * (1.0 + point[0]))
}

fn outcomes(search: &Rounds, round: &Round) -> Vec<Outcome> {
    round
        .entries
        .iter()
        .map(|entry| score(search, entry))
        .collect()
}

fn failure(reason: &str) -> Outcome {
    Outcome::Failure(Failure {
        kind: FailureKind::Crash,
        reason: reason.to_owned(),
        score: None,
    })
}

/// Runs a search to its end and calls `check` before each round is recorded.
fn run(search: &mut Rounds, mut check: impl FnMut(&Rounds, &Round)) {
    while let Some(round) = search.next_round() {
        check(search, &round);
        let outcomes = outcomes(search, &round);
        search.record_round(outcomes).unwrap();
    }
}

#[test]
fn default_and_incumbent_are_in_every_round_and_a_quarter_of_the_trials_is_left() {
    let mut search = Rounds::new(open(), plan(80, Vec::new())).unwrap();
    run(&mut search, |search, round| {
        let count = |id| {
            round
                .entries
                .iter()
                .filter(|entry| entry.configuration == id)
                .count()
        };
        assert_eq!(count(ConfigurationId::DEFAULT), 1);
        assert_eq!(count(search.incumbent().configuration), 1);
    });
    assert!(
        (20..24).contains(&search.holdout_trials()),
        "{}",
        search.holdout_trials()
    );
    let incumbent = search.incumbent();
    assert!(incumbent.factor > 1.4, "{incumbent:?}");
    assert!(incumbent.interval.unwrap().low > 1.4);
}

#[test]
fn an_incumbent_is_repeated_and_as_often_as_the_one_before_it() {
    let mut search = Rounds::new(open(), plan(200, Vec::new())).unwrap();
    let mut before = search.incumbent();
    run(&mut search, |search, _| {
        let incumbent = search.incumbent();
        let is_default = incumbent.configuration == ConfigurationId::DEFAULT;
        assert!(is_default || incumbent.repeats >= 2);
        assert!(incumbent.repeats >= before.repeats.min(4));
        before = incumbent;
    });
}

#[test]
fn recorded_outcomes_lead_to_the_same_next_round() {
    let mut whole = Rounds::new(open(), plan(80, Vec::new())).unwrap();
    let mut recorded = Vec::new();
    while let Some(round) = whole.next_round() {
        assert_eq!(
            whole.next_round().as_ref(),
            Some(&round),
            "until it is recorded"
        );
        let mut resumed = Rounds::new(open(), plan(80, Vec::new())).unwrap();
        for (round, outcomes) in &recorded {
            assert_eq!(resumed.next_round().as_ref(), Some(round));
            resumed.record_round(Clone::clone(outcomes)).unwrap();
        }
        assert_eq!(resumed.next_round().as_ref(), Some(&round));
        assert_eq!(resumed.configurations(), whole.configurations());
        let outcomes = outcomes(&whole, &round);
        whole.record_round(outcomes.clone()).unwrap();
        recorded.push((round, outcomes));
    }
    assert!(recorded.len() > 6);
}

#[test]
fn what_the_fence_refuses_is_never_proposed() {
    let fence = |settings: &Settings| {
        if settings.contains_key("flush") {
            Err(Refusal::WiderWindow)
        } else {
            Ok(())
        }
    };
    let unsafe_preset = preset("fast", &[("flush", false.into())]);
    for strategy in [
        TuningStrategy::Model,
        TuningStrategy::Random,
        TuningStrategy::OneAtATime,
    ] {
        let plan = SearchPlan {
            strategy,
            ..plan(100, vec![unsafe_preset.clone()])
        };
        let mut search = Rounds::new(space(Box::new(fence)), plan).unwrap();
        run(&mut search, |_, _| {});
        let all = search.configurations();
        assert!(all.len() > 10 && all.iter().all(|one| !one.settings.contains_key("flush")));
    }
}

#[test]
fn a_failure_is_kept_with_its_reason_and_never_repeated() {
    let mut search = Rounds::new(open(), plan(80, Vec::new())).unwrap();
    let mut failed = Vec::new();
    while let Some(round) = search.next_round() {
        let outcome = |entry: &Entry| {
            assert!(!failed.contains(&entry.configuration), "it failed before");
            let is_high = search
                .space()
                .point(&search.configuration(entry.configuration).unwrap().settings)[0]
                > 0.7;
            if is_high {
                failure("no memory left")
            } else {
                score(&search, entry)
            }
        };
        let outcomes: Vec<_> = round.entries.iter().map(outcome).collect();
        let pairs = round.entries.iter().zip(&outcomes);
        let of_round = pairs.filter(|(_, outcome)| matches!(outcome, Outcome::Failure(_)));
        failed.extend(of_round.map(|(entry, _)| entry.configuration));
        search.record_round(outcomes).unwrap();
    }
    assert!(!failed.is_empty());
    for id in failed {
        let one = search.configuration(id).unwrap();
        assert_eq!(
            (one.fate, one.failures[0].reason.as_str()),
            (Fate::Failed, "no memory left")
        );
    }
}

#[test]
fn scores_of_a_round_without_the_default_do_not_count() {
    let mut search = Rounds::new(open(), plan(40, Vec::new())).unwrap();
    let round = search.next_round().unwrap();
    let outcome = |entry: &Entry| match entry.configuration {
        ConfigurationId::DEFAULT => failure("neighbor"),
        _ => score(&search, entry),
    };
    let outcomes = round.entries.iter().map(outcome).collect();
    search.record_round(outcomes).unwrap();
    assert!(
        search
            .configurations()
            .iter()
            .all(|one| search.estimate(one.id).is_none())
    );
    let again = search.next_round().unwrap();
    assert!(
        round
            .entries
            .iter()
            .all(|entry| again.entries.contains(entry))
    );
}

#[test]
fn a_search_ends_when_the_default_fails_three_times_in_a_row() {
    let mut search = Rounds::new(open(), plan(200, Vec::new())).unwrap();
    let mut rounds = 0;
    while let Some(round) = search.next_round() {
        let outcome = |entry: &Entry| match entry.configuration {
            ConfigurationId::DEFAULT if rounds != 1 => failure("neighbor"),
            _ => score(&search, entry),
        };
        let outcomes = round.entries.iter().map(outcome).collect();
        search.record_round(outcomes).unwrap();
        rounds += 1;
    }
    assert_eq!(rounds, 5, "the second round starts the count again");
}

#[test]
fn a_default_that_breaks_a_constraint_is_compared_with_and_never_the_incumbent() {
    let mut search = Rounds::new(open(), plan(80, Vec::new())).unwrap();
    while let Some(round) = search.next_round() {
        // The lower the share, the better; what is below 0.2 takes too much memory.
        let outcome = |entry: &Entry| {
            let settings = &search.configuration(entry.configuration).unwrap().settings;
            let share = search.space().point(settings)[0];
            match 2.0 - share {
                score if share >= 0.2 => Outcome::Score(score),
                score => Outcome::Failure(Failure {
                    kind: FailureKind::Constraint,
                    reason: "too much memory".to_owned(),
                    score: Some(score),
                }),
            }
        };
        let outcomes = round.entries.iter().map(outcome).collect();
        search.record_round(outcomes).unwrap();
    }
    let best = search.incumbent();
    let winner = search.configuration(best.configuration).unwrap();
    let share = search.space().point(&winner.settings)[0];
    assert!((0.2..0.5).contains(&share), "{share}");
    // The default has a share of 0.1.
    let expected = (2.0 - share) / 1.9;
    assert!((best.factor - expected).abs() < 1e-9 && best.factor < 1.0);
    assert_eq!(search.winner(), Some(best.configuration));
}

#[test]
fn the_best_challenger_is_in_the_holdout_if_nothing_is_better_than_the_default() {
    let mut search = Rounds::new(open(), plan(80, Vec::new())).unwrap();
    while let Some(round) = search.next_round() {
        let outcome = |entry: &Entry| match entry.configuration {
            ConfigurationId::DEFAULT => Outcome::Score(205.0),
            _ => score(&search, entry),
        };
        let outcomes = round.entries.iter().map(outcome).collect();
        search.record_round(outcomes).unwrap();
    }
    assert_eq!(search.incumbent().configuration, ConfigurationId::DEFAULT);
    let winner = search.winner().unwrap();
    assert_ne!(winner, ConfigurationId::DEFAULT);
    let factor = search.estimate(winner).unwrap().factor.estimate;
    let repeated = search.configurations().iter().filter_map(|one| {
        let estimate = search.estimate(one.id).filter(|it| it.repeats > 1)?;
        (one.id != ConfigurationId::DEFAULT).then_some(estimate.factor.estimate)
    });
    assert_eq!(repeated.fold(0.0, f64::max), factor);
}

#[test]
fn bad_input_is_refused_and_leaves_the_round_pending() {
    let refusal = |trials, presets| Rounds::new(open(), plan(trials, presets)).unwrap_err();
    let few = RoundsError::FewTrials {
        trials: 23,
        least: 24,
    };
    assert_eq!(refusal(23, Vec::new()), few);
    let unknown = vec![preset("guide", &[("shares", 0.5.into())])];
    let said = refusal(60, unknown).to_string();
    assert!(said.contains("preset 'guide': the search has no setting 'shares'"));
    let closed = space(Box::new(|_| Err(Refusal::Cluster)));
    let refused = Rounds::new(closed, plan(60, Vec::new())).unwrap_err();
    assert_eq!(refused, RoundsError::Default(Refusal::Cluster));
    let mut search = Rounds::new(open(), plan(60, Vec::new())).unwrap();
    let refused = search.record_round(Vec::new());
    assert_eq!(refused, Err(RoundsError::NoRound));
    let round = search.next_round().unwrap();
    let other_count = RoundsError::OutcomeCount {
        round: 0,
        trials: 7,
        outcomes: 0,
    };
    assert_eq!(search.record_round(Vec::new()), Err(other_count));
    let zero = vec![Outcome::Score(0.0); 7];
    assert_eq!(search.record_round(zero), Err(RoundsError::Score(0.0)));
    assert_eq!(search.next_round(), Some(round));
}

#[test]
fn names_in_records_are_kebab_case() {
    let names = serde_json::json!([Purpose::OneAtATime, Fate::Dropped, failure("why")]);
    let failure = r#"{"failure":{"kind":"crash","reason":"why"}}"#;
    assert_eq!(
        names.to_string(),
        format!(r#"["one-at-a-time","dropped",{failure}]"#)
    );
}
