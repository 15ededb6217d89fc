//! The answer on one screen: what it says, and that it fits.

use crate::support::{self, contest, failed, flat, manifest, null, report, spec, valid};
use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_findings::answer::{Answer, NextStep, RankingVerdict, Standings, UnrankedReason};
use trueput_record::folder::DamagedLine;
use trueput_record::{Durability, Outcome, TrialRecord, Value, WorkerKind};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::answer::{round_lines, standings};
use trueput_report::text_width::width;
use trueput_report::{Format, RunReport, Style, merge};

/// Repeats of a contender whose rates scatter by a hundredth.
fn cell(cell: u32, engine: &str, level: Durability, rate: f64, repeats: u32) -> Vec<TrialRecord> {
    let rates = (1..=repeats).map(|repeat| rate * (1.0 + 0.01 * f64::from(repeat % 3)));
    support::repeats(cell, engine, level, &rates.collect::<Vec<_>>())
}

/// Repeats of a contender whose rates scatter by a tenth, each contender's in a way of its own.
fn noisy(cell: u32, engine: &str, level: Durability, rate: f64) -> Vec<TrialRecord> {
    let part = |repeat: u32| 0.95 + f64::from((repeat * (7 + cell)) % 11) / 100.0;
    support::repeats(
        cell,
        engine,
        level,
        &[1, 2, 3, 4, 5].map(|repeat| rate * part(repeat)),
    )
}

/// The answer of a run on one screen, joined to one line.
fn answered(run: &Run) -> String {
    flat(&Answer::of(run).render(Layout::default(), &[]))
}

/// A run of so many rankings of so many contenders each, with names as long as that.
pub(super) fn large(rankings: u32, contenders: u32, name: usize) -> Run {
    let mut trials = Vec::new();
    for ranking in 0..rankings {
        for contender in 0..contenders {
            let engine = format!("engine{contender}{}", "x".repeat(name));
            let number = ranking * contenders + contender;
            let rate = 10_000.0 / f64::from(1 + contender);
            let mut trial = valid(spec(number, &engine, Durability::Sync, 1), rate);
            let finish = Value::Integer(1_000 + i64::from(ranking));
            trial.spec.settings.insert("finish".to_owned(), finish);
            trials.push(trial);
        }
    }
    report(trials)
}

fn assert_fits(text: &str, layout: Layout, subject: &str) {
    let lines: Vec<_> = text.lines().collect();
    assert!(!text.contains("\n\n\n"), "{subject}: a gap\n{text}");
    assert!(
        lines.len() <= layout.lines,
        "{subject}: {} lines\n{text}",
        lines.len()
    );
    // A path and a command are whole, however long, so that they can be copied.
    let is_whole = |line: &&str| {
        ["  /", "  trueput "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    for line in lines.into_iter().filter(|line| !is_whole(line)) {
        let wide = line.chars().count();
        assert!(wide <= layout.width, "{subject}: {wide} columns: {line}");
    }
}

/// A run of several levels, with failures.
pub fn small_run() -> Run {
    let mut trials = Vec::new();
    for (number, engine, level, rate) in [
        (0, "tokudb", Durability::Sync, 7_173.0),
        (1, "rocksdb", Durability::Sync, 8_469.0),
        (2, "lmdb", Durability::Sync, 3_770.0),
        (3, "lmdb", Durability::Process, 173_266.0),
        (4, "sqlite", Durability::Process, 186_000.0),
        (5, "fjall", Durability::Async, 229_384.0),
    ] {
        trials.extend(noisy(number, engine, level, rate));
    }
    trials.push(null(spec(6, "null", Durability::None, 1), 5e6));
    for repeat in 1..=2 {
        let dead = spec(7, "canopydb", Durability::Sync, repeat);
        trials.push(failed(dead, "worker 2 was killed by SIGKILL"));
    }
    report(trials)
}

#[test]
fn the_answer_of_a_small_run_fits_a_lower_screen() {
    let closing = [
        "run folder: results/1".to_owned(),
        "page: results/1/report.html".to_owned(),
    ];
    let answer = Answer::of(&small_run());
    for lines in 16..40 {
        let layout = Layout {
            lines,
            ..Layout::default()
        };
        assert_fits(&answer.render(layout, &closing), layout, "a lower screen");
    }
}

#[test]
fn a_mark_that_all_contenders_have_is_said_once_in_the_heading() {
    let marked = |engines: &[&str]| {
        let mut trials = Vec::new();
        for (number, engine) in (0..).zip(["lmdb", "redb", "fjall"]) {
            trials.extend(noisy(number, engine, Durability::Sync, 1_000.0));
        }
        for trial in &mut trials {
            if engines.contains(&trial.spec.engine.as_str()) {
                let engine = trial.engine.as_mut().unwrap();
                engine.workaround = Some("each put looks up first".to_owned());
            }
        }
        Answer::of(&report(trials)).render(Layout::default(), &[])
    };
    let all = marked(&["lmdb", "redb", "fjall"]);
    let legend = "[workaround]: extra work of the driver";
    assert_eq!(
        all.replace(legend, "").matches("workaround").count(),
        1,
        "{all}"
    );
    assert!(
        all.contains(legend) && !marked(&[]).contains(legend),
        "{all}"
    );
    // The heading has no room for the promise: a legend says it.
    let promise = "\nsync: every acknowledged commit survives lost power.\n";
    assert_eq!(all.matches(promise).count(), 1, "{all}");
    let heading = all.lines().find(|line| line.starts_with("sync"));
    assert!(heading.unwrap().ends_with(" [workaround]"), "{all}");
    let some = marked(&["lmdb", "fjall"]);
    let heading = some.lines().find(|line| line.starts_with("sync"));
    assert!(!heading.unwrap().contains("workaround"), "{some}");
    let has_row = |name: &str| some.lines().any(|line| line.contains(name));
    assert!(
        has_row("lmdb [workaround]") && has_row("fjall [workaround]"),
        "{some}"
    );
}

#[test]
fn the_answer_never_takes_more_than_its_lines_and_columns() {
    let path = format!("run folder: /{}", "long/".repeat(30));
    for (rankings, contenders) in [(1, 1), (1, 2), (1, 30), (2, 13), (3, 11), (7, 4), (12, 2)] {
        check_sizes(rankings, contenders, &path);
    }
    for (rankings, contenders) in [(20, 30), (38, 2), (60, 1), (200, 2)] {
        check_sizes(rankings, contenders, &path);
    }
}

fn check_sizes(rankings: u32, contenders: u32, path: &str) {
    for name in [0, 70] {
        let mut report = large(rankings, contenders, name);
        for reason in 0..rankings.min(9) {
            let dead = spec(9_000 + reason, "dead", Durability::Process, 1);
            report
                .trials
                .push(failed(dead, &format!("{reason} {}", "why ".repeat(60))));
        }
        report
            .trials
            .extend(cell(8_000, "null", Durability::None, 9e6, 3));
        let answer = Answer::of(&report);
        for width in [40, 63, 80, 120, 200] {
            let layout = Layout {
                width,
                lines: 40,
                color: false,
                cuts: true,
            };
            let closing = [path.to_owned(), path.to_owned()];
            let text = answer.render(layout, &closing);
            let subject = format!("{rankings} of {contenders}, names {name}, width {width}");
            assert_fits(&text, layout, &subject);
            assert!(text.contains("dead"), "{subject}\n{text}");
            assert_eq!(text.matches("run folder:").count(), 2, "{subject}\n{text}");
            let folder = &path["run folder: ".len()..];
            assert_eq!(text.matches(folder).count(), 2, "{subject}\n{text}");
            if contenders > 1 {
                assert!(text.contains("engine0"), "{subject}\n{text}");
            }
        }
    }
}

#[test]
fn a_path_is_whole_however_long_it_is_and_however_much_failed() {
    let mut run = large(3, 4, 0);
    for reason in 0..9 {
        let dead = spec(9_000 + reason, "dead", Durability::Process, 1);
        run.trials
            .push(failed(dead, &format!("{reason} {}", "why ".repeat(60))));
    }
    run.manifest.skipped = vec!["skipped ".repeat(50)];
    let path = format!("/{}/report.html", "long/".repeat(300));
    for (width, lines) in [(40, 20), (80, 20), (80, 40), (200, 40)] {
        let layout = Layout {
            width,
            lines,
            color: false,
            cuts: true,
        };
        let closing = ["run folder: results/1".to_owned(), format!("page: {path}")];
        let text = Answer::of(&run).render(layout, &closing);
        assert!(text.ends_with(&format!("\npage:\n  {path}\n")), "{text}");
        let closed = 1 + 1 + (path.len() + 2).div_ceil(width);
        let taken = text
            .lines()
            .map(|line| line.chars().count().div_ceil(width).max(1));
        assert!(taken.sum::<usize>() <= lines.max(closed), "{width}: {text}");
    }
}

#[test]
fn what_is_left_out_of_a_ranking_without_order_has_no_range() {
    let wild = [500.0, 4_000.0, 900.0, 3_000.0, 950.0];
    let run = |best: f64| {
        let trials = (0..60).flat_map(|contender: u32| {
            let part = if contender == 0 { best } else { 1.0 };
            let engine = format!("engine{contender}");
            let rates = wild.map(|rate| rate * part);
            support::repeats(contender, &engine, Durability::Sync, &rates)
        });
        Answer::of(&report(trials.collect()))
    };
    let answer = run(1.0);
    assert_eq!(answer.rankings[0].verdict, RankingVerdict::NoOrder);
    let text = answer.render(Layout::default(), &[]);
    assert!(
        text.contains(" more; --full") && !text.contains(" % of engine"),
        "{text}"
    );
    assert!(answer.rankings[0].rows.iter().all(|row| row.rank.is_none()));
    // Control: with an order it has a leader.
    let led = run(50.0).render(Layout::default(), &[]);
    assert_has!(led, " % of engine0); --full");
}

#[test]
fn names_in_chinese_take_two_columns_a_character() {
    let mut trials = cell(0, "数据库引擎一号", Durability::Sync, 8_000.0, 3);
    trials.extend(cell(1, "lmdb", Durability::Sync, 4_000.0, 3));
    let text = Answer::of(&report(trials)).render(Layout::default(), &[]);
    let ends = |name: &str| {
        let line = text.lines().find(|line| {
            line.contains(name) && line.contains(" updates")
                || line.trim_start().starts_with(['1', '2']) && line.contains(name)
        });
        let line = line.unwrap_or_else(|| panic!("{text}"));
        let rate = line.find(",0").unwrap();
        width(&line[..rate])
    };
    assert_eq!(ends("数据库引擎一号"), ends("lmdb"), "{text}");
    let wide = text.lines().filter(|line| width(line) > 80);
    assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn what_does_not_fit_is_counted() {
    let layout = Layout::default();
    let all = Answer::of(&large(1, 12, 0)).render(layout, &[]);
    assert!(all.contains("engine11") && !all.contains('…'), "{all}");
    let first = Answer::of(&large(4, 20, 0)).render(layout, &[]);
    assert_has!(first, "more (5 to", "% of engine0); --full");
    let lines = Answer::of(&large(30, 3, 0)).render(layout, &[]);
    assert!(
        lines.contains("finish=1029") && !lines.contains("contender  "),
        "{lines}"
    );
    let counted = Answer::of(&large(200, 2, 0)).render(layout, &[]);
    assert_has!(counted, "more rankings; --full");
}

#[test]
fn a_ranking_of_one_contender_is_none() {
    let trials = cell(0, "lmdb", Durability::Sync, 5_000.0, 3);
    let answer = Answer::of(&report(trials));
    assert!(answer.rankings.is_empty());
    assert_eq!(answer.not_ranked[0].reason, UnrankedReason::OnlyContender);
    let text = answer.render(Layout::default(), &[]);
    assert_has!(text, "only contender at these settings");
    assert_has!(text, "5,050 updates/s");
}

#[test]
fn settings_of_contenders_without_others_are_whole_on_a_narrow_terminal() {
    let layout = Layout {
        width: 60,
        ..Layout::default()
    };
    let text = Answer::of(&large(3, 1, 0)).render(layout, &[]);
    assert_has!(text, "only contender at these settings");
    for finish in 1_000..1_003 {
        assert_has!(text, &format!("sync, threen1, …, finish={finish}"));
    }
}

#[test]
fn a_report_writes_a_single_contender_in_one_line_with_every_figure() {
    let trials = cell(0, "lmdb", Durability::Sync, 5_000.0, 3);
    let alone = report(trials.clone());
    let beaten = cell(1, "sqlite", Durability::Sync, 2_000.0, 3);
    let two = report([trials, beaten].concat());
    for format in [Format::Terminal, Format::Markdown] {
        let text = alone.render(format, Style::default());
        let text = text
            .split_once("none: nothing")
            .map_or(text.as_str(), |(_, after)| after);
        let line = flat(text);
        let said = "Only contender at these settings: lmdb: version 1.2.3, workers processes, \
            updates/s 5,050, min–max ";
        assert!(
            line.contains(said) && line.contains("CPU/operation "),
            "{format}: {line}"
        );
        let is_ranked = |text: &str| text.contains("contender  ") || text.contains("| contender |");
        assert!(!is_ranked(text), "{format}: {text}");
        assert!(is_ranked(&two.render(format, Style::default())), "{format}");
    }
}

#[test]
fn runs_side_by_side_name_what_tells_their_cells_apart() {
    let names = |reports: &[Run]| -> Vec<String> {
        let text = merge::render(reports, Format::Markdown, Style::default());
        let rows = text
            .lines()
            .filter(|line| line.starts_with("| lmdb, threen1"));
        let names = rows.map(|line| line.split('|').nth(1).unwrap_or_default().trim().to_owned());
        names.collect()
    };
    let with = |finish: [i64; 2]| {
        let trials = (0..).zip(finish).map(|(cell, finish)| {
            let mut trial = valid(spec(cell, "lmdb", Durability::Sync, 1), 1_000.0);
            let finish = Value::Integer(finish);
            trial.spec.settings.insert("finish".to_owned(), finish);
            trial
        });
        report(trials.collect())
    };
    let both = [with([1_000, 2_000]), with([1_000, 3_000])];
    let told = names(&both);
    let name = |finish: u32| format!("lmdb, threen1, sync, 4 workers, finish={finish}");
    assert_eq!(told, [name(1_000), name(1_000), name(2_000), name(3_000)]);
    let screen = merge::answer(&both, Layout::default(), "trueput");
    for finish in [1_000, 2_000, 3_000] {
        assert!(screen.contains(&format!("finish={finish}")), "{screen}");
    }
    let narrow = Layout {
        width: 40,
        ..Layout::default()
    };
    let screen = merge::answer(&both, narrow, "trueput");
    assert_has!(screen, "\nEverything:\n  trueput report results/");
    assert!(screen.ends_with(" --full\n"), "{screen}");
    // The control: what is the same everywhere is in no name.
    let same = names(&[with([1_000, 1_000]), with([1_000, 1_000])]);
    assert!(same.iter().all(|name| !name.contains("finish")), "{same:?}");
}

/// The answer for two contenders with these rates, as one text.
fn of_two(first: &[f64], second: &[f64]) -> String {
    answered(&contest(&[("lmdb", first), ("redb", second)]))
}

#[test]
fn shares_are_the_mean_ratios_of_pairs_and_rates_are_called_medians() {
    // By medians redb is behind fjall; repeat by repeat it is ahead.
    let text = answered(&contest(&[
        ("lmdb", &[100.0, 200.0, 300.0]),
        ("fjall", &[10.0, 90.0, 100.0]),
        ("redb", &[80.0, 80.0, 240.0]),
    ]));
    assert_has!(text, "redb 80.0 63 %", "fjall 90.0 25 %");
    let place = |name: &str| text.find(name).unwrap();
    assert!(place("redb 80.0") < place("fjall 90.0"), "{text}");
    assert_has!(text, "Rates are medians; rate/best is the mean ratio");
    let alike = of_two(&[100.0; 3], &[90.0; 3]);
    assert!(!alike.contains("Rates are medians"), "{alike}");
}

#[test]
fn what_was_not_verified_is_named_and_no_head_says_otherwise() {
    let mut trials = noisy(0, "lmdb", Durability::Sync, 1_000.0);
    trials.extend(noisy(1, "redb", Durability::Sync, 500.0));
    trials[9].measurement.as_mut().unwrap().lacks_histograms = true;
    let text = answered(&report(trials));
    assert_has!(text, "10 trials, all valid; 1 not verified");
    assert_has!(
        text,
        "unverified: 1 trial of redb [record not verified]: its histograms are"
    );
}

#[test]
fn what_can_be_changed_is_told_first_of_what_was_skipped() {
    let mut report = report(noisy(0, "lmdb", Durability::Sync, 1_000.0));
    report
        .manifest
        .skipped
        .push("xfs needs mkfs.xfs".to_owned());
    let text = answered(&report);
    assert_has!(text, "Skipped (2): xfs needs mkfs.xfs; redb does not");
    assert!(!text.contains("…; --full"), "{text}");
    let narrow = Layout {
        width: 40,
        ..Layout::default()
    };
    let cut = Answer::of(&report).render(narrow, &[]);
    assert_has!(cut, "Skipped (2): xfs needs mkfs.xfs", "…; --full\n");
}

#[test]
fn what_all_trials_share_and_is_no_default_is_said_at_the_head() {
    let mut trials = noisy(0, "lmdb", Durability::Sync, 1_000.0);
    for trial in &mut trials {
        trial.spec.conditions.memory_bytes = Some(256 << 20);
        trial
            .spec
            .settings
            .insert("block".to_owned(), Value::Integer(7));
    }
    let mut report = report(trials);
    let changed = vec!["block".to_owned()];
    report.manifest.changed_settings = [("threen1".to_owned(), changed)].into();
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert_has!(text, "\nWith block=7, memory=256 MiB.\n");
    report.manifest.cache_bytes = Some(1 << 30);
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert_has!(text, "\nWith block=7, memory=256 MiB, cache=1GiB.\n");
}

#[test]
fn a_mix_shows_the_latency_of_its_slowest_kind() {
    let mut trials = noisy(0, "lmdb", Durability::Sync, 1_000.0);
    trials.extend(noisy(1, "redb", Durability::Sync, 500.0));
    for trial in &mut trials {
        let operations = &mut trial.measurement.as_mut().unwrap().operations;
        let mut read = operations[0].clone();
        "read".clone_into(&mut read.kind);
        read.latency.p99_ns /= 2;
        operations.insert(0, read);
    }
    let mut report = report(trials);
    report.manifest.headlines.clear();
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert_has!(text, "reads/s", "p99 update");
}

#[test]
fn an_interval_that_says_nothing_is_not_shown() {
    let wild = of_two(&[10.0, 9e6, 9e6], &[9e6, 10.0, 10.0]);
    assert_has!(
        wild,
        "3 repeats cannot distinguish",
        "Not even a difference of 100x is detectable with these repeats."
    );
    assert!(!wild.contains("999"), "{wild}");
}

#[test]
fn engines_with_threads_are_named_where_others_have_processes() {
    let mut trials = noisy(0, "lmdb", Durability::Sync, 1_000.0);
    trials.extend(noisy(1, "redb", Durability::Sync, 900.0));
    let alike = answered(&report(trials.clone()));
    assert!(!alike.contains("Workers are"), "{alike}");
    for trial in trials
        .iter_mut()
        .filter(|trial| trial.spec.engine == "redb")
    {
        trial.spec.worker_kind = WorkerKind::Threads;
    }
    let mixed = answered(&report(trials));
    assert_has!(mixed, "Workers are processes; threads for redb");
}

#[test]
fn more_repeats_are_proposed_where_contenders_are_not_told_apart() {
    let mut trials = cell(0, "rocksdb", Durability::Sync, 8_000.0, 1);
    trials.extend(cell(1, "tokudb", Durability::Sync, 7_900.0, 1));
    let mut report = report(trials);
    let command = ["trueput", "run", "a plan.toml", "--repeat", "1"];
    report.manifest.host.program.command = command.map(str::to_owned).into();
    let answer = Answer::of(&report);
    let [NextStep::Decide { more_s, command }] = answer.next_steps.as_slice() else {
        panic!("{:?}", answer.next_steps);
    };
    // One repeat does not tell how long another takes.
    assert_eq!(*more_s, None);
    let command = command.join(" ");
    let folder = "results/20261121T204459Z-first-look";
    assert_eq!(command, format!("trueput run --resume {folder} --decide"));
    let narrow = Layout {
        width: 40,
        ..Layout::default()
    };
    let text = answer.render(narrow, &[]);
    assert_has!(text, &format!("\nTo distinguish them:\n  {command}\n"));
    // Neither is shown to be slower: both have the first rank.
    let ranks = |text: &str| text.lines().filter(|line| line.starts_with("1  ")).count();
    assert_eq!(ranks(&text), 2, "{text}");
    assert_eq!(ranks(&report.render(Format::Terminal, Style::default())), 2);
}

#[test]
fn every_report_of_a_run_finds_the_same_in_the_same_words_and_proposes_the_same() {
    let report = contest(&[
        ("rocksdb", &[8_000.0, 9_900.0, 8_500.0, 9_500.0]),
        ("tokudb", &[7_900.0, 6_000.0, 7_000.0, 5_900.0]),
    ]);
    let answer = Answer::of(&report);
    let screen = flat(&answer.render(
        Layout {
            width: 200,
            ..Layout::default()
        },
        &[],
    ));
    let [NextStep::Decide { command, .. }] = answer.next_steps.as_slice() else {
        panic!("{:?}", answer.next_steps);
    };
    let option = &command[command.len() - 1];
    assert_eq!(option, "--decide");
    let from = screen
        .find("Inconclusive: 4 repeats cannot distinguish")
        .unwrap();
    let end = "are detectable with these repeats.";
    let finding = &screen[from..from + screen[from..].find(end).unwrap() + end.len()];
    let disturbed = "Busy machine: identical trials differed by";
    assert!(
        screen.contains(disturbed) && screen.contains(option.as_str()),
        "{screen}"
    );
    let style = Style::default();
    let page = report.page();
    for (name, text) in [
        ("terminal", flat(&report.render(Format::Terminal, style))),
        ("Markdown", flat(&report.render(Format::Markdown, style))),
        ("page", flat(&page)),
    ] {
        for said in [finding, disturbed, option] {
            assert!(text.contains(said), "{name} lacks '{said}': {text}");
        }
    }
    let json = report.render(Format::Json, style);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let words = json["next_steps"][0]["command"].as_array().unwrap();
    assert_eq!(words.last().unwrap(), option.as_str());
}

#[test]
fn a_damaged_line_is_named_and_its_trial_is_run_again() {
    let all = noisy(0, "lmdb", Durability::Sync, 1_000.0);
    let mut report = report(all[..4].to_vec());
    report.manifest = manifest(&all);
    report.damaged.push(DamagedLine {
        line: 5,
        message: "EOF".to_owned(),
    });
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert_has!(text, "Line 5 of trials.jsonl is damaged and left out.");
    assert_has!(text, "trueput run --resume");
    report.damaged.clear();
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert!(!text.contains("damaged"), "{text}");
}

#[test]
fn an_unfinished_run_is_continued_first() {
    let trials = cell(0, "rocksdb", Durability::Sync, 8_000.0, 2);
    let mut report = report(trials);
    report.manifest = manifest(&cell(0, "rocksdb", Durability::Sync, 8_000.0, 3));
    report.end = None;
    let text = Answer::of(&report).render(Layout::default(), &[]);
    assert_has!(text, "3 trials, 2 valid, 1 not run");
    assert_has!(text, "trueput run --resume results/");
}

#[test]
fn standings_name_each_ranking_by_what_tells_it_apart() {
    let mut trials = cell(0, "rocksdb", Durability::Sync, 8_469.0, 1);
    trials.extend(cell(1, "tokudb", Durability::Sync, 7_173.0, 1));
    let lines = standings(&Answer::of(&report(trials)), 100);
    assert_eq!(lines, ["sync: rocksdb 8,554/s, tokudb 7,245/s"]);
    let lines = standings(&Answer::of(&large(12, 2, 0)), 60);
    assert_eq!(lines.len(), 8);
    assert!(
        lines.iter().all(|line| line.chars().count() <= 60),
        "{lines:?}"
    );
    let distinct: BTreeSet<_> = lines.iter().collect();
    assert_eq!(distinct.len(), lines.len(), "{lines:?}");
}

#[test]
fn a_round_is_complete_once_every_contender_has_one_more_repeat() {
    let mut trials = cell(0, "rocksdb", Durability::Sync, 8_469.0, 2);
    trials.extend(cell(1, "tokudb", Durability::Sync, 7_173.0, 2));
    let plan = manifest(&trials);
    let folder = std::path::Path::new("results/1");
    let [first, second, third, fourth] = <[TrialRecord; 4]>::try_from(trials).unwrap();
    // A resumed run: the first contender's first repeat ended before.
    let mut standings = Standings::new(folder, &plan, vec![first]);
    let mut interrupted = third.clone();
    interrupted.outcome = Outcome::Interrupted;
    interrupted.measurement = None;
    assert_eq!(standings.add(interrupted), None);
    let round = standings.add(third).unwrap();
    assert_eq!((round.number, round.of), (1, Some(2)));
    let lines = round_lines(round, &standings.answer(), 100);
    assert_eq!(
        lines,
        ["round 1 of 2: sync: rocksdb 8,554/s, tokudb 7,245/s"]
    );
    assert_eq!(standings.add(second), None);
    assert_eq!(standings.add(fourth).unwrap().number, 2);
    let table = standings.answer().render_rankings(Layout::default());
    assert!(
        table.starts_with("sync: every acknowledged commit"),
        "{table}"
    );
    assert_has!(table, "cannot distinguish rocksdb from tokudb");
}
