//! Findings of simulated runs, as one program: a test's name begins with its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod ablation;
mod audits;
mod builds;
mod calibration;
mod choice;
mod comparisons;
mod decisions;
mod disturbances;
mod fixed_rate;
mod history;
mod load_generators;
mod over_time;
mod prediction;
mod prediction_runs;
mod rankings;
mod scaling;
mod sequential;
mod storage;
mod storage_comparisons;
mod storage_faults;
mod storage_models;
mod support;
mod tuning;
mod verdicts;
