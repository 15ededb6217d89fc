//! One name for each trial and each contender of a run, in every section of its report.

use crate::Run;
use crate::contender::ContenderNames;
use crate::rankings::groups;
use crate::units::counted;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;

/// The names of a run's trials. A contender is called what its ranking calls it; a trial by its
/// contender, level, workers, the settings that distinguish it from other trials of its workload,
/// and its repeat.
pub struct TrialNames {
    contenders: BTreeMap<String, String>,
    /// By workload, the settings that are not the same in all of its trials.
    telling: BTreeMap<String, BTreeSet<String>>,
    several_workloads: bool,
}

impl TrialNames {
    /// The names of a report's trials.
    pub fn of(report: &Run) -> Self {
        Self::of_groups(&groups(&report.manifest, &report.trials), &report.trials)
    }

    /// The names of trials of which each group has a ranking.
    pub fn of_groups(groups: &[Vec<&TrialRecord>], trials: &[TrialRecord]) -> Self {
        let mut contenders = BTreeMap::new();
        for group in groups {
            let names = ContenderNames::of(group);
            let named = group
                .iter()
                .map(|trial| (trial.spec.id.clone(), names.marked(trial)));
            contenders.extend(named);
        }
        let mut telling: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut firsts = BTreeMap::new();
        for spec in trials.iter().map(|trial| &trial.spec) {
            let first = *firsts.entry(&spec.workload).or_insert(&spec.settings);
            let names = first.keys().chain(spec.settings.keys());
            let differing = names.filter(|name| first.get(*name) != spec.settings.get(*name));
            let telling = telling.entry(spec.workload.clone()).or_default();
            telling.extend(differing.cloned());
        }
        Self {
            contenders,
            several_workloads: telling.len() > 1,
            telling,
        }
    }

    /// The contender, with the labels of its marks, as its ranking has it.
    pub fn contender(&self, trial: &TrialRecord) -> String {
        let known = self.contenders.get(&trial.spec.id);
        known.cloned().unwrap_or_else(|| trial.spec.contender())
    }

    /// What the repeats of a trial have in common: `lmdb, sync, 4 workers, finish=1000`.
    pub fn cell(&self, trial: &TrialRecord) -> String {
        let spec = &trial.spec;
        let mut parts = vec![self.contender(trial)];
        if self.several_workloads {
            parts.push(spec.workload.clone());
        }
        parts.push(spec.durability.to_string());
        parts.push(counted(u64::from(spec.workers), "worker"));
        let telling = self.telling.get(&spec.workload).into_iter().flatten();
        parts.extend(telling.filter_map(|name| {
            let value = spec.settings.get(name)?;
            Some(format!("{name}={value}"))
        }));
        parts.join(", ")
    }

    /// The trial: `lmdb, sync, 4 workers, finish=1000, r2`.
    pub fn trial(&self, trial: &TrialRecord) -> String {
        format!("{}, r{}", self.cell(trial), trial.spec.repeat)
    }
}
