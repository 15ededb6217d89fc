//! Faults of an engine are caught; the same run on a sound one passes.

use super::harness::{Bench, Call, Fault, assert_right, failures};
use trueput_workloads::ExistingDatabase;

fn failing(workload: &str, fate: Fault) -> Vec<(String, String)> {
    let given = format!("workload={workload} recordcount=300");
    let bench = Bench::new(2, &given);
    let (_, conclusion) = bench.run(fate);
    failures(&conclusion).into_iter().collect()
}

fn names(failures: &[(String, String)]) -> Vec<&str> {
    failures.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn an_honest_engine_passes() {
    assert!(failing("a", Fault::None).is_empty());
    assert!(failing("e", Fault::None).is_empty());
}

#[test]
fn an_update_that_is_dropped_is_missed_in_the_sum() {
    let failed = failing("a", Fault::LosesPut(7));
    assert!(names(&failed).contains(&"updates"), "{failed:?}");
}

#[test]
fn an_insert_that_is_dropped_is_missed_among_the_records() {
    let failed = failing("e", Fault::LosesPut(3));
    // A scan may also have asked for it.
    for name in ["distinct records", "records"] {
        assert!(names(&failed).contains(&name), "{failed:?}");
    }
}

#[test]
fn a_value_that_an_update_has_replaced_is_stale() {
    let failed = failing("a", Fault::ShowsFirstValue);
    let reads = failed.iter().find(|(name, _)| name == "reads").unwrap();
    assert!(
        reads.1.contains("older than what was committed"),
        "{reads:?}"
    );
}

#[test]
fn a_value_of_another_record_is_foreign() {
    let failed = failing("c", Fault::ShowsOtherValue);
    assert_eq!(names(&failed), ["reads"]);
    assert!(failed[0].1.contains("of another record or damaged"));
}

#[test]
fn a_scan_that_skips_its_first_record_is_noticed() {
    let failed = failing("e", Fault::SkipsFirstRecord);
    assert_eq!(names(&failed), ["reads"]);
    assert!(failed[0].1.contains("out of order"), "{failed:?}");
}

#[test]
fn conflicts_are_tried_again_and_lose_nothing() {
    for workload in ["a", "d", "e", "f"] {
        let bench = Bench::new(2, &format!("workload={workload} recordcount=200"));
        let (ended, conclusion) = bench.run(Fault::ConflictsAtCall(7));
        assert_right(&conclusion);
        assert!(ended.conflicts > 50, "{workload}: {}", ended.conflicts);
        assert_eq!(ended.counts.iter().sum::<u64>(), 1_000);
    }
}

#[test]
fn damage_to_what_is_stored_is_found_afterwards() {
    let after = |damage: fn(&mut dyn trueput_engine::Session, &[u8], &[u8])| {
        let bench = Bench::new(1, "workload=a recordcount=100");
        bench.prepare(ExistingDatabase::Nothing);
        let ended = bench.work_together(Fault::None);
        let put = bench.calls().into_iter().rev().find_map(|call| match call {
            Call::Put(key, record) => Some((key, record)),
            _ => None,
        });
        let (key, record) = put.unwrap();
        bench.tamper(|session| damage(session, &key, &record));
        failures(&bench.verify(&ended))
    };
    let changed = after(|session, key, record| {
        let mut record = record.to_vec();
        record[500] ^= 1;
        session.put(key, &record).unwrap();
    });
    assert!(changed["stored records"].contains("damaged"));
    let gone = after(|session, key, _| session.delete(key).unwrap());
    assert_eq!(gone["records"], "expected 100, found 99");
    let moved = after(|session, _, record| session.put(b"user0", record).unwrap());
    assert_eq!(moved["records"], "expected 100, found 101");
    assert!(moved["stored records"].contains("of another record"));
}
