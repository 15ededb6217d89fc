//! The steps, and their checks, on the engines.

use super::harness::{Bench, Fault, STEPS, assert_right, engine, failed, installed, job_under};
use trueput_engine::Engine;
use trueput_engine::reference::Reference;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::ExistingDatabase;

pub fn passes_on(engine: &dyn Engine, store: &str, knobs: &str) {
    let given = format!("store={store}");
    let mut bench = Bench::turned(engine, 2, &given, knobs);
    for step in STEPS {
        let (ended, conclusion) = bench.run(step, None);
        let subject = format!("{} {store} {knobs} {step}", engine.info().name);
        assert_right(&conclusion, &subject);
        assert!(ended.counts[0] > 0, "{subject}");
        assert_eq!(conclusion.results["store"].to_string(), store, "{subject}");
    }
}

#[test]
fn every_step_leaves_its_rows_and_entries_on_the_reference_engine() {
    passes_on(&Reference, "kv", "");
}

#[test]
fn every_step_leaves_its_rows_and_entries_on_lmdb() {
    passes_on(engine("lmdb"), "kv", "");
}

#[test]
fn every_step_leaves_its_rows_and_entries_in_sqlites_keys_and_values_and_in_its_sql() {
    for store in ["kv", "sql"] {
        passes_on(engine("sqlite"), store, "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_step_leaves_its_rows_and_entries_on_fjall_and_on_write_batches() {
    passes_on(engine("fjall"), "kv", "");
    passes_on(engine("fjall"), "kv", "concurrency=optimistic");
    for (name, knobs) in [("leveldb", ""), ("rocksdb", "transactions=batch")] {
        if let Some(engine) = installed(name) {
            passes_on(engine, "kv", knobs);
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_step_leaves_its_rows_and_entries_on_postgresql() {
    let Some(engine) = installed("postgresql") else {
        return;
    };
    for isolation in ["read-committed", "repeatable-read"] {
        passes_on(engine, "sql", &format!("isolation={isolation}"));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_step_leaves_its_rows_and_entries_on_mariadb() {
    let Some(engine) = installed("mariadb") else {
        return;
    };
    for knobs in ["", "storage_engine=rocksdb"] {
        passes_on(engine, "sql", knobs);
    }
}

#[test]
fn a_step_does_the_transactions_of_iibench() {
    let mut bench = Bench::reference(1, "");
    let mut counts = |step| bench.run(step, None).0.counts;
    assert_eq!(counts("l.i0"), [10]);
    assert_eq!(counts("l.x"), [3]);
    // 400 rows by 50, and 100 by 5; the oldest row is looked for once.
    assert_eq!(counts("l.i1"), [8, 8, 1]);
    assert_eq!(counts("l.i2"), [20, 20, 1]);
    // The bench's seconds take no time: the rows of a second and two to spare.
    assert_eq!(counts("qr100"), [200, 6, 6, 1]);
    // A search for the newest row is an operation of the querier, too.
    assert_eq!(counts("qp100"), [198, 6, 6, 1, 2]);
}

#[test]
fn a_table_keeps_its_size_and_moves_on_with_its_ids() {
    let mut bench = Bench::reference(1, "");
    bench.passes(&["l.i0", "l.x", "l.i1"]);
    let (ended, conclusion) = bench.run("l.i2", None);
    assert_right(&conclusion, "l.i2");
    let findings = &ended.findings[0];
    assert_eq!((findings["first id"], findings["end of ids"]), (401, 1_401));
    assert_eq!(ended.findings[1]["rows found by deletes"], 100);
}

#[test]
fn a_step_alone_begins_with_what_the_steps_before_it_leave() {
    for step in STEPS {
        let mut bench = Bench::reference(2, "");
        let (_, conclusion) = bench.run(step, None);
        assert_right(&conclusion, step);
    }
    // Without l.x in between, l.i1 has the indexes made.
    Bench::reference(2, "").passes(&["l.i0", "l.i1", "qr100", "l.i2", "qp100"]);
}

#[test]
fn what_is_loaded_for_a_step_is_reported() {
    let bench = |step: &str| {
        let mut bench = Bench::reference(2, "");
        bench.job = super::harness::job(&format!("rows=1000 tables=2 step={step}")).unwrap();
        bench.prepare(ExistingDatabase::Nothing).unwrap()
    };
    assert_eq!(bench("l.i0"), None);
    let rows = bench("l.x").unwrap();
    // A key of 13 bytes, columns of 24, and data of 10.
    assert_eq!((rows.records, rows.user_bytes), (2_000, 2_000 * 47));
    let indexed = bench("qr100").unwrap();
    assert_eq!(indexed.user_bytes, 2_000 * (47 + 25 + 25 + 29));
}

#[test]
fn steps_in_another_order_are_refused_where_they_say_nothing() {
    let refusal = |before: &str, step: &str| {
        let mut bench = Bench::reference(1, "");
        bench.passes(&[before]);
        bench.prepare_step(step).unwrap_err().to_string()
    };
    let message = refusal("l.x", "l.i0");
    assert!(message.contains("begins with a new database"), "{message}");
    for before in ["l.x", "l.i1"] {
        let message = refusal(before, "l.x");
        assert!(message.contains("in their order"), "{message}");
    }
}

#[test]
fn a_table_that_lacks_rows_when_a_step_begins_is_refused() {
    let mut bench = Bench::reference(1, "");
    bench.passes(&["l.i0", "l.x"]);
    bench.prepare_step("l.i1").unwrap();
    // Table 1, rows, and the id 1000.
    bench.tamper(|session| {
        let key = [&[0, 0, 0, 1, 0][..], &1_000_u64.to_be_bytes()].concat();
        session.delete(&key).unwrap();
    });
    let message = bench.prime().unwrap_err().to_string();
    assert!(message.contains("the ids of 999 rows"), "{message}");
}

#[test]
fn conflicts_are_tried_again_with_the_same_rows_and_lose_nothing() {
    let mut bench = Bench::reference(1, "");
    bench.passes(&["l.i0", "l.x"]);
    let steps = ["l.i1", "l.i2", "qr100", "qp100"];
    for (step, worker) in steps.into_iter().flat_map(|step| [(step, 0), (step, 1)]) {
        for fault in [
            Fault::ConflictsAtCommit(2),
            Fault::ConflictsLaterEachTime(20),
        ] {
            let (ended, conclusion) = bench.run(step, Some((worker, fault)));
            assert_right(&conclusion, &format!("{step} {worker}"));
            // Reads end without a commit.
            let commits = fault == Fault::ConflictsAtCommit(2);
            let writes = !step.starts_with('q') || worker > 0;
            assert_eq!(ended.conflicts > 0, writes || !commits, "{step} {worker}");
        }
    }
}

#[test]
fn a_sample_counts_every_row_and_compares_a_tenth() {
    let mut bench = Bench::reference(1, "");
    bench.verify = VerifyLevel::Sample;
    bench.passes(&["l.i0", "l.x", "l.i1"]);
    let (_, conclusion) = bench.run("qr1000", None);
    assert_right(&conclusion, "a sample");
    let detail = |name: &str| {
        let mut checks = conclusion.checks.iter();
        let check = checks.find(|check| check.name == name);
        check.unwrap().detail.clone()
    };
    assert_eq!(detail("rows"), "1000");
    assert_eq!(detail("each row"), "100 rows compared");
    let entries = detail("pdc");
    let compared: u64 = entries.split(' ').next().unwrap().parse().unwrap();
    assert!((50..200).contains(&compared), "{entries}");
    let queries = detail("queries");
    assert!(queries.starts_with("201 right, "), "{queries}");
    bench.prepare_step("l.i2").unwrap();
    bench.prime().unwrap();
    let ended = bench.work_together(Some((0, Fault::LosesPut(0))));
    assert!(failed(&bench.verify(&ended)).contains(&"rows".to_owned()));
}

#[test]
fn nothing_is_checked_where_verification_is_off() {
    let mut bench = Bench::reference(1, "");
    bench.verify = VerifyLevel::Off;
    for step in STEPS {
        let (_, conclusion) = bench.run(step, None);
        assert!(conclusion.checks.is_empty(), "{step}");
    }
}

#[test]
fn a_counted_step_does_its_rows_whatever_the_duration() {
    let units = |given: &str, duration_s| {
        let conditions = Conditions {
            duration_s,
            ..Conditions::default()
        };
        let job = job_under(&format!("rows=1000 {given}"), &conditions).unwrap();
        job.total_units()
    };
    for duration_s in [None, Some(1.0)] {
        assert_eq!(units("step=l.i0 tables=3", duration_s), 3_000);
        assert_eq!(units("step=l.x tables=3", duration_s), 9);
        assert_eq!(
            units("step=l.i1 insert_rows=500 tables=3", duration_s),
            1_200
        );
        assert_eq!(units("step=l.i2 insert_rows=0", duration_s), 0);
        assert_eq!(units("step=qr100", duration_s), 0);
    }
}
