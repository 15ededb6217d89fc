//! The page of several runs: runs and hosts are distinguished, and no ranking mixes them.

use crate::support::{
    looks::{LOOK, complaints_about},
    pages::{charts, sampled, with_failures},
    report, spec, valid,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use trueput_findings::Run;
use trueput_record::{Durability, Value as Setting};
use trueput_report::{Format, RunReport, Style, merge};

/// A run of that name on that host: two engines, three repeats each.
fn run(folder: &str, host: &str, engines: [&str; 2], per_s: f64) -> Run {
    let cells = (0..).zip(engines);
    let trials = cells.flat_map(|(cell, engine)| {
        let rate = per_s * f64::from(1 + cell);
        let repeats = (1..=3).zip([0.99, 1.0, 1.01]);
        repeats.map(move |(repeat, part)| {
            let spec = spec(cell, engine, Durability::Sync, repeat);
            sampled(valid(spec, rate * part), 8)
        })
    });
    let mut report = report(trials.collect());
    report.folder = PathBuf::from(folder);
    report.shown_as = PathBuf::from(folder);
    report.manifest.host.host_name = host.to_owned();
    report
}

fn two_hosts() -> [Run; 2] {
    [
        run("results/slow", "slow-host", ["lmdb", "redb"], 1_000.0),
        run("fast.tar.gz", "fast-host", ["lmdb", "fjall"], 9_000.0),
    ]
}

/// The parts of a page, by their headings.
fn sections(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("<section ").skip(1);
    let told = parts.map(|part| {
        let (part, _) = part.split_once("</section>").unwrap();
        let (_, heading) = part.split_once("<h2").unwrap();
        let (_, heading) = heading.split_once('>').unwrap();
        heading.split_once("</h2>").unwrap()
    });
    told.collect()
}

/// The text of the section with that heading.
#[track_caller]
fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let all = sections(page);
    let found = all.iter().find(|(heading, _)| *heading == title);
    let titles: Vec<_> = all.iter().map(|(heading, _)| *heading).collect();
    found
        .unwrap_or_else(|| panic!("no '{title}': {titles:?}"))
        .1
}

#[test]
fn each_run_stands_by_itself_under_its_number_and_host() {
    let page = merge::page(&two_hosts());
    assert!(page.contains("<title>trueput: 2 runs side by side</title>"));
    for title in [
        "Run 1 (slow-host): In short",
        "Run 1 (slow-host): threen1, sync, 4 workers",
        "Run 1 (slow-host): The machine",
        "Run 2 (fast-host): threen1, sync, 4 workers",
        "Run 2 (fast-host): Run it again",
    ] {
        section(&page, title);
    }
    let beside = section(&page, "Side by side");
    assert_has!(
        beside,
        "run 1: results/slow: first-look on slow-host",
        "run 2: fast.tar.gz: first-look on fast-host",
        "<td class=\"text\">2 (fast-host)</td>",
        "trueput report results/slow fast.tar.gz --html page.html"
    );
}

#[test]
fn every_trial_tells_its_run_and_its_host() {
    let page = merge::page(&two_hosts());
    for (number, host, other) in [(1, "slow-host", "fast-host"), (2, "fast-host", "slow-host")] {
        let trials = section(&page, &format!("Run {number} ({host}): Every trial"));
        let run = format!(
            "<td class=\"figure narrow\">{number}</td><td class=\"text narrow\">{host}</td>"
        );
        assert_eq!(trials.matches(&run).count(), 6, "{trials}");
        assert!(!trials.contains(other));
    }
    // The page of one run has no use for it.
    let [alone, _] = two_hosts();
    let alone = alone.page();
    assert!(!section(&alone, "Every trial").contains(">host</th>"));
}

#[test]
fn no_ranking_and_no_chart_is_made_of_two_hosts() {
    let page = merge::page(&two_hosts());
    // redb is on one host and fjall on the other.
    let charts = charts(&page);
    assert_eq!(
        charts
            .iter()
            .filter(|chart| chart["kind"] == "bars")
            .count(),
        2
    );
    let names = |chart: &Value| chart["groups"].to_string() + &chart["says"].to_string();
    for chart in &charts {
        let names = names(chart);
        assert!(
            !(names.contains("redb") && names.contains("fjall")),
            "{names}"
        );
    }
    let of_both: Vec<_> = sections(&page)
        .into_iter()
        .filter(|(_, text)| text.contains("redb") && text.contains("fjall"))
        .map(|(title, _)| title)
        .collect();
    assert_eq!(of_both, ["Side by side"]);
    // On the first host redb is the fastest, although everything on the other host is faster.
    let short = section(&page, "Run 1 (slow-host): In short");
    assert_has!(
        short,
        "<strong>redb</strong> <small>2,000 updates/s</small>"
    );
}

#[test]
fn it_says_what_the_terminal_says_of_the_same_runs() {
    let runs = two_hosts();
    let page = merge::page(&runs);
    let markdown = merge::render(&runs, Format::Markdown, Style::default());
    let tables = markdown.lines().filter(|line| line.starts_with("| "));
    let cells = tables.flat_map(|line| line.split('|').map(str::trim));
    let escaped = |cell: &str| cell.replace('\\', "").replace('&', "&amp;");
    let mut seen = 0;
    for cell in cells.filter(|cell| !cell.is_empty() && !cell.contains("--")) {
        assert!(page.contains(&escaped(cell)), "{cell}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

/// A run of GT.M on three file systems, compared with the times of 2010.
fn beside_2010(host: &str) -> Run {
    let times = [("ext2", 2.0), ("ext4:size=1GiB", 3.0), ("tmpfs", 1.0)];
    let trials = (0..).zip(times).map(|(cell, (file_system, elapsed_s))| {
        let mut spec = spec(cell, "gtm", Durability::Buffered, 1);
        spec.conditions.file_system = Some(file_system.parse().unwrap());
        let finish = Setting::Integer(1_000_000);
        spec.settings.insert("finish".to_owned(), finish);
        let mut trial = valid(spec, 1_000.0 / elapsed_s);
        trial.measurement.as_mut().unwrap().elapsed_s = elapsed_s;
        trial
    });
    let mut report = report(trials.collect());
    report.manifest.host.host_name = host.to_owned();
    report
}

#[test]
fn published_tables_stand_beside_the_run_that_matches_them() {
    let [slow, _] = two_hosts();
    let page = merge::page(&[slow, beside_2010("third")]);
    let told = |number: &str| {
        let own = sections(&page).into_iter();
        let own = own.filter(|(title, _)| title.starts_with(&format!("Run {number} ")));
        own.filter(|(title, _)| title.contains("Compared with"))
            .count()
    };
    assert_eq!((told("1"), told("2")), (0, 1), "{:?}", sections(&page));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_browser_draws_runs_of_several_hosts_without_a_complaint() {
    let mut browser = started!();
    let [slow, fast] = two_hosts();
    let mut same = with_failures();
    same.manifest.host.host_name = "slow-host".to_owned();
    for trial in &mut same.trials {
        if let Some(engine) = &mut trial.engine {
            engine.version = format!("3.54.1 2026-10-16 14:45:20 {}", "0a1b2c3d".repeat(8));
        }
    }
    let page = merge::page(&[slow, fast, same, with_failures()]);
    for (width, dark) in [(1280, false), (360, true)] {
        browser.open(&page, width, dark);
        let seen = browser.evaluate(LOOK);
        assert!(seen["drawings"].as_u64() > Some(0), "{seen}");
        assert_eq!(complaints_about(&seen), [""; 0], "at {width}");
        let sideways = "[...document.querySelectorAll('.table .scroll')]
            .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)";
        assert_eq!(browser.evaluate(sideways), json!([]), "at {width}");
    }
    assert_eq!(browser.complaints, [""; 0]);
}
