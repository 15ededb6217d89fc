//! compare, history, bundle and export: on runs that the program made, whose rates are then set so
//! that what must be said of them is known.

use crate::bad_input::{Case, assert_refused};
use crate::support::{
    Bench, assert_contains,
    copies::{at_factor, copied, made, set_rate, two},
    stderr, stdout,
};
use std::path::Path;
use trueput_record::TrialRecord;
use trueput_record::folder::SufficiencyReason;
use trueput_record::measurement::Outcome;

#[test]
fn equal_runs_differ_in_nothing_and_a_slower_one_fails_where_it_is_to() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.93);
    let again = copied(&bench, Path::new(&a), "again", |_| ());
    let same = bench.run_expecting(0, &["compare", &a, &again, "--fail-if-slower", "20%"]);
    let equal = ": no significant difference";
    assert_eq!(stdout(&same).matches(equal).count(), 2);
    let compare = format!("compare {a} {b}");
    let slower = bench.run_expecting(1, &format!("{compare} --fail-if-slower 3%"));
    assert_contains(&stderr(&slower), &["slower by more than 3 %"]);
    let text = stdout(&slower);
    let lmdb = "lmdb, threen1, process, 4 workers: B is slower by";
    let sqlite = "sqlite, threen1, process, 4 workers: no significant difference";
    assert_contains(&text, &[lmdb, sqlite]);
    let full = bench.stdout_of(&format!("{compare} --full"));
    assert_contains(&full, &["separate runs"]);
    assert!(!text.contains("separate runs"), "{text}");
    bench.run_expecting(0, &format!("{compare} --fail-if-slower 20%"));
}

#[test]
fn contenders_of_one_run_are_compared_in_pairs_with_the_evidence_as_json() {
    let bench = Bench::new();
    let (a, _) = two(&bench, 1.0);
    let document = bench.json_of(&format!("compare {a} --contenders lmdb,sqlite --json"));
    let compared = &document["comparisons"][0];
    assert_eq!(compared["one_run"], true);
    let result = &compared["results"][0];
    assert_eq!(result["comparison"]["verdict"], "slower");
    assert_eq!(result["comparison"]["paired"], true);
    assert_eq!(result["comparison"]["pairs_won"], 0);
    let ratio = result["comparison"]["ratio"]["estimate"].as_f64().unwrap();
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
    let changes = result["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["what"] == "engine"));
    let words = bench.stdout_of(&format!("compare {a}:lmdb {a}:sqlite,workers=4"));
    assert_contains(&words, &["lmdb → sqlite"]);
}

#[test]
fn what_may_not_be_compared_is_refused_with_the_reason() {
    use trueput_record::Durability::Sync;
    let bench = Bench::new();
    let run = made(&bench);
    let a = at_factor(&bench, &run, "a", 1.0);
    let level = copied(&bench, &run, "level", |trial| {
        trial.spec.durability = Sync;
        trial.engine.as_mut().unwrap().promise.durability = Sync;
    });
    let workload = copied(&bench, &run, "workload", |trial| {
        trial.spec.workload = "micro".into();
    });
    let finish = copied(&bench, &run, "finish", |trial| {
        trial.spec.settings.insert("finish".into(), 30_i64.into());
    });
    let failed = copied(&bench, &run, "failed", |trial| {
        trial.outcome = Outcome::Failed {
            reason: "a disk died".into(),
            bad_input: false,
        };
    });
    let lone = format!("{a}:lmdb,lmdb2");
    let other = format!("{a} --fail-if-slower 3");
    let cases: &[Case<'_>] = &[
        (
            &level,
            &["not comparable", "level is process", "sync in the second"],
        ),
        (
            &workload,
            &["the workload is threen1", "micro in the second"],
        ),
        (&finish, &["finish is 20", "30 in the second"]),
        (&failed, &["none of its 10 trials is valid", "a disk died"]),
        ("", &["one run is given", "--contenders"]),
        ("--contenders lmdb", &["name two"]),
        (
            "--contenders lmdb,sqlit",
            &["no trial of 'sqlit'", "did you mean 'sqlite'"],
        ),
        (&lone, &["two engines"]),
        ("nowhere", &["nowhere", "not a run folder"]),
        (&other, &["'3' is not below 1: write 3% or 0.03"]),
    ];
    assert_refused(&bench, &format!("compare {a}"), cases);
}

#[test]
fn a_name_means_one_contender_and_two_names_two() {
    let bench = Bench::new();
    let run = made(&bench);
    let build = |path: &str| Some(path.into());
    // lmdb's repeats replace those of another build of sqlite.
    let both = copied(&bench, &run, "both", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" {
            trial.spec.engine = "sqlite".to_owned();
            trial.spec.build = build("/opt/new.so");
        }
    });
    let new = "sqlite@/opt/new.so";
    let compare = format!("compare {both} --contenders sqlite,{new}");
    let text = stdout(&bench.run_expecting(0, &compare));
    assert_contains(&text, &["B is faster by", "the default", "/opt/new.so"]);
    let builds = copied(&bench, &run, "builds", |trial| {
        set_rate(trial, 1.0);
        let path = format!("/opt/{}.so", trial.spec.engine);
        trial.spec.engine = "sqlite".to_owned();
        trial.spec.build = Some(path.into());
    });
    let could = "'sqlite' could mean sqlite@/opt/lmdb.so, sqlite@/opt/sqlite.so; name one";
    let contenders = "--contenders sqlite,sqlite@/opt/lmdb.so";
    assert_refused(
        &bench,
        &format!("compare {builds}"),
        &[(contenders, &[could])],
    );
    let same = "are the same trials of sqlite;";
    let cases: &[Case<'_>] = &[
        ("--contenders sqlite,sqlite", &[same, "--contenders"]),
        ("--contenders sqlite,sqlite@/opt/new.so,sqlite", &[same]),
        (&both, &["are the same trials of"]),
        (
            "--contenders sqlite,sqlite@/opt/old.so",
            &["no trial of 'sqlite@/opt/old.so'", new],
        ),
    ];
    assert_refused(&bench, &format!("compare {both}"), cases);
    let compare = format!("compare {both}:sqlite");
    let plain = format!("{both}:sqlite,workers=4");
    assert_refused(&bench, &compare, &[(&plain, &["same trials"])]);
    let apart = bench.stdout_of(&format!("{compare} {both}:{new}"));
    assert_contains(&apart, &["B is faster by"]);
}

#[test]
fn names_that_reports_print_and_builds_as_typed_are_contenders() {
    let bench = Bench::new();
    let run = made(&bench);
    let sqlite = |trial: &mut TrialRecord| {
        set_rate(trial, 1.0);
        let older = trial.spec.engine == "lmdb";
        trial.spec.engine = "sqlite".to_owned();
        older
    };
    let knobs = copied(&bench, &run, "knobs", |trial| {
        let size: i64 = if sqlite(trial) { 4096 } else { 65536 };
        trial.spec.knobs = [("page_size".to_owned(), size.into())].into();
    });
    let systems = copied(&bench, &run, "systems", |trial| {
        let system = ["xfs:mount=noatime", "ext4"][usize::from(sqlite(trial))];
        trial.spec.knobs.clear();
        trial.spec.conditions.file_system = Some(system.parse().unwrap());
    });
    let builds = copied(&bench, &run, "builds", |trial| {
        let name = if sqlite(trial) { "old" } else { "new" };
        trial.spec.knobs.clear();
        let path = format!("/opt/{name}/lib{name}.so");
        let engine = trial.engine.as_mut().unwrap();
        engine.version = "3.40.1".to_owned();
        engine.assertions = Some(true);
        engine.origin.clone_from(&path);
        trial.spec.build = Some(path.into());
    });
    for (run, contenders) in [
        (&knobs, "sqlite (page_size=4096),sqlite (page_size=65536)"),
        (
            &systems,
            "sqlite (filesystem=ext4), sqlite (filesystem=xfs:mount=noatime)",
        ),
        (&builds, "sqlite@old/libold.so,sqlite@./new/libnew.so"),
        (
            &builds,
            "sqlite 3.40.1 (libold.so),sqlite 3.40.1 (libnew.so)",
        ),
        (
            &builds,
            "sqlite 3.40.1 (libold.so) [assertions],sqlite@/opt/new/libnew.so [assertions]",
        ),
    ] {
        let output = bench.run_expecting(0, &["compare", run, "--contenders", contenders]);
        // The side with lmdb's repeats is faster.
        assert_contains(&stdout(&output), &["B is slower by"]);
    }
    let wrong = |run: &str, contenders: &str| {
        bench.refusal_of(&["compare", run, "--contenders", contenders])
    };
    let line = wrong(&systems, "sqlite (filesystem=ext4),sqlite (filesystem=zfs)");
    let names = "filesystem is ext4, xfs:mount=noatime: write RUN:filesystem=ext4 or RUN:f";
    assert_contains(&line, &[names]);
    let line = wrong(&knobs, "sqlite (page_size=4096),sqlite (pages=1)");
    let has = "it has sqlite (page_size=4096), sqlite (page_size=65536)";
    assert_contains(&line, &["'pages'", has]);
}

#[test]
fn a_contender_that_an_interrupted_run_did_not_reach_leads_to_its_continuation() {
    let bench = Bench::new();
    let (a, _) = two(&bench, 0.9);
    let file = Path::new(&a).join("trials.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let of_sqlite: Vec<_> = text
        .lines()
        .filter(|line| line.contains("\"engine\":\"sqlite\""))
        .collect();
    assert_ne!(of_sqlite.len(), text.lines().count());
    std::fs::write(&file, of_sqlite.join("\n") + "\n").unwrap();
    let refusal = |run: &str| bench.refusal_of(&["compare", run, "--contenders", "sqlite,lmdb"]);
    // It says that it is complete: to continue it changes nothing.
    let line = refusal(&a);
    assert!(line.ends_with("no trial of 'lmdb' has ended\n"), "{line}");
    std::fs::remove_file(Path::new(&a).join("end.json")).unwrap();
    let program = bench.command("report").get_program().to_owned();
    let program = program.to_str().unwrap();
    let rest = format!("no trial of 'lmdb' has ended: {program} run --resume {a} goes on");
    assert_contains(&refusal(&a), &[&rest]);
    let line = bench.refusal_of(&format!("history {a} --only lmdb"));
    assert_contains(&line, &[&rest]);
    // A bundle is a copy, which does not go on.
    bench.run(&format!("bundle {a} --output copy.tar.gz"));
    let line = refusal("copy.tar.gz");
    assert!(line.ends_with("no trial of 'lmdb' has ended\n"), "{line}");
    let line = bench.refusal_of(&["compare", &a, "--contenders", "sqlite,x"]);
    assert_contains(&line, &["no trial of 'x'; it has sqlite"]);
    let line = bench.refusal_of(&["compare", &a, "--contenders", "x"]);
    let names = "--contenders x names one contender: name two or more; it has sqlite only";
    assert_contains(&line, &[names]);
}

#[test]
fn a_damaged_line_is_named_and_a_run_without_trials_is_refused() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    let file = Path::new(&b).join("trials.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"format\":", "\"format\"", 1)).unwrap();
    let text = stdout(&bench.run_expecting(0, &["compare", &a, &b, "--full"]));
    let damaged = "line 1 of trials.jsonl unreadable, skipped";
    assert_contains(&text, &[damaged, "B is slower by"]);
    std::fs::write(&file, "").unwrap();
    let line = bench.refusal_of(&["compare", &a, &b]);
    assert_contains(&line, &["no trial of it has finished"]);
}

#[test]
fn a_history_finds_the_run_in_which_a_rate_fell() {
    let bench = Bench::new();
    let run = made(&bench);
    for night in 0..8 {
        let factor = if night < 4 { 1.0 } else { 0.9 } + 0.002 * f64::from(night % 3);
        copied(&bench, &run, &format!("night-{night}"), |trial| {
            let is_lmdb = trial.spec.engine == "lmdb";
            set_rate(trial, if is_lmdb { factor } else { 1.0 });
        });
    }
    let text = stdout(&bench.run_expecting(0, "history copies --charts always"));
    let none = "No significant change in 8 runs.";
    assert_contains(&text, &["It fell by 9.94 %", none]);
    let document = bench.json_of("history copies --only lmdb --json");
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 1);
    assert_eq!(series[0]["steps"][0]["at"], 4);
    bench.write("empty/x", "");
    let interrupted = copied(&bench, &run, "none", |trial| {
        trial.outcome = Outcome::Interrupted;
    });
    let cases: &[Case<'_>] = &[
        (&interrupted, &["these runs have no valid trial"]),
        ("empty", &["neither a run folder"]),
    ];
    assert_refused(&bench, "history", cases);
}

#[test]
fn a_bundle_says_elsewhere_what_the_folder_says_here() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    let packed = bench.run_expecting(0, &["bundle", &a, "--output", "a.tar.gz"]);
    assert_eq!(stdout(&packed), "bundle: a.tar.gz\n");
    let elsewhere = Bench::new();
    let [from, to] = [&bench, &elsewhere].map(|bench| bench.path().join("a.tar.gz"));
    std::fs::rename(from, to).unwrap();
    for format in ["terminal", "markdown", "csv"] {
        let here = bench.stdout_of(&format!("report {a} --full --format {format}"));
        let there = elsewhere.stdout_of(&format!("report a.tar.gz --full --format {format}"));
        assert_eq!(here, there, "{format}");
    }
    let compared = elsewhere.stdout_of(&format!("compare a.tar.gz:lmdb {b}"));
    assert_contains(&compared, &["B is slower by"]);
    let both = elsewhere.stdout_of(&["report", "a.tar.gz", &b]);
    assert_contains(&both, &["2 runs side by side", "of the first"]);
    let again = bench.refusal_of(&format!("bundle {a} --output {b}/run.json"));
    assert_contains(&again, &["cannot write"]);
    elsewhere.write("wrong.tar.gz", "no archive");
    let wrong = elsewhere.refusal_of("report wrong.tar.gz");
    assert_contains(&wrong, &["neither a run folder nor a bundle"]);
}

#[test]
fn what_is_made_from_a_bundle_names_the_bundle() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    for (run, bundle) in [(&a, "a.tar.gz"), (&b, "b.tar.gz")] {
        bench.run_expecting(0, &["bundle", run, "--output", bundle]);
    }
    bench.run_expecting(0, "report a.tar.gz --html page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).unwrap();
    assert!(page.contains("trueput report a.tar.gz --html page.html"));
    assert!(!page.contains("/.tmp"), "a temporary folder is named");
    let json = bench.json_of("report a.tar.gz --format json");
    assert_eq!(json["folder"], "a.tar.gz");
    let side_by_side = bench.stdout_of("report a.tar.gz b.tar.gz");
    assert_contains(&side_by_side, &["a.tar.gz: a on "]);
    // Two openings of one bundle are one run, whose contenders took turns.
    let turns = bench.json_of("compare a.tar.gz --contenders lmdb,sqlite --json");
    assert_eq!(turns["comparisons"][0]["one_run"], true);
    assert_eq!(turns["comparisons"][0]["first"]["folder"], "a.tar.gz");
}

#[test]
fn trials_are_exported_in_every_format() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 1.0);
    let export = |format| stdout(&bench.run_expecting(0, &["export", &a, &b, "--format", format]));
    let csv = export("csv");
    assert_eq!(csv.lines().count(), 21);
    let of_run = "run,run_started_at,host,program_commit,trial,cell,repeat,started_at,";
    assert!(csv.starts_with(of_run), "{csv}");
    let run_of = |line: usize| csv.lines().nth(line).unwrap().split(',').next();
    assert_eq!((run_of(1), run_of(20)), (Some("a"), Some("b")));
    let one = bench.stdout_of(&["report", &a, "--format", "csv"]);
    assert!(one.starts_with(of_run), "{one}");
    let lines = export("jsonl");
    for line in lines.lines() {
        let trial: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(trial["host"].is_string() && trial["spec"]["engine"].is_string());
    }
    assert_eq!(lines.lines().count(), 20);
    let metrics = export("openmetrics");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    assert_eq!(metrics.matches("\ntrueput_elapsed_seconds{").count(), 20);
    let gauge = "# TYPE trueput_elapsed_seconds gauge";
    assert_eq!(metrics.matches(gauge).count(), 1);
}

#[test]
fn a_budget_ends_a_run_that_would_repeat_for_long() {
    let bench = Bench::new();
    let output = bench.run(
        "run threen1 --engine lmdb --durability process --set finish=20 --repeat 1000 \
         --budget 500ms --full",
    );
    assert!(stderr(&output).contains("repeats ended: the budget of time is spent"));
    let end = bench.run_folder().end().unwrap().unwrap();
    assert_eq!(end.stop_reason, Some(SufficiencyReason::Budget));
    assert!((1..1000).contains(&bench.trials().len()));
    let report = stdout(&output);
    assert!(report.contains("the budget of time is spent") && !report.contains("are missing"));
}
