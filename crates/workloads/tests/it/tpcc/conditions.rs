//! Each condition fails, by its name, if its rows are changed.

use super::harness::{Bench, assert_right, broken, engine, failures};
use std::ops::ControlFlow;
use trueput_engine::testing::Fault;
use trueput_engine::{Direction, KeyRange, Session};

/// The first bytes of the keys of NEW-ORDER and ORDER-LINE.
const NEW_ORDER: u8 = 8;
const ORDER_LINE: u8 = 11;

/// First bytes of keys.
const WAREHOUSE_YTD: u8 = 2;
const DISTRICT: u8 = 3;
const DISTRICT_YTD: u8 = 4;
const CUSTOMER: u8 = 5;
const HISTORY: u8 = 7;
const ORDER: u8 = 9;

const SMALL: &str = "cardinality=hundredth transactions=100";

/// The last record whose key begins with a byte.
fn last(session: &mut dyn Session, space: u8) -> (Vec<u8>, Vec<u8>) {
    let mut found = None;
    let (lower, upper) = ([space], [space + 1]);
    let range = KeyRange::between(&lower, &upper);
    let visitor = &mut |key: &[u8], value: &[u8]| {
        found = Some((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    };
    session.scan(range, Direction::Backward, visitor).unwrap();
    found.unwrap()
}

/// The conditions that a change of the last record of a space breaks.
fn after(space: u8, change: impl FnOnce(&mut dyn Session, Vec<u8>, Vec<u8>)) -> Vec<u32> {
    let bench = Bench::new(engine("lmdb"), Fault::None, 1, SMALL);
    bench.prepare().unwrap();
    let (ended, _) = bench.work_together();
    assert_right(&bench.verify(&ended));
    bench.tamper(|session| {
        let (key, value) = last(session, space);
        change(session, key, value);
    });
    broken(&bench.verify(&ended))
}

/// Adds one to the number that a byte of a record's value begins.
fn raised(at: usize) -> impl FnOnce(&mut dyn Session, Vec<u8>, Vec<u8>) {
    move |session, key, mut value| {
        value[at] = value[at].wrapping_add(1);
        session.put(&key, &value).unwrap();
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it stands beside others of this shape"
)]
fn gone(session: &mut dyn Session, key: Vec<u8>, _value: Vec<u8>) {
    session.delete(&key).unwrap();
}

#[test]
fn a_warehouses_year_to_date_that_is_wrong_breaks_conditions_1_and_8() {
    assert_eq!(after(WAREHOUSE_YTD, raised(0)), [1, 8]);
}

#[test]
fn a_districts_year_to_date_that_is_wrong_breaks_conditions_1_and_9() {
    assert_eq!(after(DISTRICT_YTD, raised(0)), [1, 9]);
}

#[test]
fn an_order_number_that_nobody_got_breaks_condition_2() {
    assert_eq!(after(DISTRICT, raised(0)), [2]);
}

#[test]
fn a_new_order_that_is_gone_breaks_conditions_2_and_5() {
    assert_eq!(after(NEW_ORDER, gone), [2, 5]);
}

#[test]
fn a_gap_among_new_orders_breaks_conditions_3_and_5() {
    let broken = after(NEW_ORDER, |session, mut key, _| {
        let end = key.len() - 1;
        key[end] -= 1;
        session.delete(&key).unwrap();
    });
    assert_eq!(broken, [3, 5]);
}

#[test]
fn an_order_line_that_is_gone_breaks_conditions_4_and_6() {
    assert_eq!(after(ORDER_LINE, gone), [4, 6]);
}

#[test]
fn a_carrier_on_a_new_order_breaks_conditions_5_and_7() {
    assert_eq!(after(ORDER, raised(0)), [5, 7]);
}

#[test]
fn a_delivery_date_on_a_line_of_a_new_order_breaks_condition_7_and_the_customers_balance() {
    // OL_DELIVERY_D is the lowest number where it is not set, so one more is a date.
    assert_eq!(after(ORDER_LINE, raised(0)), [7, 10, 12]);
}

#[test]
fn a_payment_of_another_amount_breaks_conditions_8_9_and_10() {
    let broken = after(HISTORY, raised(22));
    assert_eq!(broken, [8, 9, 10]);
}

#[test]
fn a_balance_that_is_wrong_breaks_conditions_10_and_12() {
    assert_eq!(after(CUSTOMER, raised(0)), [10, 12]);
}

#[test]
fn a_customer_who_vanishes_in_a_run_is_missed() {
    let bench = Bench::new(engine("lmdb"), Fault::None, 1, SMALL);
    bench.prepare().unwrap();
    let (ended, _) = bench.work_together();
    assert_right(&bench.verify(&ended));
    bench.tamper(|session| {
        let (key, _) = last(session, CUSTOMER);
        session.delete(&key).unwrap();
    });
    let failed = failures(&bench.verify(&ended));
    assert!(failed.contains_key("every customer is there"), "{failed:?}");
}

#[test]
fn a_new_order_that_the_load_lost_breaks_condition_11() {
    let fault = Fault::LosesNewRecords(NEW_ORDER, 50);
    let bench = Bench::new(engine("lmdb"), fault, 1, SMALL);
    let error = bench.prepare().unwrap_err().to_string();
    assert!(error.contains("consistency condition 11"), "{error}");
    assert!(error.contains("rows of new_order"), "{error}");
}

#[test]
fn one_order_line_in_ten_thousand_that_is_dropped_breaks_conditions_4_and_6() {
    let fault = Fault::LosesNewRecords(ORDER_LINE, 10_000);
    let given = "cardinality=hundredth transactions=3000";
    let bench = Bench::new(engine("lmdb"), fault, 2, given);
    let (_, conclusion) = bench.run();
    let broken = broken(&conclusion);
    assert!(broken.starts_with(&[4, 6]), "{:?}", failures(&conclusion));
}

#[test]
fn updates_that_are_lost_break_conditions() {
    let given = "cardinality=hundredth transactions=300";
    let bench = Bench::new(engine("lmdb"), Fault::LosesUpdates, 4, given);
    let (_, conclusion) = bench.run();
    let failed = failures(&conclusion);
    assert!(broken(&conclusion).contains(&8), "{failed:?}");
    assert!(
        failed.contains_key("every acknowledged new-order is there"),
        "{failed:?}"
    );
}
