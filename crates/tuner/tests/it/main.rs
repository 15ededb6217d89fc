//! Searches of simulated engines, whose best configuration is known.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod controls;
mod fence;
mod landscape;
mod read_back;
mod simulation;

/// A uniformly distributed point of the unit cube, the same for the same number.
fn random_point(number: u64, dimensions: usize) -> Vec<f64> {
    let mut machine = simulation::Machine::new(number);
    (0..dimensions).map(|_| machine.uniform()).collect()
}
