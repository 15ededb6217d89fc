//! Caches: what engines tell of theirs, with and without priming, in the record and in the
//! ablation; and this program's own, of conformance.

use crate::support::{ALL_WELL, Bench, ended_well, stderr, stdout};
use trueput_record::TrialRecord;
use trueput_record::accounting::CacheUse;

fn has(engine: &str) -> bool {
    let drivers = trueput_drivers::registry().iter();
    let known = drivers.copied().find(|known| known.info().name == engine);
    let found = known.is_some_and(|known| known.build().is_ok());
    if !found {
        eprintln!("{engine} is not there: skipped");
    }
    found
}

/// Runs a small tpcc on an engine whose cache is empty at first, then with all tables primed; both
/// trials, and the run's report.
fn without_and_with_priming(engine: &str, more: &[&str]) -> (Bench, Vec<TrialRecord>, String) {
    let small = ["--set", "cardinality=tenth"];
    let primed = ["--step", "primed cache: prime=all"];
    with_step(engine, &[&small, &primed, more].concat())
}

/// The same with the tables and the step that `more` asks for.
fn with_step(engine: &str, more: &[&str]) -> (Bench, Vec<TrialRecord>, String) {
    let bench = Bench::new();
    let work = ["ledger", "tpcc", "--engine", engine, "--workers", "1"];
    let once = ["--repeat", "1", "--no-hardware-limits", "--start", "cold"];
    let count = ["--set", "transactions=100"];
    let arguments = [&work[..], &count, &once, more].concat();
    let output = bench.run(&arguments);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert!(ended_well(trial), "{:?}", trial.outcome);
    }
    let report = stdout(&output);
    (bench, trials, report)
}

fn cache(trial: &TrialRecord) -> CacheUse {
    trial.measurement.as_ref().unwrap().cache.unwrap()
}

/// That the cache was empty at first, and that priming had it answer more.
fn primed_is_warmer(engine: &str, more: &[&str]) {
    if !has(engine) {
        return;
    }
    let (_bench, trials, report) = without_and_with_priming(engine, more);
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
fn postgresqls_buffers_answer_more_when_primed() {
    primed_is_warmer("postgresql", &["--durability", "process"]);
}

/// A table that is read in sequence and is larger than a quarter of the buffers stays in none of
/// them.
#[test]
fn postgresqls_buffers_keep_primed_tables_that_are_larger_than_a_quarter_of_them() {
    if !has("postgresql") {
        return;
    }
    let level = ["--durability", "process", "--set", "cardinality=full"];
    let buffers = ["--knob", "postgresql.shared_buffers=96MiB"];
    let step = ["--step", "primed cache: prime=customer+stock"];
    let (_bench, trials, _) = with_step("postgresql", &[&level[..], &buffers, &step].concat());
    let (cold, primed) = (cache(&trials[0]), cache(&trials[1]));
    assert!(
        primed.hit_ratio() > cold.hit_ratio() && primed.misses < cold.misses / 3 * 2,
        "{cold:?}, primed {primed:?}"
    );
}

#[test]
fn innodbs_buffer_pool_answers_more_when_primed() {
    primed_is_warmer("mariadb", &["--durability", "process"]);
}

#[test]
fn berkeley_dbs_cache_answers_more_when_primed() {
    primed_is_warmer("berkeleydb", &["--durability", "async"]);
}

#[test]
fn wiredtigers_cache_answers_more_when_primed() {
    primed_is_warmer("wiredtiger", &["--durability", "process"]);
}

#[test]
fn sqlites_page_cache_answers_more_when_primed() {
    let large = ["--knob", "sqlite.cache_size=256MiB"];
    primed_is_warmer(
        "sqlite",
        &[&["--durability", "process"], &large[..]].concat(),
    );
}

#[test]
fn rocksdbs_block_cache_tells_where_its_statistics_are_on_and_nothing_where_not() {
    if !has("rocksdb") {
        return;
    }
    let level = ["--durability", "async"];
    let (_bench, trials, report) = without_and_with_priming("rocksdb", &level);
    assert!(trials[0].measurement.as_ref().unwrap().cache.is_none());
    assert!(!report.contains("cache hits"), "{report}");
    let statistics = ["--knob", "rocksdb.statistics=true"];
    primed_is_warmer("rocksdb", &[&level, &statistics[..]].concat());
}

#[test]
fn priming_a_cache_that_is_too_small_leaves_misses() {
    if !has("berkeleydb") {
        return;
    }
    let level = ["--durability", "async"];
    let small = ["--knob", "berkeleydb.cache_size=1MiB"];
    let primed = |more: &[&str]| {
        let (_bench, trials, _) = without_and_with_priming("berkeleydb", more);
        cache(&trials[1])
    };
    let (small, ample) = (primed(&[level, small].concat()), primed(&level));
    assert!(small.misses > 100, "{small:?}");
    assert!(
        small.hit_ratio() < ample.hit_ratio(),
        "{small:?}, {ample:?}"
    );
}

#[test]
fn an_engine_that_maps_its_file_tells_of_no_cache() {
    let (_bench, trials, report) = without_and_with_priming("lmdb", &["--durability", "process"]);
    for trial in &trials {
        assert!(trial.measurement.as_ref().unwrap().cache.is_none());
    }
    assert!(!report.contains("cache hits"), "{report}");
}

/// A run of a moment, with a cache of its own for this user.
fn run_with_cache(bench: &Bench, more: &[&str]) -> (TrialRecord, String) {
    let results = bench.path().join("results");
    if results.exists() {
        std::fs::remove_dir_all(&results).unwrap();
    }
    let mut arguments = vec![
        "run",
        "threen1",
        "--engine",
        "lmdb",
        "--durability",
        "process",
    ];
    arguments.extend(["--set", "finish=100", "--workers", "1"]);
    arguments.extend(more);
    let mut command = bench.command(&arguments);
    let output = command
        .env("XDG_CACHE_HOME", bench.path().join("cache"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    (bench.trials().remove(0), stderr(&output))
}

#[test]
fn conformance_that_was_passed_is_remembered_and_checked_again_on_demand() {
    let bench = Bench::new();
    let conformance = |trial: &TrialRecord| trial.conformance.clone().unwrap();
    let (first, told) = run_with_cache(&bench, &[]);
    let first = conformance(&first);
    assert!(!first.cached && first.checks > 20, "{first:?}");
    assert!(told.contains("conformance checks passed"), "{told}");
    let (second, told) = run_with_cache(&bench, &[]);
    let second = conformance(&second);
    assert!(second.cached, "{told}");
    assert_eq!(
        (&second.passed_at, second.checks),
        (&first.passed_at, first.checks)
    );
    let day = &first.passed_at[..10];
    let words = format!("conformance passed on {day} with this program and library");
    assert!(
        told.contains(&words) && told.contains("--check-again"),
        "{told}"
    );
    let (again, told) = run_with_cache(&bench, &["--check-again"]);
    let again = conformance(&again);
    assert!(!again.cached && again.passed_at > first.passed_at, "{told}");
    let (other, _) = run_with_cache(&bench, &["--knob", "lmdb.writemap=on"]);
    assert!(!conformance(&other).cached, "another knob");
    let clean = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.env("XDG_CACHE_HOME", bench.path().join("cache"));
        stdout(&command.output().unwrap())
    };
    let told = clean(&["clean"]);
    assert!(told.contains("2 cached conformance results"), "{told}");
    assert!(clean(&["clean", "--yes"]).contains("removed 2 cached conformance results"));
    assert!(!conformance(&run_with_cache(&bench, &[]).0).cached);
}

/// The value of a knob in every trial of a plan, and what the plan leaves out.
fn knobs_of(bench: &Bench, arguments: &[&str], engine: &str, knob: &str) -> Vec<String> {
    let output = bench.run(&[&["plan", "check"], arguments, &["--json"]].concat());
    let matrix: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let trials = matrix["trials"].as_array().unwrap().iter();
    let of_engine = trials.filter(|trial| trial["engine"] == engine);
    of_engine
        .map(|trial| trial["knobs"][knob].to_string())
        .collect()
}

#[test]
fn one_option_gives_every_engine_the_same_cache_by_its_own_knob() {
    let bench = Bench::new();
    let engines: &[&str] = &["micro", "--engine", "sqlite,redb,fjall"];
    for sizes in ["48MiB", "48MiB,96MiB"] {
        let arguments = [engines, &["--cache", sizes]].concat();
        let expected = sizes.split(',').map(|size| match size {
            "48MiB" => (48 << 20).to_string(),
            _ => (96 << 20).to_string(),
        });
        let expected: Vec<_> = expected.collect();
        for engine in ["sqlite", "redb", "fjall"] {
            assert_eq!(
                knobs_of(&bench, &arguments, engine, "cache_size"),
                expected,
                "{engine}"
            );
        }
    }
    // A plan says the same, and leaves out who has no cache where it leaves out what is not there.
    let plan = "name = \"x\"\nworkload = \"micro\"\nengines = [\"null\", \"lmdb\", \"redb\"]\n\
        durability = [\"sync\"]\nunsupported = \"leave-out\"\ncache = \"48MiB\"\n";
    bench.write("plan.toml", plan);
    let redb = knobs_of(&bench, &["plan.toml"], "redb", "cache_size");
    assert_eq!(redb, [(48 << 20).to_string()]);
    let text = stdout(&bench.run(&["plan", "check", "plan.toml"]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("lmdb maps its file"), "{text}");
    assert_eq!(
        knobs_of(&bench, &["plan.toml"], "lmdb", "map_size"),
        Vec::<String>::new()
    );
}
