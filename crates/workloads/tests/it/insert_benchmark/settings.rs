//! Invalid settings are refused in one line that names what would be right.

use super::harness::{engine, job, job_under};
use trueput_engine::{Engine, Null, Value};
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, WorkerKind};
use trueput_workloads::Workload;
use trueput_workloads::insert_benchmark::InsertBenchmark;

fn refusal(given: &str) -> String {
    let message = job(given).err().unwrap();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn steps_and_lengths_that_there_are_not_are_refused() {
    let message = refusal("step=l.i3");
    assert!(message.contains("l.i0"), "{message}");
    let message = refusal("data_length_min=20");
    assert!(message.contains("data_length_max=10"), "{message}");
    let message = refusal("rows=10");
    assert!(message.contains("1000"), "{message}");
}

#[test]
fn a_warm_up_is_refused() {
    let conditions = Conditions {
        warm_up_s: 1.0,
        duration_s: Some(1.0),
        ..Conditions::default()
    };
    let message = job_under("step=qr100", &conditions).err().unwrap();
    assert!(message.contains("remove warm_up"), "{message}");
}

#[test]
fn each_table_has_one_worker_of_the_plan_and_writers_that_are_threads() {
    let check = |given: &str, workers, kind| {
        let checked = job(given).unwrap().check_workers(workers, kind);
        checked.map_err(String::from)
    };
    let (threads, processes) = (WorkerKind::Threads, WorkerKind::Processes);
    for step in ["l.i0", "l.x", "l.i1", "qr100"] {
        let given = format!("step={step} tables=4");
        assert_eq!(check(&given, 4, threads), Ok(()));
        let message = check(&given, 2, threads).unwrap_err();
        for part in ["tables=4 and 2 workers", "give tables=2 or 4 workers"] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(check("step=l.i0", 4, processes), Ok(()));
    for step in ["l.i1", "qp500"] {
        let message = check(&format!("step={step}"), 4, processes).unwrap_err();
        let part = format!("in {step} of insert-benchmark");
        assert!(message.contains(&part), "{message}");
        assert!(message.contains("give --worker-kind threads"), "{message}");
    }
}

#[test]
fn a_client_has_a_connection_for_each_of_its_parts() {
    let sessions = |step: &str| {
        let given = format!("step={step} tables=4");
        job(&given).unwrap().sessions(4)
    };
    let counts = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp1000"].map(sessions);
    assert_eq!(counts, [4, 4, 8, 8, 12, 12]);
}

#[test]
fn steps_share_a_database_whatever_they_do() {
    let job = |given: &str| job(given).unwrap();
    let key = |given: &str| job(given).load_key().unwrap();
    for step in ["l.x", "l.i1", "qr1000"] {
        let given = format!("step={step} insert_rows=77");
        assert_eq!(key(&given), key("step=l.i0"));
    }
    for other in ["rows=2000", "tables=2", "data_length_max=20", "store=kv"] {
        assert_ne!(key(other), key(""), "{other}");
    }
}

#[test]
fn a_step_goes_on_after_an_earlier_one_of_its_repeat_and_else_begins_anew() {
    let spec = |step: &str, repeat| {
        let mut spec = crate::micro::settings::trial(2, WorkerKind::Threads);
        spec.settings.insert("step".to_owned(), step.into());
        spec.repeat = repeat;
        spec
    };
    let goes_on = |step: &str, (before, repeat): (&str, u32)| {
        let job = job(&format!("step={step}")).unwrap();
        job.goes_on_after(&spec(before, repeat), &spec(step, 2))
    };
    assert!(goes_on("l.x", ("l.i0", 2)));
    assert!(goes_on("qr100", ("l.i2", 2)));
    // The same step once more, as a decision or a search runs it.
    assert!(!goes_on("l.x", ("l.x", 1)));
    assert!(!goes_on("l.i1", ("l.i1", 2)));
    assert!(!goes_on("l.i1", ("l.x", 1)));
    assert!(!goes_on("l.i0", ("qp1000", 2)));
    // Whatever an earlier repeat had to prepare.
    let continues = |step: &str| job(&format!("step={step}")).unwrap().is_continuation();
    assert!(continues("l.x") && continues("qp1000"));
    assert!(!continues("l.i0"));
}

#[test]
fn engines_without_what_the_steps_need_are_refused() {
    let check = |capabilities| {
        let checked = job("").unwrap().check_capabilities(&capabilities);
        checked.map_err(String::from)
    };
    let message = check(Null.capabilities()).unwrap_err();
    assert!(message.contains("keeps what is put"), "{message}");
    let sound = engine("lmdb").capabilities();
    assert_eq!(check(sound), Ok(()));
    let mut torn = sound;
    torn.atomic_transactions = false;
    let message = check(torn).unwrap_err();
    assert!(message.contains("transactions of several"), "{message}");
    let mut short = sound;
    short.max_key_bytes = 28;
    let message = check(short).unwrap_err();
    assert!(message.contains("keys of 29 bytes"), "{message}");
}

#[test]
fn sql_is_refused_where_the_engine_does_not_speak_it() {
    let check = |store: &str, name| {
        let job = job(&format!("store={store}")).unwrap();
        let checked = job.check_dialect(engine(name).dialect());
        checked.map_err(String::from)
    };
    let message = check("sql", "lmdb").unwrap_err();
    assert!(message.contains("give store=kv"), "{message}");
    for (store, name) in [("kv", "lmdb"), ("auto", "lmdb"), ("sql", "sqlite")] {
        assert_eq!(check(store, name), Ok(()), "{store} {name}");
    }
}

#[test]
fn a_crash_that_may_lose_a_part_of_an_index_is_refused() {
    let check = |step: &str, survival| {
        let job = job(&format!("step={step}")).unwrap();
        job.check_crash(survival).map_err(String::from)
    };
    let prefix = Survival::ConsistentPrefix;
    assert!(check("l.x", prefix).unwrap_err().contains("than l.x"));
    assert_eq!(check("l.x", Survival::EveryCommit), Ok(()));
    for step in ["l.i0", "l.i1", "qr100"] {
        assert_eq!(check(step, prefix), Ok(()), "{step}");
    }
}

#[test]
fn a_number_of_rows_that_no_step_inserts_has_no_effect() {
    let check = |steps: &[&str]| {
        let steps = steps.iter().map(|step| Value::from(*step)).collect();
        let given = Dimensions::from([
            ("step".to_owned(), steps),
            ("insert_rows".to_owned(), vec![1_000_i64.into()]),
        ]);
        InsertBenchmark.check_given(&given)
    };
    assert_eq!(check(&["l.i0", "l.i2"]), Ok(()));
    let ineffective = check(&["l.i0", "qr100"]).unwrap_err();
    assert_eq!(ineffective.name, "insert_rows");
}

#[test]
fn commits_are_those_of_the_writers() {
    let job = |given: &str| job(given).unwrap();
    assert_eq!(job("step=l.i0").commits(&[10]), Some(10));
    assert_eq!(job("step=l.x").commits(&[3]), None);
    assert_eq!(job("step=qp100").commits(&[900, 20, 19, 1, 9]), Some(39));
    // 1,000 rows of 47 bytes, with entries of 79.
    let live = |step: &str| job(&format!("rows=1000 tables=1 step={step}")).live_bytes(&[]);
    assert_eq!(live("l.i0"), Some(47_000));
    assert_eq!(live("qr100"), Some(126_000));
}
