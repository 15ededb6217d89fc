//! Histories of made-up runs.

use crate::support::{contest, texts};
use std::path::PathBuf;
use trueput_findings::Run;
use trueput_findings::compare::Selector;
use trueput_findings::history::{RunHistory, history};
use trueput_record::testing::{invalid, repeats};
use trueput_record::{Durability, Value, WorkerKind};

/// Rates of repeats around a level of 1.
const REPEATS: [f64; 3] = [0.99, 1.0, 1.01];

/// A run of lmdb at a level, made in its turn.
fn night(index: usize, level: f64) -> Run {
    let rates = REPEATS.map(|part| 1_000.0 * level * part);
    let mut report = contest(&[("lmdb", &rates)]);
    report.manifest.started_at = format!("2026-11-{:02}T00:00:00Z", index + 1);
    report.shown_as = PathBuf::from(format!("night-{index}"));
    report
}

fn of(runs: &[Run]) -> RunHistory {
    let runs = runs.iter().cloned().map(Ok).collect();
    history(runs, &Selector::default())
}

/// Eight nights, whose level falls to a half at the fifth, with `change` made to the last four.
fn halved(change: impl Fn(&mut Run)) -> Vec<Run> {
    let nights = (0..8).map(|index| {
        let level = if index < 4 { 1.0 } else { 0.5 } + 0.001 * index as f64;
        let mut run = night(index, level);
        if index >= 4 {
            change(&mut run);
        }
        run
    });
    nights.collect()
}

#[test]
fn a_fall_names_what_the_records_say_changed_with_it() {
    type Turn = fn(&mut Run);
    let step = &of(&halved(|_| ())).series[0].steps[0];
    assert_eq!((step.at, step.with.len()), (4, 0));
    let turns: [(&str, Turn); 6] = [
        ("knob map_size 1073741824 → 4096", |run| {
            for trial in &mut run.trials {
                let knobs = &mut trial.spec.knobs;
                knobs.insert("map_size".to_owned(), Value::Integer(4_096));
            }
        }),
        ("build the default → /opt/liblmdb.so", |run| {
            for trial in &mut run.trials {
                trial.spec.build = Some("/opt/liblmdb.so".into());
            }
        }),
        ("library compiled in → /usr/lib/liblmdb.so", |run| {
            for trial in &mut run.trials {
                let engine = trial.engine.as_mut().unwrap();
                engine.origin = "/usr/lib/liblmdb.so".to_owned();
            }
        }),
        ("worker kind processes → threads", |run| {
            for trial in &mut run.trials {
                trial.spec.worker_kind = WorkerKind::Threads;
            }
        }),
        ("kernel Linux 6.18.0 → Linux 6.19.1", |run| {
            run.manifest.host.kernel = "Linux 6.19.1".to_owned();
        }),
        (
            "file system ext4 (rw,relatime) → xfs (rw,relatime)",
            |run| {
                run.manifest.host.file_system.kind = "xfs".to_owned();
            },
        ),
    ];
    for (words, turn) in turns {
        let history = of(&halved(turn));
        assert_eq!(history.series.len(), 1, "{words}");
        let with = texts(&history.series[0].steps[0].with);
        assert!(
            with.iter().any(|change| change == words),
            "{words}: {with:?}"
        );
    }
}

#[test]
fn an_outlier_is_set_against_its_own_stretch() {
    let mut runs = halved(|_| ());
    let more = (8..12).map(|index| night(index, 0.5 + 0.001 * index as f64));
    runs.extend(more);
    runs[10] = night(10, 0.6);
    let history = of(&runs);
    let series = &history.series[0];
    let [outlier] = series.outliers.as_slice() else {
        panic!("not one outlier: {:?}", series.outliers);
    };
    assert_eq!(outlier.at, 10);
    assert!((outlier.median_per_s - 507.5).abs() < 1.0, "{outlier:?}");
}

#[test]
fn a_runs_rate_lies_in_its_interval() {
    let mut run = night(0, 1.0);
    let rates = [1_000.0, 1_001.0, 2_000.0, 2_002.0, 2_004.0];
    run.trials = repeats(0, "lmdb", Durability::Sync, &rates);
    let history = of(&[run]);
    let point = &history.series[0].points[0];
    let product: f64 = rates.iter().product();
    assert!((point.per_s - product.powf(0.2)).abs() < 1e-6, "{point:?}");
    assert_eq!(point.interval.unwrap().estimate, point.per_s);
}

#[test]
fn of_two_copies_of_a_run_the_one_with_more_trials_is_taken() {
    let mut copy = night(0, 1.0);
    copy.shown_as = PathBuf::from("copy");
    copy.trials.clear();
    let history = of(&[copy, night(0, 1.0)]);
    assert_eq!(history.series[0].points.len(), 1);
    assert_eq!(texts(&history.skipped), ["copy: the same run as night-0"]);
}

#[test]
fn a_run_without_a_trial_that_counts_and_one_that_comes_twice_are_named() {
    let mut useless = night(1, 1.0);
    for trial in &mut useless.trials {
        *trial = invalid(trial.spec.clone(), 1.0, "a record is missing");
    }
    let mut bundle = night(0, 1.0);
    bundle.shown_as = PathBuf::from("night-0.tar.gz");
    let history = of(&[night(0, 1.0), useless, bundle]);
    assert_eq!(history.series[0].points.len(), 1);
    assert_eq!(
        texts(&history.skipped),
        [
            "night-0.tar.gz: the same run as night-0",
            "night-1: it has no valid trial"
        ]
    );
}
