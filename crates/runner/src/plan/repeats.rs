//! Repeats until the result is precise enough, or the time is up.

use crate::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trueput_record::folder::{PrecisionTarget, SufficiencyReason};
use trueput_record::{RunFolder, RunManifest, TrialRecord, TrialSpec};

/// The repeats of each cell before its interval is considered: with fewer it means nothing.
const MIN_REPEATS: u32 = 3;

/// The greatest half-width of any contender's interval, over its rate; `None` if one is not known
/// yet.
pub type WidestInterval = dyn Fn(&RunManifest, &[TrialRecord]) -> Option<f64> + Send + Sync;

/// When repeats suffice. The caller defines the interval: this crate computes no statistics.
#[derive(Clone)]
pub struct RepeatRule {
    /// The half-width that every interval must reach.
    pub half_width: Option<f64>,
    /// The time budget.
    pub budget: Option<Duration>,
    /// Computes the widest interval of the trials that have ended.
    pub widest: Arc<WidestInterval>,
}

impl fmt::Debug for RepeatRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("RepeatRule");
        debug.field("half_width", &self.half_width);
        debug.field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl RepeatRule {
    /// Returns the rule as the manifest states it.
    pub(crate) fn as_stated(&self) -> PrecisionTarget {
        PrecisionTarget {
            half_width: self.half_width,
            budget_s: self.budget.map(|budget| budget.as_secs_f64()),
        }
    }

    pub(crate) fn begin(self) -> RepeatProgress {
        RepeatProgress {
            rule: self,
            began: Instant::now(),
            round: 0,
        }
    }
}

/// The progress of a run under a rule.
pub(crate) struct RepeatProgress {
    rule: RepeatRule,
    began: Instant,
    /// The repeat that was begun last.
    round: u32,
}

impl RepeatProgress {
    /// Returns whether the results so far suffice, before a trial is begun. Intervals are
    /// considered only between rounds, so that every cell has the same number of repeats.
    ///
    /// # Errors
    /// An error if the run folder cannot be read.
    pub fn enough_before(
        &mut self,
        spec: &TrialSpec,
        folder: &RunFolder,
        manifest: &RunManifest,
    ) -> Result<Option<SufficiencyReason>, Error> {
        let first_of_round = spec.repeat > self.round;
        self.round = self.round.max(spec.repeat);
        if let Some(half_width) = self.rule.half_width
            && first_of_round
            && spec.repeat > MIN_REPEATS
        {
            let trials = folder.trials()?.trials;
            let widest = (self.rule.widest)(manifest, &trials);
            if widest.is_some_and(|widest| widest <= half_width) {
                return Ok(Some(SufficiencyReason::Narrow));
            }
        }
        let spent = |budget| spec.repeat > 1 && self.began.elapsed() >= budget;
        Ok(self
            .rule
            .budget
            .is_some_and(spent)
            .then_some(SufficiencyReason::Budget))
    }
}
