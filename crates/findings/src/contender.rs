//! The names of contenders in a ranking.

use crate::marks::{marked, marks};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueput_record::measurement::EngineReport;
use trueput_record::{Conditions, TrialRecord, TrialSpec};

/// Names contenders so that no two cells of a ranking have the same name: if a ranking has several
/// builds of an engine or several values of a knob, the version or the knob is named. A condition
/// that differs anywhere in the ranking is named at every contender.
pub struct ContenderNames {
    builds: BTreeMap<String, String>,
    varying: BTreeMap<String, BTreeSet<String>>,
    varying_conditions: BTreeSet<&'static str>,
    several_kinds: BTreeSet<String>,
    several_bases: BTreeSet<String>,
}

impl ContenderNames {
    /// Finds the parameters that distinguish the contenders of these trials.
    pub fn of(trials: &[&TrialRecord]) -> Self {
        let mut first: BTreeMap<String, &TrialSpec> = BTreeMap::new();
        let mut varying: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut several_kinds = BTreeSet::new();
        let mut several_bases = BTreeSet::new();
        for spec in trials.iter().map(|trial| &trial.spec) {
            let contender = spec.contender();
            let other = *first.entry(contender.clone()).or_insert(spec);
            if other.worker_kind != spec.worker_kind {
                several_kinds.insert(contender.clone());
            }
            let base = |spec: &TrialSpec| spec.step.as_ref().map(|step| step.base);
            if base(other) != base(spec) {
                several_bases.insert(contender.clone());
            }
            let names = spec.knobs.keys().chain(other.knobs.keys());
            let differing = names.filter(|&name| spec.knobs.get(name) != other.knobs.get(name));
            varying
                .entry(contender)
                .or_default()
                .extend(differing.cloned());
        }
        let conditions = trials.iter().map(|trial| &trial.spec.conditions);
        Self {
            builds: build_names(trials),
            varying,
            varying_conditions: differing(conditions),
            several_kinds,
            several_bases,
        }
    }

    /// The engine's name, with the build if there are several.
    pub fn build(&self, spec: &TrialSpec) -> String {
        let contender = spec.contender();
        self.builds.get(&contender).cloned().unwrap_or(contender)
    }

    /// The name of a trial's contender with the labels of its marks, as it is shown.
    pub fn marked(&self, trial: &TrialRecord) -> String {
        marked(&self.name(&trial.spec), &marks(trial))
    }

    /// The name of a trial's contender, distinct from the others.
    pub fn name(&self, spec: &TrialSpec) -> String {
        let contender = spec.contender();
        if let Some(step) = &spec.step {
            // Cells of an ablation are named by the changes of their steps.
            let build = self.build(spec);
            let of_base = if self.several_bases.contains(&contender) {
                format!(" (on cell {})", step.base)
            } else {
                String::new()
            };
            return format!("{build}, {}. {}{of_base}", step.index, step.name);
        }
        let knobs = self.varying.get(&contender).into_iter().flatten();
        let mut told_apart: Vec<String> = knobs
            .filter_map(|name| Some(format!("{name}={}", spec.knobs.get(name)?)))
            .collect();
        if self.several_kinds.contains(&contender) {
            told_apart.push(spec.worker_kind.name().to_owned());
        }
        let conditions = spec.conditions.circumstances().into_iter();
        let conditions = conditions.filter(|(name, _)| self.varying_conditions.contains(name));
        told_apart.extend(conditions.map(|(name, value)| format!("{name}={value}")));
        let build = self.build(spec);
        if told_apart.is_empty() {
            build
        } else {
            format!("{build} ({})", told_apart.join(", "))
        }
    }
}

/// The names of the conditions that are not the same everywhere.
fn differing<'a>(all: impl Iterator<Item = &'a Conditions>) -> BTreeSet<&'static str> {
    let mut first = None;
    let mut names = BTreeSet::new();
    for conditions in all {
        let these = conditions.circumstances();
        let first = first.get_or_insert_with(|| these.clone());
        let pairs = first.iter().zip(&these);
        names.extend(
            pairs
                .filter(|(one, other)| one != other)
                .map(|(one, _)| one.0),
        );
    }
    names
}

/// By contender, the shortest name that distinguishes the builds of its engine: the engine, else
/// with the version, else with the library's file name, else with the folder in which files of one
/// name differ, else the text in the plan.
fn build_names(trials: &[&TrialRecord]) -> BTreeMap<String, String> {
    let mut engines: BTreeMap<&str, Builds<'_>> = BTreeMap::new();
    for trial in trials {
        let builds = engines.entry(trial.spec.engine.as_str()).or_default();
        let report = builds.entry(trial.spec.contender()).or_default();
        *report = report.or(trial.engine.as_ref());
    }
    let named = engines
        .into_iter()
        .map(|(engine, builds)| match builds.len() {
            1 => each(&builds, |_, _| engine.to_owned()),
            _ => distinguish_builds(engine, &builds),
        });
    named.flatten().collect()
}

type Builds<'a> = BTreeMap<String, Option<&'a EngineReport>>;

fn each(
    builds: &Builds<'_>,
    name: impl Fn(&String, Option<&EngineReport>) -> String,
) -> BTreeMap<String, String> {
    let named =
        |(key, report): (&String, &Option<&EngineReport>)| (key.clone(), name(key, *report));
    builds.iter().map(named).collect()
}

/// Names several builds of an engine. One that never opened did not say its version.
fn distinguish_builds(engine: &str, builds: &Builds<'_>) -> BTreeMap<String, String> {
    let version = |report: &EngineReport| format!("{engine} {}", version_number(&report.version));
    let with_file = |report: &EngineReport| {
        let file = Path::new(&report.origin).file_name().unwrap_or_default();
        format!("{} ({})", version(report), file.to_string_lossy())
    };
    let by_version = each(builds, |key, report| report.map_or(key.clone(), version));
    let by_file = each(builds, |key, report| report.map_or(key.clone(), with_file));
    let folders = distinguishing_folders(builds);
    let by_folder = each(builds, |key, report| {
        let folder = folders.get(key).zip(report);
        folder.map_or(key.clone(), |(folder, report)| {
            format!("{} ({folder}/…)", version(report))
        })
    });
    let as_given = each(builds, |key, _| key.clone());
    let unique = |named: &BTreeMap<String, String>| {
        named.values().collect::<BTreeSet<_>>().len() == named.len()
    };
    let mut ways = [by_version, by_file, by_folder].into_iter();
    ways.find(unique).unwrap_or(as_given)
}

/// By build, the folder nearest to its file that differs between builds: `old` of
/// `/a/old/lib/x.so`, if another is `/a/new/lib/x.so`.
fn distinguishing_folders(builds: &Builds<'_>) -> BTreeMap<String, String> {
    let paths = builds.iter().filter_map(|(key, report)| {
        let path = Path::new(&(*report)?.origin);
        let folders = path.parent()?.iter().rev();
        let folders = folders.map(|folder| folder.to_string_lossy().into_owned());
        Some((key, folders.collect::<Vec<_>>()))
    });
    let paths: Vec<_> = paths.collect();
    let differs = |depth: &usize| {
        let mut at = paths.iter().map(|(_, folders)| folders.get(*depth));
        let first = at.next();
        at.any(|folder| Some(folder) != first)
    };
    let deepest = paths
        .iter()
        .map(|(_, folders)| folders.len())
        .max()
        .unwrap_or(0);
    let Some(depth) = (0..deepest).find(differs) else {
        return BTreeMap::new();
    };
    let named = paths.into_iter();
    named
        .filter_map(|(key, folders)| Some((key.clone(), folders.get(depth)?.clone())))
        .collect()
}

/// The number in a library's version string; `SQLite`, for one, adds the date and the hash of its
/// source.
pub fn version_number(version: &str) -> &str {
    let mut words = version.split_whitespace();
    words
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(version, |word| word.trim_end_matches([':', ',']))
}
