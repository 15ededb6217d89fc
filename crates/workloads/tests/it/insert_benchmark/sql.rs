//! The tables in SQL: the statements of the steps, and the faults that verification finds.

use super::harness::{Bench, assert_right, engine, failed, failures};
use crate::counting_meter::sum_up;
use crate::statement_session::StatementSession;
use trueput_workloads::JobResults;

fn bench(steps: &[&str]) -> Bench {
    let mut bench = Bench::new(engine("sqlite"), 1, "store=sql");
    bench.passes(steps);
    bench
}

/// What the first worker of a step sends, each text once, in their order.
fn sent_by_first_worker(bench: &mut Bench, step: &str) -> Vec<String> {
    bench.prepare_step(step).unwrap();
    bench.prime().unwrap();
    let mut session = StatementSession::new(bench.database.session().unwrap());
    bench.work_through(0, &mut session);
    let mut sent = std::mem::take(&mut session.sent);
    drop(session);
    let mut known = std::collections::HashSet::new();
    sent.retain(|text| known.insert(text.clone()));
    sent
}

#[test]
fn inserts_and_queries_are_single_statements_outside_of_a_transaction() {
    let sent = sent_by_first_worker(&mut bench(&[]), "l.i0");
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].starts_with("INSERT INTO pi1 (transactionid, "));
    assert_eq!(sent[0].matches("(?, ").count(), 100);
    let mut sent = sent_by_first_worker(&mut bench(&["l.i0", "l.x"]), "qr100");
    sent.sort();
    assert_eq!(sent.len(), 3, "{sent:?}");
    for (text, first) in sent.iter().zip(["cashregisterid", "price", "productid"]) {
        assert!(text.starts_with(&format!("SELECT {first}, ")), "{text}");
    }
    let sent = sent_by_first_worker(&mut bench(&["l.i0", "l.x"]), "qp100");
    let point = "SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (?";
    assert_eq!(sent[0], "SELECT MAX(transactionid) FROM pi1");
    assert!(sent[1].starts_with(point), "{sent:?}");
    assert_eq!(sent.len(), 2);
}

#[test]
fn a_query_reads_its_index_alone() {
    let bench = bench(&["l.i0", "l.x"]);
    let mut session = bench.database.session().unwrap();
    let sql = session.sql().unwrap();
    for (columns, first, index) in [
        (
            "productid, customerid, price",
            "productid",
            "pi1_marketsegment",
        ),
        ("price, dateandtime, customerid", "price", "pi1_pdc"),
    ] {
        let query = format!(
            "EXPLAIN QUERY PLAN SELECT {columns} FROM pi1 WHERE {first} >= ? \
             ORDER BY {columns} LIMIT 10"
        );
        let statement = sql.prepare(&query).unwrap();
        let mut plan = String::new();
        sql.query(
            statement,
            &[trueput_engine::Datum::Integer(1)],
            &mut |row| {
                plan += &format!("{row:?}");
                std::ops::ControlFlow::Continue(())
            },
        )
        .unwrap();
        let covering = format!("COVERING INDEX {index}");
        assert!(plan.contains(&covering), "{plan}");
    }
}

/// The results of l.i1 whose deleter's session loses a statement.
fn losing_delete(execution: u64) -> JobResults {
    let mut bench = bench(&["l.i0", "l.x"]);
    bench.prepare_step("l.i1").unwrap();
    bench.prime().unwrap();
    // The inserter may be ahead by as many transactions as it has.
    let mut session = bench.database.session().unwrap();
    let inserted = bench.work_through(0, &mut *session);
    drop(session);
    let session = StatementSession::new(bench.database.session().unwrap());
    let mut session = session.losing("DELETE FROM pi1", execution);
    let deleted = bench.work_through(1, &mut session);
    drop(session);
    let outcomes = [inserted, deleted];
    let (ended, _) = sum_up(bench.job.kinds().len(), bench.verify, outcomes);
    bench.verify(&ended)
}

#[test]
fn a_delete_that_is_lost_is_found() {
    assert_right(&losing_delete(1_000), "the control");
    let lost = losing_delete(3);
    let failures = failures(&lost);
    // The lost statement says that it changed one row.
    assert_eq!(failures["rows deleted"], "expected 400, found 351");
    assert_eq!(failures["rows"], "expected 1000, found 1050");
    assert!(failures["each row"].contains("row 151 of pi1 should not be there"));
    for index in ["marketsegment", "registersegment", "pdc"] {
        assert!(failures[index].contains("has an entry and is not there"));
    }
}

/// The checks that fail if the tables are changed by a statement after a sound step.
fn changed_after(statement: &str) -> Vec<String> {
    let mut bench = bench(&["l.i0", "l.x"]);
    let (ended, conclusion) = bench.run("l.i2", None);
    assert_right(&conclusion, "the control");
    bench.tamper(|session| session.sql().unwrap().batch(statement).unwrap());
    failed(&bench.verify(&ended))
}

#[test]
fn changes_behind_the_back_are_found() {
    let all = [
        "each row",
        "marketsegment",
        "pdc",
        "registersegment",
        "rows",
    ];
    let gone = "DELETE FROM pi1 WHERE transactionid = 500";
    assert_eq!(changed_after(gone), all);
    let priced = "UPDATE pi1 SET price = price + 1 WHERE transactionid = 500";
    assert_eq!(changed_after(priced), all[..4]);
    let dated = "UPDATE pi1 SET dateandtime = dateandtime + 1 WHERE transactionid = 500";
    assert_eq!(changed_after(dated), ["each row", "pdc"]);
    let filled = "UPDATE pi1 SET data = 'x' WHERE transactionid = 500";
    assert_eq!(changed_after(filled), ["each row"]);
}
