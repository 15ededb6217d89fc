//! Requirements on the runner.

use crate::support::{Bench, doubts, failure, is_empty_or_absent, lives, on, spec, threads, with};
use crate::toy::{DISGUISED, LOG, STORES};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use trueput_record::measurement::Outcome;
use trueput_record::search::{TrialPurpose, TrialRole};
use trueput_record::{TrialSpec, VerifyLevel};
use trueput_runner::{ConformanceCache, Event};

macro_rules! claims {
    ($($claim:ident),* $(,)?) => {
        pub const ALL: &[(&str, fn())] = &[$((stringify!($claim), $claim)),*];
    };
}

pub(crate) use claims;

claims![
    no_worker_starts_before_all_are_ready,
    trials_run_in_the_order_of_the_plan_and_each_leaves_a_line,
    what_was_measured_adds_up,
    the_timeline_sums_to_the_totals,
    threads_measure_as_processes_do,
    a_dying_worker_is_named_with_its_signal_and_the_plan_goes_on,
    a_worker_that_exits_is_reported_with_its_last_words,
    a_panic_that_c_code_lets_nobody_catch_is_reported,
    a_failing_or_panicking_worker_says_why,
    a_configuration_that_hangs_fails_and_the_plan_goes_on,
    a_failed_check_makes_a_trial_invalid,
    an_unverified_trial_is_never_ranked,
    an_engine_that_does_not_say_its_version_is_doubted,
    a_record_has_the_name_of_the_engine_that_its_workers_opened,
    an_engine_that_fails_conformance_is_not_run,
    an_engine_with_anomalies_that_its_stated_isolation_proscribes_is_not_measured,
    only_conformance_that_was_passed_is_remembered,
    an_interrupted_trial_keeps_what_it_measured_and_leaves_nothing,
    a_resumed_run_skips_what_is_done,
    an_unfinished_database_is_continued_when_asked_and_removed_otherwise,
    a_work_folder_that_is_not_ours_is_refused_before_anything_is_made,
    a_bystander_in_the_work_folder_stays,
    too_little_room_is_refused_with_what_is_needed,
    a_trial_that_cannot_be_is_refused_before_anything_is_made,
    workers_die_with_a_killed_runner,
];

fn no_worker_starts_before_all_are_ready() {
    for spec in [spec("a", "store"), threads(spec("a", "store"))] {
        let record = Bench::new().record(spec);
        assert!(doubts(&record).is_empty(), "{record:?}");
        let log = record.measurement.unwrap().results["log"].to_string();
        let words = log.lines().filter_map(|line| line.split(' ').next());
        // The last session is the one that verifies.
        let expected = "ready ready ready put put put ready";
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }
}

fn trials_run_in_the_order_of_the_plan_and_each_leaves_a_line() {
    let bench = Bench::new();
    let ids = ["a-r1", "b-r1", "a-r2", "b-r2"];
    let made = bench
        .create(ids.map(|id| spec(id, "store")).into())
        .unwrap();
    let mut events = Vec::new();
    let summary = bench.run(&made, |event| {
        let event = serde_json::to_value(event).unwrap();
        events.push(event["event"].as_str().unwrap().to_owned());
    });
    assert_eq!(made.ids(), ids);
    assert_eq!(summary.valid + summary.invalid, 4);
    assert!(made.folder.end().unwrap().unwrap().complete);
    events.retain(|event| event != "trial_progress");
    let first = [
        "run_started",
        "trial_started",
        "conformance_checked",
        "trial_ended",
    ];
    assert_eq!(events[..4], first);
    assert_eq!(events.last().unwrap(), "run_ended");
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn what_was_measured_adds_up() {
    let bench = Bench::new();
    let made = bench.create(vec![spec("a", "store")]).unwrap();
    bench.run(&made, |_| {});
    let record = made.record();
    let engine = record.engine.as_ref().unwrap();
    assert_eq!((engine.version.as_str(), engine.sha256.len()), ("1.0", 64));
    assert!(engine.settings.contains_key("printed"));
    let measured = record.measurement.as_ref().unwrap();
    let counts: Vec<_> = measured.operations.iter().map(|kind| kind.count).collect();
    assert_eq!(counts, [3 * STORES, 3 * STORES]);
    let workers = || measured.workers.iter();
    let indexes: Vec<_> = workers().map(|worker| worker.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
    let longest = workers().map(|worker| worker.elapsed_s).fold(0.0, f64::max);
    assert!(measured.elapsed_s >= longest && longest > 0.0);
    let (rss, pss) = (
        measured.resources.peak_rss_bytes,
        measured.resources.peak_pss_bytes,
    );
    assert!(pss > 0 && rss >= pss, "{:?}", measured.resources);
    assert!(measured.database.apparent_bytes > 0);
    let log = made.folder.histograms("a").unwrap().unwrap();
    let lengths = log
        .iter()
        .map(|one| (one.kind.as_str(), one.histogram.len()));
    let expected = [("look", 3 * STORES), ("store", 3 * STORES)];
    assert_eq!(lengths.collect::<Vec<_>>(), expected);
    assert!(measured.operations[1].latency.p50_ns > 0);
}

fn the_timeline_sums_to_the_totals() {
    for spec in [spec("a", "store"), threads(spec("a", "store"))] {
        let record = Bench::new().record(with(spec, "pause_ms", 15));
        let measured = record.measurement.unwrap();
        // A hundred pauses of 15 ms are more than one second.
        assert!(measured.timeline.len() >= 2, "{:?}", measured.timeline);
        for (kind, operation) in measured.operations.iter().enumerate() {
            let counts = || measured.timeline.iter().map(|second| second.counts[kind]);
            assert_eq!(counts().sum::<u64>(), operation.count);
            assert!(counts().next() > Some(0), "{:?}", measured.timeline);
        }
        assert!(measured.timeline[0].pss_bytes > 0);
        assert_eq!(measured.timeline.last().unwrap().at_s, measured.elapsed_s);
    }
}

fn threads_measure_as_processes_do() {
    let record = Bench::new().record(threads(spec("a", "store")));
    assert!(doubts(&record).is_empty(), "{record:?}");
    let measured = record.measurement.unwrap();
    assert_eq!(measured.operation("store").unwrap().count, 3 * STORES);
    let mut pids: Vec<_> = measured.workers.iter().map(|worker| worker.pid).collect();
    pids.dedup();
    assert_eq!((measured.workers.len(), pids.len()), (3, 1));
}

fn a_dying_worker_is_named_with_its_signal_and_the_plan_goes_on() {
    let bench = Bench::new();
    let records = bench.records(vec![spec("a", "abort"), spec("b", "store")]);
    let reason = failure(&records[0]);
    assert!(reason.starts_with("worker 1 (process "), "{reason}");
    assert!(reason.contains("was killed by SIGABRT"), "{reason}");
    assert!(doubts(&records[1]).is_empty());
}

fn a_worker_that_exits_is_reported_with_its_last_words() {
    let record = Bench::new().record(spec("a", "exit"));
    let reason = failure(&record);
    assert!(reason.contains("exited with code 7"), "{reason}");
    assert!(reason.contains("the toy's last words"), "{reason}");
}

fn a_panic_that_c_code_lets_nobody_catch_is_reported() {
    let record = Bench::new().record(spec("a", "callback"));
    let reason = failure(&record);
    assert!(reason.contains("was killed by SIGABRT"), "{reason}");
    assert!(reason.contains("toy.rs:"), "{reason}");
    assert!(reason.contains("the toy's callback fell over"), "{reason}");
}

fn a_failing_or_panicking_worker_says_why() {
    for (trial, reason) in [
        (spec("a", "fail"), "the toy is tired"),
        (threads(spec("b", "fail")), "worker 1: the toy is tired"),
        (threads(spec("c", "panic")), "the toy is out of its depth"),
    ] {
        let record = Bench::new().record(trial);
        assert!(failure(&record).contains(reason), "{}", failure(&record));
    }
}

fn a_configuration_that_hangs_fails_and_the_plan_goes_on() {
    let role = TrialRole {
        contender: 0,
        purpose: TrialPurpose::Tuning,
        configuration: Some(1),
    };
    let hanging = TrialSpec {
        role: Some(role),
        ..spec("a", "hang")
    };
    let bench = Bench::new();
    let made = bench.create(vec![hanging, spec("b", "store")]).unwrap();
    let summary = bench.run(&made, |_| {});
    assert_eq!(summary.failed, 0, "a result of the search");
    let records = made.records();
    let reason = failure(&records[0]);
    assert!(reason.contains("no operation ended for 30 s"), "{reason}");
    assert!(doubts(&records[1]).is_empty(), "{:?}", records[1]);
}

fn a_failed_check_makes_a_trial_invalid() {
    let record = Bench::new().record(spec("a", "wrong"));
    assert_eq!(doubts(&record), ["stores: expected 301, found 300"]);
    assert!(!record.verification.as_ref().unwrap().passed && !record.is_rankable());
}

fn an_unverified_trial_is_never_ranked() {
    let mut unverified = spec("a", "wrong");
    unverified.verify = VerifyLevel::Off;
    let record = Bench::new().record(unverified);
    assert!(doubts(&record).is_empty());
    assert!(record.verification.is_none() && !record.is_rankable());
}

fn an_engine_that_does_not_say_its_version_is_doubted() {
    let record = Bench::new().record(on("nameless", spec("a", "store")));
    assert_eq!(doubts(&record), ["nameless does not report its version"]);
}

fn a_record_has_the_name_of_the_engine_that_its_workers_opened() {
    let name = |trial| Bench::new().record(trial).engine.unwrap().name;
    assert_eq!(name(spec("a", "store")), "toy");
    let mut disguised = on(DISGUISED, spec("a", "store"));
    disguised.build = Some("/lib/libtoy.so".into());
    assert_eq!(name(disguised), "toy");
}

fn an_engine_that_fails_conformance_is_not_run() {
    let bench = Bench::new();
    let trials = ["a", "b"].map(|id| on("boaster", spec(id, "store")));
    let made = bench.create(trials.into()).unwrap();
    let mut checked = 0;
    bench.run(&made, |event| {
        checked += u32::from(matches!(event, Event::ConformanceChecked { .. }));
    });
    assert_eq!(checked, 1, "the suite runs once for both");
    for record in made.records() {
        let doubt = doubts(&record)[0];
        assert!(doubt.starts_with("conformance, "), "{doubt}");
        assert!(record.measurement.is_none());
    }
}

fn an_engine_with_anomalies_that_its_stated_isolation_proscribes_is_not_measured() {
    let mut bench = Bench::new();
    bench.options.checks_isolation = true;
    let cache = ConformanceCache::in_folder(&bench.folder.path().join("remembered"), true);
    bench.options.conformance_cache = cache;
    let run = |engine: &str| {
        let trials = ["a", "b"].map(|id| threads(on(engine, spec(id, "store"))));
        let made = bench.create(trials.into()).unwrap();
        let mut from = Vec::new();
        bench.run(&made, |event| {
            if let Event::IsolationChecked {
                remembered_from, ..
            } = event
            {
                from.push(remembered_from.is_some());
            }
        });
        assert_eq!(
            from.len(),
            1,
            "the suite runs once for both: {:?}",
            made.records()
        );
        (made.records(), from[0])
    };
    for _ in 0..2 {
        let (records, is_remembered) = run("skewed");
        assert!(!is_remembered, "a refutation is found again");
        for record in records {
            let doubt = doubts(&record)[0];
            assert!(
                doubt.contains("not serializable, as stated: write skew"),
                "{doubt}"
            );
            assert!(record.measurement.is_none() && record.isolation_check.is_none());
        }
    }
    // The control: the same engine that states what it has.
    for was_run_before in [false, true] {
        let (records, is_remembered) = run("snapshot");
        assert_eq!(is_remembered, was_run_before);
        for record in records {
            let check = record.isolation_check.as_ref().unwrap();
            assert_eq!((check.cached, &check.not_run), (was_run_before, &None));
            assert!(check.schedules > 10 && record.conformance.is_some());
        }
    }
}

fn only_conformance_that_was_passed_is_remembered() {
    let mut bench = Bench::new();
    let folder = bench.folder.path().join("remembered");
    let cache = ConformanceCache::in_folder(&folder, true).unwrap();
    bench.options.conformance_cache = Some(cache.clone());
    let run = |engine: &str| {
        let made = bench.create(vec![on(engine, spec("a", "store"))]).unwrap();
        let mut remembered = Vec::new();
        bench.run(&made, |event| {
            if let Event::ConformanceChecked {
                remembered_from, ..
            } = event
            {
                remembered.push(remembered_from.is_some());
            }
        });
        remembered
    };
    for _ in 0..2 {
        assert_eq!((run("boaster"), cache.count()), (vec![false], 0));
    }
    // The control: one that passes is remembered.
    let passes = spec("a", "store").engine;
    assert_eq!((run(&passes), cache.count()), (vec![false], 1));
    assert_eq!((run(&passes), cache.count()), (vec![true], 1));
}

fn an_interrupted_trial_keeps_what_it_measured_and_leaves_nothing() {
    let bench = Bench::new();
    let endless = with(spec("a", "endless"), "pause_ms", 1);
    let made = bench.create(vec![endless]).unwrap();
    let (summary, _) = bench.run_and_stop(&made);
    assert!(summary.interrupted);
    let record = made.record();
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert!(!record.is_rankable());
    let measured = record.measurement.unwrap();
    assert!(measured.operation("store").unwrap().count > 0);
    assert!(measured.workers.iter().all(|worker| !lives(worker.pid)));
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
    assert!(!made.folder.end().unwrap().unwrap().complete);
}

fn a_resumed_run_skips_what_is_done() {
    let bench = Bench::new();
    let endless = with(spec("b", "endless"), "pause_ms", 1);
    let trials = vec![spec("a", "store"), endless, spec("c", "store")];
    let made = bench.create(trials).unwrap();
    assert_eq!(bench.run_and_stop(&made).1, ["a", "b"]);
    let (summary, started) = bench.run_and_stop(&made);
    // What was interrupted is run again, what is done is not.
    assert_eq!(started, ["b"]);
    assert_eq!(summary.valid + summary.invalid, 1);
    assert_eq!(made.ids(), ["a", "b", "b"]);
    let last = made.folder.histogram_path("b");
    let first = last.with_extension("attempt-1.hlog");
    assert!(first.exists(), "nothing that was measured is overwritten");
}

fn an_unfinished_database_is_continued_when_asked_and_removed_otherwise() {
    let mut bench = Bench::new();
    let trials = vec![spec("a", "fail"), spec("b", "store")];
    let made = bench.create(trials).unwrap();
    bench.options.keep_unfinished = true;
    bench.run(&made, |_| {});
    let name = made.folder.path().file_name().unwrap();
    let area = made.folder.path().join("work").join(name);
    assert!(area.join("a").join(LOG).exists() && !area.join("b").exists());
    // A run that is killed leaves the folders of its suites, too.
    std::fs::create_dir_all(area.join(".conformance.3").join("left")).unwrap();
    bench.options.resume_databases = true;
    bench.run(&made, |_| {});
    let records = made.records();
    assert_eq!(records.len(), 3);
    // A failed trial goes on.
    assert!(records[2].resumed && !records[0].resumed);
    bench.options.keep_unfinished = false;
    bench.run(&made, |_| {});
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_work_folder_that_is_not_ours_is_refused_before_anything_is_made() {
    let mut bench = Bench::new();
    let work = bench.folder.path().join("thesis");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("chapter"), "x").unwrap();
    bench.options.work = Some(work.clone());
    bench.assert_refused(vec![spec("a", "store")], &["is not trueput's"]);
    assert_eq!(std::fs::read_dir(work).unwrap().count(), 1);
}

fn a_bystander_in_the_work_folder_stays() {
    let mut bench = Bench::new();
    let work = bench.folder.path().join("work/here");
    bench.options.work = Some(work.clone());
    let made = bench.create(vec![spec("a", "store")]).unwrap();
    assert!(!work.exists(), "checking leaves nothing behind");
    bench.run(&made, |event| {
        if let Event::TrialStarted { .. } = event {
            std::fs::write(work.join("bystander"), "x").unwrap();
        }
    });
    assert!(work.join("bystander").exists());
    assert!(!work.join(made.folder.path().file_name().unwrap()).exists());
}

fn too_little_room_is_refused_with_what_is_needed() {
    // An engine that keeps nothing needs no room.
    let trial = with(on("boaster", spec("a", "store")), "bytes", 1 << 60);
    Bench::new().assert_refused(vec![trial], &["needed", "free"]);
}

fn a_trial_that_cannot_be_is_refused_before_anything_is_made() {
    let mut zero = spec("a", "store");
    zero.workers = 0;
    let mut build = spec("a", "store");
    build.build = Some("/lib/libtoy.so".into());
    let mut level = spec("a", "store");
    level.durability = trueput_engine::Durability::Sync;
    let faults = [
        (vec![on("tpy", spec("a", "store"))], "did you mean 'toy'"),
        (vec![zero], "workers is 0; it must be between 1 and 1024"),
        (vec![build], "takes no library (/lib/libtoy.so)"),
        (
            vec![level],
            "toy does not support durability 'sync'; it supports none",
        ),
        (vec![spec("../a", "store")], "is not a trial id"),
        (vec![spec("a", "store"), spec("a", "store")], "the same id"),
        (vec![spec("a", "sing")], "unknown value 'sing'"),
        (vec![], "no trial"),
    ];
    for (trials, expected) in faults {
        Bench::new().assert_refused(trials, &[expected]);
    }
}

/// A runner to be killed: its only trial does not end.
pub fn run_endless(folder: &Path) -> ExitCode {
    let mut bench = Bench::new();
    bench.options.work = Some(folder.to_owned());
    bench.records(vec![with(spec("a", "endless"), "pause_ms", 1)]);
    ExitCode::SUCCESS
}

fn workers_die_with_a_killed_runner() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let program = std::env::current_exe().unwrap();
    let mut runner = Command::new(program);
    let mut runner = runner.arg("run-endless").arg(&work).spawn().unwrap();
    let pids = wait_for(|| {
        let mut entries = std::fs::read_dir(&work).ok()?.flatten();
        let run = entries.find(|entry| entry.path().is_dir())?;
        let log = std::fs::read_to_string(run.path().join("a").join(LOG)).ok()?;
        let stored = log.lines().filter_map(|line| line.strip_prefix("put "));
        let pids: Vec<u32> = stored.filter_map(|pid| pid.parse().ok()).collect();
        (pids.len() == 3).then_some(pids)
    });
    assert!(pids.iter().all(|&pid| lives(pid)));
    runner.kill().unwrap();
    runner.wait().unwrap();
    wait_for(|| pids.iter().all(|&pid| !lives(pid)).then_some(()));
}

fn wait_for<T>(mut event: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = event() {
            return found;
        }
        assert!(
            Instant::now() < until,
            "it has not happened within a minute"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
