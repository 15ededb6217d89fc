//! The generator of random numbers.

use super::statistics::{count, fits};
use proptest::prelude::*;
use std::collections::HashSet;
use trueput_record::random::{mix, unmix};
use trueput_workloads::generate::hash::{fnv1a_64, ycsb_hash};
use trueput_workloads::generate::random::Random;

#[test]
fn xoshiro_gives_the_published_numbers() {
    // From the reference implementation, as the crate rand_xoshiro tests it.
    let expected = [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
        14_011_001_112_246_962_877,
        12_406_186_145_184_390_807,
        15_849_039_046_786_891_736,
        10_450_023_813_501_588_000,
    ];
    let mut random = Random::from_state([1, 2, 3, 4]);
    assert_eq!(expected.map(|_| random.next_u64()), expected);
}

#[test]
fn fnv_gives_the_published_hashes() {
    // The authors' own test vectors.
    assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn the_ycsb_hash_is_that_of_ycsb() {
    // Printed by YCSB's own Utils.fnvhash64; the first three are the keys of its first records.
    for (number, hash) in [
        (0, 6_284_781_860_667_377_211),
        (1, 8_517_097_267_634_966_620),
        (2, 1_820_151_046_732_198_393),
        (255, 8_064_062_821_143_829_734),
        (256, 2_056_600_594_528_442_646),
        (9_999_999_999, 3_605_131_173_811_637_474),
        (9_223_372_036_854_775_807, 8_289_549_613_075_766_851),
    ] {
        assert_eq!(ycsb_hash(number), hash, "{number}");
    }
}

#[test]
fn the_same_seed_worker_and_purpose_give_the_same_stream() {
    let mut first = Random::for_worker(7, 3, "keys");
    let mut second = Random::for_worker(7, 3, "keys");
    for _ in 0..100 {
        assert_eq!(first.next_u64(), second.next_u64());
    }
}

#[test]
fn streams_of_workers_and_numbers_below_a_limit_stay_as_they_were() {
    // Computed apart from this code, from its definitions.
    for (seed, worker, purpose, first) in [
        (7, 3, "keys", 14_795_176_168_276_879_406),
        (7, 4, "keys", 623_276_134_403_703_357),
        (7, 3, "mix", 16_454_739_137_575_324_546),
        (8, 3, "keys", 6_412_620_687_803_935_819),
    ] {
        let mut random = Random::for_worker(seed, worker, purpose);
        assert_eq!(random.next_u64(), first, "{seed}, {worker}, {purpose}");
    }
    let mut random = Random::new(2);
    assert_eq!(
        [1_000; 4].map(|limit| random.below(limit)),
        [765, 537, 651, 293]
    );
}

#[test]
fn streams_of_other_workers_purposes_and_seeds_share_nothing() {
    let mut seen = HashSet::new();
    let mut streams = 0;
    for seed in 0..8 {
        for worker in 0..16 {
            for purpose in ["keys", "mix"] {
                let mut random = Random::for_worker(seed, worker, purpose);
                seen.extend((0..100).map(|_| random.next_u64()));
                streams += 1;
            }
        }
    }
    assert_eq!(seen.len(), streams * 100);
}

#[test]
fn numbers_below_a_limit_are_even_where_a_remainder_would_not_be() {
    // A remainder by three quarters of the range would draw the first third twice as often.
    let limit = 3_u64 << 62;
    let third = |number: u64| number / (1 << 62);
    let even = [1.0 / 3.0; 3];
    let mut random = Random::new(1);
    assert!(fits(
        &count(3, 100_000, || third(random.below(limit))),
        &even
    ));
    assert!(!fits(
        &count(3, 100_000, || third(random.next_u64() % limit)),
        &even
    ));
}

#[test]
fn numbers_below_a_thousand_and_unit_numbers_are_even() {
    let mut random = Random::new(2);
    let even = [0.001; 1_000];
    assert!(fits(
        &count(1_000, 1_000_000, || random.below(1_000)),
        &even
    ));
    let thousandth = || (random.unit_f64() * 1_000.0) as u64;
    assert!(fits(&count(1_000, 1_000_000, thousandth), &even));
}

#[test]
fn nothing_is_below_zero_and_a_dead_state_is_not_kept() {
    assert_eq!(Random::new(3).below(0), 0);
    assert_eq!(Random::from_state([0; 4]), Random::new(0));
}

proptest! {
    #[test]
    fn mixing_can_be_undone(number: u64) {
        prop_assert_eq!(unmix(mix(number)), number);
        prop_assert_eq!(mix(unmix(number)), number);
    }

    #[test]
    fn draws_stay_in_their_range(seed: u64, limit in 1_u64..) {
        let mut random = Random::new(seed);
        for _ in 0..20 {
            prop_assert!(random.below(limit) < limit);
            prop_assert!((0.0..1.0).contains(&random.unit_f64()));
        }
    }

    #[test]
    fn filled_bytes_are_those_of_the_numbers(seed: u64, length in 0_usize..40) {
        let mut bytes = vec![0; length];
        Random::new(seed).fill(&mut bytes);
        let mut random = Random::new(seed);
        let numbers: Vec<u8> = (0..5).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        prop_assert_eq!(&bytes[..], &numbers[..length]);
    }
}
