//! Findings of simulated runs, as one program: a test's name begins with its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod calibration;
mod prediction;
mod scaling;
