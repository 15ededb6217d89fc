//! `trueput capacity` at the command line: the search, its answer, bad input, an interruption.

use crate::support::{
    ALL_WELL, Bench, assert_contains, assert_refused, children_of, is_installed, signal, stderr,
    stdout, unwrapped,
};
use nix::sys::signal::Signal::SIGINT;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use trueput_findings::Run;
use trueput_findings::capacity::{CapacityState, MIN_PROBES, capacities};
use trueput_record::RunFolder;

/// A contender that takes some thousand requests a second, for it flushes at each commit.
const SEARCH: &str = "capacity ycsb --engine lmdb --durability sync --workers 2 --set workload=a \
    --set recordcount=1000 --duration 1 --budget 10m";

#[test]
#[ignore = "slow: make test runs it"]
fn a_capacity_is_found_confirmed_and_reported_alike_everywhere() {
    let bench = Bench::new();
    // Requests pile up long before this limit: what fails is the rate.
    let line = format!("{SEARCH} --objective p99<250ms,errors<1% --precision 20%");
    let output = bench.run_expecting(ALL_WELL, &line);
    let run = Run::load(bench.run_folder().path()).unwrap();
    let found = &capacities(&run.manifest, &run.trials)[0];
    assert_eq!(run.manifest.trials.len(), run.trials.len());
    assert_eq!(found.state, CapacityState::Confirmed, "{}", stderr(&output));
    let (per_s, estimate) = (found.capacity_per_s.unwrap(), found.estimate.unwrap());
    assert!(
        estimate.is_within(0.2) && found.probes.len() >= MIN_PROBES,
        "{estimate:?}"
    );
    assert!(
        estimate.low_per_s <= per_s && per_s <= estimate.high_per_s,
        "{estimate:?}"
    );
    let held = found.nearest_held().unwrap().rate_per_s;
    assert!(held <= 1.5 * per_s && held >= per_s / 1.5, "{held} {per_s}");
    let answer = unwrapped(&stdout(&output));
    assert_contains(
        &answer,
        &[
            "lmdb keeps p99<250ms,errors<1% up to",
            "(90 % interval ",
            " disturbed).",
            "sync, ycsb, 2 workers",
        ],
    );
    let folder = bench.run_folder().path().display().to_string();
    let again = bench.run_expecting(0, &format!("report {folder}"));
    assert_contains(
        &unwrapped(&stdout(&again)),
        &["lmdb keeps p99<250ms,errors<1% up to"],
    );
    let page = std::fs::read_to_string(run.folder.join("report.html")).unwrap();
    assert_contains(&page, &["p99 response time by request rate", "lmdb keeps"]);
    let progress = stderr(&output);
    assert_contains(&progress, &["1 contender, at most ", "lmdb at "]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_objective_that_nothing_meets_is_answered_with_the_nearest_result() {
    let bench = Bench::new();
    let line = format!("{SEARCH} --objective p50<1us --json");
    let output = bench.run_expecting(ALL_WELL, &line);
    let text = stdout(&output);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["capacities"][0]["state"]["state"], "nothing-holds");
    let folder = bench.run_folder().path().display().to_string();
    let report = stdout(&bench.run_expecting(0, &format!("report {folder}")));
    assert_contains(
        &unwrapped(&report),
        &[
            "No contender keeps p50<1us at any rate",
            "lmdb keeps the objective at no rate. Nearest, at",
        ],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn one_server_serves_all_probes_of_a_search() {
    if !is_installed("postgresql") {
        return;
    }
    let bench = Bench::new();
    let line = "capacity ycsb --engine postgresql --durability process --workers 2 \
                --set recordcount=1000 --duration 1 --budget 10m --objective p99<250ms \
                --precision 50%";
    let mut child = bench.spawn_with(line, "");
    let program = child.id();
    let is_server = |arguments: &[&str]| {
        arguments[0].ends_with("postgres") && arguments.iter().any(|it| it.contains("/0001-"))
    };
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let probes = lines
        .map(Result::unwrap)
        .filter(|line| line.starts_with("postgresql at "));
    let servers: Vec<_> = probes.map(|_| children_of(program, is_server)).collect();
    assert_eq!(child.wait().unwrap().code(), Some(ALL_WELL));
    assert!(servers.len() >= MIN_PROBES, "{servers:?}");
    // The last one may have been told to end by now.
    let between = &servers[..servers.len() - 1];
    assert_eq!(between[0].len(), 1, "{servers:?}");
    assert!(between.iter().all(|one| *one == between[0]), "{servers:?}");
    let left = bench.run_folder().path().join("work");
    assert!(!left.exists(), "{}", left.display());
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_interrupted_search_goes_on_where_it_was() {
    let bench = Bench::new();
    let line = format!("{SEARCH} --objective p99<250ms --precision 50%");
    let mut command = bench.command(&line);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let probed = lines
        .by_ref()
        .map(Result::unwrap)
        .any(|line| line.starts_with("lmdb at "));
    assert!(probed);
    signal(child.id().cast_signed(), SIGINT);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let folder = bench.run_folder();
    let before = folder.trials().unwrap().trials;
    assert!(!folder.end().unwrap().unwrap().complete);
    let path = folder.path().display().to_string();
    for command in ["run", "tune", "choose"] {
        let refused = bench.run_expecting(2, &format!("{command} --resume {path}"));
        let right = concat!(
            "is a search for capacity; continue it with: ",
            env!("CARGO_BIN_EXE_trueput"),
            " capacity --resume"
        );
        assert_contains(&stderr(&refused), &[right]);
    }
    assert_eq!(folder.trials().unwrap().trials, before);
    bench.run_expecting(ALL_WELL, &format!("capacity --resume {path}"));
    let (folder, manifest) = RunFolder::open(folder.path()).unwrap();
    let after = folder.trials().unwrap().trials;
    assert_eq!(after[..before.len()], before);
    let found = capacities(&manifest, &after);
    assert_eq!(found[0].state, CapacityState::Confirmed);
}

#[test]
fn what_cannot_be_searched_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    bench.write(
        "rate.toml",
        "workload = \"micro\"\nengines = [\"lmdb\"]\nrate = 100\n",
    );
    bench.write(
        "bad.toml",
        "workload = \"micro\"\nengines = [\"lmdb\"]\nobjective = \"p95<5ms\"\n",
    );
    for (line, right) in [
        (
            "capacity ycsb --engine lmdb".to_owned(),
            "give one, as in --objective 'p99<5ms'",
        ),
        (
            format!("{SEARCH} --objective p95<5ms"),
            "it can limit mean, p50, p90, p99, p99.9, max",
        ),
        (format!("{SEARCH} --objective p99"), "write METRIC<LIMIT"),
        (
            SEARCH.replace("10m", "5s") + " --objective p99<5ms",
            "give 33s or more",
        ),
        (
            format!("{SEARCH} --objective p99<5ms --rate 100"),
            "leave out --rate",
        ),
        (
            format!("{SEARCH} --objective p99<5ms --rate 100,200"),
            "--rate 100,200: capacity finds the rate itself: leave out --rate",
        ),
        (
            format!("{SEARCH} --objective p99<5"),
            "'p99<5' has no unit; write p99<5ms or p99<5s",
        ),
        (
            format!("{SEARCH} --objective p99<5ms --precision 90%"),
            "write 1% to 50%",
        ),
        (
            "capacity rate.toml --objective p99<5ms".to_owned(),
            "'rate.toml' gives a rate, which capacity finds: leave it out by --rate 0",
        ),
        (
            "capacity rate.toml --objective p99<5ms --rate 0 --budget 1s".to_owned(),
            "is too short for",
        ),
        ("capacity bad.toml".to_owned(), "bad.toml:3"),
        (
            "capacity micro --engine lmdb --set test=fillseq --objective p99<5ms".to_owned(),
            "fillseq",
        ),
        (
            "capacity oltp-cheats --objective p99<5ms".to_owned(),
            "has steps",
        ),
    ] {
        assert_refused(&bench, &line, right);
    }
}

#[test]
fn options_that_a_search_has_no_use_for_are_refused() {
    let bench = Bench::new();
    for (option, right) in [
        ("--repeat 5", "leave --repeat out"),
        ("--split-by isolation", "leave --split-by out"),
        ("--include-assertions", "leave --include-assertions out"),
        (
            "--time-slice 10ms",
            "name another contender or remove time_slice",
        ),
    ] {
        let line = format!("{SEARCH} --objective p99<5ms {option}");
        assert_refused(&bench, &line, right);
    }
}
