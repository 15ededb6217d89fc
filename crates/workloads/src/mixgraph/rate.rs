//! The rate over time: db_bench's sine, set anew at intervals, as the times at which operations are
//! due.
//!
//! db_bench lets a rate limiter delay a closed loop. Here the same rates are an open loop: a stall
//! delays answers and no arrival. Nothing here allocates or locks.

use crate::generate::random::Random;
use trueput_record::Conditions;
use trueput_record::random::mix;

/// A rate of less than one operation per second leaves the one of the interval before, as one that
/// is not above 0 does in db_bench.
const MIN_PER_S: f64 = 1.0;

/// How much longer operations are due than a trial lasts, seconds: its end is another process's
/// work.
const MARGIN_S: f64 = 1.0;

/// The seed of the noise, which is the same for all workers.
const NOISE_SEED: u64 = 0x5eed_0f51_73ee;

/// The rate A sin(B x + C) + D, in operations per second of all workers together, at x seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SineRate {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    /// At least [`MIN_PER_S`].
    pub d: f64,
    /// The part of A by which the rate of an interval varies at random.
    pub noise: f64,
    /// Seconds after which the rate is set anew.
    pub interval_s: f64,
}

impl SineRate {
    /// The rate of the interval with this number, from 0, after one of the rate `before`.
    fn of_interval(&self, index: u64, before: f64) -> f64 {
        let start_s = index as f64 * self.interval_s;
        let rate = self.a * (self.b * start_s + self.c).sin() + self.d;
        let rate = self.with_noise(rate, index);
        if rate >= MIN_PER_S { rate } else { before }
    }

    /// db_bench's `AddNoise`: a whole number within half of A on either side, times the noise.
    fn with_noise(&self, rate: f64, index: u64) -> f64 {
        let band = self.a.abs() as u64;
        if self.noise == 0.0 || band == 0 {
            return rate;
        }
        let drawn = Random::new(mix(NOISE_SEED ^ index)).below(band);
        let off = drawn as f64 - (band / 2) as f64;
        let noisy = rate + off * self.noise;
        if noisy < 0.0 { rate } else { noisy }
    }

    /// The number of operations that are due before a time, seconds.
    fn due_until(self, time_s: f64) -> f64 {
        let mut intervals = Intervals::new(self);
        while intervals.start_s() + self.interval_s < time_s {
            intervals.advance();
        }
        intervals.due_before + (time_s - intervals.start_s()) * intervals.per_s
    }
}

/// The intervals of a rate, one after the other.
#[derive(Debug, Clone, Copy)]
struct Intervals {
    rate: SineRate,
    index: u64,
    /// The rate of the present one.
    per_s: f64,
    /// Operations that are due before the present one.
    due_before: f64,
}

impl Intervals {
    fn new(rate: SineRate) -> Self {
        Self {
            rate,
            index: 0,
            per_s: rate.of_interval(0, rate.d),
            due_before: 0.0,
        }
    }

    fn start_s(&self) -> f64 {
        self.index as f64 * self.rate.interval_s
    }

    fn due_at_end(&self) -> f64 {
        self.due_before + self.per_s * self.rate.interval_s
    }

    fn advance(&mut self) {
        self.due_before = self.due_at_end();
        self.index += 1;
        self.per_s = self.rate.of_interval(self.index, self.per_s);
    }

    /// When an operation is due, seconds, by its number from 0: never one before those of the
    /// present interval.
    fn due_s(&mut self, operation: u64) -> f64 {
        let operation = operation as f64;
        while operation >= self.due_at_end() {
            self.advance();
        }
        self.start_s() + (operation - self.due_before) / self.per_s
    }
}

/// The arrivals of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SineArrivals {
    rate: SineRate,
    /// Operations that are due until the trial ends.
    operations: u64,
    /// The mean rate of the measured part, operations per second.
    pub mean_per_s: f64,
}

impl SineArrivals {
    /// Those of a trial that ends by its duration, or else after so many operations.
    pub(super) fn new(rate: SineRate, operations: Option<u64>, conditions: &Conditions) -> Self {
        let begin_s = conditions.warm_up_s;
        let begin = rate.due_until(begin_s);
        let (end_s, end) = match conditions.duration_s {
            Some(duration_s) => {
                let end_s = begin_s + duration_s;
                (end_s, rate.due_until(end_s + MARGIN_S))
            }
            None => {
                let end = begin + operations.unwrap_or_default() as f64;
                (Intervals::new(rate).due_s(end as u64), end)
            }
        };
        let measured_s = (end_s - begin_s).max(1e-9);
        Self {
            rate,
            operations: end.ceil() as u64,
            mean_per_s: (rate.due_until(end_s) - begin) / measured_s,
        }
    }

    /// The times at which the operations of one of `workers` are due, nanoseconds since the start:
    /// the workers take turns. There are some more than the trial needs, since shares differ by
    /// one.
    pub(super) fn of_worker(self, worker: u32, workers: u32) -> SineDueTimes {
        let workers = u64::from(workers.max(1));
        SineDueTimes {
            intervals: Intervals::new(self.rate),
            next: worker.into(),
            step: workers,
            end: self.operations.saturating_add(2 * workers),
        }
    }
}

/// The times at which the operations of one worker are due, nanoseconds since the start.
pub(super) struct SineDueTimes {
    intervals: Intervals,
    /// The number of the next operation among those of all workers.
    next: u64,
    step: u64,
    end: u64,
}

impl Iterator for SineDueTimes {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let operation = self.next;
        if operation >= self.end {
            return None;
        }
        self.next += self.step;
        Some((self.intervals.due_s(operation) * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: SineRate = SineRate {
        a: 1_000.0,
        b: 0.5,
        c: 0.25,
        d: 4_500.0,
        noise: 0.0,
        interval_s: 2.0,
    };

    fn for_seconds(duration_s: f64) -> Conditions {
        Conditions {
            duration_s: Some(duration_s),
            ..Conditions::default()
        }
    }

    /// The operations that are due within each second.
    fn per_second(rate: SineRate, workers: u32, seconds: usize) -> Vec<u64> {
        let arrivals = SineArrivals::new(rate, None, &for_seconds(seconds as f64));
        let mut counts = vec![0; seconds];
        for worker in 0..workers {
            let mut before = 0;
            for due_ns in arrivals.of_worker(worker, workers) {
                assert!(due_ns >= before, "{due_ns} after {before}");
                before = due_ns;
                if let Some(count) = counts.get_mut((due_ns / 1_000_000_000) as usize) {
                    *count += 1;
                }
            }
            assert!(
                before >= seconds as u64 * 1_000_000_000,
                "the end is too early"
            );
        }
        counts
    }

    #[test]
    fn the_rate_follows_the_sine_and_changes_at_intervals() {
        for workers in [1, 3] {
            let counts = per_second(RATE, workers, 20);
            for (second, count) in counts.iter().enumerate() {
                let start_s = (second / 2 * 2) as f64;
                let expected = 1_000.0 * (0.5 * start_s + 0.25).sin() + 4_500.0;
                let off = (*count as f64 - expected).abs();
                assert!(off <= 1.0, "{workers} workers, second {second}: {count}");
            }
        }
    }

    #[test]
    fn a_rate_below_one_leaves_that_of_the_interval_before() {
        // At 0 s 500, at 2 s 100, at 4 s below 0, at 6 s 100 again.
        let rate = SineRate {
            a: 400.0,
            b: std::f64::consts::FRAC_PI_4,
            c: std::f64::consts::FRAC_PI_2,
            d: 100.0,
            ..RATE
        };
        let counts = per_second(rate, 1, 8);
        let expected = [500, 500, 100, 100, 100, 100, 100, 100_u64];
        let mut each = counts.iter().zip(expected);
        assert!(
            each.all(|(one, other)| one.abs_diff(other) <= 1),
            "{counts:?}"
        );
        let first = SineRate {
            c: -std::f64::consts::FRAC_PI_2,
            ..rate
        };
        assert_eq!(per_second(first, 1, 2), [100, 100], "there is none before");
    }

    #[test]
    fn noise_varies_the_rate_of_an_interval_within_half_of_the_amplitude() {
        let noisy = SineRate { noise: 0.5, ..RATE };
        let (noisy, plain) = (per_second(noisy, 2, 400), per_second(RATE, 1, 400));
        let off = noisy.iter().zip(&plain).step_by(2);
        let off: Vec<f64> = off
            .map(|(one, other)| *one as f64 - *other as f64)
            .collect();
        assert!(off.iter().all(|off| off.abs() <= 252.0), "{off:?}");
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        // Evenly from -250 to 250: a deviation of 144, of the mean of 200 a tenth.
        assert!(mean.abs() < 45.0, "{mean}");
        assert!(off.iter().any(|off| off.abs() > 150.0));
    }

    #[test]
    fn the_mean_rate_is_that_of_the_measured_part() {
        let timed = |warm_up_s, duration_s| Conditions {
            warm_up_s,
            duration_s,
            ..Conditions::default()
        };
        let mean = |conditions: &Conditions, operations| {
            SineArrivals::new(RATE, operations, conditions).mean_per_s
        };
        let of_second = |start_s: f64| 1_000.0 * (0.5 * start_s + 0.25).sin() + 4_500.0;
        let whole = mean(&timed(0.0, Some(4.0)), None);
        let expected = (of_second(0.0) + of_second(2.0)) / 2.0;
        assert!((whole - expected).abs() < 1e-6, "{whole}");
        let later = mean(&timed(2.0, Some(2.0)), None);
        assert!((later - of_second(2.0)).abs() < 1e-6, "{later}");
        let counted = mean(&timed(2.0, None), Some(1_000));
        assert!((counted - of_second(2.0)).abs() < 6.0, "{counted}");
    }

    #[test]
    fn each_worker_has_times_for_its_share_of_a_number_of_operations() {
        let conditions = Conditions {
            warm_up_s: 1.0,
            ..Conditions::default()
        };
        let arrivals = SineArrivals::new(RATE, Some(1_000), &conditions);
        for workers in [1, 3, 7] {
            for worker in 0..workers {
                let due = arrivals.of_worker(worker, workers);
                let measured = due.filter(|due_ns| *due_ns >= 1_000_000_000).count();
                let share = 1_000_usize.div_ceil(workers as usize);
                assert!(
                    (share..share + 4).contains(&measured),
                    "{measured} of {share}"
                );
            }
        }
    }
}
