//! The tables in SQL through ODBC's drivers: each script leaves the rows that were drawn.

use super::engines::{mixed_passes_on, passes_on};
use super::harness::job;
use crate::data_source::DataSource;

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_postgresqls_sql_through_odbc() {
    if let Some(source) = DataSource::postgresql() {
        passes_on(&*source.engine, "sql", "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_mariadbs_sql_through_odbc() {
    if let Some(source) = DataSource::mariadb() {
        mixed_passes_on(&*source.engine, "sql", "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_sqlites_sql_through_odbc() {
    if let Some(source) = DataSource::sqlite() {
        passes_on(&*source.engine, "sql", "");
    }
}

#[test]
fn a_data_source_without_snapshots_is_refused_keys_and_values_in_one_line() {
    let Some(source) = DataSource::sqlite() else {
        return;
    };
    let check = |dialect: &str, store: &str| {
        let engine = source.described_as(dialect);
        let job = job(&format!("store={store}")).unwrap();
        let checked = job.check_capabilities(&engine.capabilities());
        checked.map_err(String::from)
    };
    for store in ["auto", "kv"] {
        let message = check("iris", store).unwrap_err();
        assert!(message.contains("give store=sql"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    for (dialect, store) in [("iris", "sql"), ("sqlite", "kv"), ("informix", "auto")] {
        assert_eq!(check(dialect, store), Ok(()), "{dialect} {store}");
    }
}
