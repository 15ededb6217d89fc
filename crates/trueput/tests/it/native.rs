//! GT.M's own program beside call-ins: the same work, the same records, the same checks.

use crate::support::{self, ALL_WELL, Bench, assert_answers, refusal, stderr};
use trueput_drivers::Gtm;
use trueput_engine::Engine;
use trueput_record::Value;

/// Whether there is a GT.M to test; where not, why.
fn is_here() -> bool {
    match Gtm::new().build() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

const IN_M: [&str; 6] = [
    "run",
    "threen1",
    "--engine",
    "gtm",
    "--knob",
    "gtm.host_language=m",
];

#[test]
fn the_native_program_is_verified_and_times_no_operation() {
    if !is_here() {
        return;
    }
    let bench = Bench::new();
    let more = [
        "--durability=buffered,sync",
        "--workers=4",
        "--set=finish=2000",
        "--set=block=70",
        "--set=keys=integers,words",
    ];
    let output = bench.run(&[&IN_M[..], &more].concat());
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
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
fn the_native_program_takes_numbers_of_more_than_32_bits() {
    if !is_here() {
        return;
    }
    let bench = Bench::new();
    let more = [
        "--durability=none",
        "--workers=2",
        "--set=start=1000000000000",
        "--set=finish=1000000000200",
    ];
    let output = bench.run(&[&IN_M[..], &more].concat());
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    let results = &trials[0].measurement.as_ref().unwrap().results;
    let (longest, largest) = support::answers(1_000_000_000_000, 1_000_000_000_200);
    assert_eq!(results["longest"], Value::from(longest));
    assert_eq!(results["largest"], Value::from(largest));
}

#[test]
fn what_the_native_program_cannot_do_is_said_in_one_line() {
    if !is_here() {
        return;
    }
    let bench = Bench::new();
    let output = bench.run(&[&IN_M[..], &["--set=commit=per-start"]].concat());
    let said = refusal(&output);
    let expected = "gtm.host_language: m takes commit=per-store, and not per-start";
    assert!(said.contains(expected), "{said}");
    // Arithmetic in M has 18 digits: rather than round, the trial fails.
    let more = [
        "--durability=none",
        "--set=start=900000000000000001",
        "--set=finish=900000000000000001",
    ];
    let output = bench.run(&[&IN_M[..], &more].concat());
    let outcome = format!("{:?}", bench.trials()[0].outcome);
    assert!(outcome.contains("leaves the 18 digits"), "{outcome}");
    assert_eq!(output.status.code(), Some(1));
}
