//! The first screen of the page: outcomes of the trials, failures, leaders and verdicts.

pub mod screen;
mod uncut;

use crate::support::{contest, end, failed, invalid, repeats, report, spec, terminal};
use trueput_findings::Run;
use trueput_record::folder::{DamagedLine, RunEnd, SufficiencyReason};
use trueput_record::{Durability, Outcome, TrialRecord};
use trueput_report::RunReport;

/// The section "In short" of the page.
fn summary(report: &Run) -> String {
    let page = report.page();
    let start = page.find(">In short</h2>").unwrap();
    let section = &page[start..];
    let section = &section[..section.find("</section>").unwrap()];
    section.to_owned()
}

fn interrupted(mut trial: TrialRecord) -> TrialRecord {
    trial.outcome = Outcome::Interrupted;
    trial.measurement = None;
    trial
}

fn damaged(line: usize) -> DamagedLine {
    DamagedLine {
        line,
        message: "EOF while parsing".to_owned(),
    }
}

/// A report of a plan of six trials, of which only these exist.
fn of_six(there: &[TrialRecord]) -> Run {
    let mut report = contest(&[("redb", &[1_000.0; 6])]);
    report.trials = there.to_vec();
    report.end = None;
    report
}

#[test]
fn how_trials_ended_adds_up_to_the_plan() {
    let all = repeats(0, "redb", Durability::Sync, &[1_000.0; 6]);
    let counted = |report: &Run, words: &str| {
        let said = summary(report);
        assert!(said.contains(words), "'{words}' is not in {said}");
    };
    let mut cut = all[..4].to_vec();
    cut.push(interrupted(all[4].clone()));
    counted(
        &of_six(&cut),
        "6 trials: 4 valid, 1 interrupted, 1 missing.",
    );
    let text = terminal(&of_six(&cut), 400);
    assert_has!(text, "1 of its 6 trials are missing and 1 is interrupted.");
    // One that was run again is what it came to then.
    let mut again = all.clone();
    again.insert(0, interrupted(all[0].clone()));
    counted(&of_six(&again), "6 trials, all valid.");
    let mut unreadable = of_six(&all[..4]);
    unreadable.damaged = vec![damaged(5), damaged(6)];
    counted(
        &unreadable,
        "6 trials: 4 valid, 2 missing. 2 damaged lines of trials.jsonl are left out, \
         those of the missing trials.",
    );
    let mut spared = of_six(&all[..5]);
    spared.end = Some(RunEnd {
        stop_reason: Some(SufficiencyReason::Budget),
        ..end()
    });
    counted(
        &spared,
        "6 trials: 5 valid, 1 spared, since the budget of time is spent.",
    );
    counted(&of_six(&[]), "6 trials: 6 missing.");
}

#[test]
fn what_failed_is_named_with_its_first_reason() {
    let mut trials = repeats(0, "sqlite", Durability::Sync, &[62_400.0; 3]);
    for repeat in 1..=3 {
        let spec = spec(1, "lmdb", Durability::Sync, repeat);
        trials.push(failed(spec, "MDB_MAP_FULL: the map is full"));
    }
    let mut wrong = invalid(
        spec(2, "redb", Durability::Sync, 1),
        1.0,
        "3 records are lost",
    );
    if let Outcome::Invalid { reasons } = &mut wrong.outcome {
        reasons.push("a second reason".to_owned());
    }
    trials.push(wrong);
    let said = summary(&report(trials));
    assert_has!(
        said,
        "7 trials: 3 valid, 1 invalid, 3 failed.",
        "lmdb: 3 trials failed; the first: MDB_MAP_FULL: the map is full",
        "redb: 1 trial is invalid: 3 records are lost<",
        "<strong>sqlite</strong> <small>62,400 updates/s</small>",
        "<span class=\"tile only\">only contender</span>"
    );
    let sound = summary(&contest(&[("sqlite", &[62_400.0; 3])]));
    assert!(
        !sound.contains("failed") && sound.contains("only contender"),
        "{sound}"
    );
}

#[test]
fn who_is_not_told_from_the_leader_is_said_reason_by_reason() {
    let said = summary(&contest(&[
        ("tokudb", &[9_600.0, 9_000.0, 10_100.0]),
        ("leveldb", &[9_500.0, 9_900.0, 8_900.0]),
        ("lmdb", &[2_900.0, 4_100.0, 2_100.0]),
        ("mdbx", &[3_000.0, 2_200.0, 3_900.0]),
    ]));
    assert_has!(
        said,
        "<strong>tokudb</strong> <small>9,600 updates/s</small>",
        "× leveldb (",
        "<span class=\"tile few\">too few repeats</span>"
    );
}
