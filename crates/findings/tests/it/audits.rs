//! Audits of promises in the rankings of runs.

use crate::support::run_of;
use trueput_findings::answer::{Answer, UnrankedReason};
use trueput_record::audit::StorageModel;
use trueput_record::testing::{spec, standing, tried, valid};
use trueput_record::{Durability, TrialRecord};

/// Three repeats of a contender whose audit refuted that many states of a model.
fn trials(
    engine: &str,
    cell: u32,
    rate: f64,
    model: StorageModel,
    refuted: u64,
) -> Vec<TrialRecord> {
    let standing = standing(vec![tried(model, 785, refuted)]);
    let trial = |repeat| TrialRecord {
        audit: Some(standing.clone()),
        ..valid(spec(cell, engine, Durability::Sync, repeat), rate)
    };
    (1..=3).map(trial).collect()
}

#[test]
fn a_refuted_contender_has_no_place_unless_only_weaker_storage_refuted_it() {
    let all = [
        trials("careless", 0, 9_000.0, StorageModel::Journal, 13),
        trials("lmdb", 1, 3_000.0, StorageModel::Journal, 0),
        trials("leveldb", 2, 1_000.0, StorageModel::Posix, 27),
    ];
    let answer = Answer::of(&run_of(all.concat()));
    let rows = answer.rankings[0].rows.iter();
    let ranked: Vec<_> = rows.map(|row| &*row.contender).collect();
    assert_eq!(ranked, ["lmdb", "leveldb"]);
}

#[test]
fn a_refuted_contender_is_not_ranked_even_by_itself() {
    let refuted = trials("careless", 0, 9_000.0, StorageModel::Kill, 1);
    let answer = Answer::of(&run_of(refuted));
    assert!(answer.rankings.is_empty());
    let reasons: Vec<_> = answer.not_ranked.iter().map(|one| one.reason).collect();
    assert_eq!(reasons, [UnrankedReason::NotComparable]);
}
