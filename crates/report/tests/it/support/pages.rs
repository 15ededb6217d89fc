//! Reports whose pages are looked at.

use crate::support::{everything, failed, report, spec, valid};
use serde_json::Value;
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_record::folder::DamagedLine;
use trueput_record::measurement::{TimelineSecond, WorkerReport};
use trueput_record::{Durability, TrialRecord, Value as Setting};

/// A trial with a second's sample for each of this many seconds.
pub fn sampled(mut trial: TrialRecord, seconds: u32) -> TrialRecord {
    let Some(measured) = trial.measurement.as_mut() else {
        return trial;
    };
    measured.elapsed_s = f64::from(seconds);
    let counts: Vec<u64> = measured
        .operations
        .iter()
        .map(|operation| operation.count / u64::from(seconds))
        .collect();
    let second = |second: u32| TimelineSecond {
        at_s: f64::from(second + 1),
        counts: counts
            .iter()
            .map(|count| count * u64::from(90 + second % 20) / 100)
            .collect(),
        user_cpu_s: if second % 30 < 20 { 1.9 } else { 0.3 },
        system_cpu_s: 0.1,
        ..TimelineSecond::default()
    };
    measured.timeline = (0..seconds).map(second).collect();
    measured.workers = (0..4)
        .map(|index| WorkerReport {
            index,
            ..WorkerReport::default()
        })
        .collect();
    trial
}

pub fn one_trial() -> Run {
    report(vec![sampled(
        valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0),
        20,
    )])
}

pub fn with_failures() -> Run {
    let mut trials: Vec<_> = everything()
        .into_iter()
        .map(|trial| sampled(trial, 8))
        .collect();
    trials.push(failed(
        spec(7, "redb", Durability::Sync, 1),
        "</script><script>alert(1)</script> <img src=x onerror=alert(2)>",
    ));
    let mut report = report(trials);
    report.damaged.push(DamagedLine {
        line: 3,
        message: "EOF while parsing".to_owned(),
    });
    report.end = None;
    report
}

/// 500 trials of a hundred cells at four levels and with five numbers of workers: an engine with
/// five settings of a knob.
pub fn hundreds() -> Run {
    let levels = [
        Durability::Sync,
        Durability::Async,
        Durability::Process,
        Durability::None,
    ];
    let mut trials = Vec::new();
    for repeat in 1..=5 {
        for cell in 0..100 {
            let (level, workers, knob) =
                (cell / 25, [1, 2, 4, 8, 16][cell as usize / 5 % 5], cell % 5);
            let mut spec = spec(cell, "rocksdb", levels[level as usize], repeat);
            spec.workers = workers;
            spec.id = format!("{cell:04}-rocksdb-{}-w{workers}-r{repeat}", spec.durability);
            spec.knobs
                .insert("cache_size".to_owned(), Setting::Integer(1 << (20 + knob)));
            let rate = f64::from(workers).sqrt() * 1_000.0 * f64::from(100 + 30 * knob + repeat);
            trials.push(sampled(valid(spec, rate), 60));
        }
    }
    let mut report = report(trials);
    let words = "memory that the page cache would have".to_owned();
    report.manifest.costs = BTreeMap::from([("rocksdb.cache_size".to_owned(), words)]);
    report
}

/// The page without its policy, so that a test may put a fault into it.
pub fn unguarded(page: &str) -> String {
    let guarded = "http-equiv=\"Content-Security-Policy\"";
    assert!(page.contains(guarded));
    page.replacen(guarded, "name=\"policy\"", 1)
}

/// The data of a page's charts.
pub fn charts(page: &str) -> Vec<Value> {
    let (_, after) = page.split_once("id=\"charts\">").unwrap();
    let (data, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}
