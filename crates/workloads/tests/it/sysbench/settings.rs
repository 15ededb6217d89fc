//! Invalid settings are refused in one line that names the accepted ones.

use super::harness::{engine, job};
use trueput_engine::{Capabilities, Engine, Null, Value};
use trueput_record::WorkerKind;
use trueput_workloads::Workload;
use trueput_workloads::sysbench::Sysbench;

fn workers(given: &str, workers: u32) -> Result<(), String> {
    let job = job(given).unwrap();
    Ok(job.check_workers(workers, WorkerKind::Threads)?)
}

#[test]
fn rows_that_would_be_inserted_twice_are_refused_with_what_would_do() {
    let message = workers("skip_trx=on", 2).unwrap_err();
    for part in ["delete_inserts=0", "one worker", "skip_trx=off"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains('\n'));
    assert_eq!(workers("skip_trx=on", 1), Ok(()));
    assert_eq!(workers("skip_trx=on delete_inserts=0", 2), Ok(()));
    assert_eq!(workers("", 2), Ok(()));
}

#[test]
fn more_workers_than_texts_can_name_are_refused() {
    let message = workers("", 2_000).unwrap_err();
    assert!(message.contains("give 1489 or fewer"), "{message}");
    assert_eq!(workers("script=oltp_read_only", 2_000), Ok(()));
}

#[test]
fn an_engine_that_keeps_nothing_and_one_without_snapshots_are_refused() {
    let check = |given: &str, capabilities: &Capabilities| {
        let job = job(given).unwrap();
        let refused = job.check_capabilities(capabilities).err();
        refused.map(String::from)
    };
    let message = check("", &Null.capabilities()).unwrap();
    assert!(message.contains("keeps what is put"), "{message}");
    let lmdb = engine("lmdb").capabilities();
    assert_eq!(check("", &lmdb), None);
    let without = Capabilities {
        snapshot_reads: false,
        ..lmdb
    };
    for store in ["auto", "kv"] {
        let message = check(&format!("store={store}"), &without).unwrap();
        assert!(message.contains("give store=sql"), "{message}");
    }
    assert_eq!(check("store=sql", &without), None);
}

#[test]
fn sql_is_refused_where_the_engine_does_not_speak_it() {
    let check = |store: &str, name: &str| {
        let job = job(&format!("store={store}")).unwrap();
        let refused = job.check_dialect(engine(name).dialect()).err();
        refused.map(String::from)
    };
    let message = check("sql", "lmdb").unwrap();
    assert!(message.contains("give store=kv"), "{message}");
    for (store, name) in [("sql", "sqlite"), ("auto", "lmdb"), ("kv", "sqlite")] {
        assert_eq!(check(store, name), None);
    }
}

#[test]
fn a_setting_that_no_script_of_the_plan_uses_is_refused() {
    let given = [("random_points".to_owned(), vec![Value::from(5_i64)])].into();
    let refused = Sysbench.check_given(&given).unwrap_err();
    assert_eq!(refused.name, "random_points");
    assert!(refused.message.contains("script=select_random_points"));
}

#[test]
fn deletes_that_empty_the_tables_are_told_before_the_run() {
    let caution = |given: &str| job(given).unwrap().caution();
    let empties = caution("script=oltp_delete table_size=100 events=1000");
    assert!(empties.unwrap().contains("deletes"));
    assert_eq!(caution("script=oltp_delete events=10"), None);
    assert_eq!(caution(""), None);
}

#[test]
fn commits_are_those_of_scripts_that_write() {
    let commits = |given: &str| job(given).unwrap().commits(&[7]);
    assert_eq!(commits(""), Some(7));
    assert_eq!(commits("script=oltp_read_only"), Some(0));
    let reads = "index_updates=0 non_index_updates=0 delete_inserts=0";
    assert_eq!(commits(reads), Some(0));
    assert_eq!(commits("script=bulk_insert"), Some(7));
}
