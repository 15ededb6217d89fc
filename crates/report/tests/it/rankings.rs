//! The ranks of a ranking, and what it says of the isolation of its contenders.

use crate::support::{contest, report, spec, terminal_line, valid};
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::folder::RankingSplit;
use trueput_record::{Durability, Isolation, Outcome, TrialRecord};

/// A trial of that contender, whose driver states this isolation.
fn isolated(cell: u32, engine: &str, isolation: Option<Isolation>, rate: f64) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Sync, 1), rate);
    if let Some(engine) = &mut trial.engine {
        engine.isolation = isolation;
    }
    trial
}

pub fn of_two_levels() -> Run {
    let serializable = Some(Isolation::Serializable);
    report(vec![
        isolated(0, "rocksdb", Some(Isolation::ReadCommitted), 300.0),
        isolated(1, "lmdb", serializable, 200.0),
        isolated(2, "sqlite", serializable, 100.0),
    ])
}

#[test]
fn contenders_of_one_isolation_have_no_column_of_it_and_one_line() {
    let same = report(vec![
        isolated(0, "lmdb", Some(Isolation::Serializable), 300.0),
        isolated(1, "sqlite", Some(Isolation::Serializable), 200.0),
    ]);
    let text = terminal_line(&same);
    let said = "Isolation stated by the drivers: serializable.";
    assert!(text.contains(said), "{text}");
    assert_eq!(text.matches("serializable").count(), 1, "{text}");
}

#[test]
fn contenders_that_state_no_isolation_are_said_to() {
    let silent = report(vec![
        isolated(0, "one", None, 300.0),
        isolated(1, "other", None, 200.0),
    ]);
    let text = terminal_line(&silent);
    assert_has!(text, "Isolation: not stated.");
    let storage = report(vec![isolated(0, "storage", None, 300.0)]);
    let text = terminal_line(&storage);
    assert!(!text.contains("Isolation"), "{text}");
}

#[test]
fn isolation_of_sql_statements_is_said_to_be_stated_and_not_verified() {
    let said = "The isolation of SQL statements is stated by the driver and not tested.";
    for (store, is_said) in [("sql", true), ("records", false)] {
        let mut trial = isolated(0, "postgresql", Some(Isolation::ReadCommitted), 300.0);
        let store = trueput_record::Value::from(store);
        trial.spec.settings.insert("store".to_owned(), store);
        let text = terminal_line(&report(vec![trial]));
        assert_eq!(text.contains(said), is_said, "{text}");
    }
}

#[test]
fn a_split_ranking_has_its_isolation_in_the_heading_also_without_a_valid_trial() {
    let mut split = of_two_levels();
    split.manifest.split_by = Some(RankingSplit::Isolation);
    assert_has!(terminal_line(&split), "4 workers, isolation serializable");
    for trial in &mut split.trials {
        trial.outcome = Outcome::Invalid {
            reasons: vec!["disturbed".to_owned()],
        };
    }
    let text = terminal_line(&split);
    assert_has!(text, "4 workers, isolation read-committed");
    assert!(!text.contains("isolation not stated"), "{text}");
}

/// Only contenders before the first slower one share the leader's rank, however little is known of
/// those after it.
#[test]
fn ranks_never_fall_so_that_they_never_run_6_7_1_9() {
    let steady = [1_000.0, 1_010.0, 1_030.0, 990.0, 1_020.0];
    let turned = [1_019.0, 989.0, 1_029.0, 1_009.0, 999.0];
    let half = steady.map(|rate| rate / 2.0);
    // A third of the leader's rate, and so uncertain that it may be above it.
    let wild = [100.0, 1_250.0, 150.0, 1_300.0, 200.0];
    let quarter = steady.map(|rate| rate / 4.0);
    let run = contest(&[
        ("redb", &steady),
        ("lmdb", &turned),
        ("sqlite", &half),
        ("fjall", &wild),
        ("bbolt", &quarter),
    ]);
    let rows = &Answer::of(&run).rankings[0].rows;
    let ranks: Vec<_> = rows
        .iter()
        .map(|row| (row.rank, row.contender.as_str()))
        .collect();
    let expected = [
        (Some(1), "redb"),
        (Some(1), "lmdb"),
        (Some(3), "sqlite"),
        (Some(4), "fjall"),
        (Some(5), "bbolt"),
    ];
    assert_eq!(ranks, expected);
    // The control: nobody knows whether this one is slower either.
    assert!(rows[3].verdict.is_inconclusive(), "{rows:?}");
}
