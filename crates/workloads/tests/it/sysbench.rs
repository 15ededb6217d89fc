//! The sysbench workload over keys and values and in SQL: its scripts, and the faults that
//! verification finds.

mod crashes;
mod engines;
mod faults;
mod harness;
mod settings;
mod sql;
