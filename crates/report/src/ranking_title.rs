//! Titles of rankings.

use crate::{fixed_rate, storage_words};
use trueput_findings::isolation;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::setting_value;
use trueput_record::Value;

/// The heading of a ranking.
pub(crate) fn ranking_heading(ranking: &Ranking) -> String {
    let subject = match (only_harness(ranking), ranking.in_memory) {
        (true, _) => "the harness itself".to_owned(),
        (false, false) => storage_words::level(ranking.durability, &ranking.storage),
        (false, true) => format!(
            "{} in memory (nothing survives lost power)",
            ranking.durability
        ),
    };
    let (workload, workers) = (&ranking.workload, ranking.workers);
    let unit = if workers == 1 { "worker" } else { "workers" };
    let mut heading = format!("{workload}, {subject}, {workers} {unit}");
    if ranking.is_split && !only_harness(ranking) {
        heading += &format!(", isolation {}", isolation::word(ranking.isolation));
    }
    if let Some(survival) = ranking.cluster {
        heading += &format!(", survives {survival}");
    }
    if let Some(models) = &ranking.storage_models {
        heading += &format!(", {models}");
    }
    for (name, value) in &ranking.file_systems {
        heading += &format!(", {name}={value}");
    }
    match fixed_rate::heading(ranking) {
        Some(order) => format!("{heading}, {order}"),
        None => heading,
    }
}

/// Labels each ranking with its heading, and with the settings that distinguish it from others with
/// the same heading.
pub(crate) fn labels(rankings: &[Ranking]) -> Vec<String> {
    let label = |ranking: &Ranking| {
        let heading = ranking_heading(ranking);
        let namesakes = rankings.iter().filter(|it| ranking_heading(it) == heading);
        let namesakes: Vec<_> = namesakes.collect();
        let differs = |name: &str, value: &Value| {
            namesakes
                .iter()
                .any(|other| other.settings.get(name) != Some(value))
        };
        let differing = ranking
            .settings
            .iter()
            .filter(|(name, value)| differs(name, value));
        let found: Vec<_> = differing
            .map(|(name, value)| format!("{name}={}", setting_value(name, &value.to_string())))
            .collect();
        if found.is_empty() {
            heading
        } else {
            format!("{heading} ({})", found.join(", "))
        }
    };
    rankings.iter().map(label).collect()
}

pub(crate) fn only_harness(ranking: &Ranking) -> bool {
    ranking.contenders().next().is_none() && !ranking.harness.is_empty()
}
