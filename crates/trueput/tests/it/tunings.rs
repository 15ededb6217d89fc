//! `trueput tune` at the command line: the search and its holdout, bad input.

use crate::support::{
    ALL_WELL, Bench, assert_contains, assert_refused, is_installed, stderr, stdout, unwrapped,
};
use trueput_findings::Run;
use trueput_findings::tuning::{TunedConfiguration, tuning};
use trueput_record::parameter::resolve;
use trueput_record::search::TrialPurpose;
use trueput_record::value::Settings;
use trueput_record::{Durability, PlanFile, Value};
use trueput_report::TUNED_PLAN;
use trueput_tuner::fence::knob_space;
use trueput_tuner::presets::{Machine, presets};
use trueput_tuner::space::Restrictions;

const SEARCH: &str = "tune ycsb --engine sqlite --durability process --workers 1 --set workload=a \
    --set recordcount=500 --duration 100ms";

#[test]
#[ignore = "slow: make test runs it"]
fn a_search_keeps_the_promise_pairs_each_trial_with_the_default_and_answers() {
    let bench = Bench::new();
    let output = bench.run(&format!("{SEARCH} --budget 40s"));
    let run = Run::load(bench.run_folder().path()).unwrap();
    let found = tuning(&run.manifest, &run.trials).unwrap();
    assert!(found.configurations.len() > 5, "{}", stderr(&output));
    assert!(found.configurations[0].changes.is_empty());
    for trial in &run.trials {
        let role = trial.spec.role.unwrap();
        // In the holdout the winner's purpose is its own.
        let purpose = match role.purpose {
            TrialPurpose::Winner => TrialPurpose::Holdout,
            purpose => purpose,
        };
        let default = run.trials.iter().filter(|other| {
            let other_role = other.spec.role.unwrap();
            other_role.configuration == Some(0)
                && other_role.purpose == purpose
                && other.spec.repeat == trial.spec.repeat
        });
        match purpose {
            TrialPurpose::Tuning | TrialPurpose::Holdout => {
                assert_eq!(default.count(), 1, "{}", trial.spec.id);
            }
            // A winner is accepted alone, and its knobs are paired with the winner.
            TrialPurpose::Acceptance => assert_eq!(role.configuration, found.winner),
            purpose => assert_eq!(purpose, TrialPurpose::Ablation),
        }
        if let Some(engine) = &trial.engine {
            assert_eq!(engine.promise.durability, trial.spec.durability);
        }
    }
    let answer = unwrapped(&stdout(&output));
    assert_contains(&answer, &["sqlite, process, ycsb, 1 worker: knobs by rate"]);
    let verdict = [
        "these knobs give",
        "better than the default",
        "failed in the holdout",
    ];
    let answer = answer.to_lowercase();
    assert!(verdict.iter().any(|part| answer.contains(part)), "{answer}");
    for command in ["run", "capacity", "choose"] {
        let line = format!("{command} --resume {}", run.folder.display());
        let right = concat!(
            "is a search for knobs; continue it with: ",
            env!("CARGO_BIN_EXE_trueput"),
            " tune --resume"
        );
        assert_contains(&stderr(&bench.run_expecting(2, &line)), &[right]);
    }
    // Noise decides whether there is a winner. If there is one, there is a plan that runs it.
    let plan = run.folder.join(TUNED_PLAN);
    assert_eq!(plan.is_file(), found.better().is_some(), "{answer}");
    assert_eq!(plan.is_file(), answer.contains("its plan: "), "{answer}");
    if let Some(better) = found.better() {
        let steps = PlanFile::read(&plan).unwrap().steps;
        assert_eq!(steps[0].knobs["sqlite"], better.changes);
        let check = format!("plan check {}", plan.display());
        let checked = stdout(&bench.run_expecting(0, &check));
        assert_contains(&checked, &["10 trials"]);
    }
}

#[test]
fn what_cannot_be_tuned_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    for (line, right) in [
        (format!("{SEARCH} --budget 10s"), "give 39s or more"),
        (
            format!("{SEARCH} --durability process,sync"),
            "has 2 contenders: give one value of durability (process, sync)",
        ),
        (format!("{SEARCH} --objective p99"), "write rate, p99@RATE"),
        (
            format!("{SEARCH} --objective p99@0"),
            "write rate, p99@RATE",
        ),
        (
            format!("{SEARCH} --within speed<2"),
            "write memory, space, recovery or window",
        ),
        (
            format!("{SEARCH} --search cache_sise"),
            "did you mean 'cache_size'",
        ),
        (
            format!("{SEARCH} --search page_size --knob sqlite.page_size=8192"),
            "keeps it at 8192",
        ),
        (
            format!("{SEARCH} --rate 100"),
            "give --objective p99@RATE instead",
        ),
        (
            format!("{SEARCH} --objective capacity"),
            "give one, as in --objective 'capacity@p99<5ms'",
        ),
        (
            format!("{SEARCH} --objective capacity@p99<5ms --budget 10s"),
            "a budget of 10s is too short for 1 contender: give",
        ),
        (
            format!("{SEARCH} --objective capacity@p99<5ms --durability process,sync"),
            "has 2 contenders",
        ),
        (
            format!("{SEARCH} --strategy guess"),
            "write model, random, one-at-a-time, presets",
        ),
        (
            "tune threen1 --engine sqlite --durability process --workers 1 --budget 10s".to_owned(),
            "24 trials are the fewest",
        ),
        (
            format!("{SEARCH} --within durability>=sync"),
            "the plan's level is process",
        ),
        (
            "tune trace --engine sqlite --durability process --workers 1 --set file=example"
                .to_owned(),
            "by --set pace=closed",
        ),
        (
            "tune ycsb --engine redb --durability sync --workers 1 --strategy presets \
             --objective capacity@p99<5ms"
                .to_owned(),
            "redb has no presets that this search may try",
        ),
        ("tune oltp-cheats".to_owned(), "has steps"),
    ] {
        assert_refused(&bench, &line, right);
    }
}

#[test]
fn limits_without_a_unit_names_given_twice_and_short_budgets_are_refused() {
    let bench = Bench::new();
    for (line, right) in [
        (
            format!("{SEARCH} --within memory<2"),
            "'memory<2' has no unit; write memory<2GiB",
        ),
        (
            format!("{SEARCH} --within memory<2GiB,memory<3GiB"),
            "limits memory twice",
        ),
        (
            format!("{SEARCH} --objective capacity@p99<5"),
            "'p99<5' has no unit; write p99<5ms or p99<5s",
        ),
        (
            format!("{SEARCH} --search cache_size,cache_size"),
            "names 'cache_size' twice",
        ),
        (
            SEARCH.replace("100ms", "10s") + " --budget 10s",
            "give 5m or more, or a shorter --duration",
        ),
    ] {
        assert_refused(&bench, &line, right);
    }
}

#[test]
fn every_knob_of_an_engine_can_be_kept_so_that_there_is_nothing_to_search() {
    let bench = Bench::new();
    let line = "tune ycsb --engine null --durability none --workers 1 --duration 1";
    assert_refused(&bench, line, "null has no knobs to search");
    let line = "tune ycsb --engine redb --durability sync --workers 1 --duration 1 \
        --knob redb.cache_size=64MiB --knob redb.two_phase_commit=true \
        --knob redb.quick_repair=true --knob redb.commits_per_sync=500";
    assert_refused(&bench, line, "the plan gives every knob of redb");
}

#[test]
fn presets_name_knobs_of_their_engines_with_values_in_range_on_small_and_large_machines() {
    let registry = trueput::registry();
    for name in trueput_tuner::presets::engines() {
        let engine = registry.engine(name).unwrap();
        for preset in presets(name).unwrap() {
            assert!(preset.url.contains("://") || preset.url.starts_with("published/"));
            for (memory_bytes, cores) in [(2 << 30, 1), (24 << 30, 2), (2 << 40, 256)] {
                let machine = Machine {
                    memory_bytes,
                    cores,
                };
                let settings = preset.settings(machine).unwrap();
                let resolved = resolve(name, engine.knobs(), &settings);
                assert!(
                    resolved.is_ok(),
                    "{}: {}",
                    preset.name,
                    resolved.unwrap_err()
                );
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_knobs_to_search_can_be_named_and_bounded_and_are_the_only_ones_that_change() {
    let bench = Bench::new();
    let within = "--search cache_size=1MiB..8MiB,wal_autocheckpoint --within space<50x";
    bench.run(&format!("{SEARCH} {within} --budget 40s"));
    let run = Run::load(bench.run_folder().path()).unwrap();
    let found = tuning(&run.manifest, &run.trials).unwrap();
    for (name, value) in found.configurations.iter().flat_map(|it| &it.changes) {
        match (name.as_str(), value) {
            ("cache_size", Value::Integer(bytes)) => {
                assert!((1 << 20..=8 << 20).contains(bytes), "{bytes}");
            }
            ("wal_autocheckpoint", _) => {}
            other => panic!("{other:?} is changed"),
        }
    }
    let preset = |it: &TunedConfiguration| it.preset.as_deref() == Some("large-cache");
    let large_cache = found.configurations.iter().find(|it| preset(it)).unwrap();
    assert_eq!(large_cache.changes.len(), 1, "cache_size is out of bounds");
}

/// Of the other engines, the tests of the crate `tuner` ask. GT.M needs a process of its own.
#[test]
#[ignore = "slow: make test runs it"]
fn gtm_reports_a_journal_with_each_value_that_a_search_proposes_for_sync() {
    if !is_installed("gtm") {
        return;
    }
    let mut engines = trueput::registry().engines.iter();
    let gtm = *engines.find(|it| it.info().name == "gtm").unwrap();
    let (fixed, all) = (Settings::new(), Restrictions::default());
    let space = knob_space(gtm, Durability::Sync, &fixed, None, 1e9, all).unwrap();
    let mut refused = Vec::new();
    for (knob, value) in [
        ("journaling", Value::from("before-image")),
        ("journaling", Value::from("no-before")),
        ("journaling", Value::from("off")),
        ("access_method", Value::from("MM")),
        ("sync_io", Value::from(true)),
    ] {
        let setting = format!("gtm.{knob}={value}");
        if space
            .check(&Settings::from([(knob.to_owned(), value)]))
            .is_err()
        {
            refused.push(setting);
            continue;
        }
        let bench = Bench::new();
        let line = "run ycsb --engine gtm --durability sync --workers 1 --duration 100ms";
        let line = format!("{line} --set recordcount=100 --knob {setting}");
        bench.run_expecting(ALL_WELL, &line);
        let [trial] = &bench.trials()[..] else {
            panic!("{setting}: one trial")
        };
        let settings = &trial.engine.as_ref().unwrap().settings;
        // 2 is that the journal is open, 1 that it is closed and 0 that there is none.
        assert_eq!(
            settings["jnl_state"],
            Value::from(2_i64),
            "{setting}: {settings:?}"
        );
    }
    assert_eq!(refused, ["gtm.journaling=off"]);
}
