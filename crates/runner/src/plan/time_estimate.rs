//! Estimates how long a run takes, from durations and from the same trials in earlier runs.

use crate::program::name_profile;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use trueput_record::trial_time::plan_time_s;
use trueput_record::{Outcome, RunFolder, TrialSpec};

/// The number of earlier runs considered, the newest first.
const MAX_RUNS: usize = 20;

/// A longer file of trials is not read for an estimate.
const MAX_LENGTH_BYTES: u64 = 16 << 20;

/// A shorter run is not announced.
const MIN_ANNOUNCED_S: f64 = 60.0;

/// This many trials of unknown length may take long.
const MANY_TRIALS: usize = 10;

/// The estimated time of trials.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeEstimate {
    /// The number of trials.
    pub trials: usize,
    /// Trials without a duration or an earlier run.
    pub unknown: usize,
    /// Trials known by their duration only: their preparation is unknown.
    pub by_duration: usize,
    /// The time of all known trials, seconds.
    pub known_s: f64,
}

impl TimeEstimate {
    /// Estimates some trials, with the earlier runs in that results folder.
    #[must_use]
    pub fn of<'a>(trials: impl IntoIterator<Item = &'a TrialSpec>, results: &Path) -> Self {
        let trials: Vec<_> = trials.into_iter().collect();
        let wanted: HashSet<String> = trials.iter().map(|spec| key(spec)).collect();
        let earlier = earlier(results, &wanted);
        let mut estimate = Self {
            trials: trials.len(),
            ..Self::default()
        };
        for spec in trials {
            let by_duration = spec.conditions.duration_s;
            match (earlier.get(&key(spec)), by_duration) {
                (Some(&time_s), _) => estimate.known_s += time_s,
                (None, Some(duration_s)) => {
                    estimate.by_duration += 1;
                    estimate.known_s += spec.conditions.warm_up_s + duration_s;
                }
                (None, None) => estimate.unknown += 1,
            }
        }
        estimate
    }

    /// Returns whether to show it before a run: the run takes more than a minute, or may.
    #[must_use]
    pub fn may_be_long(&self) -> bool {
        self.known_s > MIN_ANNOUNCED_S || (self.unknown > 0 && self.trials >= MANY_TRIALS)
    }

    /// Returns the estimate as text: `about 3 min for 125 trials`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            trials, unknown, ..
        } = *self;
        let about = match self.by_duration {
            0 => "about",
            // Loading and verifying come on top.
            _ => "at least",
        };
        let time = to_text(self.known_s);
        let plural = if trials == 1 { "" } else { "s" };
        let later = "known after the first repeat";
        match trials - unknown {
            known if unknown == 0 => format!("{about} {time} for {known} trial{plural}"),
            0 => format!("time unknown for {trials} trial{plural}: {later}"),
            known => format!(
                "{about} {time} for {known} of {trials} trial{plural}; time unknown for \
                 {unknown}: {later}"
            ),
        }
    }
}

/// Formats a duration for people.
fn to_text(time_s: f64) -> String {
    let seconds = time_s.ceil() as u64;
    let minutes = (time_s / 60.0).round() as u64;
    match minutes {
        _ if seconds <= 90 => format!("{seconds} s"),
        ..60 => format!("{minutes} min"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Returns all that decides how long a trial takes.
fn key(spec: &TrialSpec) -> String {
    let alike = TrialSpec {
        id: String::new(),
        cell: 0,
        repeat: 0,
        note: None,
        step: None,
        role: None,
        ..spec.clone()
    };
    serde_json::to_string(&alike).unwrap_or_default()
}

/// Returns the durations of the wanted trials in the newest of the earlier runs that had them,
/// seconds.
fn earlier(results: &Path, wanted: &HashSet<String>) -> HashMap<String, f64> {
    let entries = std::fs::read_dir(results).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // Their names begin with the time.
    folders.sort();
    let mut found = HashMap::new();
    for folder in folders.iter().rev().take(MAX_RUNS) {
        if found.len() == wanted.len() {
            break;
        }
        for (key, time_s) in of_run(folder).unwrap_or_default() {
            if wanted.contains(&key) {
                found.entry(key).or_insert(time_s);
            }
        }
    }
    found
}

/// The mean time of each cell of a run by this kind of build, seconds; `None` if none
/// is known.
fn of_run(folder: &Path) -> Option<HashMap<String, f64>> {
    let size = folder.join("trials.jsonl").metadata().ok()?.len();
    if size > MAX_LENGTH_BYTES {
        return None;
    }
    let (folder, manifest) = RunFolder::open(folder).ok()?;
    if manifest.host.program.profile != name_profile() {
        return None;
    }
    let mut trials = folder.trials().ok()?.trials;
    trials.retain(|trial| matches!(trial.outcome, Outcome::Valid | Outcome::Invalid { .. }));
    let mut sums: HashMap<String, (f64, u32)> = HashMap::new();
    for (index, trial) in trials.iter().enumerate() {
        if let Some(time_s) = plan_time_s(trial, trials.get(index + 1)) {
            let (sum, count) = sums.entry(key(&trial.spec)).or_default();
            *sum += time_s;
            *count += 1;
        }
    }
    let means = sums.into_iter();
    Some(
        means
            .map(|(key, (sum, count))| (key, sum / f64::from(count)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(trials: usize, unknown: usize, by_duration: usize, known_s: f64) -> TimeEstimate {
        TimeEstimate {
            trials,
            unknown,
            by_duration,
            known_s,
        }
    }

    #[test]
    fn an_estimate_says_what_is_known_and_what_is_not() {
        let said = |estimate: TimeEstimate| estimate.to_text();
        assert_eq!(
            said(estimate(125, 0, 0, 182.0)),
            "about 3 min for 125 trials"
        );
        assert_eq!(said(estimate(1, 0, 1, 90.0)), "at least 90 s for 1 trial");
        assert_eq!(
            said(estimate(9, 4, 0, 5_400.0)),
            "about 1 h 30 min for 5 of 9 trials; time unknown for 4: known after the first repeat"
        );
        assert_eq!(
            said(estimate(9, 9, 0, 0.0)),
            "time unknown for 9 trials: known after the first repeat"
        );
    }

    #[test]
    fn a_short_run_needs_no_announcement() {
        assert!(!estimate(5, 0, 0, 59.0).may_be_long());
        assert!(estimate(5, 0, 0, 61.0).may_be_long());
        assert!(!estimate(9, 9, 0, 0.0).may_be_long());
        assert!(estimate(10, 10, 0, 0.0).may_be_long());
    }
}
