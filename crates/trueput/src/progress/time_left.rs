//! Estimates the remaining time of a trial and of the whole run from the progress so far.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use trueput_runner::Phase;

/// Estimates the time left of a trial and of its run.
#[derive(Debug, Clone)]
pub struct TimeLeftEstimator {
    run_began: Instant,
    trial_began: Instant,
    /// When the last trial ended.
    ended_at: Instant,
    phase_began: Instant,
    phase: Option<Phase>,
    fraction: f64,
    trials: usize,
    /// Trials that began; several run at once if contenders share time slices.
    begun: usize,
    ended: usize,
    /// Duration of the last trial of each cell, without its conformance suite.
    cells: BTreeMap<u32, Duration>,
    /// Whether every cell has been run once: a trial of a second repeat has begun.
    knows_all_cells: bool,
}

impl TimeLeftEstimator {
    /// Nothing was seen yet.
    pub fn new(now: Instant) -> Self {
        Self {
            run_began: now,
            trial_began: now,
            ended_at: now,
            phase_began: now,
            phase: None,
            fraction: 0.0,
            trials: 0,
            begun: 0,
            ended: 0,
            cells: BTreeMap::new(),
            knows_all_cells: false,
        }
    }

    /// A run of that many trials begins.
    pub fn begin_run(&mut self, trials: usize, now: Instant) {
        *self = Self {
            trials,
            ..Self::new(now)
        };
    }

    /// A trial begins. Returns whether it is the first of a second repeat.
    pub fn begin_trial(&mut self, cell: u32, now: Instant) -> bool {
        self.begun += 1;
        self.wait_for_trial(now);
        let is_again = self.cells.contains_key(&cell);
        is_again && !std::mem::replace(&mut self.knows_all_cells, true)
    }

    /// Ends the conformance suite: from now on the trial's own time counts.
    pub fn end_conformance(&mut self, now: Instant) {
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
    pub fn end_trial(&mut self, cell: u32, now: Instant) {
        self.ended += 1;
        let took = now.duration_since(self.trial_began);
        self.cells.insert(cell, took);
        self.ended_at = now;
        self.wait_for_trial(now);
    }

    /// Remaining time of this trial's phase; `None` before a hundredth of it is done.
    pub fn trial_left(&self, now: Instant) -> Option<Duration> {
        if self.fraction < 0.01 {
            return None;
        }
        let passed = now.duration_since(self.phase_began);
        Some(passed.mul_f64((1.0 - self.fraction) / self.fraction))
    }

    /// Remaining time of the run. After a full round each cell is assumed to take as long as its
    /// last trial; before that, trials are assumed to take as long as the average, including
    /// conformance. `None` before the first trial has ended.
    pub fn run_left(&self, now: Instant) -> Option<Duration> {
        let to_come = self.trials.saturating_sub(self.begun);
        let ended = u32::try_from(self.ended).ok().filter(|&ended| ended > 0)?;
        let mean = if self.knows_all_cells {
            self.cells.values().sum::<Duration>() / u32::try_from(self.cells.len()).ok()?
        } else {
            self.ended_at.duration_since(self.run_began) / ended
        };
        let later = if self.knows_all_cells {
            self.time_of_last(to_come)?
        } else {
            mean * u32::try_from(to_come).ok()?
        };
        let of_this = mean.saturating_sub(now.duration_since(self.trial_began));
        Some(self.trial_left(now).unwrap_or(of_this) + later)
    }

    /// Duration of this many trials at the end of a run, in which the cells alternate.
    fn time_of_last(&self, trials: usize) -> Option<Duration> {
        let cells = self.cells.len();
        let rounds = u32::try_from(trials / cells).ok()?;
        let all: Duration = self.cells.values().sum();
        let rest: Duration = self.cells.values().rev().take(trials % cells).sum();
        Some(all * rounds + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn nothing_is_estimated_before_anything_was_seen() {
        let now = Instant::now();
        let time_left = TimeLeftEstimator::new(now);
        assert_eq!(
            (time_left.trial_left(now), time_left.run_left(now)),
            (None, None)
        );
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let start = Instant::now();
        let mut time_left = TimeLeftEstimator::new(start);
        time_left.begin_run(3, start);
        time_left.begin_trial(0, start);
        time_left.end_trial(0, start + 10 * SECOND);
        time_left.begin_trial(1, start + 10 * SECOND);
        time_left.advance(Phase::Run, 0.0, start + 10 * SECOND);
        time_left.advance(Phase::Run, 0.25, start + 12 * SECOND);
        let now = start + 12 * SECOND;
        assert_eq!(time_left.trial_left(now), Some(6 * SECOND));
        assert_eq!(time_left.run_left(now), Some(16 * SECOND));
    }

    #[test]
    fn trials_that_take_turns_are_under_way_together() {
        let start = Instant::now();
        let mut time_left = TimeLeftEstimator::new(start);
        time_left.begin_run(4, start);
        (0..2).for_each(|cell| _ = time_left.begin_trial(cell, start));
        (0..2).for_each(|cell| time_left.end_trial(cell, start + 20 * SECOND));
        (0..2).for_each(|cell| _ = time_left.begin_trial(cell, start + 20 * SECOND));
        time_left.advance(Phase::Run, 0.0, start + 20 * SECOND);
        time_left.advance(Phase::Run, 0.5, start + 30 * SECOND);
        let now = start + 30 * SECOND;
        assert_eq!(time_left.run_left(now), Some(10 * SECOND));
    }

    #[test]
    fn cells_to_come_take_as_long_as_they_took_without_their_conformance() {
        let start = Instant::now();
        let mut time_left = TimeLeftEstimator::new(start);
        time_left.begin_run(6, start);
        // A slow engine whose suite takes 30 s, and a fast one.
        assert!(!time_left.begin_trial(0, start));
        time_left.end_conformance(start + 30 * SECOND);
        time_left.end_trial(0, start + 40 * SECOND);
        assert!(!time_left.begin_trial(1, start + 40 * SECOND));
        time_left.end_trial(1, start + 41 * SECOND);
        let now = start + 41 * SECOND;
        assert!(time_left.begin_trial(0, now), "the second repeat begins");
        time_left.advance(Phase::Run, 0.0, now);
        time_left.advance(Phase::Run, 0.5, now + 5 * SECOND);
        // Five seconds of this one, one of its contender, and a repeat of eleven.
        assert_eq!(time_left.run_left(now + 5 * SECOND), Some(17 * SECOND));
        time_left.end_trial(0, now + 10 * SECOND);
        assert!(!time_left.begin_trial(1, now + 10 * SECOND));
    }
}
