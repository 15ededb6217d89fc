//! The tables in SQL through ODBC's drivers: the conditions hold, and transactions are kept apart.

use super::harness::{Bench, assert_right, engine};
use crate::support::settings;
use std::path::Path;
use trueput_engine::testing::Fault;
use trueput_engine::{Durability, OpenSpec, parameter};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::Conditions;
use trueput_workloads::tpcc::acid::AcidSuite;
use trueput_workloads::tpcc::scale::{Cardinality, Scale};
use trueput_workloads::tpcc::store::TableStore;

/// A private server in a folder, if its engine is on this machine; otherwise it says why. It is set
/// for the weakest level that there is through ODBC, which [`Bench`] takes.
fn started(name: &str, folder: &Path) -> Option<Server> {
    let engine = engine(name);
    if let Err(why) = engine.build() {
        eprintln!("skipped: {why}");
        return None;
    }
    let knobs = parameter::resolve(name, engine.knobs(), &settings(&[])).unwrap();
    let site = ServerSpec {
        service: &*engine.service().unwrap(),
        database: &OpenSpec {
            directory: folder,
            durability: Durability::Buffered,
            knobs: &knobs,
            sessions: 16,
        },
        conditions: &Conditions::default(),
        group_entry: None,
    };
    Some(Server::start(&site, &mut || true).unwrap())
}

/// Load, run, conditions, atomicity and isolation over a data source, unless its driver is missing;
/// then it says why.
fn passes_on(source: &str) {
    let odbc = engine("odbc").with_library(source.as_ref()).unwrap();
    match odbc.build() {
        Ok(_) => {}
        Err(why) if why.to_string().contains("install") => {
            eprintln!("skipped: {why}");
            return;
        }
        Err(why) => panic!("{why}"),
    }
    let given = [
        ("store", "sql"),
        ("warehouses", "1"),
        ("cardinality", "hundredth"),
        ("transactions", "300"),
    ];
    let knobs = [];
    let bench = Bench::turned(&*odbc, Fault::None, 3, &given, &knobs);
    let (ended, conclusion) = bench.run();
    assert_eq!(ended.counts.iter().sum::<u64>(), 300);
    assert_right(&conclusion);
    drop(bench);
    let small = [("cardinality", "hundredth")];
    let bench = Bench::turned(&*odbc, Fault::None, 4, &small, &knobs);
    let scale = Scale::new(1, Cardinality::Hundredth);
    let checks = bench.target(|target| {
        let suite = AcidSuite::load(target, &scale, TableStore::Sql).unwrap();
        suite.run().unwrap()
    });
    for check in checks {
        assert!(check.passed, "{}: {}", check.name, check.detail);
    }
}

#[test]
fn the_conditions_hold_in_postgresqls_sql_through_odbc() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_server) = started("postgresql", folder.path()) else {
        return;
    };
    let socket = folder.path().join("data");
    passes_on(&format!(
        "Driver={{PostgreSQL Unicode}};Server={};UID=postgres;Database=postgres",
        socket.display()
    ));
}

#[test]
fn the_conditions_hold_in_mariadbs_sql_through_odbc() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_server) = started("mariadb", folder.path()) else {
        return;
    };
    let socket = folder.path().join("data/server.sock");
    passes_on(&format!(
        "Driver={{MariaDB Unicode}};Socket={};UID=root",
        socket.display()
    ));
}

#[test]
fn the_conditions_hold_in_sqlites_sql_through_odbc() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tpcc.db");
    passes_on(&format!("Driver={{SQLite3}};Database={}", file.display()));
}
