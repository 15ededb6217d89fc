//! Faults planted after a trial that was right: each is caught by the check that it is for.

use super::harness::{Bench, assert_right, failures};
use trueput_engine::Session;
use trueput_record::VerifyLevel;
use trueput_workloads::threen1::Oracle;

/// The checks that still pass, and those that fail, after `tamper` has changed the database.
fn caught(tamper: impl FnOnce(&mut dyn Session)) -> Vec<String> {
    let bench = Bench::lmdb(2, "finish=1000 block=100");
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion);
    bench.tamper(tamper);
    failures(&bench.verify(&ended)).into_keys().collect()
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[test]
fn a_wrong_step_is_caught() {
    let failed = caught(|session| session.put(&key(27), &112_u32.to_be_bytes()).unwrap());
    assert_eq!(failed, ["stored steps"]);
}

#[test]
fn a_value_that_is_no_step_is_caught() {
    let failed = caught(|session| session.put(&key(27), b"112").unwrap());
    assert!(failed.contains(&"stored steps".to_owned()), "{failed:?}");
}

#[test]
fn a_key_that_is_no_number_is_caught() {
    let failed = caught(|session| session.put(b"stray", &1_u32.to_be_bytes()).unwrap());
    assert!(failed.contains(&"stored steps".to_owned()), "{failed:?}");
}

#[test]
fn a_step_stored_for_1_is_caught() {
    let failed = caught(|session| session.put(&key(1), &0_u32.to_be_bytes()).unwrap());
    assert!(failed.contains(&"stored steps".to_owned()), "{failed:?}");
}

#[test]
fn a_missing_start_is_caught_and_named() {
    let bench = Bench::lmdb(1, "finish=1000");
    let (ended, _) = bench.run();
    bench.tamper(|session| session.delete(&key(703)).unwrap());
    let failed = failures(&bench.verify(&ended));
    assert_eq!(failed["starts stored"], "998 of 999 stored; 703 is missing");
    assert!(failed.contains_key("distinct numbers"));
}

#[test]
fn a_missing_number_between_is_caught_by_the_one_before_it() {
    // 9232 is on the way from 27 and is no start of this range.
    let failed = caught(|session| session.delete(&key(9_232)).unwrap());
    assert_eq!(failed, ["distinct numbers", "successors stored"]);
}

#[test]
fn a_number_that_nobody_should_have_stored_is_caught() {
    // Right in itself, and its successor is there; but no way in the range leads to it.
    let bench = Bench::lmdb(1, "finish=1000");
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion);
    let steps = Oracle::compute(1_998..=1_998, 1)
        .unwrap()
        .steps(1_998)
        .unwrap();
    bench.tamper(|session| session.put(&key(1_998), &steps.to_be_bytes()).unwrap());
    let failed: Vec<_> = failures(&bench.verify(&ended)).into_keys().collect();
    assert_eq!(failed, ["distinct numbers", "no more stored than updated"]);
}

#[test]
fn a_wrong_maximum_is_caught() {
    let maximum = |value: u64, start: u64| [value.to_be_bytes(), start.to_be_bytes()].concat();
    let failed = caught(|session| session.put(b"\xFFl", &maximum(177, 871)).unwrap());
    assert_eq!(failed, ["longest sequence"]);
    let failed = caught(|session| session.put(b"\xFFl", &maximum(178, 872)).unwrap());
    assert_eq!(failed, ["start of the longest"]);
    let failed = caught(|session| session.put(b"\xFFm", &maximum(9_232, 703)).unwrap());
    assert_eq!(failed, ["largest number"]);
    let failed = caught(|session| session.put(b"\xFFm", &maximum(250_504, 702)).unwrap());
    assert_eq!(failed, ["start of the largest"]);
    let failed = caught(|session| session.put(b"\xFFl", b"178").unwrap());
    assert_eq!(failed, ["longest sequence", "start of the longest"]);
    let failed = caught(|session| session.delete(b"\xFFm").unwrap());
    assert_eq!(failed, ["largest number", "start of the largest"]);
}

#[test]
fn an_unfinished_block_is_caught() {
    let block = [b"\xFFb".as_slice(), &3_u64.to_be_bytes()].concat();
    let failed = caught(|session| session.put(&block, &[0; 5]).unwrap());
    assert_eq!(failed, ["finished blocks"]);
    let failed = caught(|session| session.delete(&block).unwrap());
    assert_eq!(failed, ["finished blocks"]);
}

#[test]
fn a_lost_or_invented_read_or_update_is_caught() {
    let bench = Bench::lmdb(2, "finish=1000");
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion);
    for kind in [0, 1] {
        let mut wrong = ended.clone();
        wrong.counts[kind] += 1;
        let failed = failures(&bench.verify(&wrong));
        assert!(
            failed.contains_key("reads less updates are the starts"),
            "{failed:?}"
        );
    }
}

#[test]
fn a_sample_catches_what_is_wrong_all_over() {
    let bench = Bench::lmdb(2, "finish=1000");
    let (mut ended, _) = bench.run();
    bench.tamper(|session| {
        for number in 2..200 {
            session.put(&key(number), &9_999_u32.to_be_bytes()).unwrap();
        }
    });
    ended.verify = VerifyLevel::Sample;
    assert!(failures(&bench.verify(&ended)).contains_key("stored steps"));
}
