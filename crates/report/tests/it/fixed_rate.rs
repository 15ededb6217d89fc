//! Rankings of open loops that were all asked for one rate.

use crate::support::{self, flat, report, spec, terminal, texts, valid};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, RankingVerdict, RowVerdict};
use trueput_findings::compare::{Selector, Side, SideComparison, compare_sides};
use trueput_findings::knob_effects::knob_effects;
use trueput_findings::rankings::{Ranking, rankings};
use trueput_findings::repeats::widest;
use trueput_findings::scaling::series;
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{LatencySummary, OpenLoop, ResponseSummary};
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::answer::standings;
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::compare::render;
use trueput_report::{Format, RunReport, Style};

const ASKED_PER_S: f64 = 5_000.0;

/// A repeat that was asked for a rate and had response times of that 99th percentile.
fn trial(cell: u32, engine: &str, repeat: u32, p99_us: u64, backlog: u64) -> TrialRecord {
    // The slowest to respond gets the highest rate, by a hair: rates must not order them.
    let per_s = ASKED_PER_S + p99_us as f64 / 1e6;
    let mut record = valid(spec(cell, engine, Durability::Process, repeat), per_s);
    let measured = record.measurement.as_mut().unwrap();
    measured.open_loop = Some(OpenLoop {
        rate_per_s: ASKED_PER_S,
        issued: (ASKED_PER_S * measured.elapsed_s) as u64 - backlog,
        backlog,
        responses: vec![ResponseSummary {
            kind: "update".to_owned(),
            count: 9,
            latency: LatencySummary {
                p99_ns: p99_us * 1_000,
                ..LatencySummary::default()
            },
        }],
        ..OpenLoop::default()
    });
    record
}

/// Five repeats whose times scatter by a hundredth.
fn repeats(cell: u32, engine: &str, p99_us: u64, backlog: u64) -> Vec<TrialRecord> {
    let times = [0, 1, 2, 3, 4].map(|more| p99_us + p99_us * more / 400);
    let repeats = (1..).zip(times);
    repeats
        .map(|(repeat, p99_us)| trial(cell, engine, repeat, p99_us, backlog))
        .collect()
}

fn contest() -> Run {
    let sqlite = repeats(0, "sqlite", 1_150, 0);
    let lmdb = repeats(1, "lmdb", 105, 0);
    let redb = repeats(2, "redb", 90, 40_000);
    report([sqlite, lmdb, redb].concat())
}

fn order(report: &Run) -> Vec<String> {
    let found = rankings(&report.manifest, &report.trials);
    let cells = found.iter().flat_map(|ranking| &ranking.cells);
    cells.map(|cell| cell.contender.clone()).collect()
}

fn summary(report: &Run) -> String {
    let page = report.page();
    let start = page.find("<table class=\"answer\">");
    let table = &page[start.unwrap_or_else(|| panic!("no first table: {page}"))..];
    table[..table.find("</table>").unwrap()].to_owned()
}

#[test]
fn who_kept_the_rate_is_ordered_by_response_time_and_who_did_not_comes_last() {
    let report = contest();
    assert_eq!(order(&report), ["lmdb", "sqlite", "redb"]);
    let text = terminal(&report, 300);
    assert_has!(
        text,
        "threen1, process, 4 workers, by response time at 5,000/s",
        "response p99",
        "kept the rate",
        "no: backlog 40,000",
        "All contenders had the same request rate, 5,000/s (open loop)",
        "lmdb responds first: ",
        "redb did not keep the rate: backlog of up to 40,000 requests at the end."
    );
    for claim in [" leads: ", "of best", "Inconclusive: ", "min–max"] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
    let said = summary(&report);
    assert_has!(
        said,
        "<strong>lmdb</strong> <small>p99 response 105 µs</small>"
    );
    assert_has!(said, "× sqlite (", "5,000/s offered");
}

/// The verdict of a report's one ranking, and its answer on one screen.
fn answered(report: &Run) -> (RankingVerdict, String) {
    let answer = Answer::of(report);
    let text = answer.render(Layout::default(), &[]);
    let [ranking] = answer.rankings.as_slice() else {
        panic!("{text}");
    };
    (ranking.verdict, text)
}

#[test]
fn response_times_that_differ_by_less_than_a_claim_are_the_same() {
    let steady = [100_000, 100_010, 99_990, 100_000, 100_020];
    let with = |cell: u32, engine: &str, thousandths: u64| -> Vec<TrialRecord> {
        let times = (1..).zip(steady);
        times
            .map(|(repeat, time)| trial(cell, engine, repeat, time * thousandths / 1_000, 0))
            .collect()
    };
    let by = |thousandths: u64| {
        let both = [with(0, "lmdb", 1_000), with(1, "sqlite", thousandths)];
        answered(&report(both.concat()))
    };
    let (verdict, text) = by(1_005);
    assert_eq!(verdict, RankingVerdict::SameWithin, "{text}");
    assert_has!(text, "lmdb and sqlite are the same within 1 %.");
    // The control: a twentieth is claimed.
    let (verdict, text) = by(1_050);
    assert_eq!(verdict, RankingVerdict::Leader, "{text}");
    assert_has!(text, "lmdb responds first");
}

#[test]
fn too_few_response_times_are_no_order() {
    for repeats in [1, 2] {
        let trials = (1..=repeats).flat_map(|repeat| {
            [
                trial(0, "sqlite", repeat, 1_150, 0),
                trial(1, "lmdb", repeat, 105, 0),
            ]
        });
        let (verdict, text) = answered(&report(trials.collect()));
        assert_eq!(verdict, RankingVerdict::TooFewRepeats, "{text}");
        assert_has!(text, " cannot distinguish lmdb from sqlite.");
    }
}

#[test]
fn standings_at_a_rate_show_what_orders_them() {
    let answer = Answer::of(&contest());
    assert_eq!(answer.rankings[0].rows[2].verdict, RowVerdict::RateNotKept);
    assert_eq!(
        standings(&answer, 100),
        ["process: p99 response at 5,000/s: lmdb 105 µs, sqlite 1.16 ms, redb rate not kept"]
    );
}

#[test]
fn equal_response_times_and_few_repeats_are_said_to_tell_nothing() {
    let equals = report([repeats(0, "sqlite", 107, 0), repeats(1, "lmdb", 107, 0)].concat());
    let text = terminal(&equals, 300);
    assert!(!text.contains("kept the rate  "), "all kept it: {text}");
    assert_has!(text, "show no difference between");
    let few = [trial(0, "sqlite", 1, 1_150, 0), trial(1, "lmdb", 1, 105, 0)];
    let few = report(few.to_vec());
    assert_eq!(order(&few), ["lmdb", "sqlite"]);
    let text = terminal(&few, 300);
    assert_has!(
        text,
        "Inconclusive: 1 repeat cannot distinguish lmdb from sqlite."
    );
    assert!(
        summary(&few).contains(">too few repeats<"),
        "{}",
        summary(&few)
    );
}

/// The trials of an engine offered another rate, or none, with cells of their own.
fn offered(rate_per_s: f64, cells: &[(u32, &str, u64)]) -> Vec<TrialRecord> {
    let trials = cells.iter();
    let mut trials: Vec<_> = trials
        .flat_map(|(cell, engine, p99_us)| repeats(*cell, engine, *p99_us, 0))
        .collect();
    for trial in &mut trials {
        let (arrival, per_s) = (Arrival::Constant, rate_per_s);
        trial.spec.conditions.rate = (per_s > 0.0).then_some(Rate { per_s, arrival });
        let measured = trial.measurement.as_mut().unwrap();
        let open = measured.open_loop.take().filter(|_| per_s > 0.0);
        measured.open_loop = open.map(|open| OpenLoop {
            rate_per_s,
            issued: (rate_per_s * measured.elapsed_s) as u64,
            ..open
        });
        trial.spec.id += &format!("-{rate_per_s}");
    }
    trials
}

#[test]
fn each_offered_rate_and_the_closed_loop_has_a_ranking_of_its_own() {
    let trials = [
        offered(2_000.0, &[(0, "lmdb", 400), (1, "sqlite", 300)]),
        offered(500.0, &[(2, "lmdb", 100), (3, "sqlite", 200)]),
        offered(0.0, &[(4, "lmdb", 100), (5, "sqlite", 200)]),
    ];
    let report = report(trials.concat());
    let found = rankings(&report.manifest, &report.trials);
    let of = |ranking: &Ranking| {
        let cells = ranking.cells.iter();
        let names: Vec<_> = cells.map(|cell| cell.contender.clone()).collect();
        (ranking.rate_per_s, names.join(" "))
    };
    let expected = [
        (None, "sqlite lmdb"),
        (Some(500.0), "lmdb sqlite"),
        (Some(2_000.0), "sqlite lmdb"),
    ];
    let expected = expected.map(|(rate_per_s, names)| (rate_per_s, names.to_owned()));
    assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
    for text in [terminal(&report, 300), answered_in_full(&report)] {
        assert_has!(
            text,
            "500/s",
            "2,000/s",
            "lmdb responds first: sqlite takes"
        );
        assert!(!text.contains("lmdb (rate="), "{text}");
    }
    // Trials are still told apart where they are listed side by side.
    let text = terminal(&report, 300);
    assert_has!(
        text,
        "lmdb, process, 4 workers, rate=500/s, r1",
        "update service p99"
    );
    // The two that were asked for less are not points of a law of scaling.
    assert_eq!(series(&found).len(), 0);
}

/// The answer with room for everything.
fn answered_in_full(report: &Run) -> String {
    let layout = Layout {
        lines: 200,
        width: 200,
        ..Layout::default()
    };
    Answer::of(report).render(layout, &[])
}

#[test]
fn a_contender_by_itself_that_fell_behind_its_rate_is_said_to() {
    let screen = |backlog| {
        let run = report(repeats(0, "lmdb", 105, backlog));
        Answer::of(&run).render(Layout::default(), &[])
    };
    assert_has!(screen(40_000), "updates/s (offered rate not kept)");
    let kept = screen(0);
    assert!(!kept.contains("not kept"), "{kept}");
}

#[test]
fn the_column_of_ratios_says_whether_rates_or_response_times_are_compared() {
    let title = |run: &Run| {
        let text = Answer::of(run).render(Layout::default(), &[]);
        let titles = text.lines().find(|line| line.starts_with('#'));
        titles.unwrap().to_owned()
    };
    assert_has!(title(&contest()), "  p99/best  ");
    let closed = support::contest(&[("lmdb", &[9e3, 9e3, 9e3]), ("sqlite", &[1e3, 1e3, 1e3])]);
    assert_has!(title(&closed), "  rate/best  ");
}

#[test]
fn a_response_time_of_another_kind_of_operation_than_the_rate_is_explained() {
    let mut run = contest();
    let text = |run: &Run| flat(&Answer::of(run).render(Layout::default(), &[]));
    assert!(!text(&run).contains("updates/s counts"));
    for trial in &mut run.trials {
        let measured = trial.measurement.as_mut().unwrap();
        let open = measured.open_loop.as_mut().unwrap();
        if trial.spec.engine == "lmdb" {
            open.responses[0].kind = "scan".to_owned();
        }
    }
    assert_has!(
        text(&run),
        "updates/s counts updates; p99 response is that of the kind that users waited longest for: \
         scans or updates."
    );
}

#[test]
fn what_was_measured_at_two_rates_or_with_other_faults_is_not_compared() {
    let trials = [
        offered(2_000.0, &[(0, "lmdb", 400)]),
        offered(500.0, &[(1, "lmdb", 100)]),
    ];
    let run = report(trials.concat());
    let side = |rate: &str| {
        let selector = Selector::parse(&format!("lmdb,rate={rate}")).unwrap();
        Side::new(rate, run.clone(), selector).unwrap()
    };
    let refused = compare_sides(&side("500/s"), &[side("2000/s")]);
    let message = refused.err().map(|error| error.to_string());
    let message = message.unwrap_or_default();
    assert_has!(
        message,
        "rate is 500/s in the first and 2000/s in the second"
    );
    let mut faulty = contest();
    for trial in &mut faulty.trials[..5] {
        trial.spec.conditions.faults = "1s:kill=leader".parse().unwrap();
    }
    let found = rankings(&faulty.manifest, &faulty.trials);
    let sizes: Vec<_> = found.iter().map(|one| one.cells.len()).collect();
    assert_eq!(
        sizes,
        [1, 2],
        "who lost its leader has a ranking of its own"
    );
}

#[test]
fn a_closed_loop_among_open_ones_is_ranked_by_rate() {
    let mut one_closed = contest();
    one_closed.trials[0].measurement.as_mut().unwrap().open_loop = None;
    assert_eq!(order(&one_closed)[0], "sqlite", "its rate is the highest");
    let text = one_closed.render(Format::Markdown, Default::default());
    assert!(!text.contains("by response time"), "{text}");
    assert!(!text.contains("kept the rate"), "{text}");
}

#[test]
fn json_has_what_orders_them() {
    let json = contest().render(Format::Json, Default::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ranking = &json["rankings"][0];
    assert_eq!(ranking["rate_per_s"], ASKED_PER_S);
    let of = |cell: usize| &ranking["cells"][cell]["at_rate"];
    assert_eq!(of(0)["kept"], true);
    assert_eq!(of(1)["against_best"]["verdict"], "slower");
    assert_eq!(
        (&of(2)["kept"], &of(2)["backlog"]),
        (&false.into(), &40_000.into())
    );
}

/// Adds commits, with the same scatter, to repeats of which the headline's units are on record.
fn with_commits(mut repeats: Vec<TrialRecord>, p99_us: u64) -> Vec<TrialRecord> {
    for (more, trial) in (0..).zip(&mut repeats) {
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        open.unwrap().responses.push(ResponseSummary {
            kind: "commit".to_owned(),
            count: 9,
            latency: LatencySummary {
                p99_ns: (p99_us + p99_us * more / 400) * 1_000,
                ..LatencySummary::default()
            },
        });
    }
    repeats
}

/// The fastest reader is the slowest to commit.
fn slow_commits() -> Run {
    let sqlite = with_commits(repeats(0, "sqlite", 90, 0), 50_000);
    let lmdb = with_commits(repeats(1, "lmdb", 105, 0), 700);
    let redb = with_commits(repeats(2, "redb", 2_000, 0), 100);
    report([sqlite, lmdb, redb].concat())
}

#[test]
fn the_kind_that_users_wait_longest_for_orders_a_ranking_and_each_is_shown() {
    let report = slow_commits();
    assert_eq!(order(&report), ["lmdb", "redb", "sqlite"]);
    let text = terminal(&report, 300);
    assert_has!(
        text,
        "worst kind",
        "update response p99",
        "commit response p99",
        "response time of their slowest kind of operation",
        "lmdb responds first: "
    );
    let said = summary(&report);
    assert_has!(
        said,
        "<strong>lmdb</strong> <small>p99 response 703 µs</small>"
    );
    let json = report.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let last = &json["rankings"][0]["cells"][2]["at_rate"];
    assert_eq!(last["worst_kind"], "commit");
    assert_eq!(last["responses"][0]["kind"], "update");
    assert_eq!(last["against_best"]["verdict"], "slower");
}

#[test]
fn a_kind_with_few_units_is_shown_and_is_not_the_worst_unless_all_are_few() {
    let mut few = slow_commits();
    let mut set = |of_kind: &dyn Fn(&str) -> u64| {
        for trial in &mut few.trials {
            let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
            for response in &mut open.unwrap().responses {
                response.count = of_kind(&response.kind);
            }
        }
        let found = rankings(&few.manifest, &few.trials);
        let sqlite = found[0]
            .cells
            .iter()
            .find(|cell| cell.contender == "sqlite");
        let at_rate = sqlite.unwrap().at_rate.clone().unwrap();
        (at_rate.worst_kind, at_rate.responses.len())
    };
    let of =
        |update: u64, commit: u64| move |kind: &str| if kind == "commit" { commit } else { update };
    assert_eq!(set(&of(100, 99)), ("update".to_owned(), 2));
    assert_eq!(set(&of(100, 100)), ("commit".to_owned(), 2));
    assert_eq!(set(&of(9, 5)), ("commit".to_owned(), 2));
}

#[test]
fn a_repeat_with_a_few_units_less_does_not_excuse_one_contender_from_slow_commits() {
    let mut report = slow_commits();
    for trial in &mut report.trials {
        let short = trial.spec.engine == "sqlite" && trial.spec.repeat == 1;
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        for response in &mut open.unwrap().responses {
            response.count = if short { 99 } else { 101 };
        }
    }
    // sqlite's commits are the slowest of all.
    assert_eq!(order(&report), ["lmdb", "redb", "sqlite"]);
    let found = rankings(&report.manifest, &report.trials);
    let last = found[0].cells[2].at_rate.clone().unwrap();
    assert_eq!(last.worst_kind, "commit");
}

/// A comparison of a contender of one report with one of another.
fn beside(first: (&Run, &str), second: (&Run, &str)) -> Vec<SideComparison> {
    let side = |label: &str, (report, words): (&Run, &str)| {
        let mut report = report.clone();
        report.shown_as = label.into();
        Side::new(label, report, Selector::parse(words).unwrap()).unwrap()
    };
    compare_sides(&side("a", first), &[side("b", second)]).unwrap()
}

#[test]
fn open_loops_are_compared_by_the_response_time_that_is_worst() {
    let report = slow_commits();
    // sqlite's rate is the lowest of all by a hair, and its updates are the fastest.
    let compared = beside((&report, "lmdb"), (&report, "sqlite"));
    let result = &compared[0].results[0];
    let ratio = result.comparison.ratio.unwrap();
    assert!((70.0..73.0).contains(&ratio.estimate), "{ratio:?}");
    assert_eq!(result.slower_by(0.03), Some(true));
    assert!(result.looks_slower_by(0.03, 1));
    assert_eq!(result.undetected_loss(0.03), None);
    let text = flat(&render(&compared, Format::Terminal, Style::default()));
    assert_has!(text, "response p99 of commit at 5,000/s: B is slower by 7");
    let back = beside((&report, "sqlite"), (&report, "lmdb"));
    let result = &back[0].results[0];
    assert_eq!(result.slower_by(0.03), Some(false));
    assert!(!result.looks_slower_by(0.03, 1));
    assert_eq!(result.undetected_loss(0.03), None);
    let text = render(&back, Format::Terminal, Style::default());
    assert_has!(text, "B is faster by");
}

#[test]
fn a_gate_cannot_tell_wherever_the_interval_holds_a_larger_fall() {
    // In pairs, 1.5 % slower, and from 3.7 % slower to 0.7 % faster at 99 %.
    let falls = [-0.028_54, -0.021_77, -0.015, -0.008_23, -0.001_46_f64];
    let fallen = falls.map(|fall| 1_000.0 * fall.exp());
    let report = support::contest(&[("lmdb", &[1_000.0; 5]), ("redb", &fallen)]);
    let compared = beside((&report, "lmdb"), (&report, "redb"));
    let result = &compared[0].results[0];
    let smallest = result.comparison.smallest_ratio.unwrap() - 1.0;
    assert!(smallest < 0.03, "{smallest}");
    assert!(!result.looks_slower_by(0.03, 1));
    let held = result.undetected_loss(0.03).unwrap();
    assert!((0.035..0.039).contains(&held), "{held}");
    assert_eq!(result.undetected_loss(0.04), None);
}

#[test]
fn a_gate_of_open_loops_sees_noise_and_a_rate_that_was_lost() {
    let calm = slow_commits();
    let mut wild = slow_commits();
    for (trial, factor) in wild
        .trials
        .iter_mut()
        .zip([1, 3, 2, 9, 4].into_iter().cycle())
    {
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        for response in &mut open.unwrap().responses {
            response.latency.p99_ns *= factor;
        }
    }
    let unsure = beside((&wild, "lmdb"), (&wild, "lmdb"));
    let result = &unsure[0].results[0];
    assert_eq!(result.slower_by(0.03), Some(false));
    assert!(result.undetected_loss(0.03).unwrap() > 0.5);
    let late = report(with_commits(repeats(1, "lmdb", 105, 40_000), 700));
    let lost = beside((&calm, "lmdb"), (&late, "lmdb"));
    let broken = texts(&lost[0].results[0].second_broken);
    assert_eq!(broken, ["lmdb did not keep the rate of 5,000/s"]);
    assert!(lost[0].results[0].responses.is_none());
    let kept = beside((&late, "lmdb"), (&calm, "lmdb"));
    assert!(kept[0].results[0].second_broken.is_empty());
}

#[test]
fn repeats_of_open_loops_go_on_until_response_times_are_known() {
    let mut report = slow_commits();
    let (width, _) = widest(&report.manifest, &report.trials).unwrap();
    assert!(width < 0.01, "{width}");
    let times = [1, 3, 2, 9, 4].into_iter().cycle();
    for (trial, factor) in report.trials.iter_mut().zip(times) {
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        if trial.spec.engine == "redb" {
            open.unwrap().responses[0].latency.p99_ns *= factor;
        }
    }
    let (width, whose) = widest(&report.manifest, &report.trials).unwrap();
    assert!(width > 0.5 && whose.contains("redb"), "{width} {whose}");
}

/// One knob at two values in each of two rankings, one of 100 and one of 200 keys, each at one of
/// these rates, and the parameters that tell the two effects apart.
fn knob_effects_at(rates_per_s: [f64; 2]) -> Vec<Vec<(String, String)>> {
    let rankings_given = rates_per_s.into_iter().zip([100, 200]);
    let cells = rankings_given.flat_map(|ranking| [(ranking, 1), (ranking, 2)]);
    let trials = (0..).zip(cells).map(|(cell, ((per_s, keys), readers))| {
        let mut trial = trial(cell, "lmdb", 1, 100, 0);
        let arrival = Arrival::Constant;
        trial.spec.conditions.rate = Some(Rate { per_s, arrival });
        trial
            .spec
            .settings
            .insert("keys".to_owned(), Value::Integer(keys));
        trial
            .spec
            .knobs
            .insert("readers".to_owned(), Value::Integer(readers));
        let measured = trial.measurement.as_mut().unwrap();
        measured.open_loop.as_mut().unwrap().rate_per_s = per_s;
        trial
    });
    let run = report(trials.collect());
    let effects = knob_effects(&run, &rankings(&run.manifest, &run.trials));
    effects
        .into_iter()
        .map(|effect| effect.distinction)
        .collect()
}

#[test]
fn equal_knob_effects_at_rates_that_print_alike_state_what_differs() {
    let differing = |keys: &str, rate: &str| {
        [("keys", keys), ("rate", rate)].map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert_eq!(
        knob_effects_at([12.31, 12.34]),
        [differing("100", "12.31/s"), differing("200", "12.34/s")]
    );
    // The control: the headings of these two rankings differ.
    assert_eq!(knob_effects_at([12.0, 14.0]), [vec![], vec![]]);
}
