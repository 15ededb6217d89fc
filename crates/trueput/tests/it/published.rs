//! The tables that others published, listed and shown.

use crate::bad_input::{Case, assert_refused};
use crate::support::{
    ALL_WELL, Bench, CommandLine, assert_contains, ended_well, listing, stderr, stdout, unwrapped,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;

/// The output of `trueput published …`.
fn shown(arguments: &str) -> String {
    listing(&format!("published {arguments}"))
}

fn json_of(arguments: &str) -> Value {
    serde_json::from_str(&shown(arguments)).unwrap()
}

#[test]
fn the_tables_are_listed_with_year_and_rows() {
    let list = shown("");
    let mut lines = list.lines();
    let load = lines.find(|line| line.starts_with("symas-2014-load "));
    assert!(load.unwrap().ends_with("  2014  20"), "{list}");
    let title = lines.next().unwrap();
    assert!(title.starts_with("    Loading"), "{title}");
    let json = json_of("--json");
    assert_eq!(json.as_array().unwrap().len(), 30);
    assert_eq!(json[0]["id"], "berkeleydb-log-flush");
    assert_eq!(json[0]["year"], 2008);
    let command = "trueput run published/berkeleydb-log-flush --scale 1";
    assert_eq!(json[0]["command"], serde_json::json!(command.words()));
    assert!(json[0]["missing"].is_null());
    assert_contains(&list, &[&format!("\n  {command}\n")]);
}

#[test]
fn a_table_is_shown_with_its_source_and_caveats() {
    let text = unwrapped(&shown("fis-2010-threen1-elapsed"));
    let parts = [
        "40,000,000 41,087",
        "K.S. Bhaskar, FIS",
        "Quad Core AMD Phenom",
        "The btrfs run to 40,000,000 was stopped",
        "settings.finish = 1000000, 10000000, 20000000, 40000000",
        "The workload threen1, with plans/filesystems-2010.toml",
        "trueput run published/fis-2010-threen1-elapsed --scale 0.01",
    ];
    assert_contains(&text, &parts);
}

#[test]
fn csv_has_plain_numbers_and_markdown_a_table() {
    let csv = shown("fis-2011-threen1-gtm-tuning --format csv");
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 17);
    let names = "finish,global_buffers,journal_buffers,workers,file_system,elapsed_s";
    assert_eq!(lines[0], names);
    assert_eq!(lines[13], "1000000,35000,2000,4,jfs,27;27;29");
    let gap = shown("fis-2010-threen1-elapsed --format csv");
    assert_contains(&gap, &["40000000,41087,64016,35989,50378,,47571"]);
    let markdown = shown("symas-2014-load --format markdown");
    assert_contains(&markdown, &["| lmdb | local | 65.73 |"]);
    let json = json_of("symas-2014-load --json");
    assert_eq!(json["rows"].as_array().unwrap().len(), 20);
    assert_eq!(json["columns"][2]["name"], "wall_s");
    assert_eq!(json, json_of("symas-2014-load --format json"));
}

#[test]
fn what_cannot_be_shown_is_named_in_one_line() {
    let unknown = "no published table 'symas-2014-lod' (did you mean 'symas-2014-load'?)";
    let cases: &[Case<'_>] = &[
        ("symas-2014-lod", &[unknown]),
        ("symas-2014-load --format pdf", &["no report format 'pdf'"]),
        ("--format csv", &["<ID>"]),
        ("symas-2014-load --json --format csv", &["--json"]),
    ];
    assert_refused(&Bench::new(), "published", cases);
}

#[test]
fn the_nearest_experiments_use_settings_that_exist() {
    let names = |command: &str| -> BTreeSet<String> {
        let listed: Value = serde_json::from_str(&listing(command)).unwrap();
        let names = listed.as_array().unwrap().iter();
        names
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut known_parameters = BTreeMap::new();
    let mut parameters = |of: &str| -> BTreeSet<String> {
        let entry = known_parameters.entry(of.to_owned());
        entry
            .or_insert_with(|| names(&format!("knobs {of} --json")))
            .clone()
    };
    let workloads = names("workloads --json");
    let mut checked = 0;
    for id in trueput_record::published::ids() {
        let experiment = trueput_record::published::named(id).unwrap().experiment;
        for setting in &experiment.settings {
            let known = match setting.name.split('.').collect::<Vec<_>>()[..] {
                // A workload that this program does not have is said to be missing.
                ["settings", _] if !workloads.contains(&experiment.workload) => continue,
                ["settings", name] => parameters(&experiment.workload).contains(name),
                ["knobs", engine, name] => parameters(engine).contains(name),
                [key] => PLAN_KEYS.words().contains(&key),
                _ => false,
            };
            assert!(known, "{id}: {}", setting.name);
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn the_log_flush_example_runs_at_a_scale_and_says_which() {
    let bench = Bench::new();
    let output = bench.run_expecting(
        ALL_WELL,
        "run published/berkeleydb-log-flush.toml --scale 0.02 --full",
    );
    let said = stderr(&output);
    let note = "published/berkeleydb-log-flush at scale 0.02 (1 is the published size)";
    assert!(said.lines().any(|line| line == note), "{said}");
    let trials = bench.trials();
    assert_eq!(trials.len(), 2, "fsync and fdatasync");
    for trial in &trials {
        assert!(ended_well(trial), "{:?}", trial.outcome);
        let commits = trial.measurement.as_ref().unwrap().operation("commit");
        assert_eq!(commits.unwrap().count, 20);
        assert_eq!(trial.spec.settings["bytes"].to_string(), "256");
    }
    let report = stdout(&output);
    assert_contains(&unwrapped(&report), &["at 0.02 of its size"]);
    // A debug build's trials are never ranked, and what is not ranked is compared with nothing.
    let is_compared = report.contains("Compared with \"Berkeley DB");
    assert_eq!(is_compared, !cfg!(debug_assertions), "{report}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_experiment_runs_with_the_engines_that_are_here_and_names_the_others() {
    let bench = Bench::new();
    bench.run_expecting(
        ALL_WELL,
        "run published/symas-2014-read-while-writing --scale 0.0001 --engine lmdb --workers 1 \
         --duration 0.2 --warm-up 0",
    );
    let trials = bench.trials();
    assert_eq!(trials.len(), 1);
    assert_eq!(trials[0].spec.settings["records"].to_string(), "10000");
    assert_eq!(trials[0].spec.settings["key_bytes"].to_string(), "16");
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
}

const CHEATS: &str = "published/informix-2010-oltp-cheats";

#[test]
#[ignore = "slow: make test runs it"]
fn the_three_cheats_run_step_by_step_at_a_scale() {
    let bench = Bench::new();
    let small = "--engine sqlite --repeat 1 --warm-up 0.2 --set cardinality=hundredth";
    let line = format!("run {CHEATS} --scale 0.002 {small}");
    let output = bench.run_expecting(ALL_WELL, &line);
    let trials = bench.trials();
    let step = |trial: &TrialRecord| {
        trial
            .spec
            .step
            .clone()
            .map_or(String::new(), |step| step.name)
    };
    let steps: Vec<_> = trials.iter().map(step).collect();
    assert_eq!(steps[1], "buffered logging");
    assert_eq!(steps[2..], ["no checkpoint within the run", "primed cache"]);
    for trial in &trials {
        assert!(ended_well(trial), "{:?}", trial.outcome);
        assert_eq!(trial.spec.conditions.duration_s, Some(1.8));
        assert_eq!(trial.spec.settings["pacing"].to_string(), "none");
    }
    let has_checkpoint = trials.iter().map(|trial| {
        let events = trial.measurement.as_ref().unwrap().events.as_ref();
        let mut events = events.unwrap().iter();
        events.any(|event| event.kind == "checkpoint")
    });
    assert_eq!(
        has_checkpoint.collect::<Vec<_>>(),
        [true, true, false, false]
    );
    // A debug build's trials are never ranked, and what is not ranked is compared with nothing.
    let report = stdout(&output);
    let rows = ["6,785", "7,032", "7,307", "buffered logging (LOGBUFF 256)"];
    for part in rows {
        assert_eq!(report.contains(part), !cfg!(debug_assertions), "{report}");
    }
}

#[test]
fn a_published_experiment_is_checked_as_it_would_run() {
    let bench = Bench::new();
    let check = format!("plan check {CHEATS} --scale 0.01 --engine sqlite --json");
    let output = bench.run_expecting(0, &check);
    assert_contains(&stderr(&output), &["oltp-cheats at scale 0.01 (1 is"]);
    let checked: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let trials = checked["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4 * 5, "the base and three steps, five times");
    for trial in trials {
        assert_eq!(trial["conditions"]["duration_s"], 9.0);
    }
    let flush = bench.run_expecting(0, "plan check published/berkeleydb-log-flush");
    assert_contains(&stdout(&flush), &["operations=1000"]);
    for wrong in [
        "published/symas-2014-lod",
        "threen1 --scale 0.5",
        &format!("{CHEATS} --scale 0"),
    ] {
        bench.refusal_of(&format!("plan check {wrong}"));
    }
    assert_eq!(bench.snapshot().len(), 0, "nothing was run");
}

#[test]
fn what_an_experiment_needs_and_what_a_scale_is_are_said_in_one_line() {
    let bench = Bench::new();
    let gtm = "needs gtm, which is not installed: gtm is not installed";
    let plan = "--scale needs published/ID, but 'threen1' is not one";
    let cases: &[Case<'_>] = &[
        (
            "published/symas-2014-lod",
            &["did you mean 'symas-2014-load'?"],
        ),
        (
            "published/symas-2014-load --scale 2",
            &["scale 2 must be above 0 and at most 1, which is the published size"],
        ),
        ("threen1 --scale 0.5", &[plan]),
        (
            "published/fis-2011-threen1-gtm-tuning --scale 0.001",
            &[gtm],
        ),
    ];
    let count = cases.len() - usize::from(!is_missing("fis-2011-threen1-gtm-tuning"));
    assert_refused(&bench, "run", &cases[..count]);
    assert_eq!(bench.snapshot().len(), 0, "nothing was run");
}

#[test]
fn a_scale_that_is_too_small_is_named_with_the_smallest_that_works() {
    let id = "smalldatum-2024-insert-engines";
    if is_missing(id) {
        println!("skipped: {id} needs PostgreSQL or MariaDB");
        return;
    }
    let line = format!("published/{id} --engine lmdb --durability process --scale 0.0000001");
    let parts: &[&str] = &[
        "--scale 0.0000001 is too small: insert-benchmark.rows: 3 is out of range",
        "give --scale 0.000034 or more",
    ];
    for command in ["run", "plan check"] {
        assert_refused(&Bench::new(), command, &[(line.as_str(), parts)]);
    }
    // A setting of the user's own is named as such.
    let own = format!("{line} --set rows=3");
    assert_refused(
        &Bench::new(),
        "run",
        &[(own.as_str(), &["trueput: insert-benchmark.rows: 3 is"])],
    );
}

/// Whether the program lacks what a table's experiment needs, by its own message.
fn is_missing(id: &str) -> bool {
    let json = json_of("--json");
    let mut tables = json.as_array().unwrap().iter();
    let table = tables.find(|one| one["id"] == id);
    !table.unwrap()["missing"].is_null()
}

/// The keys of a plan that the experiments use.
const PLAN_KEYS: &str = "engines durability workers worker_kind filesystem numa duration compact";
