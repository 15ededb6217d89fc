//! Files of format version 1 are still read, and report the figures that they reported then.
//!
//! `fixtures/version-1` holds what a program of version 1 made: a run folder, a bundle, the plan of
//! the first, and what that program said to them.

use crate::support::{Bench, copy_folder, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use trueput_record::folder::SufficiencyReason;

/// JSON keys and CSV columns of version 1, with their present names.
const RENAMES: [(&str, &str); 6] = [
    ("left_out", "skipped"),
    ("neighbours_cpu_s", "neighbors_cpu_s"),
    ("neighbours_steal_s", "neighbors_steal_s"),
    ("step_ledger", "step_ablation"),
    ("turns", "time_slice"),
    ("besides", "other_figures"),
];

/// Conditions that came later, which history lists with their default.
const LATER_CONDITIONS: [(&str, &str); 7] = [
    ("at", "none"),
    ("compact", "false"),
    ("fault", "none"),
    ("hosts", "none"),
    ("log_storage_model", "none"),
    ("record_trace", "none"),
    ("storage_model", "none"),
];

fn new_name(old: &str) -> &str {
    let found = RENAMES.iter().find(|(before, _)| *before == old);
    found.map_or(old, |(_, now)| now)
}

/// A bench with the fixtures, under the names that they had.
fn bench() -> Bench {
    let bench = Bench::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1");
    copy_folder(&fixtures, bench.path());
    bench
}

fn then(bench: &Bench, file: &str) -> String {
    std::fs::read_to_string(bench.path().join(file)).unwrap()
}

/// A document of version 1 with the names of now.
fn renamed(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, field)| {
                    let mut field = renamed(field);
                    if let ("circumstances", Value::Object(conditions)) = (&*name, &mut field) {
                        let later = LATER_CONDITIONS
                            .map(|(name, default)| (name.to_owned(), default.into()));
                        conditions.extend(later);
                    }
                    (new_name(&name).to_owned(), field)
                })
                .collect()
        }
        Value::Array(items) => items.into_iter().map(renamed).collect(),
        other => other,
    }
}

#[test]
fn a_run_folder_and_a_bundle_report_the_same_figures() {
    let bench = bench();
    for (run, file) in [("turns", "turns.csv"), ("steps.tar.gz", "steps.csv")] {
        let report = format!("report {run} --format csv");
        let now = rows_by_name(&stdout(&bench.run_expecting(0, &report)));
        let then = rows_by_name(&then(&bench, file));
        assert_eq!(now.len(), then.len(), "{file}");
        // Columns have come since then; those that were there are read by their names.
        for (then, now) in then.iter().zip(&now) {
            for (name, value) in then {
                assert_eq!(now.get(new_name(name)), Some(value), "{file}: {name}");
            }
        }
    }
}

/// The rows of a table in CSV, each as its cells by their titles.
fn rows_by_name(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(cells);
    let titles = lines.next().unwrap();
    let row = |cells: Vec<String>| {
        assert_eq!(cells.len(), titles.len());
        titles.iter().cloned().zip(cells).collect()
    };
    lines.map(row).collect()
}

/// The cells of a line, some of which are in quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().unwrap().push(letter),
        }
    }
    cells
}

#[test]
fn runs_compare_and_make_a_history_as_they_did() {
    let bench = bench();
    for (line, file) in [
        (
            "compare turns --contenders lmdb,sqlite --json",
            "compare.json",
        ),
        ("history turns steps.tar.gz --json", "history.json"),
    ] {
        let then: Value = serde_json::from_str(&then(&bench, file)).unwrap();
        assert_eq!(bench.json_of(line), renamed(then), "{file}");
    }
}

#[test]
fn each_renamed_field_is_read() {
    let bench = bench();
    let open = |name: &str| trueput_record::RunFolder::open(&bench.path().join(name)).unwrap();
    let (folder, manifest) = open("turns");
    assert_eq!(
        manifest.skipped,
        ["redb does not support durability 'process'; it supports sync, buffered"]
    );
    assert!(manifest.host.virtualization.contains("virtual machine"));
    let trials = folder.trials().unwrap().trials;
    assert_eq!(manifest.trials.len(), trials.len());
    for trial in &trials {
        assert_eq!(trial.spec.conditions.time_slice_s, Some(0.005));
    }
    bench.run_expecting(0, "bundle turns");
    let unpack = std::process::Command::new("tar")
        .args(["-xzf", "steps.tar.gz"])
        .current_dir(bench.path())
        .status();
    assert!(unpack.unwrap().success());
    let (folder, manifest) = open("steps");
    assert!(manifest.costs["lmdb.map_size"].contains("address space"));
    let reason = folder.end().unwrap().unwrap().stop_reason;
    assert_eq!(reason, Some(SufficiencyReason::Budget));
    for trial in folder.trials().unwrap().trials {
        let limits = trial.hardware_limits.unwrap();
        assert!(limits.flush.unwrap().separate_per_s > 0.0);
        assert!(trial.conformance.unwrap().checks > 20);
        let step = trial.spec.step.unwrap();
        assert_eq!(step.ablation.name(), "cumulative");
        let measurement = trial.measurement.unwrap();
        assert!(measurement.neighbors.is_some());
        assert!(measurement.timeline[0].neighbors.is_some());
    }
}

#[test]
fn a_plan_with_former_names_makes_the_same_trials() {
    let bench = bench();
    let checked = bench.json_of("plan check turns.toml --json");
    let planned: Value = serde_json::from_str(&then(&bench, "turns/run.json")).unwrap();
    let trials = checked["trials"].as_array().unwrap();
    assert_eq!(trials.len(), planned["trials"].as_array().unwrap().len());
    for (now, before) in trials.iter().zip(planned["trials"].as_array().unwrap()) {
        assert_eq!(now["id"], before["id"]);
        assert_eq!(
            now["conditions"]["time_slice_s"],
            before["conditions"]["turn_s"]
        );
    }
}
