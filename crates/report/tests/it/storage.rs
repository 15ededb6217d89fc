//! Trials whose storage does not keep the promise of their level.

use crate::support::{manifest, report, spec, valid};
use trueput_findings::answer::{Answer, UnrankedReason};
use trueput_findings::marks::marks;
use trueput_findings::rankings::{Ranking, rankings};
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::host::FileSystemFacts;
use trueput_record::storage::{PowerLoss, StorageStack};
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};
use trueput_report::{Format, RunReport, Style};

/// So wide that no sentence is broken.
const WIDE: Layout = Layout {
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

fn on(cell: u32, engine: &str, level: Durability, power_loss: PowerLoss) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, level, 1), 1_000.0 * f64::from(cell + 1));
    trial.storage = Some(StorageStack {
        layers: vec![power_loss.phrase()],
        power_loss,
    });
    trial
}

fn rank(trials: &[TrialRecord]) -> Vec<Ranking> {
    rankings(&manifest(trials), trials)
}

fn unbarred() -> PowerLoss {
    PowerLoss::of_mount("its ext4", "ext4", "rw,nobarrier")
}

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
fn storage_that_keeps_nothing_is_never_ranked_and_promises_nothing_anywhere() {
    for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
        let trials = vec![
            on(0, "lmdb", level, unbarred()),
            on(1, "sqlite", level, unbarred()),
        ];
        let rankings = rank(&trials);
        let places = (rankings[0].cells.len(), rankings[0].not_comparable.len());
        assert_eq!((rankings.len(), places), (1, (0, 2)));
        let answer = Answer::of(&report(trials.clone()));
        let reasons: Vec<_> = answer.not_ranked.iter().map(|one| one.reason).collect();
        assert_eq!(reasons, [UnrankedReason::UnsafeStorage; 2]);
        for text in texts(trials) {
            for promise in PROMISES {
                assert!(!text.contains(promise), "{promise}: {text}");
            }
            assert!(text.contains("nobarrier"), "{text}");
        }
    }
}

#[test]
fn it_has_no_place_beside_storage_that_keeps_what_is_flushed() {
    let trials = vec![
        on(0, "lmdb", Durability::Sync, PowerLoss::Survives),
        on(1, "sqlite", Durability::Sync, PowerLoss::Survives),
        on(2, "redb", Durability::Sync, unbarred()),
    ];
    let rankings = rank(&trials);
    let engines = |index: usize| -> Vec<_> {
        let cells = rankings[index].contenders();
        cells.map(|cell| cell.engine.as_str()).collect()
    };
    assert_eq!(engines(0), ["sqlite", "lmdb"]);
    assert_eq!((engines(1), rankings[1].cells.len()), (vec!["redb"], 0));
    let text = Answer::of(&report(trials)).render(WIDE, &[]);
    assert_has!(
        text,
        "sync: every acknowledged commit survives lost power",
        "Not ranked: the storage keeps nothing at lost power",
        "redb [unsafe storage]",
        "[unsafe storage]: nothing survives lost power, because its ext4 is mounted with nobarrier."
    );
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
fn a_level_that_promises_nothing_at_lost_power_is_ranked_on_any_storage() {
    let trials = [
        on(0, "lmdb", Durability::Process, PowerLoss::Survives),
        on(1, "sqlite", Durability::Process, unbarred()),
    ];
    let rankings = rank(&trials);
    assert_eq!((rankings.len(), rankings[0].cells.len()), (1, 2));
    assert!(trials.iter().all(|trial| marks(trial).is_empty()));
}

#[test]
fn what_could_not_be_resolved_is_said_beside_the_level() {
    let trials = vec![
        on(0, "lmdb", Durability::Sync, unresolved()),
        on(1, "sqlite", Durability::Sync, unresolved()),
    ];
    let some = vec![
        on(0, "lmdb", Durability::Sync, PowerLoss::Survives),
        on(1, "sqlite", Durability::Sync, unresolved()),
    ];
    let text = Answer::of(&report(trials.clone())).render(WIDE, &[]);
    assert_has!(
        text,
        "sync (storage not resolved): what survives lost power is not known",
        "[storage unknown]: what survives lost power is not known"
    );
    for text in texts(trials) {
        for promise in PROMISES {
            assert!(!text.contains(promise), "{promise}: {text}");
        }
    }
    let rankings = rank(&some);
    assert_eq!((rankings.len(), rankings[0].cells.len()), (1, 2));
    let text = Answer::of(&report(some)).render(WIDE, &[]);
    assert_has!(
        text,
        "sync (storage of some not resolved)",
        "sqlite [storage unknown]"
    );
}

#[test]
fn the_mount_options_of_older_records_speak_for_them() {
    let mut trials: Vec<_> = ["lmdb", "sqlite"]
        .into_iter()
        .zip(0..)
        .map(|(engine, cell)| valid(spec(cell, engine, Durability::Sync, 1), 1_000.0))
        .collect();
    let mut run = report(trials.clone());
    run.manifest.host.file_system = FileSystemFacts {
        kind: "ext4".to_owned(),
        options: "rw,nobarrier".to_owned(),
        ..FileSystemFacts::default()
    };
    let answer = Answer::of(&run);
    assert!(answer.rankings.is_empty() && answer.not_ranked.len() == 2);
    // A trial knows better than the run.
    for trial in &mut trials {
        trial.storage = Some(StorageStack::default());
    }
    run.trials = trials;
    assert_eq!(Answer::of(&run).rankings.len(), 1);
}

#[test]
fn stale_parts_of_unflushed_files_concern_levels_that_do_not_flush_each_commit() {
    let stale = || PowerLoss::of_mount("its ext4", "ext4", "rw,data=writeback");
    let marked = |level| marks(&on(0, "lmdb", level, stale())).len();
    assert_eq!(
        (marked(Durability::Sync), marked(Durability::Async)),
        (0, 1)
    );
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
