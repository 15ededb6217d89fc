//! Pictures of the page of a run, at two widths: the ones in the repository's documents are made
//! here.
//!
//! With the environment's `TRUEPUT_PICTURES_OF=RUN` they are of that run, and go to `docs/images`
//! (`scripts/page-pictures RUN`); without, of a run made up here, and they are only looked at.

use crate::support::{browser::Browser, everything, report};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_report::RunReport;

/// Names the run folder to take pictures of.
const RUN: &str = "TRUEPUT_PICTURES_OF";

/// The top of the page, as much as a reader scrolls through first, by width in pixels.
const TOPS: [(u32, u32); 2] = [(1280, 2000), (360, 1800)];

/// The most of a ranking's section that a picture shows, pixels.
const SECTION_HEIGHT: f64 = 3600.0;

/// The position of the section with the most charts; null if none has one.
const CHARTS: &str = "(() => {
  const charts = (section) => section.querySelectorAll('figure svg').length;
  const all = [...document.querySelectorAll('main > section')].filter(charts);
  if (!all.length) return null;
  const most = all.reduce((one, other) => (charts(other) > charts(one) ? other : one));
  const {top, height} = most.getBoundingClientRect();
  return {y: top + scrollY, height};
})()";

/// A picture, and whether it has as many pixels as asked for.
fn picture(browser: &mut Browser, y: f64, width: u32, height: u32) -> Vec<u8> {
    let clip = json!({"x": 0, "y": y, "width": width, "height": height, "scale": 1});
    let png = BASE64_STANDARD
        .decode(browser.picture(&clip).as_str().unwrap())
        .unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    // The header of a PNG: its width and height are the bytes 16 to 23.
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (width, height));
    png
}

/// The run for the pictures, and their folder.
fn subject(folder: &Path) -> (Run, PathBuf) {
    match std::env::var_os(RUN) {
        Some(run) => {
            let run = Path::new(&run);
            let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
            std::fs::create_dir_all(&images).unwrap();
            (Run::load(run).unwrap(), images)
        }
        None => (report(everything()), folder.to_owned()),
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_page_is_pictured_at_two_widths_with_its_summary_and_its_charts() {
    let mut browser = started!();
    let folder = tempfile::tempdir().unwrap();
    let (report, images) = subject(folder.path());
    let page = report.page();
    for (width, height) in TOPS {
        browser.open(&page, width, false);
        let top = picture(&mut browser, 0.0, width, height);
        let place = browser.evaluate(CHARTS);
        let number = |key: &str| place.get(key).and_then(Value::as_f64).unwrap();
        let most = number("height").min(SECTION_HEIGHT) as u32;
        let charts = picture(&mut browser, number("y"), width, most);
        assert!(most > 400 && charts != top, "{place}");
        for (name, png) in [("", top), ("-charts", charts)] {
            let file = images.join(format!("report-{width}{name}.png"));
            std::fs::write(&file, png).unwrap();
        }
    }
    assert_eq!(browser.complaints, [""; 0]);
}
