//! Trials whose workers ran on several hosts.

use crate::support::rank;
use trueput_findings::cells::RankedCell;
use trueput_record::load_generator::LoadGenerator;
use trueput_record::testing::{spec, valid};
use trueput_record::{Durability, TrialRecord};

/// A trial on a host that used that share of its CPU.
fn on_host(cell: u32, engine: &str, cpu_share: f64) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Async, 1), 10_000.0);
    let measured = trial.measurement.as_mut().unwrap();
    measured.load_generators = vec![LoadGenerator {
        operations: measured.operations.clone(),
        cpu_share: Some(cpu_share),
        ..LoadGenerator::default()
    }];
    trial
}

#[test]
fn a_trial_that_a_host_may_have_limited_is_marked_and_not_ranked_even_by_itself() {
    let names = |cells: &[RankedCell]| cells.iter().map(RankedCell::name).collect::<Vec<_>>();
    let found = rank(&[on_host(0, "redb", 0.5), on_host(1, "fjall", 0.9)]);
    assert_eq!(names(&found[0].cells), ["redb"]);
    assert_eq!(names(&found[0].not_comparable), ["fjall [load generator]"]);
    let alone = rank(&[on_host(0, "fjall", 0.9)]);
    assert_eq!(names(&alone[0].cells), [""; 0]);
    assert_eq!(names(&alone[0].not_comparable), ["fjall [load generator]"]);
}
