//! Trials whose workers ran on several hosts.

use crate::support::{report, spec, terminal, valid};
use trueput_record::load_generator::{ClockOffset, LoadGenerator, Stall};
use trueput_record::{Durability, TrialRecord};
use trueput_report::RunReport;

/// A trial on two hosts, of which the second used that share of its CPU.
pub fn on_hosts(cell: u32, engine: &str, cpu_share: f64) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Async, 1), 10_000.0);
    let measured = trial.measurement.as_mut().unwrap();
    let host = |host: &str, cpu_share| LoadGenerator {
        host: host.to_owned(),
        workers: 2,
        cores: 4,
        operations: measured.operations.clone(),
        cpu_share: Some(cpu_share),
        clock_before: ClockOffset {
            wall_ns: 5_000_000_000,
            error_ns: 40_000,
            monotonic_ns: 7,
        },
        clock_after: ClockOffset {
            monotonic_ns: 1_007,
            ..ClockOffset::default()
        },
        ..LoadGenerator::default()
    };
    measured.load_generators = vec![host("near", 0.25), host("far", cpu_share)];
    trial
}

#[test]
fn the_page_has_the_table_of_hosts() {
    let page = report(vec![on_hosts(0, "redb", 0.5)]).page();
    assert_has!(page, "Load from several hosts", "+5.00 s ± 40.0 µs");
}

#[test]
fn a_host_that_may_have_limited_a_trial_is_named() {
    let run = report(vec![on_hosts(0, "redb", 0.5), on_hosts(1, "fjall", 0.9)]);
    assert_has!(
        terminal(&run, 200),
        "host far may have been the limit: 90.0 % of its CPU was used"
    );
}

#[test]
fn a_stalled_host_is_named() {
    let mut trial = on_hosts(0, "redb", 0.5);
    let hosts = &mut trial.measurement.as_mut().unwrap().load_generators;
    hosts[1].stalls.push(Stall {
        worker: None,
        from_s: 3.0,
        length_s: 4.0,
    });
    let text = terminal(&report(vec![trial]), 200);
    assert_has!(text, "host far did not run for 4.0 s, from second 3.0 on.");
}
