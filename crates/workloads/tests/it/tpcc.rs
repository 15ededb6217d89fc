//! The tpcc workload over keys and values and in SQL, on every engine that is compiled in or found.

mod acid;
mod conditions;
mod engines;
mod harness;
mod odbc;
mod settings;
mod sql;
mod statements;
