//! `trueput schema`: the schemas allow the files that trueput writes and reads, and no others.

use crate::support::json_schema::violations;
use crate::support::{ALL_WELL, Bench, assert_contains, expect_code, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run of some seconds: two levels, two repeats, a setting with two values.
const PLAN: &str = "\
name = \"schemas\"
workload = \"micro\"
engines = [\"lmdb\", \"sqlite\"]
durability = [\"process\", \"async\"]
repeat = 2
workers = 2
duration = \"200ms\"
warm_up = 0
unsupported = \"skip\"
time_slice = \"none\"
[settings]
records = 200
[knobs]
\"lmdb.map_size\" = \"64MiB\"
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn schema(bench: &Bench, kind: &str) -> Value {
    bench.json_of(&format!("schema {kind}"))
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn toml_file(path: &Path) -> Value {
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The TOML files of a folder of the repository.
fn toml_files(folder: &str) -> Vec<(String, Value)> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    let files = paths.filter(|path| path.extension().is_some_and(|it| it == "toml"));
    files
        .map(|path| (path.display().to_string(), toml_file(&path)))
        .collect()
}

#[track_caller]
fn assert_valid(schema: &Value, value: &Value, file: &str) {
    let violations = violations(schema, value);
    assert!(violations.is_empty(), "{file}: {violations:#?}");
}

/// The value without its field, and with another type in its place: both are refused.
#[track_caller]
fn assert_refused_without(schema: &Value, value: &Value, field: &str) {
    let mut broken = value.clone();
    broken.as_object_mut().unwrap().remove(field).unwrap();
    assert_eq!(violations(schema, &broken), [format!(": has no {field}")]);
    broken[field] = json!([["of another type"]]);
    let violations = violations(schema, &broken);
    assert!(
        violations.iter().any(|it| it.contains(field)),
        "{violations:?}"
    );
}

#[test]
fn every_file_of_a_run_is_as_its_schema_says_and_a_broken_one_is_not() {
    let bench = Bench::new();
    bench.write("schemas.toml", PLAN);
    bench.run_expecting(ALL_WELL, "run schemas.toml");
    let results = std::fs::read_dir(bench.path().join("results")).unwrap();
    let run = results.flatten().next().unwrap().path();
    let name = run.display();

    let (manifest, end) = (
        json_file(&run.join("run.json")),
        json_file(&run.join("end.json")),
    );
    let trials = std::fs::read_to_string(run.join("trials.jsonl")).unwrap();
    let exported = bench.stdout_of(&format!("export {name} --format jsonl"));
    let report = bench.json_of(&format!("report {name} --format json"));
    for (kind, lines, count, field) in [
        ("run", manifest.to_string(), 1, "host"),
        ("end", end.to_string(), 1, "ended_at"),
        ("trial", trials, 8, "spec"),
        ("export", exported, 8, "run"),
        ("report", report.to_string(), 1, "rankings"),
    ] {
        let schema = schema(&bench, kind);
        assert_eq!(lines.lines().count(), count, "{kind}");
        for line in lines.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_valid(&schema, &value, kind);
            assert_refused_without(&schema, &value, field);
        }
    }
    // The control of what lies deeper.
    let mut other = manifest;
    other["trials"][3]["durability"] = "asynchronous".into();
    let violations = violations(&schema(&bench, "run"), &other);
    assert!(
        violations
            .iter()
            .all(|it| it.starts_with("/trials/3/durability: ")),
        "{violations:?}"
    );
    assert_eq!(violations.len(), 1);
}

#[test]
fn the_schema_of_plans_allows_every_plan_and_refuses_a_misspelled_key_of_each() {
    let bench = Bench::new();
    let schema = schema(&bench, "plan");
    let plans = toml_files("plans");
    assert!(plans.len() > 20, "{}", plans.len());
    for (file, plan) in &plans {
        assert_valid(&schema, plan, file);
        let mut misspelled = plan.clone();
        misspelled["repaet"] = 3.into();
        assert_eq!(
            violations(&schema, &misspelled),
            ["/repaet: is not allowed"],
            "{file}"
        );
        let mut misspelled = plan.clone();
        misspelled["settings"]["no_such_setting"] = 3.into();
        let found = violations(&schema, &misspelled);
        assert_eq!(
            found,
            ["/settings/no_such_setting: is not allowed"],
            "{file}"
        );
    }
    let mut plan: Value = toml::from_str(PLAN).unwrap();
    assert_valid(&schema, &plan, "the plan of this test");
    for (knobs, fits) in [
        (json!({ "lmdb.map_size": ["1GiB", 4_194_304] }), true),
        (json!({ "lmdb": { "map_size": "1GiB" } }), true),
        (json!({ "lmdb.map_size": "1Gb" }), false),
        (json!({ "lmdb.map_sise": "1GiB" }), false),
        (json!({ "lmdb": { "map_sise": "1GiB" } }), false),
        (json!({ "lmbd": { "map_size": "1GiB" } }), false),
        (json!({ "lmbd.map_size": "1GiB" }), false),
    ] {
        plan["knobs"] = knobs.clone();
        assert_eq!(violations(&schema, &plan).is_empty(), fits, "{knobs}");
    }
    // The knobs of a plug-in are in its file.
    plan["engines"] = json!(["./libtoy.so"]);
    assert_valid(&schema, &plan, "the plan of a plug-in");
}

#[test]
fn a_plan_that_its_schema_refuses_is_refused_by_the_program_too() {
    let bench = Bench::new();
    let schema = schema(&bench, "plan");
    for (line, wrong) in [
        ("workers = 2", "workers = 0"),
        ("duration = \"200ms\"", "duration = \"soon\""),
        ("repeat = 2", "repeat = 0"),
        ("unsupported = \"skip\"", "unsupported = \"skipp\""),
        ("records = 200", "records = \"many\""),
        ("time_slice", "time_slize"),
        ("\"process\", ", "\"proces\", "),
        ("workload = \"micro\"\n", ""),
    ] {
        let text = PLAN.replace(line, wrong);
        let plan: Value = toml::from_str(&text).unwrap();
        assert!(!violations(&schema, &plan).is_empty(), "{wrong}");
        bench.write("wrong.toml", &text);
        bench.run_expecting(2, "plan check wrong.toml");
    }
}

#[test]
fn the_schemas_of_other_files_allow_those_of_the_repository() {
    let bench = Bench::new();
    for (kind, folder) in [
        ("workload", "workloads"),
        ("storage-model", "devices"),
        ("published", "published"),
    ] {
        let schema = schema(&bench, kind);
        let files = toml_files(folder);
        assert!(files.len() >= 5, "{folder}");
        for (file, value) in &files {
            assert_valid(&schema, value, file);
            let mut misspelled = value.clone();
            misspelled["abuot"] = "x".into();
            assert_eq!(
                violations(&schema, &misspelled),
                ["/abuot: is not allowed"],
                "{file}"
            );
        }
    }
}

#[test]
fn a_folder_gets_every_schema_and_none_is_overwritten() {
    let bench = Bench::new();
    let listed = bench.stdout_of("schema");
    let kinds: BTreeSet<_> = listed
        .lines()
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    assert_eq!(
        bench.stdout_of("schema --output new/schemas"),
        format!("{} schemas: new/schemas\n", kinds.len())
    );
    for kind in &kinds {
        let file = bench.path().join(format!("new/schemas/{kind}.schema.json"));
        let written = json_file(&file);
        assert_eq!(written, schema(&bench, kind), "{kind}");
        let version = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(written["$schema"], version, "{kind}");
    }
    let again = bench.run_expecting(2, "schema plan --output new/schemas");
    assert_eq!(
        stderr(&again),
        "trueput: new/schemas/plan.schema.json exists: remove it, or name another folder with \
         --output\n"
    );
    let unknown = bench.run_expecting(2, "schema plann");
    assert_contains(&stderr(&unknown), &["similar value exists: 'plan'"]);
    bench.write("file", "");
    let no_folder = bench.run_expecting(2, "schema --output file");
    assert_contains(&stderr(&no_folder), &["cannot write file"]);
}

#[test]
fn the_document_of_the_formats_lists_the_schemas() {
    let document = std::fs::read_to_string(root().join("docs/FORMAT.md")).unwrap();
    let listed = Bench::new().stdout_of("schema");
    for line in listed.lines() {
        let (kind, about) = line.split_once(' ').unwrap();
        let row = format!("| `{kind}` | {} |", about.trim());
        assert!(
            document.contains(&row),
            "docs/FORMAT.md lacks the row {row}"
        );
    }
}

/// `scripts/python-types`, with the schemas of this program.
fn python_types(bench: &Bench, arguments: &[&str]) -> Option<std::process::Output> {
    let script = root().join("scripts/python-types");
    let program = assert_cmd::cargo::cargo_bin!("trueput");
    let mut command = Command::new("python3");
    command.arg(script).arg("--program").arg(program);
    match command.args(arguments).current_dir(bench.path()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: python3 cannot be run: {error}");
            None
        }
    }
}

#[test]
fn the_types_of_the_python_package_are_those_of_the_schemas() {
    let bench = Bench::new();
    let Some(output) = python_types(&bench, &["--check"]) else {
        return;
    };
    expect_code(0, output);
    // The control: a file with one field less.
    let types = root().join("packaging/python/src/trueput/_types.py");
    let text = std::fs::read_to_string(types).unwrap();
    let stale = text.replacen("    elapsed_s: float\n", "", 1);
    assert_ne!(stale, text);
    let stale = bench.write("stale.py", &stale);
    let arguments = ["--check", "--output", stale.to_str().unwrap()];
    let refused = python_types(&bench, &arguments).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_contains(&stderr(&refused), &["is stale: run scripts/python-types"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_python_package_reads_a_run_and_its_notebook_runs() {
    let bench = Bench::new();
    bench.write("schemas.toml", PLAN);
    bench.run_expecting(ALL_WELL, "run schemas.toml");
    let script = root().join("scripts/check-python");
    let program = assert_cmd::cargo::cargo_bin!("trueput");
    let output = Command::new(script)
        .arg(program)
        .arg(bench.path().join("results"))
        .output();
    let output = output.unwrap();
    if output.status.code() == Some(77) {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    eprint!("{}", stdout(&output));
    expect_code(0, output);
}
