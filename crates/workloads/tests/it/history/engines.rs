//! The histories of real engines fit the isolation that each states, with every value of its
//! isolation knobs.

use super::harness::{Bench, failures, report};
use std::collections::BTreeMap;
use trueput_engine::{Engine, Isolation, isolation, parameter};
use trueput_record::value::Settings;

/// Engines that are not run here, and why.
const ELSEWHERE: [(&str, &str); 5] = [
    ("null", "it keeps no records"),
    ("gtm", "it takes over the signals of its process"),
    ("etcd", "it needs the program as host of its nodes"),
    ("galera", "it needs the program as host of its nodes"),
    (
        "postgresql-cluster",
        "it needs the program as host of its nodes",
    ),
];

fn engine(name: &str) -> Option<&'static dyn Engine> {
    let mut engines = trueput_drivers::registry().iter().copied();
    let engine = engines.find(|engine| engine.info().name == name).unwrap();
    let missing = engine.build().err();
    missing
        .iter()
        .for_each(|reason| eprintln!("skipped: {reason}"));
    missing.is_none().then_some(engine)
}

/// Knobs in one line; `None` if the engine refuses them together.
fn knobs(engine: &dyn Engine, settings: &Settings) -> Option<String> {
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), settings).unwrap();
    let mut levels = trueput_engine::Durability::ALL.into_iter();
    let is_there = levels.any(|level| engine.promise_with(level, &knobs).is_ok());
    let words = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    is_there.then(|| words.collect::<Vec<_>>().join(" "))
}

fn fits_what_it_states(engine: &dyn Engine) {
    let name = engine.info().name;
    for settings in isolation::settings(engine) {
        let Some(knobs) = knobs(engine, &settings) else {
            continue;
        };
        for model in ["list-append", "register"] {
            let given = format!("keys=4 transactions=600 model={model}");
            let (ended, conclusion) = Bench::new(engine, &knobs, &given).run();
            println!("{name} {knobs} {model}: {} conflicts", ended.conflicts);
            conclusion
                .checks
                .iter()
                .for_each(|check| println!("  {}: {}", check.name, check.detail));
            assert_eq!(conclusion.checks.len(), 3, "{name} {knobs} {model}");
            assert_eq!(
                failures(&conclusion),
                BTreeMap::new(),
                "{name} {knobs} {model}"
            );
            assert_eq!(
                ended.counts.iter().sum::<u64>(),
                600,
                "{name} {knobs} {model}"
            );
        }
    }
}

/// A test for each engine, so that they run side by side.
macro_rules! tests {
    ($($engine:ident)*) => {
        $(
            #[test]
            #[ignore = "slow: make test runs it"]
            fn $engine() {
                engine(stringify!($engine)).into_iter().for_each(fits_what_it_states);
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($engine)),*];
    };
}

tests! {
    lmdb sqlite redb fjall rocksdb leveldb berkeleydb wiredtiger tokudb mdbx mariadb postgresql
}

#[test]
fn every_engine_of_the_registry_is_run() {
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        let is_elsewhere = ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == name);
        assert_ne!(TESTED.contains(&name), is_elsewhere, "{name}");
    }
}

/// The levels that a history of a server with this isolation fits.
fn levels(engine: &dyn Engine, isolation: &str) -> Vec<Isolation> {
    // Keys that end soon, so that many transactions write one that does not exist yet.
    let given = "keys=2 key_writes=4 transactions=2000 scan_percent=60";
    let ended = Bench::new(engine, &format!("isolation={isolation}"), given).work_together();
    let report = report(&ended);
    report
        .anomalies
        .iter()
        .for_each(|anomaly| println!("{isolation}: {anomaly}"));
    report.levels().collect()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_history_of_postgresql_refutes_serializable_unless_that_is_its_level() {
    let Some(engine) = engine("postgresql") else {
        return;
    };
    let committed = levels(engine, "read-committed");
    assert!(committed.contains(&Isolation::ReadCommitted));
    assert!(!committed.contains(&Isolation::Snapshot));
    assert!(!committed.contains(&Isolation::Serializable));
    let snapshot = levels(engine, "repeatable-read");
    assert!(snapshot.contains(&Isolation::Snapshot));
    assert!(!snapshot.contains(&Isolation::Serializable));
    assert_eq!(levels(engine, "serializable"), Isolation::ALL);
}
