//! Reports of open loops that were all asked for one rate.

use crate::support::{self, flat, report};
use trueput_findings::Run;
use trueput_findings::answer::{Answer, NextStep};
use trueput_record::testing::open_loop::{
    ASKED_PER_S, contest, offered, repeats, slow_commits, trial,
};
use trueput_report::answer::{AnswerText, Layout, standings};
use trueput_report::{Format, RunReport, Style};

fn summary(report: &Run) -> String {
    let page = report.page();
    let start = page.find("<table class=\"answer\">");
    let table = &page[start.unwrap_or_else(|| panic!("no first table: {page}"))..];
    table[..table.find("</table>").unwrap()].to_owned()
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
    assert_has!(title(&report(contest())), "  p99/best  ");
    let closed = support::contest(&[("lmdb", &[9e3, 9e3, 9e3]), ("sqlite", &[1e3, 1e3, 1e3])]);
    assert_has!(title(&closed), "  rate/best  ");
}

#[test]
fn a_response_time_of_another_kind_of_operation_than_the_rate_is_explained() {
    let mut run = report(contest());
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
fn the_page_and_the_standings_show_what_orders_them() {
    let kept = report(contest());
    assert_has!(
        summary(&kept),
        "<strong>lmdb</strong> <small>p99 response 105 µs</small>",
        "× sqlite (",
        "5,000/s offered"
    );
    assert_eq!(
        standings(&Answer::of(&kept), 100),
        ["process: p99 response at 5,000/s: lmdb 105 µs, sqlite 1.16 ms, redb rate not kept"]
    );
    let few = [trial(0, "sqlite", 1, 1_150, 0), trial(1, "lmdb", 1, 105, 0)];
    assert_has!(summary(&report(few.to_vec())), ">too few repeats<");
    let slow = summary(&report(slow_commits()));
    assert_has!(
        slow,
        "<strong>lmdb</strong> <small>p99 response 703 µs</small>"
    );
}

#[test]
fn json_has_what_orders_them() {
    let json = report(contest()).render(Format::Json, Default::default());
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
    let json = report(slow_commits()).render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let last = &json["rankings"][0]["cells"][2]["at_rate"];
    assert_eq!(last["worst_kind"], "commit");
    assert_eq!(last["responses"][0]["kind"], "update");
}

#[test]
fn more_repeats_at_a_given_rate_are_proposed_with_the_time_that_they_take() {
    let mut trials = offered(ASKED_PER_S, &[(0, "sqlite", 106), (1, "lmdb", 105)]);
    trials.retain(|trial| trial.spec.repeat <= 2);
    // A repeat begins every two minutes.
    for trial in &mut trials {
        trial.started_at = format!("2026-11-21T20:{:02}:00Z", 2 * trial.spec.repeat);
    }
    let steps = Answer::of(&report(trials)).next_steps;
    let more = |step: &NextStep| match step {
        NextStep::MoreRepeats {
            option, takes_s, ..
        } => (option.clone(), *takes_s),
        other => panic!("{other:?}"),
    };
    let (option, takes_s) = more(&steps[0]);
    let repeats = option.strip_prefix("--repeat ").unwrap();
    let repeats: f64 = repeats.parse().unwrap();
    assert_eq!(takes_s, Some(120.0 * repeats));
}
