//! Atomicity and isolation (after clauses 3.2 and 3.4.1) on the engines, and on databases that have
//! not both.

use crate::engines::{OPTIMISTIC, found};
use crate::faulty::Fault;
use crate::harness::{Bench, engine};
use trueput_engine::Engine;
use trueput_record::measurement::Check;
use trueput_workloads::tpcc::acid::Suite;
use trueput_workloads::tpcc::scale::{Cardinality, Scale};
use trueput_workloads::tpcc::store::Store;

fn checks(engine: &dyn Engine, fault: Fault, knobs: &[(&str, &str)]) -> Vec<Check> {
    let given = [("cardinality", "hundredth")];
    let bench = Bench::turned(engine, fault, 4, &given, knobs);
    let scale = Scale::new(1, Cardinality::Hundredth);
    bench.target(|target| {
        let suite = Suite::load(target, &scale, Store::KeyValue).unwrap();
        suite.run().unwrap()
    })
}

fn failed(fault: Fault) -> Vec<String> {
    let checks = checks(engine("lmdb"), fault, &[]).into_iter();
    let failed = checks.filter(|check| !check.passed);
    failed.map(|check| check.name).collect()
}

fn assert_passes(engine: &dyn Engine, knobs: &[(&str, &str)]) {
    let name = engine.info().name;
    for check in checks(engine, Fault::None, knobs) {
        assert!(check.passed, "{name}: {}: {}", check.name, check.detail);
    }
}

#[test]
fn engines_that_are_compiled_in_are_atomic_and_keep_transactions_apart() {
    for name in ["lmdb", "sqlite", "redb", "fjall"] {
        assert_passes(engine(name), &[]);
    }
}

#[test]
fn engines_that_are_found_are_atomic_and_keep_transactions_apart() {
    found().for_each(|engine| assert_passes(engine, &[]));
}

#[test]
fn optimistic_transactions_are_atomic_and_kept_apart() {
    for (name, knobs) in OPTIMISTIC {
        if engine(name).build().is_ok() {
            assert_passes(engine(name), knobs);
        }
    }
}

#[test]
fn an_engine_that_reads_what_is_not_committed_fails_that_test() {
    let names = failed(Fault::ReadsUncommitted);
    let wanted = "isolation (after clause 3.4.1, dirty read P1): what is not committed is not read";
    assert!(names.iter().any(|name| name == wanted), "{names:?}");
}

#[test]
fn an_engine_that_loses_updates_fails_that_test() {
    let names = failed(Fault::LosesUpdates);
    let wanted = "isolation (after clause 3.4.1, dirty write P0): no update is lost";
    assert!(names.iter().any(|name| name == wanted), "{names:?}");
}

#[test]
fn an_engine_whose_reads_move_on_fails_that_test() {
    let names = failed(Fault::ReadsLatest);
    assert_eq!(
        names,
        [
            "isolation (after clause 3.4.1, non-repeatable read P2): a read transaction sees one state"
        ]
    );
}

#[test]
fn an_engine_whose_aborts_commit_is_not_atomic() {
    let names = failed(Fault::AbortCommits);
    let wanted = "atomicity (clause 3.2.2.2): a payment that is rolled back leaves nothing";
    assert!(names.iter().any(|name| name == wanted), "{names:?}");
}
