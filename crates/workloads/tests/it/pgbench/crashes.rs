//! Commits that a crash has taken are counted where a prefix is promised, and fail the trial where
//! none may be missing; what is left must be a state that transactions have made.

use super::harness::{Bench, Fault, assert_right, failed};
use trueput_engine::Session;
use trueput_record::Survival;
use trueput_workloads::JobResults;

/// The results of a trial after which this many acknowledged transactions more are looked for than
/// there are, as if a crash had taken the last ones.
fn crashed(
    (script, survival): (&str, Survival),
    fault: Fault,
    more: u64,
    change: impl FnOnce(&mut dyn Session),
) -> JobResults {
    let bench = Bench::reference(1, &format!("script={script}"));
    bench.prepare().unwrap();
    let mut ended = bench.work_together(fault);
    ended.crashed = Some(survival);
    *ended.findings[0].get_mut("done").unwrap() += more;
    bench.tamper(change);
    bench.verify(&ended)
}

const STRICT: (&str, Survival) = ("tpcb-like", Survival::EveryCommit);
const PREFIX: (&str, Survival) = ("tpcb-like", Survival::ConsistentPrefix);

fn missing(conclusion: &JobResults) -> String {
    conclusion.results["missing_acknowledged"].to_string()
}

#[test]
fn missing_commits_fail_the_trial_where_none_may_be_missing() {
    let whole = crashed(STRICT, Fault::None, 0, |_| {});
    assert_right(&whole, "the control");
    assert_eq!(missing(&whole), "0");
    let short = crashed(STRICT, Fault::None, 2, |_| {});
    assert!(failed(&short).contains(&"history".to_owned()));
    assert_eq!(missing(&short), "2");
}

#[test]
fn missing_commits_are_counted_where_a_prefix_is_promised() {
    let short = crashed(PREFIX, Fault::None, 2, |_| {});
    assert_right(&short, "a prefix");
    assert_eq!(missing(&short), "2");
}

#[test]
fn half_of_a_transaction_is_found_where_a_prefix_is_promised() {
    // The puts of a transaction: an account, a teller, a branch and a row of history.
    for (put, table) in [(40, "accounts"), (41, "tellers"), (42, "branches")] {
        let torn = failed(&crashed(PREFIX, Fault::LosesPut(put), 0, |_| {}));
        let each = format!("each of the {table}");
        assert!(torn.contains(&each), "{torn:?}");
    }
    let torn = failed(&crashed(PREFIX, Fault::LosesPut(43), 0, |_| {}));
    for table in ["accounts", "tellers", "branches"] {
        assert!(torn.contains(&format!("each of the {table}")), "{torn:?}");
    }
}

#[test]
fn a_row_that_no_acknowledged_transaction_has_inserted_is_found() {
    // Teller 1, branch 1, account 1, and a delta that is never drawn.
    let row = [1, 1, 1, 9_000_u32].map(u32::to_le_bytes).concat();
    let value = [&row[..], &[0; 8], &[b' '; 22]].concat();
    let invented = crashed(PREFIX, Fault::None, 0, |session| {
        session.put(&[4; 13], &value).unwrap();
    });
    let names = failed(&invented);
    assert!(names.contains(&"history".to_owned()), "{names:?}");
}

#[test]
fn of_two_scripts_that_write_history_tells_the_accounts() {
    let mixed = (
        "tpcb-like~simple-update~select-only",
        Survival::ConsistentPrefix,
    );
    let short = crashed(mixed, Fault::None, 5, |_| {});
    assert_eq!(failed(&short), [""; 0]);
    let has = |name: &str| short.checks.iter().any(|check| check.name == name);
    assert!(has("each of the accounts") && !has("each of the tellers"));
    // The first put of a trial is an account's.
    let torn = failed(&crashed(mixed, Fault::LosesPut(0), 0, |_| {}));
    assert!(
        torn.contains(&"each of the accounts".to_owned()),
        "{torn:?}"
    );
}
