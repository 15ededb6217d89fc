//! Copies of a run that the program made, whose rates are then set so that what must be said of
//! them is known.

use super::Bench;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trueput_record::histogram::LoggedHistogram;
use trueput_record::measurement::{LatencySummary, Outcome};
use trueput_record::{RunFolder, TrialRecord, histogram};

/// Rates that scatter by a hundredth.
const SCATTER: [f64; 5] = [1.0, 0.99, 1.012, 0.995, 1.004];

/// A run of lmdb and sqlite, five repeats each, that this program made.
pub fn made(bench: &Bench) -> PathBuf {
    bench.run_once(
        "run threen1 --engine lmdb,sqlite --durability process --set finish=20 --repeat 5",
    );
    bench.run_folder().path().to_owned()
}

/// Copies a run under another name with other lines: what `change` makes of each.
pub fn copied(bench: &Bench, run: &Path, name: &str, change: impl Fn(&mut TrialRecord)) -> String {
    let (folder, mut manifest) = RunFolder::open(run).unwrap();
    let mut trials = folder.trials().unwrap().trials;
    trials.iter_mut().for_each(|trial| {
        trial.outcome = Outcome::Valid;
        change(trial);
        // A change of the engine's name is one of its description, too.
        if let Some(engine) = &mut trial.engine {
            engine.name.clone_from(&trial.spec.engine);
        }
    });
    manifest.name = name.to_owned();
    manifest.trials = trials.iter().map(|trial| trial.spec.clone()).collect();
    let made = RunFolder::create(&bench.path().join("copies"), &manifest).unwrap();
    for trial in &mut trials {
        append(&made, trial);
    }
    let end = folder.end().unwrap().unwrap();
    made.finish(&end).unwrap();
    made.path().to_str().unwrap().to_owned()
}

/// Appends a trial with histograms of its own.
pub fn append(folder: &RunFolder, trial: &mut TrialRecord) {
    let logged = histograms(trial);
    if let Some(measured) = &trial.measurement {
        let log = logged.iter().map(|one| (one.kind.as_str(), &one.histogram));
        let log: Vec<_> = log.collect();
        let span = Duration::from_secs_f64(measured.elapsed_s);
        let path = folder.histogram_path(&trial.spec.id);
        histogram::write_log(&path, "a copy", SystemTime::now(), span, &log).unwrap();
    }
    folder.append(trial).unwrap();
}

/// Histograms that have what the trial counted, all of it as long as its median; its latencies are
/// then theirs, and its seconds have none.
fn histograms(trial: &mut TrialRecord) -> Vec<LoggedHistogram> {
    let Some(measured) = &mut trial.measurement else {
        return Vec::new();
    };
    let duration_s = measured.elapsed_s;
    for second in &mut measured.timeline {
        second.latency_p50_ns.clear();
        second.latency_p99_ns.clear();
        second.latency_p999_ns.clear();
        second.latency_max_ns.clear();
    }
    let of = |kind: String, latency: &mut LatencySummary, count: u64| {
        let mut histogram = histogram::new();
        if latency.is_measured() {
            histogram.record_n(latency.p50_ns.max(1), count).unwrap();
            *latency = LatencySummary::of(&histogram);
        }
        LoggedHistogram {
            kind: histogram::tag(&kind),
            start_s: 0.0,
            duration_s,
            histogram,
        }
    };
    let operations = measured.operations.iter_mut();
    let mut all: Vec<_> = operations
        .map(|one| of(one.kind.clone(), &mut one.latency, one.count))
        .collect();
    let responses = measured.open_loop.iter_mut();
    let responses = responses.flat_map(|open_loop| &mut open_loop.responses);
    all.extend(responses.map(|one| {
        let kind = format!("{}-response", one.kind);
        of(kind, &mut one.latency, one.count)
    }));
    all
}

/// Sets a trial's rate: lmdb at 1,000 updates a second, sqlite at 500, scattered, times a factor.
pub fn set_rate(trial: &mut TrialRecord, factor: f64) {
    let level = match trial.spec.engine.as_str() {
        "lmdb" => 1_000.0,
        _ => 500.0,
    };
    let rate = level * factor * SCATTER[trial.spec.repeat as usize % 5];
    set_every_rate(trial, rate);
}

/// A copy of a run whose rates are as usual, times a factor.
pub fn at_factor(bench: &Bench, run: &Path, name: &str, factor: f64) -> String {
    copied(bench, run, name, |trial| set_rate(trial, factor))
}

/// Sets the rates of a trial's operations, in all parts of its record.
pub fn set_every_rate(trial: &mut TrialRecord, rate: f64) {
    let measured = trial.measurement.as_mut().unwrap();
    let (count, kinds) = (1_000_000, measured.operations.len());
    measured.elapsed_s = count as f64 / rate;
    for operation in &mut measured.operations {
        operation.count = count;
        operation.per_s = count as f64 / measured.elapsed_s;
    }
    measured.timeline.truncate(1);
    measured.timeline[0].at_s = measured.elapsed_s;
    measured.timeline[0].counts = vec![count; kinds];
    measured.workers.truncate(1);
    measured.workers[0].counts = vec![count; kinds];
    measured.workers[0].conflicts = measured.conflicts;
    measured.workers[0].deadlocks = measured.deadlocks;
}

/// Two runs: one as it is, one with lmdb at a factor of its rate.
pub fn two(bench: &Bench, factor: f64) -> (String, String) {
    let run = made(bench);
    let a = at_factor(bench, &run, "a", 1.0);
    let b = copied(bench, &run, "b", |trial| {
        let is_lmdb = trial.spec.engine == "lmdb";
        set_rate(trial, if is_lmdb { factor } else { 1.001 });
    });
    (a, b)
}
