//! The workloads that need no engine, on real files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod harness;
mod io_thrash;
mod log_flush;
