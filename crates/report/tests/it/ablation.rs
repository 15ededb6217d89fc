//! The ablation of a run with steps: gains, intervals, and what was given up.

use crate::support::{self, report, spec, terminal, texts, valid};
use trueput_findings::Run;
use trueput_findings::ablation::{Ablation, SkippedStep, StepState, UncountedStep, ablations};
use trueput_findings::statistics::{Verdict, claim_level};
use trueput_record::ablation::{AblationKind, AblationStep, BASE};
use trueput_record::accounting::CacheUse;
use trueput_record::recovery::{EventRecord, Recovery};
use trueput_record::{Durability, Outcome, TrialRecord, Value};
use trueput_report::{Format, RunReport, Style};

const SCATTER: [f64; 5] = [1.0, 1.012, 0.991, 1.005, 0.997];

/// Five trials of a step of an ablation whose base is cell 0, at about this rate.
fn trials(index: u32, name: &str, durability: Durability, per_s: f64) -> Vec<TrialRecord> {
    let trial = |repeat: usize| {
        let mut spec = spec(index, "lmdb", durability, repeat as u32 + 1);
        spec.step = Some(AblationStep {
            ablation: AblationKind::Cumulative,
            base: 0,
            index,
            name: name.to_owned(),
        });
        if index == 2 {
            spec.knobs
                .insert("map_size".to_owned(), Value::Integer(2 << 30));
        }
        // OtherPrograms in time meet the same machine: pairs scatter together, and a little apart.
        let apart = 1.0 + 0.001 * f64::from(index) * repeat as f64;
        valid(spec, per_s * SCATTER[repeat] * apart)
    };
    (0..5).map(trial).collect()
}

/// A base, a step that gains a third and costs durability, and one that gains nothing.
fn run() -> Run {
    let mut all = trials(0, BASE, Durability::Sync, 3_000.0);
    let mut buffered = trials(1, "buffered logging", Durability::Buffered, 4_000.0);
    for trial in &mut buffered {
        let measured = trial.measurement.as_mut().unwrap();
        measured.cache = Some(CacheUse {
            hits: 99_972,
            misses: 28,
        });
        measured.recovery = Some(Recovery {
            killed: 4,
            recovery_s: 1.25,
            server_s: None,
            first_commit_s: Some(1.5),
        });
        measured
            .results
            .insert("missing_new_orders".to_owned(), Value::Integer(17));
        measured.events = Some(vec![EventRecord {
            at_s: 1.0,
            kind: "checkpoint".to_owned(),
            detail: "time".to_owned(),
        }]);
    }
    all.extend(buffered);
    all.extend(trials(2, "larger map", Durability::Buffered, 4_000.0));
    let mut report = report(all);
    let said = ("lmdb.map_size".to_owned(), "address space".to_owned());
    report.manifest.costs.extend([said]);
    report
}

fn only(report: &Run) -> Ablation {
    let mut all = ablations(report);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_step_that_gains_is_told_from_one_that_does_not() {
    let ablation = only(&run());
    let [base, buffered, map] = ablation.rows.as_slice() else {
        panic!("{:?}", ablation.rows);
    };
    assert_eq!(
        (base.over_before.clone(), base.over_base.clone()),
        (None, None)
    );
    let gain = buffered.over_before.as_ref().unwrap();
    assert_eq!(gain.comparison.verdict, Verdict::Faster);
    assert!((gain.ratio - 4.0 / 3.0).abs() < 0.02, "{gain:?}");
    let none = map.over_before.as_ref().unwrap();
    assert_eq!(none.comparison.verdict, Verdict::NoDifference);
    let over_base = map.over_base.as_ref().unwrap();
    assert_eq!(over_base.comparison.verdict, Verdict::Faster);
}

/// A base and seven steps, each a little better than the one before it.
fn seven_steps(kind: AblationKind) -> Run {
    let mut all = Vec::new();
    for index in 0..=7 {
        let name = if index == 0 { BASE } else { "a step" };
        let rate = 3_000.0 + 100.0 * f64::from(index);
        all.extend(trials(index, name, Durability::Sync, rate));
    }
    for trial in &mut all {
        trial.spec.step.as_mut().unwrap().ablation = kind;
    }
    report(all)
}

#[test]
fn both_gains_of_a_step_are_among_those_that_are_read_together() {
    // With seven steps, the first has one gain and six have two.
    for (kind, together) in [
        (AblationKind::Cumulative, 13),
        (AblationKind::OneAtATime, 7),
    ] {
        let ablation = only(&seven_steps(kind));
        let gain = ablation.rows[7].over_base.as_ref().unwrap();
        let level = gain.comparison.ratio.unwrap().level;
        assert_eq!(level, claim_level(together), "{kind:?}");
    }
}

#[test]
fn a_step_after_one_that_does_not_count_is_held_against_the_last_that_does() {
    let mut report = run();
    let invalid = "a condition does not hold".to_owned();
    for trial in report
        .trials
        .iter_mut()
        .filter(|trial| trial.spec.cell == 1)
    {
        trial.outcome = Outcome::Invalid {
            reasons: vec![invalid.clone()],
        };
    }
    let ablation = only(&report);
    assert!(matches!(
        ablation.rows[1].state,
        StepState::Uncounted { .. }
    ));
    let after = &ablation.rows[2];
    assert_eq!(after.over_before, after.over_base);
    assert!(after.over_before.is_some());
    // Changes are listed against the step that the plan names as the base.
    assert_eq!(texts(&after.costs), ["map_size 2147483648: address space"]);
}

#[test]
fn the_cost_of_a_step_is_stated_from_the_level_and_from_the_knob() {
    let ablation = only(&run());
    let [buffered] = &texts(&ablation.rows[1].costs)[..] else {
        panic!("{:?}", ablation.rows[1].costs);
    };
    assert!(buffered.starts_with("durability buffered instead of sync: after killed processes"));
    assert_eq!(
        texts(&ablation.rows[2].costs),
        ["map_size 2147483648: address space"]
    );
    assert_eq!(
        texts(&ablation.rows[1].changes),
        ["durability sync to buffered"]
    );
}

#[test]
fn the_section_shows_gain_recovery_and_what_is_missing_in_every_format() {
    let report = run();
    let text = terminal(&report, 400);
    assert_has!(
        text,
        "Ablation",
        "This is not a ranking",
        "1. buffered logging",
        "no gain shown (",
        "1.25 s",
        "cache hits",
        "99.972 %",
        "1 checkpoint",
        "17",
        "Cost: map_size 2147483648: address space"
    );
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
fn a_step_that_was_not_measured_says_why() {
    let mut report = run();
    for spec in &mut report.manifest.trials {
        if let (Some(step), true) = (&mut spec.step, spec.cell == 2) {
            (step.base, step.index) = (2, 2);
            spec.engine = "redb".to_owned();
        }
    }
    let reason = "it changes nothing, so it is not measured again";
    let line = format!("lmdb: step 'larger map': {reason}");
    report.manifest.skipped.push(line);
    let ablation = only(&report);
    assert_eq!(
        ablation.rows[2].state,
        StepState::NotTaken {
            reason: SkippedStep::WithoutEffect
        }
    );
    assert!(terminal(&report, 300).contains("no change"));
    report.trials.retain(|trial| trial.spec.cell != 1);
    let ablation = only(&report);
    let unrun = StepState::Uncounted {
        reason: UncountedStep::NotRun,
    };
    assert_eq!(ablation.rows[1].state, unrun);
}

#[test]
fn a_run_without_steps_has_no_ablation() {
    let report = report(support::everything());
    assert!(ablations(&report).is_empty());
    assert!(!terminal(&report, 300).contains("Ablation"));
}

#[test]
fn what_decides_between_steps_is_there_on_a_terminal_of_100_columns() {
    let run = run();
    let style = Style {
        width: Some(100),
        ..Style::default()
    };
    let text = run.render_ablation(style);
    let header = text.lines().find(|line| line.starts_with("step")).unwrap();
    assert_has!(header, "peak memory", "database");
}
