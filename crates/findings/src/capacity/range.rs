//! The range in which a capacity lies, from trials that kept the objective and trials that did not.

/// A rate that failed in this many trials does not hold, whatever the others showed.
pub(crate) const FAILURES: u32 = 2;

/// The highest rate that holds and the lowest above it that does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CapacityRange {
    /// The rates that were tried.
    rates: Vec<RateEntry>,
    /// The highest rate that holds, per second.
    pub holds_per_s: Option<f64>,
    /// The lowest rate above it that does not hold, per second.
    pub fails_per_s: Option<f64>,
}

/// A rate, and its trials.
#[derive(Debug, Clone, PartialEq)]
struct RateEntry {
    rate_per_s: f64,
    held: u32,
    failed: u32,
}

impl RateEntry {
    /// Whether the rate holds: one failure beside trials that held can be a pause of the machine.
    const fn holds(&self) -> bool {
        self.held > 0 && self.failed < FAILURES
    }
}

impl CapacityRange {
    /// Adds a trial at a rate. A rate that holds overrules earlier failures at lower ones, which
    /// noise can cause; then those at higher ones may be noise, too, and the limit is looked for
    /// anew.
    pub(crate) fn add(&mut self, rate_per_s: f64, holds: bool) {
        let known = self.rates.iter().position(|it| it.rate_per_s == rate_per_s);
        let at = known.unwrap_or_else(|| {
            self.rates.push(RateEntry {
                rate_per_s,
                held: 0,
                failed: 0,
            });
            self.rates.len() - 1
        });
        let entry = &mut self.rates[at];
        entry.held += u32::from(holds);
        entry.failed += u32::from(!holds);
        if entry.holds() {
            let highest = self.holds_per_s.map_or(rate_per_s, |it| it.max(rate_per_s));
            self.holds_per_s = Some(highest);
            self.fails_per_s = self.fails_per_s.filter(|&fails| fails > rate_per_s);
        } else if self.fails_per_s.is_none_or(|fails| rate_per_s < fails) {
            self.holds_per_s = self.highest_below(rate_per_s);
            self.fails_per_s = Some(self.refuted().fold(rate_per_s, f64::min));
        }
    }

    /// The highest rate below this one that holds.
    fn highest_below(&self, limit_per_s: f64) -> Option<f64> {
        let held = self.rates.iter().filter(|it| it.holds());
        let below = held.map(|it| it.rate_per_s).filter(|&it| it < limit_per_s);
        below.reduce(f64::max)
    }

    /// The rates above the highest that holds which failed twice. A single failure that a higher
    /// rate overruled is not among them.
    fn refuted(&self) -> impl Iterator<Item = f64> {
        let refuted = self.rates.iter().filter(|it| it.failed >= FAILURES);
        let rates = refuted.map(|it| it.rate_per_s);
        rates.filter(|rate_per_s| self.holds_per_s.is_none_or(|holds| *rate_per_s > holds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(trials: &[(f64, bool)]) -> (Option<f64>, Option<f64>) {
        let mut range = CapacityRange::default();
        for (rate_per_s, holds) in trials {
            range.add(*rate_per_s, *holds);
        }
        (range.holds_per_s, range.fails_per_s)
    }

    #[test]
    fn the_range_lies_between_what_holds_and_what_fails() {
        assert_eq!(range(&[]), (None, None));
        assert_eq!(range(&[(100.0, true)]), (Some(100.0), None));
        let trials = [(100.0, true), (400.0, false), (200.0, true)];
        assert_eq!(range(&trials), (Some(200.0), Some(400.0)));
        assert_eq!(range(&[(100.0, false), (50.0, false)]), (None, Some(50.0)));
    }

    #[test]
    fn a_rate_that_holds_overrules_an_earlier_failure_below_it() {
        let trials = [(100.0, true), (200.0, false), (300.0, true)];
        assert_eq!(range(&trials), (Some(300.0), None));
    }

    #[test]
    fn a_rate_that_fails_at_first_or_twice_does_not_hold() {
        let first = [(100.0, true), (200.0, false)];
        assert_eq!(range(&first), (Some(100.0), Some(200.0)));
        let once = [(100.0, true), (200.0, true), (200.0, false), (200.0, true)];
        assert_eq!(range(&once), (Some(200.0), None));
        let twice = [&once[..], &[(200.0, false), (200.0, true)]].concat();
        assert_eq!(range(&twice), (Some(100.0), Some(200.0)));
    }

    #[test]
    fn a_rate_that_failed_twice_is_not_overruled_by_one_that_is_refuted_in_turn() {
        let refuted = [(100.0, true), (110.0, false), (110.0, false)];
        let higher = [(125.0, true), (125.0, false), (125.0, false)];
        let trials = [refuted, higher].concat();
        assert_eq!(range(&trials[..4]), (Some(125.0), None));
        assert_eq!(range(&trials), (Some(100.0), Some(110.0)));
    }

    #[test]
    fn a_rate_that_holds_after_its_first_trial_failed_holds_until_it_fails_again() {
        let trials = [(100.0, true), (200.0, false), (200.0, true)];
        assert_eq!(range(&trials), (Some(200.0), None));
        let trials = [(100.0, true), (200.0, false), (200.0, true), (200.0, false)];
        assert_eq!(range(&trials), (Some(100.0), Some(200.0)));
    }
}
