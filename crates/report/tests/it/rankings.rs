//! What a ranking says of the isolation of its contenders.

use crate::support::{report, spec, terminal_line, valid};
use trueput_findings::Run;
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
