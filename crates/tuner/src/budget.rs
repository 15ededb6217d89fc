//! The time of a search. Nothing here reads a clock: a moment is the time since the search began or
//! was resumed, which the caller passes.

use std::collections::BTreeMap;

/// A time, from a moment of a search on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budget {
    begin_s: f64,
    length_s: f64,
}

impl Budget {
    /// So many seconds from a moment on.
    #[must_use]
    pub fn new(begin_s: f64, length_s: f64) -> Self {
        Self { begin_s, length_s }
    }

    /// Its first part: of 1, the whole.
    #[must_use]
    pub fn part(self, part: f64) -> Self {
        Self::new(self.begin_s, self.length_s * part)
    }

    /// What is left of it at a moment, seconds.
    #[must_use]
    pub fn left_s(self, elapsed_s: f64) -> f64 {
        (self.begin_s + self.length_s - elapsed_s).max(0.0)
    }

    /// Whether what takes so many seconds ends in time if it begins at a moment.
    #[must_use]
    pub fn has_time_for(self, needed_s: f64, elapsed_s: f64) -> bool {
        elapsed_s + needed_s <= self.begin_s + self.length_s
    }
}

/// A budget that is too short for the fewest trials of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetShortage {
    /// The time that was given, seconds.
    pub given_s: f64,
    /// The least time that suffices, seconds.
    pub least_s: f64,
}

impl BudgetShortage {
    /// Takes the usual time if none was given.
    ///
    /// # Errors
    /// The time that was given is shorter than the least one.
    pub fn check(given_s: Option<f64>, usual_s: f64, least_s: f64) -> Result<f64, Self> {
        match given_s {
            Some(given_s) if given_s < least_s => Err(Self { given_s, least_s }),
            given_s => Ok(given_s.unwrap_or(usual_s)),
        }
    }
}

/// The times from proposals to the next ones: what the trials took, with all that surrounds them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialTimes {
    /// When the last proposal was made, and its trials.
    running: Option<(f64, u32)>,
    total_s: f64,
    trials: u32,
    longest_s: f64,
}

impl TrialTimes {
    /// So many trials begin at a moment.
    pub fn begin(&mut self, trials: u32, elapsed_s: f64) {
        self.running = Some((elapsed_s, trials));
    }

    /// Those that had begun, if any, have ended by a moment.
    pub fn end(&mut self, elapsed_s: f64) {
        if let Some((since_s, trials)) = self.running.take() {
            self.total_s += elapsed_s - since_s;
            self.trials += trials;
            self.longest_s = self.longest_s.max(elapsed_s - since_s);
        }
    }

    /// The mean time of a trial, seconds; `None` before one has ended.
    #[must_use]
    pub fn mean_s(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.total_s / f64::from(self.trials))
    }

    /// The longest time of a proposal, seconds.
    #[must_use]
    pub fn longest_s(&self) -> f64 {
        self.longest_s
    }
}

/// A budget that contenders share.
#[derive(Debug, Clone)]
pub(crate) struct SharedBudget {
    whole: Budget,
    shares: BTreeMap<usize, Share>,
}

/// The time of one contender, from its first trial on.
#[derive(Debug, Clone)]
struct Share {
    budget: Budget,
    times: TrialTimes,
}

impl SharedBudget {
    /// Nobody has a share yet.
    #[must_use]
    pub fn new(whole: Budget) -> Self {
        Self {
            whole,
            shares: BTreeMap::new(),
        }
    }

    /// The budget of all.
    pub fn whole(&self) -> Budget {
        self.whole
    }

    /// Whether a contender has time for one more trial, which is expected to take so long, or as
    /// long as its longest one so far. `waiting` contenders are without a result, this one
    /// included: each gets an equal part of the time that is left when it begins.
    pub fn has_time_for(
        &mut self,
        contender: usize,
        waiting: usize,
        expected_s: f64,
        elapsed_s: f64,
    ) -> bool {
        for share in self.shares.values_mut() {
            share.times.end(elapsed_s);
        }
        let whole = self.whole;
        let share = self.shares.entry(contender).or_insert_with(|| Share {
            budget: Budget::new(elapsed_s, whole.left_s(elapsed_s) / waiting.max(1) as f64),
            times: TrialTimes::default(),
        });
        let expected_s = share.times.longest_s().max(expected_s);
        let has_time = share.budget.has_time_for(expected_s, elapsed_s);
        if has_time {
            share.times.begin(1, elapsed_s);
        }
        has_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_one_contender_does_not_need_is_for_those_that_follow() {
        let mut budget = SharedBudget::new(Budget::new(0.0, 100.0));
        assert!(budget.has_time_for(0, 2, 50.0, 0.0));
        assert!(!budget.has_time_for(0, 2, 41.0, 10.0), "its share is 50 s");
        assert!(budget.has_time_for(1, 1, 90.0, 10.0));
    }

    #[test]
    fn a_trial_is_expected_to_take_as_long_as_the_longest_so_far() {
        let mut budget = SharedBudget::new(Budget::new(5.0, 100.0));
        assert!(budget.has_time_for(0, 1, 1.0, 5.0));
        assert!(budget.has_time_for(0, 1, 1.0, 65.0 - 15.0), "55 s are left");
        assert!(!budget.has_time_for(0, 1, 1.0, 65.0));
        assert!(budget.has_time_for(1, 1, 1.0, 65.0), "another one is not");
    }

    #[test]
    fn a_mean_is_of_trials_and_not_of_proposals() {
        let mut times = TrialTimes::default();
        times.begin(4, 0.0);
        times.end(8.0);
        times.end(20.0);
        assert_eq!((times.mean_s(), times.longest_s()), (Some(2.0), 8.0));
    }

    #[test]
    fn a_budget_below_the_least_one_is_refused() {
        assert_eq!(BudgetShortage::check(None, 90.0, 60.0), Ok(90.0));
        assert_eq!(BudgetShortage::check(Some(60.0), 90.0, 60.0), Ok(60.0));
        let shortage = BudgetShortage::check(Some(59.0), 90.0, 60.0).unwrap_err();
        assert_eq!((shortage.given_s, shortage.least_s), (59.0, 60.0));
    }
}
