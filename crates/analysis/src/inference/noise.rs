//! Whether a machine was quiet enough to rank anything on it.

use crate::statistics::Summary;
use serde::Serialize;

/// What is known of a run's noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// How far the medians of cells must lie apart to be told apart: the typical spread of repeats,
    /// as a share.
    pub floor: f64,
    /// Sentences that say what disturbed the run.
    pub reasons: Vec<String>,
}

/// Judges the noise of a run: `spreads` are the repeats' (greatest less least over median) by cell,
/// `others_share` the part of the machine's CPU that went to programs that are not ours, and
/// `steal_share` what the hypervisor withheld, each 0 to 1. `None` where no cell was repeated.
#[must_use]
pub fn noise(spreads: &[f64], others_share: f64, steal_share: f64) -> Option<Noise> {
    let summary = Summary::of(spreads.iter().copied())?;
    let mut reasons = Vec::new();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    if summary.median > 0.10 {
        reasons.push(format!(
            "the repeats of a cell differ by {} typically",
            percent(summary.median)
        ));
    }
    if others_share > 0.05 {
        let share = percent(others_share);
        reasons.push(format!("other programs used {share} of the processors"));
    }
    if steal_share > 0.02 {
        let share = percent(steal_share);
        reasons.push(format!("the hypervisor withheld {share} of the processors"));
    }
    Some(Noise {
        floor: summary.median,
        reasons,
    })
}

impl Noise {
    /// Whether two rates lie closer than the noise, so that their order means nothing.
    #[must_use]
    pub fn drowns(&self, one: f64, other: f64) -> bool {
        let (low, high) = (one.min(other), one.max(other));
        low > 0.0 && high / low - 1.0 < self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_run_has_no_reasons_and_tells_small_differences() {
        let quiet = noise(&[0.01, 0.02, 0.015], 0.01, 0.0).unwrap();
        assert!(quiet.reasons.is_empty());
        assert!(!quiet.drowns(100.0, 105.0) && quiet.drowns(100.0, 101.0));
    }

    #[test]
    fn a_noisy_run_says_what_disturbed_it() {
        let noisy = noise(&[0.2, 0.3, 0.1], 0.4, 0.1).unwrap();
        assert_eq!(noisy.reasons.len(), 3, "{:?}", noisy.reasons);
        assert!(noisy.drowns(100.0, 115.0));
        assert_eq!(noise(&[], 0.0, 0.0), None);
    }
}
