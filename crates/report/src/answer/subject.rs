//! Text that describes the subject of a ranking.

use trueput_findings::answer::RankingSubject;
use trueput_findings::units::{counted, number, setting_value};
use trueput_record::Durability;

/// The promise of the level in a few words: `every acknowledged commit survives lost power`.
#[must_use]
pub fn promise(subject: &RankingSubject) -> &'static str {
    if subject.in_memory {
        return "in memory, nothing survives lost power";
    }
    if subject.storage.is_lost() {
        return "not kept, nothing survives lost power";
    }
    if subject.storage.all_unresolved {
        return "what survives lost power is not known";
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
    condition_parts(subject).join(", ")
}

/// The parts of [`conditions`].
#[must_use]
pub fn condition_parts(subject: &RankingSubject) -> Vec<String> {
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
    parts.extend(subject.storage_models.as_ref().map(ToString::to_string));
    let file_systems = subject.file_systems.iter();
    parts.extend(file_systems.map(|(name, value)| format!("{name}={value}")));
    let settings = subject.settings.iter();
    parts.extend(settings.map(|(name, value)| format!("{name}={}", setting_value(name, value))));
    parts
}

/// The level and the conditions, without the promise: `sync, threen1, 4 workers, finish=1000`.
#[must_use]
pub fn short(subject: &RankingSubject) -> String {
    let storage = storage(subject);
    format!("{}{storage}, {}", level(subject), conditions(subject))
}

/// What the storage makes of the level, after its name: ` in memory`; else empty.
#[must_use]
pub fn storage(subject: &RankingSubject) -> &'static str {
    if subject.in_memory {
        " in memory"
    } else if subject.storage.is_lost() {
        " not kept"
    } else {
        ""
    }
}

/// The level, whether its storage could be resolved, and how its promise was audited:
/// `sync (2 of 3 audited)`, `sync (storage not resolved)`.
#[must_use]
pub fn level(subject: &RankingSubject) -> String {
    format!("{}{}", subject.durability, level_notes(subject))
}

/// The notes of [`level`] in brackets, after a space; empty if there are none.
#[must_use]
pub fn level_notes(subject: &RankingSubject) -> String {
    let mut notes = Vec::new();
    if subject.storage.all_unresolved {
        notes.push("storage not resolved".to_owned());
    } else if !subject.storage.unresolved.is_empty() {
        notes.push("storage of some not resolved".to_owned());
    }
    if subject.counts_audits() {
        notes.extend(subject.audit.as_ref().map(ToString::to_string));
    }
    if notes.is_empty() {
        return String::new();
    }
    format!(" ({})", notes.join("; "))
}
