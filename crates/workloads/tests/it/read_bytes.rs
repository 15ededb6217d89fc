//! A bit that an engine flips in one read, of values whose stored bytes are right, is found.

use crate::micro::harness::{Bench, Fault, assert_right, failures};
use crate::ycsb;
use std::path::Path;
use trueput_engine::reference::Reference;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::Workload;
use trueput_workloads::custom::Custom;
use trueput_workloads::micro::Micro;
use trueput_workloads::trace::TraceWorkload;

const CASES: [(&dyn Workload, &str); 10] = [
    (&Micro, "test=read-random records=300"),
    (&Micro, "test=read-sequential records=300"),
    (&Micro, "test=seek-random records=300"),
    (&Micro, "test=mix update_percent=50 records=300"),
    (&Micro, "test=read-random records=40 value_bytes=500KiB"),
    (
        &Micro,
        "test=read-large large_values=30 large_value_bytes=10KiB part_size=1KiB",
    ),
    (&Custom, "operations=get:1~update:1 records=300"),
    (
        &Custom,
        "operations=scan(5)+get:1~put:1 records=300 value_bytes=lognormal(300B..4KiB)",
    ),
    (&Custom, "operations=read-modify-write:1 records=300"),
    (&TraceWorkload, "pace=closed"),
];

fn bench(workload: &'static dyn Workload, given: &str) -> Bench {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/example.csv");
    let given = match given {
        "pace=closed" => format!("{given} file={}", trace.display()),
        _ => given.to_owned(),
    };
    Bench::of(workload, &Reference, 1, &Conditions::default(), &given)
}

#[test]
fn a_flipped_bit_in_one_read_is_found_in_micro_custom_and_trace() {
    for (workload, given) in CASES {
        let control = bench(workload, given);
        let (_, conclusion) = control.run();
        assert_right(&conclusion, given);
        let reads = conclusion.checks.iter().find(|check| check.name == "reads");
        let detail = &reads.unwrap().detail;
        assert!(detail.contains("every byte compared"), "{detail}");
        for number in [0, 7] {
            let faulty = bench(workload, given).with(Fault::FlipsReadBit(number));
            let failures = failures(&faulty.run().1);
            let reads = failures.get("reads").unwrap_or_else(|| panic!("{given}"));
            assert!(reads.contains("damaged"), "{given}: {reads}");
            assert_eq!(failures.len(), 1, "what is stored is right: {given}");
        }
    }
}

#[test]
fn a_flipped_bit_in_one_read_is_found_in_ycsb() {
    for workload in ["a", "c", "d", "e", "f"] {
        let given = format!("workload={workload} recordcount=300");
        let bench = ycsb::harness::Bench::new(1, &given);
        let (_, conclusion) = bench.run(Fault::FlipsReadBit(40));
        let failures = failures(&conclusion);
        assert!(
            failures["reads"].contains("damaged"),
            "{workload}: {failures:?}"
        );
    }
}

#[test]
fn a_sample_says_that_it_compares_a_tenth() {
    let mut bench = bench(&Micro, "test=read-random records=300");
    bench.verify = VerifyLevel::Sample;
    let (_, conclusion) = bench.run();
    let reads = conclusion.checks.iter().find(|check| check.name == "reads");
    assert!(
        reads
            .unwrap()
            .detail
            .contains("those of every tenth record to the last byte")
    );
}
