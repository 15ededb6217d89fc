//! The time budget of a search.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Keeps a search within its time, which its contenders share.
pub struct SearchClock {
    began: Instant,
    budget: Duration,
    /// The end of each contender's time, set when its first trial is asked for.
    ends: BTreeMap<usize, Instant>,
    /// The trial that was asked for last: its contender, and when it began.
    running: Option<(usize, Instant)>,
    /// The longest trial of each contender so far.
    longest: BTreeMap<usize, Duration>,
}

impl SearchClock {
    /// The time begins now.
    pub fn new(budget_s: f64) -> Self {
        Self {
            began: Instant::now(),
            budget: Duration::from_secs_f64(budget_s),
            ends: BTreeMap::new(),
            running: None,
            longest: BTreeMap::new(),
        }
    }

    /// Whether a contender has time for one more trial, which is expected to take so long or as
    /// long as its longest one so far. `left` contenders are without a result, this one included:
    /// each gets an equal part of the time that is left when it begins.
    pub fn has_time_for(&mut self, contender: usize, left: usize, expected_s: f64) -> bool {
        let now = Instant::now();
        if let Some((last, since)) = self.running.take() {
            let longest = self.longest.entry(last).or_default();
            *longest = (*longest).max(now - since);
        }
        let end = self.began + self.budget;
        let share = end.saturating_duration_since(now) / u32::try_from(left.max(1)).unwrap_or(1);
        let end = *self.ends.entry(contender).or_insert(now + share);
        let longest = self.longest.get(&contender).copied().unwrap_or_default();
        let expected = longest.max(Duration::from_secs_f64(expected_s));
        let has_time = now + expected <= end;
        self.running = has_time.then_some((contender, now));
        has_time
    }
}
