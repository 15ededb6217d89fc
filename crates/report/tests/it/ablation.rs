//! The report of a run with steps.

use crate::support::{self, report, terminal};
use trueput_findings::Run;
use trueput_findings::ablation::ablations;
use trueput_record::testing::ablation::ablation;
use trueput_report::{Format, RunReport, Style};

/// A base, a step that gains a third and costs durability, and one that gains nothing.
pub fn run() -> Run {
    let mut run = report(ablation());
    let said = ("lmdb.map_size".to_owned(), "address space".to_owned());
    run.manifest.costs.extend([said]);
    run
}

#[test]
fn the_section_shows_gain_recovery_and_what_is_missing_in_every_format() {
    let report = run();
    let markdown = report.render(Format::Markdown, Style::default());
    assert_has!(markdown, "| 1. buffered logging |");
    let json: serde_json::Value =
        serde_json::from_str(&report.render(Format::Json, Style::default())).unwrap();
    assert_eq!(
        json["ablations"][0]["rows"][1]["figures"]["recovery_s"],
        1.25
    );
    let ratio = &json["ablations"][0]["rows"][1]["figures"]["cache_hit_ratio"];
    assert_eq!(*ratio, 0.999_72);
    let csv = report.render(Format::Csv, Style::default());
    let header = csv.lines().next().unwrap();
    assert_has!(header, "step_index,step_name", "recovery_s");
    assert_has!(header, "cache_hits,cache_misses,cache_hit_ratio");
    assert_has!(csv, ",99972,28,0.99972,");
}

#[test]
fn where_no_engine_tells_of_its_cache_nothing_is_shown_of_one() {
    let mut report = run();
    for trial in &mut report.trials {
        trial.measurement.as_mut().unwrap().cache = None;
    }
    assert!(!terminal(&report, 400).contains("cache hits"));
    let figures = ablations(&report).remove(0).rows.remove(1).figures;
    assert_eq!(figures.unwrap().cache_hit_ratio, None);
}

#[test]
fn a_run_without_steps_has_no_ablation() {
    let report = report(support::everything());
    assert!(!terminal(&report, 300).contains("Ablation"));
}
