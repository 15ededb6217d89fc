//! The repeats of a run that decides in which other programs disturbed the machine.
//!
//! Contenders suffer unequally from others on their processors: one that waits for flushes on four
//! threads may fall to a fortieth, another to half. A ratio of such a repeat says nothing of a
//! quiet machine, so it does not count, and another repeat takes its place. Whether a repeat counts
//! depends on nothing that its contenders did, and on no later repeat.

use crate::bottleneck::allowed_processors;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;

/// A repeat is disturbed if others had more than this share of the processors in it.
pub const MAX_SHARE: f64 = 0.1;

/// A trial that is judged by the slowest requests is disturbed by less, too: if the hypervisor
/// withheld more than this share of the processors. A 99th percentile is that of one request in a
/// hundred.
const MAX_STEAL_SHARE: f64 = 0.01;

/// So many disturbed repeats do not count. Further ones do: the machine is always busy.
pub(crate) const MAX_LEFT_OUT: usize = 4;

/// The processor time of a repeat, seconds.
#[derive(Debug, Clone, Copy, Default)]
struct ProcessorTime {
    others_s: f64,
    steal_s: f64,
    all_s: f64,
}

impl ProcessorTime {
    /// Adds that of a trial, on a machine with so many processors, if that is known.
    fn add(&mut self, trial: &TrialRecord, cores: Option<f64>) {
        let Some(measurement) = &trial.measurement else {
            return;
        };
        // Where the kernel's threads are not told apart, a contender's own write-back is among the
        // others.
        let neighbors = measurement.neighbors.filter(|it| it.kernel_s.is_some());
        let cores = allowed_processors(measurement).or(cores);
        if let (Some(neighbors), Some(cores)) = (neighbors, cores) {
            self.others_s += neighbors.cpu_s + neighbors.steal_s;
            self.steal_s += neighbors.steal_s;
            self.all_s += measurement.elapsed_s * cores;
        }
    }

    fn is_disturbed(self) -> bool {
        self.others_s > self.all_s * MAX_SHARE
    }
}

/// Returns the repeats that do not count, from all trials of a ranking, on a machine with so many
/// processors.
pub(crate) fn disturbed_repeats(trials: &[&TrialRecord], cores: f64) -> BTreeSet<u32> {
    let mut times: BTreeMap<u32, ProcessorTime> = BTreeMap::new();
    for trial in trials {
        let time = times.entry(trial.spec.repeat).or_default();
        time.add(trial, Some(cores));
    }
    let disturbed = times.into_iter().filter(|(_, time)| time.is_disturbed());
    let repeats = disturbed.map(|(repeat, _)| repeat);
    repeats.take(MAX_LEFT_OUT).collect()
}

/// Whether others disturbed a trial that an objective judges.
pub(crate) fn is_judged_trial_disturbed(trial: &TrialRecord) -> bool {
    let mut time = ProcessorTime::default();
    time.add(trial, None);
    time.is_disturbed() || time.steal_s > time.all_s * MAX_STEAL_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::accounting::OtherPrograms;
    use trueput_record::testing::{spec, valid};
    use trueput_record::{Durability, TrialRecord};

    /// A trial of 1 s on two processors, of which others used so much.
    fn trial(cell: u32, repeat: u32, others_s: f64) -> TrialRecord {
        let mut trial = valid(spec(cell, "lmdb", Durability::Sync, repeat), 1_000.0);
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.elapsed_s = 1.0;
        measurement.neighbors = Some(OtherPrograms {
            cpu_s: others_s,
            kernel_s: Some(0.5),
            steal_s: 0.0,
        });
        trial
    }

    fn left_out(trials: &[TrialRecord]) -> Vec<u32> {
        let trials: Vec<_> = trials.iter().collect();
        disturbed_repeats(&trials, 2.0).into_iter().collect()
    }

    #[test]
    fn a_repeat_is_disturbed_by_what_others_had_of_all_its_trials() {
        let quiet = [trial(0, 1, 0.05), trial(1, 1, 0.3)];
        assert!(left_out(&quiet).is_empty(), "less than a tenth of both");
        let disturbed = [trial(0, 1, 0.05), trial(0, 2, 2.0), trial(1, 2, 0.0)];
        assert_eq!(left_out(&disturbed), [2]);
    }

    #[test]
    fn on_a_machine_that_is_always_busy_repeats_count_in_the_end() {
        let busy: Vec<_> = (1..=9).map(|repeat| trial(0, repeat, 1.0)).collect();
        assert_eq!(left_out(&busy), [1, 2, 3, 4]);
        let first: Vec<_> = busy[..3].to_vec();
        assert_eq!(left_out(&first), [1, 2, 3], "later ones change nothing");
    }
}
