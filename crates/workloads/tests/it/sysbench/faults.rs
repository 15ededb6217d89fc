//! Faults of an engine are found; the same run on a sound one passes.

use super::harness::{Bench, Fault, entry_key, failed, failures, k_of, row_key};
use trueput_engine::Session;

/// The checks that fail after a run of one worker, whose choices are even.
fn failing(given: &str, fault: Fault) -> Vec<String> {
    failing_of(1, given, fault)
}

fn failing_of(workers: u32, given: &str, fault: Fault) -> Vec<String> {
    let given = format!("rand_type=uniform {given}");
    let control = Bench::reference(workers, &given).run(Fault::None).1;
    assert_eq!(failed(&control), [""; 0], "the control of {given}");
    failed(&Bench::reference(workers, &given).run(fault).1)
}

#[test]
fn an_index_entry_that_is_lost_is_missed() {
    let lost = Fault::LosesNewRecords(2, 20);
    assert_eq!(failing("script=oltp_insert", lost), ["index"]);
}

#[test]
fn an_index_entry_that_should_be_gone_is_met() {
    let lost = Fault::LosesDelete(5);
    assert_eq!(failing("script=oltp_update_index", lost), ["index"]);
}

#[test]
fn an_index_update_that_is_lost_is_missed_in_its_row_and_in_the_sum() {
    // The last put: the row of the last update, whose entry has moved.
    let lost = Fault::LosesPut(2 * 200 - 1);
    let failed = failing("script=oltp_update_index", lost);
    assert_eq!(failed, ["index", "k", "sum of k"]);
}

#[test]
fn updates_that_overwrite_each_other_are_missed_in_the_sum() {
    let given = "script=oltp_update_index table_size=10";
    let failed = failing_of(4, given, Fault::LosesUpdates);
    for name in ["k", "sum of k"] {
        assert!(failed.iter().any(|one| one == name), "{failed:?}");
    }
}

#[test]
fn updates_that_overwrite_each_other_are_missed_beside_deletes_and_inserts_too() {
    let given = "script=oltp_write_only table_size=5 index_updates=3 events=300";
    assert!(!failing_of(4, given, Fault::LosesUpdates).is_empty());
}

#[test]
fn a_new_c_that_is_lost_is_an_old_version() {
    let lost = Fault::LosesPut(199);
    assert_eq!(failing("script=oltp_update_non_index", lost), ["versions"]);
}

/// One delete and insert in a transaction: the row is put first, then its entry.
const REPLACES: &str = "script=oltp_write_only index_updates=0 non_index_updates=0";

#[test]
fn a_row_that_was_deleted_and_not_inserted_is_missed() {
    let lost = Fault::LosesPut(2 * 200 - 2);
    assert_eq!(failing(REPLACES, lost), ["index", "rows"]);
}

#[test]
fn a_row_that_was_inserted_and_has_no_entry_is_missed_in_the_index() {
    let lost = Fault::LosesPut(2 * 200 - 1);
    assert_eq!(failing(REPLACES, lost), ["index"]);
}

#[test]
fn an_inserted_row_that_is_lost_is_missed() {
    let lost = Fault::LosesNewRecords(1, 20);
    assert_eq!(failing("script=oltp_insert", lost), ["index", "rows"]);
}

#[test]
fn a_row_with_a_damaged_byte_is_not_as_it_was_written() {
    // Each row is put before its entry, so every fifth put is a row in every other case.
    let failed = failing("script=oltp_insert", Fault::CorruptsPuts(5));
    assert_eq!(failed, ["contents"]);
}

#[test]
fn old_texts_and_those_of_other_rows_are_found_when_they_are_read() {
    let stale = failing("non_index_updates=5", Fault::ShowsFirstValue);
    assert!(stale.iter().any(|one| one == "reads"), "{stale:?}");
    let other = failing("script=oltp_point_select", Fault::ShowsOtherValue);
    assert_eq!(other, ["reads"]);
}

#[test]
fn ranges_without_their_first_row_are_found_by_their_rows_and_their_sums() {
    let failed = failing("script=oltp_read_only", Fault::SkipsFirstRecord);
    assert_eq!(failed, ["reads", "sums of k"]);
}

#[test]
fn queries_by_k_that_leave_rows_out_are_found() {
    for script in ["select_random_points", "select_random_ranges"] {
        let given = format!("script={script}");
        assert_eq!(failing(&given, Fault::SkipsRecords(7)), ["counts by k"]);
    }
    let other = failing("script=select_random_points", Fault::ShowsOtherValue);
    assert_eq!(other, ["reads"]);
}

#[test]
fn rows_of_a_bulk_that_are_lost_or_damaged_are_found() {
    let given = "script=bulk_insert bulk_rows=5";
    assert_eq!(failing(given, Fault::LosesPut(999)), ["rows"]);
    assert_eq!(failing(given, Fault::CorruptsPuts(100)), ["contents"]);
}

/// The checks that fail if the records are changed after a sound run; `change` gets the ones of
/// before the run, too.
fn failing_after(given: &str, change: impl FnOnce(&mut dyn Session, &Records)) -> Vec<String> {
    let bench = Bench::reference(1, &format!("rand_type=uniform {given}"));
    bench.prepare();
    let before = bench.records();
    let ended = bench.work_together(Fault::None);
    assert_eq!(failed(&bench.verify(&ended)), [""; 0], "the control");
    let after = bench.records();
    bench.tamper(|session| change(session, &Records { before, after }));
    failed(&bench.verify(&ended))
}

type Dump = std::collections::BTreeMap<Vec<u8>, Vec<u8>>;

struct Records {
    before: Dump,
    after: Dump,
}

impl Records {
    /// The first row whose value the run has changed.
    fn changed(&self) -> u32 {
        let differs = |id: &u32| {
            let key = row_key(1, *id);
            self.before.get(&key) != self.after.get(&key)
        };
        (1..=200).find(differs).unwrap()
    }
}

/// Puts a row and its entry as they were.
fn restore(session: &mut dyn Session, records: &Records, id: u32) {
    let key = row_key(1, id);
    if let Some(value) = records.after.get(&key) {
        let entry = entry_key(1, k_of(value), id);
        session.delete(&entry).unwrap();
    }
    let value = &records.before[&key];
    session.put(&key, value).unwrap();
    let entry = entry_key(1, k_of(value), id);
    session.put(&entry, &[]).unwrap();
}

#[test]
fn a_delete_and_insert_that_is_lost_as_a_whole_is_an_old_version() {
    let failed = failing_after(REPLACES, |session, records| {
        restore(session, records, records.changed());
    });
    assert_eq!(failed, ["versions"]);
}

#[test]
fn a_deleted_row_that_is_back_should_not_be_there() {
    let failed = failing_after("script=oltp_delete", |session, records| {
        restore(session, records, records.changed());
    });
    assert_eq!(failed, ["rows"]);
}

#[test]
fn a_k_that_changes_with_its_entry_is_missed_in_the_sum() {
    for given in ["", "script=oltp_insert", "script=oltp_read_only"] {
        let failed = failing_after(given, |session, records| {
            let key = row_key(1, 17);
            let mut value = records.after[&key].clone();
            let k = k_of(&value);
            session.delete(&entry_key(1, k, 17)).unwrap();
            session.put(&entry_key(1, k + 1_000, 17), &[]).unwrap();
            value[..4].copy_from_slice(&(k + 1_000).to_le_bytes());
            session.put(&key, &value).unwrap();
        });
        assert_eq!(failed, ["k", "sum of k"], "{given}");
    }
}

#[test]
fn texts_that_change_places_are_those_of_other_rows() {
    let failed = failing_after("script=oltp_read_only", |session, records| {
        let [one, other] = [3, 4].map(|id| records.after[&row_key(1, id)].clone());
        let mut changed = one;
        changed[4..].copy_from_slice(&other[4..]);
        session.put(&row_key(1, 3), &changed).unwrap();
    });
    assert_eq!(failed, ["contents"]);
}

#[test]
fn entries_of_the_index_that_name_no_row_or_another_k_are_found() {
    let bench = Bench::reference(1, "");
    let (ended, _) = bench.run(Fault::None);
    let records = bench.records();
    let k = k_of(&records[&row_key(1, 9)]);
    let detail = |change: &dyn Fn(&mut dyn Session)| {
        bench.tamper(|session| change(session));
        let failures = failures(&bench.verify(&ended));
        assert_eq!(failures.len(), 1, "{failures:?}");
        failures["index"].clone()
    };
    let vain = entry_key(1, 1, 5_000);
    let more = detail(&|session| session.put(&vain, &[]).unwrap());
    assert!(more.contains("names row 5000 of sbtest1 in vain"), "{more}");
    let moved = detail(&|session| {
        session.delete(&vain).unwrap();
        session.delete(&entry_key(1, k, 9)).unwrap();
        session.put(&entry_key(1, k + 7, 9), &[]).unwrap();
    });
    let expected = format!("row 9 of sbtest1 has k {k}, its entry {}", k + 7);
    assert!(moved.contains(&expected), "{moved}");
}
