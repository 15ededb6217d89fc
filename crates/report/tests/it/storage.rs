//! Trials whose storage does not keep the promise of their level.

use crate::support::{flat, report, terminal_line};
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::measurement::FaultCounts;
use trueput_record::storage::PowerLoss;
use trueput_record::testing::storage::{on, unbarred};
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::{Format, RunReport, Style};

/// So wide that no sentence is broken.
pub const WIDE: Layout = Layout {
    width: 240,
    lines: 60,
    color: false,
    cuts: true,
};

/// What a report must not say of storage that keeps nothing.
const PROMISES: [&str; 3] = [
    "every acknowledged commit survives lost power",
    "survives killed processes and lost power",
    "after lost power, a consistent prefix",
];

fn unresolved() -> PowerLoss {
    PowerLoss::Unresolved {
        reason: "its 9p, whose flushes are done by another machine or by the host".to_owned(),
    }
}

fn texts(trials: Vec<TrialRecord>) -> Vec<String> {
    let run = report(trials);
    let mut texts = vec![Answer::of(&run).render(WIDE, &[])];
    let formats = [
        Format::Terminal,
        Format::Markdown,
        Format::Json,
        Format::Csv,
    ];
    texts.extend(formats.map(|format| run.render(format, Style::default())));
    texts.push(run.page());
    texts
}

#[test]
fn storage_that_keeps_nothing_promises_nothing_anywhere() {
    for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
        for text in texts(vec![
            on(0, "lmdb", level, unbarred()),
            on(1, "sqlite", level, unbarred()),
        ]) {
            for promise in PROMISES {
                assert!(!text.contains(promise), "{promise}: {text}");
            }
            assert!(text.contains("nobarrier"), "{text}");
        }
    }
}

#[test]
fn the_sign_in_the_place_of_a_mark_leads_to_its_meaning_at_eighty_columns() {
    let ext4 = |mut trial: TrialRecord, options: &str| {
        let file_system = format!("ext4:mount={options}");
        trial.spec.conditions.file_system = Some(file_system.parse().unwrap());
        trial
    };
    let level = Durability::Sync;
    let trials = vec![
        ext4(on(0, "lmdb", level, PowerLoss::Survives), "noatime"),
        ext4(on(1, "sqlite", level, PowerLoss::Survives), "noatime"),
        ext4(on(2, "lmdb", level, unbarred()), "nobarrier"),
        ext4(on(3, "sqlite", level, unbarred()), "nobarrier"),
    ];
    let run = report(trials);
    let full = run.render(Format::Markdown, Style::default());
    assert_has!(full, "4 workers, filesystem=ext4:mount=noatime");
    let text = Answer::of(&run).render(Layout::default(), &[]);
    assert_has!(
        text,
        "\nsync, threen1, 4 workers, filesystem=ext4:mount=noatime\n",
        "\nlmdb*    sync not kept, …, filesystem=ext4:mount=nobarrier  ",
        "\n* unsafe storage: sqlite and lmdb.\n",
        "\n[unsafe storage]: nothing survives lost power, because its ext4 is mounted with"
    );
}

#[test]
fn every_mark_on_the_first_screen_has_its_meaning_there() {
    let mut trials = vec![
        on(0, "lmdb", Durability::Sync, PowerLoss::Survives),
        on(1, "sqlite", Durability::Sync, PowerLoss::Survives),
    ];
    let measured = trials[0].measurement.as_mut().unwrap();
    measured.flush_evidence = Some(FlushEvidence {
        verdict: FlushVerdict::NotCounted,
        ..FlushEvidence::default()
    });
    trials[1].engine.as_mut().unwrap().assertions = Some(true);
    let text = Answer::of(&report(trials)).render(WIDE, &[]);
    assert_has!(
        text,
        "lmdb [flushes not verified]",
        "[flushes not verified]: no counter shows whether its commits reached storage; --full",
        "[assertions]: built with assertions: not comparable."
    );
}

#[test]
fn what_could_not_be_resolved_promises_nothing_anywhere() {
    let trials = vec![
        on(0, "lmdb", Durability::Sync, unresolved()),
        on(1, "sqlite", Durability::Sync, unresolved()),
    ];
    for text in texts(trials) {
        for promise in PROMISES {
            assert!(!text.contains(promise), "{promise}: {text}");
        }
    }
}

#[test]
fn each_ranking_names_its_storage_model_and_the_machine_all_of_them() {
    let at = |level, cell, engine, model: &str| {
        let mut trial = on(cell, engine, level, PowerLoss::Simulated);
        trial.spec.conditions.storage_model = Some(model.to_owned());
        trial
    };
    let modelled = |cell, engine, model| at(Durability::Sync, cell, engine, model);
    let untested = "The storage is a model: what survives lost power on such a device";
    let run = report(vec![
        modelled(0, "lmdb", "hdd-7200"),
        modelled(1, "sqlite", "hdd-7200"),
        modelled(2, "lmdb", "/home/me/my.toml@1a2b3c4d"),
        modelled(3, "sqlite", "/home/me/my.toml@1a2b3c4d"),
    ]);
    let full = run.render(Format::Markdown, Style::default());
    assert_has!(
        full,
        "threen1, sync, 4 workers, on model hdd-7200",
        "threen1, sync, 4 workers, on model my.toml@1a2b3c4d",
        "storage models: hdd-7200, my.toml@1a2b3c4d; requests take as long as on such a device",
        untested
    );
    assert!(!full.contains("/home/me"), "{full}");
    // It is no storage that could not be resolved, and no mark says so.
    for text in [full, Answer::of(&run).render(WIDE, &[])] {
        for doubt in ["not resolved", "storage unknown", "lost power is not known"] {
            assert!(!text.contains(doubt), "{doubt}: {text}");
        }
    }
    let text = Answer::of(&run).render(WIDE, &[]);
    assert_has!(
        text,
        "4 workers, on model hdd-7200",
        "4 workers, on model my.toml@1a2b3c4d"
    );
    // The control: without a model nothing of the kind is said.
    let plain = report(vec![
        on(0, "lmdb", Durability::Sync, PowerLoss::Survives),
        on(1, "sqlite", Durability::Sync, PowerLoss::Survives),
    ]);
    let full = plain.render(Format::Markdown, Style::default());
    assert!(
        !full.contains("storage model") && !full.contains(untested),
        "{full}"
    );
    // Nor is it said at a level that promises nothing for lost power.
    let weaker = report(vec![
        at(Durability::Process, 0, "lmdb", "hdd-7200"),
        at(Durability::Process, 1, "sqlite", "hdd-7200"),
    ]);
    let full = weaker.render(Format::Markdown, Style::default());
    assert_has!(full, "process, 4 workers, on model hdd-7200");
    assert!(!full.contains(untested), "{full}");
}

/// Storage that keeps what is flushed, that keeps nothing, and that is not known.
pub fn mixed() -> Run {
    report(vec![
        on(0, "lmdb", Durability::Sync, PowerLoss::Survives),
        on(1, "sqlite", Durability::Sync, unresolved()),
        on(2, "redb", Durability::Sync, unbarred()),
    ])
}

#[test]
fn an_audited_promise_that_the_storage_does_not_keep_is_not_called_audited() {
    let audited = |power_loss| {
        let mut trial = on(0, "redb", Durability::Sync, power_loss);
        trial.audit = Some(AuditStanding {
            audited_at: "2026-11-27T10:00:00Z".to_owned(),
            models: vec![ModelStanding {
                file_system: None,
                model: StorageModel::Journal,
                states: 306,
                distinct: 300,
                undecided: false,
                refuted: 0,
                counterexample: None,
            }],
        });
        Answer::of(&report(vec![trial])).render(WIDE, &[])
    };
    let text = audited(unbarred());
    assert!(text.contains("sync not kept, threen1"), "{text}");
    assert!(!text.contains("306"), "{text}");
    // The control: where the storage keeps it, the audit counts.
    let text = audited(PowerLoss::Survives);
    assert!(text.contains("sync (audited), threen1"), "{text}");
    assert!(text.contains("\nAudited states: journal 306.\n"), "{text}");
}

#[test]
fn a_fault_that_never_came_is_said_and_headings_name_faults() {
    let with = |cell, engine: &str, fault: &str, injected| {
        let mut trial = on(cell, engine, Durability::Sync, PowerLoss::Survives);
        trial.spec.conditions.fault = fault.parse().ok();
        let requests = 312;
        trial.fault_counts = Some(FaultCounts { requests, injected });
        trial
    };
    let plain = on(3, "lmdb", Durability::Sync, PowerLoss::Survives);
    let trials = vec![
        with(0, "lmdb", "write:eio@1000", 0),
        with(1, "redb", "write:eio@1000", 1),
        with(2, "lmdb", "any:stall=2s@1s", 1),
        plain.clone(),
    ];
    let run = report(trials);
    let screen = flat(&Answer::of(&run).render(WIDE, &[]));
    let page = flat(&run.page());
    let full = terminal_line(&run);
    assert_has!(full, "4 workers, with fault any:stall=2s@1s");
    for text in [full, screen, page] {
        assert_has!(
            text,
            "The fault write:eio@1000 never happened in 1 of 2 trials: 312 writes at most.",
            "The fault any:stall=2s@1s happened 1 time in 1 trial.",
        );
    }
    // The control: a run without faults says nothing of them, nor of this machine's storage.
    let quiet = terminal_line(&report(vec![plain]));
    assert!(!quiet.contains("The fault"), "{quiet}");
    assert!(!quiet.contains("this machine's storage"), "{quiet}");
}
