//! The order that looks random and is never kept.

use super::statistics::{count, fits};
use proptest::prelude::*;
use trueput_workloads::generate::permutation::Permutation;

#[test]
fn every_number_comes_exactly_once() {
    for items in (0..70).chain([1_000, 65_535, 65_536, 65_537, 100_000]) {
        let permutation = Permutation::new(items, 9);
        let mut numbers: Vec<u64> = (0..items).map(|place| permutation.at(place)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..items), "{items}");
    }
}

#[test]
fn places_and_their_neighbors_lie_anywhere() {
    let items = 1_000_000;
    let permutation = Permutation::new(items, 1);
    let even = [0.01; 100];
    let mut place = 0;
    let numbers = count(100, 100_000, || {
        place += 1;
        permutation.at(place) / 10_000
    });
    assert!(fits(&numbers, &even));
    let steps = count(100, 100_000, || {
        place += 1;
        let step = permutation.at(place) + items - permutation.at(place - 1);
        step % items / 10_000
    });
    assert!(fits(&steps, &even));
    // The control: an order that is no order at random.
    let numbers = count(100, 100_000, || {
        place += 1;
        place * 7 % items / 10_000
    });
    assert!(!fits(&numbers, &even));
}

#[test]
fn the_seed_makes_the_order() {
    let order = |seed| {
        let permutation = Permutation::new(1_000, seed);
        (0..1_000)
            .map(|place| permutation.at(place))
            .collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

proptest! {
    #[test]
    fn the_place_of_a_number_is_where_it_stands(
        items in prop_oneof![1_u64..50, 1_u64..],
        seed: u64,
        place: u64,
    ) {
        let permutation = Permutation::new(items, seed);
        let place = place % items;
        let number = permutation.at(place);
        prop_assert!(number < items);
        prop_assert_eq!(permutation.place_of(number), place);
    }

    #[test]
    fn what_is_beyond_stays_where_it_is(items in 0_u64..1_000, beyond in 0_u64..1_000) {
        let permutation = Permutation::new(items, 3);
        prop_assert_eq!(permutation.at(items + beyond), items + beyond);
        prop_assert_eq!(permutation.place_of(items + beyond), items + beyond);
    }
}
