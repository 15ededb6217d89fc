//! Trials whose storage does not keep the promise of their level.

use crate::support::{rank, run_of};
use trueput_findings::answer::{Answer, UnrankedReason};
use trueput_findings::marks::marks;
use trueput_record::Durability;
use trueput_record::host::FileSystemFacts;
use trueput_record::storage::{PowerLoss, StorageStack};
use trueput_record::testing::storage::{on, unbarred};
use trueput_record::testing::{spec, valid};

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
}

#[test]
fn storage_that_keeps_nothing_is_never_ranked() {
    for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
        let trials = vec![
            on(0, "lmdb", level, unbarred()),
            on(1, "sqlite", level, unbarred()),
        ];
        let rankings = rank(&trials);
        let places = (rankings[0].cells.len(), rankings[0].not_comparable.len());
        assert_eq!((rankings.len(), places), (1, (0, 2)));
        let answer = Answer::of(&run_of(trials));
        let reasons: Vec<_> = answer.not_ranked.iter().map(|one| one.reason).collect();
        assert_eq!(reasons, [UnrankedReason::UnsafeStorage; 2]);
    }
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
fn the_mount_options_of_older_records_speak_for_them() {
    let mut trials: Vec<_> = ["lmdb", "sqlite"]
        .into_iter()
        .zip(0..)
        .map(|(engine, cell)| valid(spec(cell, engine, Durability::Sync, 1), 1_000.0))
        .collect();
    let mut run = run_of(trials.clone());
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
