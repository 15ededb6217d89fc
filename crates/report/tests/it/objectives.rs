//! The objective of a plan beside what was measured, and the exported figures of open loops.

use crate::support::{flat, report, spec, terminal, valid};
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{LatencySummary, LoadReport, OpenLoop, ResponseSummary};
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::formats::openmetrics;
use trueput_report::{Format, RunReport, Style};

const RATE_PER_S: f64 = 500.0;

/// The kinds of request of the trials, the rarest and slowest last.
const KINDS: [&str; 3] = ["read", "update", "put"];

/// A trial in open loop whose kinds have these 99th percentiles, in microseconds.
fn trial(cell: u32, engine: &str, repeat: u32, p99_us: [u64; 3]) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, repeat);
    spec.conditions.rate = Some(Rate {
        per_s: RATE_PER_S,
        arrival: Arrival::Constant,
    });
    spec.conditions.duration_s = Some(434.0);
    let mut record = valid(spec, RATE_PER_S);
    let measured = record.measurement.as_mut().unwrap();
    let mut put = measured.operations[1].clone();
    (put.kind, put.count) = ("put".to_owned(), 3_000);
    put.latency.p99_ns = 900_000;
    measured.operations.push(put);
    let response = |(kind, p99_us): (&str, u64)| ResponseSummary {
        kind: kind.to_owned(),
        count: 1_000,
        latency: LatencySummary {
            p50_ns: 50_000,
            p99_ns: p99_us * 1_000,
            max_ns: 2 * p99_us * 1_000,
            ..LatencySummary::default()
        },
    };
    measured.open_loop = Some(OpenLoop {
        rate_per_s: RATE_PER_S,
        arrival: "constant".to_owned(),
        issued: (RATE_PER_S * measured.elapsed_s) as u64,
        backlog: 7,
        responses: KINDS.into_iter().zip(p99_us).map(response).collect(),
        ..OpenLoop::default()
    });
    record
}

/// Two contenders, of which the second misses 1 ms in the puts of two repeats of five.
pub fn run(objective: Option<&str>) -> Run {
    let trials = (1..=5).flat_map(|repeat| {
        let slow_us = if repeat > 3 { 1_500 } else { 800 };
        [
            trial(0, "lmdb", repeat, [100, 200, 300 + u64::from(repeat)]),
            trial(1, "redb", repeat, [100, 200, slow_us]),
        ]
    });
    let mut run = report(trials.collect());
    run.manifest.objective = objective.map(|text| text.parse().unwrap());
    run
}

fn answered(run: &Run) -> String {
    Answer::of(run).render(Layout::default(), &[])
}

#[test]
fn each_row_says_whether_it_kept_the_objective_of_the_plan() {
    let run = run(Some("p99<1ms"));
    let json = run.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["objective"], "p99<1ms");
    let cells = &json["rankings"][0]["cells"];
    assert_eq!(cells[0]["objective"]["held"], 5);
    assert_eq!(cells[1]["objective"]["held"], 3);
    assert_eq!(cells[1]["objective"]["violations"][0]["kind"], "put");
    // A failure to keep the rate is one to keep the objective.
    let mut late = run;
    for trial in late.trials.iter_mut().filter(|it| it.spec.cell == 0) {
        let measured = trial.measurement.as_mut().unwrap();
        measured.open_loop.as_mut().unwrap().backlog = 1_000_000;
    }
    assert_has!(flat(&terminal(&late, 400)), "lmdb missed p99<1ms in 5 of 5");
    // The control: no objective, no word of it.
    for text in [answered(&self::run(None)), terminal(&self::run(None), 400)] {
        assert!(!text.contains("objective"), "{text}");
    }
}

#[test]
fn an_objective_that_no_closed_loop_can_be_judged_by_is_not_ignored_in_silence() {
    let mut run = run(Some("p99<1ms"));
    for trial in &mut run.trials {
        trial.measurement.as_mut().unwrap().open_loop = None;
        trial.spec.conditions.rate = None;
    }
    let answer = flat(&answered(&run));
    assert_has!(
        answer,
        "Objective p99<1ms: not judged.",
        "add --rate, or find the highest one with trueput capacity."
    );
}

#[test]
fn the_only_contender_at_a_rate_and_the_first_table_of_the_page_say_whether_it_was_kept() {
    let mut alone = run(Some("p99<1ms"));
    assert_has!(alone.page(), "(objective kept)");
    alone.trials.retain(|trial| trial.spec.cell == 1);
    let objective = alone.manifest.objective.clone();
    let mut alone = report(alone.trials);
    alone.manifest.objective = objective;
    assert_has!(answered(&alone), "(objective kept in 3 of 5)");
    assert_has!(alone.page(), "(objective kept in 3 of 5)");
}

#[test]
fn closed_loops_beside_fixed_rates_are_said_not_to_be_judged() {
    let both = run(Some("p99<1ms"));
    assert!(!answered(&both).contains("fixed rates only"));
    let mut trials = both.trials;
    for mut closed in trials.clone() {
        closed.measurement.as_mut().unwrap().open_loop = None;
        closed.spec.conditions.rate = None;
        closed.spec.cell += 2;
        closed.spec.id += "-closed";
        trials.push(closed);
    }
    let mut both = report(trials);
    both.manifest.objective = Some("p99<1ms".parse().unwrap());
    let answer = flat(&answered(&both));
    assert_has!(answer, "Objective p99<1ms: judged at fixed rates only.");
}

#[test]
fn charts_have_the_limit_and_the_kind_that_decides() {
    let page = run(Some("p99<1ms")).page();
    assert_has!(
        page,
        "Response time of read by percentile",
        "Response time of put by percentile",
        "Dotted: the limit, p99&lt;1ms.",
        "Dashed: the limit, p99&lt;1ms.",
        "<line class=\"limit\""
    );
    let far = run(Some("p99<60s")).page();
    assert_has!(far, "The limit, p99&lt;1m, is beyond the chart.");
    assert!(!far.contains("<line class=\"limit\""));
    // In a closed loop, the slowest kind is the one that the first screen shows.
    let mut closed = run(None);
    closed.manifest.headlines.clear();
    for trial in &mut closed.trials {
        trial.measurement.as_mut().unwrap().open_loop = None;
        trial.spec.conditions.rate = None;
    }
    assert_has!(closed.page(), "Latency of put by percentile");
}

/// The cells of the first row of a table in CSV, by their titles.
fn first_row(run: &Run) -> BTreeMap<String, String> {
    let text = run.render(Format::Csv, Style::default());
    let mut lines = text.lines();
    let mut cells = || {
        let line = lines.next().unwrap();
        assert!(!line.contains('"'), "none has a comma: {line}");
        line.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let (titles, values) = (cells(), cells());
    titles.into_iter().zip(values).collect()
}

#[test]
fn csv_has_rate_response_times_backlog_conditions_contender_and_what_was_loaded() {
    let mut run = run(Some("p99<1ms"));
    for trial in &mut run.trials {
        let settings = &mut trial.spec.settings;
        settings.insert("records".to_owned(), Value::Integer(1_000_000));
        settings.insert("size".to_owned(), Value::Integer(512 << 20));
        trial.measurement.as_mut().unwrap().operations[2].not_found = 1_200;
        trial.load = Some(LoadReport {
            records: 1_290_555,
            ..LoadReport::default()
        });
    }
    let row = first_row(&run);
    for (title, expected) in [
        ("contender", "lmdb"),
        ("objective", "kept"),
        ("rate_per_s", "500"),
        ("arrival", "constant"),
        ("duration_s", "434"),
        ("warm_up_s", "0"),
        ("condition.start", "warm"),
        ("condition.memory", "none"),
        ("open_loop_backlog", "7"),
        ("put_response_p99_ns", "301000"),
        ("put_service_p99_ns", "900000"),
        ("put_p99_ns", "900000"),
        ("put_count", "3000"),
        ("put_not_found", "1200"),
        ("load_records", "1290555"),
        ("setting.records", "1290555"),
        ("setting.size", "536870912"),
    ] {
        assert_eq!(
            row.get(title).map(String::as_str),
            Some(expected),
            "{title}"
        );
    }
    let text = flat(&terminal(&run, 400));
    assert_has!(text, "records=1290555 (by size)", "size=512MiB");
    // The control: without a size, the number is the one that was given.
    for trial in &mut run.trials {
        let settings = &mut trial.spec.settings;
        settings.insert("size".to_owned(), Value::Integer(0));
    }
    let row = first_row(&run);
    assert_eq!(row["setting.records"], "1000000");
}

#[test]
fn what_shows_the_other_columns_is_a_command_that_exists() {
    let text = flat(&terminal(&run(None), 60));
    assert_has!(
        text,
        "A wider terminal or trueput report --format csv shows them."
    );
}

#[test]
fn openmetrics_has_response_times_beside_service_times_and_the_offered_rate() {
    let text = openmetrics::render(&[run(None)]);
    let value = |family: &str, labels: &[&str]| {
        let mut lines = text.lines().filter(|line| line.starts_with(family));
        let line = lines.find(|line| labels.iter().all(|label| line.contains(label)));
        let value = line.and_then(|line| line.rsplit_once(' '));
        value.map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let puts = ["contender=\"lmdb\"", "kind=\"put\"", "quantile=\"0.99\""];
    assert_eq!(value("trueput_response_time_seconds{", &puts), "0.000301");
    assert_eq!(value("trueput_service_time_seconds{", &puts), "0.0009");
    assert_eq!(value("trueput_offered_per_second{", &puts[..1]), "500");
}
