//! The settings, named as db_bench's flags. Their defaults are the values of RocksDB's published
//! commands for the workload of ZippyDB, but for the number of records, the sizes of loaded values
//! and the rate.

use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use trueput_engine::parameters;

const KEYRANGE_DIST_B: f64 = -2.917;
const KEYRANGE_DIST_D: f64 = -0.080_82;

/// The bounds of parameters that may have either sign.
const MIN: f64 = -1e9;
const MAX: f64 = 1e9;

/// The bounds of exponents.
const MIN_EXPONENT: f64 = -100.0;
const MAX_EXPONENT: f64 = 100.0;

/// The smallest scale of a distribution.
const MIN_SCALE: f64 = 1e-6;

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
        mix_max_value_size: Bytes = 1 KiB in (MIN_VALUE_BYTES as u64) B..=1 MiB,
        /// Location theta of the generalized Pareto distribution of the lengths of scans.
        iter_theta: Fraction = 0.0 in MIN..=MAX, unit "records",
        /// Shape k of the lengths of scans.
        iter_k: Fraction = 2.517 in MIN_EXPONENT..=MAX_EXPONENT,
        /// Scale sigma of the lengths of scans.
        iter_sigma: Fraction = 14.236 in MIN_SCALE..=MAX, unit "records",
        /// Bound of the length of a scan. Each draw is taken modulo it.
        mix_max_scan_len: Integer = 10_000 in 1..=1_000_000, unit "records",
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
