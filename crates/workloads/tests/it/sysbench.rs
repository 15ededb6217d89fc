//! The sysbench workload over keys and values and in SQL: its scripts, and the faults that
//! verification finds.

mod crashes;
mod engines;
mod faults;
pub mod harness;
mod odbc;
mod settings;
mod sql;
