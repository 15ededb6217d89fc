use super::harness::{Bench, Trial, failures, job};
use std::os::unix::fs::FileExt;
use trueput_record::Durability;
use trueput_workloads::storage::io_thrash::IoThrash;

const SMALL: &str = "database_bytes=1MiB journal_file_bytes=64KiB operations=3000 sync_every=50";

#[test]
fn blocks_and_journals_are_as_they_were_written_and_the_mix_is_kept() {
    let (ended, conclusion) = Bench::new(&IoThrash, SMALL, Trial::of(3)).run();
    assert_eq!(failures(&conclusion), [""; 0]);
    let [reads, writes, journals, flushes] = ended.counts[..] else {
        panic!("{:?}", ended.counts)
    };
    assert_eq!(reads + writes + journals, 3_000);
    let near = |count: u64, expected: u64| count.abs_diff(expected) < expected / 4;
    assert!(near(reads, 750) && near(writes, 750) && near(journals, 1_500));
    let least = journals / 50 - 3;
    assert!((least..=journals / 50).contains(&flushes), "{flushes}");
}

#[test]
fn a_warm_up_is_written_and_not_counted() {
    let trial = Trial {
        warm_up: 100,
        units: Some(1_000),
        ..Trial::of(2)
    };
    let settings = "database_bytes=64KiB epoch_every=10 sync_every=0";
    let (ended, conclusion) = Bench::new(&IoThrash, settings, trial).run();
    assert!(ended.counts.iter().sum::<u64>() < 1_000);
    assert_eq!(failures(&conclusion), [""; 0]);
}

#[test]
fn a_lost_write_and_a_damaged_block_are_seen() {
    type Try<'t> = (&'t str, &'t dyn Fn(&std::fs::File), &'t [&'t str]);
    let zeroed = |file: &std::fs::File| file.write_all_at(&[0; 4_096], 0).unwrap();
    let damaged = |file: &std::fs::File| file.write_all_at(b"x", 2_000).unwrap();
    let whole = |_: &std::fs::File| {};
    let tries: [Try<'_>; 4] = [
        ("database-0000", &whole, &[]),
        ("database-0000", &zeroed, &["last versions"]),
        ("database-0000", &damaged, &["blocks read back"]),
        (
            "journal-0000",
            &damaged,
            &["records read back", "content and order"],
        ),
    ];
    for (name, damage, expected) in tries {
        let settings = "database_bytes=64KiB operations=1000";
        let bench = Bench::new(&IoThrash, settings, Trial::of(1));
        let failed = bench.failures_after(name, damage);
        assert_eq!(failed.len(), expected.len(), "{failed:?}");
        for (said, name) in failed.iter().zip(expected) {
            assert!(said.starts_with(name), "{said}");
        }
    }
}

#[test]
fn only_a_journal_that_is_flushed_each_time_promises_something() {
    for (every, level) in [
        (1, Durability::Sync),
        (2, Durability::None),
        (0, Durability::None),
    ] {
        let every = format!("sync_every={every}");
        let job = job(&IoThrash, &every, Trial::of(1)).unwrap();
        assert_eq!(job.durability(), Some(level), "{every}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_in_a_sentence() {
    let refused = |settings: &str| job(&IoThrash, settings, Trial::of(1)).err().unwrap();
    assert!(refused("direct=on journal_bytes=100").contains("journal_bytes=100"));
    let small = refused("block_bytes=8KiB database_bytes=4KiB");
    assert!(small.contains("too small"), "{small}");
}

#[test]
fn room_is_looked_for_for_every_workers_files() {
    let settings = "database_bytes=1MiB journal_file_bytes=64KiB";
    let job = job(&IoThrash, settings, Trial::of(1)).unwrap();
    let one = job.own_files_bytes(1).unwrap();
    assert_eq!(
        (one, job.own_files_bytes(4)),
        ((1 << 20) + (64 << 10), Some(4 * one))
    );
}
