//! The tables in SQL through ODBC's drivers: each script leaves the balances that were drawn.

use super::engines::passes_on;
use crate::data_source::DataSource;

/// Load, run and checks over a data source, unless there is none.
fn passes_through_odbc(source: Option<DataSource>) {
    if let Some(source) = source {
        passes_on(&*source.engine, "sql", "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_postgresqls_sql_through_odbc() {
    passes_through_odbc(DataSource::postgresql());
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_mariadbs_sql_through_odbc() {
    passes_through_odbc(DataSource::mariadb());
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_scripts_leave_what_was_drawn_in_sqlites_sql_through_odbc() {
    passes_through_odbc(DataSource::sqlite());
}
