//! The text of a comparison, and its short form on a narrow terminal.

use crate::support::{repeats, report};
use trueput_findings::compare::{Selector, Side, SideComparison, compare_sides};
use trueput_findings::statistics::{Disturbance, Noise};
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::Layout;
use trueput_report::compare::{render, render_usual};
use trueput_report::{Format, Style};

const LAYOUT: Layout = Layout {
    width: 80,
    lines: 40,
    color: false,
    cuts: true,
};

/// Repeats of a cell, the last of which is far off: their median is not their mean.
fn cell(cell: u32, level: Durability, workers: u32, rates: [f64; 3]) -> Vec<TrialRecord> {
    let mut trials = repeats(cell, "lmdb", level, &rates);
    for trial in &mut trials {
        trial.spec.workers = workers;
    }
    trials
}

/// Two runs of wild repeats, the second of them at a factor of the first's rates.
pub fn compared(levels: &[Durability], workers: u32, factor: f64) -> Vec<SideComparison> {
    of(levels, workers, [1_000.0, 2_000.0, 8_000.0], factor)
}

fn of(levels: &[Durability], workers: u32, rates: [f64; 3], factor: f64) -> Vec<SideComparison> {
    let side = |label: &str, factor: f64| {
        let cells = (0..).zip(levels);
        let trials = cells.flat_map(|(number, level)| {
            cell(number, *level, workers, rates.map(|rate| rate * factor))
        });
        let mut report = report(trials.collect());
        report.shown_as = label.into();
        Side::new(label, report, Selector::default()).unwrap()
    };
    compare_sides(&side("a", 1.0), &[side("b", factor)]).unwrap()
}

fn at(compared: &[SideComparison], width: u16) -> String {
    let style = Style {
        width: Some(width),
        ..Style::default()
    };
    render(compared, Format::Terminal, style)
}

/// The lines of the table of results, with its heading and what is said below it.
fn results(text: &str) -> &str {
    let start = text.find("Results").unwrap();
    &text[start..text[start..].find("Other figures").unwrap() + start]
}

#[test]
fn what_tells_rows_apart_outlives_the_rates_on_a_narrow_terminal() {
    let two = compared(&[Durability::Sync, Durability::Process], 4, 0.9);
    let text = at(&two, 80);
    let table = results(&text);
    assert_has!(table, " sync ", " process ");
    assert_has!(table, "A wider terminal or --json shows them.");
    assert!(!text.contains("--format csv"), "{text}");
    // Control: if all rows have one level, that column makes room for the others.
    let one = at(&compared(&[Durability::Sync], 4, 0.9), 60);
    let left_out = results(&one).split("Left out").nth(1).unwrap();
    assert!(left_out.contains("level"), "{one}");
}

#[test]
fn one_worker_is_one() {
    let text = at(&compared(&[Durability::Sync], 1, 0.5), 400);
    assert_has!(text, "sync, 1 worker:");
}

#[test]
fn why_nothing_is_claimed_is_told_reason_by_reason() {
    let said = |factor: f64| at(&compared(&[Durability::Sync], 4, factor), 400);
    let noise = said(0.95);
    assert_has!(
        noise,
        "4 workers: no significant difference; too noisy: not even a difference of 100x \
         would be detected"
    );
    let few = said(0.05);
    assert!(
        few.contains(
            "4 workers: too few repeats: B looks slower by 95.0 % (in every pair of repeats); use "
        ),
        "{few}"
    );
    let same = of(&[Durability::Sync], 4, [1_000.0, 1_000.1, 999.9], 1.005);
    let same = at(&same, 400);
    assert_has!(same, "4 workers: equal within 1 %");
}

/// Two runs of one build of rocksdb, as `change` leaves each: the first run is 0, the second 1.
fn runs_of(change: impl Fn(usize, &mut TrialRecord)) -> Vec<SideComparison> {
    let side = |number: usize| {
        let mut trials = cell(0, Durability::Sync, 4, [1_000.0, 1_010.0, 990.0]);
        for trial in &mut trials {
            trial.spec.engine = "rocksdb".to_owned();
            change(number, trial);
        }
        let mut report = report(trials);
        report.shown_as = format!("run{number}").into();
        Side::new("run", report, Selector::default()).unwrap()
    };
    compare_sides(&side(0), &[side(1)]).unwrap()
}

#[test]
fn two_runs_of_one_library_are_said_to_be_of_one() {
    let library = |trial: &mut TrialRecord, digit: &str| {
        trial.engine.as_mut().unwrap().sha256 = digit.repeat(64);
    };
    let same = "Both sides ran the same library (same SHA-256), so a difference comes from the \
                machine or the settings.";
    let text = at(&runs_of(|_, trial| library(trial, "a")), 400);
    let verdict = text.find("rocksdb, threen1").unwrap();
    assert!(text.find(same).is_some_and(|at| at < verdict), "{text}");
    // The controls: another library, another knob, and one that is not known.
    let other = runs_of(|run, trial| library(trial, ["a", "b"][run]));
    let knob = runs_of(|run, trial| {
        library(trial, "a");
        let size = i64::try_from(run).unwrap();
        trial.spec.knobs.insert("block_size".into(), size.into());
    });
    let unknown = runs_of(|_, trial| library(trial, ""));
    for compared in [other, knob, unknown] {
        let text = at(&compared, 400);
        assert!(!text.contains("the same library"), "{text}");
    }
}

#[test]
fn a_disturbed_run_and_a_limit_that_moved_stand_beside_the_verdict() {
    let flushing = |second: f64| {
        runs_of(move |run, trial| {
            let flushes = [1_000.0, second][run];
            let measured = serde_json::json!({
                "committers": 4, "commit_bytes": 100, "harness_per_s": 1e6, "elapsed_s": 1.0,
                "flush": {"separate_per_s": flushes, "grouped_per_s": 1e3,
                          "grouped_flushes_per_s": 1e3},
                "memory": {"region_bytes": 1, "copied_bytes_per_s": 1.0,
                           "dependent_reads_per_s": 1.0},
            });
            trial.hardware_limits = Some(serde_json::from_value(measured).unwrap());
        })
    };
    let mut moved = flushing(120.0);
    let clause = "its storage flushed 88 % fewer times per second than in run A";
    let text = at(&moved, 400);
    assert!(text.contains(&format!("In run B {clause}.")), "{text}");
    moved[0].second.noise = Some(Noise {
        floor: 0.0,
        reasons: vec![Disturbance::OtherPrograms {
            share: 0.92,
            with_kernel: false,
        }],
    });
    let text = at(&moved, 400);
    let said = format!(
        "Run B ran on a busy machine: other programs used 92 % of the processors; {clause}."
    );
    let found = text.find(&said);
    let table = text.find("What changed").unwrap();
    assert!(found.is_some_and(|at| at < table), "{text}");
    let steady = at(&flushing(900.0), 400);
    assert!(!steady.contains("per second than"), "{steady}");
}

#[test]
fn two_builds_with_assertions_are_not_said_to_be_incomparable() {
    let text = at(
        &runs_of(|_, trial| trial.engine.as_mut().unwrap().assertions = Some(true)),
        400,
    );
    let said = "rocksdb [assertions]: both builds have assertions: not comparable with builds \
                without.";
    assert!(text.contains(said), "{text}");
    assert!(!text.contains("built with assertions"), "{text}");
}

#[test]
fn knobs_of_different_engines_are_not_listed_and_no_line_stands_twice() {
    let side = |engine: &str| {
        let levels = [Durability::Sync, Durability::Process];
        let cells = (0..).zip(levels);
        let trials = cells.flat_map(|(number, level)| cell(number, level, 4, [1.0, 1.1, 1.2]));
        let of_engine = |mut trial: TrialRecord| {
            trial.spec.engine = engine.to_owned();
            trial.spec.knobs = [(format!("{engine}_knob"), 1_i64.into())].into();
            trial
        };
        let mut report = report(trials.map(of_engine).collect());
        report.shown_as = engine.into();
        Side::new(engine, report, Selector::default()).unwrap()
    };
    let compared = compare_sides(&side("rocksdb"), &[side("fjall")]).unwrap();
    let usual = render_usual(&compared, Format::Markdown, LAYOUT).replace('\\', "");
    let note = "rocksdb and fjall are different engines: their knobs are not listed";
    assert_eq!(usual.matches(note).count(), 1, "{usual}");
    assert!(!usual.contains("knob rocksdb_knob"), "{usual}");
    let full = at(&compared, 400);
    assert!(!full.contains(note), "{full}");
    for knob in ["knob rocksdb_knob", "knob fjall_knob"] {
        assert_eq!(full.matches(knob).count(), 1, "{full}");
    }
}

#[test]
fn the_usual_output_fits_one_screen_and_breaks_paths_at_slashes_alone() {
    let run = |number: usize| {
        let cells = (0..30).flat_map(|place| cell(place, Durability::Sync, place + 1, [1.0; 3]));
        let changed = |mut trial: TrialRecord| {
            for knob in 0..25 {
                let value = i64::try_from(number).unwrap();
                trial
                    .spec
                    .knobs
                    .insert(format!("knob_{knob:02}"), value.into());
            }
            let deep = "a-folder-of-some-length/".repeat(6);
            trial.spec.build = Some(format!("/opt/{number}/{deep}liblmdb.so").into());
            trial
        };
        let mut report = report(cells.map(changed).collect());
        report.shown_as = format!("run{number}").into();
        Side::new("run", report, Selector::default()).unwrap()
    };
    let compared = compare_sides(&run(0), &[run(1), run(2)]).unwrap();
    for few in [&compared[..1], &compared[..]] {
        let text = render_usual(few, Format::Terminal, LAYOUT);
        assert!(text.lines().count() <= 40, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_has!(text, " more; --full");
        assert!(text.ends_with("Everything: add --full\n"), "{text}");
        assert!(
            !text.contains("geometric mean") && !text.contains("Other figures"),
            "{text}"
        );
        for line in text.lines().filter(|line| line.contains("a-folder")) {
            let line = line.trim_end();
            assert!(line.ends_with('/') || line.contains("liblmdb.so"), "{text}");
        }
    }
    let first = render_usual(&compared[..1], Format::Terminal, LAYOUT);
    let place = |words: &str| first.find(words).unwrap();
    assert!(place("- lmdb, threen1") < place("What changed"), "{first}");
    assert!(place("What changed") < place("B/A"), "{first}");
    let full = render(&compared[..1], Format::Terminal, Style::default());
    assert_has!(full, "knob_24", "30 workers");
}
