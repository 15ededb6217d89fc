//! Tables published since 2022, whose columns have figures of several kinds, and which runs they
//! are compared with.

use crate::support::{report, spec, valid};
use trueput_findings::published::{ComparedRow, PublishedComparison, comparison};
use trueput_record::measurement::{Compaction, DatabaseSize, Measurement, OperationSummary};
use trueput_record::published::{Cell, named};
use trueput_record::{Durability, TrialRecord, Value};

/// A trial of a workload with one worker: its settings, and its rates per second by kind.
fn trial(
    cell: u32,
    (engine, workload): (&str, &str),
    settings: &[(&str, Value)],
    rates: &[(&str, f64)],
) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, 1);
    spec.workload = workload.to_owned();
    spec.workers = 1;
    spec.knobs.clear();
    let settings = settings.iter();
    spec.settings = settings
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let mut record = valid(spec, 1_000.0);
    let operations = rates.iter().map(|&(kind, per_s)| OperationSummary {
        kind: kind.to_owned(),
        per_s,
        ..OperationSummary::default()
    });
    measured(&mut record).operations = operations.collect();
    record
}

fn measured(record: &mut TrialRecord) -> &mut Measurement {
    record.measurement.as_mut().unwrap()
}

/// The trial with a result of its workload.
fn with_result(mut record: TrialRecord, name: &str, value: f64) -> TrialRecord {
    let results = &mut measured(&mut record).results;
    results.insert(name.to_owned(), Value::Float(value));
    record
}

fn compared(id: &str, trials: Vec<TrialRecord>) -> Option<PublishedComparison> {
    comparison(&named(id).unwrap(), &report(trials))
}

/// A cell of our row that has `key` in some column.
fn ours<'a>(comparison: &'a PublishedComparison, key: &str, column: &str) -> &'a Cell {
    let mut columns = comparison.columns.iter();
    let place = columns.position(|one| one.name == column).unwrap();
    let has_key = |row: &&ComparedRow| {
        let mut cells = row.cells.iter();
        row.ours && cells.any(|cell| cell.to_string() == key)
    };
    &comparison.rows.iter().find(has_key).unwrap().cells[place]
}

/// Settings of a trial of `micro`.
fn micro(test: &str, key_bytes: i64, value_bytes: i64) -> Vec<(&'static str, Value)> {
    vec![
        ("test", Value::from(test)),
        ("key_bytes", Value::Integer(key_bytes)),
        ("value_bytes", Value::Integer(value_bytes)),
    ]
}

#[test]
fn each_step_of_the_insert_benchmark_has_its_own_figure() {
    let step = |cell: u32, name: &str, rates: &[(&str, f64)]| {
        let settings = [("step", Value::from(name))];
        trial(cell, ("postgresql", "insert-benchmark"), &settings, rates)
    };
    let inserted = "rows inserted per s";
    let trials = vec![
        with_result(step(0, "l.i0", &[("insert", 10.0)]), inserted, 1_000.0),
        with_result(
            step(1, "l.x", &[("index", 3.0)]),
            "rows indexed per s",
            2_000.0,
        ),
        // Beside its queries rows are inserted, too.
        with_result(step(2, "qr100", &[("range-query", 500.0)]), inserted, 100.0),
        with_result(step(3, "qp100", &[("point-query", 250.5)]), inserted, 100.0),
    ];
    let comparison = compared("smalldatum-2024-insert-engines", trials).unwrap();
    let figures =
        ["l.i0", "l.x", "qr100", "qp100"].map(|step| ours(&comparison, step, "per_s").figure());
    let expected = [1_000.0, 2_000.0, 500.0, 250.5].map(Some);
    assert_eq!(figures, expected);
}

#[test]
fn operations_of_all_kinds_are_added_and_commits_are_none() {
    let mut settings = micro("mix", 8, 1_024);
    settings.extend([
        ("update_percent", Value::Integer(50)),
        ("distribution", Value::from("zipfian")),
    ]);
    let rates = [("read", 600.0), ("update", 500.0), ("commit", 7.0)];
    let trials = vec![trial(0, ("rocksdb", "micro"), &settings, &rates)];
    let comparison = compared("ucsb-2022-10gb-updates", trials).unwrap();
    assert_eq!(ours(&comparison, "mix", "per_s").figure(), Some(1_100.0));
}

#[test]
fn the_rate_of_repeats_is_the_median_of_their_results() {
    let settings = [
        ("script", Value::from("oltp_point_select")),
        ("rand_type", Value::from("uniform")),
    ];
    let repeat = |per_s: f64| {
        let record = trial(0, ("postgresql", "sysbench"), &settings, &[]);
        with_result(record, "queries per second", per_s)
    };
    let trials = vec![repeat(100.0), repeat(400.0), repeat(300.0)];
    let comparison = compared("smalldatum-2026-sysbench-engines", trials).unwrap();
    let rate = ours(&comparison, "oltp_point_select", "queries_per_s");
    assert_eq!(*rate, Cell::Number(300.0));
}

#[test]
fn the_size_after_compaction_is_beside_the_size_before() {
    let size = |kib: u64| DatabaseSize {
        allocated_bytes: kib << 10,
        ..DatabaseSize::default()
    };
    let settings = micro("delete-random", 24, 150);
    let mut record = trial(0, ("redb", "micro"), &settings, &[("delete", 9.0)]);
    let measurement = measured(&mut record);
    measurement.database = size(400);
    measurement.compaction = Some(Compaction {
        database: size(100),
        ..Compaction::default()
    });
    let comparison = compared("redb-2025-removals", vec![record.clone()]).unwrap();
    let columns = ["removed_per_s", "uncompacted_kib", "compacted_kib"];
    let figures = columns.map(|column| ours(&comparison, "redb", column).figure());
    assert_eq!(figures, [9.0, 400.0, 100.0].map(Some));
    // The control: without a compaction there is no size after it.
    measured(&mut record).compaction = None;
    let comparison = compared("redb-2025-removals", vec![record]).unwrap();
    assert_eq!(*ours(&comparison, "redb", "compacted_kib"), Cell::Missing);
}

#[test]
fn a_rate_is_a_multiple_of_the_rate_that_the_document_divides_by() {
    let ycsb = |cell: u32, engine: &str, workers: u32, per_s: f64| {
        let settings = [("workload", Value::from("a"))];
        let mut record = trial(cell, (engine, "ycsb"), &settings, &[("read", per_s)]);
        record.spec.workers = workers;
        record
    };
    let trials = vec![
        ycsb(0, "berkeleydb", 8, 100.0),
        ycsb(1, "wiredtiger", 8, 250.0),
        ycsb(2, "wiredtiger", 32, 900.0),
    ];
    let comparison = compared("libdb-2026-wiredtiger", trials).unwrap();
    let times = |key: &str| ours(&comparison, key, "times_libdb");
    assert_eq!(*times("libdb"), Cell::Number(1.0));
    assert_eq!(*times("WiredTiger"), Cell::Number(2.5));
    // With 32 threads there is no rate of Berkeley DB's.
    assert_eq!(*times("32"), Cell::Missing);
    let ratio = &comparison.ratios[0].rows[0];
    assert_eq!((ratio.here, ratio.there), (Some(2.5), Some(7.9)));
}

#[test]
fn a_run_with_records_of_other_sizes_is_not_compared() {
    let trials = |value_bytes: i64| {
        let settings = micro("read-random", 24, value_bytes);
        vec![trial(0, ("redb", "micro"), &settings, &[("read", 5.0)])]
    };
    assert!(compared("redb-2025-reads", trials(150)).is_some());
    assert_eq!(compared("redb-2025-reads", trials(100)), None);
}

#[test]
fn only_workloads_of_the_document_are_shown() {
    let custom = |cell: u32, operations: &str, distribution: &str, rates: &[(&str, f64)]| {
        let settings = [
            ("operations", Value::from(operations)),
            ("distribution", Value::from(distribution)),
            ("key_bytes", Value::Integer(20)),
            ("value_bytes", Value::Integer(400)),
        ];
        trial(cell, ("rocksdb", "custom"), &settings, rates)
    };
    let trials = vec![
        custom(0, "scan(10):100", "uniform", &[("scan(10)", 12.0)]),
        custom(1, "get:50 put:50", "uniform", &[("get", 7.0)]),
        custom(2, "get:50 put:50", "zipfian", &[("get", 8.0)]),
    ];
    let comparison = compared("slatedb-2026-workloads", trials).unwrap();
    let rows = comparison.rows.iter().filter(|row| row.ours);
    assert_eq!(rows.count(), 2, "the document has no uniform mix");
    let figures = ["scan(10):100", "get:50 put:50"]
        .map(|operations| ours(&comparison, operations, "reads_per_s").figure());
    assert_eq!(figures, [12.0, 8.0].map(Some));
}
