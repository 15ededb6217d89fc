//! Searches for knobs.

use trueput_findings::tuning::{TuningFindings, tuning};
use trueput_record::Value;
use trueput_record::search::TrialPurpose;
use trueput_record::testing::search::{RunRecords, WINNER, cut_short, trial, tuning as searched};

fn of((manifest, trials): &RunRecords) -> TuningFindings {
    tuning(manifest, trials).unwrap()
}

#[test]
fn the_winner_doubles_the_rate_by_the_cache_and_not_by_the_buffer() {
    let found = of(&searched(44));
    let better = found.better().unwrap();
    let [cache, buffer] = WINNER.map(|(_, mib)| Value::Integer(mib << 20));
    let changes = [("buffer".to_owned(), buffer), ("cache".to_owned(), cache)];
    assert_eq!(better.changes, changes.into());
    let gains: Vec<_> = found
        .ablation
        .iter()
        .map(|it| (it.knob.as_str(), it.factor.unwrap().round()))
        .collect();
    assert_eq!(gains, [("cache", 2.0), ("buffer", 1.0)]);
}

#[test]
fn a_holdout_with_too_few_pairs_has_no_interval() {
    let holdout = |pairs: u32| of(&cut_short(pairs)).holdout.unwrap();
    assert!(holdout(1).ratio.is_none());
    assert!(holdout(2).ratio.is_none());
    assert!(holdout(3).ratio.is_some());
}

#[test]
fn a_gain_that_the_holdout_lost_is_not_confirmed_at_all() {
    let (manifest, mut trials) = searched(44);
    for record in &mut trials {
        if record.spec.role.unwrap().purpose == TrialPurpose::Winner {
            *record = trial(TrialPurpose::Winner, 1, record.spec.repeat, &WINNER, 900.0);
        }
    }
    let found = of(&(manifest, trials));
    assert_eq!((found.winner, found.better()), (Some(1), None));
    assert!(found.shrinkage.unwrap() > 1.0);
    let factor = found.configurations[1].factor.unwrap();
    assert!((factor - 2.2).abs() < 0.01, "{factor}");
}

#[test]
fn the_front_leaves_out_what_another_configuration_excels_in_everything() {
    let found = of(&searched(44));
    // The preset, which is 2, is slower than the default and takes more memory.
    let front: Vec<_> = found.front().iter().map(|it| it.number).collect();
    assert_eq!(front, [1, 0]);
    assert_eq!(found.configurations[2].preset.as_deref(), Some("guide"));
}

#[test]
fn the_trials_that_ran_are_counted_beside_those_that_were_planned() {
    let found = of(&searched(100));
    let counts = (
        found.search_trials,
        found.holdout_trials,
        found.planned_trials,
    );
    assert_eq!(counts, (24, 16, 90));
}
