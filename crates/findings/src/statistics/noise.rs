//! Whether a machine was quiet enough to rank anything on it.

use crate::statistics::Summary;
use crate::text::serialize_as_text;
use schemars::JsonSchema;
use serde::Serialize;

/// The noise of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// The smallest difference between medians of cells that is above the noise: the typical spread
    /// of repeats, as a share; 0 if no cell has enough repeats.
    pub floor: f64,
    /// The disturbances.
    pub reasons: Vec<Disturbance>,
}

/// A sign that a run was disturbed. Its `Display` is the clause that JSON has.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Disturbance {
    /// Repeats of a cell differ by much.
    #[error("identical trials differed by {}", percent(*.share))]
    Spread {
        /// The typical spread, as a share.
        share: f64,
    },
    /// Programs that are not ours used processors.
    #[error(
        "other programs{} used {} of the processors",
        if *.with_kernel { " or the kernel" } else { "" },
        percent(*.share)
    )]
    OtherPrograms {
        /// Their share of the processors, 0 to 1.
        share: f64,
        /// Whether it includes the kernel's threads.
        with_kernel: bool,
    },
    /// The hypervisor withheld processors.
    #[error("the hypervisor took {} of the processors (steal)", percent(*.share))]
    Hypervisor {
        /// Its share of the processors, 0 to 1.
        share: f64,
    },
}

serialize_as_text!(Disturbance);

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Shares of the trial's processors that others used, each 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shares {
    /// To programs that are not ours.
    pub others: f64,
    /// Whether the kernel's own threads are in `others`, because nothing distinguishes them.
    pub with_kernel: bool,
    /// Withheld by the hypervisor.
    pub steal: f64,
}

/// Judges the noise of a run: `spreads` are the repeats' by cell, each as
/// [`crate::statistics::Summary`] has it, which does not grow with their number.
/// `None` if no cell was repeated and nothing disturbed the run.
#[must_use]
pub fn noise(spreads: &[f64], shares: Shares) -> Option<Noise> {
    let summary = Summary::of(spreads.iter().copied());
    let floor = summary.map(|summary| summary.median);
    let mut reasons = Vec::new();
    if let Some(share) = floor.filter(|typical| *typical > 0.10) {
        reasons.push(Disturbance::Spread { share });
    }
    if shares.others > 0.05 {
        reasons.push(Disturbance::OtherPrograms {
            share: shares.others,
            with_kernel: shares.with_kernel,
        });
    }
    if shares.steal > 0.02 {
        reasons.push(Disturbance::Hypervisor {
            share: shares.steal,
        });
    }
    (floor.is_some() || !reasons.is_empty()).then(|| Noise {
        floor: floor.unwrap_or_default(),
        reasons,
    })
}

impl Noise {
    /// Whether two rates are closer than the noise, so that their order means nothing.
    #[must_use]
    pub fn is_within_noise(&self, one: f64, other: f64) -> bool {
        let (low, high) = (one.min(other), one.max(other));
        low > 0.0 && high / low - 1.0 < self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(others: f64, steal: f64) -> Shares {
        Shares {
            others,
            with_kernel: false,
            steal,
        }
    }

    #[test]
    fn a_quiet_run_has_no_reasons_and_tells_small_differences() {
        let quiet = noise(&[0.01, 0.02, 0.015], shares(0.01, 0.0)).unwrap();
        assert!(quiet.reasons.is_empty());
        assert!(!quiet.is_within_noise(100.0, 105.0) && quiet.is_within_noise(100.0, 101.0));
    }

    #[test]
    fn a_noisy_run_says_what_disturbed_it() {
        let noisy = noise(&[0.2, 0.3, 0.1], shares(0.4, 0.1)).unwrap();
        assert_eq!(noisy.reasons.len(), 3, "{:?}", noisy.reasons);
        assert!(noisy.is_within_noise(100.0, 115.0));
        assert_eq!(noise(&[], Shares::default()), None);
    }

    #[test]
    fn what_disturbed_a_run_is_told_without_repeats_and_drowns_nothing_then() {
        let once = noise(&[], shares(0.0, 0.5)).unwrap();
        assert_eq!(
            once.reasons[0].to_string(),
            "the hypervisor took 50 % of the processors (steal)"
        );
        assert!(!once.is_within_noise(100.0, 100.1));
    }

    #[test]
    fn the_kernel_is_named_where_it_may_be_what_was_seen() {
        let with_kernel = Shares {
            with_kernel: true,
            ..shares(0.3, 0.0)
        };
        let found = noise(&[], with_kernel).unwrap().reasons;
        assert!(
            found[0]
                .to_string()
                .starts_with("other programs or the kernel used 30 %")
        );
    }
}
