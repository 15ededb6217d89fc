//! The plans in the repository's `plans/`, which are part of the program: a name is enough to run
//! one from any folder.

use crate::failure::Failure;
use crate::{output, workload_files};
use std::path::{Path, PathBuf};
use trueput_record::plan::PlanFile;
use trueput_record::suggest::did_you_mean;
use trueput_runner::Registry;

/// Optional prefix of a built-in plan's name, as in the path of its file.
const PREFIX: &str = "plans/";

/// A plan that is part of the program.
pub struct BuiltInPlan {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(BuiltInPlan {
            name: $name,
            text: include_str!(concat!("../plans/", $name, ".toml")),
        }),*]
    };
}

/// The built-in plans; the one to run first comes first.
pub static ALL: [BuiltInPlan; 29] = embedded![
    "first-look",
    "first-look-long",
    "threen1-engines",
    "threen1-commits",
    "threen1-words",
    "ycsb",
    "insert-benchmark",
    "sysbench",
    "ucsb",
    "redb-table",
    "fjall-3",
    "slatedb-workloads",
    "libdb-wiredtiger",
    "larger-than-memory",
    "which-engine",
    "symas-small",
    "symas-scaling",
    "symas-numa",
    "oltp-cheats",
    "oltp-knobs",
    "cluster-commits",
    "gtm-tuning",
    "sync-io",
    "filesystems-small",
    "filesystems-engines",
    "filesystems-2010",
    "log-flush",
    "berkeleydb-log-flush",
    "audit",
];

impl BuiltInPlan {
    /// The plan's path in messages.
    pub fn path(&self) -> String {
        format!("{PREFIX}{}.toml", self.name)
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// As [`PlanFile::parse`].
    pub fn plan(&self) -> Result<PlanFile, trueput_record::Error> {
        PlanFile::parse(Path::new(&self.path()), self.text)
    }

    /// What to type for it: the name, unless a workload has it too.
    pub fn typed(&self, registry: &Registry) -> String {
        match registry.workload(self.name) {
            Ok(_) => format!("{PREFIX}{}", self.name),
            Err(_) => self.name.to_owned(),
        }
    }
}

/// Finds a built-in plan by name or file: `first-look`, `plans/first-look` or
/// `plans/first-look.toml`.
pub fn named(given: &str) -> Option<&'static BuiltInPlan> {
    ALL.iter()
        .find(|plan| plan.name == workload_files::stem(given, PREFIX))
}

/// Reads a plan file, a workload file or a built-in one of either, or makes a plan for a workload.
/// A file that is there comes first, then a workload, then a built-in plan, then a built-in
/// workload file.
///
/// # Errors
/// As [`workload_files::read`]; also if nothing has that name.
pub fn plan_or_workload(target: &str, registry: &Registry) -> Result<PlanFile, Failure> {
    let path = PathBuf::from(target);
    let names_file = workload_files::is_path(target);
    if path.is_file() {
        return workload_files::read(&path, registry);
    }
    if !names_file && registry.workload(target).is_ok() {
        return Ok(PlanFile::for_workload(target));
    }
    if let Some(built_in) = named(target) {
        note_built_in(target, "plan", built_in.name);
        let mut plan = built_in.plan()?;
        workload_files::adopt(&mut plan, Path::new(""), registry)?;
        return Ok(plan);
    }
    if let Some(built_in) = workload_files::named(target) {
        note_built_in(target, "workload file", built_in.name);
        return Ok(workload_files::plan_of(built_in.file()?));
    }
    if names_file {
        workload_files::read(&path, registry)
    } else {
        Err(unknown(target, registry))
    }
}

/// Says that what was written as a file comes from the program.
fn note_built_in(target: &str, kind: &str, name: &str) {
    if target.ends_with(".toml") {
        output::note(&format!(
            "there is no file {target} here; this is trueput's own {kind} {name}"
        ));
    }
}

/// Nothing has that name.
fn unknown(target: &str, registry: &Registry) -> Failure {
    let workloads = registry.workloads.iter();
    let workloads = workloads.map(|workload| workload.info().name);
    let plans = ALL.iter().map(|plan| plan.name);
    let files = workload_files::ALL.iter().map(|file| file.name);
    let hint = did_you_mean(target, workloads.chain(plans).chain(files));
    Failure::usage(format!(
        "unknown workload or plan '{target}'{hint}; 'trueput workloads' and 'trueput plan \
         list' list them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_plan_of_the_repository_is_built_in_and_names_itself_as_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        });
        let built_in: BTreeSet<_> = ALL.iter().map(|plan| plan.name.to_owned()).collect();
        assert_eq!(built_in, files.collect());
        for plan in &ALL {
            assert_eq!(plan.plan().unwrap().name, plan.name);
            assert!(!plan.plan().unwrap().about.is_empty(), "{}", plan.name);
            assert!(workload_files::named(plan.name).is_none());
        }
    }

    #[test]
    fn a_built_in_plan_may_be_written_as_its_file() {
        for given in ["first-look", "plans/first-look", "plans/first-look.toml"] {
            assert_eq!(named(given).unwrap().name, "first-look");
        }
        assert!(named("other/first-look.toml").is_none());
    }
}
