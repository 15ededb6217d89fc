//! The distributions against their exact probabilities, and at their edges.

use super::statistics::{count, fits};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_workloads::generate::distribution::{
    Chooser, Distribution, DistributionError, Items, share_size, share_start, ycsb_keyspace,
};
use trueput_workloads::generate::hash::ycsb_hash;
use trueput_workloads::generate::random::Random;
use trueput_workloads::generate::zipfian::{YCSB_THETA, Zipfian, zeta};

const ITEMS: u64 = 1_000;
const DRAWS: u64 = 1_000_000;

const HOTSPOT: Distribution = Distribution::Hotspot {
    set_fraction: 0.2,
    operation_fraction: 0.8,
};

fn chooser(distribution: Distribution, items: u64) -> Chooser {
    Chooser::new(distribution, Items::Fixed(items), 0, 1).unwrap()
}

fn counts(distribution: Distribution) -> Vec<u64> {
    let mut chooser = chooser(distribution, ITEMS);
    let mut random = Random::for_worker(2014, 0, "test");
    count(ITEMS, DRAWS, || chooser.next(&mut random))
}

/// The start of each of the first ranks of Gray's algorithm, as shares of all, and then 1: solved
/// from its definition for the number drawn, with a sum that is added up term by term.
fn rank_starts(ranks: u64, items: u64, theta: f64, zeta_of_items: f64) -> Vec<f64> {
    let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta))
        / (1.0 - (1.0 + 0.5_f64.powf(theta)) / zeta_of_items);
    (0..=ranks)
        .map(|rank| match rank {
            0 => 0.0,
            1 => 1.0 / zeta_of_items,
            2 => (1.0 + 0.5_f64.powf(theta)) / zeta_of_items,
            _ => ((rank as f64 / items as f64).powf(1.0 - theta) - 1.0) / eta + 1.0,
        })
        .collect()
}

fn rank_probabilities(items: u64, theta: f64) -> Vec<f64> {
    let sum = (1..=items).map(|k| (k as f64).powf(-theta)).sum();
    let starts = rank_starts(items, items, theta, sum);
    starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn uniform_draws_fit_and_others_do_not_pass_for_uniform() {
    let even = [1.0 / ITEMS as f64; ITEMS as usize];
    assert!(fits(&counts(Distribution::Uniform), &even));
    assert!(!fits(&counts(HOTSPOT), &even));
}

#[test]
fn zipfian_draws_fit_the_algorithm_with_their_own_exponent_only() {
    let drawn = counts(Distribution::Zipfian { theta: YCSB_THETA });
    assert!(fits(&drawn, &rank_probabilities(ITEMS, YCSB_THETA)));
    assert!(!fits(&drawn, &rank_probabilities(ITEMS, 0.98)));
    let drawn = counts(Distribution::Zipfian { theta: 0.5 });
    assert!(fits(&drawn, &rank_probabilities(ITEMS, 0.5)));
}

#[test]
fn the_first_two_ranks_have_the_shares_of_zipfs_law() {
    let drawn = counts(Distribution::Zipfian { theta: YCSB_THETA });
    let first = 1.0 / zeta(ITEMS, YCSB_THETA);
    let second = first * 0.5_f64.powf(YCSB_THETA);
    let rest = DRAWS - drawn[0] - drawn[1];
    let law = [first, second, 1.0 - first - second];
    assert!(fits(&[drawn[0], drawn[1], rest], &law));
    assert!((first - 0.129_384).abs() < 1e-6);
}

#[test]
fn scrambled_draws_fit_the_hashed_ranks() {
    let keyspace = ITEMS;
    let drawn = counts(Distribution::ScrambledZipfian { keyspace });
    // The first ranks one by one; the hash spreads the many others evenly.
    let (ranks, zeta) = (1_000_000, 26.469_028_201_783_02);
    let starts = rank_starts(ranks, 10_000_000_001, YCSB_THETA, zeta);
    let others = (1.0 - starts[ranks as usize]) / keyspace as f64;
    let mut probabilities = vec![others; keyspace as usize];
    for (rank, pair) in starts.windows(2).enumerate() {
        probabilities[(ycsb_hash(rank as u64) % keyspace) as usize] += pair[1] - pair[0];
    }
    assert!(fits(&drawn, &probabilities));
    assert!(!fits(&drawn, &[1.0 / ITEMS as f64; ITEMS as usize]));
    let hottest = (0..ITEMS as usize).max_by_key(|item| drawn[*item]).unwrap();
    assert_eq!(hottest as u64, ycsb_hash(0) % keyspace);
}

#[test]
fn scrambled_draws_of_items_that_are_not_there_are_drawn_again() {
    let keyspace = ycsb_keyspace(ITEMS, 10_000, 0.05);
    assert_eq!(keyspace, 2_001);
    let drawn = counts(Distribution::ScrambledZipfian { keyspace });
    assert_eq!(drawn.iter().sum::<u64>(), DRAWS);
    let hottest = (0..10).map(|rank| ycsb_hash(rank) % keyspace);
    let first = hottest.into_iter().find(|item| *item < ITEMS).unwrap();
    let most = *drawn.iter().max().unwrap();
    assert_eq!(drawn[first as usize], most);
}

#[test]
fn a_keyspace_far_beyond_the_items_costs_no_more_draws() {
    // Drawing again until an item is there would take 10^16 draws for each.
    let keyspace = u64::MAX;
    let drawn = counts(Distribution::ScrambledZipfian { keyspace });
    assert_eq!(drawn.iter().sum::<u64>(), DRAWS);
    let most = *drawn.iter().max().unwrap();
    assert!(most > DRAWS / 100, "still some are popular: {most}");
}

#[test]
fn an_exponential_law_that_lies_nearly_all_before_the_first_item_ends_too() {
    let drawn = counts(Distribution::Exponential {
        percentile: 95.0,
        fraction: 1e12,
    });
    // What is left of the law within the items is flat.
    assert!(fits(&drawn, &[1.0 / ITEMS as f64; ITEMS as usize]));
}

#[test]
fn scrambled_draws_reach_the_items_that_are_added_and_keep_the_popular_ones() {
    let distribution = Distribution::ScrambledZipfian { keyspace: ITEMS };
    let mut chooser = chooser(distribution, ITEMS);
    let mut random = Random::new(3);
    let mut drawn = |count| {
        let mut counts = vec![0_u64; count as usize];
        (0..200_000).for_each(|_| counts[chooser.next_among(count, &mut random) as usize] += 1);
        counts
    };
    let before = drawn(ITEMS);
    let after = drawn(10 * ITEMS);
    assert!(after[ITEMS as usize..].iter().sum::<u64>() > 100_000);
    // The most popular item of the sixteenfold keyspace was popular before, under a hash modulo
    // less.
    let most = (0..after.len()).max_by_key(|item| after[*item]).unwrap();
    assert!(before[most % ITEMS as usize] > 1_000, "{most}");
}

#[test]
fn latest_draws_fit_the_ranks_from_the_end() {
    let mut drawn = counts(Distribution::Latest);
    drawn.reverse();
    // One rank less than there are items: item 0 is never chosen.
    let mut probabilities = rank_probabilities(ITEMS - 1, YCSB_THETA);
    probabilities.push(0.0);
    assert!(fits(&drawn, &probabilities));
    assert_eq!(drawn[ITEMS as usize - 1], 0);
}

#[test]
fn hotspot_draws_fit_their_two_sets() {
    let share = |item| {
        if item < 200 { 0.8 / 200.0 } else { 0.2 / 800.0 }
    };
    let probabilities: Vec<f64> = (0..ITEMS).map(share).collect();
    assert!(fits(&counts(HOTSPOT), &probabilities));
}

#[test]
fn exponential_draws_fit_the_truncated_law() {
    let distribution = Distribution::Exponential {
        percentile: 95.0,
        fraction: 0.857_142_857_1,
    };
    let mean = ITEMS as f64 * 0.857_142_857_1 / 20.0_f64.ln();
    let beyond = |back: u64| (-(back as f64) / mean).exp();
    let probabilities: Vec<f64> = (0..ITEMS)
        .map(|item| ITEMS - 1 - item)
        .map(|back| (beyond(back) - beyond(back + 1)) / (1.0 - beyond(ITEMS)))
        .collect();
    assert!(fits(&counts(distribution), &probabilities));
}

#[test]
fn sequential_workers_start_at_their_shares_and_go_around() {
    let mut random = Random::new(0);
    let mut chooser = Chooser::new(Distribution::Sequential, Items::Fixed(10), 2, 3).unwrap();
    let drawn: Vec<u64> = (0..12).map(|_| chooser.next(&mut random)).collect();
    assert_eq!(drawn, [6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(share_start(u64::MAX, 1, 2), u64::MAX / 2);
}

#[test]
fn the_shares_of_all_workers_are_the_whole() {
    let sizes = [0, 1, 2].map(|worker| share_size(10, worker, 3));
    assert_eq!(sizes, [3, 3, 4]);
    assert_eq!(share_size(u64::MAX, 0, 1), u64::MAX);
}

#[test]
fn latest_follows_the_items_that_are_added() {
    let counter = Arc::new(AtomicU64::new(100));
    let items = Items::Growing(counter.clone());
    let mut chooser = Chooser::new(Distribution::Latest, items, 0, 1).unwrap();
    let mut random = Random::new(5);
    let mut newest = 0;
    for count in 100..200 {
        counter.store(count, Ordering::SeqCst);
        for _ in 0..100 {
            let item = chooser.next(&mut random);
            assert!(item < count);
            newest += u64::from(item + 1 == count);
        }
    }
    // The last item's share is 1 / zeta: 18.9 % at 100 items, 16.7 % at 200.
    assert!((1_600..2_000).contains(&newest), "{newest}");
}

#[test]
fn growing_at_once_and_step_by_step_lead_to_the_same_ranks() {
    let mut at_once = Zipfian::new(10_000, YCSB_THETA);
    let mut by_steps = at_once.clone();
    for count in (10_000..=1_000_000).step_by(990) {
        by_steps.rank(0.5, count);
    }
    let mut random = Random::new(6);
    for _ in 0..10_000 {
        let unit = random.unit_f64();
        assert_eq!(
            at_once.rank(unit, 1_000_000),
            by_steps.rank(unit, 1_000_000)
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_items() {
    for distribution in every_distribution(ITEMS) {
        let sequence = |seed| {
            let mut chooser = chooser(distribution, ITEMS);
            let mut random = Random::for_worker(seed, 1, "keys");
            (0..50)
                .map(|_| chooser.next(&mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(sequence(1), sequence(1));
        let apart = sequence(1) != sequence(2);
        assert_eq!(apart, distribution != Distribution::Sequential);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |distribution, items| Chooser::new(distribution, Items::Fixed(items), 0, 1).err();
    assert_eq!(
        refused(Distribution::Uniform, 0),
        Some(DistributionError::NoItems)
    );
    let keyspace = Distribution::ScrambledZipfian { keyspace: 9 };
    let message = refused(keyspace, 10).unwrap().to_string();
    assert_eq!(
        message,
        "the keyspace of 9 is smaller than the 10 items in it"
    );
    let message = refused(Distribution::Zipfian { theta: 1.0 }, 10).unwrap();
    assert_eq!(
        message.to_string(),
        "theta is 1; give a number between 0 and 1, both excluded"
    );
    for (set_fraction, operation_fraction) in [(1.5, 0.5), (0.5, -0.1), (f64::NAN, 0.5)] {
        let hotspot = Distribution::Hotspot {
            set_fraction,
            operation_fraction,
        };
        assert!(refused(hotspot, 10).is_some());
    }
    for (percentile, fraction) in [(100.0, 0.5), (0.0, 0.5), (95.0, 0.0)] {
        let exponential = Distribution::Exponential {
            percentile,
            fraction,
        };
        assert!(refused(exponential, 10).is_some());
    }
}

fn every_distribution(items: u64) -> [Distribution; 9] {
    let hotspot = |set_fraction, operation_fraction| Distribution::Hotspot {
        set_fraction,
        operation_fraction,
    };
    [
        Distribution::Uniform,
        Distribution::Sequential,
        Distribution::Zipfian { theta: YCSB_THETA },
        Distribution::ScrambledZipfian { keyspace: items },
        Distribution::Latest,
        HOTSPOT,
        hotspot(0.0, 1.0),
        hotspot(1.0, 0.0),
        Distribution::Exponential {
            percentile: 95.0,
            fraction: 0.5,
        },
    ]
}

proptest! {
    #[test]
    fn every_draw_is_an_item(seed: u64, items in prop_oneof![1_u64..20, 1..1_u64 << 40]) {
        for distribution in every_distribution(items) {
            let mut chooser = chooser(distribution, items);
            let mut random = Random::new(seed);
            for _ in 0..20 {
                let item = chooser.next(&mut random);
                prop_assert!(item < items, "{:?}: {} of {}", distribution, item, items);
            }
        }
    }

    #[test]
    fn the_greatest_number_drawn_still_gives_an_item(items in 1_u64..1 << 40) {
        let greatest = 1.0 - f64::EPSILON / 2.0;
        let rank = Zipfian::new(items, YCSB_THETA).rank(greatest, items);
        prop_assert!(rank < items);
    }
}

/// The counts, the most frequent item first.
fn by_frequency(distribution: Distribution) -> Vec<u64> {
    let mut counts = counts(distribution);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn a_scattered_zipfian_has_the_probabilities_of_its_ranks_at_scattered_items() {
    let theta = 0.8;
    let drawn = counts(Distribution::ScatteredZipfian { theta });
    let order =
        trueput_workloads::generate::permutation::Permutation::new(ITEMS, 0x0074_7275_6570_7574);
    let ranked: Vec<u64> = (0..ITEMS)
        .map(|rank| drawn[order.at(rank) as usize])
        .collect();
    assert!(fits(&ranked, &rank_probabilities(ITEMS, theta)));
    assert!(!fits(&ranked, &rank_probabilities(ITEMS, 0.7)));
    assert!(
        !fits(&drawn, &rank_probabilities(ITEMS, theta)),
        "scattered"
    );
}

#[test]
fn of_a_self_similar_distribution_each_fifth_gets_four_fifths() {
    let sorted = by_frequency(Distribution::SelfSimilar { fraction: 0.2 });
    let drawn_by = |items: usize| sorted[..items].iter().sum::<u64>() as f64 / DRAWS as f64;
    for (items, share) in [(200, 0.8), (40, 0.64), (8, 0.512)] {
        let deviation = (share * (1.0 - share) / DRAWS as f64).sqrt();
        // That the counts were sorted adds a little.
        let off = (drawn_by(items) - share) / deviation;
        assert!(off.abs() < 8.0, "{items}: {}", drawn_by(items));
    }
}

#[test]
fn weights_are_those_of_equal_slices() {
    let weights = [1.0, 0.0, 5.0, 2.0];
    let mut chooser = Chooser::weighted(&weights, Items::Fixed(ITEMS)).unwrap();
    let mut random = Random::for_worker(2014, 0, "test");
    let counts = count(ITEMS, DRAWS, || chooser.next(&mut random));
    let expected: Vec<f64> = (0..ITEMS)
        .map(|it| weights[it as usize / 250] / 8.0 / 250.0)
        .collect();
    assert!(fits(&counts, &expected));
    assert_eq!(counts[250..500].iter().sum::<u64>(), 0);
    // More slices than items.
    let mut few = Chooser::weighted(&[1.0; 10], Items::Fixed(3)).unwrap();
    let third = count(3, DRAWS, || few.next(&mut random));
    assert!(third.iter().all(|it| *it > DRAWS / 5), "{third:?}");
    for (weights, expected) in [
        (&[][..], "the sum of the weights is 0"),
        (&[0.0], "the sum of the weights is 0"),
        (&[1.0, -1.0], "a weight is -1"),
        (&[f64::NAN], "a weight is NaN"),
    ] {
        let refused = Chooser::weighted(weights, Items::Fixed(3)).err().unwrap();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
