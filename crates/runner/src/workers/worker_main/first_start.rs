//! When the workers of a process began.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// When the first worker of a process began. A worker may wait for a processor after its release,
/// and its time counts from its start.
#[derive(Debug)]
pub(super) struct FirstStart(AtomicU64);

impl Default for FirstStart {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl FirstStart {
    /// Notes the start of a worker, nanoseconds on the clock of the measured part.
    pub(super) fn note(&self, start_ns: u64) {
        self.0.fetch_min(start_ns, Relaxed);
    }

    /// Returns the time from the release to the first start; to now if nobody has begun.
    pub(super) fn lateness(&self, released_ns: u64, now_ns: u64) -> Duration {
        let start_ns = self.0.load(Relaxed).min(now_ns);
        Duration::from_nanos(start_ns.saturating_sub(released_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_counts_from_the_first_start_of_a_worker() {
        let first = FirstStart::default();
        assert_eq!(first.lateness(1_000, 1_700), Duration::from_nanos(700));
        first.note(5_000);
        first.note(3_000);
        first.note(4_000);
        assert_eq!(first.lateness(1_000, 9_000), Duration::from_nanos(2_000));
        assert_eq!(first.lateness(3_000, 9_000), Duration::ZERO);
    }
}
