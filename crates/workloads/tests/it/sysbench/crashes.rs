//! Commits missing after a crash are counted if a prefix is promised, and are faults if every
//! commit is; a value that nobody wrote is a fault at every level.

use super::harness::{Bench, Fault, failed, job};
use trueput_record::{Survival, Value};
use trueput_workloads::{JobResults, check_crash};

/// The outcome of a run whose engine has this fault, after a crash that may leave so much.
fn crashed(given: &str, fault: Fault, survival: Survival) -> JobResults {
    let given = format!("rand_type=uniform {given}");
    let bench = Bench::reference(1, &given);
    bench.prepare();
    let mut ended = bench.work_together(fault);
    ended.crashed = Some(survival);
    bench.verify(&ended)
}

fn missing(conclusion: &JobResults) -> &Value {
    &conclusion.results["missing_acknowledged"]
}

#[test]
fn a_lost_write_is_wrong_where_every_commit_is_promised_and_counted_where_a_prefix_is() {
    for (script, more, lost, check) in [
        ("oltp_update_non_index", "", 199, "versions"),
        ("bulk_insert", "bulk_rows=1", 199, "rows"),
    ] {
        let given = format!("script={script} {more}");
        let fault = Fault::LosesPut(lost);
        let strict = crashed(&given, fault, Survival::EveryCommit);
        assert_eq!(failed(&strict), [check], "{script}");
        let prefix = crashed(&given, fault, Survival::ConsistentPrefix);
        assert_eq!(failed(&prefix), [""; 0], "{script}");
        assert_eq!(missing(&prefix), &Value::Integer(1), "{script}");
        let sound = crashed(&given, Fault::None, Survival::EveryCommit);
        assert_eq!(failed(&sound), [""; 0], "{script}");
        assert_eq!(missing(&sound), &Value::Integer(0), "{script}");
    }
}

#[test]
fn half_a_transaction_and_a_damaged_row_are_wrong_even_where_commits_may_be_missing() {
    let prefix = Survival::ConsistentPrefix;
    // The entry of the last update is there, and its row is not.
    let torn = crashed("script=oltp_update_index", Fault::LosesPut(399), prefix);
    assert_eq!(failed(&torn), ["index"]);
    let damaged = crashed("script=oltp_insert", Fault::CorruptsPuts(5), prefix);
    assert_eq!(failed(&damaged), ["contents"]);
}

#[test]
fn scripts_that_only_read_give_a_crash_nothing_to_take() {
    let check = |script: &str| {
        let job = job(&format!("script={script}")).unwrap();
        check_crash(&*job, Survival::EveryCommit).is_ok()
    };
    assert!(check("oltp_read_write") && check("oltp_delete") && check("bulk_insert"));
    assert!(!check("oltp_read_only") && !check("select_random_points"));
}
