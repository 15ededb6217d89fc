//! Load, run and every condition, on the engines.

use super::harness::{Bench, assert_right, engine, failures, installed};
use trueput_engine::testing::Fault;
use trueput_engine::{COMPILED_IN, Durability, Engine, OpenSpec, parameter};
use trueput_record::VerifyLevel;
use trueput_record::value::Settings;

const SMALL: &str = "store=kv warehouses=2 cardinality=hundredth transactions=400";

fn passes_on(engine: &dyn Engine) {
    let conclusion = Bench::new(engine, Fault::None, 4, SMALL).passes(400, "kv");
    let notice = "tpcc workload, not an audited TPC-C result";
    assert_eq!(conclusion.results["notice"].to_string(), notice);
    assert_eq!(
        conclusion.results["cardinality"].to_string(),
        "reduced to a hundredth"
    );
}

#[test]
fn the_conditions_hold_after_load_and_run_on_lmdb() {
    passes_on(engine("lmdb"));
}

#[test]
fn the_conditions_hold_after_load_and_run_on_sqlite() {
    passes_on(engine("sqlite"));
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_on_redb() {
    passes_on(engine("redb"));
}

#[test]
fn the_conditions_hold_after_load_and_run_on_fjall() {
    passes_on(engine("fjall"));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_full_warehouse_has_every_row_and_the_conditions_hold_on_lmdb() {
    let bench = Bench::new(engine("lmdb"), Fault::None, 2, "transactions=500");
    let load = bench.prepare().unwrap().unwrap();
    // 100,000 items and stocks, 30,000 customers, histories and orders, 9,000 new-orders, 1 + 10,
    // and about 300,000 order-lines (clause 4.3.3.1).
    let lines = load.records - 299_011;
    assert!((298_000..302_000).contains(&lines), "{lines} order-lines");
    let (ended, _) = bench.work_together();
    let conclusion = bench.verify(&ended);
    assert_right(&conclusion);
    assert_eq!(conclusion.results["cardinality"].to_string(), "full");
}

/// Engines whose libraries this machine has, each with its default knobs.
pub fn installed_engines() -> impl Iterator<Item = &'static dyn Engine> {
    let engines = trueput_drivers::registry().iter().copied();
    engines.filter(|engine| {
        let knobs = parameter::resolve("engine", engine.knobs(), &Settings::new()).unwrap();
        let capabilities = engine.capabilities();
        engine.info().install != COMPILED_IN
            && engine.service().is_none()
            && engine.dialect().is_none()
            && engine.build().is_ok()
            && capabilities.atomic_transactions
            && capabilities.snapshot_reads
            && engine.check_transactions(&knobs).is_ok()
            && opens(*engine)
    })
}

/// Whether a database can be made: an engine may need more than its library.
fn opens(engine: &dyn Engine) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let knobs = parameter::resolve("engine", engine.knobs(), &Settings::new()).unwrap();
    let level = Durability::ALL
        .into_iter()
        .find(|level| engine.promise(*level).is_some());
    let spec = OpenSpec {
        directory: folder.path(),
        durability: level.unwrap(),
        knobs: &knobs,
        sessions: 1,
    };
    engine.open(&spec).is_ok()
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_on_every_engine_that_is_found() {
    for engine in installed_engines() {
        println!("{}", engine.info().name);
        passes_on(engine);
    }
}

#[test]
fn a_sample_looks_at_a_district_of_each_warehouse_and_still_misses_no_order() {
    let mut bench = Bench::new(engine("lmdb"), Fault::None, 2, SMALL);
    bench.verify = VerifyLevel::Sample;
    let (ended, conclusion) = bench.run();
    assert_eq!(
        failures(&conclusion).len(),
        0,
        "{:?}",
        failures(&conclusion)
    );
    let mut short = ended;
    short.findings[0].insert("new orders".to_owned(), 1_000);
    let failed = failures(&bench.verify(&short));
    assert_eq!(failed.len(), 1);
    assert!(failed["every acknowledged new-order is there"].contains("missing"));
}

#[test]
fn conflicts_are_tried_again_with_the_same_input_and_lose_nothing() {
    let bench = Bench::new(engine("lmdb"), Fault::ConflictsAtCommit(5), 2, SMALL);
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion);
    assert!(ended.conflicts > 50, "{}", ended.conflicts);
    assert_eq!(ended.counts.iter().sum::<u64>(), 400);
}

/// Engines whose transactions look for conflicts when they commit, with the knobs that have them do
/// so.
pub const OPTIMISTIC: [(&str, &str); 2] = [
    ("fjall", "concurrency=optimistic"),
    ("rocksdb", "transactions=optimistic"),
];

#[test]
#[ignore = "slow: make test runs it"]
fn conflicts_of_optimistic_transactions_are_counted_and_lose_nothing() {
    let given = "cardinality=hundredth transactions=2000";
    for (name, knobs) in OPTIMISTIC {
        let Some(engine) = installed(name) else {
            continue;
        };
        let conflicts = |workers| {
            let bench = Bench::turned(engine, Fault::None, workers, given, knobs);
            let (ended, conclusion) = bench.run();
            assert_right(&conclusion);
            assert_eq!(ended.counts.iter().sum::<u64>(), 2_000, "{name}");
            ended.conflicts
        };
        let (of_one, of_many) = (conflicts(1), conflicts(8));
        println!("{name}: {of_many} conflicts in 2,000 transactions of 8 workers");
        assert_eq!(of_one, 0, "{name}");
        assert!(of_many > 0, "{name}");
    }
}

#[test]
fn paced_terminals_key_in_and_think() {
    let given = "cardinality=hundredth transactions=230 pacing=tpc";
    let bench = Bench::new(engine("lmdb"), Fault::None, 10, given);
    bench.prepare().unwrap();
    let (ended, rested_ns) = bench.work_together();
    assert_right(&bench.verify(&ended));
    // Ten terminals went through one deck each: 10 x 18 + 10 x 3 + 3 x 2 = 216 s of keying in, and
    // about 260 s of thinking.
    let rested_s = rested_ns as f64 / 1e9;
    assert!((3_600.0..6_200.0).contains(&rested_s), "{rested_s}");
}

#[test]
fn tables_are_read_into_the_cache_before_the_run() {
    let given = format!("{SMALL} prime=all");
    let bench = Bench::new(engine("lmdb"), Fault::None, 2, &given);
    assert_right(&bench.run().1);
}
