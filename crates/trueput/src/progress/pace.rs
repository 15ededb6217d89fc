//! How long is left, of a trial and of the whole run. An estimate that takes its word from what was
//! seen so far, and is silent before anything was.

use std::time::{Duration, Instant};
use trueput_runner::Phase;

/// How fast a run goes.
#[derive(Debug, Clone)]
pub struct Pace {
    run_began: Instant,
    trial_began: Instant,
    phase_began: Instant,
    phase: Option<Phase>,
    fraction: f64,
    trials: usize,
    /// Of them; several are under way where contenders take turns.
    begun: usize,
    ended: usize,
}

impl Pace {
    /// Nothing was seen yet.
    pub fn new(now: Instant) -> Self {
        Self {
            run_began: now,
            trial_began: now,
            phase_began: now,
            phase: None,
            fraction: 0.0,
            trials: 0,
            begun: 0,
            ended: 0,
        }
    }

    /// A run of that many trials begins.
    pub fn begin_run(&mut self, trials: usize, now: Instant) {
        *self = Self {
            trials,
            ..Self::new(now)
        };
    }

    /// A trial begins.
    pub fn begin_trial(&mut self, now: Instant) {
        self.begun += 1;
        self.wait_for_trial(now);
    }

    fn wait_for_trial(&mut self, now: Instant) {
        self.trial_began = now;
        self.phase = None;
        self.fraction = 0.0;
    }

    /// A trial is that far in a phase.
    pub fn advance(&mut self, phase: Phase, fraction: f64, now: Instant) {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            self.phase_began = now;
        }
        self.fraction = fraction.clamp(0.0, 1.0);
    }

    /// A trial has ended.
    pub fn end_trial(&mut self, now: Instant) {
        self.ended += 1;
        self.wait_for_trial(now);
    }

    /// What is left of this trial's phase; `None` before a hundredth of it is done.
    pub fn trial_left(&self, now: Instant) -> Option<Duration> {
        if self.fraction < 0.01 {
            return None;
        }
        let passed = now.duration_since(self.phase_began);
        Some(passed.mul_f64((1.0 - self.fraction) / self.fraction))
    }

    /// What is left of the run, if the trials to come take as long as those that ended; `None`
    /// before the first has ended.
    pub fn run_left(&self, now: Instant) -> Option<Duration> {
        let ended = u32::try_from(self.ended).ok().filter(|&ended| ended > 0)?;
        let mean = self.trial_began.duration_since(self.run_began) / ended;
        let to_come = u32::try_from(self.trials.saturating_sub(self.begun)).ok()?;
        let of_this = mean.saturating_sub(now.duration_since(self.trial_began));
        Some(self.trial_left(now).unwrap_or(of_this) + mean * to_come)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn nothing_is_estimated_before_anything_was_seen() {
        let now = Instant::now();
        let pace = Pace::new(now);
        assert_eq!((pace.trial_left(now), pace.run_left(now)), (None, None));
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.begin_run(3, start);
        pace.begin_trial(start);
        pace.end_trial(start + 10 * SECOND);
        pace.begin_trial(start + 10 * SECOND);
        pace.advance(Phase::Run, 0.0, start + 10 * SECOND);
        pace.advance(Phase::Run, 0.25, start + 12 * SECOND);
        let now = start + 12 * SECOND;
        assert_eq!(pace.trial_left(now), Some(6 * SECOND));
        assert_eq!(pace.run_left(now), Some(16 * SECOND));
    }

    #[test]
    fn trials_that_take_turns_are_under_way_together() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.begin_run(4, start);
        (0..2).for_each(|_| pace.begin_trial(start));
        (0..2).for_each(|_| pace.end_trial(start + 20 * SECOND));
        (0..2).for_each(|_| pace.begin_trial(start + 20 * SECOND));
        pace.advance(Phase::Run, 0.0, start + 20 * SECOND);
        pace.advance(Phase::Run, 0.5, start + 30 * SECOND);
        let now = start + 30 * SECOND;
        assert_eq!(pace.run_left(now), Some(10 * SECOND));
    }
}
