//! Plans, folders and places that cannot be used: one clear line, exit code 2.

use crate::bad_input::{Case, assert_refused, with_a_run};
use crate::support::{assert_contains, make_fifo, refusal, stdout};

#[test]
fn a_plan_s_mistake_is_named_with_file_and_line() {
    let bench = with_a_run();
    let plan = |name: &str, line: &str| {
        let text = format!("workload = \"threen1\"\nengines = [\"lmdb\"]\n{line}\n");
        bench.write(&format!("plans/{name}.toml"), &text);
    };
    plan("key", "repeats = 3");
    plan("engine", "knobs.lmbd.map_size = 3");
    plan("knob", "knobs.lmdb.map_sise = 3");
    plan("range", "settings.start = 10\nsettings.finish = 5");
    plan("toml", "repeat = = 3");
    let key = "plans/key.toml:3: unknown key 'repeats' (did you mean 'repeat'?); keys are name,";
    let cases: &[Case<'_>] = &[
        ("run plans/key.toml", &[key]),
        ("plan check plans/key.toml", &[key]),
        (
            "run plans/engine.toml",
            &["plans/engine.toml:3: ", "did you mean 'lmdb'"],
        ),
        (
            "run plans/knob.toml",
            &["plans/knob.toml:3: ", "did you mean 'map_size'"],
        ),
        (
            "run plans/range.toml",
            &["plans/range.toml:3: ", "reversed"],
        ),
        ("run plans/toml.toml", &["plans/toml.toml:3: "]),
        ("run plans/none.toml", &["plans/none.toml: "]),
    ];
    assert_refused(&bench, "", cases);
}

#[test]
fn a_plan_that_is_endless_or_no_regular_file_is_refused() {
    let bench = with_a_run();
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\"]\nsettings.finish = 10\n";
    bench.write(
        "plans/long.toml",
        &format!("{plan}# {}", "x".repeat(4 << 20)),
    );
    bench.write("plans/plain.toml", plan);
    let (fifo, link) = ("plans/fifo.toml", "plans/link.toml");
    std::os::unix::fs::symlink("plain.toml", bench.path().join(link)).unwrap();
    std::fs::create_dir(bench.path().join("plans/folder.toml")).unwrap();
    let long = "plans/long.toml: a plan may have at most 4 MiB";
    let cases: &[Case<'_>] = &[
        ("run plans/long.toml", &[long]),
        ("plan check plans/long.toml", &[long]),
        ("plan check plans/folder.toml", &["it is a folder"]),
    ];
    assert_refused(&bench, "", cases);
    make_fifo(&bench.path().join(fifo));
    for command in ["run", "plan check"] {
        let said = bench.refusal_of(&format!("{command} {fifo}"));
        assert_contains(&said, &["plans/fifo.toml: it is a FIFO"]);
    }
    // The control: a link of the user's own.
    bench.run_expecting(0, &format!("plan check {link}"));
}

#[test]
fn folders_that_cannot_be_used_are_refused() {
    let bench = with_a_run();
    bench.write("file", "");
    bench.write("theirs/letter.txt", "do not delete");
    bench.write("newer/run.json", "{\"format\": 999}");
    bench.write("empty/readme", "");
    let cases: &[Case<'_>] = &[
        ("--work theirs", &["work folder", "theirs"]),
        ("--work file", &["work folder", "file"]),
        ("--work /proc/trueput", &["work folder", "/proc/trueput"]),
        ("--results file", &["results folder", "file"]),
        (
            "--results /proc/trueput",
            &[
                "results folder /proc/trueput: no folder can be made in /proc: ",
                "name another with --results",
            ],
        ),
    ];
    assert_refused(&bench, "run threen1 --engine lmdb --set finish=10", cases);
    let cases: &[Case<'_>] = &[
        ("report newer", &["format 999 is newer"]),
        ("run --resume newer", &["format 999 is newer"]),
        ("report empty", &["not a run folder: it has no run.json\n"]),
        (
            "report results",
            &["results: not a run folder: it has no run.json; the latest run in it is results/"],
        ),
        (
            "audit --engine lmdb --results /proc/trueput",
            &[
                "the folder /proc/trueput cannot be made: ",
                "; name another",
            ],
        ),
        ("run --resume nowhere", &["not a run folder"]),
        (
            "history nowhere",
            &["nowhere: no such folder; give a folder of runs, such as results"],
        ),
        ("check lmdb --work file", &["work folder file"]),
    ];
    assert_refused(&bench, "", cases);
}

#[test]
fn a_path_within_a_run_is_answered_with_the_run() {
    let bench = with_a_run();
    let run = bench.run_path();
    for within in ["trials", "histograms", "run.json", "trials.jsonl"] {
        for command in ["report", "compare", "run --resume"] {
            let said = bench.refusal_of(&format!("{command} {run}/{within}"));
            let is_file = within.contains('.');
            if !is_file || command != "run --resume" {
                assert_contains(&said, &[&format!("; it is in the run {run}: give that\n")]);
            }
        }
    }
}

#[test]
fn a_run_folder_without_its_file_of_trials_is_a_run_without_trials_yet() {
    let bench = with_a_run();
    let run = bench.run_path();
    let said = |file: &dyn Fn()| {
        file();
        let report = stdout(&bench.run_expecting(0, &format!("report {run}")));
        (report, bench.refusal_of(&format!("compare {run} {run}")))
    };
    let trials = bench.run_folder().path().join("trials.jsonl");
    let empty = said(&|| std::fs::write(&trials, "").unwrap());
    let absent = said(&|| std::fs::remove_file(&trials).unwrap());
    assert_contains(&empty.0, &["No trial of this run has finished"]);
    assert_eq!(absent, empty);
}

#[test]
fn a_bad_problem_is_named_with_its_line() {
    let bench = with_a_run();
    let before = bench.snapshot();
    for (options, input, reason) in [
        ("", "1 10\n10 1\n", "line 2"),
        ("", "0 10\n", "start is 0"),
        ("", "1 ten\n", "'ten' is not a whole number"),
        ("", "1 10 0\n", "workers is 0"),
        ("", "7\n", "has 1 number"),
        ("", "", "standard input has no problem"),
        ("--resume", "1 10\n", "nothing to resume"),
        ("--engine lmbd", "1 10\n", "did you mean 'lmdb'"),
        ("--commit per-stor", "1 10\n", "did you mean 'per-store'"),
    ] {
        let line = refusal(&bench.run_with(&format!("threen1 {options}"), input));
        assert_contains(&line, &[reason]);
    }
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn a_place_that_this_machine_has_not_is_refused_by_run_and_by_plan_check() {
    let bench = with_a_run();
    let cases: &[Case<'_>] = &[
        ("--cpus 4000", &["CPU 4000", "this machine has 0"]),
        ("--cpus a", &["--cpus", "'a' is no list of processors"]),
        ("--numa bind:900", &["'bind:900'", "node"]),
        ("--numa bind", &["--numa", "'bind' is no NUMA policy"]),
        ("--allocator jemaloc", &["did you mean 'jemalloc'"]),
    ];
    for command in ["run", "plan check"] {
        assert_refused(&bench, &format!("{command} threen1 --engine lmdb"), cases);
    }
}

#[test]
fn a_place_that_a_plan_names_is_refused_with_its_line() {
    let bench = with_a_run();
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\"]\nnuma = [\"bind:900\"]\n";
    bench.write("numa.toml", plan);
    assert_refused(
        &bench,
        "run numa.toml",
        &[("", &["numa.toml:3", "bind:900"])],
    );
}

#[test]
fn an_image_that_no_file_system_is_made_in_is_refused() {
    let words: &[&str] = &["image is 1 GiB", "filesystem=ext4", "remove image"];
    let systems = ["", "--filesystem here", "--filesystem ext4:size=512MiB"];
    let cases = systems.map(|system| (system, words));
    assert_refused(
        &with_a_run(),
        "run threen1 --engine lmdb --image 1GiB",
        &cases,
    );
}
