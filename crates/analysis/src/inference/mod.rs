//! Whether a difference is one: pure functions over repeats, each tested against `SciPy`.
//!
//! Rates are compared as ratios, so their logarithms are what is tested: a rate that is a tenth
//! higher and one that is a tenth lower then weigh the same. `docs/METHOD.md` gives the rules and
//! their error rates as seen.

mod change;
mod compare;
mod interval;
mod noise;
mod rank;

pub use change::{Shape, change_points, drift, shape};
pub use compare::{Comparison, Verdict, compare, smallest_ratio};
pub use interval::{Interval, bootstrap_median, log_ratio_paired, log_ratio_unpaired};
pub use noise::{Noise, noise};
pub use rank::{RankTest, outliers, rank_test};

/// The chance of claiming a difference where there is none that a verdict accepts.
pub const ALPHA: f64 = 0.05;
