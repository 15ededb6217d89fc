//! Searches of simulated engines, whose best configuration is known.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod controls;
mod landscape;
mod simulation;
