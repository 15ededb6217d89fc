//! Chooses the items of operations: the distributions of YCSB's `requestdistribution`.
//!
//! They follow `site.ycsb.generator` and `CoreWorkload.nextKeynum` of YCSB, whose source is at
//! <https://github.com/brianfrankcooper/YCSB>. Where YCSB stays with the items of the start
//! (uniform, sequential, hotspot), give [`Items::Fixed`] to do as it does.

use super::hash::ycsb_hash;
use super::insert::ItemCount;
use super::permutation::Permutation;
use super::random::Random;
use super::zipfian::{YCSB_THETA, Zipfian};
use std::sync::Arc;

/// Scrambled ranks are drawn below this: YCSB's `ScrambledZipfianGenerator.ITEM_COUNT`, and one
/// more, since its range includes both ends.
const SCRAMBLED_RANKS: u64 = 10_000_000_001;

/// YCSB's `ScrambledZipfianGenerator.ZETAN`, which it computed once for 10^10 items.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// A way to choose items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Each as often as any other.
    Uniform,
    /// One after the other, around and around. Each worker starts at its own share.
    Sequential,
    /// Item 0 most often, then 1, and so on: see [`super::zipfian`].
    Zipfian {
        /// The exponent, between 0 and 1, both excluded. YCSB's is [`YCSB_THETA`].
        theta: f64,
    },
    /// YCSB's `zipfian`: the popular items are scattered by a hash, and stay the same while items
    /// are added. Which ones they are does not depend on the seed.
    ScrambledZipfian {
        /// The hash is taken modulo this; an item that is not there yet is drawn again. The number
        /// of items where none are added; [`ycsb_keyspace`] to do as YCSB. Of a keyspace of more
        /// than twice the items only as much is used as they fill by half, and it doubles when the
        /// items outgrow it. So a draw takes two attempts on average at most.
        keyspace: u64,
    },
    /// Zipfian with any exponent, the popular items scattered by a permutation of all items. Which
    /// ones they are does not depend on the seed.
    ScatteredZipfian {
        /// The exponent, between 0 and 1, both excluded.
        theta: f64,
    },
    /// Gray and others' self-similar distribution (SIGMOD 1994), scattered like
    /// `ScatteredZipfian`: this share of the items gets the rest of the operations, and of those
    /// the same share of the items the same part, and so on. With 0.2 it is Pareto's 80/20.
    SelfSimilar {
        /// The share of the items, above 0 and below 0.5.
        fraction: f64,
    },
    /// YCSB's `latest`: the last item most often, then the one before. Item 0 is never chosen if
    /// there is another, as in YCSB.
    Latest,
    /// A hot set, which is the items of the lowest numbers, and a cold one, each uniform.
    Hotspot {
        /// The hot set's share of the items, 0 to 1. YCSB's default is 0.2.
        set_fraction: f64,
        /// Its share of the operations, 0 to 1. YCSB's default is 0.8.
        operation_fraction: f64,
    },
    /// Late items more often than early ones, by an exponential law.
    Exponential {
        /// This many percent of the operations, above 0 and below 100, YCSB's default being 95 ...
        percentile: f64,
        /// ... go to this share of the items at the start, above 0. YCSB's default is 0.8571428571.
        fraction: f64,
    },
}

/// The modulus that YCSB's `CoreWorkload` scatters popular items over: the records loaded, twice
/// the inserts that it expects, and one, since its range includes both ends.
#[must_use]
pub fn ycsb_keyspace(records: u64, operations: u64, insert_proportion: f64) -> u64 {
    let inserts = (operations as f64 * insert_proportion * 2.0) as u64;
    records.saturating_add(inserts).saturating_add(1)
}

/// The items to choose from: the numbers below a count.
#[derive(Clone)]
pub enum Items {
    /// Always this many.
    Fixed(u64),
    /// The items below the counter's value at each draw; it must not fall.
    Growing(Arc<dyn ItemCount>),
}

impl Items {
    /// The current number of items.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Fixed(count) => *count,
            Self::Growing(counter) => counter.count(),
        }
    }
}

/// The reasons why a distribution does not fit the items.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// There are no items.
    #[error("there are no items to choose from; give at least one")]
    NoItems,
    /// A share or exponent out of its range.
    #[error("{name} is {given}; give a number {range}")]
    OutOfRange {
        /// The value that was given.
        name: &'static str,
        /// Its value.
        given: f64,
        /// The values that are allowed.
        range: &'static str,
    },
    /// Items would never be chosen.
    #[error("the keyspace of {keyspace} is smaller than the {items} items in it")]
    NarrowKeyspace {
        /// The keyspace given.
        keyspace: u64,
        /// The items.
        items: u64,
    },
}

/// Chooses items for one worker.
#[derive(Clone)]
pub struct Chooser {
    kind: ChooserState,
    items: Items,
}

#[derive(Clone)]
enum ChooserState {
    Uniform,
    Sequential {
        next: u64,
    },
    Zipfian(Zipfian),
    Scrambled {
        zipfian: Zipfian,
        keyspace: u64,
    },
    /// Ranks that a power of an even draw gives, or a zipfian one; scattered over the items.
    Scattered {
        ranks: Ranks,
        items: Permutation,
    },
    /// The ends of the weights of equal slices of the items, the last one being 1.
    Weighted {
        ends: Arc<[f64]>,
    },
    Latest(Zipfian),
    Hotspot {
        set: f64,
        operations: f64,
    },
    Exponential {
        mean: f64,
    },
}

#[derive(Clone)]
enum Ranks {
    Zipfian(Zipfian),
    /// The exponent of the draw.
    SelfSimilar(f64),
}

/// Seed of the permutation that scatters popular items: the same for every trial.
const SCATTER_SEED: u64 = 0x0074_7275_6570_7574;

/// The items of a hot set that is this share of them, rounded down.
pub(crate) fn hot_items(items: u64, set_fraction: f64) -> u64 {
    (items as f64 * set_fraction) as u64
}

impl Chooser {
    /// A chooser by weight: the items are divided into as many equal slices as there are weights,
    /// and each item of a slice is as likely as the others.
    ///
    /// # Errors
    /// If there are no items, a weight is negative or not finite, or all are 0.
    pub fn weighted(weights: &[f64], items: Items) -> Result<Self, DistributionError> {
        if items.count() == 0 {
            return Err(DistributionError::NoItems);
        }
        for weight in weights {
            let range = "of 0 or more";
            check_within(
                "a weight",
                *weight,
                -f64::MIN_POSITIVE,
                f64::INFINITY,
                range,
            )?;
        }
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        check_within("the sum of the weights", sum, 0.0, f64::INFINITY, "above 0")?;
        let mut end = 0.0;
        let ends = weights.iter().map(|weight| {
            end += weight / sum;
            end
        });
        let kind = ChooserState::Weighted {
            ends: ends.collect(),
        };
        Ok(Self { kind, items })
    }

    /// A chooser for worker `worker` (from 0) of `workers`.
    ///
    /// # Errors
    /// If there are no items, or a parameter is out of its range.
    pub fn new(
        distribution: Distribution,
        items: Items,
        worker: u32,
        workers: u32,
    ) -> Result<Self, DistributionError> {
        let count = items.count();
        if count == 0 {
            return Err(DistributionError::NoItems);
        }
        let kind = match distribution {
            Distribution::Uniform => ChooserState::Uniform,
            Distribution::Sequential => ChooserState::Sequential {
                next: share_start(count, worker, workers),
            },
            Distribution::Zipfian { theta } => {
                check_within("theta", theta, 0.0, 1.0, "between 0 and 1, both excluded")?;
                ChooserState::Zipfian(Zipfian::new(count, theta))
            }
            Distribution::ScrambledZipfian { keyspace } => scrambled(keyspace, count)?,
            Distribution::ScatteredZipfian { theta } => {
                check_within("theta", theta, 0.0, 1.0, "between 0 and 1, both excluded")?;
                scattered(Ranks::Zipfian(Zipfian::new(count, theta)), count)
            }
            Distribution::SelfSimilar { fraction } => {
                let range = "above 0 and below 0.5";
                check_within("the popular share", fraction, 0.0, 0.5, range)?;
                let exponent = fraction.ln() / (1.0 - fraction).ln();
                scattered(Ranks::SelfSimilar(exponent), count)
            }
            Distribution::Latest => ChooserState::Latest(Zipfian::new(count - 1, YCSB_THETA)),
            Distribution::Hotspot {
                set_fraction,
                operation_fraction,
            } => {
                fraction("the hot set's share of the items", set_fraction)?;
                fraction("the hot set's share of the operations", operation_fraction)?;
                ChooserState::Hotspot {
                    set: set_fraction,
                    operations: operation_fraction,
                }
            }
            Distribution::Exponential {
                percentile,
                fraction,
            } => exponential(percentile, fraction, count)?,
        };
        Ok(Self { kind, items })
    }

    /// The next item.
    #[inline]
    pub fn next(&mut self, random: &mut Random) -> u64 {
        self.next_among(self.items.count(), random)
    }

    /// Draws one of the current `count` items, regardless of the number that the chooser was made
    /// for; the count must not fall from one call to the next. Returns 0 if there are none.
    #[inline]
    pub fn next_among(&mut self, count: u64, random: &mut Random) -> u64 {
        if count <= 1 {
            return 0;
        }
        let last = count - 1;
        match &mut self.kind {
            ChooserState::Uniform => random.below(count),
            ChooserState::Sequential { next } => {
                let item = if *next < count { *next } else { 0 };
                *next = item + 1;
                item
            }
            ChooserState::Zipfian(zipfian) => zipfian.rank(random.unit_f64(), count),
            ChooserState::Scrambled { zipfian, keyspace } => {
                // The popular items stay: a hash modulo twice as many gives the same item, or a
                // new one.
                while *keyspace < count {
                    *keyspace = keyspace.saturating_mul(2);
                }
                loop {
                    let item = scrambled_item(zipfian, random.unit_f64(), *keyspace);
                    if item < count {
                        return item;
                    }
                }
            }
            ChooserState::Scattered { ranks, items } => loop {
                let rank = ranks.rank(random.unit_f64(), items.count());
                let item = items.at(rank);
                if item < count {
                    return item;
                }
            },
            ChooserState::Weighted { ends } => {
                let unit = random.unit_f64();
                // Rounding may leave a number beyond every end.
                let slices = ends.len();
                let slice = ends.partition_point(|end| *end <= unit).min(slices - 1);
                let start =
                    |slice: usize| (u128::from(count) * slice as u128 / slices as u128) as u64;
                let (first, end) = (start(slice), start(slice + 1));
                // With fewer items than slices some slices have none of their own.
                first.min(last) + random.below(end - first)
            }
            ChooserState::Latest(zipfian) => latest_item(zipfian, random.unit_f64(), last),
            ChooserState::Hotspot { set, operations } => {
                let hot = hot_items(count, *set);
                let choose_hot = random.unit_f64() < *operations;
                // A hot set of less than one item, or of all, leaves but one choice.
                if hot > 0 && (choose_hot || hot >= count) {
                    random.below(hot.min(count))
                } else {
                    hot + random.below(count - hot)
                }
            }
            ChooserState::Exponential { mean } => {
                let mut back = exponential_back(*mean, random.unit_f64());
                if back > last {
                    back = exponential_back_within(*mean, random.unit_f64(), count);
                }
                last - back.min(last)
            }
        }
    }
}

/// The first item of a worker's share: share 2 of 3 of 10 items begins at 6.
#[must_use]
pub fn share_start(items: u64, worker: u32, workers: u32) -> u64 {
    let shares = u128::from(workers.max(1));
    (u128::from(items) * u128::from(worker) / shares).min(u128::from(items)) as u64
}

/// The number of items in a worker's share: share 2 of 3 of 10 items has 4. The shares of all
/// workers add up to the items.
#[must_use]
pub fn share_size(items: u64, worker: u32, workers: u32) -> u64 {
    share_start(items, worker + 1, workers) - share_start(items, worker, workers)
}

/// YCSB's scrambled zipfian ranks, which [`scrambled_item`] makes items of.
#[must_use]
pub fn scrambled_ranks() -> Zipfian {
    Zipfian::with_zeta(SCRAMBLED_RANKS, YCSB_THETA, SCRAMBLED_ZETA)
}

/// YCSB's `ScrambledZipfianGenerator.nextValue` for a number drawn evenly from 0 up to 1.
#[inline]
#[must_use]
pub fn scrambled_item(ranks: &mut Zipfian, unit: f64, keyspace: u64) -> u64 {
    ycsb_hash(ranks.rank(unit, SCRAMBLED_RANKS)) % keyspace
}

/// YCSB's `SkewedLatestGenerator.nextValue` for a number drawn evenly from 0 up to 1 and the last
/// item's number, which is 1 or more.
#[inline]
#[must_use]
pub fn latest_item(ranks: &mut Zipfian, unit: f64, last: u64) -> u64 {
    last - ranks.rank(unit, last)
}

/// YCSB's `ExponentialGenerator.nextValue` for a number drawn evenly from 0 up to 1: how far back
/// from the last item. It may be before item 0; YCSB then draws again.
#[inline]
#[must_use]
pub fn exponential_back(mean: f64, unit: f64) -> u64 {
    (-unit.ln() * mean) as u64
}

/// [`exponential_back`], given that it is below `count`. It takes the place of drawing again, which
/// has no end where nearly all of the law lies before item 0.
#[inline]
fn exponential_back_within(mean: f64, unit: f64, count: u64) -> u64 {
    let within = -(-(count as f64) / mean).exp_m1();
    (-(-unit * within).ln_1p() * mean) as u64
}

/// The mean distance from the last item for which `percentile` percent are within `range` items.
#[must_use]
pub fn exponential_mean(percentile: f64, range: f64) -> f64 {
    range / -(1.0 - percentile / 100.0).ln()
}

impl Ranks {
    #[inline]
    fn rank(&mut self, unit: f64, count: u64) -> u64 {
        match self {
            Self::Zipfian(zipfian) => zipfian.rank(unit, count),
            Self::SelfSimilar(exponent) => {
                let rank = (count as f64 * unit.powf(*exponent)) as u64;
                rank.min(count.saturating_sub(1))
            }
        }
    }
}

fn scattered(ranks: Ranks, count: u64) -> ChooserState {
    ChooserState::Scattered {
        ranks,
        items: Permutation::new(count, SCATTER_SEED),
    }
}

fn scrambled(keyspace: u64, items: u64) -> Result<ChooserState, DistributionError> {
    if keyspace < items {
        return Err(DistributionError::NarrowKeyspace { keyspace, items });
    }
    let most = items.saturating_mul(2).saturating_add(1);
    let mut used = keyspace;
    while used > most {
        used = used.div_ceil(2);
    }
    Ok(ChooserState::Scrambled {
        zipfian: scrambled_ranks(),
        keyspace: used,
    })
}

fn exponential(
    percentile: f64,
    fraction: f64,
    items: u64,
) -> Result<ChooserState, DistributionError> {
    let range = "between 0 and 100, both excluded";
    check_within("the percentile", percentile, 0.0, 100.0, range)?;
    let name = "the percentile's share of the items";
    check_within(name, fraction, 0.0, f64::INFINITY, "above 0")?;
    Ok(ChooserState::Exponential {
        mean: exponential_mean(percentile, items as f64 * fraction),
    })
}

fn check_within(
    name: &'static str,
    given: f64,
    above: f64,
    below: f64,
    range: &'static str,
) -> Result<(), DistributionError> {
    if given > above && given < below {
        Ok(())
    } else {
        Err(DistributionError::OutOfRange { name, given, range })
    }
}

fn fraction(name: &'static str, given: f64) -> Result<(), DistributionError> {
    if (0.0..=1.0).contains(&given) {
        Ok(())
    } else {
        let range = "from 0 to 1";
        Err(DistributionError::OutOfRange { name, given, range })
    }
}
