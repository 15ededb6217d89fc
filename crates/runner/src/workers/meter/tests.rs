use super::*;
use trueput_engine::Error;

#[test]
fn every_operation_is_counted_and_timed_under_its_kind() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(2, &counters, &stage);
    meter.start();
    (0..10).for_each(|_| meter.finish(0));
    std::thread::sleep(std::time::Duration::from_millis(2));
    meter.finish(1);
    meter.conflict(&Error::Conflict("busy".to_owned()));
    meter.conflict(&Error::Deadlock("two sessions".to_owned()));
    meter.advance(7);
    let histograms = meter.into_histograms();
    assert_eq!(counters.counts(2), [10, 1]);
    assert_eq!((counters.units(), counters.conflicts()), (7, 2));
    assert_eq!(
        counters.deadlocks(),
        1,
        "a deadlock is one of the conflicts"
    );
    assert_eq!((histograms[0].len(), histograms[1].len()), (10, 1));
    assert!(
        histograms[1].min() >= 1_900_000,
        "slept 2 ms, saw {}",
        histograms[1].min()
    );
}

#[test]
fn what_passed_before_a_start_is_nobodys_latency() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    std::thread::sleep(std::time::Duration::from_secs(1));
    meter.start();
    meter.finish(0);
    assert!(meter.into_histograms()[0].max() < 1_000_000_000);
}

#[test]
fn an_operation_within_another_is_timed_and_leaves_the_others_beginning_alone() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(2, &counters, &stage);
    meter.start();
    std::thread::sleep(Duration::from_millis(2));
    let mark = meter.timestamp();
    std::thread::sleep(Duration::from_millis(2));
    meter.finish_nested(1, mark);
    meter.finish(0);
    assert_eq!(counters.counts(2), [1, 1]);
    let histograms = meter.into_histograms();
    assert!(histograms[1].min() >= 1_900_000, "the inner one's time");
    assert!(histograms[0].min() >= 3_900_000, "the outer one's whole");
}

#[test]
fn a_rest_lasts_its_time_and_ends_at_once_when_the_time_is_up() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    let mark = meter.timestamp();
    assert!(meter.wait_since(mark, 3_000_000));
    let passed_ns = meter.clock.delta_as_nanos(mark, meter.clock.raw());
    assert!(passed_ns >= 3_000_000, "waited {passed_ns} ns of 3,000,000");
    assert!(meter.elapsed_ns(mark) >= passed_ns, "nanoseconds, as well");
    assert!(meter.wait_since(mark, 1), "that has passed already");
    stage.end();
    assert!(!meter.wait_since(mark, u64::MAX));
}

#[test]
fn the_end_wakes_the_workers_that_wait_for_a_due_time() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let counters = [WorkerCounters::default(), WorkerCounters::default()];
    let stage = Stage::measured();
    std::thread::scope(|scope| {
        let resting = scope.spawn(|| {
            let mut meter = ClockMeter::new(1, &counters[0], &stage);
            let mark = meter.timestamp();
            meter.wait_since(mark, HOUR_NS)
        });
        scope.spawn(|| {
            // A unit an hour.
            let mut meter = paced(1.0 / 3_600.0, &counters[1], &stage);
            while meter.next_unit() {}
        });
        // Both wait by then; if not, they see the end before they would.
        std::thread::sleep(Duration::from_millis(50));
        stage.end();
        assert!(!resting.join().unwrap());
    });
}

#[test]
fn rolled_back_work_leaves_the_count_and_stays_in_the_histogram() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    (0..5).for_each(|_| meter.finish(0));
    meter.uncount(0, 3);
    assert_eq!(counters.counts(1), [2]);
    assert_eq!(meter.into_histograms()[0].len(), 5);
}

#[test]
fn a_worker_hears_that_it_is_to_stop() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let meter = ClockMeter::new(1, &counters, &stage);
    assert!(!meter.is_stopped());
    stage.stop();
    assert!(meter.is_stopped());
}

#[test]
fn what_was_done_to_warm_up_does_not_count() {
    let (counters, stage) = (WorkerCounters::default(), Stage::warming());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    meter.begin();
    (0..5).for_each(|_| meter.finish(0));
    assert!(meter.is_warming_up() && meter.next_unit());
    stage.measure();
    meter.finish(0);
    assert!(!meter.is_warming_up() && meter.measured_ns().is_some());
    assert_eq!(counters.counts(1), [0]);
    meter.finish(0);
    stage.end();
    assert!(!meter.next_unit() && !meter.is_stopped());
    assert_eq!(counters.counts(1), [1]);
    assert_eq!(meter.into_histograms()[0].len(), 1);
}

#[test]
fn stopped_time_is_nobodys_time() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let stopped = AtomicU64::new(0);
    let mut meter = ClockMeter::new(2, &counters, &stage).with_stopped_time(&stopped);
    let clock = quanta::Clock::new();
    meter.begin();
    assert!(meter.next_unit());
    let mark = meter.timestamp();
    let began = clock.raw();
    std::thread::sleep(Duration::from_millis(200));
    stopped.store(clock.raw() - began, Relaxed);
    meter.finish(0);
    meter.finish_nested(1, mark);
    let histograms = meter.into_histograms();
    assert!(histograms[0].max() < 100_000_000 && histograms[1].max() < 100_000_000);
}

#[test]
fn an_open_loop_makes_up_for_no_stopped_time() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let stopped = AtomicU64::new(0);
    let mut meter = paced(1_000.0, &counters, &stage).with_stopped_time(&stopped);
    let clock = quanta::Clock::new();
    assert!(meter.next_unit());
    let began = clock.raw();
    std::thread::sleep(Duration::from_millis(200));
    stopped.store(clock.raw() - began, Relaxed);
    assert!(meter.next_unit());
    meter.finish(0);
    meter.finish_unit(0);
    stage.end();
    let responses = meter.finish_open_loop().unwrap();
    let due = responses.issued + responses.backlog;
    assert!(
        due < 150,
        "{due} units came due, 200 of them while it was stopped"
    );
}

fn paced<'a>(per_s: f64, counters: &'a WorkerCounters, stage: &'a Stage) -> ClockMeter<'a> {
    let rate = Rate {
        per_s,
        arrival: trueput_record::conditions::Arrival::Constant,
    };
    let pace = ArrivalSpec {
        rate,
        worker: 0,
        workers: 1,
        seed: 1,
    };
    let mut meter = ClockMeter::new(1, counters, stage).with_arrivals(pace, 1);
    meter.begin();
    meter
}

#[test]
fn a_stall_shows_in_the_response_times_of_all_that_waited_and_in_one_service_time() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = paced(1_000.0, &counters, &stage);
    for unit in 0..200 {
        assert!(meter.next_unit());
        if unit == 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        meter.finish(0);
        meter.finish_unit(0);
    }
    let responses = meter.finish_open_loop().unwrap();
    let late = responses.histograms[0].count_between(20_000_000, u64::MAX);
    assert!(
        late >= 70,
        "{late} of those due in 100 ms saw 20 ms or more"
    );
    // The worker waited for the engine, so it was not late itself.
    assert!(responses.late < 70, "{}", responses.late);
    let slow = meter.into_histograms()[0].count_between(90_000_000, u64::MAX);
    assert_eq!(slow, 1);
}

#[test]
fn work_that_ends_by_its_count_leaves_no_backlog() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = paced(10_000.0, &counters, &stage);
    assert!(meter.next_unit());
    std::thread::sleep(Duration::from_millis(50));
    meter.finish(0);
    meter.finish_unit(0);
    let responses = meter.finish_open_loop().unwrap();
    assert_eq!((responses.issued, responses.backlog), (1, 0));
    assert_eq!(responses.histograms[0].len(), 1);
}

#[test]
fn records_that_were_not_found_are_counted_by_kind_without_those_of_the_warm_up() {
    let (counters, stage) = (WorkerCounters::default(), Stage::warming());
    let mut meter = ClockMeter::new(2, &counters, &stage);
    meter.not_found(0);
    meter.finish(0);
    stage.measure();
    meter.finish(0);
    assert_eq!(meter.not_found_counts(), [0, 0]);
    meter.not_found(1);
    meter.finish(1);
    assert_eq!(
        (meter.not_found_counts(), counters.counts(2)),
        (&[0, 1][..], vec![0, 1])
    );
}

#[test]
fn a_worker_that_ends_nothing_after_the_warm_up_counts_nothing() {
    let (counters, stage) = (WorkerCounters::default(), Stage::warming());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    meter.begin();
    (0..5).for_each(|_| meter.finish(0));
    stage.measure();
    stage.end();
    meter.leave_warm_up();
    assert!(meter.measured_ns().is_some());
    assert_eq!(counters.counts(1), [0]);
    assert_eq!(meter.into_histograms()[0].len(), 0);
}

#[test]
fn a_worker_that_waits_while_the_warm_up_ends_counts_the_unit_that_comes() {
    let (counters, stage) = (WorkerCounters::default(), Stage::warming());
    let mut meter = paced(2.0, &counters, &stage);
    assert!(meter.next_unit());
    meter.finish(0);
    meter.finish_unit(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(60));
            stage.measure();
        });
        assert!(meter.next_unit());
    });
    assert!(!meter.is_warming_up());
    meter.finish(0);
    meter.finish_unit(0);
    assert_eq!(counters.counts(1), [1]);
    assert_eq!(meter.finish_open_loop().unwrap().issued, 1);
}

#[test]
fn what_is_due_and_not_begun_at_the_end_is_reported() {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = paced(10_000.0, &counters, &stage);
    assert!(meter.next_unit());
    std::thread::sleep(Duration::from_millis(50));
    meter.finish(0);
    meter.finish_unit(0);
    stage.end();
    let responses = meter.finish_open_loop().unwrap();
    assert_eq!(responses.issued, 1);
    assert!(responses.backlog >= 490, "{}", responses.backlog);
    assert!(responses.oldest_wait_ns >= 45_000_000);
    assert_eq!(
        responses.histograms[0].len(),
        responses.issued + responses.backlog
    );
}

#[test]
fn the_times_of_a_workload_go_on_through_the_warm_up_and_what_is_left_is_the_backlog() {
    let (counters, stage) = (WorkerCounters::default(), Stage::warming());
    let times_ms = [0, 1, 30, 31, 32];
    let due_ns = Box::new(times_ms.into_iter().map(|time_ms| time_ms * 1_000_000));
    let mut meter = ClockMeter::new(1, &counters, &stage).with_recorded_arrivals(due_ns, 1);
    meter.begin();
    for unit in 0..3 {
        if unit == 2 {
            stage.measure();
        }
        assert!(meter.next_unit());
        meter.finish(0);
        meter.finish_unit(0);
    }
    // The third is the first that counts, and was due 30 ms after the release.
    std::thread::sleep(Duration::from_millis(5));
    stage.end();
    assert!(!meter.next_unit());
    let responses = meter.finish_open_loop().unwrap();
    assert_eq!((responses.issued, responses.backlog), (1, 2));
    assert!(responses.oldest_wait_ns > 1_000_000, "{responses:?}");
    assert_eq!(counters.counts(1), [1]);
}
