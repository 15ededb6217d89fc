//! compare, history, bundle and export: on runs that the program made, whose rates are then set so
//! that what must be said of them is known.

use crate::support::{
    Bench,
    copies::{copied, made, set_rate, two},
    refusal, stderr, stdout, words,
};
use std::path::Path;
use trueput_record::TrialRecord;
use trueput_record::measurement::Outcome;

#[test]
fn equal_runs_differ_in_nothing_and_a_slower_one_fails_where_it_is_to() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.93);
    let again = copied(&bench, Path::new(&a), "again", |_| ());
    let same = bench.run(&["compare", &a, &again, "--fail-if-slower", "20%"]);
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    assert_eq!(
        stdout(&same).matches(": no significant difference").count(),
        2
    );
    let slower = bench.run(&["compare", &a, &b, "--fail-if-slower", "3%"]);
    let text = stdout(&slower);
    assert_eq!(slower.status.code(), Some(1), "{text}{}", stderr(&slower));
    assert!(
        stderr(&slower).contains("slower by more than 3 %"),
        "{}",
        stderr(&slower)
    );
    assert!(
        text.contains("lmdb, threen1, process, 4 workers: B is slower by"),
        "{text}"
    );
    assert!(
        text.contains("sqlite, threen1, process, 4 workers: no significant difference"),
        "{text}"
    );
    let full = bench.run(&["compare", &a, &b, "--full"]);
    assert!(stdout(&full).contains("separate runs"), "{text}");
    assert!(!text.contains("separate runs"), "{text}");
    let far = bench.run(&["compare", &a, &b, "--fail-if-slower", "20%"]);
    assert_eq!(far.status.code(), Some(0), "{}", stderr(&far));
}

#[test]
fn contenders_of_one_run_are_compared_in_pairs_with_the_evidence_as_json() {
    let bench = Bench::new();
    let (a, _) = two(&bench, 1.0);
    let output = bench.run(&["compare", &a, "--contenders", "lmdb,sqlite", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
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
    let words = bench.run(&[
        "compare",
        &format!("{a}:lmdb"),
        &format!("{a}:sqlite,workers=4"),
    ]);
    assert!(
        stdout(&words).contains("lmdb → sqlite"),
        "{}",
        stdout(&words)
    );
}

#[test]
fn what_may_not_be_compared_is_refused_with_the_reason() {
    use trueput_record::Durability::Sync;
    let bench = Bench::new();
    let run = made(&bench);
    let a = copied(&bench, &run, "a", |trial| set_rate(trial, 1.0));
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
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[&a, &level],
            &["not comparable", "level is process", "sync in the second"],
        ),
        (
            &[&a, &workload],
            &["the workload is threen1", "micro in the second"],
        ),
        (&[&a, &finish], &["finish is 20", "30 in the second"]),
        (
            &[&a, &failed],
            &["none of its 10 trials is valid", "a disk died"],
        ),
        (&[&a], &["one run is given", "--contenders"]),
        (&[&a, "--contenders", "lmdb"], &["name two"]),
        (
            &[&a, "--contenders", "lmdb,sqlit"],
            &["no trial of 'sqlit'", "did you mean 'sqlite'"],
        ),
        (&[&a, &lone], &["two engines"]),
        (&[&a, "nowhere"], &["nowhere", "not a run folder"]),
        (&[&a, &a, "--fail-if-slower", "3"], &["'3' is not a part"]),
    ];
    for (arguments, words) in cases {
        let arguments: Vec<&str> = ["compare"].iter().chain(*arguments).copied().collect();
        let line = refusal(&bench.run(&arguments));
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
    }
}

#[test]
fn a_name_means_one_contender_and_two_names_two() {
    let bench = Bench::new();
    let run = made(&bench);
    let build = |path: &str| Some(path.into());
    // lmdb's repeats stand for those of another build of sqlite.
    let both = copied(&bench, &run, "both", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" {
            trial.spec.engine = "sqlite".to_owned();
            trial.spec.build = build("/opt/new.so");
        }
    });
    let new = "sqlite@/opt/new.so";
    let output = bench.run(&["compare", &both, "--contenders", &format!("sqlite,{new}")]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("B is faster by"), "{text}");
    assert!(text.contains("the default") && text.contains("/opt/new.so"));
    let builds = copied(&bench, &run, "builds", |trial| {
        set_rate(trial, 1.0);
        let path = format!("/opt/{}.so", trial.spec.engine);
        trial.spec.engine = "sqlite".to_owned();
        trial.spec.build = Some(path.into());
    });
    let (plain, named) = (format!("{both}:sqlite"), format!("{both}:{new}"));
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[&builds, "--contenders", "sqlite,sqlite@/opt/lmdb.so"],
            &["'sqlite' could mean sqlite@/opt/lmdb.so, sqlite@/opt/sqlite.so; name one"],
        ),
        (
            &[&both, "--contenders", "sqlite,sqlite"],
            &["are the same trials of sqlite;", "--contenders"],
        ),
        (
            &[&both, "--contenders", "sqlite,sqlite@/opt/new.so,sqlite"],
            &["are the same trials of sqlite;"],
        ),
        (&[&both, &both], &["are the same trials of"]),
        (&[&plain, &format!("{plain},workers=4")], &["same trials"]),
        (
            &[&both, "--contenders", "sqlite,sqlite@/opt/old.so"],
            &["no trial of 'sqlite@/opt/old.so'", new],
        ),
    ];
    for (arguments, words) in cases {
        let arguments: Vec<&str> = ["compare"].iter().chain(*arguments).copied().collect();
        let line = refusal(&bench.run(&arguments));
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
    }
    let apart = bench.run(&["compare", &plain, &named]);
    assert!(
        stdout(&apart).contains("B is faster by"),
        "{}",
        stdout(&apart)
    );
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
        let system = if sqlite(trial) {
            "ext4"
        } else {
            "xfs:mount=noatime"
        };
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
        let output = bench.run(&["compare", run, "--contenders", contenders]);
        let (text, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{contenders}: {error}");
        // What was lmdb's is faster.
        assert!(text.contains("B is slower by"), "{contenders}: {text}");
    }
    let wrong = |run: &str, contenders: &str| {
        refusal(&bench.run(&["compare", run, "--contenders", contenders]))
    };
    let line = wrong(&systems, "sqlite (filesystem=ext4),sqlite (filesystem=zfs)");
    assert!(
        line.contains("filesystem is ext4, xfs:mount=noatime: write RUN:filesystem=ext4 or RUN:f"),
        "{line}"
    );
    let line = wrong(&knobs, "sqlite (page_size=4096),sqlite (pages=1)");
    let has = "it has sqlite (page_size=4096), sqlite (page_size=65536)";
    assert!(line.contains("'pages'") && line.contains(has), "{line}");
}

#[test]
fn a_damaged_line_is_named_and_a_run_without_trials_is_refused() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    let file = Path::new(&b).join("trials.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"format\":", "\"format\"", 1)).unwrap();
    let output = bench.run(&["compare", &a, &b, "--full"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("line 1 of trials.jsonl unreadable, skipped"),
        "{text}"
    );
    assert!(text.contains("B is slower by"), "{text}");
    std::fs::write(&file, "").unwrap();
    let line = refusal(&bench.run(&["compare", &a, &b]));
    assert!(line.contains("no trial of it has finished"), "{line}");
}

#[test]
fn a_history_finds_the_run_in_which_a_rate_fell() {
    let bench = Bench::new();
    let run = made(&bench);
    for night in 0..8 {
        let factor = if night < 4 { 1.0 } else { 0.9 } + 0.002 * f64::from(night % 3);
        copied(&bench, &run, &format!("night-{night}"), |trial| {
            let own = if trial.spec.engine == "lmdb" {
                factor
            } else {
                1.0
            };
            set_rate(trial, own);
        });
    }
    let output = bench.run(&["history", "copies", "--charts", "always"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("It fell by 9.94 %"), "{text}");
    assert!(text.contains("No significant change in 8 runs."), "{text}");
    let json = bench.run(&["history", "copies", "--only", "lmdb", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 1);
    assert_eq!(series[0]["steps"][0]["at"], 4);
    let few = bench.run(&["history", run.to_str().unwrap()]);
    assert!(refusal(&few).contains("these runs have no valid trial"));
    let nothing = bench.run(&[
        "history",
        bench
            .write("empty/x", "")
            .parent()
            .unwrap()
            .to_str()
            .unwrap(),
    ]);
    assert!(refusal(&nothing).contains("neither a run folder"));
}

#[test]
fn a_bundle_says_elsewhere_what_the_folder_says_here() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    let packed = bench.run(&["bundle", &a, "--output", "a.tar.gz"]);
    assert_eq!(packed.status.code(), Some(0), "{}", stderr(&packed));
    assert_eq!(stdout(&packed), "bundle: a.tar.gz\n");
    let elsewhere = Bench::new();
    std::fs::rename(
        bench.path().join("a.tar.gz"),
        elsewhere.path().join("a.tar.gz"),
    )
    .unwrap();
    for format in ["terminal", "markdown", "csv"] {
        let here = stdout(&bench.run(&["report", &a, "--full", "--format", format]));
        let there = stdout(&elsewhere.run(&["report", "a.tar.gz", "--full", "--format", format]));
        assert_eq!(here, there, "{format}");
    }
    let compared = elsewhere.run(&["compare", "a.tar.gz:lmdb", &b]);
    assert!(
        stdout(&compared).contains("B is slower by"),
        "{}",
        stderr(&compared)
    );
    let both = stdout(&elsewhere.run(&["report", "a.tar.gz", &b]));
    assert!(
        both.contains("2 runs side by side") && both.contains("of the first"),
        "{both}"
    );
    let again = bench.run(&["bundle", &a, "--output", &format!("{b}/run.json")]);
    assert!(refusal(&again).contains("cannot write"));
    elsewhere.write("wrong.tar.gz", "no archive");
    let wrong = refusal(&elsewhere.run(&["report", "wrong.tar.gz"]));
    assert!(
        wrong.contains("neither a run folder nor a bundle"),
        "{wrong}"
    );
}

#[test]
fn what_is_made_from_a_bundle_names_the_bundle() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.9);
    for (run, bundle) in [(&a, "a.tar.gz"), (&b, "b.tar.gz")] {
        let packed = bench.run(&["bundle", run, "--output", bundle]);
        assert_eq!(packed.status.code(), Some(0), "{}", stderr(&packed));
    }
    let page = bench.run(&["report", "a.tar.gz", "--html", "page.html"]);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    let page = std::fs::read_to_string(bench.path().join("page.html")).unwrap();
    assert!(page.contains("trueput report a.tar.gz --html page.html"));
    assert!(!page.contains("/.tmp"), "a temporary folder is named");
    let json: serde_json::Value = serde_json::from_slice(
        &bench
            .run(&["report", "a.tar.gz", "--format", "json"])
            .stdout,
    )
    .unwrap();
    assert_eq!(json["folder"], "a.tar.gz");
    let side_by_side = stdout(&bench.run(&["report", "a.tar.gz", "b.tar.gz"]));
    assert!(side_by_side.contains("a.tar.gz: a on "), "{side_by_side}");
    // Two openings of one bundle are one run, whose contenders took turns.
    let turns = bench.run(&words("compare a.tar.gz --contenders lmdb,sqlite --json"));
    let turns: serde_json::Value = serde_json::from_slice(&turns.stdout).unwrap();
    assert_eq!(turns["comparisons"][0]["one_run"], true);
    assert_eq!(turns["comparisons"][0]["first"]["folder"], "a.tar.gz");
}

#[test]
fn trials_are_exported_in_every_format() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 1.0);
    let export = |format: &str| {
        let output = bench.run(&["export", &a, &b, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let csv = export("csv");
    assert_eq!(csv.lines().count(), 21);
    let of_run = "run,run_started_at,host,program_commit,trial,cell,repeat,started_at,";
    assert!(csv.starts_with(of_run), "{csv}");
    let runs: Vec<&str> = csv
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!((runs[1], runs[20]), ("a", "b"));
    let one = bench.run(&["report", &a, "--format", "csv"]);
    assert!(stdout(&one).starts_with(of_run), "{}", stdout(&one));
    let lines = export("jsonl");
    for line in lines.lines() {
        let trial: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(trial["host"].is_string() && trial["spec"]["engine"].is_string());
    }
    assert_eq!(lines.lines().count(), 20);
    let metrics = export("openmetrics");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    assert_eq!(metrics.matches("\ntrueput_elapsed_seconds{").count(), 20);
    assert_eq!(
        metrics
            .matches("# TYPE trueput_elapsed_seconds gauge")
            .count(),
        1
    );
}

#[test]
fn a_budget_ends_a_run_that_would_repeat_for_long() {
    let bench = Bench::new();
    let output = bench.run(&words(
        "run threen1 --engine lmdb --durability process --set finish=20 --repeat 1000 \
         --budget 500ms --full",
    ));
    assert!(stderr(&output).contains("repeats ended: the budget of time is spent"));
    let end = bench.run_folder().end().unwrap().unwrap();
    assert_eq!(
        end.stop_reason,
        Some(trueput_record::folder::SufficiencyReason::Budget)
    );
    assert!((1..1000).contains(&bench.trials().len()));
    let report = stdout(&output);
    assert!(report.contains("the budget of time is spent") && !report.contains("are missing"));
}
