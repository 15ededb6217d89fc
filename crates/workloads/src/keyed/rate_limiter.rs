//! A rate for writers that work beside others: so many transactions begin together in each period,
//! and what a period lacks is not made up for.

use crate::Meter;
use trueput_record::{Measurement, Value};

/// The part of a rate that is enough to keep it: `chart_all.sh` of mdcallag/mytools.
const SUSTAINED_PART: f64 = 0.95;

const NS_PER_S: u64 = 1_000_000_000;

/// Lets one worker begin so many transactions a second.
///
/// The transactions of a period begin one after the other, without a pause. Periods have a fixed
/// schedule, so a worker that wakes late delays only that period. A period whose transactions take
/// longer is followed by the next one at once, and the schedule begins anew.
#[derive(Debug, Clone)]
pub(crate) struct RateLimiter {
    per_s: u64,
    periods_per_s: u64,
    /// When the schedule began, by [`Meter::timestamp`]; `None` before the first period.
    anchor: Option<u64>,
    /// Periods of the schedule that are over.
    periods: u64,
    /// Transactions that may still begin in the current period.
    left: u64,
    /// The part of a transaction that is due and has not been let begin, in parts of which
    /// `periods_per_s` are a whole one.
    remainder: u64,
}

impl RateLimiter {
    /// Lets `per_s` transactions a second begin, at least one, in `periods_per_s` periods.
    pub(crate) fn new(per_s: u64, periods_per_s: u64) -> Self {
        Self {
            per_s: per_s.max(1),
            periods_per_s: periods_per_s.max(1),
            anchor: None,
            periods: 0,
            left: 0,
            remainder: 0,
        }
    }

    /// Waits until the next transaction may begin; `false` if the time is up, or the user stopped
    /// the run. The wait is no part of its latency: [`Meter::start`] follows.
    pub(crate) fn admit(&mut self, meter: &mut dyn Meter) -> bool {
        while self.left == 0 {
            if !self.await_period(meter) {
                return false;
            }
            self.remainder += self.per_s;
            self.left = self.remainder / self.periods_per_s;
            self.remainder %= self.periods_per_s;
        }
        self.left -= 1;
        true
    }

    /// Waits until the next period begins; `false` if the time is up, or the user stopped the run.
    fn await_period(&mut self, meter: &mut dyn Meter) -> bool {
        if let Some(anchor) = self.anchor {
            let due_ns = (self.periods + 1) * NS_PER_S / self.periods_per_s;
            let is_late = meter.elapsed_ns(anchor) > due_ns;
            // It tells whether the time is up where nothing is left to wait for, too.
            if !meter.wait_since(anchor, due_ns) {
                return false;
            }
            if !is_late {
                self.periods += 1;
                return true;
            }
        }
        self.anchor = Some(meter.timestamp());
        self.periods = 0;
        true
    }
}

/// The results that say whether writers kept their rate: the rate itself, under `name`, and the
/// verdict.
pub(crate) fn sustained_rate(
    name: &str,
    asked_per_s: f64,
    reached_per_s: f64,
) -> [(String, Value); 2] {
    let is_kept = reached_per_s >= SUSTAINED_PART * asked_per_s;
    [
        (name.to_owned(), Value::Float(asked_per_s)),
        (
            Measurement::WRITERS_KEPT_RATE.to_owned(),
            Value::Boolean(is_kept),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that only waits move on, and the time at which it ends.
    struct WaitingMeter {
        now_ns: u64,
        end_ns: u64,
        /// The time by which a wait is too long.
        oversleep_ns: u64,
    }

    impl WaitingMeter {
        fn new(end_ns: u64, oversleep_ns: u64) -> Self {
            Self {
                now_ns: 0,
                end_ns,
                oversleep_ns,
            }
        }
    }

    impl Meter for WaitingMeter {
        fn start(&mut self) {}
        fn finish(&mut self, _kind: usize) {}
        fn advance(&mut self, _units: u64) {}
        fn conflict(&mut self, _error: &trueput_engine::Error) {}
        fn uncount(&mut self, _kind: usize, _count: u64) {}
        fn is_stopped(&self) -> bool {
            false
        }
        fn timestamp(&mut self) -> u64 {
            self.now_ns
        }
        fn elapsed_ns(&mut self, mark: u64) -> u64 {
            self.now_ns - mark
        }
        fn wait_since(&mut self, mark: u64, time_ns: u64) -> bool {
            let due_ns = mark + time_ns;
            if self.now_ns < due_ns {
                self.now_ns = due_ns + self.oversleep_ns;
            }
            self.now_ns < self.end_ns
        }
    }

    /// When each transaction may begin, nanoseconds, until the meter's end, if the one of an index
    /// takes `takes_ns`.
    fn begun_ns(
        (per_s, periods_per_s): (u64, u64),
        mut meter: WaitingMeter,
        takes_ns: impl Fn(usize) -> u64,
    ) -> Vec<u64> {
        let mut limiter = RateLimiter::new(per_s, periods_per_s);
        let mut begun = Vec::new();
        while meter.now_ns < meter.end_ns && limiter.admit(&mut meter) {
            let index = begun.len();
            begun.push(meter.now_ns);
            meter.now_ns += takes_ns(index);
        }
        begun
    }

    #[test]
    fn a_second_has_its_transactions_and_each_period_its_share() {
        for (per_s, periods_per_s) in [(1, 1), (7, 1), (7, 10), (25, 10), (1_000, 10)] {
            let meter = WaitingMeter::new(NS_PER_S, 0);
            let begun = begun_ns((per_s, periods_per_s), meter, |_| 0);
            assert_eq!(begun.len() as u64, per_s, "{per_s} in {periods_per_s}");
            let period_ns = NS_PER_S / periods_per_s;
            for period in 0..periods_per_s {
                let is_within = |ns: &&u64| **ns / period_ns == period;
                let count = begun.iter().filter(is_within).count() as u64;
                let floor = per_s / periods_per_s;
                assert!((floor..=floor + 1).contains(&count), "{per_s}: {count}");
            }
        }
    }

    #[test]
    fn a_period_that_took_longer_is_followed_at_once_and_not_made_up_for() {
        // 20 a second, in ten periods of two: each takes 80 ms, so that a period takes 160 ms.
        let begun = begun_ns((20, 10), WaitingMeter::new(NS_PER_S, 0), |_| 80_000_000);
        let steady: Vec<u64> = (0..13).map(|index| index * 80_000_000).collect();
        assert_eq!(begun, steady);
        // Ten a second, of which the first takes 350 ms: those after it keep their distance.
        let takes_ns = |index| if index == 0 { 350_000_000 } else { 0 };
        let begun = begun_ns((10, 10), WaitingMeter::new(NS_PER_S, 0), takes_ns);
        let after = (0..7).map(|index| 350_000_000 + index * 100_000_000);
        assert_eq!(begun, [0].into_iter().chain(after).collect::<Vec<u64>>());
    }

    #[test]
    fn a_worker_that_wakes_late_keeps_the_count_of_every_second() {
        let meter = WaitingMeter::new(10 * NS_PER_S, 6_000_000);
        let begun = begun_ns((1_000, 10), meter, |_| 500_000);
        for second in 0..10 {
            let is_within = |ns: &&u64| **ns / NS_PER_S == second;
            assert_eq!(begun.iter().filter(is_within).count(), 1_000, "{second}");
        }
    }

    #[test]
    fn a_rate_is_kept_from_95_percent_on() {
        let is_kept = |reached| sustained_rate("rate", 1_000.0, reached)[1].1.clone();
        assert_eq!(is_kept(950.0), Value::Boolean(true));
        assert_eq!(is_kept(949.9), Value::Boolean(false));
        assert_eq!(is_kept(2_000.0), Value::Boolean(true));
    }
}
