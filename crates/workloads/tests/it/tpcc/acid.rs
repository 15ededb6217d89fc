//! Atomicity and isolation (after clauses 3.2 and 3.4) on the engines, and on databases that have
//! not both.

use super::engines::{OPTIMISTIC, installed_engines};
use super::harness::{acid_checks, engine};
use trueput_engine::testing::Fault;
use trueput_engine::{COMPILED_IN, Engine};
use trueput_record::measurement::Check;
use trueput_workloads::tpcc::store::TableStore;

fn checks(engine: &dyn Engine, fault: Fault, knobs: &str) -> Vec<Check> {
    acid_checks(engine, fault, knobs, TableStore::KeyValue)
}

fn failed(fault: Fault) -> Vec<String> {
    let checks = checks(engine("lmdb"), fault, "").into_iter();
    let failed = checks.filter(|check| !check.passed);
    failed.map(|check| check.name).collect()
}

/// Engines whose write transactions do not protect a scan against new keys: a delivery that scans
/// again sees a new-order that was placed since.
const SHOWS_PHANTOMS: [&str; 1] = ["rocksdb"];

fn assert_passes(engine: &dyn Engine, knobs: &str) {
    let name = engine.info().name;
    let mut failed: Vec<_> = checks(engine, Fault::None, knobs)
        .into_iter()
        .filter(|check| !check.passed)
        .collect();
    if SHOWS_PHANTOMS.contains(&name) {
        let numbers: Vec<_> = failed
            .iter()
            .filter_map(|check| isolation_test(&check.name))
            .collect();
        assert_eq!(numbers, [8], "{name}");
        failed.retain(|check| isolation_test(&check.name).is_none());
    }
    assert!(failed.is_empty(), "{name}: {failed:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn engines_that_are_compiled_in_are_atomic_and_keep_transactions_apart() {
    let engines = trueput_drivers::registry().iter().copied();
    let compiled_in = engines.filter(|engine| engine.info().install == COMPILED_IN);
    let atomic = compiled_in.filter(|engine| engine.capabilities().atomic_transactions);
    atomic.for_each(|engine| assert_passes(engine, ""));
}

#[test]
#[ignore = "slow: make test runs it"]
fn engines_that_are_found_are_atomic_and_keep_transactions_apart() {
    installed_engines().for_each(|engine| assert_passes(engine, ""));
}

#[test]
#[ignore = "slow: make test runs it"]
fn optimistic_transactions_are_atomic_and_kept_apart() {
    for (name, knobs) in OPTIMISTIC {
        if engine(name).build().is_ok() {
            assert_passes(engine(name), knobs);
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
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

/// The numbers of the isolation tests of clause 3.4.2 that this fault fails.
fn failed_of_clause(fault: Fault) -> Vec<u32> {
    let names = failed(fault).into_iter();
    names.filter_map(|name| isolation_test(&name)).collect()
}

/// The number of an isolation test of clause 3.4.2.
pub fn isolation_test(name: &str) -> Option<u32> {
    let number = name.strip_prefix("isolation test ")?.split(' ').next()?;
    assert!(name.contains(&format!("(clause 3.4.2.{number})")), "{name}");
    Some(number.parse().unwrap())
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_nine_isolation_tests_of_clause_3_4_2_are_run_in_their_order() {
    let checks = checks(engine("lmdb"), Fault::None, "").into_iter();
    let numbers: Vec<_> = checks
        .filter_map(|check| isolation_test(&check.name))
        .collect();
    assert_eq!(numbers, (1..=9).collect::<Vec<_>>());
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_that_reads_what_is_not_committed_fails_isolation_tests_1_and_2() {
    assert_eq!(failed_of_clause(Fault::ReadsUncommitted), [1, 2]);
}

#[test]
fn an_engine_that_loses_updates_fails_the_isolation_tests_of_two_writers() {
    assert_eq!(failed_of_clause(Fault::LosesUpdates), [3, 5, 7, 8]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_whose_aborts_commit_fails_the_isolation_tests_that_roll_back() {
    assert_eq!(failed_of_clause(Fault::AbortCommits), [2, 4, 6]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_whose_reads_move_on_fails_that_test() {
    let names = failed(Fault::ReadsLatest);
    assert_eq!(
        names,
        [
            "isolation (after clause 3.4.1, non-repeatable read P2): a read transaction sees one \
             state",
            "isolation test 9 (clause 3.4.2.9): a new-order during an order-status"
        ]
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_whose_aborts_commit_is_not_atomic() {
    let names = failed(Fault::AbortCommits);
    let wanted = "atomicity (clause 3.2.2.2): a payment that is rolled back leaves nothing";
    assert!(names.iter().any(|name| name == wanted), "{names:?}");
}
