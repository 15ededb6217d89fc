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
