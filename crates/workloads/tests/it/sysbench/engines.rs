//! Load, run and checks, on the engines.

use super::harness::{
    Bench, Fault, SCRIPTS, assert_right, engine, failed, installed, job, k_of, row_key,
};
use std::ops::ControlFlow;
use trueput_engine::reference::Reference;
use trueput_engine::{Datum, Engine};
use trueput_record::measurement::Check;
use trueput_record::{VerifyLevel, WorkerKind};
use trueput_workloads::{ExistingDatabase, JobResults};

/// PostgreSQL looks for a deadlock after a second by default, and on few rows there are many.
const SOON: &str = "deadlock_timeout=10";

pub fn passes_on(engine: &dyn Engine, store: &str, knobs: &str) {
    scripts_pass_on(&SCRIPTS, engine, store, knobs);
}

/// The script with every kind of statement, where others would show no more.
pub fn mixed_passes_on(engine: &dyn Engine, store: &str, knobs: &str) {
    scripts_pass_on(&SCRIPTS[..1], engine, store, knobs);
}

fn scripts_pass_on(scripts: &[(&str, &str, usize)], engine: &dyn Engine, store: &str, knobs: &str) {
    for &(script, more, checks) in scripts {
        let given = format!("script={script} store={store} {more}");
        let bench = Bench::turned(engine, 4, &given, knobs);
        let (ended, conclusion) = bench.run(Fault::None);
        let subject = format!("{} {store} {knobs} {script}", engine.info().name);
        assert_right(&conclusion, checks, &subject);
        assert_eq!(ended.counts, [200], "{subject}");
        assert_eq!(conclusion.results["store"].to_string(), store, "{subject}");
        assert_eq!(bench.job.kinds(), [script]);
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
    // Over keys and values, reads lock records at this level alone.
    let at = |isolation| format!("isolation={isolation} {SOON}");
    mixed_passes_on(engine, "kv", &at("read-committed"));
    passes_on(engine, "sql", &at("read-committed"));
    for isolation in ["repeatable-read", "serializable"] {
        mixed_passes_on(engine, "sql", &at(isolation));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_script_leaves_what_was_drawn_on_mariadb() {
    let Some(engine) = installed("mariadb") else {
        return;
    };
    passes_on(engine, "sql", "");
    for knobs in [
        "isolation=read-committed",
        "isolation=snapshot",
        "storage_engine=rocksdb",
    ] {
        mixed_passes_on(engine, "sql", knobs);
    }
}

/// Few rows and many workers, so that transactions delete and insert the same rows at once.
#[test]
#[ignore = "slow: make test runs it"]
fn rows_that_several_workers_replace_at_once_stay_as_they_must() {
    for (name, soon) in [("postgresql", SOON), ("mariadb", "")] {
        let Some(engine) = installed(name) else {
            continue;
        };
        for isolation in ["isolation=read-committed", ""] {
            let knobs = &format!("{isolation} {soon}");
            let given = "script=oltp_write_only store=sql table_size=10 rand_type=uniform \
                         events=300 delete_inserts=2";
            let bench = Bench::turned(engine, 4, given, knobs);
            let (ended, conclusion) = bench.run(Fault::None);
            assert_right(&conclusion, 6, name);
            assert!(ended.conflicts > 0, "{name}");
        }
    }
}

#[test]
fn a_load_has_the_rows_and_their_bytes() {
    let bench = Bench::new(engine("lmdb"), 1, "tables=3 table_size=1500");
    let load = bench.prepare().unwrap();
    assert_eq!(load.records, 4_500);
    // Keys of 9 and 13 bytes, a value of 4 + 119 + 59.
    assert_eq!(load.user_bytes, 4_500 * (9 + 13 + 182));
}

#[test]
fn one_worker_leaves_the_same_rows_in_both_stores() {
    let given = "events=300 table_size=100";
    let done = |store: &str| {
        let bench = Bench::new(engine("sqlite"), 1, &format!("{given} store={store}"));
        let (_, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion, 8, store);
        bench
    };
    let records = done("kv").records();
    let mut rows = 0;
    done("sql").tamper(|session| {
        let sql = session.sql().unwrap();
        let query = "SELECT id, k, c, pad FROM sbtest1";
        let query = sql.prepare(query).unwrap();
        let shown = sql.query(query, &[], &mut |row| {
            let [
                Datum::Integer(id),
                Datum::Integer(k),
                Datum::Text(c),
                Datum::Text(pad),
            ] = row
            else {
                panic!("{row:?}");
            };
            let value = &records[&row_key(1, *id as u32)];
            assert_eq!(i64::from(k_of(value)), *k, "row {id}");
            assert_eq!(value[4..], [c.as_bytes(), pad.as_bytes()].concat());
            rows += 1;
            ControlFlow::Continue(())
        });
        shown.unwrap();
    });
    assert_eq!(rows, 100);
}

#[test]
fn conflicts_are_tried_again_with_the_same_transaction_and_lose_nothing() {
    for (script, more, checks) in SCRIPTS {
        let given = format!("script={script} {more} retry_pause=10");
        let bench = Bench::reference(2, &given);
        let (ended, conclusion) = bench.run(Fault::ConflictsAtCommit(3));
        assert_right(&conclusion, checks, script);
        assert!(ended.conflicts > 50, "{script}: {}", ended.conflicts);
        assert_eq!(ended.counts, [200], "{script}");
    }
}

#[test]
fn statements_that_are_transactions_of_their_own_do_the_same() {
    for given in ["skip_trx=on delete_inserts=0", "skip_trx=on"] {
        let workers = if given.contains("inserts") { 3 } else { 1 };
        let bench = Bench::reference(workers, given);
        let (ended, conclusion) = bench.run(Fault::ConflictsAtCommit(4));
        assert_right(&conclusion, 8, given);
        assert!(ended.conflicts > 0, "{given}");
    }
}

#[test]
fn a_warm_up_is_not_counted_and_is_verified_all_the_same() {
    let mut bench = Bench::reference(2, "");
    bench.warm_up = 30;
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, 8, "a warm-up");
    assert_eq!(ended.counts, [200]);
}

fn detail(conclusion: &JobResults, name: &str) -> String {
    let mut checks = conclusion.checks.iter();
    let check = checks.find(|check| check.name == name);
    check.unwrap().detail.clone()
}

#[test]
fn a_sample_compares_a_tenth_of_the_rows_and_every_entry_of_the_index() {
    let mut bench = Bench::reference(2, "");
    bench.verify = VerifyLevel::Sample;
    let (_, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, 8, "a sample");
    assert_eq!(
        detail(&conclusion, "contents"),
        "20 rows intact, to the last byte"
    );
    assert_eq!(
        detail(&conclusion, "index"),
        "200 entries, one for each row"
    );
    assert!(detail(&conclusion, "reads").contains("every tenth"));
}

#[test]
fn workers_that_are_processes_do_not_know_of_each_other_and_the_check_says_so() {
    for (script, more, checks) in SCRIPTS {
        let given = format!("script={script} {more}");
        let mut bench = Bench::reference(3, &given);
        bench.kind = WorkerKind::Processes;
        let (_, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion, checks, script);
        if script == "oltp_read_write" {
            assert!(detail(&conclusion, "reads").contains(Check::STALE_UNKNOWN));
        }
    }
}

#[test]
fn nothing_is_checked_where_verification_is_off() {
    let mut bench = Bench::reference(2, "");
    bench.verify = VerifyLevel::Off;
    let (ended, conclusion) = bench.run(Fault::LosesPuts(5));
    assert_eq!(ended.counts, [200]);
    assert!(conclusion.checks.is_empty());
}

#[test]
fn scripts_that_only_read_share_a_load_and_others_load_anew() {
    let reads = job("script=oltp_read_only").unwrap();
    let points = job("script=oltp_point_select").unwrap();
    assert!(reads.load_key().is_some());
    assert_eq!(reads.load_key(), points.load_key());
    assert_ne!(
        reads.load_key(),
        job("script=oltp_read_only table_size=20")
            .unwrap()
            .load_key()
    );
    assert_eq!(job("").unwrap().load_key(), None);
    let mut bench = Bench::reference(2, "script=oltp_read_only");
    assert_eq!(failed(&bench.run(Fault::None).1), [""; 0]);
    bench.generation = 1;
    let loaded =
        |bench: &Bench| bench.target(|target| bench.job.prepare(target, ExistingDatabase::Loaded));
    assert_eq!(loaded(&bench), Ok(None));
    let ended = bench.work_together(Fault::None);
    assert_right(&bench.verify(&ended), 8, "a second trial");
    assert!(loaded(&Bench::reference(2, "")).is_err());
}

#[test]
fn deletes_that_find_no_row_are_counted() {
    let bench = Bench::reference(1, "script=oltp_delete events=300");
    bench.prepare();
    let mut session = bench.database.session().unwrap();
    let outcome = bench.work_through(0, &mut *session);
    drop(session);
    let not_found = outcome.0.not_found[0];
    let ended = bench.sum_up(vec![outcome]);
    let conclusion = bench.verify(&ended);
    assert_right(&conclusion, 6, "deletes");
    let left: u64 = conclusion.results["rows at the end"]
        .to_string()
        .parse()
        .unwrap();
    assert!(not_found > 0);
    assert_eq!(left, 200 - (300 - not_found));
}

#[test]
fn the_latency_of_a_transaction_begins_once_after_it_was_drawn() {
    for given in ["", "skip_trx=on", "script=oltp_point_select"] {
        let bench = Bench::reference(1, given);
        bench.prepare();
        let mut session = bench.database.session().unwrap();
        let (meter, ..) = bench.work_through(0, &mut *session);
        assert_eq!((meter.starts, meter.counts), (200, vec![200]), "{given}");
    }
}
