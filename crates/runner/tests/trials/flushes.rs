//! Flushes and writes that explain what was committed at `sync`, or cannot.

use crate::claims::claims;
use crate::support::{Bench, doubts, on, spec, threads};
use std::path::Path;
use trueput_record::flush_evidence::{FlushEvidence, FlushVerdict};
use trueput_record::{Conditions, Durability, TrialRecord, TrialSpec};

claims![
    an_engine_that_never_flushes_at_sync_is_invalid,
    an_engine_that_flushes_at_each_commit_is_valid,
    in_time_slices_each_engine_accounts_for_its_own_flushes,
    flushes_while_databases_are_closed_are_no_evidence,
    on_an_image_a_lie_is_found_whatever_lies_below,
    where_nothing_is_counted_that_is_said,
    no_flush_is_asked_of_another_level,
];

/// A trial that commits for so long at sync, with this many threads.
fn at_sync(engine: &str, workers: u32, duration_s: f64) -> TrialSpec {
    let mut trial = threads(on(engine, spec(engine, "endless")));
    trial.durability = Durability::Sync;
    trial.workers = workers;
    trial.id = format!("{engine}-{workers}");
    trial.conditions.duration_s = Some(duration_s);
    trial
}

/// The records of one that does not flush and one that does, in a run under these conditions.
fn liar_and_keeper(change: impl Fn(&mut Conditions)) -> Vec<TrialRecord> {
    let mut pair = [at_sync("liar", 1, 0.5), at_sync("keeper", 1, 0.5)];
    pair.iter_mut()
        .for_each(|trial| change(&mut trial.conditions));
    Bench::new().records(pair.into())
}

fn evidence(record: &TrialRecord) -> FlushEvidence {
    let measured = record.measurement.as_ref();
    let measured = measured.unwrap_or_else(|| panic!("{:?}", record.outcome));
    measured.flush_evidence.clone().unwrap()
}

/// Whether anything is counted here; with a word where it is not.
fn is_counted(evidence: &FlushEvidence) -> bool {
    if let Some(reason) = &evidence.reason {
        eprintln!("skipped: flushes are not counted here: {reason}");
    }
    evidence.basis.is_some()
}

fn accuses(record: &TrialRecord) -> bool {
    let reasons = doubts(record);
    reasons
        .iter()
        .any(|reason| reason.starts_with("flushes cannot explain"))
}

fn an_engine_that_never_flushes_at_sync_is_invalid() {
    let record = Bench::new().record(at_sync("liar", 1, 0.5));
    let evidence = evidence(&record);
    if is_counted(&evidence) {
        assert_eq!(evidence.verdict, FlushVerdict::Impossible, "{evidence:?}");
        assert!(accuses(&record), "{:?}", record.outcome);
        assert!(evidence.headroom().unwrap() < 1.0);
    }
}

fn an_engine_that_flushes_at_each_commit_is_valid() {
    let trials = [1, 64].map(|workers| at_sync("keeper", workers, 0.3));
    for record in &Bench::new().records(trials.into()) {
        let evidence = evidence(record);
        assert!(evidence.commits > 0 && evidence.sessions == record.spec.workers);
        assert!(!accuses(record), "{evidence:?}");
        if is_counted(&evidence) {
            assert_eq!(evidence.verdict, FlushVerdict::Explained, "{evidence:?}");
        }
    }
}

fn in_time_slices_each_engine_accounts_for_its_own_flushes() {
    let records = liar_and_keeper(|of| of.time_slice_s = Some(0.01));
    if is_counted(&evidence(&records[0])) {
        let accused: Vec<_> = records.iter().map(accuses).collect();
        assert_eq!(accused, [true, false]);
    }
}

/// They are those of all contenders of a group. The time is short, because the late one flushes
/// once for each commit when it is closed.
fn flushes_while_databases_are_closed_are_no_evidence() {
    let mut pair = ["late", "keeper"].map(|engine| at_sync(engine, 1, 0.02));
    for trial in &mut pair {
        trial.conditions.time_slice_s = Some(0.005);
    }
    let records = Bench::new().records(pair.into());
    if is_counted(&evidence(&records[0])) {
        let accused: Vec<_> = records.iter().map(accuses).collect();
        assert_eq!(accused, [true, false]);
    }
}

/// A loop device counts on every machine, so that as root this cannot be passed over.
fn on_an_image_a_lie_is_found_whatever_lies_below() {
    let mut folders = ["/usr/sbin", "/sbin"].map(Path::new).into_iter();
    let has_mkfs = folders.any(|folder| folder.join("mkfs.ext4").exists());
    if !nix::unistd::Uid::effective().is_root() || !has_mkfs {
        eprintln!("skipped: images need root and mkfs.ext4");
        return;
    }
    for file_system in ["ext4:size=64MiB", "ext4:size=64MiB;journal=external"] {
        let records = liar_and_keeper(|of| of.file_system = file_system.parse().ok());
        for record in &records {
            assert!(evidence(record).basis.is_some(), "{:?}", evidence(record));
        }
        let accused: Vec<_> = records.iter().map(accuses).collect();
        assert_eq!(accused, [true, false], "{file_system}");
    }
}

fn where_nothing_is_counted_that_is_said() {
    let memory = Path::new("/dev/shm");
    let Ok(folder) = tempfile::tempdir_in(memory) else {
        eprintln!("skipped: {} is no folder to write to", memory.display());
        return;
    };
    let mut bench = Bench::new();
    bench.options.work = Some(folder.path().join("work"));
    let record = bench.record(at_sync("liar", 1, 0.2));
    let evidence = evidence(&record);
    assert_eq!(evidence.verdict, FlushVerdict::NotCounted);
    assert_eq!(evidence.reason.as_deref(), Some("tmpfs is memory"));
    assert!(!accuses(&record) && evidence.commits > 0);
}

fn no_flush_is_asked_of_another_level() {
    let mut trial = at_sync("liar", 1, 0.2);
    trial.durability = Durability::Process;
    let record = Bench::new().record(trial);
    assert!(doubts(&record).is_empty(), "{:?}", record.outcome);
    assert_eq!(record.measurement.unwrap().flush_evidence, None);
}
