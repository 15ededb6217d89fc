//! Trials that their time ends: they are verified up to where they came.

use super::harness::{Bench, COMMITS, Fate, KEYS, READ, UPDATE, assert_right, failures, result};
use trueput_drivers::{Fjall, Lmdb, Redb, Sqlite};
use trueput_engine::{Engine, Null, Session};
use trueput_record::VerifyLevel;
use trueput_workloads::{Error, ExecutionSummary, JobResults};

/// Operations after which the time of each worker is over: within a block, at different places.
const LIMITS: [u64; 3] = [900, 2_300, 1_505];

fn run(bench: &Bench, limits: &[u64]) -> (ExecutionSummary, JobResults) {
    bench.prepare(false).unwrap();
    let fates: Vec<_> = limits
        .iter()
        .map(|limit| Fate::TimeIsOver(*limit))
        .collect();
    let (ended, errors) = bench.work_together(&fates);
    assert_eq!(errors, []);
    let conclusion = bench.verify(&ended);
    (ended, conclusion)
}

#[test]
fn what_was_done_when_the_time_was_over_is_right_on_every_engine() {
    let engines: [&dyn Engine; 5] = [&Lmdb::new(), &Sqlite::new(), &Redb, &Fjall, &Null];
    for engine in engines {
        for commit in COMMITS {
            let given = format!("commit={commit} block=40");
            let bench = Bench::timed(engine, 3, &given);
            let (ended, conclusion) = run(&bench, &LIMITS);
            let which = format!("{} {commit}", engine.info().name);
            assert_eq!(failures(&conclusion), [].into(), "{which}");
            let starts = result(&conclusion, "starts");
            let stores = ended.counts[UPDATE] + uncounted(&ended);
            assert_eq!(ended.counts[READ] - stores, starts, "{which}");
            let is_cut = uncounted(&ended) > 0;
            assert!(!is_cut || commit == "per-store", "{which}");
            assert!(
                starts > 30 && result(&conclusion, "last_start") >= starts,
                "{which}"
            );
        }
    }
}

/// The stores that no worker counted as updates, because the time was over.
fn uncounted(ended: &ExecutionSummary) -> u64 {
    let workers = ended.findings.iter();
    workers.map(|findings| findings["uncounted"]).sum()
}

#[test]
fn the_rest_of_a_path_is_stored_with_the_end_of_its_block() {
    // The worker claims its block, looks 27 and the 111 numbers after it up, and stores 111.
    for (limit, updates) in [(1, 0), (112, 0), (113, 0), (114, 1), (150, 37), (223, 110)] {
        let bench = Bench::timed(&Lmdb::new(), 1, "start=27 block=1");
        let (ended, conclusion) = run(&bench, &[limit]);
        let is_begun = u64::from(limit > 1);
        assert_eq!(failures(&conclusion), [].into(), "{limit}");
        assert_eq!(ended.counts[UPDATE], updates, "{limit}");
        assert_eq!(uncounted(&ended), is_begun * (111 - updates), "{limit}");
        assert_eq!(result(&conclusion, "starts"), is_begun, "{limit}");
        assert_eq!(result(&conclusion, "surplus"), 0, "{limit}");
        assert_eq!(result(&conclusion, "largest"), is_begun * 9_232, "{limit}");
    }
}

#[test]
fn a_store_that_is_not_counted_and_lost_is_caught() {
    let bench = Bench::timed(&Lmdb::new(), 1, "start=27 block=1");
    let (ended, conclusion) = run(&bench, &[150]);
    assert_right(&conclusion);
    bench.tamper(|session| session.delete(&27_u64.to_be_bytes()).unwrap());
    let failed = failures(&bench.verify(&ended));
    assert!(failed.contains_key("starts stored"), "{failed:?}");
}

#[test]
fn any_keys_and_any_first_start_are_right() {
    for keys in KEYS {
        for given in [
            "start=1",
            "start=1000000000000",
            "start=27 snapshot=start",
            "block=1",
        ] {
            let bench = Bench::timed(&Lmdb::new(), 3, &format!("{given} keys={keys}"));
            let (_, conclusion) = run(&bench, &LIMITS);
            assert_eq!(failures(&conclusion), [].into(), "{given} {keys}");
        }
    }
}

#[test]
fn the_work_goes_on_above_the_range() {
    let bench = Bench::timed(&Lmdb::new(), 2, "finish=100");
    let (_, conclusion) = run(&bench, &[2_000, 2_000]);
    assert_right(&conclusion);
    assert_eq!(
        result(&conclusion, "block"),
        50,
        "a worker's share of the range"
    );
    assert!(result(&conclusion, "last_start") > 200);
}

#[test]
fn the_answers_are_those_of_the_starts_that_were_done() {
    // The second worker has 101 to 200 and comes to its 20th start; the first one does a few.
    let bench = Bench::timed(&Lmdb::new(), 2, "");
    bench.prepare(false).unwrap();
    let (first, found_first) = bench.work(0, Fate::TimeIsOver(3));
    let (second, found_second) = bench.work(1, Fate::TimeIsOver(300));
    let (mut ended, _) = bench.work_together(&[]);
    ended.counts = (first.counts.iter().zip(&second.counts))
        .map(|(one, other)| one + other)
        .collect();
    ended.findings = vec![found_first.unwrap(), found_second.unwrap()];
    let conclusion = bench.verify(&ended);
    assert_right(&conclusion);
    let starts = result(&conclusion, "starts");
    assert!(
        result(&conclusion, "last_start") > starts,
        "a gap after the first worker's"
    );
    assert!(result(&conclusion, "longest_start") > 100);
}

#[test]
fn time_that_is_over_at_once_leaves_nothing_to_check() {
    for engine in [&Lmdb::new() as &dyn Engine, &Null] {
        for commit in COMMITS {
            let bench = Bench::timed(engine, 2, &format!("commit={commit}"));
            let (_, conclusion) = run(&bench, &[0, 0]);
            assert_eq!(failures(&conclusion), [].into(), "{commit}");
            assert_eq!(result(&conclusion, "starts"), 0);
            assert_eq!(result(&conclusion, "last_start"), 0);
        }
    }
}

#[test]
fn a_worker_that_the_user_stops_says_so() {
    for commit in COMMITS {
        let bench = Bench::timed(&Lmdb::new(), 1, &format!("commit={commit}"));
        bench.prepare(false).unwrap();
        assert_eq!(bench.work(0, Fate::Stopped(300)).1, Err(Error::Stopped));
    }
}

#[test]
fn a_trial_with_a_duration_has_no_last_unit_and_is_not_resumed() {
    let bench = Bench::timed(&Lmdb::new(), 1, "finish=1000");
    assert_eq!(bench.job.total_units(), 0);
    assert!(!bench.job.is_resumable());
    assert!(bench.job.expected_bytes() > 1 << 20);
}

/// The checks that fail after `tamper` has changed the database of a trial that was right.
fn caught(tamper: impl FnOnce(&mut dyn Session)) -> Vec<String> {
    let bench = Bench::timed(&Lmdb::new(), 2, "block=20");
    let (ended, conclusion) = run(&bench, &[900, 1_511]);
    assert_right(&conclusion);
    bench.tamper(tamper);
    failures(&bench.verify(&ended)).into_keys().collect()
}

/// The key of a block's record.
fn block(number: u64) -> Vec<u8> {
    [b"\xFFb".as_slice(), &number.to_be_bytes()].concat()
}

#[test]
fn a_block_that_claims_less_than_was_done_is_caught() {
    // Block 1 has 20 starts, all of them done; more than it has are not possible.
    for (starts, is_right) in [(0, false), (19, false), (20, true), (u64::MAX, true)] {
        let state = [&[2, 0, 0, 0, 0], starts.to_be_bytes().as_slice()].concat();
        let failed = caught(|session| session.put(&block(1), &state).unwrap());
        let identity = "reads less updates are the starts".to_owned();
        assert_eq!(
            failed.contains(&identity),
            !is_right,
            "{starts}: {failed:?}"
        );
    }
}

#[test]
fn a_block_that_nobody_finished_is_caught() {
    let failed = caught(|session| session.put(&block(0), &[0; 5]).unwrap());
    assert!(failed.contains(&"finished blocks".to_owned()), "{failed:?}");
    let failed = caught(|session| session.delete(&block(0)).unwrap());
    assert!(failed.contains(&"finished blocks".to_owned()), "{failed:?}");
    let bench = Bench::timed(&Lmdb::new(), 2, "block=50");
    bench.prepare(false).unwrap();
    let (ended, errors) = bench.work_together(&[Fate::TimeIsOver(500), Fate::DiesAtPut(40)]);
    assert_eq!(errors.len(), 1);
    let failed = failures(&bench.verify(&ended));
    assert!(failed.contains_key("finished blocks"), "{failed:?}");
}

#[test]
fn wrong_steps_missing_starts_and_wrong_maxima_are_caught() {
    let key = |number: u64| number.to_be_bytes();
    let failed = caught(|session| session.put(&key(27), &112_u32.to_be_bytes()).unwrap());
    assert_eq!(failed, ["stored steps"]);
    let failed = caught(|session| session.delete(&key(27)).unwrap());
    assert!(failed.contains(&"starts stored".to_owned()), "{failed:?}");
    let maximum = [1_u64.to_be_bytes(), 27_u64.to_be_bytes()].concat();
    let failed = caught(|session| session.put(b"\xFFl", &maximum).unwrap());
    assert!(
        failed.contains(&"longest sequence".to_owned()),
        "{failed:?}"
    );
    let failed = caught(|session| session.put(b"\xFFm", &maximum).unwrap());
    assert!(failed.contains(&"largest number".to_owned()), "{failed:?}");
}

#[test]
fn a_lost_read_is_caught_on_an_engine_that_keeps_nothing() {
    let bench = Bench::timed(&Null, 3, "");
    let (mut ended, conclusion) = run(&bench, &LIMITS);
    assert_right(&conclusion);
    ended.counts[READ] -= 1;
    assert!(failures(&bench.verify(&ended)).contains_key("reads less updates are the starts"));
}

#[test]
fn without_verification_the_range_stands_in_the_results() {
    let bench = Bench::timed(&Lmdb::new(), 2, "");
    let (mut ended, conclusion) = run(&bench, &[900, 900]);
    ended.verify = VerifyLevel::Off;
    let unverified = bench.verify(&ended);
    assert_eq!(unverified.checks, []);
    assert_eq!(unverified.results["starts"], conclusion.results["starts"]);
}
