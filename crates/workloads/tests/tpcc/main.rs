//! The tpcc workload over keys and values and in SQL, on every engine that is compiled in or found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod acid;
mod conditions;
mod engines;
mod faulty;
mod harness;
mod odbc;
mod settings;
mod sql;
mod statements;
#[path = "../support/mod.rs"]
mod support;
