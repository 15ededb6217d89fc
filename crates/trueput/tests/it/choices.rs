//! `trueput choose` at the command line: the recommendation, with and without tuning, bad input, an
//! interruption.

use crate::support::{ALL_WELL, Bench, assert_contains, signal, stderr, stdout, unwrapped};
use nix::sys::signal::Signal::SIGINT;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use trueput_findings::Run;
use trueput_findings::choice::{Candidate, choice};
use trueput_record::search::{SearchEnd, TrialPurpose};
use trueput_report::TUNED_PLAN;

/// Requests pile up long before this limit: what fails is the rate.
const SEARCH: &str = "choose ycsb --engine lmdb,sqlite --durability sync --workers 2 \
    --set workload=a --set recordcount=1000 --objective p99<250ms --precision 50% \
    --budget 20m";

#[test]
#[ignore = "slow: make test runs it"]
fn the_better_of_two_contenders_is_recommended_even_after_an_interruption() {
    let bench = Bench::new();
    let line = format!("{SEARCH} --duration 0.5 --no-tuning --rate 50");
    let mut command = bench.command(&line);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut of_search = lines.by_ref().map(Result::unwrap);
    assert!(of_search.any(|line| line.starts_with("lmdb at ")));
    signal(child.id().cast_signed(), SIGINT);
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert_contains(
        &rest.join("\n"),
        &[concat!(
            "continue it with: ",
            env!("CARGO_BIN_EXE_trueput"),
            " choose --resume"
        )],
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let before = bench.run_folder().trials().unwrap().trials;
    let path = bench.run_folder().path().display().to_string();
    let refused = bench.run_expecting(2, &format!("run --resume {path}"));
    let right = concat!(
        "is a choice; continue it with: ",
        env!("CARGO_BIN_EXE_trueput"),
        " choose --resume"
    );
    assert_contains(&stderr(&refused), &[right]);
    let output = bench.run_expecting(ALL_WELL, &format!("choose --resume {path}"));
    let run = Run::load(bench.run_folder().path()).unwrap();
    assert_eq!(run.trials[..before.len()], before);
    let found = choice(&run.manifest, &run.trials).unwrap();
    let run_off = found.run_off.unwrap();
    assert_eq!(run_off.pairs, 5, "{}", stderr(&output));
    assert_eq!(found.run_off_rate_per_s, Some(run_off.rate_per_s));
    for candidate in found.highest_two().unwrap() {
        let probes = &candidate.best().probes;
        assert_eq!(probes[0].rate_per_s, 50.0, "the needed rate comes first");
    }
    let answer = unwrapped(&stdout(&output));
    assert_contains(
        &answer,
        &[
            "sync, ycsb, 2 workers: choice at p99<250ms",
            "Knobs were not tuned (--no-tuning).",
            "Not tried",
            "galera and odbc: only if the plan names them",
        ],
    );
    let page = std::fs::read_to_string(run.folder.join("report.html")).unwrap();
    assert_contains(&page, &["p99 response time by request rate"]);
    assert_recommends(found.first(), &answer, &page);
    if let Some(first) = found.first() {
        let name = first.default.spec.contender();
        let command = format!(" ./tp capacity ycsb --engine {name} ");
        assert_contains(&reported_by_another_name(&bench, &path), &[&command]);
    }
}

/// The answer of a run by the program under another name.
fn reported_by_another_name(bench: &Bench, run: &str) -> String {
    let program = bench.command("report").get_program().to_owned();
    std::os::unix::fs::symlink(program, bench.path().join("tp")).unwrap();
    let mut called = Command::new("./tp");
    let called = called.current_dir(bench.path()).args(["report", run]);
    unwrapped(&stdout(&called.output().unwrap()))
}

/// Asserts what an answer says of the contender that it recommends. Both wait for the same flushes:
/// on a busy machine, nothing may tell which takes more.
fn assert_recommends(first: Option<&Candidate>, answer: &str, page: &str) {
    let Some(first) = first else {
        let words = "p99<250ms, in no order: ";
        return assert_contains(answer, &[words, "Both reach the 50/s that you need."]);
    };
    let name = first.default.spec.contender();
    let command = format!(
        "{} capacity ycsb --engine {name} --durability sync --workers 2",
        env!("CARGO_BIN_EXE_trueput")
    );
    assert_contains(
        answer,
        &[
            &format!("{name} with its default knobs: p99<250ms up to"),
            "times the 50/s that you need",
            " kept the objective in ",
            "How to verify it",
            &command,
        ],
    );
    assert_contains(page, &["How to verify it"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_capacity_is_found_with_the_default_and_with_the_knobs_that_a_search_finds() {
    let bench = Bench::new();
    let line = "tune ycsb --engine sqlite --durability sync --workers 1 --set workload=a \
        --set recordcount=200 --objective capacity@p99<250ms --search cache_size,journal_mode \
        --duration 0.2 --budget 5m --json";
    let output = bench.run_expecting(ALL_WELL, line);
    let text = stdout(&output);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let candidate = &last["choice"]["candidates"][0];
    let configurations = candidate["tuning"]["configurations"].as_array().unwrap();
    assert!(configurations.len() > 2, "{candidate}");
    for changes in configurations.iter().map(|it| it["changes"].as_object()) {
        let mut names = changes.unwrap().keys();
        assert!(names.all(|name| ["cache_size", "journal_mode"].contains(&name.as_str())));
    }
    let run = Run::load(bench.run_folder().path()).unwrap();
    let purposes: Vec<_> = run.trials.iter().filter_map(|it| it.spec.role).collect();
    let has = |purpose| purposes.iter().any(|role| role.purpose == purpose);
    assert!(has(TrialPurpose::Probe) && has(TrialPurpose::Tuning));
    let is_tuned = candidate["tuned"].is_object();
    let tuned = |role: &&trueput_record::search::TrialRole| {
        role.configuration.is_some() && role.purpose == TrialPurpose::Probe
    };
    assert_eq!(
        is_tuned,
        purposes.iter().any(|role| tuned(&role)),
        "{candidate}"
    );
    let folder = bench.run_folder().path().display().to_string();
    let report = unwrapped(&stdout(
        &bench.run_expecting(0, &format!("report {folder}")),
    ));
    let is_time_up = run.end.as_ref().unwrap().search_end == Some(SearchEnd::TimeUp);
    let words: &[_] = match (is_tuned, is_time_up) {
        (true, _) => &["tuned in", "found knobs with", "found better knobs"],
        (false, true) => &["found no knobs that were better", "the time was up after"],
        (false, false) => &["found no knobs that were better", "the search ended after"],
    };
    assert!(words.iter().any(|it| report.contains(it)), "{report}");
    // With one contender, the answer has its search for knobs.
    assert_contains(&report, &["requests/s", "sqlite: the search for knobs"]);
    let found = choice(&run.manifest, &run.trials).unwrap();
    let is_better = found.first().is_some_and(Candidate::is_tuned_better);
    let plan = run.folder.join(TUNED_PLAN);
    assert_eq!(plan.is_file(), is_better, "{report}");
    assert_eq!(report.contains("Its plan: "), is_better, "{report}");
    if is_better {
        let check = format!("plan check {}", plan.display());
        let checked = stdout(&bench.run_expecting(0, &check));
        assert_contains(&checked, &["10 trials"]);
    }
}

#[test]
fn what_cannot_be_chosen_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    for (line, right) in [
        (
            "choose ycsb --engine lmdb --durability sync".to_owned(),
            "give one, as in --objective 'p99<5ms'",
        ),
        (
            SEARCH.replace("--durability sync", "--durability sync,process"),
            "expands to several comparisons; choose takes one: give one value of durability \
             (sync, process)",
        ),
        (
            format!("{SEARCH} --rate 100 --rate 200"),
            "gives several rates",
        ),
        (
            format!("{SEARCH} --rate 100,200"),
            "trueput: --rate 100,200: choose takes the one rate that you need, in digits, as in",
        ),
        (format!("{SEARCH} --rate 50,60"), "gives several rates"),
        (
            SEARCH.replace("20m", "20s"),
            "or more, fewer contenders, a shorter --duration, or --no-tuning",
        ),
        (
            "choose oltp-cheats --objective p99<5ms".to_owned(),
            "has steps",
        ),
    ] {
        let message = bench.refusal_of(&line);
        assert_contains(&message, &[right]);
        assert!(!bench.path().join("results").exists(), "{line}");
    }
}
