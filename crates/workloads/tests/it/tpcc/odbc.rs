//! The tables in SQL through ODBC's drivers: the conditions hold, and transactions are kept apart.

use super::harness::{Bench, acid_checks};
use crate::data_source::DataSource;
use trueput_engine::testing::Fault;
use trueput_workloads::tpcc::store::TableStore;

/// Load, run, conditions, atomicity and isolation over a data source, unless there is none.
fn passes_on(source: Option<DataSource>) {
    let Some(source) = source else {
        return;
    };
    let odbc = &*source.engine;
    let given = "store=sql warehouses=1 cardinality=hundredth transactions=300";
    Bench::turned(odbc, Fault::None, 3, given, "").passes(300, "sql");
    let checks = acid_checks(odbc, Fault::None, "", TableStore::Sql);
    for check in checks {
        assert!(check.passed, "{}: {}", check.name, check.detail);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_in_postgresqls_sql_through_odbc() {
    passes_on(DataSource::postgresql());
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_in_mariadbs_sql_through_odbc() {
    passes_on(DataSource::mariadb());
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_in_sqlites_sql_through_odbc() {
    passes_on(DataSource::sqlite());
}
