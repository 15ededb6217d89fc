//! The page's tables as a reader uses them: with a keyboard, with a screen reader, sorted,
//! searched.

use crate::support::{browser::Browser, pages::with_failures};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trueput_report::RunReport;

/// A browser that shows the page with failures, every chart drawn.
fn shown() -> Option<Browser> {
    let mut browser = Browser::start()?;
    browser.open(&with_failures().page(), 1280, false);
    browser.evaluate("document.querySelectorAll('.columns input').forEach((one) => one.click())");
    Some(browser)
}

/// The names of the buttons that sort, and the names that several of them share.
fn sorting(browser: &mut Browser) -> (Vec<String>, Vec<String>) {
    let mut names = browser.names("button");
    names.retain(|name| name.to_lowercase().starts_with("sort"));
    let mut seen = BTreeSet::new();
    let again = names.iter().filter(|name| !seen.insert(name.as_str()));
    let again = again.cloned().collect();
    (names, again)
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_button_that_sorts_has_a_name_of_its_own() {
    let mut browser = started!(shown());
    let (names, again) = sorting(&mut browser);
    assert_eq!(again, [""; 0]);
    let buttons = browser.evaluate("document.querySelectorAll('thead button').length");
    assert_eq!(json!(names.len()), buttons, "{names:?}");
    for name in [
        "Sort 'Every trial' by per second",
        "Sort 'threen1, sync, 4 workers' by rank",
        "Sort 'threen1, async, 4 workers' by rank",
    ] {
        assert!(names.iter().any(|one| one == name), "{name}: {names:?}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn buttons_that_share_a_name_are_found() {
    let mut browser = started!(shown());
    browser.evaluate(
        "document.querySelectorAll('thead button').forEach((one) => {
           one.setAttribute('aria-label', `sort by ${one.textContent}`); })",
    );
    let (_, again) = sorting(&mut browser);
    assert!(again.iter().any(|name| name == "sort by rank"), "{again:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_heading_is_read_out_with_its_cells_by_its_title_alone() {
    let mut browser = started!(shown());
    let headings = browser.names("columnheader");
    assert!(headings.iter().any(|name| name == "per second"));
    let long: Vec<_> = headings.iter().filter(|it| it.contains("Sort")).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// The stated order of the table of every trial, the focus, and the stated order of other tables.
const ORDER: &str = "(() => {
  const all = [...document.querySelectorAll('table')];
  const table = all.find((one) => one.caption.textContent === 'Every trial');
  const told = (one) => [...one.querySelectorAll('thead th')]
    .filter((heading) => ![null, 'none'].includes(heading.ariaSort))
    .map((heading) => [heading.textContent, heading.ariaSort]);
  const levels = [...table.tBodies[0].rows].map((row) => row.cells[5].textContent);
  return { sorted: told(table), others: all.filter((one) => one !== table).flatMap(told),
    focus: document.activeElement.getAttribute('aria-label'), levels };
})()";

fn is_sorted(levels: &Value, down: bool) -> bool {
    let levels = levels.as_array().unwrap().iter();
    let mut levels: Vec<_> = levels.map(|level| level.as_str().unwrap()).collect();
    if down {
        levels.reverse();
    }
    levels.is_sorted()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_keyboard_sorts_both_ways_and_the_heading_says_which() {
    let mut browser = started!(shown());
    browser.evaluate(
        "[...document.querySelectorAll('thead button')].find((one) =>
           one.getAttribute('aria-label') === \"Sort 'Every trial' by contender\").focus()",
    );
    // From one heading to the next, as a reader without a mouse goes.
    browser.press("Tab", 9, "");
    let name = "Sort 'Every trial' by level";
    for (key, number, text, way, down) in [
        ("Enter", 13, "\r", "ascending", false),
        (" ", 32, " ", "descending", true),
        ("Enter", 13, "\r", "ascending", false),
    ] {
        browser.press(key, number, text);
        let seen = browser.evaluate(ORDER);
        assert_eq!(seen["sorted"], json!([["level", way]]), "{seen}");
        assert_eq!(seen["others"], json!([]), "another table says that too");
        assert_eq!(seen["focus"], json!(name), "the focus went elsewhere");
        assert!(is_sorted(&seen["levels"], down), "{way}: {seen}");
    }
    // By another column, the first one's heading says so no more.
    browser.press("Tab", 9, "");
    browser.press("Enter", 13, "\r");
    let seen = browser.evaluate(ORDER);
    assert_eq!(seen["sorted"], json!([["workers", "ascending"]]));
}

#[test]
#[ignore = "slow: make test runs it"]
fn times_sort_by_hours_minutes_and_seconds() {
    let mut browser = started!(shown());
    // Like the tables of 2014, with a time that has a unit.
    let sorted = browser.evaluate(
        "['1:29:25.67', '00:04.71', '2:49:11', '5 s', '19:33.07', '00:00.00', '1:08:51.55']
           .sort((one, other) => sortKey(one) - sortKey(other))",
    );
    let expected = [
        "00:00.00",
        "00:04.71",
        "5 s",
        "19:33.07",
        "1:08:51.55",
        "1:29:25.67",
        "2:49:11",
    ];
    assert_eq!(sorted, json!(expected));
    let seconds = browser.evaluate("['19:33.07', '2:49:11'].map((text) => sortKey(text) / 1e9)");
    assert_eq!(seconds, json!([1_173.07, 10_151]));
    // A time of day or a name is not a duration.
    let others = browser.evaluate("['2026-11-21T20:45:00Z', 'a:05', '12:5'].map(sortKey)");
    assert_eq!(others, json!([2_026, "a:05", 12]));
}

#[test]
#[ignore = "slow: make test runs it"]
fn tables_sort_by_what_figures_mean_and_search_by_words() {
    let mut browser = started!();
    browser.open(&with_failures().page(), 1280, false);
    let keys =
        browser.evaluate("['1.20 ms', '900 µs', '1,570', '2 GiB', '100 MiB', 'lmdb'].map(sortKey)");
    let expected = json!([1.2e6, 9e5, 1570.0, 2_147_483_648_u64, 104_857_600, "lmdb"]);
    assert_eq!(keys.to_string(), expected.to_string().replace(".0", ""));
    let sorted = browser.evaluate(
        "(() => { const tables = [...document.querySelectorAll('table')];
           const table = tables.find((one) => one.caption.textContent === 'Every trial');
           const headings = [...table.querySelectorAll('thead th')];
           const heading = headings.find((one) => one.textContent === 'per second');
           heading.querySelector('button').click(); heading.querySelector('button').click();
           const field = table.closest('.table').querySelector('input');
           field.value = 'redb ASYNC'; field.dispatchEvent(new Event('input'));
           return { sort: heading.ariaSort, first: table.tBodies[0].rows[0].cells[4].textContent,
             left: [...table.tBodies[0].rows].filter((row) => !row.hidden).length }; })()",
    );
    assert_eq!(
        sorted,
        json!({"sort": "descending", "first": "fjall", "left": 3})
    );
}
