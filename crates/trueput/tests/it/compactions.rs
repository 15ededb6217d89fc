//! The engine's own compaction at the end of a trial: measured, exported, and refused where it has
//! no meaning.

use crate::support::{
    ALL_WELL, Bench, assert_contains, assert_refused, ended_well, is_installed, stdout,
};
use std::collections::BTreeMap;
use trueput_record::measurement::{Compaction, Measurement};

/// Deletes half of the records.
const TRIAL: &str = "run micro --durability process --workers 1 --set test=delete-random \
                     --set records=2000 --set value_bytes=1000 --set operations=1000";

/// The trial on an engine that compacts then: the bench, and what was measured.
fn compacted(engine: &str) -> (Bench, Measurement, Compaction) {
    let bench = Bench::new();
    let line = format!("{TRIAL} --engine {engine} --compact --json");
    let events = stdout(&bench.run_expecting(ALL_WELL, &line));
    assert_contains(&events, &["\"phase\":\"compact\""]);
    let trial = bench.trials().remove(0);
    assert!(ended_well(&trial), "{:?}", trial.outcome);
    assert!(trial.verification.unwrap().passed);
    let measured = trial.measurement.unwrap();
    let compaction = measured.compaction.clone().unwrap();
    (bench, measured, compaction)
}

/// The cells of a line of CSV; those in quotes may contain commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

/// The one trial of a run as CSV, by column.
fn csv_row(bench: &Bench) -> BTreeMap<String, String> {
    let run = bench.run_path();
    let text = stdout(&bench.run_expecting(0, &format!("export {run} --format csv")));
    let lines: Vec<Vec<String>> = text.lines().map(cells).collect();
    let [titles, row] = lines.as_slice() else {
        panic!("not one trial: {text}");
    };
    assert_eq!(titles.len(), row.len());
    let by_title = titles.iter().cloned().zip(row.iter().cloned());
    let by_title: BTreeMap<_, _> = by_title.collect();
    let names = by_title.len();
    assert_eq!(names, titles.len(), "each column has a name of its own");
    by_title
}

fn assert_in_csv(bench: &Bench, measured: &Measurement, compaction: &Compaction) {
    let row = csv_row(bench);
    let at_start = measured.database_at_start.unwrap();
    let left = measured.compacted_space_amplification().unwrap();
    let sizes = [
        ("database_at_start", at_start),
        ("database", measured.database),
        ("compacted", compaction.database),
    ];
    for (prefix, size) in sizes {
        let allocated = &row[&format!("{prefix}_allocated_bytes")];
        assert_eq!(*allocated, size.allocated_bytes.to_string(), "{prefix}");
        let apparent = &row[&format!("{prefix}_apparent_bytes")];
        assert_eq!(*apparent, size.apparent_bytes.to_string(), "{prefix}");
    }
    let written = compaction.storage_written_bytes;
    let others = [
        ("condition.compact", "true".to_owned()),
        ("compaction_elapsed_s", compaction.elapsed_s.to_string()),
        ("compaction_storage_written_bytes", written.to_string()),
        ("compaction_means", compaction.means.clone()),
        ("compacted_space_amplification", left.to_string()),
    ];
    for (column, value) in others {
        assert_eq!(row.get(column), Some(&value), "{column}");
    }
}

fn assert_in_openmetrics(bench: &Bench, measured: &Measurement, compaction: &Compaction) {
    let run = bench.run_path();
    let text = stdout(&bench.run_expecting(0, &format!("export {run} --format openmetrics")));
    let value = |family: &str| -> f64 {
        let begin = format!("{family}{{");
        let samples = text.lines().filter(|line| line.starts_with(&begin));
        let samples: Vec<_> = samples.collect();
        assert_eq!(samples.len(), 1, "{family}: {text}");
        samples[0].rsplit(' ').next().unwrap().parse().unwrap()
    };
    let at_start = measured.database_at_start.unwrap();
    let bytes = [
        ("trueput_database_at_start_bytes", at_start),
        ("trueput_database_bytes", measured.database),
        ("trueput_compacted_database_bytes", compaction.database),
    ];
    for (family, size) in bytes {
        assert_eq!(value(family), size.allocated_bytes as f64, "{family}");
    }
    assert_eq!(value("trueput_compaction_seconds"), compaction.elapsed_s);
}

#[test]
fn sqlite_gives_space_back_and_every_export_says_how_much() {
    let (bench, measured, compaction) = compacted("sqlite");
    assert_eq!(compaction.means, "VACUUM");
    assert!(compaction.elapsed_s > 0.0);
    let (before, after) = (measured.database, compaction.database);
    let is_smaller = after.allocated_bytes < before.allocated_bytes;
    assert!(is_smaller, "{after:?} of {before:?}");
    assert_in_csv(&bench, &measured, &compaction);
    assert_in_openmetrics(&bench, &measured, &compaction);
    let report = bench.stdout_of(&format!("report {} --full", bench.run_path()));
    assert_contains(&report, &["Space and compaction"]);
    // The control: without the option nothing is compacted.
    let other = Bench::new();
    other.run_expecting(ALL_WELL, &format!("{TRIAL} --engine sqlite"));
    let measured = other.trials().remove(0).measurement.unwrap();
    assert_eq!(measured.compaction, None);
    assert_eq!(csv_row(&other)["compaction_means"], "");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_private_server_is_compacted_by_its_own_statement() {
    if !is_installed("postgresql") {
        return;
    }
    let (bench, measured, compaction) = compacted("postgresql");
    assert_eq!(compaction.means, "VACUUM (FULL)");
    assert!(compaction.elapsed_s > 0.0 && compaction.database.allocated_bytes > 0);
    assert_in_csv(&bench, &measured, &compaction);
    assert_in_openmetrics(&bench, &measured, &compaction);
}

#[test]
fn a_compaction_is_refused_where_there_is_no_one_database() {
    let bench = Bench::new();
    for (work, reason) in [
        ("micro --engine null", "compact: null stores nothing"),
        (
            "log-flush",
            "compact: log-flush measures the storage itself",
        ),
    ] {
        assert_refused(&bench, &format!("run {work} --compact"), reason);
    }
    for engine in ["postgresql-cluster", "etcd", "galera"] {
        if is_installed(engine) {
            let line = format!("run micro --engine {engine} --durability sync --compact");
            assert_refused(&bench, &line, &format!("compact: {engine} is a cluster"));
        }
    }
}
