//! Where workers run, and with which allocator.

use crate::claims::claims;
use crate::support::{Bench, doubts, spec, threads};
use trueput_record::conditions::{Allocator, parse_list};
use trueput_record::host::NumaNode;
use trueput_record::{Conditions, TrialRecord, TrialSpec};

claims![
    workers_run_on_the_processors_that_were_asked_for,
    workers_that_nobody_places_run_anywhere_with_the_usual_allocator,
    the_workers_memory_lies_where_the_policy_says,
    each_allocator_that_is_here_is_the_workers_own,
    a_place_that_is_not_there_is_refused_before_anything_is_made,
];

fn under(mut spec: TrialSpec, change: impl Fn(&mut Conditions)) -> TrialSpec {
    change(&mut spec.conditions);
    spec
}

fn both_kinds(change: impl Fn(&mut Conditions)) -> Vec<TrialRecord> {
    let specs = [
        spec("processes", "store"),
        threads(spec("threads", "store")),
    ];
    let specs = specs.map(|spec| under(spec, &change));
    Bench::new().records(specs.into())
}

/// The processors that this test may use.
fn own_cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_list(list.unwrap()).unwrap()
}

fn numa_nodes(bench: &Bench) -> Vec<NumaNode> {
    let made = bench.create(vec![spec("a", "store")]).unwrap();
    made.manifest.host.numa_nodes
}

fn workers_run_on_the_processors_that_were_asked_for() {
    let last = *own_cpus().last().unwrap();
    for record in both_kinds(|of| of.cpus = Some(last.to_string())) {
        assert!(doubts(&record).is_empty(), "{record:?}");
        let placement = record.measurement.unwrap().placement.unwrap();
        assert_eq!(placement.cpus, last.to_string());
    }
}

fn workers_that_nobody_places_run_anywhere_with_the_usual_allocator() {
    for record in both_kinds(|_| {}) {
        let measured = record.measurement.unwrap();
        let placement = measured.placement.unwrap();
        assert_eq!(parse_list(&placement.cpus).unwrap(), own_cpus());
        assert!(
            ["default", ""].contains(&placement.numa_policy.as_str()),
            "{placement:?}"
        );
        let allocator = measured.allocator.unwrap();
        assert_eq!(allocator.name, "libc");
        assert!(!allocator.version.is_empty(), "{allocator:?}");
    }
}

fn the_workers_memory_lies_where_the_policy_says() {
    let Some(node) = numa_nodes(&Bench::new()).first().map(|node| node.node) else {
        println!("skipped: this kernel knows no NUMA nodes");
        return;
    };
    let policies = [
        ("local".to_owned(), "local".to_owned()),
        (format!("bind:{node}"), format!("bind:{node}")),
        (format!("preferred:{node}"), format!("prefer:{node}")),
        (format!("interleave:{node}"), format!("interleave:{node}")),
    ];
    let trials = policies.iter().enumerate().map(|(index, (asked, _))| {
        under(spec(&format!("t{index}"), "store"), |of| {
            of.numa = asked.parse().ok();
        })
    });
    let bench = Bench::new();
    let made = match bench.create(trials.collect()) {
        Err(error) if error.to_string().contains("SYS_NICE") => {
            println!("skipped: {error}");
            return;
        }
        made => made.unwrap(),
    };
    bench.run(&made, |_| {});
    for (record, (asked, words)) in made.records().into_iter().zip(policies) {
        assert!(doubts(&record).is_empty(), "{record:?}");
        let placement = record.measurement.unwrap().placement.unwrap();
        assert_eq!(placement.numa_policy, words, "{asked}");
        let on_node = placement.anonymous_bytes_by_node[node as usize];
        assert!(on_node > 1 << 16, "{asked}: {placement:?}");
    }
}

fn each_allocator_that_is_here_is_the_workers_own() {
    for allocator in [
        Allocator::Jemalloc,
        Allocator::Tcmalloc,
        Allocator::Mimalloc,
    ] {
        let bench = Bench::new();
        let spec = under(spec("a", "store"), |of| of.allocator = allocator);
        let made = match bench.create(vec![spec]) {
            Ok(made) => made,
            Err(error) => {
                assert!(error.is_usage() && error.to_string().contains("apt-get install"));
                println!("skipped: {error}");
                continue;
            }
        };
        bench.run(&made, |_| {});
        for record in made.records() {
            assert!(doubts(&record).is_empty(), "{record:?}");
            let found = record.measurement.unwrap().allocator.unwrap();
            assert_eq!(found.name, allocator.word());
            assert!(found.path.contains(allocator.word()), "{found:?}");
            assert!(
                found.version.starts_with(|c: char| c.is_ascii_digit()),
                "{found:?}"
            );
        }
    }
}

fn a_place_that_is_not_there_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let cpus = under(spec("a", "store"), |of| of.cpus = Some("4000".to_owned()));
    bench.assert_refused(vec![cpus], &["CPU 4000"]);
    let numa = under(spec("a", "store"), |of| of.numa = "bind:900".parse().ok());
    bench.assert_refused(vec![numa], &["bind:900"]);
}
