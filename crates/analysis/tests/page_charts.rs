//! The page's charts as a reader sees them: who is who, what lies where, what a picture of one says.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "support/browser.rs"]
mod browser;
#[path = "support/pages.rs"]
mod pages;
mod support;

use browser::Browser;
use pages::{with_failures, written};
use serde_json::json;
use support::{report, spec, valid};
use trueput_analysis::{Report, units};
use trueput_record::Durability;

fn shown(report: &Report, width: u32, folder: &tempfile::TempDir) -> Option<Browser> {
    let mut browser = Browser::start()?;
    browser.open(&written(report, folder, "page.html"), width, false);
    Some(browser)
}

/// Every chart exported, put where it can be measured: texts that stand out of their picture, and
/// charts whose whole name is not what their picture says first.
const EXPORTED: &str = "(() => {
  const faults = [];
  document.querySelectorAll('.chart').forEach((figure) => {
    const chart = chartOf(figure);
    const text = standalone(figure.querySelector('.drawing svg'), chart.name, chart.note);
    const place = document.body.appendChild(document.createElement('div'));
    place.innerHTML = text;
    const svg = place.firstChild;
    const frame = svg.getBoundingClientRect();
    const own = [...svg.children].filter((one) => one.tagName === 'text');
    const said = own.map((one) => one.textContent).join(' ');
    if (said !== `${chart.name} ${chart.note}`) faults.push(`${chart.name} says: ${said}`);
    for (const one of svg.querySelectorAll('text')) {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      const inside = left >= frame.left && right <= frame.right
        && top >= frame.top && bottom <= frame.bottom;
      if (!inside) faults.push(`cut: ${one.textContent}`);
    }
    place.remove();
  });
  return faults;
})()";

#[test]
fn a_picture_of_a_chart_says_all_of_its_name_and_cuts_nothing_off() {
    let folder = tempfile::tempdir().unwrap();
    for width in [1280, 360] {
        let Some(mut browser) = shown(&with_failures(), width, &folder) else {
            return;
        };
        assert_eq!(browser.evaluate(EXPORTED), json!([]), "at {width}");
        // The control: titles whose middles stand where they should begin, as a chart's root has it.
        browser.evaluate(
            "const original = standalone; globalThis.standalone = (...parts) =>
               original(...parts).replaceAll('text-anchor=\"start\"', 'text-anchor=\"middle\"')",
        );
        let cut = browser.evaluate(EXPORTED);
        let cut: Vec<_> = cut.as_array().unwrap().iter().collect();
        let titles = cut
            .iter()
            .filter(|one| one.as_str().unwrap().contains("threen1"));
        assert!(titles.count() > 4, "{cut:?}");
    }
}

#[test]
fn figures_in_charts_are_written_as_those_in_tables() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = shown(&with_failures(), 1280, &folder) else {
        return;
    };
    // Between two neighbours, close to them, at powers of ten, and where a unit ends.
    let figures = [
        0.0,
        0.0123,
        0.125,
        1.0,
        1.125,
        1.225,
        1.235,
        2.5,
        9.995,
        12.25,
        12.35,
        99.95,
        99.96,
        100.5,
        101.5,
        999.5,
        1_023.4,
        1_023.49,
        1_225.0,
        216_927.495_1,
        216_927.5,
        216_928.5,
        999_499.9,
        999_500.0,
        12_845_056.0,
        1_234_999_600.0,
        1e12,
    ];
    for figure in figures {
        let expected = [
            units::number(figure),
            units::seconds(figure),
            units::nanoseconds(figure),
            units::bytes(figure.round()),
        ];
        let written = format!(
            "((figure, bytes) => [WRITE.number(figure), WRITE.seconds(figure), \
             WRITE.nanoseconds(figure), WRITE.bytes(bytes)])({figure:?}, {:?})",
            figure.round()
        );
        assert_eq!(browser.evaluate(&written), json!(expected), "{figure}");
    }
}

#[test]
fn a_rate_keeps_the_digits_that_its_rounding_hangs_on() {
    let per_s = 216_927.495_1;
    let report = report(vec![valid(spec(0, "lmdb", Durability::Sync, 1), per_s)]);
    let page = report.page();
    let bars = &pages::charts(&page)[0];
    let drawn = bars["groups"][0]["rows"][0][0].as_f64().unwrap();
    assert_eq!(units::number(drawn), "216,927");
    assert!(page.contains(">216,927</td>"));
}
