//! The time that audits need, where the user limits it.

use crate::Error;
use crate::failure::TIME_OVER;
use std::time::Duration;
use trueput_record::audit::{AuditResult, CONTROLS};
use trueput_record::value::format_seconds;

/// The time that each audit is given at least.
pub(crate) const MIN_AUDIT_TIME: Duration = Duration::from_secs(1);

/// The time that a control takes at least: it makes a recording, and starts a process for each of
/// its states.
const MIN_CONTROL_TIME: Duration = Duration::from_millis(200);

/// A longer budget is advised in steps of this length, seconds.
const STEP_S: u64 = 10;

/// Checks that a budget suffices for the controls and this many audits, at the fastest.
///
/// # Errors
/// [`Error::BudgetTooShort`].
pub(crate) fn check_budget(budget: Duration, audits: usize, is_block: bool) -> Result<(), Error> {
    let controls = CONTROLS.len() + if is_block { STORAGE_CONTROLS } else { 0 };
    let least = MIN_CONTROL_TIME * controls as u32 + MIN_AUDIT_TIME * audits as u32;
    if budget >= least {
        return Ok(());
    }
    Err(Error::BudgetTooShort {
        budget,
        controls,
        audits,
        least,
    })
}

/// The controls on the file system of the block form: the one that flushes and the one that does
/// not.
pub(crate) const STORAGE_CONTROLS: usize = 2;

/// What audits took of the time, where it was too short for some.
#[derive(Debug, Default)]
pub(crate) struct ElapsedTime {
    /// What the controls took.
    pub(crate) controls: Duration,
    /// The shares of all audits.
    pub(crate) shares: u32,
    /// The longest time that a share of an audit took for which the time was too short.
    pub(crate) longest_share: Duration,
}

impl ElapsedTime {
    /// Notes what an audit with that many shares took, if the time was too short for it.
    pub(crate) fn note(&mut self, result: &AuditResult, took: Duration, shares: u32) {
        if is_over(result) {
            self.longest_share = self.longest_share.max(took / shares);
        }
    }

    /// Adds to each result for which the time was too short how much would be enough. A recording
    /// took all of its time, so states have the same once more.
    pub(crate) fn advise(&self, results: &mut [AuditResult]) {
        let enough = self.controls + self.longest_share * 2 * self.shares;
        let steps = enough.as_secs().div_euclid(STEP_S) + 1;
        let controls = self.controls.as_secs_f64().ceil();
        let advice = format!(
            "{TIME_OVER}: the controls alone took {controls} s; give --budget {} or more",
            format_seconds((steps * STEP_S) as f64)
        );
        for result in results.iter_mut().filter(|result| is_over(result)) {
            result.failure = Some(advice.clone());
        }
    }
}

fn is_over(result: &AuditResult) -> bool {
    result.failure.as_deref() == Some(TIME_OVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_cannot_suffice_is_refused() {
        let seconds = Duration::from_secs;
        assert!(check_budget(seconds(2), 1, false).is_ok());
        let refused = |budget, audits, is_block| {
            let failure = check_budget(seconds(budget), audits, is_block).unwrap_err();
            failure.to_string()
        };
        let found = refused(1, 1, false);
        assert!(found.contains("--budget 1s: too short for 5"), "{found}");
        assert!(found.ends_with("give 2s or more"), "{found}");
        let found = refused(60, 60, true);
        assert!(found.ends_with("give 62s or more"), "{found}");
    }

    #[test]
    fn enough_time_is_what_the_controls_took_and_twice_what_the_audits_took() {
        let mut taken = ElapsedTime {
            controls: Duration::from_secs(13),
            shares: 4,
            ..ElapsedTime::default()
        };
        let result = |failure: Option<&str>| AuditResult {
            failure: failure.map(str::to_owned),
            ..serde_json::from_str(RESULT).unwrap()
        };
        let mut results = [result(None), result(Some(TIME_OVER)), result(Some("other"))];
        let took = [30, 9, 40].map(Duration::from_secs);
        for (result, took) in results.iter().zip(took) {
            taken.note(result, took, 3);
        }
        taken.advise(&mut results);
        let failures = results.map(|result| result.failure.unwrap_or_default());
        let advice = "time budget exhausted before any state was tested: the controls alone \
                      took 13 s; give --budget 40s or more";
        assert_eq!(failures, ["", advice, "other"]);
    }

    const RESULT: &str = r#"{"id": "lmdb-sync", "contender": "lmdb", "version": "", "build": "",
        "durability": "sync", "claim": null, "knobs": {}, "given_knobs": {}, "file_system": null,
        "seed": 1, "commits_per_phase": 1, "commits": 1, "operations": 1, "flushes": 1,
        "models": [], "failure": null, "ended_at": ""}"#;
}
