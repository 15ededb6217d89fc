//! Requirements on the runner for trials with a duration, a warm-up or a rate.

use crate::claims::claims;
use crate::support::{Bench, doubts, on, spec, threads, with};
use crate::toy::LOG;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::histogram::LoggedHistogram;
use trueput_record::{Conditions, TrialSpec};
use trueput_runner::Event;

claims![
    a_trial_with_a_duration_ends_by_itself,
    what_is_done_to_warm_up_does_not_count,
    each_second_has_the_percentiles_of_what_was_done_in_it,
    a_rate_is_kept_and_its_responses_are_recorded,
    a_stopped_worker_shows_in_response_times_and_not_in_service_times,
    a_rate_that_cannot_be_held_leaves_a_backlog,
    nothing_is_due_while_the_engine_gathers_its_counters,
];

fn for_a_while(duration_s: f64, pause_ms: i64) -> TrialSpec {
    let mut spec = with(spec("a", "endless"), "pause_ms", pause_ms);
    spec.conditions.duration_s = Some(duration_s);
    spec
}

fn at(per_s: f64, mut spec: TrialSpec) -> TrialSpec {
    spec.conditions.rate = Some(Rate {
        per_s,
        arrival: Arrival::Constant,
    });
    spec
}

fn a_trial_with_a_duration_ends_by_itself() {
    for spec in [for_a_while(1.2, 5), threads(for_a_while(1.2, 5))] {
        let record = Bench::new().record(spec);
        assert!(doubts(&record).is_empty(), "{record:?}");
        let measurement = record.measurement.unwrap();
        assert!(measurement.elapsed_s >= 1.2, "{}", measurement.elapsed_s);
        assert!(measurement.open_loop.is_none());
        let counts = measurement.timeline.iter().map(|second| second.counts[1]);
        assert_eq!(counts.sum::<u64>(), measurement.operations[1].count);
    }
}

fn what_is_done_to_warm_up_does_not_count() {
    let mut spec = for_a_while(0.4, 5);
    spec.conditions.warm_up_s = 0.8;
    let record = Bench::new().record(spec);
    let measurement = record.measurement.as_ref().unwrap();
    let counted = measurement.operations[1].count;
    // The toy counts its stores by itself, those of the warm-up too, and so objects.
    let doubts = doubts(&record);
    let found: u64 = doubts[0].rsplit(' ').next().unwrap().parse().unwrap();
    assert!(
        counted > 0 && found > counted,
        "{found} stores, {counted} counted"
    );
    let (elapsed_s, latencies) = (measurement.elapsed_s, &measurement.operations[1].latency);
    assert!(elapsed_s >= 0.39 && latencies.max_ns > 0, "{elapsed_s}");
}

fn a_rate_is_kept_and_its_responses_are_recorded() {
    let bench = Bench::new();
    let made = bench.create(vec![at(300.0, for_a_while(1.0, 0))]).unwrap();
    bench.run(&made, |_| {});
    let record = made.record();
    assert!(doubts(&record).is_empty(), "{record:?}");
    let measurement = record.measurement.unwrap();
    let open = measurement.open_loop.unwrap();
    // An open loop is never ahead of its schedule: 300 and one that is due at the very start each.
    assert!(open.issued <= 304, "{open:?}");
    assert_eq!(open.issued, measurement.operations[1].count);
    let responses: u64 = open.responses.iter().map(|response| response.count).sum();
    assert_eq!(responses, open.issued + open.backlog);
    let log = std::fs::read_to_string(made.folder.histogram_path("a")).unwrap();
    assert!(log.contains("Tag=store-response"), "{log}");
}

fn each_second_has_the_percentiles_of_what_was_done_in_it() {
    let bench = Bench::new();
    let made = bench.create(vec![for_a_while(2.5, 1)]).unwrap();
    bench.run(&made, |_| {});
    let record = made.record();
    assert!(doubts(&record).is_empty(), "{record:?}");
    let measurement = record.measurement.unwrap();
    assert_eq!(measurement.timeline.len(), 3, "{:?}", measurement.timeline);
    let logged = made.folder.histograms("a").unwrap().unwrap();
    for (index, operation) in measurement.operations.iter().enumerate() {
        let mut highest_ns = 0;
        for second in &measurement.timeline {
            let (p50_ns, p99_ns) = (second.latency_p50_ns[index], second.latency_p99_ns[index]);
            let (p999_ns, max_ns) = (second.latency_p999_ns[index], second.latency_max_ns[index]);
            assert!(p50_ns <= p99_ns && p99_ns <= p999_ns && p999_ns <= max_ns);
            assert!(index != 1 || max_ns > 0, "it stores all the time");
            highest_ns = highest_ns.max(max_ns);
        }
        assert_eq!(
            highest_ns, operation.latency.max_ns,
            "of {}",
            operation.kind
        );
        // Every latency of the trial is in one of the intervals, and no other.
        let (mut sum, mut ends) = (0, Vec::new());
        let visit = |one: LoggedHistogram| {
            if one.kind == operation.kind {
                sum += one.histogram.len();
                ends.push(one.start_s + one.duration_s);
            }
        };
        made.folder.visit_intervals("a", visit).unwrap();
        let whole = logged.iter().find(|one| one.kind == operation.kind);
        assert_eq!(sum, whole.unwrap().histogram.len());
        assert!(ends.is_sorted() && ends.len() <= 3, "{ends:?}");
    }
}

/// The worker's process, as it noted it in the database's folder.
fn worker(results: &Path) -> Option<u32> {
    workers(results).first().copied()
}

/// The workers' processes, as they noted them in the databases' folders.
pub fn workers(results: &Path) -> Vec<u32> {
    let mut folders: Vec<PathBuf> = vec![results.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(LOG) {
                let log = std::fs::read_to_string(path).unwrap_or_default();
                let put = log.lines().filter_map(|line| line.strip_prefix("put "));
                found.extend(put.filter_map(|pid| pid.parse::<u32>().ok()));
            }
        }
    }
    found
}

fn a_stopped_worker_shows_in_response_times_and_not_in_service_times() {
    let bench = Bench::new();
    let mut spec = at(400.0, for_a_while(3.0, 0));
    spec.workers = 1;
    let made = bench.create(vec![spec]).unwrap();
    let mut stalled = false;
    bench.run(&made, |event| {
        if matches!(event, Event::TrialProgress { .. })
            && !stalled
            && let Some(pid) = worker(&bench.results())
        {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap());
            kill(pid, Signal::SIGSTOP).unwrap();
            std::thread::sleep(Duration::from_millis(800));
            kill(pid, Signal::SIGCONT).unwrap();
            stalled = true;
        }
    });
    assert!(stalled);
    let record = made.record();
    assert!(doubts(&record).is_empty(), "{record:?}");
    let measurement = record.measurement.unwrap();
    let open = measurement.open_loop.unwrap();
    let response = &open.responses[1].latency;
    // 320 of 1,200 became due in the stall, and waited 400 ms on average: 107 ms over all.
    assert!(response.mean_ns > 50e6, "{response:?}");
    assert!(response.p90_ns > 300_000_000, "{response:?}");
    let service = &measurement.operations[1].latency;
    assert!(service.mean_ns < 10e6, "{service:?}");
    assert!(service.p99_ns < 100_000_000, "{service:?}");
}

fn a_rate_that_cannot_be_held_leaves_a_backlog() {
    let record = Bench::new().record(at(100_000.0, for_a_while(0.5, 10)));
    assert!(doubts(&record).is_empty(), "{record:?}");
    let open = record.measurement.unwrap().open_loop.unwrap();
    assert!(open.backlog > 10_000, "{open:?}");
    assert!(open.oldest_wait_s > 0.1, "{open:?}");
    let responses: u64 = open.responses.iter().map(|response| response.count).sum();
    assert_eq!(responses, open.issued + open.backlog);
    assert_ne!(record.spec.conditions, Conditions::default());
}

fn nothing_is_due_while_the_engine_gathers_its_counters() {
    let spec = on("slow-counters", at(100_000.0, for_a_while(0.5, 10)));
    let record = Bench::new().record(spec);
    assert!(doubts(&record).is_empty(), "{record:?}");
    let measurement = record.measurement.unwrap();
    let open = measurement.open_loop.unwrap();
    let due = (open.issued + open.backlog) as f64;
    assert!(due < 2.0 * 100_000.0 * measurement.elapsed_s, "{open:?}");
}
