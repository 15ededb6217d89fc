//! The names of trials. Two trials of a run that differ in more than their repeat have names that
//! differ in more than their number.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use trueput_record::TrialSpec;

/// The maximum length of the varying part of a name, which is also a file name.
const MAX_VARIANT: usize = 120;

/// Names the trials of a run, in their order: `0007-lmdb-async-w4-r2`, or
/// `0008-lmdb-async-w4-finish_500-r2` if trials of one engine, level and number of workers differ
/// in other ways.
pub fn name_trials(trials: &mut [TrialSpec]) {
    let variants = variants(trials);
    for (index, spec) in trials.iter_mut().enumerate() {
        let variant = variants.get(&spec.cell).map_or("", String::as_str);
        let (base, repeat) = (base(spec), spec.repeat);
        spec.id = format!("{:04}-{base}{variant}-r{repeat}", index + 1);
    }
}

fn base(spec: &TrialSpec) -> String {
    let TrialSpec {
        engine,
        durability,
        workers,
        ..
    } = spec;
    format!("{engine}-{durability}-w{workers}")
}

/// By cell, what distinguishes it from the other cells with the same base of a name.
fn variants(trials: &[TrialSpec]) -> HashMap<u32, String> {
    let mut seen = BTreeSet::new();
    let mut groups: BTreeMap<String, Vec<&TrialSpec>> = BTreeMap::new();
    for spec in trials.iter().filter(|spec| seen.insert(spec.cell)) {
        groups.entry(base(spec)).or_default().push(spec);
    }
    let mut variants = HashMap::new();
    for group in groups.into_values().filter(|group| group.len() > 1) {
        let parameters: Vec<_> = group.iter().map(|spec| parameters(spec)).collect();
        let varies = |name: &String| {
            let mut values = parameters.iter().map(|of_cell| of_cell.get(name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let names: BTreeSet<String> = parameters
            .iter()
            .flat_map(BTreeMap::keys)
            .cloned()
            .collect();
        let varied: Vec<String> = names.into_iter().filter(varies).collect();
        let mut taken = BTreeSet::new();
        for (spec, parameters) in group.iter().zip(&parameters) {
            let mut variant = variant(&varied, parameters);
            if !taken.insert(variant.clone()) {
                // Long values, or values that differ only in characters not allowed in file names.
                variant.push_str(&format!("-c{}", spec.cell));
            }
            variants.insert(spec.cell, variant);
        }
    }
    variants
}

/// Returns everything that may vary between the cells of one engine, level and number of workers.
fn parameters(spec: &TrialSpec) -> BTreeMap<String, String> {
    let settings = spec.settings.iter().chain(&spec.knobs);
    let mut all: BTreeMap<String, String> = settings
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    let conditions = spec.conditions.named().into_iter();
    all.extend(conditions.map(|(name, value)| (name.to_owned(), value)));
    if let Some(build) = &spec.build {
        // The name of a library, or its folder's where that has the version.
        let parts: Vec<_> = build.iter().rev().take(2).collect();
        let parts = parts.iter().rev().map(|part| part.to_string_lossy());
        all.insert("build".to_owned(), parts.collect::<Vec<_>>().join("_"));
    }
    if let Some(step) = &spec.step {
        all.insert("step".to_owned(), step.index.to_string());
    }
    all.insert("workload".to_owned(), spec.workload.clone());
    all
}

fn variant(varied: &[String], parameters: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for name in varied {
        let value = parameters.get(name).map_or("default", String::as_str);
        text.push_str(&format!("-{name}_{value}"));
    }
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).take(MAX_VARIANT).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{expanded, plan};
    use super::*;
    use std::collections::HashSet;
    use trueput_record::PlanFile;
    use trueput_record::conditions::{Allocator, Start};
    use trueput_record::value::Settings;

    /// Returns the names without their numbers.
    fn names_without_numbers(trials: &[TrialSpec]) -> Vec<String> {
        let name = |spec: &TrialSpec| spec.id[5..].to_owned();
        trials.iter().map(name).collect()
    }

    fn many() -> PlanFile {
        let mut plan = plan(&["shared", "single", "null"]);
        plan.repeat = 2;
        plan.workers = vec![1, 4];
        let numbers = |values: &[i64]| values.iter().map(|&value| value.into()).collect();
        plan.settings.insert("finish".into(), numbers(&[200, 300]));
        plan.settings.insert("start".into(), numbers(&[1, 2]));
        let knobs = BTreeMap::from([("map_size".to_owned(), numbers(&[1 << 30, 1 << 31]))]);
        plan.knobs = BTreeMap::from([("shared".to_owned(), knobs)]);
        plan.conditions.allocator = vec![Allocator::Libc, Allocator::Jemalloc];
        plan.conditions.start = vec![Start::Warm, Start::Cold];
        plan.conditions.rate_per_s = vec![0.0, 100.0];
        plan
    }

    #[test]
    fn trials_that_differ_have_names_that_differ_without_their_numbers() {
        let trials = expanded(&many()).trials;
        let names = names_without_numbers(&trials);
        assert!(trials.len() > 400);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(trials.iter().all(|spec| spec.id.chars().all(plain)));
        assert!(trials.iter().all(|spec| spec.id.len() <= 200));
    }

    #[test]
    fn a_name_says_what_varies_and_nothing_else() {
        let mut plan = plan(&["shared"]);
        assert_eq!(
            names_without_numbers(&expanded(&plan).trials),
            ["shared-sync-w4-r1"]
        );
        let values = [200, 300].map(|value: i64| value.into()).to_vec();
        plan.settings.insert("finish".into(), values);
        plan.conditions.start = vec![Start::Warm, Start::Cold];
        let expected = [
            "shared-sync-w4-finish_200-start_warm-r1",
            "shared-sync-w4-finish_300-start_warm-r1",
            "shared-sync-w4-finish_200-start_cold-r1",
            "shared-sync-w4-finish_300-start_cold-r1",
        ];
        assert_eq!(names_without_numbers(&expanded(&plan).trials), expected);
    }

    #[test]
    fn values_that_no_file_s_name_can_tell_apart_are_told_by_their_cells() {
        let spec = expanded(&plan(&["shared"])).trials.remove(0);
        let with = |cell: u32, value: &str| TrialSpec {
            cell,
            settings: Settings::from([("keys".to_owned(), value.into())]),
            ..spec.clone()
        };
        let long = "x".repeat(300);
        let mut trials = [
            with(0, "a/b"),
            with(1, "a:b"),
            with(2, &format!("{long}1")),
            with(3, &format!("{long}2")),
        ];
        name_trials(&mut trials);
        let names = names_without_numbers(&trials);
        assert_eq!(
            names[..2],
            [
                "shared-sync-w4-keys_a_b-r1",
                "shared-sync-w4-keys_a_b-c1-r1"
            ]
        );
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 4);
        assert!(trials.iter().all(|spec| spec.id.len() <= 200));
    }
}
