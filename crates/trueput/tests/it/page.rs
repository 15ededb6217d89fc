//! The report's page at the command line.

use crate::support::{ALL_WELL, Bench, assert_contains, copies::two, stdout};
use std::path::PathBuf;

const RUN: &str = "run threen1 --engine lmdb --durability process --set finish=1000 \
                   --knob lmdb.map_size=256MiB,512MiB --workers 1,2 --name=paged";

/// A bench with a run, and the run's path.
fn with_a_run() -> (Bench, PathBuf) {
    let bench = Bench::new();
    bench.run_once(RUN);
    let folder = bench.run_folder().path().to_owned();
    (bench, folder)
}

#[test]
fn a_run_ends_with_its_page_in_its_folder() {
    let bench = Bench::new();
    let said = stdout(&bench.run_expecting(ALL_WELL, RUN));
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("page: results/"), "{last}");
    let page = last.trim_start_matches("page: ");
    assert!(page.ends_with("-paged/report.html"), "{page}");
    let page = std::fs::read_to_string(bench.path().join(page)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<title>trueput: paged</title>"));
}

/// The lines of an answer, none wider and no more than there is room for. A command or a path has a
/// line of its own and is not broken, so that it can be copied.
fn screen(text: &str, width: usize) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() <= 40, "{text}");
    let is_whole = |line: &str| line.starts_with("  trueput ") || line.starts_with("  /");
    let fits = |line: &&str| line.chars().count() <= width || is_whole(line);
    assert!(lines.iter().all(fits), "{text}");
    lines
}

#[test]
fn a_run_and_its_report_end_with_an_answer_that_fits_one_screen() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.5);
    let whole = bench.stdout_of(&["report", &a]);
    let lines = screen(&whole, 80);
    let level = "process: commits survive kills";
    assert!(lines[3].starts_with(level), "{whole}");
    assert!(lines[5].starts_with("1  lmdb"), "{whole}");
    let folder = format!("run folder: {a}");
    assert_contains(&whole, &["lmdb leads: sqlite reaches", &folder]);
    screen(&bench.stdout_of(&["report", &a, "--width", "40"]), 40);
    let full = bench.stdout_of(&["report", &a, "--full"]);
    let fits = |text: &str, width| text.lines().all(|line| line.chars().count() <= width);
    assert!(!fits(&full, 100) && full.lines().count() > 40, "{full}");
    assert_contains(&full, &["peak PSS"]);
    let narrow = bench.stdout_of(&["report", &a, "--full", "--width", "72"]);
    assert!(fits(&narrow, 72), "{narrow}");
    let both = bench.stdout_of(&["report", &a, &b]);
    assert_eq!(screen(&both, 80)[0], "2 runs side by side");
    assert_contains(&both, &["50.0 %"]);
    let reason = bench.refusal_of(&["report", &a, "--width", "39"]);
    assert_contains(&reason, &["39", "40"]);
    // A debug build's trials are never ranked; that it says so fits a screen, too.
    screen(&bench.stdout_of(RUN), 80);
    let table = bench.stdout_of(&["compare", &a, &b]);
    assert!(fits(&table, 100), "{table}");
}

#[test]
fn the_cost_of_a_knob_is_recorded_where_trials_differ_by_it() {
    let (_bench, folder) = with_a_run();
    let (_, manifest) = trueput_record::RunFolder::open(&folder).unwrap();
    // Only this one of lmdb's knobs differs.
    let known: Vec<_> = manifest.costs.keys().collect();
    assert_eq!(known, ["lmdb.map_size"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_page_goes_to_the_given_path_and_says_where_that_is() {
    let (bench, folder) = with_a_run();
    let report = format!("report {} --html", folder.display());
    let output = bench.run_expecting(0, &format!("{report} mine.html"));
    assert_eq!(output.stdout, b"page: mine.html\n");
    assert!(bench.path().join("mine.html").exists());
    std::fs::remove_file(folder.join("report.html")).unwrap();
    bench.run_expecting(0, &report);
    assert!(folder.join("report.html").exists());
}

#[test]
fn a_page_that_cannot_be_written_is_refused_in_one_line() {
    let (bench, folder) = with_a_run();
    let line = format!("report {} --html no/such/page.html", folder.display());
    let said = bench.refusal_of(&line);
    assert_contains(&said, &["cannot write no/such/page.html"]);
}

#[test]
fn runs_and_bundles_share_a_page_at_the_given_path() {
    let (bench, folder) = with_a_run();
    let run = folder.to_str().unwrap();
    bench.run(&["bundle", run, "--output", "b.tar.gz"]);
    let report = ["report", run, "b.tar.gz", "--html", "both.html"];
    let output = bench.run_expecting(0, &report);
    assert_eq!(output.stdout, b"page: both.html\n");
    let page = std::fs::read_to_string(bench.path().join("both.html")).unwrap();
    let title = "<title>trueput: 2 runs side by side</title>";
    assert_contains(&page, &[title, "Run 2 (", "b.tar.gz --html page.html"]);
    let said = bench.refusal_of(&["report", run, "b.tar.gz", "--html"]);
    assert_contains(&said, &["several runs have no common folder"]);
}

#[test]
fn a_run_after_html_is_not_overwritten_by_a_page() {
    let (bench, folder) = with_a_run();
    let run = folder.to_str().unwrap();
    bench.run(&["bundle", run, "--output", "b.tar.gz"]);
    let bundle = bench.path().join("b.tar.gz");
    let before = std::fs::read(&bundle).unwrap();
    let said = bench.refusal_of(&["report", "--html", "b.tar.gz", run]);
    assert_contains(&said, &["b.tar.gz is an existing file that is not a page"]);
    assert_eq!(std::fs::read(&bundle).unwrap(), before);
    let said = bench.refusal_of(&["report", "--html", run, "b.tar.gz"]);
    assert_contains(&said, &["is a folder; name the runs first"]);
    // A page that is there is written again.
    for _ in 0..2 {
        bench.run_expecting(0, &["report", run, "--html", "mine.html"]);
    }
}
