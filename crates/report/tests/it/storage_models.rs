//! The sections on contenders on several storage models, and on what the servers of the models
//! cost.

use crate::support::pages::charts;
use crate::support::{flat, report, terminal, terminal_line};
use std::path::Path;
use tempfile::TempDir;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::TrialRecord;
use trueput_record::service_report::{
    LoopCost, OwnCost, REPORTS, RequestCounts, RoundTrip, ServiceReport, SizeCost,
};
use trueput_record::storage_model::is_in_folder;
use trueput_record::testing::storage::{count_commits, modeled};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::{Format, RunReport, Style};

const COMPARISON: &str = "Engines by storage: sync, threen1, 4 workers";
const COST: &str = "Cost of modeled storage";

/// `leveldb` and `lmdb` on a storage, with these rates.
fn pair(cell: u32, model: Option<&str>, rates: [f64; 2], flush_share: f64) -> Vec<TrialRecord> {
    let contenders = [("leveldb", [0.25, 9_000.0]), ("lmdb", [2.0, 12_000.0])];
    let of = |(cell, ((engine, commits), per_s)): (u32, ((&str, _), _))| {
        let mut trials = modeled(cell, engine, model, per_s);
        count_commits(&mut trials, commits, [flush_share; 2]);
        trials
    };
    (cell..)
        .zip(contenders.into_iter().zip(rates))
        .flat_map(of)
        .collect()
}

/// On every storage but the last, leveldb leads.
fn turned() -> Vec<TrialRecord> {
    let mut trials = pair(0, None, [24_000.0, 7_000.0], 0.6);
    trials.extend(pair(2, Some("hdd-7200"), [110.0, 40.0], 0.96));
    trials.extend(pair(4, Some("nvme-datacenter"), [4_000.0, 9_000.0], 0.2));
    trials
}

/// The lines of a section of a report for a terminal.
fn section(run: &Run, title: &str) -> String {
    let text = terminal(run, 120);
    let (_, after) = text.split_once(title).unwrap();
    after.to_owned()
}

#[test]
fn the_answer_says_who_leads_where_and_why_before_the_table() {
    let run = report(turned());
    let text = section(&run, COMPARISON);
    let (words, table) = text.split_once("\ncontender").unwrap();
    assert_has!(
        flat(words),
        "leveldb leads everywhere but on nvme-datacenter, where lmdb does.",
        "On hdd-7200, flushes were under way for 96.0 % of the time of leveldb and 96.0 % of that \
         of lmdb. A commit takes 2.00 flushes with lmdb, and 0.250 with leveldb: its workers share \
         flushes (group commit).",
        "On nvme-datacenter, flushes were under way for 20.0 % of the time of lmdb and 20.0 % of \
         that of leveldb: most of the time goes into something else.",
        "Updates per second, medians of 5 repeats. #1: no other contender is shown to be faster",
    );
    let line = |name: &str| {
        let mut lines = table.lines();
        let line = lines
            .find(|line| line.trim_start().starts_with(name))
            .unwrap();
        flat(line)
    };
    assert_has!(
        flat(table.lines().next().unwrap()),
        "this machine's storage hdd-7200 nvme-datac"
    );
    assert_eq!(line("leveldb"), "leveldb 24,120 #1 111 #1 4,020");
    assert_eq!(line("lmdb"), "lmdb 7,035 40.2 9,045 #1");
}

#[test]
fn one_leader_everywhere_and_an_undecided_storage_are_said_as_they_are() {
    let mut trials = pair(0, None, [24_000.0, 7_000.0], 0.6);
    trials.extend(pair(2, Some("hdd-7200"), [110.0, 40.0], 0.96));
    let words = flat(&section(&report(trials.clone()), COMPARISON));
    assert_has!(
        words,
        "leveldb leads on each: this machine's storage and hdd-7200."
    );
    assert!(!words.contains("flushes were under way"), "{words}");
    // One repeat shows no order.
    let single = pair(4, Some("sd-card"), [60.0, 40.0], 0.96);
    trials.extend(single.into_iter().filter(|trial| trial.spec.repeat == 1));
    let words = flat(&section(&report(trials), COMPARISON));
    assert_has!(
        words,
        "leveldb leads on this machine's storage and hdd-7200.",
        "On sd-card: Inconclusive: 1 repeat cannot distinguish leveldb from lmdb.",
        "medians, with the number of repeats in brackets",
        "60.9 (1) #1",
        "39.6 (1) #1",
    );
}

#[test]
fn first_are_those_that_the_verdict_does_not_call_slower() {
    let on = |cell: u32, model: Option<&str>, rates: [f64; 3]| {
        let mut trials = pair(cell, model, [rates[0], rates[1]], 0.6);
        trials.extend(modeled(cell + 2, "sqlite", model, rates[2]));
        trials
    };
    let mut trials = on(0, None, [24_000.0, 7_000.0, 6_000.0]);
    // The second is slower, and the third has one repeat, which decides nothing.
    trials.extend(on(3, Some("hdd-7200"), [110.0, 60.0, 50.0]));
    trials.retain(|trial| trial.spec.cell != 5 || trial.spec.repeat == 1);
    let text = section(&report(trials), COMPARISON);
    let table = flat(text.split_once("\ncontender").unwrap().1);
    assert_has!(
        table,
        "leveldb 24,120 (5) #1 111 (5) #1",
        "lmdb 7,035 (5) 60.3 (5) sqlite"
    );
    let sqlite = table.split_once("sqlite").unwrap().1;
    assert!(
        sqlite.trim_start().starts_with("6,030 (5) 49.5 (1) #1"),
        "{table}"
    );
}

#[test]
fn every_format_has_the_comparison_and_a_run_on_one_storage_has_none() {
    let run = report(turned());
    let markdown = run.render(Format::Markdown, Style::default());
    assert_has!(
        markdown,
        COMPARISON,
        "| this machine's storage | hdd-7200 |"
    );
    let page = run.page();
    assert_has!(
        page,
        COMPARISON,
        "leveldb leads everywhere but on nvme-datacenter"
    );
    let at = |text: &str| page.find(text).unwrap();
    let drawn = at("<strong>Updates per second by storage</strong>");
    assert!(
        at("leads everywhere but on") < drawn,
        "the answer comes first"
    );
    let charts = charts(&page);
    let mut charts = charts.iter();
    let chart = charts
        .find(|chart| chart["title"] == "Updates per second by storage")
        .unwrap();
    assert_eq!(chart["kind"], "curve");
    let words = chart["words"].as_array().unwrap().iter();
    let words: Vec<_> = words.map(|word| word["text"].as_str().unwrap()).collect();
    assert_eq!(
        words,
        ["this machine's storage", "hdd-7200", "nvme-datacenter"]
    );
    let points = &chart["groups"][1]["rows"];
    assert_eq!(points[1][0], 1.0);
    assert!(points[1][1].as_f64().unwrap() > 39.0, "{points}");
    assert_has!(page, "per second, log scale");
    let json = run.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let found = &json["storage_comparisons"][0];
    assert_eq!(found["rankings"][2]["lead"]["leader"], "lmdb");
    assert_eq!(found["reasons"][0]["kind"], "fewer_flushes");
    assert_eq!(json.get("storage_servers"), None);
    let csv = run.render(Format::Csv, Style::default());
    assert_has!(csv.lines().next().unwrap(), "device_flush_s");
    // The control.
    let only = report(pair(0, Some("hdd-7200"), [110.0, 40.0], 0.96));
    assert!(!terminal_line(&only).contains("Engines by storage"));
    let json = only.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.get("storage_comparisons"), None);
}

/// What a server reported whose flushes were late by so many per cent of the modeled time.
fn service(late_percent: u64) -> ServiceReport {
    let trip = |median_ns| RoundTrip {
        median_ns,
        ..RoundTrip::default()
    };
    let size = |bytes, depth, ns| SizeCost {
        bytes,
        depth,
        read: trip(ns),
        write: trip(2 * ns),
    };
    ServiceReport {
        model: "hdd-7200".to_owned(),
        own_cost: OwnCost {
            flush: trip(21_000),
            through_loop: Some(LoopCost {
                flush: trip(51_000),
                ..LoopCost::default()
            }),
            by_size: vec![size(4_096, 1, 30_000), size(4_096, 4, 70_000)],
            ..OwnCost::default()
        },
        reads: RequestCounts::default(),
        writes: RequestCounts::default(),
        flushes: RequestCounts {
            requests: 1_000,
            modeled_ns: 8_000_000_000,
            late_ns: 80_000_000 * late_percent,
            late_median_ns: 50_000,
            late_p99_ns: 90_000,
            ..RequestCounts::default()
        },
        discards: RequestCounts::default(),
    }
}

/// A run folder for reports of servers.
fn run_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(REPORTS)).unwrap();
    folder
}

/// Writes what the server of a trial reported into a run folder.
fn write_service(folder: &Path, trial: &TrialRecord, report: &ServiceReport) {
    let file = format!("{REPORTS}/{}-data.json", trial.spec.id);
    let text = serde_json::to_string(report).unwrap();
    std::fs::write(folder.join(file), text).unwrap();
}

/// The section of a run on these models, whose servers had a loop device but in the folder form.
fn cost_on(models: &[&str]) -> String {
    let folder = run_folder();
    let cells = (0..).step_by(2).zip(models);
    let trials = cells.flat_map(|(cell, model)| pair(cell, Some(*model), [110.0, 40.0], 0.96));
    let mut run = report(trials.collect());
    run.folder = folder.path().to_owned();
    for trial in &run.trials {
        let mut service = service(3);
        if is_in_folder(trial.spec.conditions.storage_model.as_deref()) {
            service.own_cost.through_loop = None;
        }
        write_service(folder.path(), trial, &service);
    }
    flat(&section(&run, COST))
}

#[test]
fn the_cost_without_a_loop_device_is_said_of_the_models_that_had_none() {
    let both = cost_on(&["hdd-7200", "folder:hdd-7200"]);
    assert_has!(
        both,
        "before each trial through a loop device, on folder:hdd-7200 without one; medians over",
        "flush 51.0 µs 21.0 µs",
    );
    let alone = cost_on(&["folder:hdd-7200"]);
    assert_has!(
        alone,
        "before each trial without a loop device; medians over"
    );
}

#[test]
fn the_cost_of_the_servers_is_shown_and_late_replies_are_a_warning() {
    let folder = run_folder();
    let mut run = report(pair(0, Some("hdd-7200"), [110.0, 40.0], 0.96));
    // The control: a run without reports has no such section.
    assert!(!terminal_line(&run).contains(COST));
    run.folder = folder.path().to_owned();
    for (trial, late_percent) in run.trials.iter().zip([3, 4, 12, 30]) {
        write_service(folder.path(), trial, &service(late_percent));
    }
    let text = flat(&section(&run, COST));
    assert_has!(
        text,
        "hdd-7200: the replies of 2 of 4 servers were late by more than 10.0 % of the modeled \
         time, at most by 30.0 %: these rates are below those of the model",
        "measured before each trial through a loop device; medians over the images. With 1 and 4 \
         requests at once.",
        "flush 51.0 µs",
        "read of 4 KiB 30.0 µs / 70.0 µs",
        "write of 4 KiB 60.0 µs / 140 µs",
    );
    // The first screen and the head of the page warn as well.
    let late = "hdd-7200: the replies of 2 of 4 servers were late by more than 10.0 %";
    let wide = Layout {
        width: 200,
        ..Layout::default()
    };
    assert_has!(Answer::of(&run).render(wide, &[]), late);
    assert_eq!(flat(&terminal(&run, 200)).matches(late).count(), 2);
    let row = text.split_once("hdd-7200 flush").unwrap().1;
    assert!(
        row.trim_start()
            .starts_with("4,000 8.00 ms 50.0 µs 90.0 µs"),
        "{row}"
    );
    assert_has!(
        run.page(),
        COST,
        "Lateness of replies",
        "Requests without delay"
    );
    let json = run.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["storage_servers"][0]["late_images"], 2);
    assert_eq!(
        json["storage_servers"][0]["own_cost"][2]["request"],
        "flush"
    );
}
