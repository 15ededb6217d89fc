//! The subject of a ranking: durability level, workload, and the settings that distinguish it from
//! other rankings.

use crate::audits::AuditCoverage;
use crate::isolation;
use crate::power_loss::StoragePromise;
use crate::rankings::Ranking;
use crate::storage_models::StorageModels;
use crate::units::plural;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::{ClusterSurvival, Durability};

/// The workload, level and settings that the contenders of a ranking have in common.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankingSubject {
    /// The workload.
    pub workload: String,
    /// Durability level of each commit.
    pub durability: Durability,
    /// The audits of the ranked contenders' promises; `None` if nothing is promised, or no promise
    /// of the run was audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditCoverage>,
    /// The failures of nodes that an acknowledged commit survives; `None` without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSurvival>,
    /// Whether databases or logs were in memory, so that nothing survives lost power.
    pub in_memory: bool,
    /// What the storage leaves of the promise of the level.
    pub storage: StoragePromise,
    /// Number of workers.
    pub workers: u32,
    /// The isolation level that all state, in a word; `None` if rankings are not split by
    /// isolation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The offered rate per second, if the ranking is by response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Settings in which the run's rankings of this workload differ, as name and value; empty if
    /// the workload has one ranking.
    pub settings: Vec<(String, String)>,
    /// The file systems of all its trials, where the run has others, as condition and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<(&'static str, String)>,
    /// The storage models of all its trials, and the fault of their storage; `None` if the run has
    /// no trial on a model, and these had no fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_models: Option<StorageModels>,
    /// The operation whose rate is shown, in the plural: `updates`.
    pub unit: String,
    /// Its place among the run's rankings, from 0.
    pub index: usize,
}

impl RankingSubject {
    /// Whether an audit says something here: not where the storage does not keep the promise.
    #[must_use]
    pub fn counts_audits(&self) -> bool {
        !self.in_memory && !self.storage.is_lost()
    }
}

/// The subject of each ranking of a run.
pub(super) fn subjects(rankings: &[Ranking]) -> Vec<RankingSubject> {
    let audits: Vec<_> = rankings.iter().map(Ranking::audit_coverage).collect();
    let is_any_audited = audits.iter().flatten().any(|audit| audit.audited > 0);
    let subject = |(index, ranking): (usize, &Ranking)| RankingSubject {
        workload: ranking.workload.clone(),
        durability: ranking.durability,
        audit: audits[index].clone().filter(|_| is_any_audited),
        cluster: ranking.cluster,
        in_memory: ranking.in_memory,
        storage: ranking.storage.clone(),
        workers: ranking.workers,
        isolation: ranking
            .is_split
            .then(|| isolation::word(ranking.isolation).to_owned()),
        rate_per_s: ranking.rate_per_s,
        settings: distinguishing_settings(ranking, rankings),
        file_systems: ranking.file_systems.clone(),
        storage_models: ranking.storage_models.clone(),
        unit: plural(&ranking.headline),
        index,
    };
    rankings.iter().enumerate().map(subject).collect()
}

/// The settings that the rankings of one workload do not share.
fn distinguishing_settings(ranking: &Ranking, rankings: &[Ranking]) -> Vec<(String, String)> {
    let same_workload = |other: &&Ranking| other.workload == ranking.workload;
    let differs = |name: &String| {
        let value = ranking.settings.get(name);
        let mut others = rankings.iter().filter(same_workload);
        others.any(|other| other.settings.get(name) != value)
    };
    let settings = ranking.settings.iter().filter(|(name, _)| differs(name));
    settings
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
}
