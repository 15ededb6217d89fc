//! Rankings of open loops that were all asked for one rate.

use crate::support::{self, run_of, texts, verdicts};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, RankingVerdict, RowVerdict};
use trueput_findings::compare::{Selector, Side, SideComparison, compare_sides};
use trueput_findings::knob_effects::knob_effects;
use trueput_findings::rankings::{Ranking, rankings};
use trueput_findings::repeats::widest;
use trueput_findings::scaling::series;
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::testing::open_loop::{
    contest, offered, repeats, slow_commits, trial, with_commits,
};
use trueput_record::{TrialRecord, Value};

#[test]
fn who_kept_the_rate_is_ordered_by_response_time_and_who_did_not_comes_last() {
    let run = run_of(contest());
    assert_eq!(order(&run), ["lmdb", "sqlite", "redb"]);
    let rows = &Answer::of(&run).rankings[0].rows;
    assert_eq!(rows[0].verdict, RowVerdict::Leader);
    assert_eq!(rows[1].verdict, RowVerdict::Slower);
    assert_eq!(rows[2].verdict, RowVerdict::RateNotKept);
    let slow = run_of(slow_commits());
    assert_eq!(
        order(&slow),
        ["lmdb", "redb", "sqlite"],
        "by the slowest kind"
    );
}

#[test]
fn a_closed_loop_among_open_ones_is_ranked_by_rate() {
    let mut run = run_of(contest());
    run.trials[0].measurement.as_mut().unwrap().open_loop = None;
    assert_eq!(order(&run)[0], "sqlite", "its rate is the highest");
    let found = rankings(&run.manifest, &run.trials);
    assert!(found[0].cells.iter().all(|cell| cell.at_rate.is_none()));
}

fn order(report: &Run) -> Vec<String> {
    let found = rankings(&report.manifest, &report.trials);
    let cells = found.iter().flat_map(|ranking| &ranking.cells);
    cells.map(|cell| cell.contender.clone()).collect()
}

#[test]
fn response_times_that_differ_by_less_than_a_claim_are_the_same() {
    let steady = [100_000, 100_010, 99_990, 100_000, 100_020];
    let with = |cell: u32, engine: &str, thousandths: u64| -> Vec<TrialRecord> {
        let times = (1..).zip(steady);
        times
            .map(|(repeat, time)| trial(cell, engine, repeat, time * thousandths / 1_000, 0))
            .collect()
    };
    let by = |thousandths: u64| {
        let both = [with(0, "lmdb", 1_000), with(1, "sqlite", thousandths)];
        verdicts(&run_of(both.concat()))
    };
    assert_eq!(by(1_005), [RankingVerdict::SameWithin]);
    // The control: a twentieth is claimed.
    assert_eq!(by(1_050), [RankingVerdict::Leader]);
}

#[test]
fn too_few_response_times_are_no_order() {
    for repeats in [1, 2] {
        let trials = (1..=repeats).flat_map(|repeat| {
            [
                trial(0, "sqlite", repeat, 1_150, 0),
                trial(1, "lmdb", repeat, 105, 0),
            ]
        });
        let found = verdicts(&run_of(trials.collect()));
        assert_eq!(found, [RankingVerdict::TooFewRepeats]);
    }
}

#[test]
fn each_offered_rate_and_the_closed_loop_has_a_ranking_of_its_own() {
    let trials = [
        offered(2_000.0, &[(0, "lmdb", 400), (1, "sqlite", 300)]),
        offered(500.0, &[(2, "lmdb", 100), (3, "sqlite", 200)]),
        offered(0.0, &[(4, "lmdb", 100), (5, "sqlite", 200)]),
    ];
    let report = run_of(trials.concat());
    let found = rankings(&report.manifest, &report.trials);
    let of = |ranking: &Ranking| {
        let cells = ranking.cells.iter();
        let names: Vec<_> = cells.map(|cell| cell.contender.clone()).collect();
        (ranking.rate_per_s, names.join(" "))
    };
    let expected = [
        (None, "sqlite lmdb"),
        (Some(500.0), "lmdb sqlite"),
        (Some(2_000.0), "sqlite lmdb"),
    ];
    let expected = expected.map(|(rate_per_s, names)| (rate_per_s, names.to_owned()));
    assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
    // The two that were asked for less are not points of a law of scaling.
    assert_eq!(series(&found).len(), 0);
}

#[test]
fn what_was_measured_at_two_rates_or_with_other_faults_is_not_compared() {
    let trials = [
        offered(2_000.0, &[(0, "lmdb", 400)]),
        offered(500.0, &[(1, "lmdb", 100)]),
    ];
    let run = run_of(trials.concat());
    let side = |rate: &str| {
        let selector = Selector::parse(&format!("lmdb,rate={rate}")).unwrap();
        Side::new(rate, run.clone(), selector).unwrap()
    };
    let refused = compare_sides(&side("500/s"), &[side("2000/s")]);
    let message = refused.err().map(|error| error.to_string());
    let message = message.unwrap_or_default();
    assert!(message.contains("rate is 500/s in the first and 2000/s in the second"));
    let mut faulty = run_of(contest());
    for trial in &mut faulty.trials[..5] {
        trial.spec.conditions.faults = "1s:kill=leader".parse().unwrap();
    }
    let found = rankings(&faulty.manifest, &faulty.trials);
    let sizes: Vec<_> = found.iter().map(|one| one.cells.len()).collect();
    assert_eq!(
        sizes,
        [1, 2],
        "who lost its leader has a ranking of its own"
    );
}

#[test]
fn a_kind_with_few_units_is_shown_and_is_not_the_worst_unless_all_are_few() {
    let mut few = run_of(slow_commits());
    let mut set = |of_kind: &dyn Fn(&str) -> u64| {
        for trial in &mut few.trials {
            let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
            for response in &mut open.unwrap().responses {
                response.count = of_kind(&response.kind);
            }
        }
        let found = rankings(&few.manifest, &few.trials);
        let sqlite = found[0]
            .cells
            .iter()
            .find(|cell| cell.contender == "sqlite");
        let at_rate = sqlite.unwrap().at_rate.clone().unwrap();
        (at_rate.worst_kind, at_rate.responses.len())
    };
    let of =
        |update: u64, commit: u64| move |kind: &str| if kind == "commit" { commit } else { update };
    assert_eq!(set(&of(100, 99)), ("update".to_owned(), 2));
    assert_eq!(set(&of(100, 100)), ("commit".to_owned(), 2));
    assert_eq!(set(&of(9, 5)), ("commit".to_owned(), 2));
}

#[test]
fn a_repeat_with_a_few_units_less_does_not_excuse_one_contender_from_slow_commits() {
    let mut report = run_of(slow_commits());
    for trial in &mut report.trials {
        let short = trial.spec.engine == "sqlite" && trial.spec.repeat == 1;
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        for response in &mut open.unwrap().responses {
            response.count = if short { 99 } else { 101 };
        }
    }
    // sqlite's commits are the slowest of all.
    assert_eq!(order(&report), ["lmdb", "redb", "sqlite"]);
    let found = rankings(&report.manifest, &report.trials);
    let last = found[0].cells[2].at_rate.clone().unwrap();
    assert_eq!(last.worst_kind, "commit");
}

/// A comparison of a contender of one report with one of another.
fn beside(first: (&Run, &str), second: (&Run, &str)) -> Vec<SideComparison> {
    let side = |label: &str, (report, words): (&Run, &str)| {
        let mut report = report.clone();
        report.shown_as = label.into();
        Side::new(label, report, Selector::parse(words).unwrap()).unwrap()
    };
    compare_sides(&side("a", first), &[side("b", second)]).unwrap()
}

#[test]
fn open_loops_are_compared_by_the_response_time_that_is_worst() {
    let report = run_of(slow_commits());
    // sqlite's rate is the lowest of all by a hair, and its updates are the fastest.
    let compared = beside((&report, "lmdb"), (&report, "sqlite"));
    let result = &compared[0].results[0];
    let ratio = result.comparison.ratio.unwrap();
    assert!((70.0..73.0).contains(&ratio.estimate), "{ratio:?}");
    assert_eq!(result.slower_by(0.03), Some(true));
    assert!(result.looks_slower_by(0.03, 1));
    assert_eq!(result.undetected_loss(0.03), None);
    let back = beside((&report, "sqlite"), (&report, "lmdb"));
    let result = &back[0].results[0];
    assert_eq!(result.slower_by(0.03), Some(false));
    assert!(!result.looks_slower_by(0.03, 1));
    assert_eq!(result.undetected_loss(0.03), None);
}

#[test]
fn a_gate_cannot_tell_wherever_the_interval_holds_a_larger_fall() {
    // In pairs, 1.5 % slower, and from 3.7 % slower to 0.7 % faster at 99 %.
    let falls = [-0.028_54, -0.021_77, -0.015, -0.008_23, -0.001_46_f64];
    let fallen = falls.map(|fall| 1_000.0 * fall.exp());
    let report = support::contest(&[("lmdb", &[1_000.0; 5]), ("redb", &fallen)]);
    let compared = beside((&report, "lmdb"), (&report, "redb"));
    let result = &compared[0].results[0];
    let smallest = result.comparison.smallest_ratio.unwrap() - 1.0;
    assert!(smallest < 0.03, "{smallest}");
    assert!(!result.looks_slower_by(0.03, 1));
    let held = result.undetected_loss(0.03).unwrap();
    assert!((0.035..0.039).contains(&held), "{held}");
    assert_eq!(result.undetected_loss(0.04), None);
}

#[test]
fn a_gate_of_open_loops_sees_noise_and_a_rate_that_was_lost() {
    let calm = run_of(slow_commits());
    let mut wild = run_of(slow_commits());
    for (trial, factor) in wild
        .trials
        .iter_mut()
        .zip([1, 3, 2, 9, 4].into_iter().cycle())
    {
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        for response in &mut open.unwrap().responses {
            response.latency.p99_ns *= factor;
        }
    }
    let unsure = beside((&wild, "lmdb"), (&wild, "lmdb"));
    let result = &unsure[0].results[0];
    assert_eq!(result.slower_by(0.03), Some(false));
    assert!(result.undetected_loss(0.03).unwrap() > 0.5);
    let late = run_of(with_commits(repeats(1, "lmdb", 105, 40_000), 700));
    let lost = beside((&calm, "lmdb"), (&late, "lmdb"));
    let broken = texts(&lost[0].results[0].second_broken);
    assert_eq!(broken, ["lmdb did not keep the rate of 5,000/s"]);
    assert!(lost[0].results[0].responses.is_none());
    let kept = beside((&late, "lmdb"), (&calm, "lmdb"));
    assert!(kept[0].results[0].second_broken.is_empty());
}

#[test]
fn repeats_of_open_loops_go_on_until_response_times_are_known() {
    let mut report = run_of(slow_commits());
    let (width, _) = widest(&report.manifest, &report.trials).unwrap();
    assert!(width < 0.01, "{width}");
    let times = [1, 3, 2, 9, 4].into_iter().cycle();
    for (trial, factor) in report.trials.iter_mut().zip(times) {
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        if trial.spec.engine == "redb" {
            open.unwrap().responses[0].latency.p99_ns *= factor;
        }
    }
    let (width, whose) = widest(&report.manifest, &report.trials).unwrap();
    assert!(width > 0.5 && whose.contains("redb"), "{width} {whose}");
}

/// One knob at two values in each of two rankings, one of 100 and one of 200 keys, each at one of
/// these rates, and the parameters that tell the two effects apart.
fn knob_effects_at(rates_per_s: [f64; 2]) -> Vec<Vec<(String, String)>> {
    let rankings_given = rates_per_s.into_iter().zip([100, 200]);
    let cells = rankings_given.flat_map(|ranking| [(ranking, 1), (ranking, 2)]);
    let trials = (0..).zip(cells).map(|(cell, ((per_s, keys), readers))| {
        let mut trial = trial(cell, "lmdb", 1, 100, 0);
        let arrival = Arrival::Constant;
        trial.spec.conditions.rate = Some(Rate { per_s, arrival });
        trial
            .spec
            .settings
            .insert("keys".to_owned(), Value::Integer(keys));
        trial
            .spec
            .knobs
            .insert("readers".to_owned(), Value::Integer(readers));
        let measured = trial.measurement.as_mut().unwrap();
        measured.open_loop.as_mut().unwrap().rate_per_s = per_s;
        trial
    });
    let run = run_of(trials.collect());
    let effects = knob_effects(&run, &rankings(&run.manifest, &run.trials));
    effects
        .into_iter()
        .map(|effect| effect.distinction)
        .collect()
}

#[test]
fn equal_knob_effects_at_rates_that_print_alike_state_what_differs() {
    let differing = |keys: &str, rate: &str| {
        [("keys", keys), ("rate", rate)].map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert_eq!(
        knob_effects_at([12.31, 12.34]),
        [differing("100", "12.31/s"), differing("200", "12.34/s")]
    );
    // The control: the headings of these two rankings differ.
    assert_eq!(knob_effects_at([12.0, 14.0]), [vec![], vec![]]);
}
