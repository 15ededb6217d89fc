//! The section on a search for knobs.

use crate::choice::Situation;
use crate::support::{flat, searched, terminal_line};
use trueput_findings::Run;
use trueput_record::search::{SearchEnd, TrialPurpose};
use trueput_record::testing::search::{WINNER, configurations, cut_short, trial, tuning};
use trueput_report::{RunReport, Style, TUNED_PLAN};

/// A search that found a winner.
pub fn usual() -> Run {
    let mut run = searched(tuning(100));
    run.trials.extend(configurations());
    run
}

/// A search whose time was up after these pairs of the holdout.
pub fn short_of_time(pairs: u32) -> Run {
    let mut run = searched(cut_short(pairs));
    run.end.as_mut().unwrap().search_end = Some(SearchEnd::TimeUp);
    run
}

/// A search of which not all planned trials ran, and others that resemble it.
pub fn situations() -> (Run, Vec<Situation>) {
    let mut interrupted = short_of_time(2);
    interrupted.end.as_mut().unwrap().complete = false;
    let ended = |end| {
        let mut run = searched(tuning(100));
        let run_end = run.end.as_mut().unwrap();
        run_end.search_end = Some(end);
        // However long ago it began: a search that is resumed has its time anew.
        run_end.ended_at = "2026-11-25T20:45:29Z".to_owned();
        run
    };
    let mut lost = searched(tuning(44));
    for record in &mut lost.trials {
        if record.spec.role.unwrap().purpose == TrialPurpose::Winner {
            *record = trial(TrialPurpose::Winner, 1, record.spec.repeat, &WINNER, 900.0);
        }
    }
    let mut lucky = searched(tuning(44));
    let luck = trial(TrialPurpose::Tuning, 5, 1, &[("cache", 512)], 9_000.0);
    lucky.trials.push(luck);
    let others = vec![
        ("time was up", ended(SearchEnd::TimeUp)),
        ("nothing was left to try", ended(SearchEnd::NothingLeft)),
        ("interrupted after two pairs", interrupted),
        ("enough pairs", short_of_time(3)),
        ("a gain that the holdout lost", lost),
        ("a lucky trial", lucky),
    ];
    (searched(tuning(100)), others)
}

#[test]
fn a_bundle_of_a_search_names_no_command_that_goes_on() {
    let mut run = short_of_time(1);
    run.shown_as = "other.tar.gz".into();
    let text = terminal_line(&run);
    assert_has!(
        text,
        "Not known: the time was up after 1 pair of the holdout"
    );
    assert!(!text.contains("--resume"), "{text}");
}

#[test]
fn the_page_draws_the_course_of_the_search() {
    assert_has!(usual().page(), "Course of the search", "best so far");
}

#[test]
fn the_plan_of_the_winner_is_named_if_the_run_folder_has_one() {
    let mut run = searched(tuning(44));
    let text = |run: &Run| flat(&run.render_search(Style::default()).unwrap());
    assert_has!(text(&run), "trueput ledger threen1");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(TUNED_PLAN), "").unwrap();
    run.folder = folder.path().to_owned();
    let plan = run.shown_as.join(TUNED_PLAN).display().to_string();
    let text = text(&run);
    assert_has!(
        text,
        format!("Its plan: {plan}.").as_str(),
        format!("trueput run {plan}").as_str()
    );
    assert!(!text.contains("trueput ledger"), "{text}");
}
