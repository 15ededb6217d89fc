//! Helpers for the tests of other crates.

pub mod ssh_hosts;
