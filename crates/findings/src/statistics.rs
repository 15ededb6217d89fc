//! Whether a difference is one: pure functions over repeats.
//!
//! Each statistic is tested against values of `SciPy`, R or a publication, listed in
//! `docs/METHOD.md`; the rule for claims, which is our own, is tested by simulation
//! (`tests/it/calibration.rs`).
//!
//! Rates are compared as ratios, so tests use their logarithms: a rate that is a tenth higher and
//! one that is a tenth lower weigh the same. `docs/METHOD.md` gives the rules and their observed
//! error rates.

mod blocks;
mod change;
mod compare;
mod inconclusive;
mod interval;
mod level;
mod noise;
mod rank;
mod sequential;
mod summary;

pub use blocks::BlockRatios;
pub use change::{Shape, change_points, drift, shape};
pub use compare::{
    Comparison, MAX_REPEATS, Verdict, claim_level, compare, compare_among, compare_together,
    looks_slower, repeats_needed, smallest_ratio, suspicion_level,
};
pub use inconclusive::{InconclusiveReason, inconclusive_reason};
pub use interval::{
    Interval, bootstrap_median, geometric_mean, log_ratio_paired, log_ratio_unpaired,
};
pub use level::level_changes;
pub use noise::{Disturbance, Noise, Shares, noise};
pub use rank::{RankTest, outliers, rank_test};
pub use sequential::{Judgement, Observation, SequentialRule, Standing, StandingKind};
pub use summary::{MIN_REPEATS, Summary, maximum, median, quantile};

/// The chance that any of the comparisons that are read together claims a difference although there
/// is none.
pub const ALPHA: f64 = 0.05;

/// The chance that one comparison does, however few there are: of twenty between equals, more than
/// one claim is then rare (1.7 %).
pub const CLAIM: f64 = 0.01;

/// The smallest difference of rates that is claimed, as a share. Equal contenders that run side
/// by side differ a little: one always runs after the other, and its files are elsewhere.
pub const MIN_CLAIM: f64 = 0.01;
