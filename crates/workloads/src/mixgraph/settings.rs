//! The settings, named as db_bench's flags. Their defaults are the values of RocksDB's published
//! commands for the workload of ZippyDB, but for the number of records, the sizes of loaded values
//! and the rate.

use crate::IneffectiveSetting;
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use trueput_engine::parameters;
use trueput_record::Value;
use trueput_record::plan::Dimensions;

const KEYRANGE_DIST_B: f64 = -2.917;
const KEYRANGE_DIST_D: f64 = -0.080_82;

/// The bounds of parameters that may have either sign.
pub(super) const MIN: f64 = -1e9;
pub(super) const MAX: f64 = 1e9;

/// The bounds of exponents.
const MIN_EXPONENT: f64 = -100.0;
const MAX_EXPONENT: f64 = 100.0;

/// The smallest scale of a distribution.
pub(super) const MIN_SCALE: f64 = 1e-6;

/// The largest bound of the size of a value.
pub(super) const MAX_VALUE_BYTES: u64 = 1 << 20;

/// The largest bound of the length of a scan.
pub(super) const MAX_SCAN_BOUND: u64 = 1_000_000;

/// The highest rate, operations per second.
const MAX_PER_S: f64 = 1e7;
const MIN_SINE_A: f64 = -1e7;

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// Records to load.
        num: Integer = 1_000_000 in 1..=(1 << 40), unit "records",
        /// Length of a key: the record's number in 8 bytes, filled up with the digit 0.
        key_size: Integer<usize> = 48 in (MIN_KEY_BYTES as i64)..=(MAX_KEY_BYTES as i64),
            unit "bytes",
        /// Length of a loaded value; 0: drawn as that of a put.
        value_size: Bytes = 0 B in 0 B..=1 MiB,
        /// Share of gets. The three shares are divided by their sum.
        mix_get_ratio: Fraction = 0.83 in 0.0..=MAX,
        /// Share of puts.
        mix_put_ratio: Fraction = 0.14 in 0.0..=MAX,
        /// Share of seeks, each with a scan.
        mix_seek_ratio: Fraction = 0.03 in 0.0..=MAX,
        /// Whether one random number decides the record, the kind and the length of the scan of an
        /// operation, as in db_bench. off: each has one of its own.
        one_draw: Boolean = true,
        /// Operations of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        mix_accesses: Integer = 0 in 0.., unit "operations",
        /// a of the power law a x^b, the part of the operations that the x most popular keys get;
        /// 0: every key alike, without key ranges.
        key_dist_a: Fraction = 0.002_312 in 0.0..=MAX,
        /// b of the power law; 0: every key alike, without key ranges.
        key_dist_b: Fraction = 0.346_7 in MIN_EXPONENT..=MAX_EXPONENT,
        /// Number of key ranges.
        keyrange_num: Integer = 30 in 1..=1_048_576, unit "ranges",
        /// a of the hotness a e^(b x) + c e^(d x) of the x-th hottest key range; a to d all 0: no
        /// key ranges.
        keyrange_dist_a: Fraction = 14.18 in MIN..=MAX,
        /// b of the hotness of key ranges.
        keyrange_dist_b: Fraction = KEYRANGE_DIST_B in MIN_EXPONENT..=MAX_EXPONENT,
        /// c of the hotness of key ranges.
        keyrange_dist_c: Fraction = 0.016_4 in MIN..=MAX,
        /// d of the hotness of key ranges.
        keyrange_dist_d: Fraction = KEYRANGE_DIST_D in MIN_EXPONENT..=MAX_EXPONENT,
        /// Location theta of the generalized Pareto distribution of the sizes of values.
        value_theta: Fraction = 0.0 in MIN..=MAX, unit "bytes",
        /// Shape k of the sizes of values.
        value_k: Fraction = 0.261_5 in MIN_EXPONENT..=MAX_EXPONENT,
        /// Scale sigma of the sizes of values.
        value_sigma: Fraction = 25.45 in MIN_SCALE..=MAX, unit "bytes",
        /// Maximum size of a value that is put. A longer draw is taken modulo it.
        mix_max_value_size: Bytes = 1 KiB in (MIN_VALUE_BYTES as u64) B..=MAX_VALUE_BYTES B,
        /// Location theta of the generalized Pareto distribution of the lengths of scans.
        iter_theta: Fraction = 0.0 in MIN..=MAX, unit "records",
        /// Shape k of the lengths of scans.
        iter_k: Fraction = 2.517 in MIN_EXPONENT..=MAX_EXPONENT,
        /// Scale sigma of the lengths of scans.
        iter_sigma: Fraction = 14.236 in MIN_SCALE..=MAX, unit "records",
        /// Bound of the length of a scan. Each draw is taken modulo it.
        mix_max_scan_len: Integer = 10_000 in 1..=(MAX_SCAN_BOUND as i64), unit "records",
        /// Whether operations are due at the rate A sin(B x + C) + D at x seconds, as an open loop.
        sine_mix_rate: Boolean = false,
        /// Time after which the rate is set anew.
        sine_mix_rate_interval_milliseconds: Integer = 5_000 in 100..=86_400_000, unit "ms",
        /// Part of sine_a within which the rate of an interval varies at random.
        sine_mix_rate_noise: Fraction = 0.0 in 0.0..=1.0,
        /// A of the rate, of all workers together.
        sine_a: Fraction = 1_000.0 in MIN_SINE_A..=MAX_PER_S, unit "operations/s",
        /// B of the rate.
        sine_b: Fraction = 0.000_073 in MIN_EXPONENT..=MAX_EXPONENT, unit "1/s",
        /// C of the rate.
        sine_c: Fraction = 0.0 in MIN_EXPONENT..=MAX_EXPONENT,
        /// D of the rate, of all workers together.
        sine_d: Fraction = 4_500.0 in 1.0..=MAX_PER_S, unit "operations/s",
        /// Size of the values after compression, as a percentage of their size.
        compressibility: Integer<u8> = 50 in 1..=100, unit "%",
        /// Records per transaction of the load.
        loadbatchsize: Integer = 1000 in 1..=1_000_000, unit "records",
    }
}

/// Settings that only a sine looks at.
const SINE: [&str; 6] = [
    "sine_mix_rate_interval_milliseconds",
    "sine_mix_rate_noise",
    "sine_a",
    "sine_b",
    "sine_c",
    "sine_d",
];

/// Settings that only a power law looks at.
const RANGES: [&str; 5] = [
    "keyrange_num",
    "keyrange_dist_a",
    "keyrange_dist_b",
    "keyrange_dist_c",
    "keyrange_dist_d",
];

/// Settings that only drawn sizes of values look at.
const SIZES: [&str; 4] = [
    "value_theta",
    "value_k",
    "value_sigma",
    "mix_max_value_size",
];

/// Settings that only seeks look at.
const SCANS: [&str; 4] = ["iter_theta", "iter_k", "iter_sigma", "mix_max_scan_len"];

/// Whether each setting that a plan gives can have an effect: those of the sine need a sine, those
/// of key ranges a power law, those of lengths operations that have them.
///
/// # Errors
/// The first that has none.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let values = |name: &str| given.get(name).map_or(&[][..], Vec::as_slice);
    let is_zero = |value: &Value| matches!(value, Value::Integer(0)) || *value == Value::Float(0.0);
    let always_zero = |name: &str| !values(name).is_empty() && values(name).iter().all(is_zero);
    let find = |names: &[&'static str]| {
        let mut names = names.iter().copied();
        names.find(|name| given.contains_key(*name))
    };
    // A fit states that there are no key ranges.
    let find_nonzero = |names: &[&'static str]| {
        let mut names = names.iter().copied();
        names.find(|name| !values(name).iter().all(is_zero))
    };
    // Whoever turns the sine off need not take its parameters out of a file.
    let has_no_rate = values("sine_mix_rate").is_empty();
    let is_uniform = always_zero("key_dist_a") || always_zero("key_dist_b");
    // Loaded values are drawn, too, unless they have a size.
    let has_size = |value: &Value| {
        value
            .to_string()
            .starts_with(|first: char| matches!(first, '1'..='9'))
    };
    let sizes = values("value_size");
    let are_loaded_fixed = !sizes.is_empty() && sizes.iter().all(has_size);
    let draws_no_sizes = always_zero("mix_put_ratio") && are_loaded_fixed;
    let unused = [
        (
            find_nonzero(&SINE).filter(|_| has_no_rate),
            "shapes the rate of sine_mix_rate=on, which is not given",
        ),
        (
            find_nonzero(&RANGES).filter(|_| is_uniform),
            "is not used where key_dist_a or key_dist_b is 0: remove one of them",
        ),
        (
            find(&SCANS).filter(|_| always_zero("mix_seek_ratio")),
            "is of seeks, and mix_seek_ratio=0 leaves none: remove one of them",
        ),
        (
            find(&SIZES).filter(|_| draws_no_sizes),
            "is of values that are put, and mix_put_ratio=0 leaves none: remove one of them",
        ),
    ];
    let mut unused = unused.into_iter();
    let found = unused.find_map(|(name, reason)| Some((name?, reason)));
    found.map_or(Ok(()), |(name, reason)| {
        let message = format!("{name} {reason}");
        Err(IneffectiveSetting { name, message })
    })
}
