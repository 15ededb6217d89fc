//! The tables that others published, listed and shown.

use crate::support::{ALL_WELL, Bench, ended_well, refusal, stderr, stdout, words};

/// Runs `trueput published …`, which must succeed in silence on standard error.
fn told(arguments: &[&str]) -> String {
    let all: Vec<_> = ["published"].iter().chain(arguments).copied().collect();
    let output = Bench::new().run(&all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

#[test]
fn the_tables_are_listed_with_year_and_rows() {
    let list = told(&[]);
    let mut lines = list.lines();
    let load = lines.find(|line| line.starts_with("symas-2014-load "));
    assert!(
        load.is_some_and(|line| line.ends_with("  2014  20")),
        "{list}"
    );
    let title = lines.next().unwrap();
    assert!(title.starts_with("    Loading"), "{title}");
    let json: serde_json::Value = serde_json::from_str(&told(&["--json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 13);
    assert_eq!(json[0]["id"], "berkeleydb-log-flush");
    assert_eq!(json[0]["year"], 2008);
    let command = [
        "trueput",
        "run",
        "published/berkeleydb-log-flush",
        "--scale",
        "1",
    ];
    assert_eq!(json[0]["command"], serde_json::json!(command));
    assert!(json[0]["missing"].is_null());
    let line = format!("\n  {}\n", command.join(" "));
    assert!(list.contains(&line), "{list}");
}

#[test]
fn a_table_is_shown_with_its_source_and_caveats() {
    let text = told(&["fis-2010-threen1-elapsed"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "40,000,000 41,087",
        "K.S. Bhaskar, FIS",
        "Quad Core AMD Phenom",
        "The btrfs run to 40,000,000 was stopped",
        "settings.finish = 1000000, 10000000, 20000000, 40000000",
        "The workload threen1, with plans/filesystems-2010.toml",
        "trueput run published/fis-2010-threen1-elapsed --scale 0.01",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn csv_has_plain_numbers_and_markdown_a_table() {
    let csv = told(&["fis-2011-threen1-gtm-tuning", "--format", "csv"]);
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 17);
    assert_eq!(
        lines[0],
        "finish,global_buffers,journal_buffers,workers,file_system,elapsed_s"
    );
    assert_eq!(lines[13], "1000000,35000,2000,4,jfs,27;27;29");
    let gap = told(&["fis-2010-threen1-elapsed", "--format", "csv"]);
    assert!(
        gap.contains("40000000,41087,64016,35989,50378,,47571"),
        "{gap}"
    );
    let markdown = told(&["symas-2014-load", "--format", "markdown"]);
    assert!(markdown.contains("| lmdb | local | 65.73 |"), "{markdown}");
    let json: serde_json::Value =
        serde_json::from_str(&told(&["symas-2014-load", "--json"])).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 20);
    assert_eq!(json["columns"][2]["name"], "wall_s");
    let same = told(&["symas-2014-load", "--format", "json"]);
    assert_eq!(
        json,
        serde_json::from_str::<serde_json::Value>(&same).unwrap()
    );
}

#[test]
fn what_cannot_be_shown_is_told_in_one_line() {
    let wrong: [(&[&str], &str); 4] = [
        (
            &["symas-2014-lod"],
            "no published table 'symas-2014-lod' (did you mean 'symas-2014-load'?)",
        ),
        (
            &["symas-2014-load", "--format", "pdf"],
            "no report format 'pdf'",
        ),
        (&["--format", "csv"], "<ID>"),
        (&["symas-2014-load", "--json", "--format", "csv"], "--json"),
    ];
    for (arguments, expected) in wrong {
        let all: Vec<_> = ["published"].iter().chain(arguments).copied().collect();
        let output = Bench::new().run(&all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "");
        let said = stderr(&output);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn the_nearest_experiments_use_settings_that_exist() {
    let names = |command: &[&str]| -> Vec<String> {
        let output = Bench::new().run(command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let listed: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let names = listed.as_array().unwrap().iter();
        names
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let workloads = names(&["workloads", "--json"]);
    let mut checked = 0;
    for id in trueput_record::published::ids() {
        let experiment = trueput_record::published::named(id).unwrap().experiment;
        for setting in &experiment.settings {
            let known = match setting.name.split('.').collect::<Vec<_>>()[..] {
                // A workload that this program does not have is said to be missing.
                ["settings", _] if !workloads.contains(&experiment.workload) => continue,
                ["settings", name] => {
                    names(&["knobs", &experiment.workload, "--json"]).contains(&name.to_owned())
                }
                ["knobs", engine, name] => {
                    names(&["knobs", engine, "--json"]).contains(&name.to_owned())
                }
                [key] => PLAN_KEYS.contains(&key),
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
    let output = bench.run(&words(
        "run published/berkeleydb-log-flush.toml --scale 0.02 --full",
    ));
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
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
    let words: Vec<_> = report.split_whitespace().collect();
    assert!(words.join(" ").contains("at 0.02 of its size"), "{report}");
    // A debug build's trials are never ranked, and what is not ranked is set beside nothing.
    assert_eq!(
        report.contains("Compared with \"Berkeley DB"),
        !cfg!(debug_assertions),
        "{report}"
    );
}

#[test]
fn an_experiment_runs_with_the_engines_that_are_here_and_names_the_others() {
    let bench = Bench::new();
    let id = "published/symas-2014-read-while-writing";
    let narrow = [
        "--engine",
        "lmdb",
        "--workers",
        "1",
        "--duration",
        "0.2",
        "--warm-up",
        "0",
    ];
    let arguments: Vec<_> = ["run", id, "--scale", "0.0001"]
        .into_iter()
        .chain(narrow)
        .collect();
    let output = bench.run(&arguments);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 1);
    assert_eq!(trials[0].spec.settings["records"].to_string(), "10000");
    assert_eq!(trials[0].spec.settings["key_bytes"].to_string(), "16");
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
}

const CHEATS: &str = "published/informix-2010-oltp-cheats";

#[test]
fn the_three_cheats_run_step_by_step_at_a_scale() {
    let bench = Bench::new();
    let small = ["--engine", "sqlite", "--repeat", "1", "--warm-up", "0.2"];
    let cardinality = ["--set", "cardinality=hundredth"];
    let arguments: Vec<_> = ["run", CHEATS, "--scale", "0.004"]
        .into_iter()
        .chain(small)
        .chain(cardinality)
        .collect();
    let output = bench.run(&arguments);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    let steps: Vec<_> = trials
        .iter()
        .map(|trial| trial.spec.step.as_ref().map_or("", |step| &step.name))
        .collect();
    let cheats = [
        "buffered logging",
        "no checkpoint within the run",
        "primed cache",
    ];
    assert_eq!(steps[1..], cheats, "{steps:?}");
    for trial in &trials {
        assert!(ended_well(trial), "{:?}", trial.outcome);
        assert_eq!(trial.spec.conditions.duration_s, Some(3.6));
        assert_eq!(trial.spec.settings["pacing"].to_string(), "none");
    }
    let has_checkpoint: Vec<_> = trials
        .iter()
        .map(|trial| {
            let events = trial.measurement.as_ref().unwrap().events.as_ref();
            let mut events = events.unwrap().iter();
            events.any(|event| event.kind == "checkpoint")
        })
        .collect();
    assert_eq!(has_checkpoint, [true, true, false, false]);
    // A debug build's trials are never ranked, and what is not ranked is set beside nothing.
    let report = stdout(&output);
    let rows = ["6,785", "7,032", "7,307", "buffered logging (LOGBUFF 256)"];
    for part in rows {
        assert_eq!(report.contains(part), !cfg!(debug_assertions), "{report}");
    }
}

#[test]
fn a_published_experiment_is_checked_as_it_would_run() {
    let bench = Bench::new();
    let check = |arguments: &[&str]| {
        let all: Vec<_> = ["plan", "check"].iter().chain(arguments).copied().collect();
        bench.run(&all)
    };
    let output = check(&[CHEATS, "--scale", "0.01", "--engine", "sqlite", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("oltp-cheats at scale 0.01 (1 is"), "{said}");
    let checked: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let trials = checked["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4 * 5, "the base and three steps, five times");
    assert!(
        trials
            .iter()
            .all(|trial| trial["conditions"]["duration_s"] == 9.0)
    );
    let flush = check(&["published/berkeleydb-log-flush"]);
    assert_eq!(flush.status.code(), Some(0), "{}", stderr(&flush));
    assert!(stdout(&flush).contains("operations=1000"));
    for wrong in [
        &["published/symas-2014-lod"][..],
        &["threen1", "--scale", "0.5"],
        &[CHEATS, "--scale", "0"],
    ] {
        refusal(&check(wrong));
    }
    assert_eq!(bench.snapshot().len(), 0, "nothing was run");
}

#[test]
fn what_an_experiment_needs_and_what_a_scale_is_are_told_in_one_line() {
    let bench = Bench::new();
    let refused = |arguments: &[&str]| refusal(&bench.run(arguments));
    let gtm = gtm_is_missing();
    if gtm {
        let line = refused(&words(
            "run published/fis-2011-threen1-gtm-tuning --scale 0.001",
        ));
        assert!(
            line.contains("needs gtm, which is not installed: gtm is not installed"),
            "{line}"
        );
    }
    let unknown = refused(&["run", "published/symas-2014-lod"]);
    assert!(
        unknown.contains("did you mean 'symas-2014-load'?"),
        "{unknown}"
    );
    let scale = refused(&["run", "published/symas-2014-load", "--scale", "2"]);
    assert!(scale.contains("scale 2 must be above 0"), "{scale}");
    let plan = refused(&["run", "threen1", "--scale", "0.5"]);
    assert!(
        plan.contains("--scale needs published/ID, but 'threen1' is not one"),
        "{plan}"
    );
    assert_eq!(bench.snapshot().len(), 0, "nothing was run");
}

/// Whether the program finds no GT.M, as it says itself.
fn gtm_is_missing() -> bool {
    let json: serde_json::Value = serde_json::from_str(&told(&["--json"])).unwrap();
    let tables = json.as_array().unwrap();
    let tuning = tables
        .iter()
        .find(|one| one["id"] == "fis-2011-threen1-gtm-tuning");
    !tuning.unwrap()["missing"].is_null()
}

/// The keys of a plan that the experiments use.
const PLAN_KEYS: [&str; 7] = [
    "engines",
    "durability",
    "workers",
    "worker_kind",
    "filesystem",
    "numa",
    "duration",
];
