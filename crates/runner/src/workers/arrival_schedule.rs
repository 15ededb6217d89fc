//! The arrival schedule of an open loop: the time at which each unit of work is due.
//!
//! Times are nanoseconds since the worker began to keep the pace. They are computed from the count
//! and never from when work ended, so that a stall delays answers and no arrival: what comes
//! due meanwhile waits, and its waiting is part of its response time.

use trueput_record::conditions::{Arrival, Rate};
use trueput_record::random::{SplitMix64, mix};
use trueput_workloads::DueTimes;

/// The arrivals of one worker.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalSchedule {
    arrival: Arrival,
    /// The mean interval between two arrivals of this worker, nanoseconds.
    gap_ns: f64,
    /// When the next unit is due.
    next_ns: f64,
    random: SplitMix64,
}

impl ArrivalSchedule {
    /// Creates the arrivals of worker `worker` of `workers`, who keep the rate together. At a
    /// constant rate their arrivals alternate.
    pub fn new(rate: Rate, worker: u32, workers: u32, seed: u64) -> Self {
        let workers = f64::from(workers.max(1));
        let gap_ns = 1e9 * workers / rate.per_s;
        let mut schedule = Self {
            arrival: rate.arrival,
            gap_ns,
            next_ns: 0.0,
            // Mixed twice, lest one worker's numbers be another's, some steps on.
            random: SplitMix64::new(mix(seed ^ mix(u64::from(worker) + 1))),
        };
        schedule.next_ns = match rate.arrival {
            Arrival::Constant => gap_ns * f64::from(worker) / workers,
            Arrival::Poisson => schedule.distance(),
        };
        schedule
    }

    /// Returns when the next unit is due.
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Moves on to the next unit.
    pub fn advance(&mut self) {
        self.next_ns += self.distance();
    }

    /// How long the units wait that are due by `end_ns` and were not begun: pairs of a waiting time
    /// and how many wait about so long. A long queue is returned in groups, so that its length
    /// costs nothing.
    pub fn backlog(mut self, end_ns: u64) -> Vec<(u64, u64)> {
        const GROUPS: f64 = 10_000.0;
        let end = end_ns as f64;
        let due = ((end - self.next_ns) / self.gap_ns).max(0.0);
        let group = (due / GROUPS).ceil().max(1.0);
        let mut waiting = Vec::new();
        while self.next_ns <= end {
            let left = ((end - self.next_ns) / self.gap_ns).floor() + 1.0;
            let count = if group > 1.0 { group.min(left) } else { 1.0 };
            // The middle of the group represents all of it.
            let middle = self.next_ns + self.gap_ns * (count - 1.0) / 2.0;
            waiting.push(((end - middle).max(0.0) as u64, count as u64));
            if count > 1.0 {
                self.next_ns += self.gap_ns * count;
            } else {
                self.advance();
            }
        }
        waiting
    }

    fn distance(&mut self) -> f64 {
        match self.arrival {
            Arrival::Constant => self.gap_ns,
            // Inverse transform; 1 - u is in (0, 1], so its logarithm is finite.
            Arrival::Poisson => -self.gap_ns * (1.0 - self.random.unit_f64()).ln(),
        }
    }
}

/// The seed of the arrivals of a trial. Trials at one rate have the same arrivals in a repeat, and
/// other ones in each repeat: were they the same in all, one draw would stand for the distribution.
pub(crate) fn arrival_seed(seed: u64, repeat: u32, rate: Rate) -> u64 {
    mix(mix(seed ^ mix(u64::from(repeat))) ^ rate.per_s.to_bits())
}

/// Arrivals at times that the workload states.
pub(crate) struct RecordedSchedule<'a> {
    due_ns: DueTimes<'a>,
    /// When the next unit is due; [`u64::MAX`] after the last.
    next_ns: u64,
}

impl<'a> RecordedSchedule<'a> {
    /// Arrivals at these times, in their order.
    pub fn new(mut due_ns: DueTimes<'a>) -> Self {
        let next_ns = due_ns.next().unwrap_or(u64::MAX);
        Self { due_ns, next_ns }
    }

    /// Returns when the next unit is due.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Moves on to the next unit.
    pub fn advance(&mut self) {
        self.next_ns = self.due_ns.next().unwrap_or(u64::MAX);
    }

    /// How long the units wait that are due by `end_ns` and were not begun, as
    /// [`ArrivalSchedule::backlog`] returns it.
    pub fn backlog(mut self, end_ns: u64) -> Vec<(u64, u64)> {
        let mut waiting = Vec::new();
        while self.next_ns <= end_ns && self.next_ns < u64::MAX {
            waiting.push((end_ns - self.next_ns, 1));
            self.advance();
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64, arrival: Arrival) -> Rate {
        Rate { per_s, arrival }
    }

    fn first(mut schedule: ArrivalSchedule, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due = schedule.next_ns();
                schedule.advance();
                due
            })
            .collect()
    }

    #[test]
    fn workers_at_a_constant_rate_take_turns() {
        let of = |worker| ArrivalSchedule::new(rate(1_000.0, Arrival::Constant), worker, 2, 1);
        assert_eq!(first(of(0), 3), [0, 2_000_000, 4_000_000]);
        assert_eq!(first(of(1), 3), [1_000_000, 3_000_000, 5_000_000]);
    }

    #[test]
    fn poisson_arrivals_keep_the_rate_and_vary_as_exponentials_do() {
        let schedule = ArrivalSchedule::new(rate(1_000.0, Arrival::Poisson), 0, 1, 7);
        let due = first(schedule.clone(), 100_001);
        let gaps: Vec<f64> = due.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        // The deviation of an exponential distribution is its mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
        assert_eq!(first(schedule, 100), due[..100]);
    }

    #[test]
    fn each_rate_and_each_repeat_has_arrivals_of_its_own() {
        let seed_of =
            |seed, repeat, per_s| arrival_seed(seed, repeat, rate(per_s, Arrival::Poisson));
        let seeds = [
            seed_of(1, 1, 500.0),
            seed_of(1, 2, 500.0),
            seed_of(1, 1, 501.0),
            seed_of(2, 1, 500.0),
        ];
        let distinct: std::collections::BTreeSet<_> = seeds.into();
        assert_eq!(distinct.len(), seeds.len(), "{seeds:?}");
        assert_eq!(seed_of(1, 1, 500.0), seeds[0]);
    }

    #[test]
    fn poisson_arrivals_of_several_workers_have_nothing_in_common() {
        let mut seen = std::collections::HashSet::new();
        for worker in 0..8 {
            let mut schedule = ArrivalSchedule::new(rate(1_000.0, Arrival::Poisson), worker, 8, 1);
            let all_new = (0..1_000).all(|_| seen.insert(schedule.random.unit_f64().to_bits()));
            assert!(all_new, "worker {worker} repeats another one");
        }
    }

    #[test]
    fn what_was_due_and_not_begun_is_the_backlog() {
        let mut schedule = ArrivalSchedule::new(rate(1_000.0, Arrival::Constant), 0, 1, 1);
        (0..5).for_each(|_| schedule.advance());
        let waiting = schedule.clone().backlog(7_000_000);
        assert_eq!(waiting, [(2_000_000, 1), (1_000_000, 1), (0, 1)]);
        assert!(schedule.backlog(4_000_000).is_empty());
    }

    #[test]
    fn a_recorded_schedule_keeps_its_own_times_and_has_an_end() {
        let times = [0, 500, 500, 9_000];
        let schedule = || RecordedSchedule::new(Box::new(times.into_iter()));
        let mut kept = schedule();
        for time_ns in times {
            assert_eq!(kept.next_ns(), time_ns);
            kept.advance();
        }
        assert_eq!(kept.next_ns(), u64::MAX);
        let waiting = schedule().backlog(600);
        assert_eq!(waiting, [(600, 1), (100, 1), (100, 1)]);
        assert!(kept.backlog(u64::MAX - 1).is_empty());
    }

    #[test]
    fn a_long_backlog_is_told_in_groups_of_the_same_sum() {
        let schedule = ArrivalSchedule::new(rate(1e8, Arrival::Constant), 0, 1, 1);
        let waiting = schedule.backlog(1_000_000_000);
        let count: u64 = waiting.iter().map(|(_, count)| count).sum();
        let sum: f64 = waiting
            .iter()
            .map(|(wait, count)| *wait as f64 * *count as f64)
            .sum();
        assert!(waiting.len() < 20_000);
        assert_eq!(count, 100_000_001);
        assert!((sum / count as f64 / 5e8 - 1.0).abs() < 1e-3);
    }
}
