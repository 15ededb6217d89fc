//! How a page and a screen show verdicts, effects of knobs and marks.

use crate::support::{contest, flat, repeats, report, spec, terminal, terminal_line, valid};
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::{Durability, Isolation, TrialRecord, Value};
use trueput_report::RunReport;
use trueput_report::answer::{AnswerText, Layout};

/// Rates that scatter by a few hundredths, and the same in another order.
const RATES: [f64; 5] = [1_980.0, 2_010.0, 2_050.0, 1_990.0, 2_030.0];
const TURNED: [f64; 5] = [2_030.0, 1_990.0, 2_050.0, 2_010.0, 1_980.0];

/// The sentences of the terminal about one ranking, on one line.
fn told(contenders: &[(&str, &[f64])]) -> String {
    terminal_line(&contest(contenders))
}

#[test]
fn contenders_whose_names_have_commas_do_not_run_together() {
    let said = told(&[
        ("rocksdb, 0. base", &RATES),
        ("rocksdb, 1. cache", &TURNED),
        ("rocksdb, 2. log", &TURNED),
    ]);
    let names = "between rocksdb, 0. base; rocksdb, 1. cache and rocksdb, 2. log";
    assert!(said.contains(names), "{said}");
}

#[test]
fn a_run_whose_noise_drowns_every_difference_has_no_order() {
    let (one, other) = (
        [100.0, 130.0, 110.0, 90.0, 120.0],
        [118.0, 95.0, 105.0, 125.0, 98.0],
    );
    let (refused, ordered) = (
        contest(&[("redb", &one), ("lmdb", &other)]),
        contest(&[("redb", &RATES), ("lmdb", &TURNED)]),
    );
    // Best first it would be redb, with 100 % of the best.
    let names = |text: &str| text.find(" lmdb").unwrap() < text.find(" redb").unwrap();
    let table = |report: &Run| {
        let text = terminal(report, 200);
        text[text.find("contender  ").unwrap()..].replace('\n', " ")
    };
    assert!(names(&table(&refused)) && !names(&table(&ordered)));
    let of_best = |report: &Run| terminal(report, 200).contains("of best");
    assert!(of_best(&ordered) && !of_best(&refused));
    let drawn = "Sorted by name: these contenders have no order.";
    assert!(refused.page().contains(drawn) && !ordered.page().contains(drawn));
    let ranks = "class=\"rank\"";
    assert!(ordered.page().contains(ranks) && !refused.page().contains(ranks));
    let tile = "<span class=\"tile none\">no order</span>";
    assert!(refused.page().contains(tile) && !ordered.page().contains(tile));
}

#[test]
fn how_sure_an_order_is_stands_open_before_its_table_however_many_notes_there_are() {
    let names: Vec<_> = (0..20).map(|number| format!("engine{number}")).collect();
    let wild = [500.0, 4_000.0, 900.0, 3_000.0, 950.0];
    let all: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), &wild[..]))
        .collect();
    let page = contest(&all).page();
    let ranking = page.find("<section id=\"ranking-1\"").unwrap();
    let verdict = ranking + page[ranking..].find("No order: ").unwrap();
    let (before, after) = page.split_at(verdict);
    assert!(
        after.contains("<details class=\"notes\">"),
        "nothing is folded"
    );
    let opened = before.matches("<details").count();
    assert_eq!(opened, before.matches("</details>").count(), "it is folded");
    let section = &before[before.rfind("<section").unwrap()..];
    assert!(!section.contains("<table"), "it stands after its table");
}

/// The rows of the table of knobs, with the column that distinguishes them if there is one.
fn turns(trials: Vec<TrialRecord>) -> Vec<String> {
    let text = report(trials).render(trueput_report::Format::Markdown, Default::default());
    let start = text.find("Effect of each knob").unwrap();
    let rows = text[start..]
        .lines()
        .skip(1)
        .skip_while(|line| !line.starts_with("| "));
    let rows = rows.take_while(|line| line.starts_with("| "));
    rows.map(str::to_owned).collect()
}

#[test]
fn turns_of_a_knob_that_look_the_same_say_at_what_else_they_stood() {
    let trial = |cell: u32, global: i64, journal: i64| {
        let mut spec = spec(cell, "lmdb", Durability::Buffered, 1);
        let knobs = [("global_buffers", global), ("journal_buffers", journal)];
        spec.knobs = knobs
            .map(|(name, value)| (name.to_owned(), Value::Integer(value)))
            .into();
        valid(spec, 1_000.0 * f64::from(cell + 1))
    };
    let four = vec![
        trial(0, 1_000, 128),
        trial(1, 1_000, 2_000),
        trial(2, 5_000, 128),
        trial(3, 5_000, 2_000),
    ];
    let rows = turns(four.clone());
    let of =
        |name: &str| -> Vec<&String> { rows.iter().filter(|row| row.contains(name)).collect() };
    let global = of("lmdb global_buffers");
    assert_eq!(global.len(), 2, "{rows:#?}");
    assert!(
        global[0].contains("| journal_buffers=128 | 3.00 ×"),
        "{rows:#?}"
    );
    assert!(
        global[1].contains("| journal_buffers=2000 | 2.00 ×"),
        "{rows:#?}"
    );
    let page = report(four.clone()).page();
    assert!(
        page.contains("4 workers; journal_buffers=2000"),
        "the chart tells them apart too"
    );
    // Control: without another equal change nothing is added.
    let two = turns(vec![four[0].clone(), four[2].clone()]);
    assert!(
        !two.iter()
            .any(|row| row.contains("other parameters") || row.contains("journal")),
        "{two:#?}"
    );
}

#[test]
fn a_mark_that_all_share_is_in_the_heading_and_in_no_sentence() {
    let mut run = contest(&[("redb", &RATES), ("lmdb", &[10.0, 10.1, 10.2, 10.1, 10.0])]);
    for trial in &mut run.trials {
        let engine = trial.engine.as_mut().unwrap();
        engine.workaround = Some("it does more".to_owned());
        let is_weak = trial.spec.engine == "redb";
        engine.isolation = Some(if is_weak {
            Isolation::ReadCommitted
        } else {
            Isolation::Serializable
        });
    }
    let text = flat(&Answer::of(&run).render(Layout::default(), &[]));
    assert_has!(text, "redb has weaker isolation (read-committed) than lmdb");
}

#[test]
fn a_mark_without_room_is_a_sign_that_a_line_below_explains() {
    let mut run = contest(&[
        ("berkeleydb", &RATES),
        ("lmdb", &[10.0, 10.1, 10.2, 10.1, 10.0]),
    ]);
    for trial in &mut run.trials {
        let engine = trial.engine.as_mut().unwrap();
        if trial.spec.engine == "berkeleydb" {
            engine.workaround = Some("it does more".to_owned());
            trial.measurement.as_mut().unwrap().flush_evidence = Some(flush_evidence());
        }
    }
    let at = |width: usize| {
        let layout = Layout {
            width,
            ..Layout::default()
        };
        Answer::of(&run).render(layout, &[])
    };
    let narrow = at(60);
    assert_has!(narrow, "1  berkeleydb*  ");
    assert_has!(
        flat(&narrow),
        "* flushes not verified: berkeleydb; workaround: berkeleydb."
    );
    let mut rows = narrow.lines().filter(|line| line.contains("berkeleydb"));
    assert!(rows.all(|row| !row.contains('…')), "{narrow}");
    // The control: with room, the marks are whole.
    let wide = at(160);
    assert_has!(wide, "1  berkeleydb [flushes not verified, workaround]  ");
    assert!(!wide.contains("* flushes"), "{wide}");
}

#[test]
fn a_mark_that_all_contenders_have_needs_no_sign_at_a_long_name() {
    let long = "an-engine-with-a-name-that-is-much-too-long-for-a-narrow-table";
    let steady = [10.0, 10.1, 10.2, 10.1, 10.0];
    let mut run = contest(&[(long, &RATES), ("berkeleydb", &steady)]);
    let at = |run: &Run| {
        let layout = Layout {
            width: 60,
            ..Layout::default()
        };
        flat(&Answer::of(run).render(layout, &[]))
    };
    for trial in &mut run.trials {
        trial.measurement.as_mut().unwrap().flush_evidence = Some(flush_evidence());
    }
    let text = at(&run);
    assert_has!(text, "[flushes not verified]");
    assert!(!text.contains("* flushes"), "{text}");
    // One of them has another mark besides.
    for trial in &mut run.trials {
        if trial.spec.engine == long {
            trial.engine.as_mut().unwrap().workaround = Some("it does more".to_owned());
        }
    }
    let text = at(&run);
    assert_has!(text, "* workaround: an-engine-with-a-name");
    assert!(!text.contains("* flushes"), "{text}");
}

#[test]
fn marks_of_many_explanations_leave_room_for_rankings() {
    let overran = |count: u32, step: f64| {
        let trials = (0..count).map(|number| {
            let engine = format!("engine{number}");
            let rate = 10_000.0 / f64::from(1 + number);
            let mut trial = valid(spec(number, &engine, Durability::Sync, 1), rate);
            trial.spec.conditions.duration_s = Some(20.0);
            let measured = trial.measurement.as_mut().unwrap();
            measured.elapsed_s = 30.0 + step * f64::from(number);
            trial
        });
        let mut run = report(trials.collect());
        run.end.as_mut().unwrap().complete = false;
        let closing = ["To go on: trueput".to_owned()];
        Answer::of(&run).render(Layout::default(), &closing)
    };
    let text = overran(30, 1.0);
    let legends = text.lines().filter(|line| line.starts_with("[overran]: "));
    let meaning = "[overran]: it ran for much longer than it was to; --full explains it.";
    assert_eq!(legends.collect::<Vec<_>>(), [meaning], "{text}");
    assert_has!(text, "\n1  engine5 ");
    assert!(text.ends_with("To go on: trueput\n"), "{text}");
    // The control: one explanation of all is given.
    let text = flat(&overran(30, 0.0));
    let meaning = "[overran]: it was to run for 20s (--duration); its last operation ended after \
        30.0 s.";
    assert_has!(text, meaning);
}

/// Evidence of flushes that nothing counted.
fn flush_evidence() -> FlushEvidence {
    FlushEvidence {
        commits: 1,
        sessions: 1,
        devices: Vec::new(),
        writes: 0,
        flushes: None,
        basis: None,
        verdict: FlushVerdict::NotCounted,
        reason: Some("nothing counts".to_owned()),
    }
}

#[test]
fn sizes_in_the_effects_of_knobs_have_units_and_counts_have_none() {
    let mut trials = repeats(0, "lmdb", Durability::Sync, &RATES);
    trials.extend(repeats(1, "lmdb", Durability::Sync, &TURNED));
    trials.extend(repeats(2, "lmdb", Durability::Sync, &TURNED));
    for trial in &mut trials {
        let knobs = &mut trial.spec.knobs;
        let (size, readers) = match trial.spec.cell {
            0 => (1 << 30, 65_536),
            1 => (64 << 20, 65_536),
            _ => (1 << 30, 131_072),
        };
        knobs.insert("map_size".to_owned(), Value::Integer(size));
        knobs.insert("max_readers".to_owned(), Value::Integer(readers));
    }
    let text = terminal(&report(trials), 300);
    let section = &text[text.find("Effect of each knob").unwrap()..];
    assert_has!(section, "64.0 MiB", "1.00 GiB", "131072", "65536");
}
