//! Invalid settings are refused in one line that names the accepted ones.

use super::harness::{Bench, engine, job, job_under};
use trueput_engine::testing::Fault;
use trueput_engine::{Capabilities, Dialect, Engine, Null, parameter};
use trueput_record::conditions::Rate;
use trueput_record::value::Settings;
use trueput_record::{Conditions, WorkerKind};

fn refusal(given: &str) -> String {
    job(given).err().unwrap()
}

#[test]
fn zero_warehouses_are_refused() {
    let message = refusal("warehouses=0");
    assert!(
        message.contains("warehouses") && message.contains("1 to"),
        "{message}"
    );
    assert!(!message.contains('\n'));
}

#[test]
fn fewer_terminals_than_the_pacing_needs_are_refused_with_their_number() {
    let job = job("warehouses=2 pacing=tpc").unwrap();
    let message = String::from(job.check_workers(8, WorkerKind::Threads).unwrap_err());
    for part in ["pacing=tpc needs", "not 8; give 20 workers, or pacing=none"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(job.check_workers(20, WorkerKind::Threads), Ok(()));
}

#[test]
fn a_rate_does_not_go_with_pacing() {
    let conditions = Conditions {
        rate: Some(Rate {
            per_s: 10.0,
            arrival: Default::default(),
        }),
        ..Conditions::default()
    };
    let message = job_under("pacing=tpc", &conditions).err().unwrap();
    let part = "remove the rate, or give pacing=none";
    assert!(message.contains(part), "{message}");
    assert!(job_under("", &conditions).is_ok());
}

#[test]
fn an_engine_that_keeps_nothing_is_refused() {
    let job = job("").unwrap();
    let refused = job.check_capabilities(&Null.capabilities());
    let message = String::from(refused.unwrap_err());
    assert!(message.contains("keeps what is put"), "{message}");
    let lmdb = engine("lmdb").capabilities();
    assert_eq!(job.check_capabilities(&lmdb), Ok(()));
}

/// The check of this store on an engine with or without snapshots, whose SQL has this dialect.
fn check_store(store: &str, has_snapshots: bool, dialect: Option<Dialect>) -> Result<(), String> {
    let job = job(&format!("store={store}")).unwrap();
    let capabilities = Capabilities {
        snapshot_reads: has_snapshots,
        ..engine("lmdb").capabilities()
    };
    let able = job.check_capabilities(&capabilities);
    Ok(able.and_then(|()| job.check_dialect(dialect))?)
}

#[test]
fn sql_is_taken_in_every_dialect_with_snapshots_or_without() {
    for dialect in Dialect::ALL {
        for has_snapshots in [true, false] {
            assert_eq!(check_store("sql", has_snapshots, Some(dialect)), Ok(()));
        }
        assert_eq!(check_store("auto", true, Some(dialect)), Ok(()));
        for store in ["auto", "kv"] {
            let message = check_store(store, false, Some(dialect)).unwrap_err();
            assert!(message.contains("give store=sql"), "{message}");
        }
    }
    let gtm = engine("gtm");
    assert!(!gtm.capabilities().snapshot_reads);
    for store in ["auto", "kv", "sql"] {
        assert!(check_store(store, false, gtm.dialect()).is_err(), "{store}");
    }
}

#[test]
fn a_result_says_that_read_transactions_saw_no_one_state() {
    let given = "store=sql cardinality=hundredth transactions=50";
    let mut bench = Bench::new(engine("sqlite"), Fault::None, 1, given);
    let (ended, conclusion) = bench.run();
    assert!(!conclusion.results.contains_key("isolation"));
    bench.capabilities.snapshot_reads = false;
    let said = bench.verify(&ended).results["isolation"].to_string();
    assert!(said.contains("below clause 3.4"), "{said}");
}

#[test]
fn a_store_that_an_engine_has_not_is_refused_with_the_engine_that_has_it() {
    let refused = |store, name| {
        let job = job(&format!("store={store}")).unwrap();
        let refused = job.check_dialect(engine(name).dialect()).err();
        refused.map(String::from)
    };
    for name in ["lmdb", "sqlite", "mariadb"] {
        let message = refused("procedures", name).unwrap();
        let part = "only for postgresql: give store=sql or store=kv";
        assert!(message.contains(part), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    assert_eq!(refused("procedures", "postgresql"), None);
    let message = refused("sql", "lmdb").unwrap();
    assert!(message.contains("give store=kv"), "{message}");
    assert_eq!(refused("sql", "sqlite"), None);
    for name in ["lmdb", "sqlite", "postgresql"] {
        assert_eq!(refused("auto", name), None);
        assert_eq!(refused("kv", name), None);
    }
}

#[test]
fn leveldb_which_has_no_transactions_says_why_it_cannot() {
    let none = parameter::resolve("leveldb", engine("leveldb").knobs(), &Settings::new()).unwrap();
    let message = engine("leveldb")
        .check_transactions(&none)
        .unwrap_err()
        .to_string();
    assert!(message.contains("no transactions"), "{message}");
    assert!(job("").unwrap().needs_transactions());
}

#[test]
fn a_run_without_duration_or_count_ends_by_a_count_of_its_own() {
    assert_eq!(job("").unwrap().total_units(), 10_000);
    let conditions = Conditions {
        duration_s: Some(10.0),
        ..Conditions::default()
    };
    assert_eq!(job_under("", &conditions).unwrap().total_units(), 0);
}
