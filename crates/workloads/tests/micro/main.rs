//! The microbenchmarks on the reference engine: what they do, and what their verification sees.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod crashes;
mod faults;
mod harness;
mod settings;
#[path = "../support/mod.rs"]
mod support;
mod tests;
