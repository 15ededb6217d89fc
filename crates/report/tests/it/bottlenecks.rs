//! The bottlenecks that a report shows, and those that only its JSON has.

use crate::support::{flat, report, spec, terminal, valid};
use trueput_findings::Run;
use trueput_record::measurement::{TimelineSecond, WorkerReport};
use trueput_record::{Durability, Outcome, TrialRecord, Value};
use trueput_report::{Format, RunReport, Style};

/// A trial of which the processors held the seconds that are so marked, and a lock the others.
fn held(by_processors: &[bool]) -> Run {
    report(vec![trial(0, "lmdb", 1, by_processors)])
}

fn trial(cell: u32, engine: &str, repeat: u32, by_processors: &[bool]) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Sync, repeat), 2_000.0);
    let measurement = trial.measurement.as_mut().unwrap();
    let second = |(at, busy): (u32, &bool)| TimelineSecond {
        at_s: f64::from(at),
        counts: vec![10_000, 10_000],
        user_cpu_s: if *busy { 1.9 } else { 0.2 },
        voluntary_context_switches: 8_000,
        io_wait_share: Some(0.01),
        ..TimelineSecond::default()
    };
    measurement.timeline = (1..).zip(by_processors).map(second).collect();
    let worker = |index| WorkerReport {
        index,
        ..WorkerReport::default()
    };
    measurement.workers = (0..4).map(worker).collect();
    trial
}

/// The point of the list, on one line.
fn told(report: &Run) -> String {
    let text = terminal(report, 100);
    let start = text.find("- lmdb, sync, 4 workers, r1").unwrap();
    flat(text[start..].split("\n\n").next().unwrap())
}

#[test]
fn of_a_trial_that_alternates_two_stretches_are_told_and_json_has_all() {
    let alternating = held(&[true, false].repeat(10));
    let said = told(&alternating);
    assert_has!(said, "(50.0 % of the time)");
    assert_has!(said, "0 to 1 s: CPU in the engine (worker CPU 95 %");
    assert_has!(
        said,
        "1 to 2 s: lock contention between workers (worker CPU 10 %"
    );
    assert_has!(said, "; and 18 shorter intervals");
    assert_eq!(said.matches(" s: ").count(), 2, "{said}");
    let json = alternating.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["bottlenecks"][0]["intervals"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
}

#[test]
fn the_longest_stretches_are_told_in_the_order_in_which_they_were() {
    let short = [true, false, true];
    let long = [[false; 4].as_slice(), &[true; 6]].concat();
    let said = told(&held(&[&short[..], &long].concat()));
    let (lock, processors) = (said.find("3 to 7 s: lock"), said.find("7 to 13 s: CPU"));
    assert!(lock.is_some() && lock < processors, "{said}");
    assert_has!(said, "; and 3 shorter intervals");
    let steady = told(&held(&[true; 6]));
    assert!(!steady.contains("shorter interval"), "{steady}");
}

#[test]
fn an_interrupted_trial_has_neither_a_bottleneck_nor_limits() {
    let mut report = held(&[true; 6]);
    assert!(terminal(&report, 100).contains("CPU in the engine"));
    report.trials[0].outcome = Outcome::Interrupted;
    let text = terminal(&report, 100);
    assert!(!text.contains("CPU in the engine"), "{text}");
}

#[test]
fn a_contender_has_the_name_of_its_ranking_in_every_section() {
    let with_map_size = |cell, level, map_size| {
        let mut trial = held(&[true; 6]).trials.remove(0);
        trial.spec = spec(cell, "lmdb", level, 1);
        let value = Value::Integer(map_size);
        trial.spec.knobs.insert("map_size".to_owned(), value);
        trial
    };
    let trials = vec![
        with_map_size(0, Durability::Sync, 1),
        with_map_size(1, Durability::Sync, 2),
        with_map_size(2, Durability::Async, 1),
    ];
    let text = terminal(&report(trials), 200);
    // Two at sync are distinguished by their knob; the only one at async needs none.
    assert_has!(text, "1  lmdb (map_size=");
    assert_has!(text, "settings: lmdb: version");
    assert_has!(text, "- lmdb (map_size=2), sync, 4 workers, r1");
    assert_has!(text, "- lmdb, async, 4 workers, r1");
    assert!(!text.contains("lmdb (map_size=1), async"), "{text}");
}

#[test]
fn counts_are_whole_numbers() {
    let report = held(&[true; 6]);
    let markdown = report.render(Format::Markdown, Style::default());
    let counts = "switches 4,321, conflicts 12, of which deadlocks 4";
    assert!(markdown.contains(counts), "{markdown}");
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

/// The rows of the chart of shares: the name, the figure, and for each bar its start, its width and
/// its label.
fn shares(page: &str) -> Vec<(&str, &str, Vec<[&str; 3]>)> {
    let figure = between(page, "<figure class=\"chart Shares\"", "</figure>");
    let rows = figure.split("<svg class=\"row\"").skip(1);
    rows.map(|text| {
        let text = text.split("<svg class=\"axis\"").next().unwrap();
        let bars = text.split("<rect ").skip(1);
        let bar = |bar| {
            [("x=\"", "\""), ("width=\"", "\""), ("<title>", "</title>")]
                .map(|(before, after)| between(bar, before, after))
        };
        let told = between(text, "class=\"value wide\">", "</text>");
        (
            between(text, "<title>", "</title>"),
            told,
            bars.map(bar).collect(),
        )
    })
    .collect()
}

#[test]
fn a_bar_for_each_cell_is_divided_by_the_shares_of_its_bottlenecks() {
    let mixed = [true, true, true, false, true, true, true, false];
    let page = report(vec![
        trial(0, "lmdb", 1, &mixed),
        trial(1, "redb", 1, &[false; 8]),
        // A cell is represented by its first repeat.
        trial(0, "lmdb", 2, &[false; 8]),
    ])
    .page();
    let (cpu, lock) = ("CPU in the engine", "lock contention between workers");
    let (most, least, whole) = (
        format!("{cpu}: 75.0 %"),
        format!("{lock}: 25.0 %"),
        format!("{lock}: 100 %"),
    );
    assert_eq!(
        shares(&page),
        [
            (
                "lmdb, sync, 4 workers, r1",
                "CPU in the engine 75.0 %",
                vec![["0%", "75%", &most], ["75%", "25%", &least]]
            ),
            (
                "redb, sync, 4 workers, r1",
                "lock contention between workers 100 %",
                vec![["0%", "100%", &whole]]
            ),
        ]
    );
    // Each bottleneck has one color, and the legend says which.
    let figure = between(&page, "<figure class=\"chart Shares\"", "</figure>");
    let color = |bottleneck: &str| {
        let bar = figure
            .split("<rect ")
            .find(|bar| bar.contains(bottleneck))
            .unwrap();
        between(bar, "fill=\"", "\"").to_owned()
    };
    let legend = between(figure, "<ul class=\"legend", "</ul>");
    for bottleneck in [cpu, lock] {
        let entry = legend
            .split("<li")
            .find(|entry| entry.contains(bottleneck))
            .unwrap();
        assert!(entry.contains(&color(bottleneck)), "{bottleneck}: {legend}");
    }
    assert_ne!(color(cpu), color(lock));
}

#[test]
fn the_page_folds_the_evidence_of_bottlenecks_and_the_text_above_the_bars_needs_none() {
    let page = held(&[true; 8]).page();
    let (_, section) = page.split_once(">Bottleneck of each trial</h2>").unwrap();
    let section = section.split_once("</section>").unwrap().0;
    let (seen, folded) = section
        .split_once("<details class=\"notes\"><summary>Evidence")
        .unwrap();
    assert!(
        seen.contains("docs/METHOD.md") && !seen.to_lowercase().contains("evidence"),
        "{seen}"
    );
    assert!(
        !seen.contains("worker CPU") && folded.contains("(worker CPU 95 %"),
        "{folded}"
    );
}
