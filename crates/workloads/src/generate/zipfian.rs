//! Zipfian ranks: rank k (from 0) with a probability in proportion to 1 / (k + 1)^theta.
//!
//! The algorithm is of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly generating
//! billion-record synthetic databases", SIGMOD 1994, in the form of YCSB's `ZipfianGenerator`. Its
//! probabilities are exact for ranks 0 and 1 and close for the rest.

/// YCSB's exponent.
pub const YCSB_THETA: f64 = 0.99;

/// Up to here [`zeta`] adds term by term, as YCSB does; beyond, by a formula.
const TERMS_ADDED: u64 = 1_024;

/// So many terms take no longer to add than the formula takes.
const FEW_TERMS: u64 = 8;

/// Draws ranks below a count that may grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Zipfian {
    /// The count at the start, which [`Zipfian::eta`] goes by for good.
    items: u64,
    theta: f64,
    alpha: f64,
    zeta_of_2: f64,
    /// The end of rank 1, in units of rank 0's share.
    end_of_rank_1: f64,
    /// The count that `zeta` is of.
    counted: u64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// Ranks below `items`, or one rank if that is 0. Theta is between 0 (nearly uniform) and 1,
    /// both excluded.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        let items = items.max(1);
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// Like [`Zipfian::new`], with the [`zeta`] of items and theta given.
    #[must_use]
    pub fn with_zeta(items: u64, theta: f64, zeta_of_items: f64) -> Self {
        let mut made = Self {
            items: items.max(1),
            theta,
            alpha: 1.0 / (1.0 - theta),
            zeta_of_2: zeta(2, theta),
            end_of_rank_1: 1.0 + 0.5_f64.powf(theta),
            counted: items.max(1),
            zeta: zeta_of_items,
            eta: 0.0,
        };
        made.eta = made.eta();
        made
    }

    /// YCSB computes this with the initial count even after the count has grown. At twice the
    /// initial count, ranks 2 and 3 are never drawn; so do not start with only a few items.
    fn eta(&self) -> f64 {
        (1.0 - (2.0 / self.items as f64).powf(1.0 - self.theta))
            / (1.0 - self.zeta_of_2 / self.zeta)
    }

    /// The rank below `count` for a number drawn evenly from 0 up to 1. A count greater than all
    /// before is taken into account; one that is smaller only limits the ranks, as in YCSB.
    #[inline]
    pub fn rank(&mut self, unit: f64, count: u64) -> u64 {
        if count > self.counted {
            self.grow(count);
        }
        let scaled = unit * self.zeta;
        let rank = if scaled < 1.0 {
            0
        } else if scaled < self.end_of_rank_1 {
            1
        } else {
            (count as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha)) as u64
        };
        // Rounding may lead to the count itself, which YCSB lets through.
        rank.min(count.saturating_sub(1))
    }

    #[cold]
    fn grow(&mut self, count: u64) {
        self.zeta += zeta_between(self.counted, count, self.theta);
        self.counted = count;
        self.eta = self.eta();
    }
}

/// The sum of 1 / k^theta for k from 1 to `items`: the sum of all ranks' shares, in units of rank
/// 0's share. It takes about as long for a billion items as for a thousand.
#[must_use]
pub fn zeta(items: u64, theta: f64) -> f64 {
    zeta_between(0, items, theta)
}

/// The sum of 1 / k^theta for k from `from` + 1 to `to`.
fn zeta_between(from: u64, to: u64, theta: f64) -> f64 {
    // A count that another worker has raised by thousands must not take thousands of powers.
    let added_to = if to.saturating_sub(from) <= FEW_TERMS {
        to
    } else {
        to.min(from.max(TERMS_ADDED))
    };
    let added: f64 = (from..added_to)
        .map(|index| 1.0 / ((index + 1) as f64).powf(theta))
        .sum();
    added + zeta_beyond(added_to, to, theta)
}

/// The sum of 1 / k^theta for k from `from` + 1 to `to`, for a `from` of [`TERMS_ADDED`] or more,
/// by the formula of Euler and Maclaurin. The first term left out is below 1e-19.
fn zeta_beyond(from: u64, to: u64, theta: f64) -> f64 {
    if to <= from {
        return 0.0;
    }
    let (a, b) = (from as f64, to as f64);
    let share = |x: f64| x.powf(-theta);
    let integral = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta);
    let slope = |x: f64| -theta * share(x) / x;
    let third = |x: f64| -theta * (theta + 1.0) * (theta + 2.0) * share(x) / (x * x * x);
    integral + (share(b) - share(a)) / 2.0 + (slope(b) - slope(a)) / 12.0
        - (third(b) - third(a)) / 720.0
}
