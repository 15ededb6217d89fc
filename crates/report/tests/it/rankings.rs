//! The ranks of a ranking, and what it says of the isolation of its contenders.

use crate::support::{contest, flat, report, spec, terminal_line, valid};
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::folder::RankingSplit;
use trueput_record::measurement::{Compaction, DatabaseSize};
use trueput_record::{Durability, Isolation, Measurement, Outcome, TrialRecord, Value};
use trueput_report::RunReport;
use trueput_report::answer::{AnswerText, Layout};

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

/// Two trials whose measurements were changed, the first one's rate being the higher.
fn changed(change: impl Fn(u32, &mut TrialRecord)) -> Run {
    let trial = |(cell, engine): (u32, &str)| {
        let rate = 300.0 - f64::from(cell);
        let mut trial = valid(spec(cell, engine, Durability::Sync, 1), rate);
        change(cell, &mut trial);
        trial
    };
    report([(0, "lmdb"), (1, "sqlite")].map(trial).to_vec())
}

/// The first screen, on one line.
fn screen(run: &Run) -> String {
    let layout = Layout {
        width: 100,
        ..Layout::default()
    };
    flat(&Answer::of(run).render(layout, &[]))
}

fn results(trial: &mut TrialRecord) -> &mut trueput_record::value::Settings {
    &mut trial.measurement.as_mut().unwrap().results
}

#[test]
fn writers_that_missed_their_rate_are_said_to_on_every_screen() {
    let with = |is_kept: [bool; 2]| {
        changed(|cell, trial| {
            let kept = Value::Boolean(is_kept[cell as usize]);
            results(trial).insert(Measurement::WRITERS_KEPT_RATE.to_owned(), kept);
        })
    };
    let meaning = "its writers fell short of their rate";
    let run = with([true, false]);
    for text in [screen(&run), terminal_line(&run), run.page()] {
        assert_has!(text, "sqlite [write rate not kept]");
        assert!(
            text.contains(meaning) && !text.contains("lmdb [write"),
            "{text}"
        );
    }
    // The control: all kept it.
    let run = with([true, true]);
    for text in [screen(&run), terminal_line(&run), run.page()] {
        assert!(!text.contains(meaning), "{text}");
    }
}

#[test]
fn the_rows_of_transactions_are_beside_their_rate_and_results_that_differ_have_a_table() {
    let headline = "update";
    let run = changed(|cell, trial| {
        let results = results(trial);
        let rows = 30_000.0 - 100.0 * f64::from(cell);
        results.insert(format!("rows {headline}d per s"), Value::Float(rows));
        let queries = 7_000.0 - f64::from(cell);
        results.insert("queries per second".to_owned(), Value::Float(queries));
        results.insert("rows to update per s".to_owned(), Value::Float(9.0));
    });
    let text = screen(&run);
    assert_has!(text, "updates/s rows updated/s rate/best");
    assert_has!(text, "300 30,000 100 %");
    assert!(!text.contains("7,000"), "{text}");
    let full = terminal_line(&run);
    let (_, table) = full.split_once("Results of the workload").unwrap();
    let titles = "contender queries per second rows updated per s";
    assert_has!(table, titles);
    assert_has!(table, "lmdb 7,000 30,000 sqlite 6,999 29,900");
    assert_has!(run.page(), "Results of the workload");
    // The control: results that all share have none.
    let alike = changed(|_, trial| {
        results(trial).insert("queries per second".to_owned(), Value::Float(7_000.0));
    });
    let full = terminal_line(&alike);
    assert!(!full.contains("Results of the workload"), "{full}");
}

#[test]
fn the_first_screen_has_the_sizes_around_a_compaction() {
    let run = changed(|cell, trial| {
        trial.spec.conditions.compact = true;
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.database.allocated_bytes = 8 << 20;
        measurement.compaction = (cell == 0).then(|| Compaction {
            database: DatabaseSize {
                allocated_bytes: 2 << 20,
                ..DatabaseSize::default()
            },
            ..Compaction::default()
        });
    });
    let text = screen(&run);
    assert_has!(text, "Compaction: lmdb 8.00 MiB to 2.00 MiB.");
    assert_has!(
        text,
        "Not compacted, as the driver has no compaction for it: sqlite."
    );
    // The control asks for none.
    assert!(!screen(&changed(|_, _| {})).contains("ompact"));
}

#[test]
fn a_size_in_a_heading_has_its_unit() {
    let run = changed(|cell, trial| {
        let size = Value::from(65_536 * u64::from(cell));
        trial.spec.settings.insert("part_size".to_owned(), size);
    });
    let page = run.page();
    assert!(page.contains("part_size=64KiB") && page.contains("part_size=0"));
}
