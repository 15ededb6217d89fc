//! The times of a load's cycles, counted as they come: a load of an hour takes as much memory as
//! one of a second.

use crate::storage_model::NS_PER_S;
use hdrhistogram::Histogram;
use trueput_record::histogram;
use trueput_record::service_report::RoundTrip;

/// The parts of a load's time whose rates are told apart.
pub(crate) const PARTS: usize = 10;

/// The slots of time in which ends of cycles are counted. A load uses at least half of them, so
/// that a slot is far shorter than a part.
const SLOTS: usize = 1 << 14;

/// The times of a client's cycle, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleTime {
    /// Its end, counted from the beginning of the load.
    pub end_ns: u64,
    /// The duration of its requests.
    pub requests_ns: u64,
    /// The duration of its flush; 0 without one.
    pub flush_ns: u64,
}

/// The times of a load's cycles. Durations have three digits, and an hour at most.
#[derive(Debug, Clone)]
pub struct CycleTimes {
    last_end_ns: u64,
    ends: EndCounts,
    requests: Histogram<u64>,
    flushes: Histogram<u64>,
    cycles: Histogram<u64>,
}

impl Default for CycleTimes {
    fn default() -> Self {
        Self {
            last_end_ns: 0,
            ends: EndCounts::default(),
            requests: histogram::new(),
            flushes: histogram::new(),
            cycles: histogram::new(),
        }
    }
}

impl CycleTimes {
    /// Adds a cycle.
    pub(crate) fn add(&mut self, cycle: CycleTime) {
        self.last_end_ns = self.last_end_ns.max(cycle.end_ns);
        self.ends.add(cycle.end_ns);
        self.requests.saturating_record(cycle.requests_ns);
        self.flushes.saturating_record(cycle.flush_ns);
        self.cycles
            .saturating_record(cycle.requests_ns + cycle.flush_ns);
    }

    /// Adds the cycles of another client of the same load.
    pub(crate) fn join(&mut self, other: Self) {
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
        self.ends.join(other.ends);
        join_histogram(&mut self.requests, &other.requests);
        join_histogram(&mut self.flushes, &other.flushes);
        join_histogram(&mut self.cycles, &other.cycles);
    }

    /// Returns the number of cycles.
    pub(crate) fn count(&self) -> u64 {
        self.cycles.len()
    }

    /// Returns the time until the last end; not 0.
    fn elapsed_ns(&self) -> u64 {
        self.last_end_ns.max(1)
    }

    /// Returns the same in seconds.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.elapsed_ns() as f64 / NS_PER_S
    }

    /// Returns the cycles a second in each part of the time.
    pub(crate) fn rates_per_s(&self) -> [f64; PARTS] {
        let part_s = self.elapsed_s() / PARTS as f64;
        let mut rates_per_s = [0.0; PARTS];
        for (middle_ns, count) in self.ends.slots() {
            let part = middle_ns.saturating_mul(PARTS as u64) / self.elapsed_ns();
            rates_per_s[(part as usize).min(PARTS - 1)] += count as f64 / part_s;
        }
        rates_per_s
    }

    /// Returns the times of requests.
    pub(crate) fn requests(&self) -> RoundTrip {
        round_trip(&self.requests)
    }

    /// Returns the times of flushes.
    pub(crate) fn flushes(&self) -> RoundTrip {
        round_trip(&self.flushes)
    }

    /// Returns the times of cycles.
    pub(crate) fn cycles(&self) -> RoundTrip {
        round_trip(&self.cycles)
    }
}

fn join_histogram(all: &mut Histogram<u64>, other: &Histogram<u64>) {
    for step in other.iter_recorded() {
        all.saturating_record_n(step.value_iterated_to(), step.count_at_value());
    }
}

fn round_trip(times: &Histogram<u64>) -> RoundTrip {
    RoundTrip {
        lowest_tenth_ns: times.value_at_quantile(0.1),
        median_ns: times.value_at_quantile(0.5),
        p99_ns: times.value_at_quantile(0.99),
    }
}

/// How many cycles ended when, in slots that grow with the time.
#[derive(Debug, Clone)]
struct EndCounts {
    slot_ns: u64,
    /// By slot; always [`SLOTS`].
    counts: Vec<u64>,
}

impl Default for EndCounts {
    fn default() -> Self {
        Self {
            slot_ns: 1,
            counts: vec![0; SLOTS],
        }
    }
}

impl EndCounts {
    fn add(&mut self, end_ns: u64) {
        while end_ns / self.slot_ns >= SLOTS as u64 {
            self.widen();
        }
        self.counts[(end_ns / self.slot_ns) as usize] += 1;
    }

    /// Makes slots twice as long.
    fn widen(&mut self) {
        self.slot_ns *= 2;
        for slot in 0..SLOTS / 2 {
            self.counts[slot] = self.counts[2 * slot] + self.counts[2 * slot + 1];
        }
        self.counts[SLOTS / 2..].fill(0);
    }

    fn join(&mut self, mut other: Self) {
        while self.slot_ns < other.slot_ns {
            self.widen();
        }
        while other.slot_ns < self.slot_ns {
            other.widen();
        }
        for (count, others) in self.counts.iter_mut().zip(other.counts) {
            *count += others;
        }
    }

    /// Returns the middle of each slot in which cycles ended, nanoseconds, and their number.
    fn slots(&self) -> impl Iterator<Item = (u64, u64)> {
        let slots = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        slots
            .map(move |(slot, count): (u64, &u64)| (slot * self.slot_ns + self.slot_ns / 2, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(end_ns: u64) -> CycleTime {
        CycleTime {
            end_ns,
            requests_ns: 1_000_000 + end_ns % 1_000,
            flush_ns: 500,
        }
    }

    #[test]
    fn an_hour_of_cycles_takes_as_much_memory_as_a_moment_and_keeps_its_rates() {
        let mut times = CycleTimes::default();
        let (moment, places) = (times.ends.counts.capacity(), times.cycles.distinct_values());
        // Every 10 ms, and in the last part every 20 ms.
        let quick = (1..=324_000_u64).map(|number| number * 10_000_000);
        let slow = (1..=18_000_u64).map(|number| 3_240_000_000_000 + number * 20_000_000);
        quick
            .chain(slow)
            .for_each(|end_ns| times.add(cycle(end_ns)));
        assert_eq!(times.ends.counts.capacity(), moment);
        assert_eq!(times.cycles.distinct_values(), places);
        assert_eq!((times.count(), times.elapsed_s()), (342_000, 3_600.0));
        let rates_per_s = times.rates_per_s();
        for (part, rate) in rates_per_s.into_iter().enumerate() {
            let expected = if part == PARTS - 1 { 50.0 } else { 100.0 };
            assert!((rate / expected - 1.0).abs() < 0.01, "{rates_per_s:?}");
        }
        let median_ns = times.cycles().median_ns;
        assert!((1_000_500..1_003_000).contains(&median_ns), "{median_ns}");
    }

    #[test]
    fn clients_that_are_joined_are_one_whatever_their_slots() {
        let ends = [[5, 70, 900], [40_000, 5_000_000, 5_000_000_000]];
        let [mut all, early, late] = [(); 3].map(|()| CycleTimes::default());
        let mut clients = [early, late];
        for (client, ends) in clients.iter_mut().zip(ends) {
            for end_ns in ends {
                client.add(cycle(end_ns));
                all.add(cycle(end_ns));
            }
        }
        assert!(clients[0].ends.slot_ns < clients[1].ends.slot_ns);
        for order in [[0, 1], [1, 0]] {
            let [mut joined, other] = order.map(|client| clients[client].clone());
            joined.join(other);
            assert_eq!(joined.rates_per_s(), all.rates_per_s());
            assert!(joined.cycles == all.cycles);
            assert_eq!(joined.flushes().median_ns, 500);
        }
    }
}
