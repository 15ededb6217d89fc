//! Fits the parameters of this workload to a user's own trace, as the paper does: the popularity of
//! keys, the hotness of key ranges, the sizes of values, the lengths of scans, the rate over time.

mod least_squares;
mod pareto;
mod popularity;
mod sine;

use super::error::MixgraphError;
use super::keys::{KeyRanges, PowerLaw, TwoTermExponential};
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::trace::{FormatChoice, Observations, TraceError, observe};
use pareto::fit_pareto;
use popularity::{KeyRangeFit, PowerLawFit, fit_key_ranges, fit_power_law};
use sine::fit_sine;
use trueput_record::Value;

/// Operations without which nothing is fitted.
const MIN_OPERATIONS: u64 = 1_000;

/// The limits of the settings.
const MAX_VALUE_BYTES: u64 = 1 << 20;
const MAX_SCAN_RECORDS: u64 = 1_000_000;
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
    /// The key ranges cannot be fitted.
    #[error("{ranges} key ranges cannot be fitted: {source}; give fewer, or none")]
    KeyRanges {
        /// The key ranges asked for.
        ranges: u64,
        /// What would be refused.
        source: MixgraphError,
    },
}

/// The settings that a trace gives, and how well they fit it.
#[derive(Debug, Clone, PartialEq)]
pub struct MixgraphFit {
    /// Settings of the workload, in the order of its documentation.
    pub settings: Vec<(&'static str, Value)>,
    /// What was fitted and how well, and what the trace does not say: a clause for each part.
    pub notes: Vec<String>,
}

impl MixgraphFit {
    fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.settings.push((name, value.into()));
    }

    /// Sets a number, to six digits: more would not be exact.
    fn set_number(&mut self, name: &'static str, value: f64) {
        let rounded = format!("{value:.5e}").parse().unwrap_or(value);
        self.set(name, rounded);
    }
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
    };
    let keys = seen.accesses.len() as u64;
    fit.set("num", keys);
    let key_bytes = (seen.mean_key_bytes.round() as usize).clamp(MIN_KEY_BYTES, MAX_KEY_BYTES);
    fit.set("key_size", key_bytes as u64);
    for (name, count) in [
        ("mix_get_ratio", seen.gets),
        ("mix_put_ratio", seen.puts),
        ("mix_seek_ratio", seen.scans),
    ] {
        fit.set_number(name, count as f64 / operations as f64);
    }
    // Where one number decides all, keys that are seldom used are always got or always put.
    fit.set("one_draw", false);
    fit.notes.push(format!(
        "{operations} operations on {keys} keys: {} gets, {} puts, {} seeks",
        seen.gets, seen.puts, seen.scans
    ));
    if seen.deletes > 0 {
        let deletes = seen.deletes;
        fit.notes
            .push(format!("{deletes} deletes are left out: mixgraph has none"));
    }
    add_keys(&mut fit, seen, key_ranges)?;
    add_value_sizes(&mut fit, seen);
    add_scan_lengths(&mut fit, seen);
    add_rate(&mut fit, seen);
    Ok(fit)
}

/// Adds the popularity of keys and the hotness of key ranges.
fn add_keys(fit: &mut MixgraphFit, seen: &Observations, key_ranges: u64) -> Result<(), FitError> {
    let keys = seen.accesses.len() as u64;
    let (law, ranges) = if key_ranges > 0 {
        let refused = |source| FitError::KeyRanges {
            ranges: key_ranges,
            source,
        };
        let few = MixgraphError::FewRecords {
            ranges: key_ranges,
            records: keys,
        };
        let size = keys / key_ranges;
        if size == 0 {
            return Err(refused(few));
        }
        let law = fit_power_law(&accesses_by_rank(&seen.accesses, size), key_ranges);
        let none = || refused(MixgraphError::NoHotRange { ranges: key_ranges });
        let ranges = fit_key_ranges(&parts_of_ranges(&seen.accesses, size)).ok_or_else(none)?;
        KeyRanges::new(keys, key_ranges, ranges.hotness).map_err(refused)?;
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
            fit.set_number("key_dist_a", a);
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

fn add_value_sizes(fit: &mut MixgraphFit, seen: &Observations) {
    let Some(sizes) = fit_pareto(&seen.value_bytes) else {
        if seen.puts > 0 {
            let note = "sizes of values are not stated: those of the defaults";
            fit.notes.push(note.to_owned());
        }
        return;
    };
    fit.set_number("value_theta", sizes.pareto.theta);
    fit.set_number("value_k", sizes.pareto.k);
    fit.set_number("value_sigma", sizes.pareto.sigma);
    let longest = sizes.longest.clamp(MIN_VALUE_BYTES as u64, MAX_VALUE_BYTES);
    fit.set("mix_max_value_size", longest);
    fit.notes.push(format!(
        "sizes of {} values: greatest distance of the distribution functions {:.4}",
        seen.value_bytes.len(),
        sizes.distance
    ));
}

fn add_scan_lengths(fit: &mut MixgraphFit, seen: &Observations) {
    let Some(lengths) = fit_pareto(&seen.scan_records) else {
        if seen.scans > 0 {
            let note = "lengths of scans are not stated: those of the defaults";
            fit.notes.push(note.to_owned());
        }
        return;
    };
    fit.set_number("iter_theta", lengths.pareto.theta);
    fit.set_number("iter_k", lengths.pareto.k);
    fit.set_number("iter_sigma", lengths.pareto.sigma);
    // A draw is taken modulo the bound, which no scan is as long as.
    fit.set(
        "mix_max_scan_len",
        (lengths.longest + 1).min(MAX_SCAN_RECORDS),
    );
    fit.notes.push(format!(
        "lengths of {} scans: greatest distance of the distribution functions {:.4}",
        seen.scan_records.len(),
        lengths.distance
    ));
}

fn add_rate(fit: &mut MixgraphFit, seen: &Observations) {
    let Some(rate) = fit_sine(&seen.times_ns) else {
        fit.notes
            .push("the trace states no times: a closed loop".to_owned());
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
    use crate::mixgraph::lengths::GeneralizedPareto;

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
            mean_key_bytes: 47.6,
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
            mean_key_bytes: 3.0,
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
        for part in ["7 deletes", "all alike", "lengths of scans", "no times"] {
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
        assert!(
            message.contains("2000 key ranges cannot be fitted"),
            "{message}"
        );
        assert!(message.contains("the 1600 records"), "{message}");
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
            mean_key_bytes: 20.0,
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
}
