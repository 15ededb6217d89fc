//! GT.M's own program compared with call-ins: the same work, the same records, the same checks.

use crate::support::{self, ALL_WELL, Bench, assert_answers, assert_contains, is_installed};
use trueput_record::Value;

const IN_M: &str = "run threen1 --engine gtm --knob gtm.host_language=m";

#[test]
#[ignore = "slow: make test runs it"]
fn the_native_program_is_verified_and_times_no_operation() {
    if !is_installed("gtm") {
        return;
    }
    let bench = Bench::new();
    // Of 2,000 starts some worker has 500, after which it says for the first time what it did.
    let small = "--workers=4 --set=finish=2000 --set=block=70 --set=keys=integers,words";
    let line = format!("{IN_M} --durability=buffered,sync {small}");
    bench.run_expecting(ALL_WELL, &line);
    let trials = bench.trials();
    assert_eq!(trials.len(), 4);
    for record in &trials {
        assert_answers(record, 1, 2000);
        let measured = record.measurement.as_ref().unwrap();
        assert_eq!(measured.workers.len(), 4);
        assert_eq!(measured.operation("finish").unwrap().count, 29);
        assert!(measured.resources.user_cpu_s > 0.0);
        let timed = |kind: &str| measured.operation(kind).unwrap().latency.is_measured();
        assert!(!timed("read") && !timed("update"));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_native_program_takes_numbers_of_more_than_32_bits() {
    if !is_installed("gtm") {
        return;
    }
    let bench = Bench::new();
    let range = "--set=start=1000000000000 --set=finish=1000000000200";
    let line = format!("{IN_M} --durability=none --workers=2 {range}");
    bench.run_expecting(ALL_WELL, &line);
    let trials = bench.trials();
    let results = &trials[0].measurement.as_ref().unwrap().results;
    let (longest, largest) = support::answers(1_000_000_000_000, 1_000_000_000_200);
    assert_eq!(results["longest"], Value::from(longest));
    assert_eq!(results["largest"], Value::from(largest));
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_the_native_program_cannot_do_is_said_in_one_line() {
    if !is_installed("gtm") {
        return;
    }
    let bench = Bench::new();
    let said = bench.refusal_of(&format!("{IN_M} --set=commit=per-start"));
    let expected = "gtm.host_language: m takes commit=per-store, and not per-start";
    assert_contains(&said, &[expected]);
    // Arithmetic in M has 18 digits: rather than round, the trial fails.
    let range = "--set=start=900000000000000001 --set=finish=900000000000000001";
    bench.run_expecting(1, &format!("{IN_M} --durability=none {range}"));
    let outcome = format!("{:?}", bench.trials()[0].outcome);
    assert_contains(&outcome, &["leaves the 18 digits"]);
}
