//! Every engine of the registry keeps the contract at every level that it promises, and shows no
//! anomaly that its stated isolation proscribes: a test for each, so that they run side by side.

use crate::support;
use std::collections::BTreeSet;
use trueput_engine::Engine;

/// Engines whose tests of the contract are elsewhere, and why.
const ELSEWHERE: [(&str, &str); 4] = [
    (
        "galera",
        "the program hosts its nodes: galera.rs in the tests of the program",
    ),
    ("gtm", "one to a process: a test program of its own"),
    (
        "postgresql-cluster",
        "the program hosts its nodes: clusters.rs in the tests of the program",
    ),
    ("etcd", "likewise; on a user's server: etcd.rs"),
];

/// The engine, where this machine has it.
fn installed(name: &str) -> Option<&'static dyn Engine> {
    support::installed(support::engine(name))
}

fn keeps_the_contract(name: &str, level: &str) {
    let level = level.trim_start_matches("at_").parse().unwrap();
    if let Some(engine) = installed(name) {
        support::keeps_the_contract(engine, level, "");
    }
}

/// A module for each engine, with a test for each level and one of its isolation.
macro_rules! tests {
    ($($engine:ident: $($level:ident)*;)*) => {
        $(
            mod $engine {
                const NAME: &str = stringify!($engine);

                $(
                    #[test]
                    #[ignore = "slow: make test runs it"]
                    fn $level() {
                        super::keeps_the_contract(NAME, stringify!($level));
                    }
                )*

                #[test]
                #[ignore = "slow: make test runs it"]
                fn isolation() {
                    if let Some(engine) = super::installed(NAME) {
                        crate::support::is_isolated_as_stated_with_every_setting(engine);
                    }
                }
            }
        )*

        const TESTED: &[(&str, &str)] =
            &[$($((stringify!($engine), stringify!($level)),)*)*];
    };
}

tests! {
    null: at_none;
    lmdb: at_sync at_async at_process;
    sqlite: at_sync at_async at_process at_none;
    redb: at_sync at_buffered;
    fjall: at_sync at_process;
    rocksdb: at_sync at_buffered at_process;
    leveldb: at_sync at_process;
    berkeleydb: at_sync at_async at_buffered at_none;
    wiredtiger: at_sync at_buffered at_process at_none;
    tokudb: at_sync at_buffered;
    mdbx: at_sync at_async at_process;
    mariadb: at_sync at_async at_buffered at_process;
    postgresql: at_sync at_buffered at_process;
}

#[test]
fn every_engine_of_the_registry_has_a_test_at_every_level_that_it_promises() {
    let is_elsewhere = |name| ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == name);
    let mut promised = BTreeSet::new();
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        promised.extend(support::levels(*engine).map(|level| (name, format!("at_{level}"))));
    }
    promised.retain(|(name, _)| !is_elsewhere(*name));
    let tested = TESTED
        .iter()
        .map(|(name, level)| (*name, (*level).to_owned()));
    let tested: BTreeSet<_> = tested.collect();
    let differing: Vec<_> = tested.symmetric_difference(&promised).collect();
    assert!(
        differing.is_empty(),
        "add to tests! in this file, or remove from it: {differing:?}"
    );
}

/// An audit with a knob that does not exist, or with a value out of its range, would not begin.
#[test]
fn every_audit_knob_is_a_declared_knob_with_a_value_that_it_takes() {
    for engine in trueput_drivers::registry() {
        let engine_name = engine.info().name;
        let knobs = engine.audit_knobs();
        let is_local_and_durable = engine_name != "null";
        assert_eq!(!knobs.is_empty(), is_local_and_durable, "{engine_name}");
        for (name, value) in knobs {
            let mut declared = engine.knobs().iter();
            let knob = declared.find(|knob| knob.name == *name);
            let knob = knob.unwrap_or_else(|| panic!("{engine_name} has no knob '{name}'"));
            let read = knob.kind.read(value);
            let read = read.unwrap_or_else(|reason| panic!("{engine_name}.{name}: {reason}"));
            assert_ne!(read, knob.kind.default_value(), "{engine_name}.{name}");
        }
    }
}

/// The suites skip a knob that the engine does not declare, so a misspelled name would go
/// unnoticed.
#[test]
fn every_isolation_knob_and_cache_knob_is_a_declared_knob() {
    let mut checked = BTreeSet::new();
    for engine in trueput_drivers::registry() {
        let engine_name = engine.info().name;
        let defaults = support::resolve(*engine, "");
        let cache = engine.cache_knob(&defaults).ok().map(|knob| knob.name);
        for name in engine.isolation_knobs().iter().copied().chain(cache) {
            let is_declared = engine.knobs().iter().any(|knob| knob.name == name);
            assert!(is_declared, "{engine_name} has no knob '{name}'");
            checked.insert((engine_name, name));
        }
    }
    assert!(checked.len() > 1, "{checked:?}");
}
