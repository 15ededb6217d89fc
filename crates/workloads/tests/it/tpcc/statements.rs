//! The statements sent to servers that are not available here: the transactions in the SQL of
//! Informix and of InterSystems IRIS, over tables of SQLite's, which takes the same statements.

use super::harness::{Bench, engine};
use crate::statement_session::StatementSession;
use trueput_engine::Dialect;
use trueput_engine::testing::Fault;
use trueput_workloads::fixed_text::FixedText;
use trueput_workloads::tpcc::input::{CustomerSelector, Line, NewOrder, Payment};
use trueput_workloads::tpcc::procedures::NewOrderOutcome;
use trueput_workloads::tpcc::store::{TableStore, tables};
use trueput_workloads::tpcc::transaction::{TransactionBuffers, new_order, payment};

/// The statements of a dialect for an order of two items, a payment by number and one by name, and
/// the number that the order got.
fn sent_in(bench: &Bench, dialect: Dialect) -> ([Vec<String>; 3], u32) {
    bench.target(|target| {
        let session = StatementSession::new(target.database.session().unwrap());
        let mut session = session.speaking(dialect);
        let mut scratch = TransactionBuffers::default();
        let lines = [1, 2].map(|item| Line {
            item,
            supplier: 1,
            quantity: 5,
        });
        let input = NewOrder::of(1, 1, 1, &lines);
        let mut store = tables(&mut session, TableStore::Sql).unwrap();
        let ordered = new_order(&mut *store, &mut scratch, &input, 1).unwrap();
        drop(store);
        let NewOrderOutcome::Committed { order, .. } = ordered else {
            panic!("{ordered:?}");
        };
        let mut all = vec![std::mem::take(&mut session.sent)];
        let name = FixedText::new("BARBARBAR").unwrap();
        for (key, who) in (1..).zip([
            CustomerSelector::Number(1),
            CustomerSelector::LastName(name),
        ]) {
            let input = Payment {
                warehouse: 1,
                district: 1,
                customer_warehouse: 1,
                customer_district: 1,
                who,
                amount: 100,
            };
            let mut store = tables(&mut session, TableStore::Sql).unwrap();
            payment(&mut *store, &mut scratch, &input, 2, (order, key)).unwrap();
            drop(store);
            all.push(std::mem::take(&mut session.sent));
        }
        (all.try_into().unwrap(), order)
    })
}

/// The statements that change a table or read it first of all.
fn about<'s>(sent: &'s [String], table: &str) -> Vec<&'s str> {
    let (change, read) = (format!("UPDATE {table} "), format!("FROM {table} WHERE"));
    let is_about = |text: &&str| text.starts_with(&change) || text.contains(&read);
    sent.iter().map(String::as_str).filter(is_about).collect()
}

/// Whether the statements begin as they should, one by one.
fn begin_so(sent: &[&str], starts: &[&str]) -> bool {
    let pairs = sent.iter().zip(starts);
    let fit =
        sent.len() == starts.len() && pairs.clone().all(|(text, start)| text.starts_with(start));
    if !fit {
        eprintln!("{sent:#?}");
    }
    fit
}

fn bench() -> Bench {
    let given = "store=sql cardinality=hundredth";
    let bench = Bench::new(engine("sqlite"), Fault::None, 1, given);
    bench.prepare().unwrap();
    bench
}

#[test]
fn what_informix_and_iris_read_to_write_is_updated_first_and_so_locked() {
    let bench = bench();
    let mut orders = Vec::new();
    for dialect in [Dialect::Informix, Dialect::Iris] {
        let ([placed, by_number, by_name], order) = sent_in(&bench, dialect);
        orders.push(order);
        assert_eq!(
            about(&placed, "district"),
            [
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
                "SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = ? AND d_id = ?",
            ]
        );
        let touch = "UPDATE stock SET s_quantity = s_quantity \
                     WHERE s_w_id = ? AND s_i_id IN (?, ?)";
        let write = "UPDATE stock SET s_quantity = CASE";
        assert!(begin_so(
            &about(&placed, "stock"),
            &[touch, "SELECT s_i_id", write]
        ));
        let (touch, write) = (
            "UPDATE customer SET c_balance = c_balance WHERE c_w_id = ? AND c_d_id = ? AND ",
            "UPDATE customer SET c_balance = ?",
        );
        let (number, name) = (format!("{touch}c_id = ?"), format!("{touch}c_last = ?"));
        let row = "SELECT c_w_id";
        assert!(begin_so(
            &about(&by_number, "customer"),
            &[&number, row, write]
        ));
        let named = [name.as_str(), "SELECT c_id FROM", row, write];
        assert!(begin_so(&about(&by_name, "customer"), &named));
    }
    assert_eq!(
        orders[0] + 1,
        orders[1],
        "one order's number after the other's"
    );
}

#[test]
fn a_database_that_is_locked_whole_is_sent_no_update_before_a_read() {
    let ([placed, by_number, _], _) = sent_in(&bench(), Dialect::Sqlite);
    let write = "UPDATE stock SET s_quantity = CASE";
    assert!(begin_so(
        &about(&placed, "stock"),
        &["SELECT s_i_id", write]
    ));
    let write = "UPDATE customer SET c_balance = ?";
    assert!(begin_so(
        &about(&by_number, "customer"),
        &["SELECT c_w_id", write]
    ));
}
