//! Faults of an engine are found; the same trials on a sound engine pass.

use super::counted;
use crate::micro::harness::{Bench, Fault, assert_right, failures};
use trueput_record::Survival;

/// The checks that fail, by name.
fn failed(bench: &Bench) -> Vec<String> {
    let (_, conclusion) = bench.run();
    failures(&conclusion).into_keys().collect()
}

#[test]
fn an_update_that_is_lost_is_missed_whoever_updates_the_record_next() {
    // Each update counts on from the version that it read, so that one is missing for good.
    let given = "operations=update:1~get+read-modify-write:1 operationcount=3000 \
                 working_set=0.05";
    for workers in [1, 3] {
        assert_right(&counted(workers, given).run().1, "the control");
        let bench = counted(workers, given).with(Fault::LosesPut(1_000));
        assert!(failed(&bench).contains(&"versions".to_owned()));
        let bench = counted(workers, given).with(Fault::LosesPut(1_000));
        assert!(failed(&bench.in_processes()).contains(&"versions".to_owned()));
    }
}

#[test]
fn the_last_put_a_delete_and_an_insert_are_missed_if_they_are_lost() {
    let puts = "operations=put:1 distribution=sequential";
    let bench = counted(2, puts).with(Fault::LosesPut(123));
    assert_eq!(failed(&bench), ["versions"]);
    let deletes = "operations=delete:1 distribution=sequential";
    let bench = counted(2, deletes).with(Fault::LosesDelete(200));
    assert_eq!(failed(&bench), ["records"]);
    let inserts = "operations=get+insert:1";
    let bench = counted(2, inserts).with(Fault::LosesPut(100));
    assert_eq!(failed(&bench), ["records"]);
    // One of the records that a worker itself inserted.
    let queue = "operations=insert+get+delete:1 distribution=oldest operationcount=1000";
    let bench = counted(1, queue).with(Fault::LosesDelete(700));
    assert_eq!(failed(&bench), ["records"]);
    for given in [puts, deletes, inserts, queue] {
        assert_right(&counted(2, given).run().1, given);
    }
}

#[test]
fn a_head_that_comes_back_is_seen_by_the_next_seek_and_at_the_end() {
    for given in [
        "operations=first+delete:1~insert:1 distribution=oldest operationcount=600",
        "operations=first+delete-range(5):1~insert*5:1 distribution=oldest operationcount=200",
    ] {
        assert_right(&counted(1, given).run().1, "the control");
        let bench = counted(1, given).with(Fault::LosesDelete(107));
        let failures = failures(&bench.run().1);
        let reads = &failures["reads"];
        assert!(reads.contains("present without a write (first record 107)"));
        assert!(failures["records"].contains("record 107 is there and should not be"));
        assert_eq!(failures.len(), 2, "{failures:?}");
    }
    // Without a seek only the end shows it.
    let ranges = "operations=delete-range(5):1~insert*5:1 distribution=oldest operationcount=200";
    let bench = counted(1, ranges).with(Fault::LosesDelete(107));
    assert_eq!(failed(&bench), ["records"]);
    let once = "operations=delete-range(50):1 distribution=sequential operationcount=1";
    let bench = counted(1, once).with(Fault::LosesDelete(40));
    assert_eq!(failed(&bench), ["records"]);
    for given in [ranges, once] {
        assert_right(&counted(1, given).run().1, given);
    }
}

#[test]
fn a_head_or_an_end_that_a_seek_skips_is_missed() {
    for mix in ["first:1", "last:1", "first+delete:1~insert:1", "scan(3):1"] {
        let given = format!("operations={mix} distribution=oldest operationcount=200");
        assert_right(&counted(2, &given).run().1, "the control");
        let bench = counted(2, &given).with(Fault::SkipsFirstRecord);
        let failures = failures(&bench.run().1);
        assert!(failures["reads"].contains("missing"), "{failures:?}");
        assert_eq!(failures.len(), 1, "what is stored is right: {failures:?}");
    }
}

#[test]
fn a_record_of_a_queue_that_was_never_stored_is_missed_when_its_turn_comes() {
    // The 300 loaded records come first, and then those that were inserted.
    let given = "operations=insert+first+delete:1 distribution=oldest operationcount=1000";
    assert_right(&counted(1, given).run().1, "the control");
    let bench = counted(1, given).with(Fault::LosesPut(100));
    let failures = failures(&bench.run().1);
    let expected = "1 missing (first record 400)";
    assert!(failures["reads"].contains(expected), "{failures:?}");
    assert_eq!(failures.len(), 1, "it was deleted in vain: {failures:?}");
    // At the end of a queue that is read whole.
    let given = "operations=insert+scan(900):1 distribution=oldest operationcount=50";
    assert_right(&counted(1, given).run().1, "the control");
    let bench = counted(1, given).with(Fault::LosesPut(49));
    assert_eq!(failed(&bench), ["reads", "records"]);
}

#[test]
fn wrong_reads_are_seen() {
    let given = "operations=scan(20)+get:1~get:1~update:2 operationcount=4000 working_set=0.1";
    for fault in [Fault::ShowsFormerValue(5), Fault::SkipsRecords(10)] {
        let bench = counted(2, given).with(fault);
        assert!(failed(&bench).contains(&"reads".to_owned()), "{fault:?}");
    }
    assert_right(&counted(2, given).run().1, "the control");
}

#[test]
fn a_record_under_a_key_of_another_length_is_found_at_the_end() {
    let bench = counted(1, "operations=get:1 key_bytes=uniform(16..64)");
    bench.prepare().unwrap();
    let (ended, _) = bench.work_together();
    assert_right(&bench.verify(&ended), "the control");
    let (key, value) = bench.records().swap_remove(123);
    bench.tamper(|session| {
        session.delete(&key).unwrap();
        session.put(&[&key[..], b"0"].concat(), &value).unwrap();
    });
    let failures = failures(&bench.verify(&ended));
    assert!(failures["order"].contains("bytes that no record has"));
    assert!(failures["records"].contains("record 123 is lost"));
    assert_eq!(failures.len(), 2, "{failures:?}");
}

#[test]
fn scans_that_leave_out_records_with_keys_of_different_lengths_are_seen() {
    let given = "operations=scan(20):1~update:1 key_bytes=uniform(16..64) operationcount=1000";
    assert_right(&counted(2, given).run().1, "the control");
    let bench = counted(2, given).with(Fault::SkipsRecords(10));
    assert!(failed(&bench).contains(&"reads".to_owned()));
}

#[test]
fn a_garbled_value_is_found_at_the_end() {
    let given = "operations=put:1 distribution=sequential value_bytes=uniform(50B..900B)";
    let bench = counted(1, given).with(Fault::CorruptsPuts(250));
    assert_eq!(failed(&bench), ["contents"]);
}

#[test]
fn conflicts_are_retried_and_only_committed_work_counts() {
    for mix in [
        "update:1",
        "get+get+update+put:1",
        "scan(5)+delete:1",
        "insert+insert:1",
    ] {
        let given = format!("operations={mix}");
        let bench = counted(2, &given).with(Fault::ConflictsAtCommit(3));
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, mix);
        assert_eq!(ended.counts, [300], "{mix}");
        assert!(ended.conflicts > 0);
    }
}

#[test]
fn commits_missing_after_a_crash_are_counted_where_a_prefix_is_promised() {
    let crashed = |survival| {
        let given = "operations=update:1 distribution=sequential";
        let bench = counted(2, given).with(Fault::LosesPut(123));
        bench.prepare().unwrap();
        let (mut ended, _) = bench.work_together();
        ended.crashed = Some(survival);
        bench.verify(&ended)
    };
    let strict = crashed(Survival::EveryCommit);
    assert!(failures(&strict).contains_key("versions"));
    let prefix = crashed(Survival::ConsistentPrefix);
    assert_right(&prefix, "a prefix");
    assert_eq!(prefix.results["missing_acknowledged"], 1_u64.into());
}
