//! The tables in SQL: the statements of the scripts, and the faults that verification finds.

use super::harness::{Bench, Fault, assert_right, engine, failed};
use crate::statement_session::{BEGIN, COMMIT, StatementSession};
use trueput_workloads::JobResults;

fn bench(given: &str) -> Bench {
    let given = format!("store=sql rand_type=uniform {given}");
    Bench::new(engine("sqlite"), 1, &given)
}

/// One worker's trial through a session that may lose a statement, and what it sent.
fn tried(given: &str, lost: Option<(&'static str, u64)>) -> (JobResults, Vec<String>) {
    let bench = bench(given);
    bench.prepare();
    let session = StatementSession::new(bench.database.session().unwrap());
    let mut session = match lost {
        Some((start, execution)) => session.losing(start, execution),
        None => session,
    };
    let outcome = bench.work_through(0, &mut session);
    let sent = std::mem::take(&mut session.sent);
    drop(session);
    let ended = bench.sum_up(vec![outcome]);
    (bench.verify(&ended), sent)
}

#[test]
fn each_script_sends_the_statements_of_sysbench() {
    const POINT: &str = "SELECT c FROM sbtest1 WHERE id = ?";
    const DELETE: &str = "DELETE FROM sbtest1 WHERE id = ?";
    const INSERT: &str = "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)";
    const SET_K: &str = "UPDATE sbtest1 SET k = k + 1 WHERE id = ?";
    const SET_C: &str = "UPDATE sbtest1 SET c = ? WHERE id = ?";
    let ranges = [
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    ];
    let writes = [SET_K, SET_C, DELETE, INSERT];
    let transaction = |parts: &[&[&'static str]]| -> Vec<&'static str> {
        [&[BEGIN][..], &parts.concat(), &[COMMIT]].concat()
    };
    let points = [POINT; 10];
    let by_k = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)";
    let counts = "SELECT COUNT(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?";
    let two_points = "script=select_random_points random_points=3";
    let two_ranges = "script=select_random_ranges number_of_ranges=2";
    for (given, expected) in [
        ("", transaction(&[&points, &ranges, &writes])),
        ("script=oltp_read_only", transaction(&[&points, &ranges])),
        ("script=oltp_write_only", transaction(&[&writes])),
        ("script=oltp_point_select", vec![POINT]),
        ("script=oltp_update_index", vec![SET_K]),
        ("script=oltp_update_non_index", vec![SET_C]),
        ("script=oltp_delete", vec![DELETE]),
        ("script=oltp_insert", vec![INSERT]),
        (two_points, vec![by_k]),
        (two_ranges, vec![counts]),
        ("script=oltp_write_only skip_trx=on", writes.to_vec()),
    ] {
        let (conclusion, sent) = tried(&format!("{given} events=3"), None);
        assert_eq!(failed(&conclusion), [""; 0], "{given}");
        assert_eq!(sent, expected.repeat(3), "{given}");
    }
}

#[test]
fn a_statement_that_is_lost_is_found() {
    for (given, start, checks) in [
        (
            "script=oltp_update_index",
            "UPDATE sbtest1 SET k",
            &["k", "sum of k"][..],
        ),
        (
            "script=oltp_update_non_index",
            "UPDATE sbtest1 SET c",
            &["versions"],
        ),
        (
            "script=oltp_write_only index_updates=0 non_index_updates=0",
            "INSERT INTO sbtest1",
            &["rows"],
        ),
        ("script=oltp_insert", "INSERT INTO sbtest1", &["rows"]),
        ("script=oltp_delete events=1", "DELETE", &["rows"]),
    ] {
        let control = tried(given, None).0;
        assert_eq!(failed(&control), [""; 0], "the control of {given}");
        // The last one, so that nothing covers it.
        let last = if start == "DELETE" { 0 } else { 199 };
        let lost = tried(given, Some((start, last))).0;
        assert_eq!(failed(&lost), checks, "{given}");
    }
}

/// The checks that fail if the tables are changed by a statement after a sound trial.
fn failing_after(statement: &str) -> Vec<String> {
    let bench = bench("");
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, 8, "the control");
    bench.tamper(|session| session.sql().unwrap().batch(statement).unwrap());
    failed(&bench.verify(&ended))
}

#[test]
fn changes_behind_the_back_are_found() {
    for (statement, checks) in [
        (
            "UPDATE sbtest1 SET k = k + 1000 WHERE id = 5",
            &["k", "sum of k"][..],
        ),
        (
            "UPDATE sbtest1 SET c = (SELECT c FROM sbtest1 WHERE id = 6) WHERE id = 5",
            &["contents"],
        ),
        ("UPDATE sbtest1 SET pad = '' WHERE id = 5", &["contents"]),
        ("DELETE FROM sbtest1 WHERE id = 5", &["rows"]),
    ] {
        assert_eq!(failing_after(statement), checks, "{statement}");
    }
}

#[test]
fn the_index_is_what_its_check_reads() {
    let bench = bench("");
    let (ended, _) = bench.run(Fault::None);
    let verify = || bench.target(|target| bench.job.verify(target, &ended));
    assert!(verify().is_ok());
    bench.tamper(|session| {
        let partial = "DROP INDEX k_1; CREATE INDEX k_1 ON sbtest1 (k) WHERE id <> 5";
        session.sql().unwrap().batch(partial).unwrap();
    });
    let error = verify().unwrap_err().to_string();
    assert!(error.contains("looking at the tables"), "{error}");
}
