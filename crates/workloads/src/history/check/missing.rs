//! Acknowledged writes that are gone at the end.

use super::versions::VersionIndex;
use crate::history::transactions::{FINAL_READER, Outcome};
use crate::history::version::{Key, Version};
use std::collections::{HashMap, HashSet};

/// Acknowledged writes that the final read should have found.
#[derive(Debug, Default)]
pub(super) struct MissingWrites {
    /// Their number.
    pub count: u64,
    /// The first of them, in one line.
    pub first: Option<String>,
    /// Writes without an answer that committed transactions have read and that are not among those
    /// of which the final version was made.
    pub visible_then_lost: u64,
}

impl MissingWrites {
    /// Finds writes that were made, directly or not, over the version that the final read found,
    /// or under a key that it did not find. What another write has overwritten is not missing; if
    /// that one ignored it, it is a lost update.
    pub fn find(versions: &VersionIndex<'_>) -> Self {
        let mut missing = Self::default();
        let Some(found) = final_versions(versions) else {
            return missing;
        };
        let parents: HashMap<Version, Option<Version>> = versions
            .installations
            .iter()
            .map(|one| (one.version, one.parent))
            .collect();
        let overwritten: HashSet<Version> = parents.values().flatten().copied().collect();
        let installations = versions.installations.iter();
        let last = installations.filter(|one| !overwritten.contains(&one.version));
        let mut known = HashSet::new();
        for one in last {
            let at_end = found.get(&one.key).copied().unwrap_or(Version::ABSENT);
            let is_new = |version: &Version| known.insert(*version);
            let lost = lost_versions(&parents, one.version, at_end);
            for version in lost.into_iter().filter(is_new).collect::<Vec<_>>() {
                missing.add(versions, one.key, version, at_end);
            }
        }
        missing.visible_then_lost = count_visible_then_lost(versions, &found, &parents);
        missing
    }

    /// Counts a lost version, if it was acknowledged.
    fn add(&mut self, versions: &VersionIndex<'_>, key: Key, version: Version, at_end: Version) {
        let writer = versions.installer(version);
        let writer = writer.map(|write| versions.transaction(write.transaction));
        let is_acknowledged = |outcome| outcome == Outcome::Committed;
        if let Some(writer) = writer.filter(|writer| is_acknowledged(writer.outcome)) {
            self.count += 1;
            self.first.get_or_insert_with(|| {
                format!("{writer} wrote key {key} = {version}, and at the end it was {at_end}")
            });
        }
    }
}

/// Counts writes whose end is unknown, that others have read (else they are not installed), and
/// that the final version of their key does not rest on. Where a write that read nothing is among
/// those that it rests on, nothing is known of what was before.
fn count_visible_then_lost(
    versions: &VersionIndex<'_>,
    found: &HashMap<Key, Version>,
    parents: &HashMap<Version, Option<Version>>,
) -> u64 {
    let is_lost = |version: Version, key: Key| {
        let at_end = found.get(&key).copied().unwrap_or(Version::ABSENT);
        let parent = |version: &Version| parents.get(version).copied().flatten();
        let line = std::iter::successors(Some(at_end), parent).take(parents.len() + 1);
        let line: Vec<Version> = line.collect();
        line.contains(&Version::ABSENT) && !line.contains(&version)
    };
    let installations = versions.installations.iter();
    let unanswered = installations.filter(|one| {
        let writer = versions.transaction(one.transaction);
        writer.outcome == Outcome::Unknown
    });
    unanswered
        .filter(|one| is_lost(one.version, one.key))
        .count() as u64
}

/// Returns what the final read found; `None` if the history has none.
fn final_versions(versions: &VersionIndex<'_>) -> Option<HashMap<Key, Version>> {
    let transactions = versions.history.transactions().iter();
    let mut last = transactions.filter(|one| one.worker == FINAL_READER);
    let operations = versions.history.operations(last.next()?).iter();
    Some(operations.map(|read| (read.key, read.version)).collect())
}

/// Returns a version and those that it was made of, up to the one that was found at the end; none
/// if that is not among them.
fn lost_versions(
    parents: &HashMap<Version, Option<Version>>,
    version: Version,
    at_end: Version,
) -> Vec<Version> {
    let parent = |version: &Version| parents.get(version).copied().flatten();
    let line = std::iter::successors(Some(version), parent);
    // Versions that were made of each other are another anomaly.
    let mut line: Vec<Version> = line.take(parents.len()).collect();
    match line.iter().position(|one| *one == at_end) {
        Some(kept) => line.truncate(kept),
        None if at_end == Version::ABSENT => {}
        None => line.clear(),
    }
    line
}
