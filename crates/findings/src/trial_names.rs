//! One name for each trial and each contender of a run, in every section of its report.

use crate::Run;
use crate::contender::ContenderNames;
use crate::rankings::groups;
use crate::storage_models::StorageModels;
use crate::units::{counted, setting_value};
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;

/// The names of a run's trials. A contender is called what its ranking calls it; a trial by its
/// contender, level, workers, the settings that distinguish it from other trials of its workload,
/// the offered rate, the storage models and the faults of storage if the run has several, and its
/// repeat.
pub struct TrialNames {
    contenders: BTreeMap<String, String>,
    /// By workload, the settings that are not the same in all of its trials.
    varying_settings: BTreeMap<String, BTreeSet<String>>,
    several_workloads: bool,
    several_rates: bool,
    several_models: bool,
    has_models: bool,
}

impl TrialNames {
    /// Names the trials of a run.
    pub fn of(run: &Run) -> Self {
        Self::of_groups(&groups(&run.manifest, &run.trials), &run.trials)
    }

    /// Names trials by groups, one per ranking.
    pub fn of_groups(groups: &[Vec<&TrialRecord>], trials: &[TrialRecord]) -> Self {
        let mut contenders = BTreeMap::new();
        for group in groups {
            let names = ContenderNames::of(group);
            let named = group
                .iter()
                .map(|trial| (trial.spec.id.clone(), names.marked(trial)));
            contenders.extend(named);
        }
        let mut varying_settings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut first_settings = BTreeMap::new();
        for spec in trials.iter().map(|trial| &trial.spec) {
            let first = *first_settings
                .entry(&spec.workload)
                .or_insert(&spec.settings);
            let names = first.keys().chain(spec.settings.keys());
            let differing = names.filter(|name| first.get(*name) != spec.settings.get(*name));
            let varying = varying_settings.entry(spec.workload.clone()).or_default();
            varying.extend(differing.cloned());
        }
        let mut rates = trials.iter().map(|trial| trial.spec.conditions.rate);
        let first_rate = rates.next();
        let conditions = trials.iter().map(|trial| &trial.spec.conditions);
        let models: Vec<_> = conditions.map(StorageModels::of).collect();
        Self {
            contenders,
            several_rates: rates.any(|rate| Some(rate) != first_rate),
            several_models: models.windows(2).any(|two| two[0] != two[1]),
            has_models: models.iter().any(StorageModels::has_model),
            several_workloads: varying_settings.len() > 1,
            varying_settings,
        }
    }

    /// The contender as its ranking names it, with the labels of its marks.
    pub fn contender(&self, trial: &TrialRecord) -> String {
        let known = self.contenders.get(&trial.spec.id);
        known.cloned().unwrap_or_else(|| trial.spec.contender())
    }

    /// The common part of the names of a trial's repeats: `lmdb, sync, 4 workers, finish=1000`.
    pub fn cell(&self, trial: &TrialRecord) -> String {
        let spec = &trial.spec;
        let mut parts = vec![self.contender(trial)];
        if self.several_workloads {
            parts.push(spec.workload.clone());
        }
        parts.push(spec.durability.to_string());
        parts.push(counted(u64::from(spec.workers), "worker"));
        if let Some(rate) = spec.conditions.rate.filter(|_| self.several_rates) {
            parts.push(format!("rate={}/s", rate.per_s));
        }
        let models = StorageModels::of(&spec.conditions);
        if self.several_models && (self.has_models || !models.is_none()) {
            parts.push(models.to_string());
        }
        let varying = self
            .varying_settings
            .get(&spec.workload)
            .into_iter()
            .flatten();
        parts.extend(varying.filter_map(|name| {
            let value = spec.settings.get(name)?;
            Some(format!(
                "{name}={}",
                setting_value(name, &value.to_string())
            ))
        }));
        parts.join(", ")
    }

    /// The trial: `lmdb, sync, 4 workers, finish=1000, r2`.
    pub fn trial(&self, trial: &TrialRecord) -> String {
        format!("{}, r{}", self.cell(trial), trial.spec.repeat)
    }
}
