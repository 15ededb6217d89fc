//! Preliminary rankings after each round of repeats, while a run continues.

use super::Answer;
use crate::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueput_record::{Outcome, RunManifest, TrialRecord, TrialSpec};

/// A run that goes on, with the trials that have ended.
pub struct Standings {
    report: Run,
    /// By repeat, the trials of the plan that have not ended.
    left: BTreeMap<u32, BTreeSet<String>>,
    /// The repeats of the plan; `None` if the results end them.
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
        let mut standings = Self {
            report: Run::of_records(folder, manifest.clone(), Vec::new()),
            left: BTreeMap::new(),
            rounds: None,
        };
        standings.await_trials(&manifest.trials);
        if manifest.until.is_none() && manifest.decision().is_none() {
            standings.rounds = Some(standings.left.len());
        }
        for record in before {
            standings.add(record);
        }
        standings
    }

    /// Whether the run goes on until its rankings are decided.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.report.manifest.decision().is_some()
    }

    /// Adds trials that the run is to do, too.
    pub fn add_trials(&mut self, trials: &[TrialSpec]) {
        self.report.manifest.trials.extend_from_slice(trials);
        self.await_trials(trials);
    }

    fn await_trials(&mut self, trials: &[TrialSpec]) {
        for spec in trials {
            let of_repeat = self.left.entry(spec.repeat).or_default();
            of_repeat.insert(spec.id.clone());
        }
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
