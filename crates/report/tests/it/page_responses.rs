//! The response times of open loops on the page: from when each unit was due, by percentile.

use crate::support::{folder, pages, report, spec, valid};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use trueput_findings::Run;
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{LatencySummary, OpenLoop, ResponseSummary};
use trueput_record::{Durability, TrialRecord, histogram};
use trueput_report::RunReport;

/// Nanoseconds that users waited, by the summary in the trial's line.
const SUMMARISED_P50_NS: u64 = 40_000_000;

fn trial(cell: u32, engine: &str, rate_per_s: Option<f64>, backlog: u64) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Sync, 1), 2_000.0);
    let open_loop = rate_per_s.map(|rate_per_s| OpenLoop {
        rate_per_s,
        arrival: "constant".to_owned(),
        issued: 1_000,
        backlog,
        oldest_wait_s: 0.0,
        responses: vec![ResponseSummary {
            kind: "update".to_owned(),
            count: 1_000 + backlog,
            latency: LatencySummary {
                p50_ns: SUMMARISED_P50_NS,
                p90_ns: 2 * SUMMARISED_P50_NS,
                p99_ns: 3 * SUMMARISED_P50_NS,
                p999_ns: 4 * SUMMARISED_P50_NS,
                max_ns: 5 * SUMMARISED_P50_NS,
                ..LatencySummary::default()
            },
        }],
    });
    trial.measurement.as_mut().unwrap().open_loop = open_loop;
    trial
}

fn charts_of_responses(page: &str) -> Vec<Value> {
    let mut charts = pages::charts(page);
    charts.retain(|chart| {
        chart["title"]
            .as_str()
            .unwrap()
            .starts_with("Response time of")
    });
    charts
}

#[test]
fn open_loops_have_a_chart_of_response_times_beside_that_of_service_times() {
    let trials = vec![
        trial(0, "lmdb", Some(2_000.0), 0),
        trial(1, "redb", None, 0),
    ];
    let charts = charts_of_responses(&report(trials).page());
    let [chart] = charts.as_slice() else {
        panic!("{charts:?}");
    };
    assert_eq!(chart["title"], "Response time of update by percentile");
    let note = chart["note"].as_str().unwrap();
    assert!(note.starts_with("From when each was due, 2,000 a second, to its end"));
    assert!(!note.contains("not begun"), "{note}");
    // A closed loop has no response times: only those of the open one are drawn.
    assert_eq!(chart["groups"].as_array().unwrap().len(), 1);
    assert_eq!(chart["groups"][0]["name"], "lmdb");
    let half = json!([50.0, SUMMARISED_P50_NS as f64]);
    assert_eq!(chart["groups"][0]["rows"][0], half);
}

#[test]
fn waits_that_had_not_ended_are_said_to_be_too_short() {
    let charts = charts_of_responses(&report(vec![trial(0, "lmdb", Some(9.0), 7)]).page());
    assert!(charts[0]["note"].as_str().unwrap().contains("not begun"));
}

#[test]
fn a_ranking_at_one_rate_is_drawn_by_what_orders_it() {
    let mut trials = Vec::new();
    for repeat in 1..=3 {
        for (cell, engine, backlog, slower) in
            [(0, "lmdb", 0, 1), (1, "redb", 0, 2), (2, "fjall", 900, 1)]
        {
            let mut trial = trial(cell, engine, Some(1_000.0), backlog);
            trial.spec = spec(cell, engine, Durability::Sync, repeat);
            let measured = trial.measurement.as_mut().unwrap();
            measured.elapsed_s = 1.0;
            let open = measured.open_loop.as_mut().unwrap();
            open.responses[0].latency.p99_ns = slower * 100_000_000 + u64::from(repeat);
            trials.push(trial);
        }
    }
    let mut charts = pages::charts(&report(trials).page());
    charts.retain(|chart| chart["kind"] == "bars");
    let [chart] = charts.as_slice() else {
        panic!("{charts:?}");
    };
    assert_eq!(chart["title"], "Response time, 99th percentile");
    assert_eq!(chart["columns"][0]["unit"], "nanoseconds");
    let groups = chart["groups"].as_array().unwrap().iter();
    let told: Vec<_> = groups
        .map(|group| json!([group["name"], group["rows"][0][0], group["rows"][0][3]]))
        .collect();
    let expected = [
        json!(["lmdb", 100_000_002.0, 100_000_001.0]),
        json!(["redb", 200_000_002.0, 200_000_001.0]),
        json!(["fjall", 100_000_002.0, 100_000_001.0]),
    ];
    assert_eq!(told, expected);
    let note = chart["note"].as_str().unwrap();
    assert_has!(note, "begins after the dashed line");
    assert!(note.ends_with("Did not keep the rate, and users waited longer than this: fjall."));
}

#[test]
fn every_mark_of_a_chart_of_bars_is_explained_and_no_other() {
    let note = |trials: Vec<TrialRecord>| {
        let mut charts = pages::charts(&report(trials).page());
        charts.retain(|chart| chart["kind"] == "bars");
        charts[0]["note"].as_str().unwrap().to_owned()
    };
    let trial = |cell, engine| {
        let mut trial = trial(cell, engine, Some(1_000.0), 0);
        trial.measurement.as_mut().unwrap().elapsed_s = 1.0;
        trial
    };
    let one = note(vec![trial(0, "lmdb")]);
    assert_eq!(one, "Bars: medians. Points: repeats.");
    let two = note(vec![trial(0, "lmdb"), trial(1, "redb")]);
    assert_eq!(two, format!("{one} Dashed: the leader."));
}

#[test]
fn closed_loops_have_no_chart_of_response_times() {
    let charts = charts_of_responses(&report(vec![trial(0, "lmdb", None, 0)]).page());
    assert_eq!(charts, [Value::Null; 0]);
}

#[test]
fn response_times_are_read_from_the_histogram_of_that_name() {
    let (mut service, mut response) = (histogram::new(), histogram::new());
    (0..20_000).for_each(|_| service.saturating_record(9_000));
    (0..20_000).for_each(|_| response.saturating_record(123_000));
    let mut trials = [trial(0, "lmdb", Some(20_000.0), 0)];
    trials[0].spec.conditions.rate = Some(Rate {
        per_s: 20_000.0,
        arrival: Arrival::Constant,
    });
    trials[0].spec.workers = 1;
    let measured = trials[0].measurement.as_mut().unwrap();
    measured.elapsed_s = 1.0;
    measured.operations.remove(0);
    measured.operations[0].count = service.len();
    measured.operations[0].latency = LatencySummary::of(&service);
    let open = measured.open_loop.as_mut().unwrap();
    (open.issued, open.backlog) = (response.len(), 0);
    open.responses[0].count = response.len();
    open.responses[0].latency = LatencySummary::of(&response);
    let (_results, run) = folder(&trials);
    let path = run.histogram_path(&trials[0].spec.id);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let kinds = [("update", &service), ("update-response", &response)];
    let (began, span) = (SystemTime::UNIX_EPOCH, Duration::from_secs(1));
    histogram::write_log(&path, "a test", began, span, &kinds).unwrap();
    let page = Run::load(run.path()).unwrap().page();
    let response = charts_of_responses(&page).remove(0);
    let at = |chart: &Value, row: usize| chart["groups"][0]["rows"][row][1].as_f64().unwrap();
    assert!((at(&response, 0) / 123_000.0 - 1.0).abs() < 0.002);
    assert_eq!(response["groups"][0]["rows"][7][0], json!(99.99));
    let charts = pages::charts(&page);
    let service = charts
        .iter()
        .find(|chart| chart["title"] == "Service time of update by percentile");
    assert!((at(service.unwrap(), 0) / 9_000.0 - 1.0).abs() < 0.002);
}
