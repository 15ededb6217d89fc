//! Text that describes the subject of a ranking.

use trueput_findings::answer::RankingSubject;
use trueput_findings::units::{counted, number};
use trueput_record::Durability;

/// The promise of the level in a few words: `every acknowledged commit survives lost power`.
#[must_use]
pub fn promise(subject: &RankingSubject) -> &'static str {
    if subject.in_memory {
        return "in memory, nothing survives lost power";
    }
    match subject.durability {
        Durability::Sync => "every acknowledged commit survives lost power",
        Durability::Async => "lost power may undo the last commits",
        Durability::Buffered => "a kill or lost power may undo the last commits",
        Durability::Process => "commits survive kills, not lost power",
        Durability::None => "nothing is promised",
    }
}

/// The workload and the parameters that distinguish this ranking: `threen1, 4 workers,
/// finish=1000`.
#[must_use]
pub fn conditions(subject: &RankingSubject) -> String {
    let mut parts = vec![
        subject.workload.clone(),
        counted(u64::from(subject.workers), "worker"),
    ];
    parts.extend(
        subject
            .rate_per_s
            .map(|rate| format!("{}/s offered", number(rate))),
    );
    parts.extend(
        subject
            .cluster
            .map(|survival| format!("survives {survival}")),
    );
    parts.extend(subject.isolation.clone());
    let settings = subject.settings.iter();
    parts.extend(settings.map(|(name, value)| format!("{name}={value}")));
    parts.join(", ")
}

/// The level and the conditions, without the promise: `sync, threen1, 4 workers, finish=1000`.
#[must_use]
pub fn short(subject: &RankingSubject) -> String {
    let memory = if subject.in_memory { " in memory" } else { "" };
    format!("{}{memory}, {}", level(subject), conditions(subject))
}

/// The level, and how its promise was audited: `sync (2 of 3 audited)`.
#[must_use]
pub fn level(subject: &RankingSubject) -> String {
    let durability = subject.durability;
    let audit = subject.audit.as_ref();
    audit.map_or_else(
        || durability.to_string(),
        |audit| format!("{durability} ({audit})"),
    )
}
