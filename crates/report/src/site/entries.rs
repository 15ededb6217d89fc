//! The rankings of all runs in the order of the first page, each with the properties by which the
//! page filters.

use super::paths::page_path;
use crate::answer::subject;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::answer::RankingVerdict;
use trueput_findings::site::{SiteContender, SiteHost, SiteRanking, SiteRun};

/// The longest version in a table, characters.
const MAX_VERSION: usize = 32;

/// The values of a row, by property: what the page's script filters by.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties(BTreeMap<&'static str, BTreeSet<String>>);

impl Properties {
    fn add(&mut self, property: &'static str, value: impl Into<String>) {
        self.0.entry(property).or_default().insert(value.into());
    }

    /// Adds all values of other properties.
    pub(super) fn merge(&mut self, other: &Self) {
        for (property, values) in &other.0 {
            let own = self.0.entry(property).or_default();
            own.extend(values.iter().cloned());
        }
    }

    /// As JSON, for an attribute.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

/// A ranking of a run, or a contender that was alone.
pub(super) struct Entry<'a> {
    pub(super) run: &'a SiteRun,
    pub(super) ranking: &'a SiteRanking,
}

/// All rankings: the strongest level first, then by workload, storage and host, the newest first.
pub(super) fn entries(runs: &[SiteRun]) -> Vec<Entry<'_>> {
    let mut all = Vec::new();
    for run in runs {
        all.extend(run.rankings.iter().map(|ranking| Entry { run, ranking }));
    }
    all.sort_by_cached_key(|entry| {
        let (subject, run) = (&entry.ranking.subject, entry.run);
        (
            (subject.durability, entry.level(), subject::promise(subject)),
            (
                subject.workload.clone(),
                subject.workers,
                subject::conditions(subject),
            ),
            (entry.ranking.storage.clone(), &run.host),
            (Reverse(&run.started_at), &run.id, subject.index),
        )
    });
    all
}

impl Entry<'_> {
    /// The durability level, and whether its storage keeps it.
    pub(super) fn level(&self) -> String {
        let subject = &self.ranking.subject;
        format!("{}{}", subject.durability, subject::storage(subject))
    }

    /// `None` for a contender that was alone.
    pub(super) fn verdict(&self) -> Option<RankingVerdict> {
        self.ranking.answer.as_ref().map(|answer| answer.verdict)
    }

    /// The name of the ranking on the first page.
    pub(super) fn anchor(&self) -> String {
        format!("{}-{}", self.run.id, self.ranking.subject.index + 1)
    }

    /// The place of the ranking on the run's page.
    pub(super) fn page(&self) -> String {
        let number = self.ranking.subject.index + 1;
        format!("{}#ranking-{number}", page_path(&self.run.id))
    }

    /// Storage, host, day and plan, which no other ranking needs to share.
    pub(super) fn circumstances(&self) -> String {
        let (storage, host) = (&self.ranking.storage, host_name(&self.run.host));
        let date = self.run.date().unwrap_or("no date");
        format!("{storage} · {host} · {date} · {}", self.run.name)
    }

    /// The properties that all contenders share.
    pub(super) fn shared_properties(&self) -> Properties {
        let mut properties = run_properties(self.run);
        properties.add("level", self.level());
        properties.add("workload", self.ranking.subject.workload.clone());
        properties.add("storage", self.ranking.storage.clone());
        properties
    }

    /// The properties of the ranking and all of its contenders.
    pub(super) fn properties(&self) -> Properties {
        let mut properties = self.shared_properties();
        for contender in &self.ranking.contenders {
            properties.merge(&contender_properties(contender));
        }
        properties
    }
}

/// The properties of a contender beside those of its ranking.
pub(super) fn contender_properties(contender: &SiteContender) -> Properties {
    let mut properties = Properties::default();
    let engine = &contender.row.engine;
    properties.add("engine", engine.clone());
    let version = short_version(&contender.version);
    if !version.is_empty() {
        properties.add("version", format!("{engine} {version}"));
    }
    properties
}

/// The properties of a run without those of its rankings.
pub(super) fn run_properties(run: &SiteRun) -> Properties {
    let mut properties = Properties::default();
    properties.add("host", host_text(&run.host));
    if let Some(date) = run.date() {
        properties.add("date", date);
    }
    properties
}

/// The version without the remarks that follow it, and without the engine's own name before it.
pub(super) fn short_version(version: &str) -> String {
    let end = version.find([':', '(', ',']).unwrap_or(version.len());
    let version = version[..end].trim();
    let is_number = |word: &str| word.contains(|one: char| one.is_ascii_digit());
    let version = match version.split_once(' ') {
        Some((name, number)) if !is_number(name) && is_number(number) => number,
        _ => version,
    };
    version.chars().take(MAX_VERSION).collect()
}

fn host_name(host: &SiteHost) -> &str {
    if host.name.is_empty() {
        "unnamed host"
    } else {
        &host.name
    }
}

/// The host with its processor, since names such as `localhost` are frequent.
pub(super) fn host_text(host: &SiteHost) -> String {
    let cores = host.cores;
    let cpu = if host.cpu.is_empty() {
        "unknown processor"
    } else {
        &host.cpu
    };
    format!("{} ({cpu}, {cores} cores)", host_name(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_short_and_without_the_engines_name() {
        for (version, expected) in [
            ("0.9.70", "0.9.70"),
            ("LMDB 0.9.70: (December 19, 2015)", "0.9.70"),
            ("3.46.1 (abc)", "3.46.1"),
            ("PostgreSQL 15.14, on Debian", "15.14"),
            ("", ""),
        ] {
            assert_eq!(short_version(version), expected);
        }
        assert_eq!(short_version(&"1".repeat(99)).len(), MAX_VERSION);
    }
}
