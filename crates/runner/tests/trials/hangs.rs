//! A phase that hangs ends by its limit, and the next trial runs.

use crate::claims::claims;
use crate::support::{
    Bench, CreatedRun, doubts, failure, is_empty_or_absent, lives, on, spec, threads, with,
};
use crate::toy::{HANGING, HANGS, SLOW_STEP, SLOW_STEPS};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use trueput_record::measurement::{IsolationCheck, Outcome};
use trueput_record::{Durability, TrialSpec};
use trueput_runner::{Event, Phase};

claims![
    a_hang_in_any_phase_fails_the_trial_by_its_limit_and_the_plan_goes_on,
    an_engine_that_hangs_in_the_suite_is_waited_for_once,
    a_suite_whose_process_was_killed_runs_again_and_an_engine_that_is_killed_each_time_fails,
    an_anomaly_suite_that_hung_is_not_waited_for_again_when_the_run_is_resumed,
    a_stopped_worker_fails_the_trial_and_is_named,
    a_stopped_preparation_is_named_and_killed,
    a_killed_verification_fails_the_trial_and_keeps_what_was_measured,
    a_slow_load_that_gets_on_is_not_ended,
    a_close_after_long_work_without_a_duration_may_take_long,
    a_failed_trial_keeps_its_reason_if_its_files_cannot_be_stored,
    a_trial_whose_trace_cannot_be_stored_stays_as_it_was_measured,
    a_hang_is_interrupted_by_the_user_at_once,
];

/// The limit of these tests: short, and long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(5);

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.options.hang_limit = TIMEOUT;
    bench
}

fn crashing(mut spec: TrialSpec) -> TrialSpec {
    spec.durability = Durability::Process;
    spec.conditions.crash_and_recover = true;
    spec
}

/// The processes that this one has started.
pub fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("children")));
    let pids = lists.flat_map(|list| {
        let list = list.unwrap_or_default();
        list.split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect::<Vec<u32>>()
    });
    pids.collect()
}

/// The one of them that started last. Numbers of processes begin anew at some time.
pub fn youngest_child() -> Option<u32> {
    let started_ticks = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before it may hold anything.
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(19)?.parse::<u64>().ok()
    };
    children().into_iter().max_by_key(started_ticks)
}

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

fn stop(pid: u32) {
    send(pid, Signal::SIGSTOP);
}

pub fn kill_process(pid: u32) {
    send(pid, Signal::SIGKILL);
}

/// The file by which the trial `a` says that it hangs.
fn hang_file(made: &CreatedRun) -> PathBuf {
    let run = made.folder.path();
    let area = run.join("work").join(run.file_name().unwrap());
    area.join("a").join(HANGING)
}

fn a_hang_in_any_phase_fails_the_trial_by_its_limit_and_the_plan_goes_on() {
    let cases = [
        (
            spec("prepare", "hang-prepare"),
            "preparing the database: no progress for 5 s",
        ),
        (
            spec("prime", "hang-prime"),
            "opening the database: no progress for 5 s",
        ),
        (
            on("hangs-at-open", spec("open", "store")),
            "opening the database: no progress for 5 s",
        ),
        (
            spec("run", "hang"),
            "the measured run: no operation ended for 5 s",
        ),
        (
            threads(spec("threads", "hang")),
            "the measured run: no operation ended for 5 s",
        ),
        (
            on("hangs-at-close", spec("close", "store")),
            "closing the database: no progress",
        ),
        (
            spec("verify", "hang-verify"),
            "verification: no progress for 5 s",
        ),
        (
            crashing(threads(on("hangs-at-recovery", spec("recovery", "store")))),
            "opening the database after the crash: no progress for 5 s",
        ),
    ];
    let mut trials: Vec<_> = cases.iter().map(|(spec, _)| spec.clone()).collect();
    trials.push(spec("last", "store"));
    let bench = bench();
    let made = bench.create(trials).unwrap();
    bench.run(&made, |_| {});
    let records = made.records();
    for (record, (_, words)) in records.iter().zip(&cases) {
        let reason = failure(record);
        assert!(reason.contains(words), "{}: {reason}", record.spec.id);
        assert!(reason.contains("the limit of this phase"), "{reason}");
    }
    assert!(doubts(records.last().unwrap()).is_empty());
    assert!(children().is_empty(), "nobody is left behind");
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn an_engine_that_hangs_in_the_suite_is_waited_for_once() {
    let mut bench = bench();
    bench.options.hang_limit = Duration::from_secs(2);
    let hanging = ["a", "b"].map(|id| on("hangs-in-suite", spec(id, "store")));
    let made = bench.create(hanging.into()).unwrap();
    bench.run(&made, |_| {});
    for record in &made.records() {
        let reason = failure(record);
        let words = "the conformance suite: no progress for 6 s, the limit of this phase";
        assert!(reason.contains(words), "{reason}");
    }
    let hangs = std::fs::read_to_string(made.folder.path().join(HANGS));
    assert_eq!(hangs.unwrap(), "!", "it is known to hang");
}

fn a_suite_whose_process_was_killed_runs_again_and_an_engine_that_is_killed_each_time_fails() {
    let run = |engine: &str| {
        let bench = Bench::new();
        let made = bench.create(vec![on(engine, spec("a", "store"))]).unwrap();
        let mut warnings = Vec::new();
        bench.run(&made, |event| {
            if let Event::Warning { message } = event {
                warnings.push(message.clone());
            }
        });
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("runs again"), "{warnings:?}");
        assert!(warnings[0].contains("SIGKILL"), "{warnings:?}");
        made.record()
    };
    let record = run("killed-once");
    assert!(doubts(&record).is_empty() && record.measurement.is_some());
    let record = run("killed");
    assert!(doubts(&record)[0].contains("SIGKILL"), "{record:?}");
}

fn an_anomaly_suite_that_hung_is_not_waited_for_again_when_the_run_is_resumed() {
    let mut bench = bench();
    bench.options.checks_isolation = true;
    bench.options.hang_limit = Duration::from_secs(20);
    for (former_s, is_asked_again) in [(60, false), (59, true)] {
        let trials = ["a", "b"].map(|id| threads(on("snapshot", spec(id, "store"))));
        let made = bench.create(trials.into()).unwrap();
        bench.run(&made, |_| {});
        // As if the suite had hung in the first trial, and the run been interrupted after it.
        let mut first = made.records().remove(0);
        let hung = IsolationCheck {
            checked_at: "2026-11-27T10:00:00Z".to_owned(),
            not_run: Some("it hung".to_owned()),
            hung_after_s: Some(former_s),
            ..IsolationCheck::default()
        };
        first.isolation_check = Some(hung.clone());
        let line = serde_json::to_string(&first).unwrap() + "\n";
        std::fs::write(made.folder.path().join("trials.jsonl"), line).unwrap();
        let mut reasons = Vec::new();
        bench.run(&made, |event| {
            if let Event::IsolationChecked { not_run, .. } = event {
                reasons.push(not_run.clone());
            }
        });
        let check = made.records().remove(1).isolation_check.unwrap();
        assert_eq!(check != hung, is_asked_again, "{check:?}");
        assert_eq!(check.schedules > 10, is_asked_again, "{check:?}");
        assert_eq!(reasons, [check.not_run]);
    }
}

fn a_stopped_worker_fails_the_trial_and_is_named() {
    for endless in [spec("a", "endless"), threads(spec("a", "endless"))] {
        let bench = bench();
        let made = bench.create(vec![endless, spec("b", "store")]).unwrap();
        let mut stopped = None;
        bench.run(&made, |event| {
            let is_running = matches!(
                event,
                Event::TrialProgress {
                    phase: Phase::Run,
                    ..
                }
            );
            if is_running && stopped.is_none() {
                let pid = *children().last().unwrap();
                stop(pid);
                stopped = Some(pid);
            }
        });
        let records = made.records();
        let reason = failure(&records[0]);
        let pid = stopped.unwrap();
        assert!(reason.contains("has not responded for 5 s"), "{reason}");
        assert!(reason.contains("the limit of this phase"), "{reason}");
        assert!(reason.contains(&format!("process {pid} ")), "{reason}");
        assert!(reason.contains("is stopped by a signal"), "{reason}");
        assert!(!lives(pid));
        assert!(doubts(&records[1]).is_empty());
    }
}

fn a_stopped_preparation_is_named_and_killed() {
    let bench = bench();
    let made = bench.create(vec![spec("a", "slow-prepare")]).unwrap();
    let mut stopped = None;
    bench.run(&made, |event| {
        let is_loading = matches!(
            event,
            Event::TrialProgress {
                phase: Phase::Prepare,
                ..
            }
        );
        if is_loading && stopped.is_none() {
            stopped = children().first().copied();
            stopped.into_iter().for_each(stop);
        }
    });
    let reason = failure(&made.record()).to_owned();
    assert!(
        reason.starts_with("preparing the database: no progress for"),
        "{reason}"
    );
    assert!(reason.contains("is stopped by a signal"), "{reason}");
    assert!(!lives(stopped.unwrap()));
}

fn a_killed_verification_fails_the_trial_and_keeps_what_was_measured() {
    let bench = Bench::new();
    let made = bench
        .create(vec![spec("a", "hang-verify"), spec("b", "store")])
        .unwrap();
    let hanging = hang_file(&made);
    let killed = std::thread::spawn(move || {
        while !hanging.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The workers have ended before.
        let pids = children();
        pids.iter().copied().for_each(kill_process);
        pids
    });
    bench.run(&made, |_| {});
    let records = made.records();
    let killed = killed.join().unwrap();
    let [pid] = killed[..] else {
        panic!("{killed:?}");
    };
    let said = format!("verification (process {pid}): it was killed by SIGKILL");
    assert!(failure(&records[0]).starts_with(&said), "{:?}", records[0]);
    let measured = records[0].measurement.as_ref().unwrap();
    assert!(measured.operations[1].count > 0 && records[0].verification.is_none());
    assert!(doubts(&records[1]).is_empty());
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_slow_load_that_gets_on_is_not_ended() {
    let bench = bench();
    assert!(SLOW_STEP * SLOW_STEPS > TIMEOUT);
    let record = bench.record(spec("a", "slow-prepare"));
    assert!(doubts(&record).is_empty(), "{record:?}");
}

fn a_close_after_long_work_without_a_duration_may_take_long() {
    let bench = bench();
    assert!(SLOW_STEP * SLOW_STEPS > TIMEOUT);
    // A hundred stores: ten seconds of work.
    let working = with(on("closes-slowly", spec("a", "store")), "pause_ms", 100);
    let record = bench.record(working);
    assert!(doubts(&record).is_empty(), "{record:?}");
}

fn a_failed_trial_keeps_its_reason_if_its_files_cannot_be_stored() {
    let bench = bench();
    let made = bench.create(vec![spec("a", "hang-verify")]).unwrap();
    let histograms = made.folder.histogram_path("a");
    let folder = histograms.parent().unwrap();
    let _ = std::fs::remove_dir(folder);
    std::fs::write(folder, "no folder").unwrap();
    bench.run(&made, |_| {});
    let record = made.record();
    let reason = failure(&record);
    assert!(reason.starts_with("verification: no progress"), "{reason}");
    let words = "; its results cannot be stored: ";
    assert!(reason.contains(words), "{reason}");
}

fn a_trial_whose_trace_cannot_be_stored_stays_as_it_was_measured() {
    let bench = Bench::new();
    let mut traced = spec("a", "store");
    traced.conditions.record_trace_bytes = Some(1 << 16);
    let made = bench.create(vec![traced]).unwrap();
    std::fs::write(made.folder.path().join("traces"), "no folder").unwrap();
    let mut warnings = Vec::new();
    bench.run(&made, |event| {
        if let Event::Warning { message } = event {
            warnings.push(message.clone());
        }
    });
    let record = made.record();
    assert!(doubts(&record).is_empty(), "{record:?}");
    assert!(made.folder.histogram_path("a").exists());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("a: trace not kept: "),
        "{warnings:?}"
    );
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_hang_is_interrupted_by_the_user_at_once() {
    for act in ["hang", "hang-prepare", "hang-verify"] {
        let mut bench = Bench::new();
        bench.options.hang_limit = Duration::from_secs(600);
        let made = bench
            .create(vec![spec("a", act), spec("b", "store")])
            .unwrap();
        let stop = bench.options.stop.clone();
        let hanging = hang_file(&made);
        std::thread::spawn(move || {
            while !hanging.exists() {
                std::thread::sleep(Duration::from_millis(20));
            }
            stop.store(true, Relaxed);
        });
        let summary = bench.run(&made, |_| {});
        assert!(summary.interrupted, "{act}");
        let record = made.record();
        assert_eq!(record.outcome, Outcome::Interrupted, "{act}");
        // What was measured until then is kept.
        assert_eq!(record.measurement.is_some(), act == "hang-verify", "{act}");
        assert!(children().is_empty(), "{act}");
        assert!(is_empty_or_absent(&made.folder.path().join("work")));
    }
}
