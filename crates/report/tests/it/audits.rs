//! Audits of promises in reports of runs, and reports of audits.

use crate::support::{report, spec, valid};
use std::path::Path;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::audit::{
    AuditRecord, AuditResult, Counterexample, CrashState, Damage, DamageKind, ModelResult,
    StorageModel,
};
use trueput_record::audit_standing::AuditStanding;
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::{Format, RunReport, Style, audit_report};

fn model(model: StorageModel, states: u64, refuted: u64) -> ModelResult {
    let counterexample = (refuted > 0).then(|| Counterexample {
        id: format!("{model}-example"),
        state: CrashState::default(),
        recovery: None,
        damage: Damage {
            kind: DamageKind::CommitMissing,
            detail: "commit 118 of session 2".to_owned(),
        },
        words: vec!["4,096 bytes at 8,192 of log: missing".to_owned()],
    });
    ModelResult {
        model,
        states,
        distinct: states,
        recoveries: 0,
        refuted,
        unmountable: 0,
        damage: Default::default(),
        counterexample,
        undecided: None,
        elapsed_s: 1.0,
    }
}

fn result(engine: &str, models: Vec<ModelResult>) -> AuditResult {
    AuditResult {
        id: format!("{engine}-sync"),
        contender: engine.to_owned(),
        version: "1".to_owned(),
        build: "ab".to_owned(),
        durability: Durability::Sync,
        claim: None,
        knobs: Default::default(),
        given_knobs: Default::default(),
        file_system: None,
        seed: 1,
        commits_per_phase: 1,
        commits: 1,
        operations: 1,
        flushes: 1,
        seen_flushes: None,
        models,
        failure: None,
        ended_at: "2026-11-24T18:00:00Z".to_owned(),
    }
}

fn trials(engine: &str, cell: u32, rate: f64, models: Vec<ModelResult>) -> Vec<TrialRecord> {
    let standing = AuditStanding::of(&result(engine, models), Path::new("/audits/1"));
    let trial = |repeat| TrialRecord {
        audit: standing.clone(),
        ..valid(spec(cell, engine, Durability::Sync, repeat), rate)
    };
    (1..=3).map(trial).collect()
}

/// The fastest contender was refuted, the second was audited, the third not, the last refuted only
/// on storage weaker than usual.
pub fn run() -> Run {
    let refuted = vec![
        model(StorageModel::Prefix, 500, 0),
        model(StorageModel::Journal, 785, 13),
    ];
    let mut all = trials("careless", 0, 9_000.0, refuted);
    all.extend(trials(
        "lmdb",
        1,
        3_000.0,
        vec![model(StorageModel::Journal, 1_210, 0)],
    ));
    all.extend(trials("sqlite", 2, 2_000.0, Vec::new()));
    all.extend(trials(
        "leveldb",
        3,
        1_000.0,
        vec![model(StorageModel::Posix, 101, 27)],
    ));
    report(all)
}

#[test]
fn every_ranking_says_what_was_audited_and_lists_the_audits() {
    let full = run().render(Format::Markdown, Style::default());
    assert_has!(
        full,
        "| REFUTED in 13 of 785 |",
        "| journal 1,210 |",
        "| careless \\[REFUTED] | sync | REFUTED |  | 500 | 13 of 785 |  |  |",
        "trueput audit --replay /audits/1/journal-example"
    );
}

#[test]
fn a_heading_has_no_counts_and_eighty_columns_cut_none_of_them() {
    let states = || {
        let all = [
            StorageModel::Kill,
            StorageModel::Prefix,
            StorageModel::Journal,
        ];
        let all = all
            .into_iter()
            .chain([StorageModel::Posix, StorageModel::Torn]);
        all.map(|one| model(one, 1_058, 0)).collect::<Vec<_>>()
    };
    let mut all = trials("lmdb", 0, 3_000.0, states());
    all.extend(trials("sqlite", 1, 2_000.0, states()));
    for trial in &mut all {
        for standing in trial.audit.iter_mut().flat_map(|it| &mut it.models) {
            standing.file_system = (standing.model == StorageModel::Torn).then(|| "ext4".into());
        }
    }
    let run = report(all);
    let text = Answer::of(&run).render(Layout::default(), &[]);
    assert_has!(
        text,
        "\nsync (audited), threen1, 4 workers\n",
        "\nAudited states: kill 1,058, prefix 1,058, journal 1,058, posix 1,058; in the\n  \
         block form on ext4: torn 1,058.\n"
    );
    assert!(!text.contains('…'), "{text}");
    let full = run.render(Format::Markdown, Style::default());
    assert_has!(full, "Audited on this machine. Audited states: kill 1,058,");
}

#[test]
fn a_run_without_audits_says_so_once() {
    let mut all = trials("lmdb", 0, 3_000.0, Vec::new());
    all.extend(trials("sqlite", 1, 2_000.0, Vec::new()));
    let run = report(all);
    let text = Answer::of(&run).render(Layout::default(), &[]);
    assert_eq!(text.to_lowercase().matches("audited").count(), 1, "{text}");
    let full = run.render(Format::Markdown, Style::default());
    assert_has!(full, "Not audited on this machine.");
    assert!(!full.contains("Audits of durability"), "{full}");
}

#[test]
fn an_audit_without_time_audited_nothing_and_says_why() {
    let failed = |engine: &str, failure: &str| AuditResult {
        failure: Some(failure.to_owned()),
        ..result(engine, Vec::new())
    };
    let text = |results: Vec<AuditResult>| {
        let record = AuditRecord {
            results,
            ..audit_record()
        };
        format!(
            "{:?}",
            audit_report::document(&record, Path::new("results/1"))
        )
    };
    let over = "the time was over: give --budget 40s or more";
    let found = text(vec![failed("lmdb", over), failed("redb", over)]);
    let answer = format!("[Text(\"Nothing was audited: {over}.\")");
    assert!(found.starts_with(&answer), "{found}");
    let found = text(vec![failed("lmdb", over), failed("redb", "no space")]);
    assert!(
        found.starts_with("[Text(\"Nothing was audited.\")"),
        "{found}"
    );
    assert_has!(found, "lmdb sync: the time was over", "redb sync: no space");
    let kept = result("sqlite", vec![model(StorageModel::Journal, 9, 0)]);
    let found = text(vec![failed("lmdb", over), kept]);
    let answer = "[Text(\"1 promise audited in 9 states: none is refuted.\")";
    assert!(found.starts_with(answer), "{found}");
}

#[test]
fn promises_of_which_few_states_were_tried_are_named() {
    let of = |kills, journal| {
        vec![
            model(StorageModel::Kill, kills, 0),
            model(StorageModel::Journal, journal, 0),
            model(StorageModel::Torn, 5_000, 0),
        ]
    };
    let record = AuditRecord {
        results: vec![result("lmdb", of(20, 100)), result("redb", of(19, 100))],
        ..audit_record()
    };
    let text = format!("{:?}", audit_report::document(&record, Path::new("1")));
    let few = "few states of usual storage, which say little: redb sync (119); a longer";
    assert_has!(text, few);
}

/// The record of an audit whose controls came out, without results.
fn audit_record() -> AuditRecord {
    let journal = |states, refuted| vec![model(StorageModel::Journal, states, refuted)];
    AuditRecord {
        started_at: String::new(),
        host: None,
        format: 1,
        command: "trueput audit".to_owned(),
        program_version: "0".to_owned(),
        controls: vec![
            result("log", journal(60, 0)),
            result("log", journal(60, 40)),
        ],
        results: Vec::new(),
        storage_controls: Vec::new(),
        skipped: [("gtm".to_owned(), "is not installed".to_owned())].into(),
        interrupted: false,
    }
}

/// The record of an audit that refuted one of two promises.
pub fn audited() -> AuditRecord {
    let journal = |states, refuted| vec![model(StorageModel::Journal, states, refuted)];
    AuditRecord {
        results: vec![
            result("lmdb", journal(1_000, 0)),
            result("leveldb", journal(99, 7)),
        ],
        ..audit_record()
    }
}

#[test]
fn a_page_of_an_audit_begins_with_its_answer_and_controls_decide_whether_it_counts() {
    let journal = |states, refuted| vec![model(StorageModel::Journal, states, refuted)];
    let mut record = audited();
    let folder = Path::new("results/1");
    let page = audit_report::page(&record, folder);
    assert_has!(
        page,
        "In short",
        "7 of 99",
        "an acknowledged commit is missing"
    );
    record.storage_controls = vec![
        result("log", journal(60, 9)),
        result("log", journal(60, 50)),
    ];
    let text = format!("{:?}", audit_report::document(&record, folder));
    assert_has!(
        text,
        "The storage is at fault: on this file system, a log engine that flushes every commit is \
         refuted in 9 of 60 states."
    );
    // A careless engine that shows no damage: the file system hides what is lost.
    record.storage_controls[1] = result("log", journal(60, 0));
    let text = format!("{:?}", audit_report::document(&record, folder));
    assert_has!(text, "This audit is invalid");
    record.storage_controls.clear();
    record.controls.swap(0, 1);
    let text = format!("{:?}", audit_report::document(&record, folder));
    assert_has!(text, "This audit is invalid");
}
