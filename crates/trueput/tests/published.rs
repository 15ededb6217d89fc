//! The tables that others published, listed and shown.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::{Bench, stderr, stdout};

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
    assert_eq!(list.lines().count(), 13, "{list}");
    let load = list
        .lines()
        .find(|line| line.starts_with("symas-2014-load "))
        .unwrap();
    assert!(load.contains("  2014  20    Loading"), "{load}");
    let json: serde_json::Value = serde_json::from_str(&told(&["--json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 12);
    assert_eq!(json[0]["id"], "berkeleydb-log-flush");
    assert_eq!(json[0]["year"], 2008);
}

#[test]
fn a_table_is_shown_with_its_source_and_caveats() {
    let text = told(&["fis-2010-threen1-elapsed"]);
    for part in [
        "40,000,000  41,087",
        "K.S. Bhaskar, FIS",
        "Quad Core AMD Phenom",
        "The btrfs run to 40,000,000 was stopped",
        "settings.finish = 1000000, 10000000, 20000000, 40000000",
        "The workload threen1",
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
