//! Faults of an engine are found; the same trials on a sound engine pass.

use super::harness::{Bench, Fault, assert_right, failed, failures};
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Session};
use trueput_workloads::JobResults;

/// The first bytes of the keys of tellers, accounts and history.
const TELLERS: u8 = 2;
const ACCOUNTS: u8 = 3;
const HISTORY: u8 = 4;

/// The results of one worker's trial of a script on an engine with a fault.
fn tried(script: &str, fault: Fault) -> JobResults {
    let bench = Bench::reference(1, &format!("script={script}"));
    bench.run(fault).1
}

/// The checks that fail where a table's balances are wrong.
fn of_table(table: &str) -> [String; 3] {
    [
        format!("each of the {table}"),
        format!("sum of the {table}"),
        "sums agree".to_owned(),
    ]
}

#[test]
fn an_update_that_is_lost_is_found_in_its_table() {
    // A transaction puts an account, a teller, a branch and a row of history.
    assert_right(&tried("tpcb-like", Fault::None), "the control");
    let [each, sum, agree] = of_table("accounts");
    let lost = failed(&tried("tpcb-like", Fault::LosesPut(40)));
    assert_eq!(lost, [&*each, "reads", &*sum, &*agree]);
    for (put, table) in [(41, "tellers"), (42, "branches")] {
        let lost = failed(&tried("tpcb-like", Fault::LosesPut(put)));
        assert_eq!(lost, of_table(table));
    }
    let lost = failed(&tried("simple-update", Fault::LosesPut(20)));
    assert_eq!(lost, [&*each, "reads", &*sum, &*agree]);
}

#[test]
fn a_row_of_history_that_is_lost_is_found() {
    for (script, put) in [("tpcb-like", 43), ("simple-update", 21)] {
        let conclusion = tried(script, Fault::LosesPut(put));
        assert_eq!(failed(&conclusion), ["history", "sums agree"]);
        let detail = &failures(&conclusion)["history"];
        assert_eq!(detail, "rows: expected 400, found 399");
    }
}

#[test]
fn updates_that_overwrite_each_other_are_found() {
    let bench = Bench::reference(4, "");
    let (_, conclusion) = bench.run(Fault::LosesUpdates);
    let lost = failed(&conclusion);
    for name in of_table("branches") {
        assert!(lost.contains(&name), "{lost:?}");
    }
}

#[test]
fn a_balance_that_is_older_than_a_commit_before_the_read_is_found() {
    let script = "tpcb-like~select-only";
    assert_right(&tried(script, Fault::None), "the control");
    let conclusion = tried(script, Fault::ShowsFirstValue);
    let reads = &failures(&conclusion)["reads"];
    assert!(reads.contains("no set of commits gives"), "{reads}");
    let conclusion = tried(script, Fault::ShowsFormerValue(5));
    assert!(failed(&conclusion).contains(&"reads".to_owned()));
}

/// The records of a table.
fn records(session: &mut dyn Session, table: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (lower, upper) = ([table], [table + 1]);
    let mut records = Vec::new();
    let range = KeyRange::between(&lower, &upper);
    let mut visit = |key: &[u8], value: &[u8]| {
        records.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    session.scan(range, Direction::Forward, &mut visit).unwrap();
    records
}

/// The checks that fail, with their details, if a table's records are changed after a sound trial.
fn changed_after(table: u8, change: impl FnOnce(&mut dyn Session, &[u8], Vec<u8>)) -> JobResults {
    let bench = Bench::reference(2, "");
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion, "the control");
    bench.tamper(|session| {
        let (key, value) = records(session, table).swap_remove(7);
        change(session, &key, value);
    });
    bench.verify(&ended)
}

#[test]
fn a_balance_that_is_changed_behind_the_back_is_found() {
    for (table, name) in [(TELLERS, "tellers"), (ACCOUNTS, "accounts")] {
        let conclusion = changed_after(table, |session, key, mut value| {
            value[0] ^= 1;
            session.put(key, &value).unwrap();
        });
        assert_eq!(failed(&conclusion), of_table(name));
        let detail = &failures(&conclusion)[&format!("each of the {name}")];
        assert!(detail.starts_with("1 wrong; "), "{detail}");
        assert!(detail.contains("its deltas add up to"), "{detail}");
    }
}

#[test]
fn damage_to_other_columns_is_found() {
    let changed = |place: usize| {
        let conclusion = changed_after(ACCOUNTS, |session, key, mut value| {
            value[place] ^= 1;
            session.put(key, &value).unwrap();
        });
        assert_eq!(failed(&conclusion), ["each of the accounts"]);
        failures(&conclusion)["each of the accounts"].clone()
    };
    assert_eq!(changed(4), "1 wrong; account 8 is of branch 0");
    assert_eq!(changed(91), "1 wrong; the filler of account 8 is not blank");
}

#[test]
fn rows_that_are_not_there_or_should_not_be_are_found() {
    let gone = changed_after(ACCOUNTS, |session, key, _| session.delete(key).unwrap());
    let details = failures(&gone);
    assert_eq!(details["rows of accounts"], "expected 100, found 99");
    let each = &details["each of the accounts"];
    assert_eq!(each, "1 wrong; account 8 is not there");
    let added = changed_after(ACCOUNTS, |session, key, mut value| {
        let key = [&key[..4], &[101]].concat();
        value[..4].fill(0);
        session.put(&key, &value).unwrap();
    });
    let details = failures(&added);
    assert_eq!(details["rows of accounts"], "expected 100, found 101");
    let each = &details["each of the accounts"];
    assert_eq!(each, "1 wrong; account 101 should not be there");
}

#[test]
fn a_row_of_history_of_another_account_is_found() {
    // The account is the third number; each of the sums stays as it is.
    let conclusion = changed_after(HISTORY, |session, key, mut value| {
        value[8] ^= 1;
        session.put(key, &value).unwrap();
    });
    assert_eq!(failed(&conclusion), ["history"]);
    let detail = &failures(&conclusion)["history"];
    assert!(detail.starts_with("sum of hashes: "), "{detail}");
}

#[test]
fn rows_that_a_script_does_not_find_are_counted_and_fail_the_trial() {
    for (table, row) in [
        (ACCOUNTS, "accounts not found, first account 8"),
        (TELLERS, "tellers not found, first teller 8"),
    ] {
        let bench = Bench::reference(1, "accounts=10");
        bench.prepare().unwrap();
        bench.tamper(|session| {
            let (key, _) = records(session, table).swap_remove(7);
            session.delete(&key).unwrap();
        });
        let mut session = bench.database.session().unwrap();
        let (meter, found) = bench.work_through(0, &mut *session);
        drop(session);
        assert!(meter.not_found[0] > 10, "{:?}", meter.not_found);
        assert_eq!(meter.counts, [400]);
        let (ended, _) = crate::counting_meter::sum_up(1, bench.verify, [(meter, found)]);
        let details = failures(&bench.verify(&ended));
        assert!(details["reads"].contains(row), "{}", details["reads"]);
    }
}

#[test]
fn a_sample_finds_a_change_of_any_account_and_names_it_if_it_is_compared() {
    let failing = |index: usize| {
        let mut bench = Bench::reference(1, "");
        bench.verify = trueput_record::VerifyLevel::Sample;
        let (ended, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion, "the control");
        bench.tamper(|session| {
            let (key, mut value) = records(session, ACCOUNTS).swap_remove(index);
            value[0] ^= 1;
            session.put(&key, &value).unwrap();
        });
        bench.failed(&ended)
    };
    assert_eq!(failing(10), of_table("accounts"));
    assert_eq!(failing(7), of_table("accounts")[1..]);
}
