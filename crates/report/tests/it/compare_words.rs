//! The text of a comparison, and its short form on a narrow terminal.

use crate::support::report;
use trueput_findings::compare::{Selector, Side, SideComparison, compare_sides};
use trueput_findings::statistics::{Disturbance, Noise};
use trueput_record::testing::comparison::{EVEN, STEADY, WILD, cells, limit_flushes, one_library};
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

/// A finished run that is compared as a whole.
fn side(label: &str, trials: Vec<TrialRecord>) -> Side {
    let mut run = report(trials);
    run.shown_as = label.into();
    Side::new(label, run, Selector::default()).unwrap()
}

fn two(first: Vec<TrialRecord>, second: Vec<TrialRecord>) -> Vec<SideComparison> {
    compare_sides(&side("a", first), &[side("b", second)]).unwrap()
}

/// Two runs of wild repeats, the second of them at a factor of the first's rates.
pub fn compared(levels: &[Durability], factor: f64) -> Vec<SideComparison> {
    two(cells(levels, WILD, 1.0), cells(levels, WILD, factor))
}

/// Comparisons by what is found.
pub fn situations() -> Vec<(&'static str, Vec<SideComparison>)> {
    let sync = [Durability::Sync];
    let equal = two(cells(&sync, EVEN, 1.0), cells(&sync, EVEN, 1.005));
    let flushing = |per_s: f64| {
        let mut trials = one_library();
        limit_flushes(&mut trials, per_s);
        trials
    };
    let moved = two(flushing(1_000.0), flushing(120.0));
    let mut disturbed = moved.clone();
    disturbed[0].second.noise = Some(Noise {
        floor: 0.0,
        reasons: vec![Disturbance::OtherPrograms {
            share: 0.92,
            with_kernel: false,
        }],
    });
    let with_assertions = || {
        let mut trials = one_library();
        for trial in &mut trials {
            trial.engine.as_mut().unwrap().assertions = Some(true);
        }
        trials
    };
    let mut other_library = cells(&sync, STEADY, 1.0);
    for trial in &mut other_library {
        trial.engine.as_mut().unwrap().sha256 = "b".repeat(64);
    }
    vec![
        ("too few repeats", compared(&sync, 0.05)),
        ("equal", equal),
        (
            "another library",
            two(cells(&sync, STEADY, 1.0), other_library),
        ),
        ("a limit that moved", moved),
        ("a limit that moved, and a busy machine", disturbed),
        (
            "a limit that hardly moved",
            two(flushing(1_000.0), flushing(900.0)),
        ),
        (
            "two builds with assertions",
            two(with_assertions(), with_assertions()),
        ),
    ]
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
    let two = compared(&[Durability::Sync, Durability::Process], 0.9);
    let text = at(&two, 80);
    let table = results(&text);
    assert_has!(table, " sync ", " process ");
    assert_has!(table, "A wider terminal or --json shows them.");
    assert!(!text.contains("--format csv"), "{text}");
    // Control: if all rows have one level, that column makes room for the others.
    let one = at(&compared(&[Durability::Sync], 0.9), 60);
    let left_out = results(&one).split("Left out").nth(1).unwrap();
    assert!(left_out.contains("level"), "{one}");
}

#[test]
fn one_worker_is_one() {
    let of_one = || {
        let mut trials = one_library();
        for trial in &mut trials {
            trial.spec.workers = 1;
        }
        trials
    };
    assert_has!(at(&two(of_one(), of_one()), 400), "sync, 1 worker:");
}

#[test]
fn knobs_of_different_engines_are_not_listed_and_no_line_stands_twice() {
    let of_engine = |engine: &str| {
        let levels = [Durability::Sync, Durability::Process];
        let mut trials = cells(&levels, STEADY, 1.0);
        for trial in &mut trials {
            trial.spec.engine = engine.to_owned();
            trial.spec.knobs = [(format!("{engine}_knob"), 1_i64.into())].into();
        }
        trials
    };
    let compared = two(of_engine("rocksdb"), of_engine("fjall"));
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
    let run = |number: i64| {
        let mut trials = cells(&[Durability::Sync; 30], [1.0; 3], 1.0);
        for trial in &mut trials {
            trial.spec.workers = trial.spec.cell + 1;
            for knob in 0..25 {
                let knobs = &mut trial.spec.knobs;
                knobs.insert(format!("knob_{knob:02}"), number.into());
            }
            let deep = "a-folder-of-some-length/".repeat(6);
            trial.spec.build = Some(format!("/opt/{number}/{deep}liblmdb.so").into());
        }
        side(&format!("run{number}"), trials)
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
