//! Workers on hosts with a real sshd each.

use crate::claims::claims;
use crate::replay::OPERATIONS;
use crate::support::{Bench, doubts, on, spec};
use trueput_host::testing::ssh_hosts::SshHosts;
use trueput_record::measurement::{LatencySummary, Measurement};
use trueput_record::{TrialRecord, TrialSpec};

claims![two_hosts_give_the_percentiles_of_one_process_that_replays_the_same_latencies];

/// A trial that replays the schedule.
fn replayed(id: &str, workers: u32, hosts: Option<&str>) -> TrialSpec {
    let mut spec = on("null", spec(id, "store"));
    spec.workload = "replay".to_owned();
    spec.settings.clear();
    spec.workers = workers;
    spec.conditions.hosts = hosts.map(|hosts| hosts.parse().unwrap());
    spec
}

fn measured(record: &TrialRecord) -> &Measurement {
    assert!(doubts(record).is_empty(), "{:?}", record.outcome);
    record.measurement.as_ref().unwrap()
}

fn percentiles(latency: &LatencySummary) -> [u64; 4] {
    [
        latency.p50_ns,
        latency.p90_ns,
        latency.p99_ns,
        latency.p999_ns,
    ]
}

/// Whether two latencies are the same to HdrHistogram's precision of three digits.
fn is_same(one: u64, other: u64) -> bool {
    (one as f64 / other as f64 - 1.0).abs() <= 1e-3
}

fn two_hosts_give_the_percentiles_of_one_process_that_replays_the_same_latencies() {
    if let Some(reason) = SshHosts::reason_for_none() {
        eprintln!("skipped: {reason}");
        return;
    }
    let mut bench = Bench::new();
    let hosts = SshHosts::start(bench.folder.path(), 2).unwrap();
    hosts.enter_runner_here().unwrap();
    bench.options.host_access.ssh_config = Some(hosts.ssh_config());
    let records = bench.records(vec![
        replayed("one", 1, None),
        replayed("two", 2, Some("a,b")),
    ]);
    let [one, two] = [&records[0], &records[1]].map(measured);
    assert_eq!(one.load_generators, []);
    let [of_one, of_two] = [one, two].map(|measured| &measured.operations[0]);
    assert_eq!((of_one.count, of_two.count), (OPERATIONS, OPERATIONS));
    let pairs = percentiles(&of_one.latency)
        .into_iter()
        .zip(percentiles(&of_two.latency));
    for (one, two) in pairs {
        assert!(
            is_same(one, two),
            "{:?} {:?}",
            of_one.latency,
            of_two.latency
        );
    }
    // The control: no mean of the hosts' own percentiles gives that, nor either of them.
    let own = two
        .load_generators
        .iter()
        .map(|host| &host.operations[0].latency);
    let p99s: Vec<u64> = own.map(|latency| latency.p99_ns).collect();
    let mean = p99s.iter().sum::<u64>() / 2;
    for wrong in [p99s[0], p99s[1], mean] {
        assert!(!is_same(wrong, of_one.latency.p99_ns), "{p99s:?}");
    }
}
