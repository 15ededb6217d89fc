//! Workers that are killed or stopped, and a resumed run that continues their work.

use super::harness::{Bench, COMMITS, Fate, assert_right, failures, result};
use trueput_workloads::Error;

#[test]
fn a_killed_worker_leaves_its_block_to_others() {
    for commit in COMMITS {
        let given = format!("finish=3000 commit={commit} block=200");
        let bench = Bench::lmdb(3, &given);
        bench.prepare(false).unwrap();
        let (_, found) = bench.work(0, Fate::DiesAtPut(40));
        assert!(found.is_err());
        let (ended, errors) = bench.work_together(&[Fate::Lives, Fate::Lives]);
        assert_eq!(errors, []);
        let left = failures(&bench.verify(&ended));
        assert_eq!(left["finished blocks"], "expected 15, found 14");
        let conclusion = bench.resume();
        assert_right(&conclusion);
        assert_eq!(result(&conclusion, "longest"), 216, "{commit}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn whenever_all_are_killed_a_resumed_run_has_the_right_answers() {
    for commit in COMMITS {
        let bench_of = || Bench::lmdb(1, &format!("finish=41 commit={commit} block=9"));
        for last in 0.. {
            let bench = bench_of();
            bench.prepare(false).unwrap();
            let (_, errors) = bench.work_together(&[Fate::DiesAtPut(last)]);
            assert_right(&bench.resume());
            if errors.is_empty() {
                assert!(last > 100, "{commit}: died {last} times only");
                break;
            }
        }
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_gets_there() {
    let bench = Bench::lmdb(2, "finish=3000 block=100");
    bench.prepare(false).unwrap();
    for last in [10, 900, 35, 1_200] {
        let (_, errors) = bench.work_together(&[Fate::DiesAtPut(last), Fate::DiesAtPut(last / 2)]);
        assert_eq!(errors.len(), 2);
        bench.prepare(true).unwrap();
    }
    assert_right(&bench.resume());
}

#[test]
fn the_largest_number_survives_a_kill_in_the_last_block() {
    for commit in COMMITS {
        // 703 leads to the largest number early; the worker dies long after.
        let given = format!("finish=1000 commit={commit} block=50");
        let bench = Bench::lmdb(1, &given);
        bench.prepare(false).unwrap();
        let (_, errors) = bench.work_together(&[Fate::DiesAtPut(2_190)]);
        assert_eq!(errors.len(), 1);
        let conclusion = bench.resume();
        assert_right(&conclusion);
        assert_eq!(result(&conclusion, "largest"), 250_504);
    }
}

#[test]
fn a_stopped_worker_says_so_and_its_work_is_continued() {
    for commit in COMMITS {
        let bench = Bench::lmdb(1, &format!("finish=2000 commit={commit} block=100"));
        bench.prepare(false).unwrap();
        let (_, errors) = bench.work_together(&[Fate::Stopped(1_500)]);
        assert_eq!(errors, [Error::Stopped]);
        assert_right(&bench.resume());
    }
}

#[test]
fn a_block_that_is_stopped_midway_counts_nothing() {
    let bench = Bench::lmdb(1, "finish=2000 commit=per-block");
    bench.prepare(false).unwrap();
    let (meter, found) = bench.work(0, Fate::Stopped(100));
    assert_eq!(found, Err(Error::Stopped));
    assert_eq!(meter.counts[..2], [0, 0]);
}

#[test]
fn a_run_killed_before_it_was_prepared_is_prepared_on_resume() {
    assert_right(&Bench::lmdb(2, "finish=500").resume());
}

#[test]
fn a_finished_run_resumed_does_nothing_and_stays_right() {
    let bench = Bench::lmdb(2, "finish=500");
    bench.run();
    let conclusion = bench.resume();
    assert_right(&conclusion);
    assert_eq!(result(&conclusion, "updates"), 0);
}

#[test]
fn the_remains_of_another_problem_are_refused() {
    let mut bench = Bench::lmdb(2, "finish=500");
    bench.run();
    bench.job = super::harness::job("finish=600").unwrap();
    let error = bench.prepare(true).unwrap_err().to_string();
    assert_eq!(
        error,
        "the database holds the 3n+1 problem 1 to 500, 2 workers, blocks of 250, per-store, \
         integers, and not 1 to 600, 2 workers, blocks of 300, per-store, integers; resume with \
         the same settings, or begin with an empty database"
    );
}

#[test]
fn a_database_that_is_not_empty_is_refused_unless_it_is_resumed() {
    let bench = Bench::lmdb(1, "finish=100");
    bench.run();
    let error = bench.prepare(false).unwrap_err().to_string();
    assert!(error.contains("already; resume it"), "{error}");
    let other = Bench::lmdb(1, "finish=100");
    other.tamper(|session| session.put(b"a", b"b").unwrap());
    for resume in [false, true] {
        let error = other.prepare(resume).unwrap_err().to_string();
        assert!(
            error.contains("holds records and no 3n+1 problem"),
            "{error}"
        );
    }
}

#[test]
fn a_worker_on_a_database_that_was_not_prepared_says_so() {
    let bench = Bench::lmdb(1, "finish=100");
    let (_, found) = bench.work(0, Fate::Lives);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("this database was not prepared"), "{error}");
}
