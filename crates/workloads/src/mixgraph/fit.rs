//! Fits the parameters of this workload to a user's own trace, as the paper does: the popularity of
//! keys, the hotness of key ranges, the sizes of values, the lengths of scans, the rate over time.

mod least_squares;
mod pareto;
mod popularity;
mod sine;

use super::error::MixgraphError;
use super::keys::{KeyRanges, PowerLaw, TwoTermExponential};
use super::lengths::{GeneralizedPareto, ScanLengths, ValueSizes};
use super::settings;
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::trace::{FormatChoice, Observations, TraceError, observe};
use pareto::{distance, fit_pareto};
use popularity::{KeyRangeFit, PowerLawFit, fit_key_ranges, fit_power_law};
use sine::fit_sine;
use trueput_record::Value;
use trueput_record::text::counted;
use trueput_record::value::format_bytes;

/// Operations without which nothing is fitted.
const MIN_OPERATIONS: u64 = 1_000;

/// The greatest part of the operations that the most popular key gets, to six digits: with 1, no
/// other key gets any.
const MAX_KEY_PART: f64 = 0.999_999;

/// The greatest distance of the distribution functions at which lengths follow their distribution.
const MAX_DISTANCE: f64 = 0.1;

/// The limits of the settings.
const MAX_VALUE_BYTES: u32 = settings::MAX_VALUE_BYTES as u32;
const MAX_SCAN_BOUND: u32 = settings::MAX_SCAN_BOUND as u32;
const PER_S: std::ops::RangeInclusive<f64> = 1.0..=1e7;

/// Why nothing can be fitted to a trace. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The trace cannot be read, or is damaged.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// It has too few gets, puts and scans.
    #[error(
        "{operations} gets, puts and scans are too few to fit a distribution to; {MIN_OPERATIONS} \
         or more are needed"
    )]
    FewOperations {
        /// Those that it has.
        operations: u64,
    },
    /// There are more key ranges than keys.
    #[error(
        "{ranges} key ranges cannot be fitted: the trace has {}; give fewer, or none",
        counted(*.keys, "key")
    )]
    FewKeys {
        /// The key ranges asked for.
        ranges: u64,
        /// The keys of the trace.
        keys: u64,
    },
    /// The key ranges cannot be fitted.
    #[error("{ranges} key ranges cannot be fitted: {reason}; give fewer, or none")]
    KeyRanges {
        /// The key ranges asked for.
        ranges: u64,
        /// The reason, one clause.
        reason: &'static str,
    },
}

/// The settings that a trace gives, and how well they fit it.
#[derive(Debug, Clone, PartialEq)]
pub struct MixgraphFit {
    /// Settings of the workload, in the order of its documentation.
    pub settings: Vec<(&'static str, Value)>,
    /// What was fitted and how well, and what the trace does not say: a clause for each part.
    pub notes: Vec<String>,
    /// What does not fit: a clause for each part.
    pub warnings: Vec<String>,
}

impl MixgraphFit {
    fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.settings.push((name, value.into()));
    }

    /// Sets a number, to six digits.
    fn set_number(&mut self, name: &'static str, value: f64) {
        self.set(name, rounded(value));
    }

    /// Sets the location, the shape and the scale of a distribution, as they are.
    fn set_pareto(&mut self, [theta, k, sigma]: [&'static str; 3], pareto: GeneralizedPareto) {
        self.set(theta, pareto.theta);
        self.set(k, pareto.k);
        self.set(sigma, pareto.sigma);
    }

    /// Tells how far `lengths` are from those that are drawn.
    fn add_distance(&mut self, lengths: &str, distance: f64) {
        self.notes.push(format!(
            "{lengths}: greatest distance of the distribution functions {distance:.4}"
        ));
        if distance > MAX_DISTANCE {
            self.warnings.push(format!(
                "{lengths} do not follow the generalized Pareto distribution: the distance \
                 {distance:.4} is above {MAX_DISTANCE}; the workload custom or a replay may be \
                 closer"
            ));
        }
    }
}

/// A number to six digits: more would not be exact.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Fits this workload's parameters to a trace, with so many key ranges; 0: none.
///
/// # Errors
/// The trace cannot be read or has too few operations, or too few keys for the key ranges.
pub fn fit_trace(
    file: &str,
    format: FormatChoice,
    key_ranges: u64,
) -> Result<MixgraphFit, FitError> {
    fit(&observe(file, format)?, key_ranges)
}

fn fit(seen: &Observations, key_ranges: u64) -> Result<MixgraphFit, FitError> {
    let operations = seen.gets + seen.puts + seen.scans;
    if operations < MIN_OPERATIONS {
        return Err(FitError::FewOperations { operations });
    }
    let mut fit = MixgraphFit {
        settings: Vec::new(),
        notes: Vec::new(),
        warnings: Vec::new(),
    };
    let keys = seen.accesses.len() as u64;
    fit.notes.push(format!(
        "{} on {}: {}, {}, {}",
        counted(operations, "operation"),
        counted(keys, "key"),
        counted(seen.gets, "get"),
        counted(seen.puts, "put"),
        counted(seen.scans, "seek")
    ));
    fit.set("num", keys);
    add_key_size(&mut fit, &seen.key_bytes);
    for (name, count) in [
        ("mix_get_ratio", seen.gets),
        ("mix_put_ratio", seen.puts),
        ("mix_seek_ratio", seen.scans),
    ] {
        fit.set_number(name, count as f64 / operations as f64);
    }
    // Where one number decides all, keys that are seldom used are always got or always put.
    fit.set("one_draw", false);
    if seen.deletes > 0 {
        let deletes = counted(seen.deletes, "delete");
        fit.notes
            .push(format!("{deletes} left out: mixgraph has none"));
    }
    add_keys(&mut fit, seen, key_ranges)?;
    add_value_sizes(&mut fit, seen);
    add_scan_lengths(&mut fit, seen);
    add_rate(&mut fit, seen);
    Ok(fit)
}

/// Adds the length of every key: the mean of the trace's, as far as keys can have it.
fn add_key_size(fit: &mut MixgraphFit, lengths: &[u32]) {
    let sum: u64 = lengths.iter().copied().map(u64::from).sum();
    let mean = sum as f64 / lengths.len().max(1) as f64;
    let size = (mean.round() as usize).clamp(MIN_KEY_BYTES, MAX_KEY_BYTES);
    fit.set("key_size", size as u64);
    let limits = MIN_KEY_BYTES..=MAX_KEY_BYTES;
    let is_beyond = |bytes: &&u32| !limits.contains(&(**bytes as usize));
    let beyond = lengths.iter().filter(is_beyond).count() as u64;
    if beyond > 0 {
        fit.notes.push(format!(
            "{} of fewer than {MIN_KEY_BYTES} or more than {MAX_KEY_BYTES} bytes: every key of \
             mixgraph gets {size}",
            counted(beyond, "key")
        ));
    }
}

/// Adds the popularity of keys and the hotness of key ranges.
fn add_keys(fit: &mut MixgraphFit, seen: &Observations, key_ranges: u64) -> Result<(), FitError> {
    let keys = seen.accesses.len() as u64;
    let (law, ranges) = if let Some(size) = keys.checked_div(key_ranges) {
        let refused = |reason| FitError::KeyRanges {
            ranges: key_ranges,
            reason,
        };
        if size == 0 {
            let ranges = key_ranges;
            return Err(FitError::FewKeys { ranges, keys });
        }
        if !keys.is_multiple_of(size) {
            fit.notes.push(format!(
                "{} at the end left out: {key_ranges} ranges have {} each",
                counted(keys % size, "key"),
                counted(size, "key")
            ));
        }
        let law = fit_power_law(&accesses_by_rank(&seen.accesses, size), key_ranges);
        let none = "no sum of two exponentials is near to how often they are used";
        let ranges = fit_key_ranges(&parts_of_ranges(&seen.accesses, size));
        let ranges = ranges.ok_or_else(|| refused(none))?;
        KeyRanges::new(keys, key_ranges, ranges.hotness).map_err(|error| match error {
            MixgraphError::UnevenRanges { .. } => {
                refused("the hottest is used too much more often than the coldest")
            }
            _ => refused(none),
        })?;
        (law, Some(ranges))
    } else {
        (
            fit_power_law(&accesses_by_rank(&seen.accesses, keys), 1),
            None,
        )
    };
    match law {
        Some(PowerLawFit {
            law: PowerLaw { a, b },
            determination,
            keys,
        }) => {
            fit.set_number("key_dist_a", a.min(MAX_KEY_PART));
            fit.set_number("key_dist_b", b);
            fit.notes.push(format!(
                "popularity of keys: R^2 {determination:.4} of the logarithms, for the {keys} most \
                 popular"
            ));
        }
        None => {
            fit.set_number("key_dist_a", 0.0);
            fit.notes.push("popularity of keys: all alike".to_owned());
        }
    }
    add_key_ranges(fit, key_ranges, ranges.filter(|_| law.is_some()));
    Ok(())
}

fn add_key_ranges(fit: &mut MixgraphFit, count: u64, ranges: Option<KeyRangeFit>) {
    let none = TwoTermExponential {
        a: 0.0,
        b: 0.0,
        c: 0.0,
        d: 0.0,
    };
    if let Some(KeyRangeFit { determination, .. }) = ranges {
        fit.set("keyrange_num", count);
        fit.notes
            .push(format!("{count} key ranges: R^2 {determination:.4}"));
    } else if count > 0 {
        let reason = "mixgraph chooses among all keys alike";
        fit.notes
            .push(format!("{count} key ranges are left out: {reason}"));
    }
    let hotness = ranges.map_or(none, |ranges| ranges.hotness);
    fit.set_number("keyrange_dist_a", hotness.a);
    fit.set_number("keyrange_dist_b", hotness.b);
    fit.set_number("keyrange_dist_c", hotness.c);
    fit.set_number("keyrange_dist_d", hotness.d);
}

/// The accesses of the most popular key of each range of `size` keys together, of the second, and
/// so on. Keys that are left over belong to no range.
fn accesses_by_rank(accesses: &[u64], size: u64) -> Vec<u64> {
    let mut sums = vec![0; size as usize];
    for range in accesses.chunks_exact(size.max(1) as usize) {
        let mut sorted = range.to_vec();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        for (sum, count) in sums.iter_mut().zip(sorted) {
            *sum += count;
        }
    }
    sums
}

/// The parts of the accesses that the ranges of `size` keys get, the hottest first.
fn parts_of_ranges(accesses: &[u64], size: u64) -> Vec<f64> {
    let ranges = accesses.chunks_exact(size.max(1) as usize);
    let mut counts: Vec<u64> = ranges.map(|range| range.iter().sum()).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let total = counts.iter().sum::<u64>().max(1) as f64;
    counts.iter().map(|count| *count as f64 / total).collect()
}

/// Lengths, those that are longer than `longest` as long as that, and the number of those.
fn cut(lengths: &[u32], longest: u32) -> (Vec<u32>, u64) {
    let longer = lengths.iter().filter(|length| **length > longest).count();
    let cut = lengths.iter().map(|length| *length.min(&longest));
    (cut.collect(), longer as u64)
}

/// The distribution with the parameters that settings state. Its location is exact: the lengths of
/// values that are all alike depend on half a byte of it.
fn stated(fitted: GeneralizedPareto) -> GeneralizedPareto {
    GeneralizedPareto {
        theta: fitted.theta,
        k: rounded(fitted.k),
        sigma: rounded(fitted.sigma),
    }
}

fn add_value_sizes(fit: &mut MixgraphFit, seen: &Observations) {
    let (sizes, longer) = cut(&seen.value_bytes, MAX_VALUE_BYTES);
    let shortest = MIN_VALUE_BYTES as u32;
    let Some(fitted) = fit_pareto(&sizes, shortest) else {
        if seen.puts > 0 {
            let note = "sizes of values are not stated: those of the defaults";
            fit.notes.push(note.to_owned());
        }
        return;
    };
    let drawn = ValueSizes {
        pareto: stated(fitted.pareto),
        max_bytes: fitted.longest.max(MIN_VALUE_BYTES as u64),
    };
    fit.set_pareto(["value_theta", "value_k", "value_sigma"], drawn.pareto);
    fit.set("mix_max_value_size", drawn.max_bytes);
    let shorter = sizes.iter().filter(|size| **size < shortest).count() as u64;
    let stored: Vec<u32> = sizes.iter().map(|size| *size.max(&shortest)).collect();
    fit.add_distance(
        &format!("sizes of {}", counted(sizes.len() as u64, "value")),
        distance(&stored, |unit| drawn.bytes(unit) as u64),
    );
    if longer > 0 {
        fit.notes.push(format!(
            "{} longer than {}, the longest of mixgraph: fitted as that long",
            counted(longer, "value"),
            format_bytes(MAX_VALUE_BYTES.into())
        ));
    }
    if shorter > 0 {
        fit.notes.push(format!(
            "{} shorter than {shortest} bytes, the shortest of mixgraph: put as that long",
            counted(shorter, "value")
        ));
    }
}

fn add_scan_lengths(fit: &mut MixgraphFit, seen: &Observations) {
    // The record that is sought.
    const SHORTEST_SCAN: u32 = 1;
    // A draw is taken modulo the bound, which no scan is as long as.
    let longest = MAX_SCAN_BOUND - 1;
    let (lengths, longer) = cut(&seen.scan_records, longest);
    let Some(fitted) = fit_pareto(&lengths, SHORTEST_SCAN) else {
        if seen.scans > 0 {
            let note = "lengths of scans are not stated: those of the defaults";
            fit.notes.push(note.to_owned());
        }
        return;
    };
    let drawn = ScanLengths {
        pareto: stated(fitted.pareto),
        modulus: fitted.longest + 1,
    };
    fit.set_pareto(["iter_theta", "iter_k", "iter_sigma"], drawn.pareto);
    fit.set("mix_max_scan_len", drawn.modulus);
    fit.add_distance(
        &format!("lengths of {}", counted(lengths.len() as u64, "scan")),
        distance(&lengths, |unit| drawn.records(unit).into()),
    );
    if longer > 0 {
        fit.notes.push(format!(
            "{} longer than {longest} records, the longest of mixgraph: fitted as that long",
            counted(longer, "scan")
        ));
    }
}

fn add_rate(fit: &mut MixgraphFit, seen: &Observations) {
    let Some(rate) = fit_sine(&seen.times_ns) else {
        fit.notes.push(if seen.times_ns.is_empty() {
            "the trace states no times: a closed loop".to_owned()
        } else {
            "all requests have the same time, which states no rate: a closed loop".to_owned()
        });
        return;
    };
    let is_within = PER_S.contains(&rate.d) && rate.a <= *PER_S.end();
    if !is_within {
        let note = format!(
            "a rate of about {:.3}/s is beyond the settings: a closed loop",
            rate.d
        );
        fit.notes.push(note);
        return;
    }
    fit.set("sine_mix_rate", true);
    let interval_ms = (rate.interval_s * 1e3).round().clamp(100.0, 86_400_000.0);
    fit.set("sine_mix_rate_interval_milliseconds", interval_ms as u64);
    fit.set_number("sine_a", rate.a);
    fit.set_number("sine_b", rate.b);
    fit.set_number("sine_c", rate.c);
    fit.set_number("sine_d", rate.d);
    fit.notes.push(if rate.a > 0.0 {
        format!("rate: a sine, R^2 {:.4}", rate.determination)
    } else {
        format!("rate: {:.1}/s, no sine stands out of the noise", rate.d)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::random::Random;

    fn number(fit: &MixgraphFit, name: &str) -> Option<f64> {
        let found = fit.settings.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_string().parse().unwrap())
    }

    /// Accesses to ranges of 400 keys, each half as hot as the one before, in another order; within
    /// each the popularity follows a power law.
    fn by_ranges() -> Observations {
        let law = PowerLaw { a: 0.05, b: 0.5 };
        let order = [2, 0, 3, 1];
        let mut random = Random::new(1);
        let mut seen = Observations {
            gets: 300_000,
            puts: 100_000,
            accesses: vec![0; 1_600],
            key_bytes: [vec![47; 640], vec![48; 960]].concat(),
            ..Observations::default()
        };
        for _ in 0..400_000 {
            let coin = random.below(15);
            let range = order[[8, 12, 14, 15].iter().position(|end| coin < *end).unwrap()];
            let place = (law.rank(random.unit_f64()) * 7 + range) % 400;
            seen.accesses[(range * 400 + place) as usize] += 1;
        }
        seen
    }

    #[test]
    fn hot_ranges_and_the_popularity_within_them_are_found_again() {
        let fit = fit(&by_ranges(), 4).unwrap();
        assert_eq!(number(&fit, "num"), Some(1_600.0));
        assert_eq!(number(&fit, "key_size"), Some(48.0));
        assert_eq!(number(&fit, "mix_put_ratio"), Some(0.25));
        assert_eq!(number(&fit, "keyrange_num"), Some(4.0));
        let of = |name| number(&fit, name).unwrap();
        let off = |found: f64, right: f64| (found / right - 1.0).abs();
        assert!(off(of("key_dist_a"), 0.05) < 0.05, "{fit:?}");
        assert!(off(of("key_dist_b"), 0.5) < 0.03, "{fit:?}");
        let hotness = TwoTermExponential {
            a: of("keyrange_dist_a"),
            b: of("keyrange_dist_b"),
            c: of("keyrange_dist_c"),
            d: of("keyrange_dist_d"),
        };
        for (rank, part) in (1..).zip([8.0, 4.0, 2.0, 1.0]) {
            let found = hotness.hotness(rank);
            assert!((found - part / 15.0).abs() < 0.01, "{rank}: {found}");
        }
        // Without ranges, those of the settings are off.
        let whole = super::fit(&by_ranges(), 0).unwrap();
        assert_eq!(number(&whole, "keyrange_dist_a"), Some(0.0));
        assert_eq!(number(&whole, "keyrange_num"), None);
    }

    #[test]
    fn what_a_trace_does_not_state_is_left_to_the_defaults_and_told() {
        let mut seen = Observations {
            gets: 900,
            scans: 100,
            deletes: 7,
            accesses: vec![10; 100],
            key_bytes: vec![3; 100],
            ..Observations::default()
        };
        let bare = fit(&seen, 0).unwrap();
        for name in ["value_k", "iter_k", "sine_mix_rate", "key_dist_b"] {
            assert!(
                bare.settings.iter().all(|(known, _)| *known != name),
                "{name}"
            );
        }
        assert_eq!(number(&bare, "key_dist_a"), Some(0.0));
        assert_eq!(number(&bare, "key_size"), Some(8.0));
        let notes = bare.notes.join("\n");
        for part in [
            "7 deletes",
            "100 keys of fewer than 8",
            "every key of mixgraph gets 8",
            "all alike",
            "lengths of scans",
            "states no times",
        ] {
            assert!(notes.contains(part), "{notes}");
        }
        seen.gets = 5;
        let few = FitError::FewOperations { operations: 105 };
        assert_eq!(fit(&seen, 0), Err(few));
    }

    #[test]
    fn more_key_ranges_than_keys_are_refused() {
        let seen = by_ranges();
        let message = fit(&seen, 2_000).unwrap_err().to_string();
        let expected = "2000 key ranges cannot be fitted: the trace has 1,600 keys; give fewer, \
                        or none";
        assert_eq!(message, expected);
    }

    #[test]
    fn lengths_and_times_become_settings_within_their_limits() {
        let values = GeneralizedPareto {
            theta: 0.0,
            k: 0.261_5,
            sigma: 25.45,
        };
        let mut random = Random::new(2);
        let mut draw = || values.length(1.0 - random.unit_f64()).min(5_000_000) as u32;
        let lengths: Vec<u32> = (0..50_000).map(|_| draw()).collect();
        let longest = *lengths.iter().max().unwrap();
        let seen = Observations {
            puts: 50_000,
            scans: 50_000,
            accesses: vec![1_000; 100],
            key_bytes: vec![20; 100],
            value_bytes: lengths.clone(),
            scan_records: lengths,
            times_ns: (0..100_000).map(|index| index * 1_000_000).collect(),
            ..Observations::default()
        };
        let fit = fit(&seen, 0).unwrap();
        for name in ["value_k", "iter_k"] {
            let found = number(&fit, name).unwrap();
            assert!((found - 0.261_5).abs() < 0.03, "{name}: {found}");
        }
        let longest = f64::from(longest);
        assert_eq!(number(&fit, "mix_max_value_size"), Some(longest));
        assert_eq!(number(&fit, "mix_max_scan_len"), Some(longest + 1.0));
        let rate = number(&fit, "sine_d").unwrap();
        assert!((rate - 1_000.0).abs() < 1.0, "{rate}");
        assert_eq!(number(&fit, "sine_a"), Some(0.0));
    }

    /// A fit of values of these sizes, put under one key at one time.
    fn of_values(sizes: Vec<u32>) -> MixgraphFit {
        let seen = Observations {
            puts: sizes.len() as u64,
            accesses: vec![sizes.len() as u64],
            key_bytes: vec![20],
            times_ns: vec![0; sizes.len()],
            value_bytes: sizes,
            ..Observations::default()
        };
        fit(&seen, 0).unwrap()
    }

    /// The sizes that the workload draws with the settings of a fit.
    fn drawn_sizes(fit: &MixgraphFit) -> Vec<usize> {
        let of = |name| number(fit, name).unwrap();
        let sizes = ValueSizes {
            pareto: GeneralizedPareto {
                theta: of("value_theta"),
                k: of("value_k"),
                sigma: of("value_sigma"),
            },
            max_bytes: of("mix_max_value_size") as u64,
        };
        let units = (0..1_000).map(|point| (f64::from(point) + 0.5) / 1e3);
        units.map(|unit| sizes.bytes(unit)).collect()
    }

    #[test]
    fn values_of_one_size_are_drawn_with_that_size_as_far_as_there_are_such() {
        const LONGEST: u32 = 1 << 20;
        for (given, drawn, note) in [
            (12, 12, None),
            (77, 77, None),
            (199_999, 199_999, None),
            (200_000, 200_000, None),
            (1_000_000, 1_000_000, None),
            (LONGEST, LONGEST, None),
            (3, 12, Some("1,000 values shorter than 12 bytes")),
            (5 << 20, LONGEST, Some("1,000 values longer than 1 MiB")),
        ] {
            let fit = of_values(vec![given; 1_000]);
            let is_right = |size: &usize| *size == drawn as usize;
            assert!(drawn_sizes(&fit).iter().all(is_right), "{given}: {fit:?}");
            let notes = fit.notes.join("\n");
            assert!(notes.contains("functions 0.0000"), "{notes}");
            let tells = |part: &str| notes.contains(part);
            assert_eq!(tells(" shorter ") || tells(" longer "), note.is_some());
            assert!(note.is_none_or(tells), "{notes}");
        }
    }

    #[test]
    fn the_distance_that_is_told_is_that_of_the_sizes_that_are_drawn() {
        let sizes = [vec![100; 900], vec![1_000; 90], vec![900_000; 10]].concat();
        let fit = of_values(sizes.clone());
        let stated = fit.notes.iter().find(|note| note.starts_with("sizes of"));
        let (_, stated) = stated.unwrap().rsplit_once(' ').unwrap();
        let drawn: Vec<u32> = drawn_sizes(&fit).iter().map(|size| *size as u32).collect();
        let part = |sizes: &[u32], most: u32| {
            let at_most = sizes.iter().filter(|size| **size <= most).count();
            at_most as f64 / sizes.len() as f64
        };
        let off = |most: u32| (part(&sizes, most) - part(&drawn, most)).abs();
        let ends = sizes.iter().chain(&drawn);
        let greatest = ends.map(|size| off(*size)).fold(0.0, f64::max);
        let stated: f64 = stated.parse().unwrap();
        assert!((stated - greatest).abs() < 2e-3, "{stated}: {greatest}");
    }

    #[test]
    fn the_defaults_fit_their_own_sizes_and_other_sizes_are_warned_of() {
        let defaults = ValueSizes {
            pareto: GeneralizedPareto {
                theta: 0.0,
                k: 0.261_5,
                sigma: 25.45,
            },
            max_bytes: 1_024,
        };
        let mut random = Random::new(3);
        let mut draw = || defaults.bytes(1.0 - random.unit_f64()) as u32;
        let fit = of_values((0..30_000).map(|_| draw()).collect());
        let mean = |sizes: &[usize]| sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        let drawn = drawn_sizes(&fit);
        assert!(
            (mean(&drawn) / defaults.mean() - 1.0).abs() < 0.05,
            "{fit:?}"
        );
        let pile = drawn.iter().filter(|size| **size == 12).count();
        assert!(pile.abs_diff(360) < 15, "{pile} of 1,000");
        assert!(fit.warnings.is_empty(), "{fit:?}");
        let fit = of_values([[10; 500], [1_000; 500]].concat());
        assert_eq!(fit.warnings.len(), 1, "{fit:?}");
        assert!(fit.warnings[0].starts_with("sizes of 1,000 values do not"));
    }

    #[test]
    fn requests_that_begin_at_one_time_have_times_and_no_rate() {
        let fit = of_values(vec![100; 1_000]);
        let notes = fit.notes.join("\n");
        assert!(notes.contains("all requests have the same time"), "{notes}");
        assert!(!notes.contains("states no times"), "{notes}");
        let counts = "1,000 operations on 1 key: 0 gets, 1,000 puts, 0 seeks";
        assert!(notes.contains(counts), "{notes}");
    }

    #[test]
    fn scans_as_long_as_the_bound_are_fitted_as_one_shorter() {
        let seen = Observations {
            gets: 1_000,
            scans: 1,
            accesses: vec![1_001],
            key_bytes: vec![2_000],
            scan_records: vec![1_000_000],
            ..Observations::default()
        };
        let fit = fit(&seen, 0).unwrap();
        assert_eq!(number(&fit, "mix_max_scan_len"), Some(1e6));
        assert_eq!(number(&fit, "iter_theta"), Some(999_998.5));
        let notes = fit.notes.join("\n");
        for part in [
            "1,001 operations on 1 key: 1,000 gets, 0 puts, 1 seek",
            "1 key of fewer than 8 or more than 1000 bytes",
            "lengths of 1 scan: greatest distance of the distribution functions 0.0000",
            "1 scan longer than 999999 records",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
    }
}
