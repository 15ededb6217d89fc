//! Makes run folders whose reports can be foretold.

pub mod browser;
pub mod looks;
pub mod pages;

use std::path::Path;
use trueput_findings::Run;
use trueput_record::folder::RunFolder;
use trueput_record::testing::search::RunRecords;
pub use trueput_record::testing::{
    append_with_histograms, end, everything, failed, invalid, manifest, null, repeats, settings,
    spec, valid, whole,
};
use trueput_record::{Durability, TrialRecord};
use trueput_report::{Format, RunReport, Style};

/// The texts of findings.
pub fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// A run of one ranking at `sync`: its contenders, with a repeat for each rate.
pub fn contest(contenders: &[(&str, &[f64])]) -> Run {
    let cells = (0..).zip(contenders);
    let trials =
        cells.flat_map(|(cell, (engine, rates))| repeats(cell, engine, Durability::Sync, rates));
    report(trials.collect())
}

/// A finished run of these trials, without files.
pub fn report(trials: Vec<TrialRecord>) -> Run {
    let folder = Path::new("results/20261121T204459Z-first-look");
    Run {
        end: Some(end()),
        ..Run::of_records(folder, manifest(&trials), trials)
    }
}

/// A finished run of this plan and its trials, without files.
pub fn searched((manifest, trials): RunRecords) -> Run {
    let mut run = report(trials);
    run.manifest = manifest;
    run
}

/// An unfinished run folder on disk with these trials, each consistent.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
pub fn folder(trials: &[TrialRecord]) -> (tempfile::TempDir, RunFolder) {
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(results.path(), &manifest(trials)).unwrap();
    for trial in trials {
        folder.append(&whole(trial)).unwrap();
    }
    (results, folder)
}

/// A run folder of these trials with their histograms; it is in the first, which removes it.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
pub fn whole_folder(trials: &[TrialRecord]) -> (tempfile::TempDir, RunFolder) {
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(results.path(), &manifest(trials)).unwrap();
    for trial in trials {
        append_with_histograms(&folder, trial);
    }
    (results, folder)
}

/// The report for a terminal of that width, without color.
pub fn terminal(report: &Run, width: u16) -> String {
    report.render(
        Format::Terminal,
        Style {
            width: Some(width),
            color: false,
            charts: trueput_report::charts::Charts::Off,
        },
    )
}

/// A text on one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report for a terminal, joined to one line.
pub fn terminal_line(report: &Run) -> String {
    flat(&terminal(report, 200))
}
