//! Charts of a whole run at the command line.

use crate::support::{Bench, assert_contains, copies::two, stderr};

/// The first bytes of a PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[test]
fn a_chart_is_written_in_the_format_of_its_file_and_never_over_another() {
    let bench = Bench::new();
    let (a, b) = two(&bench, 0.5);
    for chart in ["overview", "latency"] {
        for ending in ["svg", "png"] {
            let file = format!("{chart}.{ending}");
            let line = ["report", &a, "--chart", chart, "--output", &file];
            let said = bench.run_expecting(0, &line);
            assert_eq!(said.stdout, format!("chart: {file}\n").into_bytes());
            let written = std::fs::read(bench.path().join(&file)).unwrap();
            if ending == "png" {
                assert!(written.starts_with(PNG), "{file}");
            } else {
                let svg = String::from_utf8(written).unwrap();
                assert!(
                    svg.starts_with("<?xml") && svg.ends_with("</svg>\n"),
                    "{svg}"
                );
                assert_contains(&svg, &["lmdb", "sqlite"]);
            }
            let again = bench.refusal_of(&line);
            assert_contains(&again, &[&file, "exists: remove it, or name another file"]);
        }
    }
    let refused = |more: &[&str]| bench.refusal_of(&[&["report", &a], more].concat());
    let chart = ["--chart", "overview", "--output"];
    let pdf = refused(&[&chart[..], &["a.pdf"]].concat());
    assert_contains(&pdf, &["a.pdf", ".svg or .png"]);
    let nowhere = refused(&[&chart[..], &["no/folder/a.svg"]].concat());
    assert_contains(&nowhere, &["cannot write no/folder/a.svg"]);
    let several = refused(&[&[b.as_str()], &chart[..], &["a.svg"]].concat());
    assert_contains(&several, &["a chart shows one run"]);
    assert!(!bench.path().join("a.svg").exists());
}

#[test]
fn a_chart_without_a_known_name_lists_the_names() {
    let bench = Bench::new();
    for line in [
        "report RUN --chart",
        "report RUN --chart pie --output a.svg",
    ] {
        let said = stderr(&bench.run_expecting(2, line));
        assert_contains(&said, &["overview", "latency"]);
    }
    let said = stderr(&bench.run_expecting(2, "report RUN --chart overview"));
    assert_contains(&said, &["--output <FILE>"]);
}

#[test]
fn a_run_without_valid_trials_has_no_chart() {
    let bench = Bench::new();
    // A debug build's trials are never ranked.
    bench.run_once("run threen1 --engine lmdb --durability process --set finish=20");
    let run = bench.run_path();
    let said = bench.refusal_of(&["report", &run, "--chart", "overview", "--output", "a.svg"]);
    assert_contains(&said, &["no overview chart", "no valid trials"]);
}
