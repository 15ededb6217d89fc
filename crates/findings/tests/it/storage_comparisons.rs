//! Contenders on several storage models: who leads where, and why the order changes.

use crate::support::run_of;
use trueput_findings::Findings;
use trueput_findings::storage_comparison::{
    LeadVerdict, ReasonKind, StorageComparison, storage_comparisons,
};
use trueput_record::testing::repeats;
use trueput_record::testing::storage::{count_commits, modeled};
use trueput_record::{Durability, TrialRecord};

const DISK: Option<&str> = Some("hdd-7200");
const FLASH: Option<&str> = Some("nvme-datacenter");

/// Flushes and bytes of a commit.
const GROUPED: [f64; 2] = [0.25, 9_000.0];
const SEPARATE: [f64; 2] = [2.0, 12_000.0];

fn compared(trials: Vec<TrialRecord>) -> Vec<StorageComparison> {
    let run = run_of(trials);
    storage_comparisons(&Findings::of(&run))
}

/// A disk on which leveldb leads, and flash on which lmdb does, with the shares of the time that
/// flushes and all requests took on each.
fn turned(commits: [[f64; 2]; 2], on_disk: [f64; 2], on_flash: [f64; 2]) -> Vec<TrialRecord> {
    let cells = [
        ("leveldb", DISK, 110.0, commits[0], on_disk),
        ("lmdb", DISK, 40.0, commits[1], on_disk),
        ("leveldb", FLASH, 4_000.0, commits[0], on_flash),
        ("lmdb", FLASH, 9_000.0, commits[1], on_flash),
    ];
    let of = |(cell, (engine, model, per_s, commits, shares)): (u32, (_, _, _, _, _))| {
        let mut trials = modeled(cell, engine, model, per_s);
        count_commits(&mut trials, commits, shares);
        trials
    };
    (0..).zip(cells).flat_map(of).collect()
}

fn leads(comparison: &StorageComparison) -> Vec<LeadVerdict> {
    let rankings = comparison.rankings.iter();
    rankings.map(|ranking| ranking.lead.clone()).collect()
}

fn leader(name: &str) -> LeadVerdict {
    LeadVerdict::Leader(name.to_owned())
}

/// The reasons, each with the contender that leads.
fn reasons(trials: Vec<TrialRecord>) -> Vec<(ReasonKind, String)> {
    let [comparison] = &compared(trials)[..] else {
        panic!("not one comparison");
    };
    let reasons = comparison.reasons.iter();
    let reasons = reasons.map(|reason| (reason.kind, reason.leader.clone()));
    reasons.collect()
}

#[test]
fn the_leader_changes_with_the_storage_and_the_flushes_say_why() {
    let trials = turned([GROUPED, SEPARATE], [0.95, 0.99], [0.2, 0.3]);
    let all = compared(trials);
    assert_eq!(all.len(), 1);
    let found = &all[0];
    assert_eq!(found.contenders, ["leveldb", "lmdb"]);
    assert_eq!(leads(found), [leader("leveldb"), leader("lmdb")]);
    let of_lmdb = found.rankings.iter().map(|ranking| {
        let figures = ranking.figures[1].unwrap();
        (
            figures.repeats,
            figures.is_first,
            figures.rate_per_s > 1_000.0,
        )
    });
    let expected = [(5, false, false), (5, true, true)];
    assert_eq!(of_lmdb.collect::<Vec<_>>(), expected);
    let [on_disk, on_flash] = &found.reasons[..] else {
        panic!("{:?}", found.reasons);
    };
    assert_eq!(on_disk.kind, ReasonKind::FewerFlushes);
    assert_eq!(
        (on_disk.leader.as_str(), on_disk.other.as_str()),
        ("leveldb", "lmdb")
    );
    assert_eq!(on_disk.storage.data, "hdd-7200");
    assert_eq!(on_disk.leader_figures.flushes_per_commit, Some(0.25));
    assert!(
        on_disk.shares_flushes,
        "four workers need fewer flushes than commits"
    );
    assert_eq!(on_flash.kind, ReasonKind::LittleFlushing);
    assert_eq!(
        (on_flash.leader.as_str(), on_flash.shares_flushes),
        ("lmdb", false)
    );
}

#[test]
fn what_the_figures_do_not_show_is_no_reason() {
    let busy = [0.95, 0.99];
    let idle = [0.2, 0.3];
    let flushing = |commits| reasons(turned(commits, busy, idle));
    // The control.
    assert_eq!(flushing([GROUPED, SEPARATE]).len(), 2);
    // The leader on the disk flushes as often, or more often.
    assert_eq!(flushing([SEPARATE, SEPARATE]), []);
    assert_eq!(flushing([SEPARATE, GROUPED]), []);
    // Flushes are not what takes the time on the disk.
    assert_eq!(reasons(turned([GROUPED, SEPARATE], idle, idle)), []);
    // Nothing was counted.
    let mut uncounted = turned([GROUPED, SEPARATE], busy, idle);
    for trial in &mut uncounted {
        trial.measurement.as_mut().unwrap().device = None;
    }
    assert_eq!(reasons(uncounted), []);
}

#[test]
fn bytes_are_a_reason_where_a_device_is_busy_with_other_requests() {
    let written = [0.1, 0.9];
    let found = reasons(turned([GROUPED, SEPARATE], written, [0.1, 0.2]));
    assert_eq!(found, [(ReasonKind::FewerBytes, "leveldb".to_owned())]);
    // The control: as many bytes.
    let alike = [[1.0, 9_000.0]; 2];
    assert_eq!(reasons(turned(alike, written, [0.1, 0.2])), []);
}

#[test]
fn an_order_that_stays_needs_no_reason_and_an_undecided_storage_has_no_leader() {
    let mut trials = turned([GROUPED, SEPARATE], [0.95, 0.99], [0.2, 0.3]);
    trials.retain(|trial| trial.spec.conditions.storage_model.as_deref() == DISK);
    trials.extend(modeled(4, "leveldb", None, 30_000.0));
    trials.extend(modeled(5, "lmdb", None, 20_000.0));
    // Rates whose noise drowns every difference.
    let wild = [
        ("leveldb", [100.0, 130.0, 110.0, 90.0, 120.0]),
        ("lmdb", [118.0, 95.0, 105.0, 125.0, 98.0]),
    ];
    for (cell, (engine, rates)) in (6..).zip(wild) {
        let mut open = repeats(cell, engine, Durability::Sync, &rates);
        for trial in &mut open {
            trial.spec.conditions.storage_model = Some("sd-card".to_owned());
        }
        trials.extend(open);
    }
    let all = compared(trials);
    let found = &all[0];
    let both = ["leveldb", "lmdb"].map(str::to_owned);
    assert_eq!(leads(found)[..2], [leader("leveldb"), leader("leveldb")]);
    let LeadVerdict::Undecided(open) = &found.rankings[2].lead else {
        panic!("{:?}", found.rankings[2]);
    };
    assert!(both.iter().all(|name| open.contains(name)), "{open:?}");
    assert!(found.reasons.is_empty());
}

#[test]
fn only_the_same_work_is_compared() {
    let of = |workers: u32| {
        let mut trials = turned([GROUPED, SEPARATE], [0.95, 0.99], [0.2, 0.3]);
        for trial in &mut trials {
            trial.spec.workers = workers;
            trial.spec.cell += 10 * workers;
            trial.spec.id = format!("{workers}-{}", trial.spec.id);
        }
        trials
    };
    let both = compared([of(1), of(4)].concat());
    assert_eq!(both.len(), 2);
    let shares = both.iter().map(|found| found.reasons[0].shares_flushes);
    // One worker has nobody to share a flush with.
    assert_eq!(shares.collect::<Vec<_>>(), [false, true]);
    let storages = both.iter().map(|found| found.rankings.len());
    assert_eq!(storages.collect::<Vec<_>>(), [2, 2]);
    // On each storage another number of workers, another workload, or a single contender.
    let changed = |change: fn(&mut TrialRecord)| {
        let mut trials = of(4);
        let on_flash = trials.iter_mut();
        let on_flash = on_flash.filter(|it| it.spec.conditions.storage_model.as_deref() == FLASH);
        on_flash.for_each(change);
        compared(trials).len()
    };
    assert_eq!(changed(|_| {}), 1);
    assert_eq!(changed(|trial| trial.spec.workers = 8), 0);
    assert_eq!(changed(|trial| trial.spec.workload = "ycsb".to_owned()), 0);
    assert_eq!(
        changed(|trial| trial.spec.conditions.storage_model = DISK.map(str::to_owned)),
        0
    );
    let mut alone = of(4);
    alone.retain(|trial| trial.spec.engine == "lmdb");
    assert_eq!(compared(alone).len(), 0);
}
