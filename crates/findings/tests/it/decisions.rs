//! How the rankings of runs stand that go on until these are decided.

use crate::support::{run_of, verdicts};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, NextStep, RankingVerdict};
use trueput_findings::compare::{Selector, Side, compare_sides};
use trueput_findings::decision::RankingDecision;
use trueput_findings::statistics::StandingKind::{self, Failed, Leader, Led, Open};
use trueput_findings::statistics::{Disturbance, InconclusiveReason, Verdict};
use trueput_record::accounting::OtherPrograms;
use trueput_record::search::{DecisionSettings, SearchEnd, SearchSettings};
use trueput_record::testing::{invalid, repeats, spec, with_stall};
use trueput_record::{Durability, TrialRecord};

/// Rates that scatter by a hundredth around one.
const STEADY: [f64; 8] = [1.0, 0.99, 1.012, 0.995, 1.004, 0.992, 1.008, 1.001];

/// Rates that scatter by a fiftieth around one, and those of another contender in the same repeats.
const NOISY: [[f64; 5]; 2] = [[1.0, 0.98, 1.02, 0.99, 1.01], [1.0, 1.02, 0.98, 1.01, 0.99]];

/// Repeats of a contender around a rate.
fn around(cell: u32, engine: &str, per_s: f64, parts: &[f64]) -> Vec<TrialRecord> {
    let rates: Vec<_> = parts.iter().map(|part| per_s * part).collect();
    repeats(cell, engine, Durability::Sync, &rates)
}

/// Two trials that do not count, after so many repeats.
fn failures(cell: u32, engine: &str, after: u32) -> [TrialRecord; 2] {
    let at = |repeat| spec(cell, engine, Durability::Sync, after + repeat);
    [1, 2].map(|repeat| invalid(at(repeat), 9_000.0, "a debug build"))
}

/// A run that decides with these trials, each repeat 10 s after the one before.
fn deciding(mut trials: Vec<TrialRecord>) -> Run {
    for trial in &mut trials {
        trial.started_at = format!(
            "2026-11-21T20:{:02}:{:02}Z",
            trial.spec.repeat / 6,
            trial.spec.repeat % 6 * 10
        );
    }
    let mut run = run_of(trials);
    run.manifest.search = Some(SearchSettings::Decision(DecisionSettings {
        equal_within: 0.05,
        max_repeats: DecisionSettings::MAX_REPEATS,
        early_look: Some(DecisionSettings::EARLY_LOOK),
        budget_s: None,
    }));
    run
}

fn decision(run: &Run) -> RankingDecision {
    Answer::of(run).rankings[0].decision.clone().unwrap()
}

/// The contenders of a ranking in its order, each with how it stands and its rank.
fn standings(run: &Run) -> Vec<(String, StandingKind, Option<usize>)> {
    let ranking = &Answer::of(run).rankings[0];
    let contenders = ranking.decision.iter().flat_map(|it| &it.contenders);
    let both = contenders.zip(&ranking.rows);
    both.map(|(contender, row)| {
        assert_eq!(contender.contender, row.contender);
        (row.contender.clone(), contender.kind, row.rank)
    })
    .collect()
}

#[test]
fn the_leader_is_first_and_who_failed_is_last_without_a_rank_or_a_share() {
    let mut trials = around(0, "redb", 9_000.0, &STEADY[..2]);
    trials.extend(failures(0, "redb", 2));
    trials.extend(around(1, "sqlite", 1_000.0, &STEADY[..5]));
    trials.extend(around(2, "lmdb", 2_000.0, &STEADY[..5]));
    let run = deciding(trials);
    let named = |name: &str, kind, rank| (name.to_owned(), kind, rank);
    assert_eq!(
        standings(&run),
        [
            named("lmdb", Leader, Some(1)),
            named("sqlite", Led, Some(2)),
            named("redb", Failed, None)
        ]
    );
    let ranking = &Answer::of(&run).rankings[0];
    assert_eq!(ranking.verdict, RankingVerdict::Leader);
    assert!(ranking.rows[2].of_leader.is_none());
    let share = ranking.rows[1].of_leader.unwrap().estimate;
    assert!((0.48..0.52).contains(&share), "{share}");
}

#[test]
fn a_share_is_of_the_leader_also_before_a_look_and_if_the_fastest_failed() {
    let mut trials = around(0, "redb", 9_000.0, &STEADY[..1]);
    trials.extend(failures(0, "redb", 1));
    trials.extend(around(1, "sqlite", 1_000.0, &STEADY[..3]));
    trials.extend(around(2, "lmdb", 2_000.0, &STEADY[..3]));
    let answer = Answer::of(&deciding(trials));
    let rows = &answer.rankings[0].rows;
    let of_leader = |engine: &str| {
        let row = rows.iter().find(|it| it.contender == engine).unwrap();
        row.of_leader.map(|it| it.estimate)
    };
    assert_eq!((&*rows[0].contender, of_leader("lmdb")), ("lmdb", None));
    let share = of_leader("sqlite").unwrap();
    assert!((0.48..0.52).contains(&share), "{rows:?}");
}

#[test]
fn a_repeat_in_which_a_part_of_a_trial_stood_still_does_not_count_and_fails_nobody() {
    let mut trials = around(0, "lmdb", 2_000.0, &STEADY);
    trials.extend(around(1, "sqlite", 1_000.0, &STEADY));
    for place in [1, 2] {
        trials[place] = with_stall(trials[place].clone());
    }
    let decision = decision(&deciding(trials));
    let [lmdb, sqlite] = &decision.contenders[..] else {
        panic!("{decision:?}");
    };
    assert_eq!((lmdb.kind, sqlite.kind), (Leader, Led));
    assert_eq!(sqlite.repeats, 4);
}

#[test]
fn nobody_leads_where_all_others_failed() {
    let mut trials = around(0, "lmdb", 2_000.0, &STEADY[..4]);
    trials.extend(around(1, "sqlite", 1_000.0, &STEADY[..2]));
    trials.extend(failures(1, "sqlite", 2));
    let run = deciding(trials);
    assert_eq!(verdicts(&run), [RankingVerdict::Undecided]);
    let decision = decision(&run);
    assert_eq!((decision.is_decided, decision.next_look), (false, None));
    assert!(decision.contenders.iter().all(|it| !it.runs_on));
}

#[test]
fn the_measured_time_is_that_of_the_repeats_that_were_compared() {
    let mut trials = around(0, "lmdb", 2_000.0, &STEADY[..5]);
    trials.extend(around(1, "sqlite", 1_000.0, &STEADY[..5]));
    trials[1] = invalid(trials[1].spec.clone(), 1.0, "a read went wrong");
    let elapsed_s = |trial: &TrialRecord| trial.measurement.as_ref().unwrap().elapsed_s;
    let own = trials.iter().filter(|trial| trial.spec.engine == "sqlite");
    let counted = own.filter(|trial| trial.spec.repeat != 2);
    let expected_s: f64 = counted.map(elapsed_s).sum();
    let decision = decision(&deciding(trials));
    let sqlite = &decision.contenders[1];
    assert_eq!((sqlite.kind, sqlite.repeats), (Led, 4));
    assert!((sqlite.measured_s - expected_s).abs() < 1e-9);
}

#[test]
fn further_time_lasts_to_the_next_look_at_least() {
    let mut trials = around(0, "lmdb", 1_000.0, &NOISY[0]);
    trials.extend(around(1, "redb", 970.0, &NOISY[1]));
    let mut run = deciding(trials);
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    let before = decision(&run);
    assert_eq!((before.repeats, before.next_look), (5, Some(6)));
    let open = &before.contenders[1];
    assert_eq!(open.kind, Open);
    let more_s = open.more_s.unwrap();
    assert!(more_s >= 10.0 && more_s % 10.0 == 0.0, "{more_s}");
    let steps = Answer::of(&run).next_steps;
    assert!(matches!(steps[..], [NextStep::Decide { more_s: Some(it), .. }] if it == more_s));
    // It has the rule already, and needs more time than it had.
    let minutes = format!("{}m", (1.25 * more_s / 60.0).ceil());
    assert!(
        steps[0]
            .command()
            .ends_with(&["--within".to_owned(), minutes])
    );
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TrialLimit);
    assert!(Answer::of(&run).next_steps.is_empty());
}

#[test]
fn the_further_time_is_that_of_all_rankings_that_are_open() {
    let both = [Durability::Sync, Durability::Process].into_iter().zip(0..);
    let trials = both.flat_map(|(durability, ranking)| {
        let rates = |per_s: f64, parts: &[f64]| -> Vec<f64> {
            parts.iter().map(|part| per_s * part).collect()
        };
        let mut two = repeats(2 * ranking, "lmdb", durability, &rates(1_000.0, &NOISY[0]));
        let redb = rates(970.0, &NOISY[1]);
        two.extend(repeats(2 * ranking + 1, "redb", durability, &redb));
        two
    });
    let mut run = deciding(trials.collect());
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    let answer = Answer::of(&run);
    let each = answer
        .rankings
        .iter()
        .map(|it| it.decision.as_ref().unwrap());
    let each: Vec<_> = each.map(|it| it.more_s().unwrap()).collect();
    assert_eq!(each.len(), 2);
    let sum: f64 = each.iter().sum();
    let steps = &answer.next_steps;
    assert!(matches!(steps[..], [NextStep::Decide { more_s: Some(it), .. }] if it == sum));
}

#[test]
fn a_run_whose_time_was_up_after_one_repeat_goes_on_with_more() {
    let mut trials = around(0, "lmdb", 1_000.0, &STEADY[..1]);
    trials.extend(around(1, "redb", 970.0, &STEADY[..1]));
    let mut run = deciding(trials);
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    let steps = Answer::of(&run).next_steps;
    assert!(matches!(steps[..], [NextStep::Decide { more_s: None, .. }]));
    let words = steps[0].command();
    assert!(words.contains(&"--within".to_owned()), "{words:?}");
    assert_ne!(words.last().unwrap(), "0m");
}

#[test]
fn a_comparison_of_a_leader_is_that_of_the_run_and_leaves_out_what_the_run_does() {
    let mut trials = around(0, "lmdb", 2_000.0, &STEADY[..5]);
    trials.extend(around(
        1,
        "sqlite",
        1_000.0,
        &[1.0, 20.0, 1.012, 0.995, 1.004],
    ));
    // Others disturb the second repeat, in which sqlite seems twenty times as fast.
    for trial in trials.iter_mut().filter(|trial| trial.spec.repeat == 2) {
        let measured = trial.measurement.as_mut().unwrap();
        measured.neighbors = Some(OtherPrograms {
            cpu_s: measured.elapsed_s,
            kernel_s: Some(0.0),
            steal_s: 0.0,
        });
    }
    let run = deciding(trials);
    let ratio = decision(&run).contenders[1].ratio.unwrap();
    let of = |engine: &str| {
        let selector = Selector::parse(engine).unwrap();
        Side::new(engine, run.clone(), selector).unwrap()
    };
    let between = |first, second| compare_sides(&of(first), &[of(second)]).unwrap().remove(0);
    let slower = between("lmdb", "sqlite").results.remove(0);
    assert_eq!(slower.first_per_s.len(), 4);
    assert_eq!(slower.comparison.verdict, Verdict::Slower);
    assert_eq!(slower.comparison.ratio, Some(ratio.inverted()));
    let faster = between("sqlite", "lmdb").results.remove(0);
    assert_eq!(faster.comparison.verdict, Verdict::Faster);
    let back = faster.comparison.ratio.unwrap();
    assert!((back.estimate - ratio.estimate).abs() < 1e-12);
    // Its spread is no reason to ignore a verdict that has an interval.
    let disturbances = Answer::of(&run).disturbances;
    assert!(matches!(
        disturbances[..],
        [Disturbance::OtherPrograms { .. }]
    ));
}

#[test]
fn a_comparison_of_equals_says_what_the_run_says() {
    let mut trials = around(0, "lmdb", 1_000.0, &STEADY);
    let reversed: Vec<_> = STEADY.iter().rev().copied().collect();
    trials.extend(around(1, "redb", 980.0, &reversed));
    let run = deciding(trials);
    let kind = decision(&run).contenders[1].kind;
    let of = |engine: &str| {
        let selector = Selector::parse(engine).unwrap();
        Side::new(engine, run.clone(), selector).unwrap()
    };
    let compared = compare_sides(&of("lmdb"), &[of("redb")]).unwrap().remove(0);
    assert_eq!(kind, StandingKind::Equal);
    let reason = compared.results[0].inconclusive;
    assert_eq!(reason, Some(InconclusiveReason::Equal));
}

#[test]
fn a_share_goes_by_way_of_a_former_leader() {
    // lmdb leads sqlite after four repeats; then redb is ahead of lmdb.
    let mut trials = around(0, "lmdb", 1_000.0, &[1.3, 1.2, 1.3, 1.2, 0.8, 0.7]);
    trials.extend(around(1, "redb", 1_000.0, &[1.0, 1.1, 1.0, 1.1, 1.3, 1.4]));
    trials.extend(around(2, "sqlite", 100.0, &STEADY[..4]));
    let decision = decision(&deciding(trials));
    let [redb, lmdb, sqlite] = &decision.contenders[..] else {
        panic!("{decision:?}");
    };
    assert_eq!((redb.kind, sqlite.kind), (Leader, Led));
    assert_eq!(sqlite.against.as_deref(), Some("lmdb"));
    assert_eq!((redb.of_leader, sqlite.repeats), (Some(1.0), 4));
    let through = lmdb.of_leader.unwrap() / sqlite.ratio.unwrap().estimate;
    assert!((sqlite.of_leader.unwrap() - through).abs() < 1e-12);
}

#[test]
fn a_run_with_as_many_repeats_as_a_decision_may_take_does_not_suggest_to_decide() {
    let suggests = |repeats: usize| {
        let parts = NOISY.map(|parts| parts.repeat(repeats / parts.len()));
        let mut trials = around(0, "lmdb", 1_000.0, &parts[0]);
        trials.extend(around(1, "redb", 998.0, &parts[1]));
        let steps = Answer::of(&run_of(trials)).next_steps;
        let is_decision = |step: &NextStep| matches!(step, NextStep::Decide { .. });
        steps.iter().any(is_decision)
    };
    assert!(suggests(55));
    assert!(!suggests(60));
}
