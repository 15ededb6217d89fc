//! `trueput history` on folders in which not all is whole.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::Path;
use support::copies::{copied, made, set_rate};
use support::{Bench, refusal, stderr, stdout};

#[test]
fn a_run_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let bench = Bench::new();
    let run = made(&bench);
    let copy = |name: &str| copied(&bench, &run, name, |trial| set_rate(trial, 1.0));
    let (_, broken, packed) = (copy("whole"), copy("broken"), copy("packed"));
    let manifest = Path::new(&broken).join("run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    let bundle = bench.run(&["bundle", &packed, "--output", "copies/packed.tar.gz"]);
    assert_eq!(bundle.status.code(), Some(0), "{}", stderr(&bundle));
    std::fs::remove_dir_all(&packed).unwrap();
    bench.write("copies/torn.tar.gz", "no archive");

    let output = bench.run(&["history", "copies", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["series"][0]["points"].as_array().unwrap();
    let mut runs: Vec<&str> = points
        .iter()
        .map(|point| point["run"].as_str().unwrap())
        .collect();
    runs.sort_unstable();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[0].ends_with("-whole"), "{runs:?}");
    assert_eq!(runs[1], "copies/packed.tar.gz");
    let left_out: Vec<&str> = document["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|why| why.as_str().unwrap())
        .collect();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out[0].contains("-broken: it cannot be read"));
    assert!(left_out[1].contains("torn.tar.gz: it cannot be read"));
    let shown = stdout(&bench.run(&["history", "copies"]));
    assert!(shown.contains("-broken: it cannot be read"), "{shown}");

    let alone = bench.run(&["history", &broken]);
    assert!(refusal(&alone).contains("-broken: it cannot be read"));
}
