//! The engine over the data sources of this machine.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod odbc;
mod support;
