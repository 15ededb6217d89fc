//! A page of 500 trials is complete when it is loaded; measures the time until all is shown: `cargo
//! test -p trueput-report --test it page_whole -- --nocapture` prints it.

use crate::support::{browser::Browser, pages::hundreds};
use serde_json::{Value, json};
use trueput_report::RunReport;

/// Looks at the page when it is loaded, and when everything is unfolded, as for printing. Times are
/// the page's own, milliseconds since its navigation began.
const WATCH: &str = "addEventListener('load', () => {
  const frames = () => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  });
  const drawn = () => [...document.querySelectorAll('.drawing')]
    .filter((place) => place.querySelector('svg *')).length;
  window.watched = (async () => {
    await frames();
    const seen = { open_ms: performance.now() };
    dispatchEvent(new Event('beforeprint'));
    await frames();
    Object.assign(seen, { all: drawn(), all_ms: performance.now() });
    return seen;
  })();
});";

/// The page's contents: trials, commands, charts, and the expected number of charts.
const HELD: &str = "(() => {
  const named = (name) => [...document.querySelectorAll('table')]
    .find((table) => table.caption.textContent.startsWith(name));
  const first = (name) => [...named(name).tBodies[0].rows].map((row) => row.cells[0].textContent);
  return { trials: new Set(first('Every trial')).size, rows: first('Every trial').length,
    commands: first('Run it again').length, charts: CHARTS.length,
    figures: document.querySelectorAll('figure.chart').length };
})()";

/// The page's times and counts, and what it lacks.
fn watched(browser: &mut Browser, page: &str) -> (Value, Vec<String>) {
    browser.complaints.clear();
    browser.load(page, 1280, false);
    let seen = browser.evaluate("window.watched");
    let held = browser.evaluate(HELD);
    let mut lacks = browser.complaints.clone();
    let mut asked = |name: &str, found: &Value, expected: &Value| {
        if found != expected {
            lacks.push(format!("{name}: {found}, not {expected}"));
        }
    };
    asked("rows of trials", &held["rows"], &json!(500));
    asked("different trials", &held["trials"], &json!(500));
    asked("commands", &held["commands"], &json!(100));
    asked("places for charts", &held["figures"], &held["charts"]);
    asked("charts drawn", &seen["all"], &held["charts"]);
    (seen, lacks)
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_page_of_500_trials_is_whole_and_says_how_long_it_took() {
    let mut browser = started!();
    let page = hundreds().page();
    browser.run_first(WATCH);
    let (seen, lacks) = watched(&mut browser, &page);
    assert_eq!(lacks, [""; 0]);
    let seconds = |name: &str| seen[name].as_f64().unwrap() / 1_000.0;
    println!(
        "500 trials, {} bytes: open after {:.2} s, all {} charts unfolded after {:.2} s",
        page.len(),
        seconds("open_ms"),
        seen["all"],
        seconds("all_ms"),
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_page_that_lacks_a_trial_or_a_chart_is_found_out() {
    let mut browser = started!();
    browser.run_first(WATCH);
    let page = hundreds().page();
    // The trial's row; its cell's command, further down, begins with the same words.
    let row = page.find("0003-rocksdb-sync-w1-r2</th>").unwrap();
    let begin = page[..row].rfind("<tr>").unwrap();
    let end = begin + page[begin..].find("</tr>").unwrap() + "</tr>".len();
    let fewer = format!("{}{}", &page[..begin], &page[end..]);
    let (_, lacks) = watched(&mut browser, &fewer);
    assert_eq!(
        lacks,
        [
            "rows of trials: 499, not 500",
            "different trials: 499, not 500"
        ]
    );
    let empty = "<div class=\"drawing\"></div><div";
    let broken = page.replacen("<div class=\"drawing\"", empty, 1);
    let (_, lacks) = watched(&mut browser, &broken);
    assert!(lacks.join("; ").contains("charts drawn"), "{lacks:?}");
}
