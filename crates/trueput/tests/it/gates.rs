//! `trueput compare --fail-if`, runs that go on until gates are decided, and the outputs for
//! trackers.

use crate::bad_input::{Case, assert_refused};
use crate::support::{
    Bench, assert_contains,
    copies::{at_factor, copied, made, set_rate},
    stderr, stdout, unwrapped,
};
use serde_json::Value;
use trueput_record::measurement::Outcome;

#[test]
fn several_gates_are_judged_at_once_and_the_worst_decides_the_exit_code() {
    let bench = Bench::new();
    let run = made(&bench);
    let a = at_factor(&bench, &run, "a", 1.0);
    let same = at_factor(&bench, &run, "same", 1.0);
    let slower = at_factor(&bench, &run, "slower", 0.9);
    let gates = "--fail-if rate<-5% --fail-if space>+5%";
    let passed = bench.run_expecting(0, &format!("compare {a} {same} {gates}"));
    assert_contains(&stdout(&passed), &["Passed: 4 gates."]);
    assert!(stderr(&passed).is_empty(), "{}", stderr(&passed));
    let failed = bench.run_expecting(1, &format!("compare {a} {slower} {gates}"));
    let words = "Failed: rate<-5% on lmdb, rate<-5% on sqlite; 2 passed.";
    assert_contains(&unwrapped(&stdout(&failed)), &[words]);
    assert_contains(&stderr(&failed), &[words]);
    // A fall within the limit passes.
    let wide = "--fail-if rate<-20%";
    bench.run_expecting(0, &format!("compare {a} {slower} {wide}"));
    let markdown = bench.run_expecting(1, &format!("compare {a} {slower} {gates} --markdown"));
    let text = stdout(&markdown);
    assert!(text.starts_with("# Gates\n\nFailed: rate&lt;-5%"), "{text}");
    assert_contains(&text, &["| rate&lt;-5% | FAILED |", "# trueput compare"]);
}

#[test]
fn a_gate_that_the_repeats_do_not_decide_has_an_exit_code_of_its_own() {
    let bench = Bench::new();
    let run = made(&bench);
    let wild = |name: &str| {
        copied(&bench, &run, name, |trial| {
            let disturbed = [1.0, 0.6, 1.5, 0.8, 1.2];
            set_rate(trial, disturbed[trial.spec.repeat as usize % 5]);
        })
    };
    let [a, b] = ["a", "b"].map(wild);
    let output = bench.run_expecting(3, &format!("compare {a} {b} --fail-if rate<-3% --json"));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let gates = &document["gates"];
    assert_eq!(gates["verdict"], "undecided");
    assert_eq!(gates["results"][0]["rule"], "rate<-3%");
    assert_eq!(gates["results"][0]["verdict"], "undecided");
    assert_contains(&stderr(&output), &["Undecided: rate<-3% on lmdb"]);
    // A limit of the second side alone is decided: no rate of it is near.
    let value = bench.run_expecting(0, &format!("compare {a} {b} --fail-if rate<10/s"));
    assert_contains(&stdout(&value), &["Passed: 2 gates."]);
    bench.run_expecting(1, &format!("compare {a} {b} --fail-if rate<100000/s"));
    // One failed gate outweighs those that are undecided.
    let both = "--fail-if rate<-3% --fail-if rate<100000/s";
    bench.run_expecting(1, &format!("compare {a} {b} {both}"));
}

#[test]
fn no_gate_passes_a_crash() {
    let bench = Bench::new();
    let run = made(&bench);
    let a = at_factor(&bench, &run, "a", 1.0);
    let crashed = copied(&bench, &run, "crashed", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" && trial.spec.repeat == 2 {
            trial.outcome = Outcome::Failed {
                reason: "worker 1 was killed by SIGSEGV".to_owned(),
                bad_input: false,
            };
            trial.measurement = None;
        }
    });
    let gate = "--fail-if rate<-90%";
    let failed = bench.run_expecting(1, &format!("compare {a} {crashed} {gate}"));
    assert_contains(&stderr(&failed), &["killed by SIGSEGV"]);
    bench.run_expecting(0, &format!("compare {crashed} {a} {gate}"));
}

#[test]
fn a_gate_on_what_was_not_measured_is_bad_input() {
    let bench = Bench::new();
    let run = made(&bench);
    let [a, b] = ["a", "b"].map(|name| at_factor(&bench, &run, name, 1.0));
    let cases: &[Case<'_>] = &[
        (
            "--fail-if scan.p99>+5%",
            &["scan.p99>+5%", "no trial of lmdb has this figure", "update"],
        ),
        ("--fail-if rat<-3%", &["did you mean 'rate'"]),
        ("--fail-if rate<3%", &["write a sign and a percentage"]),
        (
            "--fail-if rate<-3% --fail-if-slower 3%",
            &["--fail-if-slower", "cannot be used with"],
        ),
    ];
    assert_refused(&bench, &format!("compare {a} {b}"), cases);
    let cases: &[Case<'_>] = &[("--repeat 3", &["--gate needs --decide"])];
    let run = "run threen1 --engine lmdb,sqlite --durability process --set finish=20 \
               --gate rate<-3%";
    assert_refused(&bench, run, cases);
}

#[test]
fn a_run_that_decides_keeps_its_gates_and_judges_them_at_its_looks() {
    let bench = Bench::new();
    let gate = "rate<-99%";
    // The trials of a debug build are invalid, so it ends when two of each have failed. The search
    // itself has tests of its own.
    bench.run(&format!(
        "run threen1 --engine lmdb,sqlite --durability process --set finish=20 --decide \
         --within 60s --gate {gate}"
    ));
    let folder = bench.run_folder();
    let manifest = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["gates"], serde_json::json!([gate]));
    // The last look was before there was anything to judge.
    let run = copied(&bench, folder.path(), "valid", |trial| set_rate(trial, 1.0));
    let compare = format!("compare {run} --contenders lmdb,sqlite --fail-if {gate}");
    let undecided = bench.run_expecting(3, &compare);
    assert_contains(&stderr(&undecided), &["Undecided: rate<-99% on sqlite"]);
}

#[test]
fn trackers_get_the_medians_of_each_cell_in_their_formats() {
    let bench = Bench::new();
    let run = made(&bench);
    let run = at_factor(&bench, &run, "a", 1.0);
    let export = |format: &str| -> Value {
        let output = bench.run_expecting(0, &format!("export {run} --format {format}"));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let bencher = export("bencher");
    let lmdb = &bencher["lmdb, process, 4 workers"];
    let rate = lmdb["throughput"]["value"].as_f64().unwrap();
    assert!((rate - 1_000.0).abs() < 5.0, "{bencher}");
    assert!(lmdb["throughput"]["lower_value"].as_f64().unwrap() < rate);
    assert!(lmdb["space"]["value"].as_f64().unwrap() > 0.0);
    let bigger = export("github-bigger");
    let entries = bigger.as_array().unwrap();
    assert_eq!(entries.len(), 2, "{bigger}");
    assert_eq!(entries[0]["name"], "lmdb, process, 4 workers: rate");
    assert_eq!(entries[0]["unit"], "operations/s");
    let smaller = export("github-smaller");
    let mut names = smaller.as_array().unwrap().iter().map(|it| &it["name"]);
    assert!(names.any(|name| name == "sqlite, process, 4 workers: space"));
    let cases: &[Case<'_>] = &[("--format bencher --per-second", &["has no use"])];
    assert_refused(&bench, &format!("export {run}"), cases);
}
