//! The section on a search for knobs.

use crate::support::{flat, report, spec, terminal, valid};
use trueput_findings::Run;
use trueput_record::search::{
    SearchEnd, SearchSettings, TrialPurpose, TrialRole, TuningLimits, TuningPreset, TuningScore,
    TuningSettings, TuningStrategy,
};
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::{RunReport, TUNED_PLAN};

const MIB: i64 = 1 << 20;

/// A trial of a configuration whose knobs make these numbers of operations.
pub fn trial(
    purpose: TrialPurpose,
    configuration: u32,
    round: u32,
    knobs: &[(&str, i64)],
    per_s: f64,
) -> TrialRecord {
    let mut spec = spec(configuration, "lmdb", Durability::Sync, round);
    spec.id = format!("{}-{configuration}-{round}", purpose.name());
    for (name, value) in [("cache", 64), ("buffer", 4)] {
        spec.knobs
            .insert(name.to_owned(), Value::Integer(value * MIB));
    }
    for (name, value) in knobs {
        spec.knobs
            .insert((*name).to_owned(), Value::Integer(value * MIB));
    }
    spec.role = Some(TrialRole {
        contender: 0,
        purpose,
        configuration: Some(configuration),
    });
    let noise = 1.0 + f64::from(round * 7 % 5) / 500.0;
    let mut record = valid(spec, per_s * noise);
    if let Some(measurement) = &mut record.measurement {
        measurement.resources.peak_pss_bytes += u64::from(configuration) << 24;
    }
    record
}

/// A search whose winner has a cache that doubles the rate, and a buffer that does nothing.
pub fn search(planned: u32) -> Run {
    let both = [("cache", 256), ("buffer", 8)];
    let mut trials = Vec::new();
    for round in 1..=8 {
        let mut add = |purpose, number, knobs: &[(&str, i64)], per_s| {
            trials.push(trial(purpose, number, round, knobs, per_s));
        };
        add(TrialPurpose::Tuning, 0, &[], 1_000.0);
        add(TrialPurpose::Tuning, 1, &both, 2_200.0);
        add(TrialPurpose::Tuning, 2, &[("buffer", 16)], 900.0);
        add(TrialPurpose::Holdout, 0, &[], 1_000.0);
        add(TrialPurpose::Winner, 1, &both, 2_000.0);
        add(TrialPurpose::Ablation, 1, &both, 2_000.0);
        add(TrialPurpose::Ablation, 3, &[("buffer", 8)], 1_000.0);
        add(TrialPurpose::Ablation, 4, &[("cache", 256)], 2_000.0);
    }
    let mut run = report(trials);
    let preset = TuningPreset {
        name: "guide".to_owned(),
        title: "A guide".to_owned(),
        url: "https://example.org".to_owned(),
        settings: [("buffer".to_owned(), Value::Integer(16 * MIB))].into(),
        dropped: vec!["sync=off: it keeps none and not sync".to_owned()],
    };
    run.manifest.search = Some(SearchSettings::Tuning(TuningSettings {
        score: TuningScore::Rate,
        limits: TuningLimits::default(),
        trials: planned,
        seed: 1,
        budget_s: 60.0,
        presets: vec![preset],
        searched: Vec::new(),
        strategy: TuningStrategy::default(),
    }));
    run
}

/// Adds configurations, so many that a forest predicts their scores.
pub fn add_configurations(run: &mut Run) {
    for number in 10..40_u32 {
        let cache = i64::from(number * 37 % 64 + 1);
        let per_s = if cache > 32 { 2_000.0 } else { 1_000.0 };
        let knobs = [
            ("cache", cache),
            ("buffer", i64::from(number * 11 % 16 + 1)),
        ];
        let round = 1 + number % 8;
        let added = trial(TrialPurpose::Tuning, number, round, &knobs, per_s);
        run.trials.push(added);
    }
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let mut run = search(100);
    let short = "40 of at most 90 trials ran (24 in the search, 16 in the holdout)";
    // However long ago it began: a search that is resumed has its time anew.
    run.end.as_mut().unwrap().ended_at = "2026-11-25T20:45:29Z".to_owned();
    for (end, reason) in [
        (Some(SearchEnd::TimeUp), "the time was up"),
        (Some(SearchEnd::NothingLeft), "nothing was left to try"),
        (None, "the search ended"),
    ] {
        run.end.as_mut().unwrap().search_end = end;
        let text = flat(&terminal(&run, 100));
        assert_has!(text, format!("{short}: {reason}.").as_str());
    }
    run.end.as_mut().unwrap().complete = false;
    let text = flat(&terminal(&run, 100));
    assert_has!(text, format!("{short}: the run was interrupted.").as_str());
}

/// A search whose holdout was cut short after these pairs.
pub fn cut_short(pairs: u32) -> Run {
    let mut run = search(100);
    run.trials.retain(|trial| {
        let purpose = trial.spec.role.unwrap().purpose;
        match purpose {
            TrialPurpose::Holdout | TrialPurpose::Winner => trial.spec.repeat <= pairs,
            _ => purpose == TrialPurpose::Tuning,
        }
    });
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    run
}

#[test]
fn a_holdout_with_too_few_pairs_for_an_interval_leaves_the_answer_open() {
    let mut run = cut_short(2);
    run.end.as_mut().unwrap().complete = false;
    let text = flat(&terminal(&run, 300));
    assert_has!(text, "Not known: the run was interrupted after 2 pairs");
    let enough = flat(&terminal(&cut_short(3), 300));
    assert!(!enough.contains("Not known"), "{enough}");
}

#[test]
fn a_bundle_of_a_search_names_no_command_that_goes_on() {
    let mut run = cut_short(1);
    run.shown_as = "other.tar.gz".into();
    let text = flat(&terminal(&run, 300));
    assert_has!(
        text,
        "Not known: the time was up after 1 pair of the holdout"
    );
    assert!(!text.contains("--resume"), "{text}");
}

#[test]
fn a_higher_factor_of_one_trial_is_explained() {
    let mut run = search(44);
    let noise = "A factor of one or two trials is mostly noise";
    let text = flat(&terminal(&run, 300));
    assert!(!text.contains(noise), "{text}");
    let lucky = trial(TrialPurpose::Tuning, 5, 1, &[("cache", 512)], 9_000.0);
    run.trials.push(lucky);
    let text = flat(&terminal(&run, 300));
    assert_has!(text, noise, "9.00×");
}

#[test]
fn a_gain_that_the_holdout_lost_is_not_confirmed_at_all() {
    let mut run = search(44);
    let both = [("cache", 256), ("buffer", 8)];
    for record in &mut run.trials {
        if record.spec.role.unwrap().purpose == TrialPurpose::Winner {
            *record = trial(TrialPurpose::Winner, 1, record.spec.repeat, &both, 900.0);
        }
    }
    let text = flat(&terminal(&run, 300));
    assert_has!(
        text,
        "No better than the default",
        "Search: 2.20x; on new data: "
    );
}

#[test]
fn the_front_leaves_out_what_another_configuration_excels_in_everything() {
    let text = terminal(&search(44), 140);
    let front: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with("front: configuration"))
        .take(5)
        .collect();
    let front = front.join("\n");
    // The preset is slower than the default and takes more memory.
    assert!(
        front.contains("default") && front.contains("cache="),
        "{text}"
    );
    assert!(!front.contains("preset guide"), "{text}");
}

#[test]
fn the_page_draws_the_course_of_the_search() {
    let page = search(44).page();
    for part in ["Course of the search", "best so far"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_plan_of_the_winner_is_named_if_the_run_folder_has_one() {
    let mut run = search(44);
    let command = "This runs it beside the default again: trueput ledger threen1";
    let text = flat(&terminal(&run, 300));
    assert_has!(text, command);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(TUNED_PLAN), "").unwrap();
    run.folder = folder.path().to_owned();
    let text = flat(&terminal(&run, 300));
    assert_has!(
        text,
        "Its plan: results/20261121T204459Z-first-look/tuned.toml.",
        "trueput run results/20261121T204459Z-first-look/tuned.toml",
    );
    assert!(!text.contains("trueput ledger"), "{text}");
}
