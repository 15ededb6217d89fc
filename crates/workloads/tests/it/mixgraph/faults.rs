//! Faults of an engine are found, in memory and on disk; the same trials on a sound engine pass.

use super::{counted, disk_engine, key, on};
use crate::micro::harness::{Bench, Fault, assert_right, failures};
use std::collections::BTreeMap;
use trueput_engine::Engine;
use trueput_engine::reference::Reference;
use trueput_workloads::generate::value::Values;

/// Puts of records that are mostly different ones.
const PUTS: &str = "mix_get_ratio=0 mix_put_ratio=1 mix_seek_ratio=0 key_dist_a=0 mix_accesses=300";

/// Reads of records that are often put.
const REREADS: &str = "num=60 one_draw=off mix_get_ratio=1 mix_put_ratio=1 mix_seek_ratio=0 \
                       key_dist_a=0 mix_accesses=3000";

/// Scans of records of which a few are put.
const SCANS: &str = "mix_get_ratio=0 mix_put_ratio=1 mix_seek_ratio=4 iter_k=0.1 iter_sigma=20 \
                     mix_accesses=1000";

/// An engine in memory, and one on disk.
fn engines() -> [&'static dyn Engine; 2] {
    [&Reference, disk_engine("lmdb")]
}

/// The failed checks of a trial with a fault, with their messages; the control must pass.
fn failed(engine: &dyn Engine, given: &str, fault: Fault) -> BTreeMap<String, String> {
    assert_right(&on(engine, 2, given).run().1, given);
    let (_, conclusion) = on(engine, 2, given).with(fault).run();
    failures(&conclusion)
}

#[test]
fn lost_puts_are_missed() {
    for engine in engines() {
        let failed = failed(engine, PUTS, Fault::LosesPuts(10));
        assert_eq!(
            failed.keys().collect::<Vec<_>>(),
            ["versions"],
            "{failed:?}"
        );
        assert!(failed["versions"].contains("stale"), "{failed:?}");
    }
}

#[test]
fn a_stale_read_is_seen() {
    for engine in engines() {
        let failed = failed(engine, REREADS, Fault::ShowsFormerValue(5));
        let reads = &failed["reads"];
        assert!(reads.contains("older than what was committed"), "{reads}");
    }
}

#[test]
fn a_scan_that_skips_records_is_seen() {
    for engine in engines() {
        for fault in [Fault::SkipsRecords(10), Fault::SkipsFirstRecord] {
            let failed = failed(engine, SCANS, fault);
            assert!(failed["reads"].contains("missing"), "{fault:?}: {failed:?}");
        }
    }
}

#[test]
fn a_damaged_value_is_seen_when_it_is_read_and_found_at_the_end() {
    for engine in engines() {
        let reads = failed(engine, REREADS, Fault::FlipsReadBit(7));
        assert!(reads["reads"].contains("damaged"), "{reads:?}");
        let puts = failed(engine, PUTS, Fault::CorruptsPuts(100));
        assert_eq!(puts.keys().collect::<Vec<_>>(), ["contents"], "{puts:?}");
    }
}

/// The values of a job's seed: the share of random bytes is not known here, and so is tried with
/// the longest value.
fn values_of(bench: &Bench) -> Values {
    let records = bench.records();
    let values = (0..).zip(&records).map(|(item, (_, value))| (item, value));
    let (item, longest) = values.max_by_key(|(_, value)| value.len()).unwrap();
    let is_right = |values: &Values| values.check_all(item, longest).is_ok();
    let mut all = (1..=100).map(|percent| Values::new(bench.seed, percent).unwrap());
    all.find(is_right).unwrap()
}

#[test]
fn a_value_of_another_length_than_its_version_s_is_found() {
    for engine in engines() {
        let given = "mix_put_ratio=0 mix_seek_ratio=0 key_dist_a=0 mix_accesses=20000";
        let bench = on(engine, 2, given);
        bench.prepare().unwrap();
        let (ended, _) = bench.work_together();
        assert_right(&bench.verify(&ended), "the control");
        // A value that is whole in itself, of a length that was not drawn.
        let item = 123;
        let length = bench.records()[item as usize].1.len() + 7;
        let mut value = vec![0; length];
        values_of(&bench).write(item, 0, &mut value);
        bench.tamper(|session| session.put(&key(item), &value).unwrap());
        let at_end = failures(&bench.verify(&ended));
        let wanted = format!("record 123 has {length} bytes");
        assert!(at_end["contents"].contains(&wanted), "{at_end:?}");
        let (ended, _) = bench.work_together();
        let read = failures(&bench.verify(&ended));
        assert!(read["reads"].contains("first record 123"), "{read:?}");
    }
}

#[test]
fn a_key_of_no_record_and_a_record_that_is_gone_are_found() {
    for engine in engines() {
        let bench = on(engine, 1, "mix_put_ratio=0");
        bench.prepare().unwrap();
        let (ended, _) = bench.work_together();
        let value = bench.records().swap_remove(7).1;
        bench.tamper(|session| {
            session.delete(&key(7)).unwrap();
            session.put(&key(7)[..47], &value).unwrap();
        });
        let found = failures(&bench.verify(&ended));
        assert!(found["order"].contains("a key of 47 bytes that no record has"));
        assert!(found["records"].contains("record 7 is lost"), "{found:?}");
    }
}

#[test]
fn conflicts_are_retried_and_only_committed_work_counts() {
    for given in [PUTS, REREADS, SCANS] {
        let bench = counted(2, given).with(Fault::ConflictsAtCommit(3));
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, given);
        assert!(ended.conflicts > 0, "{given}");
    }
}
