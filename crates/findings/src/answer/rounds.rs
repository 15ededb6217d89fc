//! Preliminary rankings after each round of repeats, while a run continues.

use super::Answer;
use crate::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueput_record::{Outcome, RunManifest, TrialRecord};

/// A run that goes on, with the trials that have ended.
pub struct Standings {
    report: Run,
    /// By repeat, the trials of the plan that have not ended.
    left: BTreeMap<u32, BTreeSet<String>>,
    /// The repeats of the plan; `None` if the run ends when the intervals are narrow enough.
    rounds: Option<usize>,
}

/// A round of repeats: each trial of the plan ran once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// Rounds of the plan; `None` if the run ends when the intervals are narrow enough.
    pub of: Option<usize>,
}

impl Standings {
    /// Begins with the trials that ended before (a resumed run).
    #[must_use]
    pub fn new(folder: &Path, manifest: &RunManifest, before: Vec<TrialRecord>) -> Self {
        let mut left: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for spec in &manifest.trials {
            left.entry(spec.repeat).or_default().insert(spec.id.clone());
        }
        let rounds = manifest.until.is_none().then_some(left.len());
        let report = Run::of_records(folder, manifest.clone(), Vec::new());
        let mut standings = Self {
            report,
            left,
            rounds,
        };
        for record in before {
            standings.add(record);
        }
        standings
    }

    /// Adds a trial that ended. Returns the round that it completed.
    pub fn add(&mut self, record: TrialRecord) -> Option<Round> {
        let (repeat, id) = (record.spec.repeat, record.spec.id.clone());
        let has_ended = record.outcome != Outcome::Interrupted;
        self.report.trials.push(record);
        let left = self.left.get_mut(&repeat).filter(|_| has_ended)?;
        let was_left = left.remove(&id);
        let completed = was_left && left.is_empty();
        completed.then(|| Round {
            number: self.left.values().filter(|left| left.is_empty()).count(),
            of: self.rounds,
        })
    }

    /// Computes the answer from the trials so far.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer::of(&self.report)
    }
}
