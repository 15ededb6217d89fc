//! The report's page at the command line.

use crate::support::{ALL_WELL, Bench, copies::two, stdout};

const RUN: [&str; 13] = [
    "run",
    "threen1",
    "--engine",
    "lmdb",
    "--durability",
    "process",
    "--set",
    "finish=1000",
    "--knob",
    "lmdb.map_size=256MiB,512MiB",
    "--workers",
    "1,2",
    "--name=paged",
];

#[test]
fn a_run_ends_with_its_page_in_its_folder() {
    let bench = Bench::new();
    let output = bench.run(&RUN);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let last = said.lines().last().unwrap();
    let page = last
        .strip_prefix("page: ")
        .unwrap_or_else(|| panic!("{last}"));
    assert!(
        page.starts_with("results/") && page.ends_with("-paged/report.html"),
        "{page}"
    );
    let page = std::fs::read_to_string(bench.path().join(page)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<title>trueput: paged</title>"));
}

/// The lines of an answer, none wider and no more than there is room for.
fn screen(text: &str, width: usize) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() <= 40, "{text}");
    let fits = |line: &&str| line.chars().count() <= width;
    assert!(lines.iter().all(fits), "{text}");
    lines
}

#[test]
fn a_run_and_its_report_end_with_an_answer_that_fits_one_screen() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.5);
    let whole = stdout(&bench.run(&["report", &a]));
    let lines = screen(&whole, 80);
    assert!(
        lines[3].starts_with("process: commits survive kills"),
        "{whole}"
    );
    assert!(lines[5].starts_with("1  lmdb"), "{whole}");
    assert!(whole.contains("lmdb leads: sqlite reaches"), "{whole}");
    assert!(whole.contains(&format!("run folder: {a}")), "{whole}");
    screen(&stdout(&bench.run(&["report", &a, "--width", "40"])), 40);
    let full = stdout(&bench.run(&["report", &a, "--full"]));
    assert!(
        full.lines().any(|line| line.chars().count() > 100),
        "{full}"
    );
    assert!(
        full.contains("peak PSS") && full.lines().count() > 40,
        "{full}"
    );
    let narrow = stdout(&bench.run(&["report", &a, "--full", "--width", "72"]));
    let widest = narrow.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(72), "{narrow}");
    let both = stdout(&bench.run(&["report", &a, &b]));
    let lines = screen(&both, 80);
    assert!(
        lines[0] == "2 runs side by side" && both.contains("50.0 %"),
        "{both}"
    );
    let why = refusal(&bench.run(&["report", &a, "--width", "39"]));
    assert!(why.contains("39") && why.contains("40"), "{why}");
    // A debug build's trials are never ranked; that it says so fits a screen, too.
    let output = bench.run(&RUN);
    screen(&stdout(&output), 80);
    let table = stdout(&bench.run(&["compare", &a, &b]));
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

#[test]
fn the_cost_of_a_knob_is_recorded_where_trials_differ_by_it() {
    let bench = Bench::new();
    bench.run(&RUN);
    let (_, manifest) = trueput_record::RunFolder::open(bench.run_folder().path()).unwrap();
    let known: Vec<_> = manifest.costs.keys().collect();
    assert_eq!(
        known,
        ["lmdb.map_size"],
        "of all of lmdb's knobs, only this one differs"
    );
}

#[test]
fn a_page_goes_where_it_is_told_and_says_where_that_is() {
    let bench = Bench::new();
    bench.run(&RUN);
    let folder = bench.run_folder().path().to_owned();
    let run = folder.to_str().unwrap();
    let output = bench.run(&["report", run, "--html", "mine.html"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, b"page: mine.html\n");
    assert!(bench.path().join("mine.html").exists());
    std::fs::remove_file(folder.join("report.html")).unwrap();
    let output = bench.run(&["report", run, "--html"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(folder.join("report.html").exists());
}

#[test]
fn a_page_that_cannot_be_written_is_refused_in_one_line() {
    let bench = Bench::new();
    bench.run(&RUN);
    let folder = bench.run_folder().path().to_owned();
    let output = bench.run(&[
        "report",
        folder.to_str().unwrap(),
        "--html",
        "no/such/page.html",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot write no/such/page.html"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// What the program refused to do, in its one line.
fn refusal(output: &std::process::Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn runs_and_bundles_share_a_page_where_it_is_told_to_be() {
    let bench = Bench::new();
    bench.run(&RUN);
    let folder = bench.run_folder().path().to_owned();
    let run = folder.to_str().unwrap();
    bench.run(&["bundle", run, "--output", "b.tar.gz"]);
    let output = bench.run(&["report", run, "b.tar.gz", "--html", "both.html"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, b"page: both.html\n");
    let page = std::fs::read_to_string(bench.path().join("both.html")).unwrap();
    assert!(page.contains("<title>trueput: 2 runs side by side</title>"));
    assert!(page.contains("Run 2 (") && page.contains("b.tar.gz --html page.html"));
    let said = refusal(&bench.run(&["report", run, "b.tar.gz", "--html"]));
    assert!(
        said.contains("several runs have no common folder"),
        "{said}"
    );
}

#[test]
fn a_run_after_html_is_not_overwritten_by_a_page() {
    let bench = Bench::new();
    bench.run(&RUN);
    let folder = bench.run_folder().path().to_owned();
    let run = folder.to_str().unwrap();
    bench.run(&["bundle", run, "--output", "b.tar.gz"]);
    let bundle = std::fs::read(bench.path().join("b.tar.gz")).unwrap();
    let said = refusal(&bench.run(&["report", "--html", "b.tar.gz", run]));
    assert!(
        said.contains("b.tar.gz is an existing file that is not a page"),
        "{said}"
    );
    assert_eq!(
        std::fs::read(bench.path().join("b.tar.gz")).unwrap(),
        bundle
    );
    let said = refusal(&bench.run(&["report", "--html", run, "b.tar.gz"]));
    assert!(said.contains("is a folder; name the runs first"), "{said}");
    // A page that is there is written again.
    for _ in 0..2 {
        let output = bench.run(&["report", run, "--html", "mine.html"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}
