//! Screens as they are printed, whole: what reports say of some runs, one file each in `screens`.
//!
//! What is found is asserted in the tests of `findings`. After a change of words,
//! `TRUEPUT_SCREENS=write cargo test -p trueput-report --test it screens` rewrites the files, and
//! the change is read in their difference.

use crate::choice::Situation;
use crate::support::{contest, everything, failed, repeats, report, spec, terminal};
use crate::{
    ablation, audits, builds, choice, compare_words, load_generators, objectives, rankings,
    storage, summary, tuning,
};
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_findings::compare::{Selector, Side, SideComparison};
use trueput_findings::history::history;
use trueput_findings::prediction::{PredictionRequest, predict};
use trueput_record::accounting::OtherPrograms;
use trueput_record::folder::DamagedLine;
use trueput_record::search::{DecisionSettings, SearchEnd, SearchSettings};
use trueput_record::testing::{open_loop, scaling};
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::charts::Charts;
use trueput_report::{Format, RunReport, Style, audit_report, compare, prediction, render_with};

/// A usual terminal.
pub const STYLE: Style = Style {
    width: Some(100),
    color: false,
    charts: Charts::Off,
};

/// The first screen of a run, on a usual terminal.
fn first_screen(run: &Run) -> String {
    Answer::of(run).render(Layout::default(), &[])
}

/// The answer of a search.
fn search(run: &Run) -> String {
    run.render_search(STYLE).unwrap()
}

/// The first screen of a run, and a part of its report in Markdown, from its heading to the next.
fn with_section(run: &Run, heading: &str) -> String {
    let full = run.render(Format::Markdown, STYLE);
    let start = full.find(&format!("# {heading}")).unwrap();
    let section = &full[start..];
    let end = section.find("\n## ").unwrap_or(section.len());
    format!("{}\n## {}\n", first_screen(run), section[2..end].trim_end())
}

/// Every kind of end that a trial can have, in a run that was cut short.
fn cut_short() -> Run {
    let mut run = report(everything());
    run.damaged.push(DamagedLine {
        line: 3,
        message: "EOF while parsing".to_owned(),
    });
    run.end = None;
    run
}

fn of_small_run() -> String {
    let closing = [
        "run folder: results/1".to_owned(),
        "page: results/1/report.html".to_owned(),
    ];
    let answer = Answer::of(&summary::screen::small_run());
    answer.render(Layout::default(), &closing)
}

/// What a search answers in each situation, as lines that it says more (`+`) and less (`-`) than of
/// a usual run.
fn beside((usual, situations): (Run, Vec<Situation>)) -> String {
    let answer = |run: &Run| {
        let text = search(run);
        let end = text.find("How to verify it").unwrap_or(text.len());
        text[..end].to_owned()
    };
    let usual = answer(&usual);
    let told = |(title, run): (&str, Run)| {
        let text = answer(&run);
        let added = differing("+", &text, &usual);
        let removed = differing("-", &usual, &text);
        format!("## {title}\n\n{added}{removed}\n")
    };
    situations.into_iter().map(told).collect()
}

/// The lines of a text that another one lacks, each after a sign.
fn differing(sign: &str, text: &str, other: &str) -> String {
    let known: Vec<&str> = other.lines().collect();
    let new = text.lines().filter(|line| !known.contains(line));
    new.map(|line| format!("{sign} {line}\n")).collect()
}

/// Choices, searches for capacities and searches for knobs.
fn unusual_searches() -> String {
    [
        ("Choices", choice::situations()),
        ("Capacities", choice::capacity_situations()),
        ("Searches for knobs", vec![tuning::situations()]),
    ]
    .map(|(title, groups)| {
        let told: String = groups.into_iter().map(beside).collect();
        format!("# {title}\n\n{told}")
    })
    .concat()
}

/// The answer of an audit of two engines, of which one is refuted.
fn audit() -> String {
    let record = audits::audited();
    let blocks = audit_report::document(&record, Path::new("results/1"));
    render_with(&blocks, STYLE, "--json")
}

fn prediction_of(trials: Vec<TrialRecord>, request: &PredictionRequest) -> String {
    let side = Side::new("results/RUN", report(trials), Selector::default());
    let found = predict(&side.unwrap(), request).unwrap();
    prediction::render(&found, Format::Terminal, STYLE)
}

/// A comparison, and what others say from their sides to the table of what changed.
fn comparison() -> String {
    let of = |compared: &[SideComparison]| compare::render(compared, Format::Terminal, STYLE);
    let levels = [Durability::Sync, Durability::Process];
    let mut text = of(&compare_words::compared(&levels, 0.5));
    for (title, compared) in compare_words::situations() {
        let told = of(&compared);
        let (told, _) = told.split_once("\n\nWhat changed").unwrap();
        let verdicts: Vec<_> = told.split("\n\n").skip(2).collect();
        text += &format!("\n## {title}\n\n{}\n", verdicts.join("\n\n"));
    }
    text
}

/// More clients, a delay and more nodes than were measured.
fn predicted() -> String {
    let request = PredictionRequest {
        clients: vec![16, 64],
        nodes: vec![3],
        network_delays_s: vec![0.000_5],
        ..PredictionRequest::default()
    };
    prediction_of(scaling::one_node(), &request)
}

/// More clients than were measured, by rates that follow no law.
fn unpredictable() -> String {
    let factors = [1.0, 3.0, 0.3, 2.0, 0.5, 1.0];
    let cells = scaling::WORKERS.into_iter().zip(factors).enumerate();
    let trials = cells.map(|(cell, (workers, factor))| {
        scaling::trial(cell, workers, scaling::law(f64::from(workers)) * factor)
    });
    let request = PredictionRequest {
        clients: vec![64, 1_000],
        ..PredictionRequest::default()
    };
    prediction_of(trials.collect(), &request)
}

/// A run beside other programs, of whose processors the hypervisor took a part.
fn busy() -> Run {
    let mut trials = repeats(0, "lmdb", Durability::Sync, &[2_000.0, 1_990.0, 2_010.0]);
    for measured in trials.iter_mut().flat_map(|trial| &mut trial.measurement) {
        measured.neighbors = Some(OtherPrograms {
            cpu_s: 0.5 * measured.elapsed_s,
            kernel_s: Some(0.0),
            steal_s: measured.elapsed_s,
        });
    }
    report(trials)
}

/// A run that decided what it could in its time: a ranking with a leader and a contender that
/// failed, one of equals, and one that is open.
fn decided() -> Run {
    let of = |cell, engine, level, per_s: f64, parts: &[f64]| {
        let rates: Vec<_> = parts.iter().map(|part| per_s * part).collect();
        repeats(cell, engine, level, &rates)
    };
    let (sync, buffered, process) = (Durability::Sync, Durability::Buffered, Durability::Process);
    let steady = [1.0, 0.99, 1.012, 0.995];
    let other = [0.995, 1.0, 1.004, 0.998];
    let mut trials = of(0, "lmdb", sync, 2_000.0, &steady);
    trials.extend(of(1, "redb", sync, 1_800.0, &other));
    trials.extend(of(2, "sqlite", sync, 900.0, &steady[..2]));
    let failing = |repeat| failed(spec(2, "sqlite", sync, repeat), "no space left");
    trials.extend([3, 4].map(failing));
    trials.extend(of(3, "lmdb", buffered, 5_000.0, &steady));
    trials.extend(of(4, "redb", buffered, 4_990.0, &other));
    trials.extend(of(
        5,
        "sqlite",
        buffered,
        4_980.0,
        &[1.005, 0.997, 1.0, 1.002],
    ));
    trials.extend(of(
        6,
        "lmdb",
        process,
        9_000.0,
        &[1.0, 0.98, 1.02, 0.99, 1.01],
    ));
    trials.extend(of(
        7,
        "redb",
        process,
        8_730.0,
        &[1.0, 1.02, 0.98, 1.01, 0.99],
    ));
    for trial in &mut trials {
        trial.started_at = format!("2026-11-21T20:45:{}0Z", trial.spec.repeat);
    }
    let mut run = report(trials);
    run.manifest.search = Some(SearchSettings::Decision(DecisionSettings {
        equal_within: 0.05,
        max_repeats: DecisionSettings::MAX_REPEATS,
        early_look: Some(DecisionSettings::EARLY_LOOK),
        budget_s: Some(60.0),
    }));
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    run
}

/// Twelve nights, whose level falls to a half at the fifth, and one outlier.
fn nights() -> String {
    let night = |index: usize| {
        let level = match index {
            0..4 => 1.0,
            10 => 0.6,
            _ => 0.5,
        } + 0.001 * index as f64;
        let mut run = contest(&[(
            "lmdb",
            &[0.99, 1.0, 1.01].map(|part| 1_000.0 * level * part),
        )]);
        run.manifest.started_at = format!("2026-11-{:02}T00:00:00Z", index + 1);
        run.shown_as = PathBuf::from(format!("night-{index}"));
        if index >= 4 {
            run.manifest.host.kernel = "Linux 6.19.1".to_owned();
        }
        Ok(run)
    };
    let found = history((0..12).map(night).collect(), &Selector::default());
    trueput_report::history::render(&found, Format::Markdown, STYLE)
}

/// The screens, by the names of their files.
fn screens() -> Vec<(&'static str, String)> {
    let hosts: Vec<TrialRecord> = vec![
        load_generators::on_hosts(0, "redb", 0.5),
        load_generators::on_hosts(1, "fjall", 0.9),
    ];
    vec![
        ("first-look", of_small_run()),
        ("busy", first_screen(&busy())),
        ("decided", with_section(&decided(), "threen1, ")),
        ("cut-short", terminal(&cut_short(), 100)),
        (
            "isolation",
            with_section(&rankings::of_two_levels(), "threen1, "),
        ),
        (
            "storage",
            Answer::of(&storage::mixed()).render(storage::WIDE, &[]),
        ),
        (
            "hosts",
            with_section(&report(hosts), "Load from several hosts"),
        ),
        (
            "fixed-rate",
            with_section(&report(open_loop::contest()), "threen1, "),
        ),
        (
            "slowest-kind",
            with_section(&report(open_loop::slow_commits()), "threen1, "),
        ),
        (
            "objective",
            with_section(&objectives::run(Some("p99<1ms")), "threen1, "),
        ),
        ("ablation", ablation::run().render_ablation(STYLE)),
        (
            "audits",
            with_section(&audits::run(), "Audits of durability"),
        ),
        ("audit", audit()),
        ("choice", search(&choice::half_confirmed())),
        ("unmeasured", search(&choice::all_killed())),
        (
            "capacities",
            search(&choice::as_capacities(choice::half_confirmed())),
        ),
        ("tuning", search(&tuning::usual())),
        ("tuning-cut-short", search(&tuning::short_of_time(2))),
        ("unusual-searches", unusual_searches()),
        ("builds", with_section(&builds::run(), "threen1, ")),
        ("comparison", comparison()),
        ("prediction", predicted()),
        ("unpredictable", unpredictable()),
        ("history", nights()),
    ]
}

#[test]
fn each_screen_is_printed_as_its_file_has_it_and_no_file_is_left_over() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens");
    let writes = std::env::var("TRUEPUT_SCREENS").is_ok_and(|wish| wish == "write");
    let screens = screens();
    for (name, text) in &screens {
        let path = folder.join(format!("{name}.txt"));
        if writes {
            std::fs::write(&path, text).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines().zip(stored.lines());
        let changed = lines.find(|(new, old)| new != old);
        assert!(
            *text == stored,
            "screens/{name}.txt differs, first in {changed:?}: if that is meant, run this test \
             with TRUEPUT_SCREENS=write"
        );
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), screens.len());
}
