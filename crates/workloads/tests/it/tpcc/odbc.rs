//! The tables in SQL through ODBC's drivers: the conditions hold, and transactions are kept apart.

use super::harness::{Bench, acid_checks, installed};
use crate::job_bench::server;
use crate::support::settings;
use std::path::Path;
use trueput_engine::testing::Fault;
use trueput_engine::{Durability, Engine, Error, OpenSpec, parameter};
use trueput_host::service::Server;
use trueput_odbc::Odbc;
use trueput_workloads::tpcc::store::TableStore;

/// A private server in a folder, if its engine is on this machine; otherwise it says why. It is set
/// for the weakest level that there is through ODBC, which [`Bench`] takes.
fn started(name: &str, folder: &Path) -> Option<Server> {
    let engine = installed(name)?;
    let knobs = parameter::resolve(name, engine.knobs(), &settings("")).unwrap();
    server(
        engine,
        &OpenSpec {
            directory: folder,
            durability: Durability::Buffered,
            knobs: &knobs,
            sessions: 16,
        },
    )
}

/// Load, run, conditions, atomicity and isolation over a data source, unless its driver is missing;
/// then it says why.
fn passes_on(source: &str) {
    let odbc = Odbc::new().with_library(source.as_ref()).unwrap();
    match odbc.build() {
        Ok(_) => {}
        Err(reason @ Error::Missing(_)) => {
            eprintln!("skipped: {reason}");
            return;
        }
        Err(reason) => panic!("{reason}"),
    }
    let given = "store=sql warehouses=1 cardinality=hundredth transactions=300";
    Bench::turned(&*odbc, Fault::None, 3, given, "").passes(300, "sql");
    let checks = acid_checks(&*odbc, Fault::None, "", TableStore::Sql);
    for check in checks {
        assert!(check.passed, "{}: {}", check.name, check.detail);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
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
#[ignore = "slow: make test runs it"]
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
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_in_sqlites_sql_through_odbc() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tpcc.db");
    passes_on(&format!("Driver={{SQLite3}};Database={}", file.display()));
}
