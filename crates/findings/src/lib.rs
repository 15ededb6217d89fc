//! What a run shows, computed once from its folder: statistics, rankings, comparisons, bottlenecks,
//! scaling, ablation and the published tables beside. No engine and no runner is needed.
//!
//! [`Run::load`] reads a folder; the modules compute from it. What they find is worded elsewhere.

pub mod ablation;
pub mod answer;
pub mod bottleneck;
pub mod builds;
pub mod cells;
pub mod compare;
pub mod contender;
pub mod disturbance;
pub mod eligibility;
pub mod fixed_rate;
pub mod history;
pub mod in_memory;
pub mod integrity;
pub mod isolation;
pub mod marks;
pub mod over_time;
pub mod published;
pub mod rankings;
pub mod repeats;
mod run;
#[cfg(test)]
mod samples;
pub mod scaling;
pub mod shell;
pub mod significance;
pub mod statistics;
pub mod symas;
pub mod threen1;
pub mod trial_names;
pub mod units;
mod writers;

pub use run::{Run, Tally};
