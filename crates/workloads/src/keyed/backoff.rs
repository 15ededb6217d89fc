//! The pause of a worker before it retries a transaction that met a conflict.

use crate::generate::random::Random;
use std::time::Duration;

/// The number of times that the maximum pause doubles.
const DOUBLINGS: u32 = 10;

/// No pause is longer, so that a run that is stopped ends soon.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The backoff of one worker after conflicts: drawn at random each time, so that two workers that
/// collided do not collide again.
pub(crate) struct Backoff {
    first_us: u64,
    random: Random,
}

impl Backoff {
    /// The pauses of a worker, the first at most `first_us` microseconds; 0: no pauses.
    pub(crate) fn new(first_us: u64, seed: u64, worker: u32) -> Self {
        Self {
            first_us,
            random: Random::for_worker(seed, worker, "pauses"),
        }
    }

    /// Waits before a transaction is tried again that has met this many conflicts, from 1.
    pub(crate) fn pause(&mut self, conflicts: u32) {
        let pause = self.pause_after(conflicts);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    /// The pause before a transaction is tried again that has met this many conflicts, from 1.
    fn pause_after(&mut self, conflicts: u32) -> Duration {
        if self.first_us == 0 {
            return Duration::ZERO;
        }
        let most_us = self.first_us << conflicts.saturating_sub(1).min(DOUBLINGS);
        let most_us = most_us.min(MAX_PAUSE.as_micros() as u64);
        Duration::from_micros(self.random.below(most_us + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(first_us: u64, conflicts: u32) -> Duration {
        let mut backoff = Backoff::new(first_us, 7, 0);
        let drawn = (0..1_000).map(|_| backoff.pause_after(conflicts));
        drawn.max().unwrap_or_default()
    }

    #[test]
    fn pauses_are_drawn_up_to_a_bound_that_doubles_with_each_conflict() {
        let us = Duration::from_micros;
        assert!((us(90)..=us(100)).contains(&longest(100, 1)));
        assert!((us(180)..=us(200)).contains(&longest(100, 2)));
        assert!((us(720)..=us(800)).contains(&longest(100, 4)));
        assert!(longest(1_000_000, 50) <= MAX_PAUSE && longest(1_000_000, 50) > MAX_PAUSE / 2);
    }

    #[test]
    fn there_is_no_pause_where_none_is_asked_for() {
        assert_eq!(longest(0, 1), Duration::ZERO);
        assert_eq!(longest(0, 20), Duration::ZERO);
    }
}
