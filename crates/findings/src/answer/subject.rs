//! What a ranking is about: the promise, the workload, and what distinguishes it from others.

use crate::isolation;
use crate::rankings::Ranking;
use crate::units::plural;
use serde::Serialize;
use trueput_record::Durability;

/// What the contenders of one ranking ran, at which promise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankingSubject {
    /// The workload.
    pub workload: String,
    /// What each commit promises.
    pub durability: Durability,
    /// Whether databases or logs were in memory, so that nothing survives lost power.
    pub in_memory: bool,
    /// How many workers.
    pub workers: u32,
    /// The isolation that all state, in a word, where rankings are split by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The rate that all were offered, per second, where the ranking is by response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The settings by which the run's rankings of this workload differ, as name and value; empty
    /// where the workload has one ranking.
    pub settings: Vec<(String, String)>,
    /// The operation whose rate is shown, in the plural: `updates`.
    pub unit: String,
    /// Its place among the run's rankings, from 0.
    pub index: usize,
}

/// The subject of each ranking of a run.
pub(super) fn subjects(rankings: &[Ranking]) -> Vec<RankingSubject> {
    let subject = |(index, ranking): (usize, &Ranking)| RankingSubject {
        workload: ranking.workload.clone(),
        durability: ranking.durability,
        in_memory: ranking.in_memory,
        workers: ranking.workers,
        isolation: ranking
            .is_split
            .then(|| isolation::word(ranking.isolation).to_owned()),
        rate_per_s: ranking.rate_per_s,
        settings: distinguishing_settings(ranking, rankings),
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
