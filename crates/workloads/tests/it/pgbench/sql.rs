//! The tables in SQL: the statements of each script, and the faults that verification finds.

use super::harness::{Bench, Fault, assert_right, engine, failed, failures};
use crate::counting_meter::sum_up;
use crate::statement_session::{BEGIN, COMMIT, StatementSession};
use trueput_workloads::JobResults;

const ADD_TO_ACCOUNT: &str = "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?";
const BALANCE: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = ?";
const ADD_TO_TELLER: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?";
const ADD_TO_BRANCH: &str = "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?";
const INSERT_HISTORY: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                              VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)";

fn bench(given: &str) -> Bench {
    Bench::new(engine("sqlite"), 1, &format!("store=sql {given}"))
}

/// One worker's trial through a session that may lose a statement, and what it sent.
fn tried(given: &str, lost: Option<(&'static str, u64)>) -> (JobResults, Vec<String>) {
    let bench = bench(given);
    bench.prepare().unwrap();
    let session = StatementSession::new(bench.database.session().unwrap());
    let mut session = match lost {
        Some((start, execution)) => session.losing(start, execution),
        None => session,
    };
    let outcome = bench.work_through(0, &mut session);
    let sent = std::mem::take(&mut session.sent);
    drop(session);
    let (ended, _) = sum_up(bench.job.kinds().len(), bench.verify, [outcome]);
    (bench.verify(&ended), sent)
}

#[test]
fn each_script_sends_the_statements_of_pgbench() {
    let sent = |script: &str| {
        let given = format!("script={script} transactions=3");
        let (conclusion, sent) = tried(&given, None);
        assert_right(&conclusion, script);
        let each = sent.len() / 3;
        assert_eq!(sent[..each], sent[2 * each..], "{script}: {sent:#?}");
        sent[..each].to_vec()
    };
    let tpcb_like = [
        BEGIN,
        ADD_TO_ACCOUNT,
        BALANCE,
        ADD_TO_TELLER,
        ADD_TO_BRANCH,
        INSERT_HISTORY,
        COMMIT,
    ];
    assert_eq!(sent("tpcb-like"), tpcb_like);
    let simple_update = [BEGIN, ADD_TO_ACCOUNT, BALANCE, INSERT_HISTORY, COMMIT];
    assert_eq!(sent("simple-update"), simple_update);
    assert_eq!(sent("select-only"), [BALANCE]);
}

#[test]
fn a_statement_that_is_lost_is_found_in_its_table() {
    assert_right(&tried("", None).0, "the control");
    for (start, table) in [
        (ADD_TO_TELLER, "tellers"),
        (ADD_TO_BRANCH, "branches"),
        (ADD_TO_ACCOUNT, "accounts"),
    ] {
        let lost = failed(&tried("", Some((start, 10))).0);
        for name in [
            format!("each of the {table}"),
            format!("sum of the {table}"),
            "sums agree".to_owned(),
        ] {
            assert!(lost.contains(&name), "{table}: {lost:?}");
        }
        // The account is read after its update.
        let is_read = table == "accounts";
        assert_eq!(lost.contains(&"reads".to_owned()), is_read, "{lost:?}");
    }
    let lost = tried("", Some((INSERT_HISTORY, 10))).0;
    assert_eq!(failed(&lost), ["history", "sums agree"]);
}

/// The results if the tables are changed by a statement after a sound trial.
fn changed_after(statement: &str) -> JobResults {
    let bench = bench("scale=2");
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, "the control");
    bench.tamper(|session| session.sql().unwrap().batch(statement).unwrap());
    bench.verify(&ended)
}

#[test]
fn changes_behind_the_back_are_found() {
    let of_row = ["each of the branches", "sum of the branches", "sums agree"];
    let update = "UPDATE pgbench_branches SET bbalance = bbalance - 1 WHERE bid = 2";
    assert_eq!(failed(&changed_after(update)), of_row);
    // Two balances that change and keep the sum.
    let moved = "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 3; \
                 UPDATE pgbench_accounts SET abalance = abalance - 1 WHERE aid = 200";
    let details = failures(&changed_after(moved));
    assert_eq!(details.len(), 1, "{details:?}");
    let each = &details["each of the accounts"];
    assert!(each.starts_with("2 wrong; account "), "{each}");
    let gone = "DELETE FROM pgbench_history WHERE rowid = 5";
    let details = failures(&changed_after(gone));
    assert_eq!(details["history"], "rows: expected 400, found 399");
    let below = "UPDATE pgbench_accounts SET aid = 0 WHERE aid = 1";
    let details = failures(&changed_after(below));
    let each = &details["each of the accounts"];
    assert!(each.contains("account 0 should not be there"), "{each}");
    let filled = "UPDATE pgbench_accounts SET filler = 'x' WHERE aid = 9";
    assert_eq!(failed(&changed_after(filled)), ["each of the accounts"]);
}

#[test]
fn rows_that_a_script_does_not_find_are_counted_and_fail_the_trial() {
    let bench = bench("accounts=10");
    bench.prepare().unwrap();
    bench.tamper(|session| {
        let statement = "DELETE FROM pgbench_accounts WHERE aid = 3; \
                         DELETE FROM pgbench_branches WHERE bid = 1";
        session.sql().unwrap().batch(statement).unwrap();
    });
    let ended = bench.work_together(Fault::None);
    let reads = &failures(&bench.verify(&ended))["reads"];
    assert!(
        reads.contains("branches not found, first branch 1;"),
        "{reads}"
    );
    assert!(reads.contains("first account 3"), "{reads}");
}
