//! The workloads that need no engine, on real files.

mod harness;
mod io_thrash;
mod log_flush;
