//! Faults of an engine are found; the same trials on a sound engine pass in `tests`.

use super::harness::{Bench, Fault, assert_right, failures};
use crate::support::engine;
use trueput_engine::Session;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::ExecutionSummary;

const SMALL: &str = "records=300";

/// The checks that fail, by name.
fn failed(bench: &Bench) -> Vec<String> {
    let (_, conclusion) = bench.run();
    failures(&conclusion).into_keys().collect()
}

#[test]
fn a_put_that_a_fill_loses_is_missed() {
    for test in ["fill-sequential", "fill-random", "fill-batch", "fill-sync"] {
        for workers in [1, 4] {
            for number in [0, 150, 299] {
                let bench = Bench::counted(workers, &format!("test={test} {SMALL}"));
                let failed = failed(&bench.with(Fault::LosesPut(number)));
                assert_eq!(failed, ["records"], "{test} {workers} {number}");
            }
        }
    }
}

#[test]
fn the_last_of_ten_thousand_updates_is_missed_if_it_is_lost() {
    let given = "test=overwrite operations=10000 records=30";
    let bench = Bench::counted(1, given).with(Fault::LosesPut(9_999));
    assert_eq!(failed(&bench), ["versions"]);
    assert_right(&Bench::counted(1, given).run().1, "the control");
}

#[test]
fn a_lost_update_shows_at_the_next_read_even_where_a_later_one_covers_it() {
    let given = "test=mix update_percent=50 operations=4000 records=20";
    for workers in [1, 4] {
        let bench = Bench::counted(workers, given).with(Fault::LosesPuts(10));
        assert!(failed(&bench).contains(&"reads".to_owned()), "{workers}");
        let sound = Bench::counted(workers, given);
        assert_right(&sound.run().1, "sound");
    }
}

#[test]
fn a_lost_update_of_the_last_round_is_missed_whoever_wrote_it() {
    // Each record is written once, by one worker: whatever is lost is the last write.
    let given = format!("test=overwrite distribution=sequential {SMALL}");
    for workers in [1, 3] {
        let bench = Bench::counted(workers, &given).with(Fault::LosesPut(123));
        assert_eq!(failed(&bench), ["versions"], "{workers} threads");
        let bench = Bench::counted(workers, &given).with(Fault::LosesPut(123));
        assert_eq!(
            failed(&bench.in_processes()),
            ["versions"],
            "{workers} processes"
        );
    }
}

#[test]
fn a_stale_read_beside_a_writer_is_seen() {
    let given = "test=read-while-writing records=20";
    let bench = |fault, processes| {
        let mut bench = Bench::timed(2, given).with(fault);
        // The reads after these puts are enough to meet a former value.
        bench.until_puts = 3_000;
        if processes {
            bench.in_processes()
        } else {
            bench
        }
    };
    for processes in [false, true] {
        assert_right(&bench(Fault::None, processes).run().1, "the control");
        let (_, conclusion) = bench(Fault::ShowsFormerValue(5), processes).run();
        let failures = failures(&conclusion);
        assert!(failures["reads"].contains("stale"), "{failures:?}");
    }
}

#[test]
fn a_garbled_value_is_found_at_the_end() {
    for test in ["fill-random", "overwrite"] {
        let bench = Bench::counted(1, &format!("test={test} {SMALL}"));
        let failed = failed(&bench.with(Fault::CorruptsPuts(250)));
        assert_eq!(failed, ["contents"], "{test}");
    }
}

#[test]
fn a_delete_that_is_lost_is_found() {
    for batch in ["1", "7"] {
        let given = format!("test=delete-random batch={batch} {SMALL}");
        for workers in [1, 4] {
            let bench = Bench::counted(workers, &given).with(Fault::LosesDelete(200));
            assert_eq!(failed(&bench), ["records"], "{workers}");
        }
    }
}

#[test]
fn an_insert_that_is_lost_is_found_where_others_delete() {
    let given = format!("test=mix insert_percent=60 delete_percent=40 operations=500 {SMALL}");
    for workers in [1, 3] {
        let bench = Bench::counted(workers, &given);
        assert_eq!(failed(&bench.with(Fault::LosesPut(100))), ["records"]);
        assert_right(&Bench::counted(workers, &given).run().1, "the control");
    }
}

#[test]
fn records_that_scans_leave_out_are_missed() {
    for test in ["read-sequential", "read-reverse", "seek-random"] {
        let given = format!("test={test} {SMALL}");
        let bench = Bench::counted(2, &given).with(Fault::SkipsRecords(100));
        assert_eq!(failed(&bench), ["reads"], "{test}");
    }
}

#[test]
fn what_a_look_up_of_several_keys_mixes_up_or_leaves_out_is_seen() {
    let given = format!("test=multi-read-random batch=10 {SMALL}");
    for (fault, text) in [
        (Fault::SwapsBatchValues, "of another record"),
        (Fault::SkipsBatchValues(100), "missing"),
        (Fault::RepeatsBatchValues, "present without a write"),
        (Fault::FlipsReadBit(250), "damaged"),
    ] {
        for workers in [1, 3] {
            let (_, conclusion) = Bench::counted(workers, &given).with(fault).run();
            let failures = failures(&conclusion);
            assert_eq!(failures.len(), 1, "{fault:?}: {failures:?}");
            assert!(failures["reads"].contains(text), "{failures:?}");
        }
    }
    assert_right(&Bench::counted(3, &given).run().1, "the control");
}

#[test]
fn a_record_that_a_loader_loses_is_missed() {
    for number in [0, 150, 299] {
        let given = format!("test=fill-bulk {SMALL}");
        let bench = Bench::on(engine("lmdb"), 1, &Conditions::default(), &given);
        let failed = failed(&bench.with(Fault::LosesLoadedRecord(number)));
        assert_eq!(failed, ["records"], "{number}");
    }
}

#[test]
fn a_conditional_put_that_is_lost_or_denied_or_overwrites_is_seen() {
    let given = format!("test=put-if-absent operations=600 {SMALL}");
    let puts = "conditional puts";
    for workers in [1, 3] {
        let failed = |fault| failed(&Bench::counted(workers, &given).with(fault));
        assert_eq!(failed(Fault::IgnoresCondition(50)), [puts]);
        assert_eq!(failed(Fault::DeniesStoring(50)), [puts]);
        assert_eq!(failed(Fault::CorruptsPuts(50)), [puts, "contents"]);
        // A key whose put was lost is stored by a later one, if there is one.
        let lost = failed(Fault::LosesPuts(2));
        assert_eq!(lost, [puts, "records"], "{workers}");
        assert_right(&Bench::counted(workers, &given).run().1, "the control");
    }
    // Conflicts are retried, and the last attempt counts.
    let bench = Bench::counted(3, &given).with(Fault::ConflictsAtCommit(3));
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion, "with conflicts");
    assert!(ended.conflicts > 0);
}

/// Thirty values of ten parts each, one after the other.
const LARGE: &str =
    "distribution=sequential large_values=30 large_value_bytes=10KiB part_size=1KiB";

/// The parts of value 5 by their numbers.
const PARTS: std::ops::Range<u64> = 50..60;

fn part_key(part: u64) -> Vec<u8> {
    format!("{part:016x}").into_bytes()
}

/// Flips a bit within a part.
fn damage(session: &mut dyn Session, part: u64) {
    let (key, mut value) = (part_key(part), Vec::new());
    session
        .get(&key, &mut |found| value = found.to_vec())
        .unwrap();
    value[500] ^= 4;
    session.put(&key, &value).unwrap();
}

/// What happens to parts of value 5 behind the workload's back.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Nothing,
    LosesPart(u64),
    LosesValue,
    /// A part is as it was loaded.
    FormerPart(u64),
    FormerValue,
    /// A part has the contents of the one after it.
    OtherPart(u64),
    WrongByte(u64),
}

impl Harm {
    /// Does it, where the parts were once loaded like this.
    fn apply(self, session: &mut dyn Session, loaded: &[(Vec<u8>, Vec<u8>)]) {
        let value_of = |part: u64| &loaded[part as usize].1;
        match self {
            Self::Nothing => {}
            Self::LosesPart(part) => session.delete(&part_key(part)).unwrap(),
            Self::LosesValue => {
                PARTS.for_each(|part| session.delete(&part_key(part)).unwrap());
            }
            Self::FormerPart(part) => session.put(&part_key(part), value_of(part)).unwrap(),
            Self::FormerValue => {
                PARTS.for_each(|part| session.put(&part_key(part), value_of(part)).unwrap());
            }
            Self::OtherPart(part) => {
                session.put(&part_key(part), value_of(part + 1)).unwrap();
            }
            Self::WrongByte(part) => damage(session, part),
        }
    }
}

/// Keys with values.
type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// A database of which every value was overwritten once, and the parts as they were loaded.
fn overwritten() -> (Bench, Records, ExecutionSummary) {
    overwritten_at(VerifyLevel::Full)
}

/// The same at a level of verification.
fn overwritten_at(level: VerifyLevel) -> (Bench, Records, ExecutionSummary) {
    let mut bench = Bench::counted(1, &format!("test=overwrite-large {LARGE}"));
    bench.verify = level;
    bench.prepare().unwrap();
    let loaded = bench.records();
    let (ended, _) = bench.work_together();
    (bench, loaded, ended)
}

#[test]
fn parts_that_are_lost_or_of_other_values_or_versions_are_found_at_the_end() {
    for (harm, check) in [
        (Harm::Nothing, None),
        (Harm::LosesPart(50), Some("records")),
        (Harm::LosesPart(59), Some("records")),
        (Harm::LosesValue, Some("records")),
        (Harm::FormerPart(50), Some("parts")),
        (Harm::FormerPart(57), Some("parts")),
        (Harm::FormerValue, Some("versions")),
        (Harm::OtherPart(57), Some("contents")),
        (Harm::WrongByte(57), Some("contents")),
    ] {
        let (bench, loaded, ended) = overwritten();
        bench.tamper(|session| harm.apply(session, &loaded));
        let failed: Vec<_> = failures(&bench.verify(&ended)).into_keys().collect();
        assert_eq!(failed, Vec::from_iter(check), "{harm:?}");
    }
}

#[test]
fn at_sample_the_parts_and_headers_of_every_value_are_looked_at_and_all_bytes_of_every_tenth() {
    // Value 10, of which 107 is a part, is in the sample; value 5 is not.
    for (harm, check) in [
        (Harm::Nothing, None),
        (Harm::LosesPart(59), Some("records")),
        (Harm::LosesValue, Some("records")),
        (Harm::FormerPart(57), Some("parts")),
        (Harm::FormerValue, None),
        (Harm::OtherPart(57), Some("contents")),
        (Harm::WrongByte(57), None),
        (Harm::WrongByte(107), Some("contents")),
    ] {
        let (bench, loaded, ended) = overwritten_at(VerifyLevel::Sample);
        bench.tamper(|session| harm.apply(session, &loaded));
        let failed: Vec<_> = failures(&bench.verify(&ended)).into_keys().collect();
        assert_eq!(failed, Vec::from_iter(check), "{harm:?}");
    }
}

#[test]
fn parts_that_are_lost_or_of_other_values_or_versions_are_seen_by_reads() {
    let seen = |harm: Harm, has_snapshots| {
        let (bench, loaded, _) = overwritten();
        let reading = format!("test=read-large {LARGE}");
        let mut bench = bench.then(&Conditions::default(), &reading);
        bench.capabilities.snapshot_reads = has_snapshots;
        bench.tamper(|session| harm.apply(session, &loaded));
        let (ended, _) = bench.work_together();
        let failed = failures(&bench.verify(&ended)).remove("reads");
        failed.unwrap_or_default()
    };
    for (harm, text) in [
        (Harm::LosesPart(50), "1 missing (first record 5) of 30"),
        (Harm::LosesPart(59), "1 missing (first record 5) of 30"),
        (Harm::LosesValue, "1 missing (first record 5) of 30"),
        (
            Harm::FormerPart(57),
            "1 torn, with parts of different versions",
        ),
        (Harm::OtherPart(57), "1 of another record or damaged"),
        (Harm::WrongByte(57), "1 of another record or damaged"),
    ] {
        let seen = seen(harm, true);
        assert!(seen.starts_with(text), "{harm:?}: {seen}");
    }
    assert_eq!(seen(Harm::Nothing, true), "", "the control");
    // Reads that see more than one state may see two versions, each of which is legal.
    assert_eq!(seen(Harm::FormerPart(57), false), "");
}

#[test]
fn a_key_that_no_part_has_is_found() {
    for (key, check) in [(part_key(300), "records"), (b"x".to_vec(), "order")] {
        let (bench, _, ended) = overwritten();
        bench.tamper(|session| session.put(&key, b"value").unwrap());
        let failed: Vec<_> = failures(&bench.verify(&ended)).into_keys().collect();
        assert_eq!(failed, [check]);
    }
}

#[test]
fn a_part_that_an_overwrite_loses_or_damages_is_found() {
    let given = format!("test=overwrite-large {LARGE}");
    for workers in [1, 3] {
        for (fault, check) in [
            (Fault::LosesPut(0), "parts"),
            (Fault::LosesPut(123), "parts"),
            (Fault::LosesPut(299), "parts"),
            (Fault::CorruptsPuts(250), "contents"),
        ] {
            let bench = Bench::counted(workers, &given).with(fault);
            assert_eq!(failed(&bench), [check], "{workers} {fault:?}");
            let bench = Bench::counted(workers, &given).with(fault);
            assert_eq!(failed(&bench.in_processes()), [check], "{fault:?}");
        }
        assert_right(&Bench::counted(workers, &given).run().1, "the control");
    }
}

#[test]
fn a_scan_that_leaves_out_or_damages_a_part_is_seen() {
    let given = format!("test=read-large {LARGE}");
    for (fault, text) in [
        (Fault::SkipsRecords(100), "missing"),
        (Fault::SkipsFirstRecord, "missing"),
        (Fault::FlipsReadBit(123), "damaged"),
    ] {
        for workers in [1, 3] {
            let (_, conclusion) = Bench::counted(workers, &given).with(fault).run();
            let failures = failures(&conclusion);
            assert_eq!(failures.len(), 1, "{fault:?}: {failures:?}");
            assert!(failures["reads"].contains(text), "{failures:?}");
        }
    }
    assert_right(&Bench::counted(3, &given).run().1, "the control");
}

#[test]
fn a_reader_beside_a_writer_that_loses_parts_sees_torn_values() {
    let sizes = "large_values=5 large_value_bytes=10KiB part_size=1KiB";
    let given = format!("test=read-large writers=1 {sizes}");
    let bench = |fault, processes| {
        let mut bench = Bench::timed(2, &given).with(fault);
        bench.until_puts = 3_000;
        if processes {
            bench.in_processes()
        } else {
            bench
        }
    };
    for processes in [false, true] {
        assert_right(&bench(Fault::None, processes).run().1, "the control");
        let (_, conclusion) = bench(Fault::LosesPuts(7), processes).run();
        let failures = failures(&conclusion);
        assert!(failures["reads"].contains("torn"), "{failures:?}");
        assert!(failures.contains_key("parts"), "{failures:?}");
    }
}

#[test]
fn conflicts_are_retried_and_only_committed_work_counts() {
    for test in [
        "test=overwrite",
        "test=overwrite batch=8",
        "test=fill-batch batch=7",
        "test=read-random",
        "test=delete-random batch=5",
        "test=multi-read-random batch=1",
        "test=overwrite-large large_values=300 large_value_bytes=3KiB part_size=1KiB",
        "test=read-large large_values=300 large_value_bytes=3KiB part_size=1KiB",
    ] {
        let given = format!("{test} {SMALL}");
        let bench = Bench::counted(2, &given).with(Fault::ConflictsAtCommit(3));
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, &given);
        assert_eq!(ended.counts[0], 300, "{given}");
        assert!(ended.conflicts > 0);
    }
}
