//! The requests that a server of a modeled image answers, counted for its report.

use trueput_record::service_report::{OwnCost, RequestCounts, ServiceReport};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    Write,
    Flush,
    Discard,
}

/// The number of kinds.
pub(super) const KINDS: usize = 4;

/// Requests that are counted while they are answered.
#[derive(Debug, Default)]
pub(super) struct ServiceCounts([KindCounts; KINDS]);

#[derive(Debug, Default)]
struct KindCounts {
    requests: u64,
    without_reply: u64,
    bytes: u64,
    modeled_ns: u64,
    late_ns: u64,
    lateness: LatenessHistogram,
}

impl ServiceCounts {
    /// Counts a request that was answered: its bytes, the time that the model gave it, and how much
    /// later its reply was.
    pub(super) fn add(&mut self, kind: RequestKind, bytes: u64, modeled_ns: u64, late_ns: u64) {
        let counts = &mut self.0[kind as usize];
        counts.requests += 1;
        counts.bytes += bytes;
        counts.modeled_ns = counts.modeled_ns.saturating_add(modeled_ns);
        counts.late_ns = counts.late_ns.saturating_add(late_ns);
        counts.lateness.add(late_ns);
    }

    /// Counts a request that has no reply of its own.
    pub(super) fn add_without_reply(&mut self, kind: RequestKind, bytes: u64) {
        let counts = &mut self.0[kind as usize];
        counts.requests += 1;
        counts.without_reply += 1;
        counts.bytes += bytes;
    }

    /// Returns what was counted so far.
    pub(super) fn report(&self, model: &str, own_cost: OwnCost) -> ServiceReport {
        let of = |kind: RequestKind| self.0[kind as usize].summary();
        ServiceReport {
            model: model.to_owned(),
            own_cost,
            reads: of(RequestKind::Read),
            writes: of(RequestKind::Write),
            flushes: of(RequestKind::Flush),
            discards: of(RequestKind::Discard),
        }
    }
}

impl KindCounts {
    fn summary(&self) -> RequestCounts {
        RequestCounts {
            requests: self.requests,
            without_reply: self.without_reply,
            bytes: self.bytes,
            modeled_ns: self.modeled_ns,
            late_ns: self.late_ns,
            late_median_ns: self.lateness.percentile_ns(50),
            late_p99_ns: self.lateness.percentile_ns(99),
            late_max_ns: self.lateness.max_ns,
        }
    }
}

/// The parts of each power of two are so many.
const PARTS: u64 = 8;

/// The binary logarithm of [`PARTS`].
const PART_BITS: u32 = 3;

/// Buckets for all times of 64 bits.
const BUCKETS: usize = 496;

/// A histogram of times whose buckets are an eighth of a power of two wide.
#[derive(Debug)]
struct LatenessHistogram {
    counts: [u64; BUCKETS],
    max_ns: u64,
}

impl Default for LatenessHistogram {
    fn default() -> Self {
        Self {
            counts: [0; BUCKETS],
            max_ns: 0,
        }
    }
}

impl LatenessHistogram {
    fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns the largest time of the bucket in which that percentile is; 0 of no times.
    fn percentile_ns(&self, percent: u64) -> u64 {
        let total: u64 = self.counts.iter().sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(0, |bucket| largest_ns(bucket).min(self.max_ns))
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let exponent = ns.ilog2();
    let part = (ns >> (exponent - PART_BITS)) % PARTS;
    (u64::from(exponent - PART_BITS + 1) * PARTS + part) as usize
}

/// Returns the largest time that belongs in a bucket.
fn largest_ns(bucket: usize) -> u64 {
    let (power, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    match power {
        0 => part,
        power => {
            let width = 1_u64 << (power - 1);
            (PARTS + part) * width + (width - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_a_bucket_that_is_at_most_an_eighth_wide() {
        let powers = (0..64).map(|power| 1_u64 << power);
        let times = powers.flat_map(|power| [power - 1, power, power + power / 3]);
        for ns in times.chain([u64::MAX]) {
            let bucket = bucket(ns);
            let largest = largest_ns(bucket);
            assert!(bucket < BUCKETS && largest >= ns, "{ns}");
            assert!(largest - ns <= ns / PARTS, "{ns} in one up to {largest}");
            let before = bucket.checked_sub(1).map(largest_ns);
            assert!(before.is_none_or(|before| before < ns), "{ns}");
        }
        assert_eq!(largest_ns(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn percentiles_are_those_of_the_times_that_were_added() {
        let mut histogram = LatenessHistogram::default();
        assert_eq!(histogram.percentile_ns(50), 0);
        (1..=1000).for_each(|ns| histogram.add(ns));
        let [median, p99] = [50, 99].map(|percent| histogram.percentile_ns(percent));
        assert!((500..=562).contains(&median), "{median}");
        assert!((990..=1000).contains(&p99), "{p99}");
        assert_eq!(histogram.max_ns, 1000);
    }

    #[test]
    fn a_report_has_the_counts_and_times_of_each_kind() {
        let mut counts = ServiceCounts::default();
        counts.add(RequestKind::Write, 4096, 1_000, 70);
        counts.add(RequestKind::Write, 8192, 2_000, 30);
        counts.add(RequestKind::Flush, 0, 5_000, 3);
        let report = counts.report("hdd-7200", OwnCost::default());
        let writes = report.writes;
        assert_eq!((writes.requests, writes.bytes), (2, 12_288));
        assert_eq!((writes.modeled_ns, writes.late_ns), (3_000, 100));
        assert_eq!((report.flushes.requests, report.reads.requests), (1, 0));
        assert_eq!(report.flushes.late_max_ns, 3);
        assert_eq!(report.late_share(), Some(103.0 / 8_000.0));
    }
}
