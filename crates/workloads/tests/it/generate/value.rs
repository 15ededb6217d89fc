//! Values, the detection of faults in them, and their compressibility.

use proptest::prelude::*;
use trueput_workloads::generate::hash::fnv1a_64;
use trueput_workloads::generate::value::{
    MIN_VALUE_BYTES, PercentError, ValueError, Values, payload_percent,
};

/// By a second implementation of the module's documentation, in Python.
const GOLDEN: u64 = 16_389_228_996_525_884_114;

fn values(percent: u8) -> Values {
    Values::new(2014, percent).unwrap()
}

fn value(values: &Values, item: u64, version: u32, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    values.write(item, version, &mut out);
    out
}

#[test]
fn one_flipped_bit_anywhere_is_found() {
    let values = values(50);
    let good = value(&values, 42, 7, 300);
    assert_eq!(values.check_all(42, &good), Ok(7));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let wrong = values.check_all(42, &bad);
        if bit / 8 < MIN_VALUE_BYTES {
            assert_eq!(wrong, Err(ValueError::Foreign { item: 42 }), "bit {bit}");
            assert_eq!(values.read(42, &bad), wrong);
        } else {
            let damaged = ValueError::Damaged {
                item: 42,
                version: 7,
                offset: bit / 8,
            };
            assert_eq!(wrong, Err(damaged), "bit {bit}");
            assert_eq!(values.read(42, &bad), Ok(7), "the header alone is right");
        }
    }
}

#[test]
fn values_of_others_are_told_apart() {
    let values = values(50);
    let good = value(&values, 42, 7, 100);
    assert_eq!(values.read(42, &good), Ok(7));
    assert_eq!(
        values.read(43, &good),
        Err(ValueError::Foreign { item: 43 })
    );
    let other_seed = Values::new(2015, 50).unwrap();
    assert_eq!(
        other_seed.read(42, &good),
        Err(ValueError::Foreign { item: 42 })
    );
    assert_eq!(
        values.read(42, &good[..99]),
        Err(ValueError::Foreign { item: 42 })
    );
    assert_eq!(
        values.read(42, &good[..11]),
        Err(ValueError::TooShort { bytes: 11 })
    );
    assert_eq!(
        values.check_all(42, &[]),
        Err(ValueError::TooShort { bytes: 0 })
    );
    assert!(values.read(42, &[0; 100]).is_err());
}

#[test]
fn a_payload_of_another_version_is_found_by_the_full_check_alone() {
    let values = values(50);
    let mut mixed = value(&values, 42, 7, 100);
    let other = value(&values, 42, 8, 100);
    mixed[MIN_VALUE_BYTES..].copy_from_slice(&other[MIN_VALUE_BYTES..]);
    assert_eq!(values.read(42, &mixed), Ok(7));
    let wrong = values.check_all(42, &mixed).unwrap_err();
    assert!(
        matches!(wrong, ValueError::Damaged { version: 7, .. }),
        "{wrong}"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_every_release() {
    let first = value(&values(50), 123, 4, 1_000);
    assert_eq!(first, value(&values(50), 123, 4, 1_000));
    // Databases that were loaded by one release are checked by the next.
    assert_eq!(fnv1a_64(&first), GOLDEN);
}

#[test]
fn values_longer_than_the_pool_go_around_it() {
    let values = values(100);
    let mut long = value(&values, 1, 1, 3_000_000);
    assert_eq!(values.check_all(1, &long), Ok(1));
    long[2_999_999] ^= 1;
    let wrong = values.check_all(1, &long).unwrap_err();
    assert!(
        matches!(
            wrong,
            ValueError::Damaged {
                offset: 2_999_999,
                ..
            }
        ),
        "{wrong}"
    );
}

#[test]
fn a_value_without_room_for_its_header_is_never_accepted() {
    let values = values(50);
    for bytes in 0..MIN_VALUE_BYTES {
        let short = value(&values, 1, 1, bytes);
        assert_eq!(
            values.check_all(1, &short),
            Err(ValueError::TooShort { bytes })
        );
    }
    let least = value(&values, 1, 1, MIN_VALUE_BYTES);
    assert_eq!(values.check_all(1, &least), Ok(1));
}

/// Percent of their size that LZ4 gets the values of 1,000 items to, in one block of a table file.
fn compressed_percent(values: &Values, bytes: usize) -> f64 {
    let all: Vec<u8> = (0..1_000)
        .flat_map(|item| value(values, item, 0, bytes))
        .collect();
    // Blocks of 4 KiB, as table engines have them.
    let compressed: usize = all
        .chunks(4_096)
        .map(|block| lz4_flex::block::compress(block).len())
        .sum();
    compressed as f64 / all.len() as f64 * 100.0
}

#[test]
fn payloads_compress_as_stated() {
    for percent in [25, 50, 75] {
        let reached = compressed_percent(&values(percent), 10_000);
        let off = reached - f64::from(percent);
        assert!((0.0..8.0).contains(&off), "{percent}: {reached}");
    }
    let reached = compressed_percent(&values(100), 10_000);
    assert!(reached >= 100.0, "{reached}");
}

#[test]
fn whole_values_compress_as_stated_where_the_header_is_counted_in() {
    for (percent, bytes) in [(50, 100), (50, 128), (50, 1_000), (25, 400), (75, 100)] {
        let reached = compressed_percent(&values(payload_percent(percent, bytes)), bytes);
        let off = reached - f64::from(percent);
        assert!(
            (-3.0..9.0).contains(&off),
            "{percent} of {bytes}: {reached}"
        );
    }
    // Without that, 100-byte values come out visibly larger: the header alone is 12 %.
    let reached = compressed_percent(&values(50), 100);
    assert!(reached > 60.0, "{reached}");
}

#[test]
fn percentages_out_of_range_are_refused_or_brought_into_it() {
    for given in [0, 101] {
        assert_eq!(Values::new(1, given).unwrap_err(), PercentError { given });
    }
    assert_eq!(payload_percent(100, 100), 100);
    assert_eq!(payload_percent(50, 0), 1);
    assert_eq!(payload_percent(1, 20), 1);
}

proptest! {
    #[test]
    fn values_tell_their_item_and_version(
        seed: u64,
        item: u64,
        version: u32,
        bytes in 12_usize..400,
    ) {
        let values = Values::new(seed, 50).unwrap();
        let value = value(&values, item, version, bytes);
        prop_assert_eq!(values.read(item, &value), Ok(version));
        prop_assert_eq!(values.check_all(item, &value), Ok(version));
        prop_assert_eq!(values.owner(&value), Ok((item, version)));
    }

    #[test]
    fn no_two_of_items_versions_and_lengths_share_a_header(
        a in (any::<u64>(), any::<u32>(), 12_usize..40),
        b in (any::<u64>(), any::<u32>(), 12_usize..40),
    ) {
        prop_assume!(a != b);
        let values = values(50);
        let mut other = value(&values, a.0, a.1, a.2);
        other.resize(b.2, 0);
        other[8..12].copy_from_slice(&b.1.to_le_bytes());
        prop_assert!(values.read(b.0, &other).is_err());
    }
}
