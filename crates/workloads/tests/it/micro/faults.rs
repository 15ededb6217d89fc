//! Faults of an engine are found; the same trials on a sound engine pass in `tests`.

use super::harness::{Bench, Fault, assert_right, failures};

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
fn conflicts_are_retried_and_only_committed_work_counts() {
    for test in [
        "test=overwrite",
        "test=overwrite batch=8",
        "test=fill-batch batch=7",
        "test=read-random",
        "test=delete-random batch=5",
    ] {
        let given = format!("{test} {SMALL}");
        let bench = Bench::counted(2, &given).with(Fault::ConflictsAtCommit(3));
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, &given);
        assert_eq!(ended.counts[0], 300, "{given}");
        assert!(ended.conflicts > 0);
    }
}
