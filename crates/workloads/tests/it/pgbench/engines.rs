//! Load, run and checks, on the engines.

use super::harness::{Bench, Fault, assert_right, engine, installed};
use trueput_engine::Engine;
use trueput_engine::reference::Reference;
use trueput_record::measurement::Check;
use trueput_record::{VerifyLevel, WorkerKind};
use trueput_workloads::ExistingDatabase;

/// Each script alone, and mixes.
const SCRIPTS: [&str; 5] = [
    "tpcb-like",
    "simple-update",
    "select-only",
    "tpcb-like@2~select-only@8",
    "tpcb-like~simple-update~select-only",
];

pub fn passes_on(engine: &dyn Engine, store: &str, knobs: &str) {
    for script in SCRIPTS {
        let given = format!("scale=2 script={script} store={store}");
        let bench = Bench::turned(engine, 4, &given, knobs);
        let (ended, conclusion) = bench.run(Fault::None);
        let subject = format!("{} {store} {knobs} {script}", engine.info().name);
        assert_right(&conclusion, &subject);
        assert_eq!(ended.counts.iter().sum::<u64>(), 400, "{subject}");
        assert_eq!(conclusion.results["store"].to_string(), store, "{subject}");
        let scripts = script.split('~').map(|it| it.split('@').next().unwrap());
        assert!(bench.job.kinds().iter().copied().eq(scripts), "{subject}");
    }
}

#[test]
fn every_script_leaves_what_was_drawn_on_the_reference_engine() {
    passes_on(&Reference, "kv", "");
}

#[test]
fn every_script_leaves_what_was_drawn_on_lmdb() {
    passes_on(engine("lmdb"), "kv", "");
}

#[test]
fn every_script_leaves_what_was_drawn_in_sqlites_keys_and_values_and_in_its_sql() {
    for store in ["kv", "sql"] {
        passes_on(engine("sqlite"), store, "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_script_leaves_what_was_drawn_on_fjall() {
    passes_on(engine("fjall"), "kv", "");
    passes_on(engine("fjall"), "kv", "concurrency=optimistic");
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_script_leaves_what_was_drawn_on_postgresql() {
    let Some(engine) = installed("postgresql") else {
        return;
    };
    for isolation in ["read-committed", "repeatable-read"] {
        passes_on(engine, "sql", &format!("isolation={isolation}"));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_script_leaves_what_was_drawn_on_mariadb() {
    let Some(engine) = installed("mariadb") else {
        return;
    };
    for knobs in ["", "storage_engine=rocksdb"] {
        passes_on(engine, "sql", knobs);
    }
}

#[test]
fn a_load_has_the_rows_of_pgbench_with_balances_of_0() {
    let bench = Bench::new(engine("lmdb"), 1, "accounts=100000 transactions=1");
    let load = bench.prepare().unwrap().unwrap();
    assert_eq!(load.records, 1 + 10 + 100_000);
    assert_eq!(load.user_bytes, 97 * load.records);
}

#[test]
fn a_store_is_sql_where_the_engine_speaks_it_and_keys_and_values_elsewhere() {
    for (name, store) in [("sqlite", "sql"), ("lmdb", "kv")] {
        let (_, conclusion) = Bench::new(engine(name), 1, "").run(Fault::None);
        assert_eq!(conclusion.results["store"].to_string(), store);
    }
}

#[test]
fn conflicts_are_tried_again_with_the_same_transaction_and_lose_nothing() {
    let given = "script=tpcb-like~select-only retry_pause=10";
    for fault in [
        Fault::ConflictsAtCommit(3),
        Fault::ConflictsLaterEachTime(5),
    ] {
        let bench = Bench::reference(2, given);
        let (ended, conclusion) = bench.run(fault);
        assert_right(&conclusion, "conflicts");
        assert!(ended.conflicts > 50, "{}", ended.conflicts);
        assert_eq!(ended.counts.iter().sum::<u64>(), 400);
    }
}

#[test]
fn a_warm_up_is_not_counted_and_is_verified_all_the_same() {
    let mut bench = Bench::reference(2, "");
    bench.warm_up = 30;
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, "a warm-up");
    assert_eq!(ended.counts, [400]);
    let done: u64 = ended.findings.iter().map(|found| found["done"]).sum();
    assert_eq!(done, 400 + 2 * 30);
}

#[test]
fn a_sample_compares_a_tenth_of_the_accounts_and_adds_up_all() {
    let mut bench = Bench::reference(2, "");
    bench.verify = VerifyLevel::Sample;
    let (_, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, "a sample");
    let check = |name: &str| {
        let mut checks = conclusion.checks.iter();
        checks
            .find(|check| check.name == name)
            .unwrap()
            .detail
            .clone()
    };
    assert_eq!(check("each of the accounts"), "10 balances compared");
    assert_eq!(check("each of the tellers"), "10 balances compared");
    assert_eq!(check("rows of accounts"), "100");
}

#[test]
fn workers_that_are_processes_do_not_know_of_each_other_and_the_check_says_so() {
    let detail = |workers, kind| {
        let mut bench = Bench::reference(workers, "");
        bench.kind = kind;
        let (_, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion, "processes");
        conclusion.checks[0].detail.clone()
    };
    assert!(detail(2, WorkerKind::Processes).contains(Check::STALE_UNKNOWN));
    for known in [
        detail(1, WorkerKind::Processes),
        detail(2, WorkerKind::Threads),
    ] {
        assert!(known.contains("400 of them within"), "{known}");
    }
}

#[test]
fn nothing_is_checked_where_verification_is_off() {
    let mut bench = Bench::reference(2, "");
    bench.verify = VerifyLevel::Off;
    let (_, conclusion) = bench.run(Fault::None);
    assert!(conclusion.checks.is_empty());
    assert_eq!(conclusion.results["transactions"], 400_u64.into());
}

#[test]
fn trials_that_only_read_share_a_load_and_others_begin_with_a_new_database() {
    let mut reads = Bench::reference(1, "script=select-only");
    assert!(reads.job.load_key().is_some());
    assert_right(&reads.run(Fault::None).1, "the first trial");
    reads.generation = 1;
    let again = reads.prepare_over(ExistingDatabase::Loaded);
    assert_eq!(again, Ok(None));
    let ended = reads.work_together(Fault::None);
    assert_right(&reads.verify(&ended), "the second trial");
    for script in ["tpcb-like", "select-only~simple-update"] {
        let writes = Bench::reference(1, &format!("script={script}"));
        assert_eq!(writes.job.load_key(), None);
        let again = writes.prepare_over(ExistingDatabase::Loaded);
        let message = again.unwrap_err().to_string();
        assert!(message.contains("new database for each trial"), "{message}");
    }
}

#[test]
fn commits_are_those_of_the_scripts_that_write() {
    let bench = Bench::reference(1, "script=tpcb-like~select-only");
    assert_eq!(bench.job.kinds(), ["tpcb-like", "select-only"]);
    assert_eq!(bench.job.commits(&[30, 70]), Some(30));
    // 111 records with a balance of 97 bytes, 30 rows of history of 59.
    assert_eq!(bench.job.live_bytes(&[30, 70]), Some(111 * 97 + 30 * 59));
}

#[test]
fn the_latency_of_a_transaction_begins_once_after_it_was_drawn() {
    let bench = Bench::reference(1, "script=tpcb-like");
    bench.prepare().unwrap();
    let mut session = bench.database.session().unwrap();
    let (meter, _) = bench.work_through(0, &mut *session);
    assert_eq!((meter.starts, meter.counts), (400, vec![400]));
}
