//! What became of the faults of storage: how often they came, and in which trials they never did.

use crate::Run;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::Outcome;
use trueput_record::storage_fault::StorageFault;

/// A fault of storage, over the trials of a run that had it and have ended, however they did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FaultOccurrence {
    /// The fault.
    pub fault: StorageFault,
    /// The trials with it.
    pub trials: usize,
    /// Those of them in which it never came.
    pub trials_without: usize,
    /// The most requests that it concerns in one of these.
    pub most_requests: u64,
    /// How often it came, over all trials.
    pub injected: u64,
}

/// Returns the faults of the storage of a run, in the order of their first trials.
#[must_use]
pub fn fault_occurrences(run: &Run) -> Vec<FaultOccurrence> {
    let mut found: Vec<FaultOccurrence> = Vec::new();
    let trials = run.trials.iter();
    for trial in trials.filter(|trial| trial.outcome != Outcome::Interrupted) {
        let Some((fault, counts)) = trial.spec.conditions.fault.zip(trial.fault_counts) else {
            continue;
        };
        let place = found.iter().position(|one| one.fault == fault);
        let place = place.unwrap_or(found.len());
        if place == found.len() {
            found.push(FaultOccurrence {
                fault,
                trials: 0,
                trials_without: 0,
                most_requests: 0,
                injected: 0,
            });
        }
        let one = &mut found[place];
        one.trials += 1;
        one.injected += counts.injected;
        if counts.injected == 0 {
            one.trials_without += 1;
            one.most_requests = one.most_requests.max(counts.requests);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use trueput_record::measurement::FaultCounts;
    use trueput_record::testing::{manifest, spec, valid};
    use trueput_record::{Durability, TrialRecord};

    fn with(fault: &str, requests: u64, injected: u64) -> TrialRecord {
        let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 100.0);
        trial.spec.conditions.fault = fault.parse().ok();
        trial.fault_counts = Some(FaultCounts { requests, injected });
        trial
    }

    #[test]
    fn a_fault_is_counted_over_its_trials_and_those_in_which_it_never_came() {
        let plain = valid(spec(0, "lmdb", Durability::Sync, 1), 100.0);
        let mut interrupted = with("write:eio@1000", 5, 0);
        interrupted.outcome = Outcome::Interrupted;
        let trials = vec![
            plain,
            with("write:eio@1000", 312, 0),
            with("any:stall=2s@1s", 9, 1),
            with("write:eio@1000", 2_000, 1),
            with("write:eio@1000", 200, 0),
            interrupted,
        ];
        let run = Run::of_records(Path::new("results/run"), manifest(&trials), trials);
        let found = fault_occurrences(&run);
        let [write, stall] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(write.fault.to_string(), "write:eio@1000");
        assert_eq!((write.trials, write.trials_without), (3, 2));
        assert_eq!((write.most_requests, write.injected), (312, 1));
        assert_eq!(
            (stall.trials, stall.trials_without, stall.injected),
            (1, 0, 1)
        );
    }
}
