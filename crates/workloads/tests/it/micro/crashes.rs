//! Commits missing after a crash are counted if a prefix is promised, and are faults if every
//! commit is; a value that nobody wrote is a fault at every level.

use super::harness::{Bench, Fault, assert_right, failures};
use trueput_record::{Survival, Value};
use trueput_workloads::JobResults;

const SMALL: &str = "records=300";

/// The outcome of a run whose engine has this fault, after a crash that may leave so much.
fn crashed(given: &str, fault: Fault, survival: Survival) -> JobResults {
    let bench = Bench::counted(2, given).with(fault);
    bench.prepare().unwrap();
    let (mut ended, _) = bench.work_together();
    ended.crashed = Some(survival);
    bench.verify(&ended)
}

fn missing(conclusion: &JobResults) -> &Value {
    &conclusion.results["missing_acknowledged"]
}

#[test]
fn a_lost_write_is_wrong_where_every_commit_is_promised_and_counted_where_a_prefix_is() {
    for (test, more, check) in [
        ("fill-random", "", "records"),
        // Each record is written once, so that what is lost is the last write.
        ("overwrite", "distribution=sequential", "versions"),
    ] {
        let given = &format!("test={test} {SMALL} {more}");
        let lost = Fault::LosesPut(123);
        let strict = crashed(given, lost, Survival::EveryCommit);
        let failed: Vec<_> = failures(&strict).into_keys().collect();
        assert_eq!(failed, [check], "{test}");
        let prefix = crashed(given, lost, Survival::ConsistentPrefix);
        assert_right(&prefix, test);
        assert_eq!(missing(&prefix), &Value::Integer(1), "{test}");
        let sound = crashed(given, Fault::None, Survival::EveryCommit);
        assert_right(&sound, test);
        assert_eq!(missing(&sound), &Value::Integer(0), "{test}");
    }
}

#[test]
fn a_garbled_value_is_wrong_even_where_commits_may_be_missing() {
    let given = format!("test=fill-random {SMALL}");
    let conclusion = crashed(&given, Fault::CorruptsPuts(100), Survival::ConsistentPrefix);
    assert!(failures(&conclusion).contains_key("contents"));
}

#[test]
fn a_large_value_may_be_an_older_one_where_a_prefix_is_promised_and_never_torn() {
    let given = "test=overwrite-large distribution=sequential large_values=30 \
                 large_value_bytes=10KiB part_size=1KiB";
    let sound = crashed(given, Fault::None, Survival::EveryCommit);
    assert_right(&sound, "sound");
    assert_eq!(missing(&sound), &Value::Integer(0));
    let torn = crashed(given, Fault::LosesPut(123), Survival::ConsistentPrefix);
    let failed: Vec<_> = failures(&torn).into_keys().collect();
    assert_eq!(failed, ["parts"]);
    let bench = Bench::counted(2, given);
    bench.prepare().unwrap();
    let loaded = bench.records();
    let (mut ended, _) = bench.work_together();
    bench.tamper(|session| {
        for (key, part) in &loaded[50..60] {
            session.put(key, part).unwrap();
        }
    });
    ended.crashed = Some(Survival::ConsistentPrefix);
    let prefix = bench.verify(&ended);
    assert_right(&prefix, "an older value");
    assert_eq!(missing(&prefix), &Value::Integer(1));
    ended.crashed = Some(Survival::EveryCommit);
    let failed: Vec<_> = failures(&bench.verify(&ended)).into_keys().collect();
    assert_eq!(failed, ["versions"]);
}

#[test]
fn a_test_that_deletes_cannot_tell_what_a_crash_has_taken() {
    let refused = |test| {
        let bench = Bench::counted(1, &format!("test={test} {SMALL}"));
        let refused = bench.job.check_crash(Survival::EveryCommit).err();
        refused.map(String::from)
    };
    assert!(refused("delete-random").unwrap().contains("deletes"));
    let conditional = refused("put-if-absent").unwrap();
    assert!(conditional.contains("conditional puts"), "{conditional}");
    assert_eq!(refused("overwrite"), None);
}
