//! A report claims no more than the rule for differences allows, however many results are read
//! together.

use crate::support::{contest, flat, repeats, report, spec, terminal, terminal_line, valid};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, RankingVerdict};
use trueput_findings::marks::{MarkKind, marks_of};
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::{Durability, Isolation, TrialRecord, Value};
use trueput_report::RunReport;
use trueput_report::answer::{AnswerText, Layout};

/// Rates that scatter by a few hundredths, and the same in another order.
const RATES: [f64; 5] = [1_980.0, 2_010.0, 2_050.0, 1_990.0, 2_030.0];
const TURNED: [f64; 5] = [2_030.0, 1_990.0, 2_050.0, 2_010.0, 1_980.0];

/// A lead that one comparison of five repeats claims and one of thirty does not.
const SMALL: f64 = 1.05;

/// A lead that one of thirty claims too.
const LARGE: f64 = 1.25;

/// Tiles of the page's first table.
const FASTEST: &str = "tile significant\">significant<";
const NO_DIFFERENCE: &str = "tile inconclusive\">inconclusive<";
const FOR_CERTAIN: &str = " leads: ";
const TOO_NOISY: &str = " show no difference between ";
const TOO_FEW: &str = " cannot distinguish ";
const SAME: &str = "are the same within 1 %";

/// Said of a difference that is larger than the repeats' scatter and not shown by so few.
const NOT_TOLD: &str = "tile few\">too few repeats<";

/// This many rankings, in each of which redb leads lmdb by that factor.
fn duels(rankings: u32, factor: f64) -> Run {
    let duel = |workers: u32| {
        let ahead = RATES.map(|rate| rate * factor);
        let redb = repeats(2 * workers, "redb", Durability::Sync, &ahead);
        let lmdb = repeats(2 * workers + 1, "lmdb", Durability::Sync, &TURNED);
        let mut both = [redb, lmdb].concat();
        for trial in &mut both {
            trial.spec.workers = workers;
        }
        both
    };
    report((1..=rankings).flat_map(duel).collect())
}

#[track_caller]
fn says(report: &Run, page: &str, not: &str) {
    let text = report.page();
    assert!(text.contains(page), "'{page}' is not said");
    assert!(!text.contains(not), "'{not}' is said");
}

#[test]
fn a_lead_that_one_comparison_shows_is_not_claimed_of_thirty() {
    let (alone, many) = (duels(1, SMALL), duels(30, SMALL));
    says(&alone, FASTEST, NO_DIFFERENCE);
    says(&many, NOT_TOLD, FASTEST);
    let (alone, many) = (terminal(&alone, 200), terminal(&many, 200));
    assert!(alone.contains(FOR_CERTAIN) && !alone.contains(TOO_NOISY));
    assert!(many.contains(TOO_FEW) && !many.contains(FOR_CERTAIN));
}

/// The sentences of the terminal about one ranking, on one line.
fn told(contenders: &[(&str, &[f64])]) -> String {
    terminal_line(&contest(contenders))
}

#[test]
fn a_difference_of_every_pair_that_three_repeats_cannot_show_is_not_called_noise() {
    let xfs = [1_390.0, 1_843.0, 1_500.0];
    let btrfs = [1_054.0, 833.0, 1_050.0];
    let said = told(&[("xfs", &xfs), ("btrfs", &btrfs)]);
    assert!(
        said.contains(TOO_FEW) && !said.contains(TOO_NOISY),
        "{said}"
    );
    assert_has!(
        said,
        "3 repeats cannot distinguish xfs from btrfs. Only differences above 9.8x are detectable \
         with these repeats."
    );
}

#[test]
fn what_lies_within_the_scatter_is_noise() {
    let said = told(&[("redb", &RATES), ("lmdb", &TURNED)]);
    assert!(
        said.contains(TOO_NOISY) && !said.contains(TOO_FEW),
        "{said}"
    );
}

#[test]
fn what_is_told_apart_by_less_than_a_claim_is_the_same() {
    let steady = [100.0, 100.01, 99.99, 100.0, 100.02];
    let hardly = steady.map(|rate| rate * 1.005);
    let said = told(&[("redb", &hardly), ("lmdb", &steady)]);
    assert!(said.contains(&format!("redb and lmdb {SAME}")), "{said}");
    assert!(
        !said.contains(TOO_FEW) && !said.contains(TOO_NOISY),
        "{said}"
    );
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
    let no_order = "No order: ";
    assert_has!(terminal_line(&refused), no_order);
    assert_has!(
        terminal_line(&refused),
        "differ by less than identical trials did"
    );
    assert!(!terminal_line(&ordered).contains(no_order));
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
    let verdict = page.find("No order: ").unwrap();
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

#[test]
fn a_large_lead_is_claimed_of_thirty() {
    says(&duels(30, LARGE), FASTEST, NO_DIFFERENCE);
}

#[test]
fn so_it_is_where_the_thirty_stand_in_one_ranking() {
    let others: Vec<_> = (0..30).map(|number| format!("engine{number}")).collect();
    let with = |factor: f64| {
        let ahead = RATES.map(|rate| rate * factor);
        let others = others.iter().map(|engine| (engine.as_str(), &TURNED[..]));
        let contenders: Vec<_> = std::iter::once(("redb", &ahead[..]))
            .chain(others)
            .collect();
        contest(&contenders)
    };
    says(&with(LARGE), FASTEST, NO_DIFFERENCE);
    says(&with(SMALL), NOT_TOLD, FASTEST);
}

#[test]
fn nobody_is_fastest_while_a_third_may_be_as_fast() {
    let second = RATES.map(|rate| rate / 2.0);
    let third = [500.0, 4_000.0, 900.0, 3_000.0, 950.0];
    let tied = contest(&[("redb", &RATES), ("lmdb", &second), ("sqlite", &third)]);
    says(&tied, NOT_TOLD, FASTEST);
    assert!(!terminal(&tied, 200).contains(FOR_CERTAIN));
}

#[test]
fn nobody_is_fastest_while_a_third_was_hardly_seen() {
    let second = RATES.map(|rate| rate / 2.0);
    let seen = contest(&[("redb", &RATES), ("lmdb", &second), ("sqlite", &[900.0])]);
    says(&seen, NOT_TOLD, FASTEST);
    assert!(!terminal(&seen, 200).contains(FOR_CERTAIN));
}

/// redb with so many values of a knob, each turn of which makes it faster by that factor.
fn turned(values: u32, factor: f64) -> String {
    let cells = (0..=values).flat_map(|value| {
        let rates = match value {
            0 => TURNED,
            _ => RATES.map(|rate| rate * factor),
        };
        let mut trials = repeats(value, "redb", Durability::Sync, &rates);
        for trial in &mut trials {
            let map_size = Value::Integer(1 << (20 + value));
            trial.spec.knobs.insert("map_size".to_owned(), map_size);
        }
        trials
    });
    let text = terminal(&report(cells.collect()), 200);
    let start = text.find("Effect of each knob").unwrap();
    let section = &text[start..];
    section[..section.find("redb does not support durability").unwrap()].to_owned()
}

#[test]
fn turns_of_a_knob_are_read_together_too() {
    assert!(turned(1, SMALL).contains("faster"), "{}", turned(1, SMALL));
    let many = turned(30, SMALL);
    assert!(!many.contains("faster"), "{many}");
    assert_has!(many, "no significant difference");
    assert!(turned(30, LARGE).contains("faster"));
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
    let of = |subject: &str| -> Vec<&String> {
        rows.iter().filter(|row| row.contains(subject)).collect()
    };
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

/// A run without an order in which redb states weaker isolation than lmdb, its rates being a little
/// higher or lower.
fn without_order(redb: &[f64], lmdb: &[f64]) -> Run {
    let mut run = contest(&[("redb", redb), ("lmdb", lmdb), ("fjall", lmdb)]);
    for trial in &mut run.trials {
        let is_weak = trial.spec.engine == "redb";
        let level = if is_weak {
            Isolation::ReadCommitted
        } else {
            Isolation::Serializable
        };
        trial.engine.as_mut().unwrap().isolation = Some(level);
    }
    run
}

#[test]
fn where_no_order_is_claimed_the_least_isolated_contender_is_named_and_no_other() {
    let (one, other) = (
        [100.0, 130.0, 110.0, 90.0, 120.0],
        [118.0, 95.0, 105.0, 125.0, 98.0],
    );
    // Whichever has the higher median, and although the rows are sorted by name.
    for run in [without_order(&one, &other), without_order(&other, &one)] {
        let answer = Answer::of(&run);
        let ranking = &answer.rankings[0];
        assert_eq!(ranking.verdict, RankingVerdict::NoOrder);
        let weaker = ranking.weaker_isolation.as_ref().unwrap();
        assert_eq!(weaker.contender, "redb");
        assert_eq!(weaker.stronger, ["lmdb", "fjall"].map(str::to_owned));
        // Nor is there a leader that a share could be of.
        assert_eq!(ranking.lead, None);
        assert!(ranking.rows.iter().all(|row| row.of_leader.is_none()));
        let text = flat(&answer.render(Layout::default(), &[]));
        assert_has!(
            text,
            "redb has weaker isolation (read-committed) than lmdb and fjall"
        );
        let full = flat(&terminal(&run, 100));
        assert_has!(
            full,
            "Isolation differs: redb runs at read-committed and permits anomalies that lmdb and \
             fjall prevent"
        );
    }
}

#[test]
fn a_mark_that_all_share_is_in_the_heading_and_in_no_sentence() {
    let mut run = without_order(&RATES, &[10.0, 10.1, 10.2, 10.1, 10.0]);
    for trial in &mut run.trials {
        trial.engine.as_mut().unwrap().workaround = Some("it does more".to_owned());
    }
    let text = flat(&Answer::of(&run).render(Layout::default(), &[]));
    assert_has!(
        text,
        "redb has weaker isolation (read-committed) than lmdb and fjall"
    );
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
fn the_longest_of_the_repeats_that_overran_explains_the_mark() {
    let mut run = contest(&[("lmdb", &[10.0, 10.1, 10.2])]);
    let marks = |run: &mut Run, elapsed_s: [f64; 3]| {
        for (trial, elapsed_s) in run.trials.iter_mut().zip(elapsed_s) {
            trial.spec.conditions.duration_s = Some(20.0);
            trial.measurement.as_mut().unwrap().elapsed_s = elapsed_s;
        }
        let marks = marks_of(&run.trials);
        let overrun = marks.into_iter().find(|it| it.kind == MarkKind::Overrun);
        overrun.map(|it| (it.label.into_owned(), it.explanation.into_owned()))
    };
    assert_eq!(marks(&mut run, [20.0, 23.8, 20.0]), None);
    let (label, explanation) = marks(&mut run, [24.2, 33.0, 23.8]).unwrap();
    assert_eq!(label, "overran");
    assert!(
        explanation.contains("its last operation ended after 33.0 s"),
        "{explanation}"
    );
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
