//! The insert benchmark over keys and values and in SQL: its steps, one after the other on one
//! database, and the faults that verification finds.

mod crashes;
mod engines;
mod faults;
pub mod harness;
mod iibench;
mod odbc;
mod settings;
mod sql;
