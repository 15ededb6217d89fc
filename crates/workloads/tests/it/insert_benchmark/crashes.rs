//! What a crash may have left: whole transactions where a prefix of the commits is promised, and
//! all of them elsewhere.

use super::harness::{Bench, assert_right, failed};
use trueput_record::Survival;
use trueput_workloads::JobResults;

/// The results of l.i2 after a crash, with this promise, if its workers say that they did so many
/// rows more.
fn crashed(survival: Survival, more: u64) -> JobResults {
    let mut bench = Bench::reference(1, "");
    bench.prepare_step("l.i2").unwrap();
    bench.prime().unwrap();
    let mut ended = bench.work_together(None);
    ended.crashed = Some(survival);
    *ended.findings[0].get_mut("rows inserted").unwrap() += more;
    for name in ["rows deleted", "rows found by deletes"] {
        *ended.findings[1].get_mut(name).unwrap() += more;
    }
    bench.verify(&ended)
}

fn missing(conclusion: &JobResults) -> String {
    conclusion.results["missing_acknowledged"].to_string()
}

#[test]
fn missing_commits_fail_the_trial_where_none_may_be_missing() {
    let whole = crashed(Survival::EveryCommit, 0);
    assert_right(&whole, "the control");
    assert_eq!(missing(&whole), "0");
    let short = crashed(Survival::EveryCommit, 10);
    assert!(failed(&short).contains(&"each row".to_owned()));
    assert_eq!(missing(&short), "20");
}

#[test]
fn missing_commits_are_counted_where_a_prefix_is_promised() {
    let short = crashed(Survival::ConsistentPrefix, 10);
    assert_right(&short, "a prefix");
    assert_eq!(missing(&short), "20");
}

#[test]
fn a_part_of_a_transaction_is_found_where_a_prefix_is_promised() {
    let mut bench = Bench::reference(1, "");
    bench.prepare_step("l.i2").unwrap();
    bench.prime().unwrap();
    let mut ended = bench.work_together(None);
    ended.crashed = Some(Survival::ConsistentPrefix);
    assert_right(&bench.verify(&ended), "the control");
    // The last row, without its entries.
    bench.tamper(|session| {
        let key = [&[0, 0, 0, 1, 0][..], &1_100_u64.to_be_bytes()].concat();
        session.delete(&key).unwrap();
    });
    let torn = failed(&bench.verify(&ended));
    assert!(
        torn.contains(&"a prefix of the commits".to_owned()),
        "{torn:?}"
    );
    assert!(torn.contains(&"pdc".to_owned()), "{torn:?}");
}
