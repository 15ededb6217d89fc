//! Faults of an engine are found; the same steps on a sound engine pass in `engines`.

use super::harness::{Bench, Fault, assert_right, failed, failures};
use trueput_engine::Session;
use trueput_workloads::JobResults;

/// The indexes, in the order in which they are created and in which a row's entries are put.
const INDEXES: [&str; 3] = ["marketsegment", "registersegment", "pdc"];

/// The workers of a step with queries on one table.
const QUERIER: u32 = 0;
const INSERTER: u32 = 1;
const DELETER: u32 = 2;

/// A bench on which the steps before have run.
fn after(steps: &[&str]) -> Bench {
    let mut bench = Bench::reference(1, "");
    bench.passes(steps);
    bench
}

/// The key of a row of the first table.
fn row_key(id: u64) -> Vec<u8> {
    [&[0, 0, 0, 1, 0][..], &id.to_be_bytes()].concat()
}

#[test]
fn a_row_that_the_load_loses_is_found_wherever_it_is() {
    for number in [0, 123, 999] {
        let failed = after(&[]).failed("l.i0", 0, Fault::LosesPut(number));
        assert_eq!(failed, ["each row", "rows"], "{number}");
    }
    let (_, conclusion) = after(&[]).run("l.i0", Some((0, Fault::LosesPut(123))));
    let detail = &failures(&conclusion)["each row"];
    assert_eq!(detail, "1 wrong; row 124 of pi1 is not there");
}

#[test]
fn an_entry_that_the_creation_of_an_index_loses_is_found() {
    // The entries of one index after the other are put, each of 1,000 rows.
    for (place, name) in (0..).zip(INDEXES) {
        let lost = Fault::LosesPut(1_000 * place + 500);
        assert_eq!(after(&["l.i0"]).failed("l.x", 0, lost), [name]);
    }
}

#[test]
fn a_row_or_an_entry_that_an_insert_loses_is_found() {
    // A row is put with its three entries: four puts.
    for step in ["l.i1", "l.i2"] {
        let mut bench = after(&["l.i0", "l.x"]);
        assert_eq!(
            bench.failed(step, 0, Fault::LosesPut(40)),
            ["each row", "rows"],
            "the entries of a lost row are no fault of theirs"
        );
        for (place, name) in (0..).zip(INDEXES) {
            let mut bench = after(&["l.i0", "l.x"]);
            let failed = bench.failed(step, 0, Fault::LosesPut(41 + place));
            assert_eq!(failed, [name], "{step}");
        }
    }
}

#[test]
fn a_row_or_an_entry_that_a_delete_loses_is_found() {
    for step in ["l.i1", "l.i2"] {
        let mut bench = after(&["l.i0", "l.x"]);
        let failed = bench.failed(step, 1, Fault::LosesDelete(40));
        assert_eq!(failed, ["each row", "rows"], "{step}");
        for (place, name) in (0..).zip(INDEXES) {
            let mut bench = after(&["l.i0", "l.x"]);
            let (_, conclusion) = bench.run(step, Some((1, Fault::LosesDelete(41 + place))));
            let failures = failures(&conclusion);
            assert_eq!(failures.len(), 1, "{step}: {failures:?}");
            assert!(failures[name].contains("row 11 of pi1 has an entry and is not there"));
        }
    }
}

#[test]
fn writers_beside_queries_are_checked_too() {
    for step in ["qr100", "qp100"] {
        let mut bench = after(&["l.i0", "l.x"]);
        let failed = bench.failed(step, INSERTER, Fault::LosesPut(44));
        assert!(failed.contains(&"rows".to_owned()), "{failed:?}");
        let mut bench = after(&["l.i0", "l.x"]);
        let failed = bench.failed(step, DELETER, Fault::LosesDelete(41));
        assert!(failed.contains(&"marketsegment".to_owned()), "{failed:?}");
    }
}

#[test]
fn a_row_with_other_content_is_found() {
    let failed = after(&[]).failed("l.i0", 0, Fault::CorruptsPuts(1_000));
    assert_eq!(failed, ["each row"]);
}

#[test]
fn a_range_query_that_leaves_out_a_row_is_found() {
    for fault in [Fault::SkipsFirstRecord, Fault::SkipsRecords(7)] {
        let failed = after(&["l.i0", "l.x"]).failed("qr100", QUERIER, fault);
        assert_eq!(failed, ["queries"], "{fault:?}");
    }
    let mut bench = after(&["l.i0", "l.x"]);
    let (_, conclusion) = bench.run("qr100", Some((QUERIER, Fault::SkipsFirstRecord)));
    let detail = &failures(&conclusion)["queries"];
    assert!(detail.contains("missing (first record"), "{detail}");
}

#[test]
fn a_point_query_that_shows_another_row_is_found() {
    for fault in [Fault::FlipsReadBit(17), Fault::ShowsOtherValue] {
        let failed = after(&["l.i0", "l.x"]).failed("qp100", QUERIER, fault);
        assert_eq!(failed, ["queries"], "{fault:?}");
    }
}

#[test]
fn a_newest_row_that_is_not_found_is_missed() {
    let searched = |fault| {
        let mut bench = after(&["l.i0", "l.x"]);
        bench.prepare_step("qp100").unwrap();
        bench.prime().unwrap();
        bench.verify(&bench.work_alone(QUERIER, fault))
    };
    assert_right(&searched(Fault::None), "the control");
    let failures = failures(&searched(Fault::SkipsFirstRecord));
    assert!(failures["queries"].contains("missing (first record 999)"));
    assert_eq!(failures.len(), 1, "{failures:?}");
}

/// The results of a step before which the database was changed, after its workers learned what they
/// need.
fn changed_before(step: &str, change: impl FnOnce(&mut dyn Session)) -> JobResults {
    let mut bench = after(&["l.i0", "l.x"]);
    bench.prepare_step(step).unwrap();
    bench.prime().unwrap();
    bench.tamper(change);
    let ended = bench.work_together(None);
    bench.verify(&ended)
}

#[test]
fn rows_that_are_gone_are_missed_by_point_queries_and_deletes() {
    assert_right(&changed_before("qp100", |_| {}), "the control");
    // So many that some of 1,980 look-ups among 1,000 rows meet one.
    let gone = changed_before("qp100", |session| {
        for id in 500..530 {
            session.delete(&row_key(id)).unwrap();
        }
    });
    let details = failures(&gone);
    assert!(details["queries"].contains(" missing (first record 5"));
    let rows = &details["each row"];
    assert_eq!(rows, "30 wrong; row 500 of pi1 is not there");
    // The third of six deletes of 50 rows would have deleted it.
    let gone = failed(&changed_before("qp100", |session| {
        session.delete(&row_key(120)).unwrap();
    }));
    assert!(gone.contains(&"rows deleted".to_owned()), "{gone:?}");
    let oldest = changed_before("l.i1", |session| session.delete(&row_key(1)).unwrap());
    let queries = &failures(&oldest)["queries"];
    assert!(queries.contains("missing (first record 2)"), "{queries}");
}

/// The key of an entry of the second index: register, customer, price and id.
fn register_key(register: u32, id: u64) -> Vec<u8> {
    let numbers = [register, 7, 7].map(u32::to_be_bytes).concat();
    [&[0, 0, 0, 1, 2][..], &numbers, &id.to_be_bytes()].concat()
}

#[test]
fn an_entry_of_no_row_is_found_by_range_queries_and_at_the_end() {
    // At the beginning of so many cash registers that a query meets one.
    let stale = changed_before("qr100", |session| {
        for register in 0..1_000 {
            session.put(&register_key(register, 500), &[]).unwrap();
        }
    });
    let failures = failures(&stale);
    assert!(failures["queries"].contains("of another record or damaged"));
    assert!(failures["registersegment"].contains("an entry of other columns"));
    assert_eq!(failures.len(), 2, "{failures:?}");
}
