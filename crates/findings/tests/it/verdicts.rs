//! The verdict on a ranking: no more is claimed than the rule for differences allows, however many
//! results are read together.

use crate::support::{contest, run_of, verdicts};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, RankingVerdict};
use trueput_findings::knob_effects::knob_effects;
use trueput_findings::marks::{MarkKind, marks_of};
use trueput_findings::rankings::rankings;
use trueput_findings::statistics::Verdict;
use trueput_record::testing::repeats;
use trueput_record::{Durability, Isolation, Value};

/// Rates that scatter by a few hundredths, and the same in another order.
const RATES: [f64; 5] = [1_980.0, 2_010.0, 2_050.0, 1_990.0, 2_030.0];
const TURNED: [f64; 5] = [2_030.0, 1_990.0, 2_050.0, 2_010.0, 1_980.0];

/// A lead that one comparison of five repeats claims and one of thirty does not.
const SMALL: f64 = 1.05;

/// A lead that one of thirty claims too.
const LARGE: f64 = 1.25;

/// Rates whose noise drowns every difference.
const WILD: [[f64; 5]; 2] = [
    [100.0, 130.0, 110.0, 90.0, 120.0],
    [118.0, 95.0, 105.0, 125.0, 98.0],
];

/// This many rankings, in each of which redb leads lmdb by that factor.
fn duels(rankings: u32, factor: f64) -> Run {
    let duel = |workers: u32| {
        let ahead = RATES.map(|rate| rate * factor);
        let redb = repeats(2 * workers, "redb", Durability::Sync, &ahead);
        let lmdb = repeats(2 * workers + 1, "lmdb", Durability::Sync, &TURNED);
        let mut both = [redb, lmdb].concat();
        for trial in &mut both {
            trial.spec.workers = workers;
        }
        both
    };
    run_of((1..=rankings).flat_map(duel).collect())
}

/// The verdict on one ranking of these contenders.
fn verdict(contenders: &[(&str, &[f64])]) -> RankingVerdict {
    let [verdict] = verdicts(&contest(contenders))[..] else {
        panic!("not one ranking");
    };
    verdict
}

#[test]
fn a_lead_that_one_comparison_shows_is_not_claimed_of_thirty() {
    assert_eq!(verdicts(&duels(1, SMALL)), [RankingVerdict::Leader]);
    let many = verdicts(&duels(30, SMALL));
    assert_eq!(many, [RankingVerdict::TooFewRepeats; 30]);
    assert_eq!(verdicts(&duels(30, LARGE)), [RankingVerdict::Leader; 30]);
}

#[test]
fn so_it_is_where_the_thirty_stand_in_one_ranking() {
    let others: Vec<_> = (0..30).map(|number| format!("engine{number}")).collect();
    let with = |factor: f64| {
        let ahead = RATES.map(|rate| rate * factor);
        let others = others.iter().map(|engine| (engine.as_str(), &TURNED[..]));
        let contenders: Vec<_> = std::iter::once(("redb", &ahead[..]))
            .chain(others)
            .collect();
        verdict(&contenders)
    };
    assert_eq!(with(LARGE), RankingVerdict::Leader);
    assert_eq!(with(SMALL), RankingVerdict::TooFewRepeats);
}

#[test]
fn a_difference_of_every_pair_that_three_repeats_cannot_show_is_not_called_noise() {
    let xfs = [1_390.0, 1_843.0, 1_500.0];
    let btrfs = [1_054.0, 833.0, 1_050.0];
    let found = verdict(&[("xfs", &xfs), ("btrfs", &btrfs)]);
    assert_eq!(found, RankingVerdict::TooFewRepeats);
}

#[test]
fn what_lies_within_the_scatter_is_noise() {
    let found = verdict(&[("redb", &RATES), ("lmdb", &TURNED)]);
    assert_eq!(found, RankingVerdict::TooNoisy);
}

#[test]
fn what_is_told_apart_by_less_than_a_claim_is_the_same() {
    let steady = [100.0, 100.01, 99.99, 100.0, 100.02];
    let hardly = steady.map(|rate| rate * 1.005);
    let found = verdict(&[("redb", &hardly), ("lmdb", &steady)]);
    assert_eq!(found, RankingVerdict::SameWithin);
}

#[test]
fn a_run_whose_noise_drowns_every_difference_has_no_order() {
    let [one, other] = WILD;
    let found = verdict(&[("redb", &one), ("lmdb", &other)]);
    assert_eq!(found, RankingVerdict::NoOrder);
}

#[test]
fn nobody_is_fastest_while_a_third_may_be_as_fast_or_was_hardly_seen() {
    let second = RATES.map(|rate| rate / 2.0);
    for third in [&[500.0, 4_000.0, 900.0, 3_000.0, 950.0][..], &[900.0]] {
        let found = verdict(&[("redb", &RATES), ("lmdb", &second), ("sqlite", third)]);
        assert_eq!(found, RankingVerdict::TooFewRepeats);
    }
}

/// The verdicts on so many values of a knob, each turn of which makes redb faster by that factor.
fn turned(values: u32, factor: f64) -> Vec<Verdict> {
    let cells = (0..=values).flat_map(|value| {
        let rates = match value {
            0 => TURNED,
            _ => RATES.map(|rate| rate * factor),
        };
        let mut trials = repeats(value, "redb", Durability::Sync, &rates);
        for trial in &mut trials {
            let map_size = Value::Integer(1 << (20 + value));
            trial.spec.knobs.insert("map_size".to_owned(), map_size);
        }
        trials
    });
    let run = run_of(cells.collect());
    let effects = knob_effects(&run, &rankings(&run.manifest, &run.trials));
    effects.iter().map(|effect| effect.rate.verdict).collect()
}

#[test]
fn turns_of_a_knob_are_read_together_too() {
    assert_eq!(turned(1, SMALL).len(), 1);
    let is_claimed = |verdict: &Verdict| *verdict == Verdict::Faster;
    assert!(turned(1, SMALL).iter().all(is_claimed));
    assert!(!turned(30, SMALL).iter().any(is_claimed));
    assert!(turned(30, LARGE).iter().any(is_claimed));
}

/// A run without an order in which redb states weaker isolation than lmdb, its rates being a little
/// higher or lower.
fn without_order(redb: &[f64], lmdb: &[f64]) -> Run {
    let mut run = contest(&[("redb", redb), ("lmdb", lmdb), ("fjall", lmdb)]);
    for trial in &mut run.trials {
        let is_weak = trial.spec.engine == "redb";
        let level = if is_weak {
            Isolation::ReadCommitted
        } else {
            Isolation::Serializable
        };
        trial.engine.as_mut().unwrap().isolation = Some(level);
    }
    run
}

#[test]
fn where_no_order_is_claimed_the_least_isolated_contender_is_named_and_no_other() {
    let [one, other] = WILD;
    // Whichever has the higher median, and although the rows are sorted by name.
    for run in [without_order(&one, &other), without_order(&other, &one)] {
        let answer = Answer::of(&run);
        let ranking = &answer.rankings[0];
        assert_eq!(ranking.verdict, RankingVerdict::NoOrder);
        let weaker = ranking.weaker_isolation.as_ref().unwrap();
        assert_eq!(weaker.contender, "redb");
        assert_eq!(weaker.stronger, ["lmdb", "fjall"].map(str::to_owned));
        // Nor is there a leader that a share could be of.
        assert_eq!(ranking.lead, None);
        assert!(ranking.rows.iter().all(|row| row.of_leader.is_none()));
    }
}

#[test]
fn the_longest_of_the_repeats_that_overran_explains_the_mark() {
    let mut run = contest(&[("lmdb", &[10.0, 10.1, 10.2])]);
    let marks = |run: &mut Run, elapsed_s: [f64; 3]| {
        for (trial, elapsed_s) in run.trials.iter_mut().zip(elapsed_s) {
            trial.spec.conditions.duration_s = Some(20.0);
            trial.measurement.as_mut().unwrap().elapsed_s = elapsed_s;
        }
        let marks = marks_of(&run.trials);
        let overrun = marks.into_iter().find(|it| it.kind == MarkKind::Overrun);
        overrun.map(|it| (it.label.into_owned(), it.explanation.into_owned()))
    };
    assert_eq!(marks(&mut run, [20.0, 23.8, 20.0]), None);
    let (label, explanation) = marks(&mut run, [24.2, 33.0, 23.8]).unwrap();
    assert_eq!(label, "overran");
    assert!(
        explanation.contains("its last operation ended after 33.0 s"),
        "{explanation}"
    );
}

#[test]
fn the_interval_of_a_row_is_the_one_that_the_verdict_used() {
    let half = RATES.map(|rate| rate / 2.0);
    let report = contest(&[("rocksdb", &RATES), ("tokudb", &half)]);
    let answer = Answer::of(&report);
    let ranking = &answer.rankings[0];
    assert_eq!(ranking.verdict, RankingVerdict::Leader);
    let rankings = rankings(&report.manifest, &report.trials);
    let used = rankings[0].cells[1].against_best.unwrap().ratio.unwrap();
    let row = &ranking.rows[1];
    assert_eq!(row.of_leader.unwrap().interval, Some(used));
    let lead = ranking.lead.unwrap();
    assert!((lead.estimate - 2.0).abs() < 1e-9, "{lead:?}");
    assert!((lead.interval.unwrap().high - 1.0 / used.low).abs() < 1e-9);
    let of_rate = row.rate_interval.unwrap();
    assert_eq!(of_rate.high, used.high * ranking.leader().rate_per_s);
}
