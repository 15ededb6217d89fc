//! Caches: what engines report of theirs, with and without priming, in the record and in the
//! ablation; and this program's own, of conformance.

use crate::support::{
    ALL_WELL, Bench, CommandLine, assert_contains, ended_well, expect_code, is_installed, stderr,
    stdout, unwrapped,
};
use std::process::Output;
use trueput_findings::Run;
use trueput_record::accounting::CacheUse;
use trueput_record::{Durability, TrialRecord, Value};
use trueput_runner::matrix::fit_caches;

/// Runs a small tpcc on an engine whose cache is empty at first, then with all tables primed; both
/// trials, and the run's report.
fn without_and_with_priming(engine: &str, more: &str) -> (Vec<TrialRecord>, String) {
    with_step(engine, &format!("--set cardinality=tenth {more}"), "all")
}

/// The same with the size that `more` says, and with these tables primed.
fn with_step(engine: &str, more: &str, tables: &str) -> (Vec<TrialRecord>, String) {
    let bench = Bench::new();
    let work = format!(
        "ledger tpcc --engine {engine} --workers 1 --set transactions=100 --repeat 1 \
         --no-hardware-limits --start cold {more} --step"
    );
    let step = format!("primed cache: prime={tables}");
    let output = bench.run_expecting(ALL_WELL, &[&work.words()[..], &[&step]].concat());
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert!(ended_well(trial), "{:?}", trial.outcome);
    }
    (trials, stdout(&output))
}

fn cache(trial: &TrialRecord) -> CacheUse {
    trial.measurement.as_ref().unwrap().cache.unwrap()
}

/// Asserts that the cache was empty at first, and that priming raised its hits.
fn primed_is_warmer(engine: &str, more: &str) {
    if !is_installed(engine) {
        return;
    }
    let (trials, report) = without_and_with_priming(engine, more);
    let (cold, primed) = (cache(&trials[0]), cache(&trials[1]));
    assert!(cold.misses > 100 && cold.hits > 100, "{engine}: {cold:?}");
    let ratios = cold.hit_ratio().zip(primed.hit_ratio());
    assert!(
        ratios.is_some_and(|(cold, primed)| primed > cold),
        "{engine}: {cold:?}, primed {primed:?}"
    );
    assert!(primed.misses < cold.misses / 2, "{engine}: {primed:?}");
    // A debug build shows no figures.
    assert!(
        cfg!(debug_assertions) || report.contains("cache hits"),
        "{report}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn postgresqls_buffers_answer_more_when_primed() {
    primed_is_warmer("postgresql", "--durability process");
}

/// A table that is read in sequence and is larger than a quarter of the buffers stays in none of
/// them.
#[test]
#[ignore = "slow: make test runs it"]
fn postgresqls_buffers_keep_primed_tables_that_are_larger_than_a_quarter_of_them() {
    if !is_installed("postgresql") {
        return;
    }
    let (trials, _) = with_step(
        "postgresql",
        "--durability process --set cardinality=tenth --knob postgresql.shared_buffers=10MiB",
        "customer+stock",
    );
    let (cold, primed) = (cache(&trials[0]), cache(&trials[1]));
    assert!(
        primed.hit_ratio() > cold.hit_ratio() && primed.misses < cold.misses / 3 * 2,
        "{cold:?}, primed {primed:?}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn innodbs_buffer_pool_answers_more_when_primed() {
    primed_is_warmer("mariadb", "--durability process");
}

#[test]
#[ignore = "slow: make test runs it"]
fn berkeley_dbs_cache_answers_more_when_primed() {
    primed_is_warmer("berkeleydb", "--durability async");
}

#[test]
#[ignore = "slow: make test runs it"]
fn wiredtigers_cache_answers_more_when_primed() {
    primed_is_warmer("wiredtiger", "--durability process");
}

#[test]
#[ignore = "slow: make test runs it"]
fn sqlites_page_cache_answers_more_when_primed() {
    primed_is_warmer(
        "sqlite",
        "--durability process --knob sqlite.cache_size=256MiB",
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn rocksdbs_block_cache_is_reported_only_where_its_statistics_are_on() {
    if !is_installed("rocksdb") {
        return;
    }
    let (trials, report) = without_and_with_priming("rocksdb", "--durability process");
    assert!(trials[0].measurement.as_ref().unwrap().cache.is_none());
    assert!(!report.contains("cache hits"), "{report}");
    primed_is_warmer(
        "rocksdb",
        "--durability process --knob rocksdb.statistics=true",
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn priming_a_cache_that_is_too_small_leaves_misses() {
    if !is_installed("berkeleydb") {
        return;
    }
    let primed = |more: &str| {
        let level = format!("--durability async {more}");
        cache(&without_and_with_priming("berkeleydb", &level).0[1])
    };
    let (small, ample) = (primed("--knob berkeleydb.cache_size=1MiB"), primed(""));
    assert!(small.misses > 100, "{small:?}");
    assert!(
        small.hit_ratio() < ample.hit_ratio(),
        "{small:?}, {ample:?}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_that_maps_its_file_tells_of_no_cache() {
    let (trials, report) = without_and_with_priming("lmdb", "--durability process");
    for trial in &trials {
        assert!(trial.measurement.as_ref().unwrap().cache.is_none());
    }
    assert!(!report.contains("cache hits"), "{report}");
}

/// A run of a moment, with a cache of its own for this user.
fn run_with_cache(bench: &Bench, more: &str) -> (TrialRecord, String) {
    let results = bench.path().join("results");
    if results.exists() {
        std::fs::remove_dir_all(&results).unwrap();
    }
    let small = "run threen1 --engine lmdb --durability process --set finish=100 --workers 1";
    let output = with_own_cache(bench, &format!("{small} {more}"));
    let output = expect_code(ALL_WELL, output);
    (bench.trials().remove(0), stderr(&output))
}

fn with_own_cache(bench: &Bench, line: &str) -> Output {
    bench.run_with_variable(("XDG_CACHE_HOME", &bench.path().join("cache")), line)
}

#[test]
#[ignore = "slow: make test runs it"]
fn conformance_that_was_passed_is_remembered_and_checked_again_on_demand() {
    let bench = Bench::new();
    let conformance = |trial: &TrialRecord| trial.conformance.clone().unwrap();
    let (first, notes) = run_with_cache(&bench, "");
    let first = conformance(&first);
    assert!(!first.cached && first.checks > 20, "{first:?}");
    assert_contains(&notes, &["conformance checks passed"]);
    let (second, notes) = run_with_cache(&bench, "");
    let second = conformance(&second);
    assert!(second.cached, "{notes}");
    assert_eq!(
        (&second.passed_at, second.checks),
        (&first.passed_at, first.checks)
    );
    let day = &first.passed_at[..10];
    let words = format!("conformance passed on {day} with this program and library");
    assert_contains(&notes, &[&words, "--check-again"]);
    let (again, notes) = run_with_cache(&bench, "--check-again");
    let again = conformance(&again);
    assert!(
        !again.cached && again.passed_at > first.passed_at,
        "{notes}"
    );
    let (other, _) = run_with_cache(&bench, "--knob lmdb.writemap=on");
    assert!(!conformance(&other).cached, "another knob");
    // Of either configuration: the conformance suite and the anomaly suite.
    for (line, report) in [
        ("clean", "4 cached conformance results"),
        ("clean --yes", "removed 4 cached conformance results"),
    ] {
        assert_contains(&stdout(&with_own_cache(&bench, line)), &[report]);
    }
    assert!(!conformance(&run_with_cache(&bench, "").0).cached);
}

/// The value of a knob in every trial of a plan, and what the plan leaves out.
fn knobs_of(bench: &Bench, plan: &str, engine: &str, knob: &str) -> Vec<String> {
    let matrix = bench.json_of(&format!("plan check {plan} --json"));
    let trials = matrix["trials"].as_array().unwrap().iter();
    let of_engine = trials.filter(|trial| trial["engine"] == engine);
    of_engine
        .map(|trial| trial["knobs"][knob].to_string())
        .collect()
}

#[test]
fn one_option_gives_every_engine_the_same_cache_by_its_own_knob() {
    let bench = Bench::new();
    for (sizes, expected) in [("48MiB", &[48][..]), ("48MiB,96MiB", &[48, 96])] {
        let plan = format!("micro --engine sqlite,redb,fjall --cache {sizes}");
        let expected: Vec<_> = expected.iter().map(|mib| (mib << 20).to_string()).collect();
        for engine in ["sqlite", "redb", "fjall"] {
            let sizes = knobs_of(&bench, &plan, engine, "cache_size");
            assert_eq!(sizes, expected, "{engine}");
        }
    }
    let engines = "micro --engine sqlite,redb,fjall";
    let own = knobs_of(&bench, engines, "redb", "cache_size").remove(0);
    let both = format!("{engines} --cache preset,48MiB");
    let expected = [own, (48 << 20).to_string()];
    assert_eq!(knobs_of(&bench, &both, "redb", "cache_size"), expected);
    // A plan does the same, and leaves out engines without a cache if it leaves out missing ones.
    let plan = "name = \"x\"\nworkload = \"micro\"\nengines = [\"null\", \"lmdb\", \"redb\"]\n\
        durability = [\"sync\"]\nunsupported = \"skip\"\ncache = \"48MiB\"\n";
    bench.write("plan.toml", plan);
    let redb = knobs_of(&bench, "plan.toml", "redb", "cache_size");
    assert_eq!(redb, [(48 << 20).to_string()]);
    let text = unwrapped(&bench.stdout_of("plan check plan.toml"));
    assert_contains(&text, &["lmdb maps its file"]);
    assert!(knobs_of(&bench, "plan.toml", "lmdb", "map_size").is_empty());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cache_of_a_plan_or_of_the_command_line_stands_among_what_all_trials_share() {
    let plan = "name = \"x\"\nworkload = \"threen1\"\nengines = [\"redb\"]\n\
        durability = [\"sync\"]\nworkers = 1\nrepeat = 1\n";
    for (in_plan, option) in [("cache = \"256MiB\"\n", ""), ("", "--cache 256MiB")] {
        let bench = Bench::new();
        let plan = format!("{plan}{in_plan}[settings]\nfinish = 100\n");
        bench.write("plan.toml", &plan);
        let output = bench.run_expecting(ALL_WELL, &format!("run plan.toml {option}"));
        assert_contains(&stdout(&output), &["With finish=100, cache=256MiB."]);
    }
    // Not if a step has another.
    let bench = Bench::new();
    let ablation = "ledger threen1 --engine redb --durability sync --workers 1 --repeat 1 \
                    --set finish=100 --no-hardware-limits --cache 48MiB --step";
    let step = "larger cache: redb.cache_size=96MiB";
    bench.run_expecting(ALL_WELL, &[&ablation.words()[..], &[step]].concat());
    let run = Run::load(bench.run_folder().path()).unwrap();
    assert_eq!((run.trials.len(), run.manifest.cache_bytes), (2, None));
}

#[test]
fn a_default_cache_above_the_memory_limit_becomes_half_of_the_limit() {
    let trial = |engine: &str, memory_bytes: Option<u64>| {
        let mut spec = trueput_record::testing::spec(0, engine, Durability::Sync, 1);
        spec.knobs.clear();
        spec.conditions.memory_bytes = memory_bytes;
        spec
    };
    let limit = 64 << 20;
    let mut given = trial("redb", Some(limit));
    given
        .knobs
        .insert("cache_size".to_owned(), (1_i64 << 30).into());
    let mut trials = [
        trial("redb", Some(limit)),
        trial("redb", None),
        given.clone(),
        trial("lmdb", Some(limit)),
        trial("sqlite", Some(limit)),
    ];
    let before = trials.clone();
    let fitted = fit_caches(&mut trials, &trueput::registry());
    // redb's cache has 1 GiB by default; sqlite's is small, lmdb has none, and one was given.
    let [redb] = &fitted[..] else {
        panic!("{fitted:?}");
    };
    assert_eq!((redb.contender, redb.bytes), (0, limit / 2));
    assert_eq!(
        (redb.knob.as_str(), redb.default_bytes),
        ("redb.cache_size", 1 << 30)
    );
    assert_eq!(trials[0].knobs["cache_size"], Value::from(limit / 2));
    assert_eq!(trials[1..], before[1..]);
}
