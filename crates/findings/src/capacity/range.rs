//! The range in which a capacity lies, from trials that kept the objective and trials that did not.

/// The highest rate that holds and the lowest above it that does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CapacityRange {
    /// The rates that were tried, each with the number of trials that failed.
    rates: Vec<RateEntry>,
    /// The highest rate that holds, per second.
    pub holds_per_s: Option<f64>,
    /// The lowest rate above it that failed, per second.
    pub fails_per_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
struct RateEntry {
    rate_per_s: f64,
    failed: u32,
}

impl CapacityRange {
    /// Adds a trial at a rate. Where results contradict each other the later one counts: a rate
    /// that holds overrules an earlier failure at a lower one, which noise can cause, and a rate
    /// that fails once does not hold.
    pub(crate) fn add(&mut self, rate_per_s: f64, holds: bool) {
        let known = self.rates.iter().position(|it| it.rate_per_s == rate_per_s);
        let at = known.unwrap_or_else(|| {
            self.rates.push(RateEntry {
                rate_per_s,
                failed: 0,
            });
            self.rates.len() - 1
        });
        let entry = &mut self.rates[at];
        entry.failed += u32::from(!holds);
        if entry.failed == 0 {
            let highest = self.holds_per_s.map_or(rate_per_s, |it| it.max(rate_per_s));
            self.holds_per_s = Some(highest);
            self.fails_per_s = self.fails_per_s.filter(|&fails| fails > rate_per_s);
        } else if self.fails_per_s.is_none_or(|fails| rate_per_s < fails) {
            self.fails_per_s = Some(rate_per_s);
            self.holds_per_s = self.highest_below(rate_per_s);
        }
    }

    /// The highest rate below this one that held whenever it was tried.
    fn highest_below(&self, limit_per_s: f64) -> Option<f64> {
        let held = self.rates.iter().filter(|it| it.failed == 0);
        let below = held.map(|it| it.rate_per_s).filter(|&it| it < limit_per_s);
        below.reduce(f64::max)
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
    fn a_rate_that_fails_once_does_not_hold() {
        let trials = [(100.0, true), (200.0, true), (200.0, false), (200.0, true)];
        assert_eq!(range(&trials), (Some(100.0), Some(200.0)));
    }
}
