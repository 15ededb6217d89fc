//! Audits the control engine with each planted fault: each must be refuted, by the model that can
//! show it and with the damage that it does.
//!
//! The processes of an audit are this program: it serves the recording file system and the workers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use trueput_audit::{
    AuditOptions, Progress, Stage, StoredRecording, Subject, WORKER_TASK, audit, control, replay,
};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::Operation;
use trueput_faultfs::server::{Folders, serve};
use trueput_record::audit::{
    AuditResult, AuditVerdict, CrashState, DamageKind, ModelResult, StorageModel,
};
use trueput_record::plan::Contender;
use trueput_record::value::Settings;
use trueput_record::{Durability, Value};
use trueput_runner::{Registry, worker_main};

static REGISTRY: Registry = Registry {
    engines: &[],
    workloads: &[],
    plugins: None,
};

/// The size of a page of a crash state, bytes.
const PAGE_BYTES: u64 = 4096;

/// The options of Cargo's harness that ask for tests that take long.
const RUN_SLOW: [&str; 2] = ["--ignored", "--include-ignored"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["worker"] => worker_main(&REGISTRY, &[WORKER_TASK]),
        ["faultfs", backing, mount_point, log] => {
            let folders = Folders {
                backing: PathBuf::from(backing),
                mount_point: PathBuf::from(mount_point),
                log: PathBuf::from(log),
            };
            match serve(&folders) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            }
        }
        // Test filters mean nothing here: the checks belong together and are slow.
        words if words.iter().any(|word| RUN_SLOW.contains(word)) => run_checks(),
        _ => {
            println!("1 test ignored, slow: make test runs it");
            ExitCode::SUCCESS
        }
    }
}

fn run_checks() -> ExitCode {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: without root, FUSE depends on how fusermount3 is set up");
        return ExitCode::SUCCESS;
    }
    if std::fs::File::open("/dev/fuse").is_err() {
        println!("skipped: no /dev/fuse on this machine, or this user may not open it");
        return ExitCode::SUCCESS;
    }
    // Root in a container may be refused what mounting takes.
    let output = Command::new("unshare").args(["--mount", "true"]).output();
    if !output.is_ok_and(|output| output.status.success()) {
        println!("skipped: this root may not mount ('unshare --mount' fails)");
        return ExitCode::SUCCESS;
    }
    let checks: [(&str, fn()); 11] = [
        ("an engine that flushes is not refuted", flushing),
        ("an engine may flush by any call", ways),
        ("a flush of another part is no flush", parts),
        ("what io_uring flushes is not decided", rings),
        ("a reading that was cut off is not decided", cut_off),
        (
            "what a recovery flushes by io_uring is not decided",
            ring_recoveries,
        ),
        ("a window in commits is judged", windows),
        ("every planted fault is refuted", faults),
        ("a counterexample is replayed", replayed),
        ("an engine that hangs is stopped", hanging),
        ("the same recording and seed give the same states", repeated),
    ];
    for (name, check) in checks {
        check();
        println!("{name} ... ok");
    }
    ExitCode::SUCCESS
}

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    fn recording(&self) -> PathBuf {
        let path = self.folder.path().join("recording");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn options(&self, model: StorageModel, states: u64) -> AuditOptions {
        AuditOptions {
            program: std::env::current_exe().unwrap(),
            scratch: self.folder.path().join("scratch"),
            models: vec![model],
            states,
            budget: None,
            seed: 3,
            workers: 3,
            commits: 40,
            threads: 2,
            state_limit: Duration::from_secs(30),
            memory_bytes: 1 << 30,
            file_system: None,
            is_recorded: false,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    fn audit(&self, fault: &str, model: StorageModel, states: u64) -> AuditResult {
        self.audit_at(Durability::Sync, fault, model, states)
    }

    fn audit_at(
        &self,
        level: Durability,
        fault: &str,
        model: StorageModel,
        states: u64,
    ) -> AuditResult {
        self.audit_with(level, fault, &self.options(model, states))
    }

    fn audit_with(&self, level: Durability, fault: &str, options: &AuditOptions) -> AuditResult {
        let subject = subject(fault, level);
        let result = audit(&subject, fault, &self.recording(), options, &|_| ());
        assert_eq!(result.failure, None, "{fault}");
        result
    }
}

fn subject(fault: &str, level: Durability) -> Subject {
    subject_that_flushes_by("fdatasync", fault, level)
}

fn subject_that_flushes_by(call: &str, fault: &str, level: Durability) -> Subject {
    let contender = Contender {
        engine: control::NAME.to_owned(),
        build: None,
    };
    let text = |value: &str| Value::Text(value.to_owned());
    let knobs = Settings::from([
        ("fault".to_owned(), text(fault)),
        ("flush".to_owned(), text(call)),
    ]);
    Subject::new(&REGISTRY, &contender, level, None, knobs).unwrap()
}

fn only(result: &AuditResult) -> &ModelResult {
    assert_eq!(result.models.len(), 1);
    &result.models[0]
}

fn flushing() {
    for model in StorageModel::ALL {
        let result = Bench::new().audit("none", model, 150);
        let found = only(&result);
        assert_eq!(found.refuted, 0, "{model}: {found:?}");
        assert!(
            found.distinct > 5 && found.states >= found.distinct,
            "{found:?}"
        );
        assert!(
            result.flushes > 0 || model == StorageModel::Kill,
            "{result:?}"
        );
    }
}

/// Audits an engine that flushes by a call.
fn audit_call(call: &str, fault: &str, model: StorageModel, states: u64) -> AuditResult {
    let bench = Bench::new();
    let subject = subject_that_flushes_by(call, fault, Durability::Sync);
    let options = bench.options(model, states);
    let result = audit(&subject, call, &bench.recording(), &options, &|_| ());
    assert_eq!(result.failure, None, "{call} {fault}");
    assert!(result.seen_flushes.as_ref().unwrap().watched, "{result:?}");
    result
}

fn ways() {
    for call in ["o_dsync", "syncfs", "msync"] {
        for model in [
            StorageModel::Journal,
            StorageModel::Posix,
            StorageModel::Torn,
        ] {
            let result = audit_call(call, "none", model, 150);
            let verdict = result.verdict_on_tried_models();
            assert_eq!(verdict, AuditVerdict::NotRefuted, "{call}: {result:?}");
        }
    }
}

/// One byte through `O_DSYNC`, or `msync` of another page.
fn parts() {
    for call in ["fdatasync", "msync"] {
        let result = audit_call(call, "part_flushed", StorageModel::Journal, 200);
        let found = only(&result);
        assert!(found.refuted > 20, "{call}: {found:?}");
        let kind = found.counterexample.as_ref().unwrap().damage.kind;
        assert_eq!(kind, DamageKind::CommitMissing, "{call}: {found:?}");
    }
}

fn rings() {
    let setup = io_uring::IoUring::new(2);
    if let Err(error) = setup {
        println!("skipped: io_uring: {error}");
        return;
    }
    for model in [StorageModel::Prefix, StorageModel::Journal] {
        let result = audit_call("io_uring", "none", model, 100);
        let seen = result.seen_flushes.as_ref().unwrap();
        assert!(seen.io_uring && seen.unknown > 0, "{seen:?}");
        let (found, decided) = (only(&result), model == StorageModel::Prefix);
        assert_eq!(found.refuted, 0, "{found:?}");
        let verdict = if decided {
            AuditVerdict::NotRefuted
        } else {
            AuditVerdict::Undecided
        };
        assert_eq!(result.verdict_on_tried_models(), verdict, "{found:?}");
        let doubt = found.undecided.as_ref();
        assert_eq!(doubt.is_none(), decided, "{found:?}");
        let named = doubt.is_none_or(|doubt| doubt.flushes[0].contains("by io_uring"));
        assert!(named, "{found:?}");
    }
}

/// Whoever stops an audit before its second reading learns nothing of flushes of unknown parts.
fn cut_off() {
    if let Err(error) = io_uring::IoUring::new(2) {
        println!("skipped: io_uring: {error}");
        return;
    }
    let bench = Bench::new();
    let subject = subject_that_flushes_by("io_uring", "none", Durability::Sync);
    let options = bench.options(StorageModel::Journal, 30);
    let stop = Arc::clone(&options.stop);
    let stop_at_the_end = |progress: Progress| {
        let is_trying = matches!(progress.stage, Stage::Trying(_));
        if is_trying && progress.states >= options.states {
            stop.store(true, Ordering::SeqCst);
        }
    };
    let folder = bench.recording();
    let result = audit(&subject, "stopped", &folder, &options, &stop_at_the_end);
    assert_eq!(result.failure, None);
    assert_eq!(
        result.verdict_on_tried_models(),
        AuditVerdict::Undecided,
        "{result:?}"
    );
    let doubt = only(&result).undecided.as_ref().unwrap();
    assert_eq!((doubt.states, &doubt.damage), (0, &None));
}

/// Every flush of the recording is known. Those of recoveries are not, and the time is limited.
fn ring_recoveries() {
    if let Err(error) = io_uring::IoUring::new(2) {
        println!("skipped: io_uring: {error}");
        return;
    }
    let bench = Bench::new();
    bench.audit("none", StorageModel::Journal, 1);
    let subject = subject_that_flushes_by("io_uring", "none", Durability::Sync);
    let options = AuditOptions {
        is_recorded: true,
        budget: Some(Duration::from_secs(6)),
        ..bench.options(StorageModel::Journal, u64::MAX)
    };
    let result = audit(&subject, "rings", &bench.recording(), &options, &|_| ());
    assert_eq!(result.failure, None);
    let seen = result.seen_flushes.as_ref().unwrap();
    assert!(seen.watched && seen.unknown == 0, "{seen:?}");
    let found = only(&result);
    assert!(found.recoveries > 0 && found.refuted == 0, "{found:?}");
    assert_eq!(
        result.verdict_on_tried_models(),
        AuditVerdict::Undecided,
        "{found:?}"
    );
}

/// At `async`, the control may lose one commit. Without a flush it loses a prefix, but more of it.
fn windows() {
    let level = Durability::Async;
    for model in [StorageModel::Prefix, StorageModel::Journal] {
        let result = Bench::new().audit_at(level, "none", model, 200);
        assert_eq!(only(&result).refuted, 0, "{result:?}");
    }
    let result = Bench::new().audit_at(level, "flush_left_out", StorageModel::Journal, 200);
    let found = only(&result);
    let kinds: Vec<_> = found.damage.keys().copied().collect();
    assert_eq!(kinds, [DamageKind::WindowExceeded], "{found:?}");
    let detail = &found.counterexample.as_ref().unwrap().damage.detail;
    assert!(detail.contains("at most 1 may be: commit"), "{detail}");
}

fn faults() {
    use DamageKind::{CommitMissing, OrderBroken, PartialTransaction, TornValue, Unopenable};
    use StorageModel::{Journal, Posix, Prefix, Torn};
    let planted: [(&str, StorageModel, &[DamageKind]); 7] = [
        ("flush_left_out", Journal, &[CommitMissing]),
        ("flush_before_write", Journal, &[CommitMissing]),
        ("other_log_flushed", Journal, &[CommitMissing]),
        (
            "commit_before_data",
            Journal,
            &[CommitMissing, TornValue, PartialTransaction],
        ),
        ("rename_without_directory_flush", Posix, &[CommitMissing]),
        (
            "recovery_not_idempotent",
            Prefix,
            &[CommitMissing, OrderBroken],
        ),
        (
            "checksum_not_checked",
            Torn,
            &[TornValue, PartialTransaction, Unopenable],
        ),
    ];
    for (fault, model, damage) in planted {
        // One commit of each log does this. Its kind of moment is among the first that are tried.
        let states = if fault == "other_log_flushed" {
            60
        } else {
            600
        };
        let bench = Bench::new();
        let result = bench.audit(fault, model, states);
        let found = only(&result);
        assert!(found.refuted > 0, "{fault}: {found:?}");
        let example = found.counterexample.as_ref().unwrap();
        let kind = example.damage.kind;
        assert!(damage.contains(&kind), "{fault}: {example:?}");
        let takes_two_crashes = fault == "recovery_not_idempotent";
        assert_eq!(
            example.recovery.is_some(),
            takes_two_crashes,
            "{fault}: {example:?}"
        );
        // It is small, and says what is missing.
        let recording = Recording::read(&bench.recording().join("log")).unwrap();
        let losses = independent_losses(&example.state, &recording);
        assert!(losses <= 2, "{fault}: {example:?}");
        assert!(example.words.len() >= 2, "{fault}: {example:?}");
    }
}

/// The changes that a state lacks, without later writes to a page that is lost: they cannot be
/// there without the earlier one. On a busy machine another worker may write to it before the cut.
fn independent_losses(state: &CrashState, recording: &Recording) -> usize {
    let is_implied = |index: &&usize| match &recording.operations[**index].operation {
        Operation::Write {
            inode,
            offset,
            length,
            ..
        } => state.lost_pages.iter().any(|lost| {
            let bytes = lost.page * PAGE_BYTES..(lost.page + 1) * PAGE_BYTES;
            let is_in_page = *offset < bytes.end && offset + length > bytes.start;
            lost.inode == inode.0 && lost.from < **index && is_in_page
        }),
        _ => false,
    };
    state.losses() - state.lost_operations.iter().filter(is_implied).count()
}

impl Bench {
    fn replay(
        &self,
        example: &trueput_record::audit::Counterexample,
    ) -> Option<trueput_record::audit::Damage> {
        let target = TempDir::new().unwrap();
        let options = self.options(StorageModel::Journal, 1);
        let subject = subject("flush_left_out", Durability::Sync);
        let path = self.recording();
        let recording = StoredRecording {
            folder: path.parent().unwrap(),
            within: Path::new(path.file_name().unwrap()),
            max_bytes: 1 << 30,
        };
        let replayed = replay(&subject, example, recording, target.path(), &options).unwrap();
        assert!(is_state(&replayed.state), "{}", replayed.state.display());
        replayed.damage
    }
}

fn is_state(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder.join("database")).unwrap();
    entries.count() > 0
}

fn replayed() {
    let bench = Bench::new();
    let result = bench.audit("flush_left_out", StorageModel::Journal, 100);
    let mut example = only(&result).counterexample.clone().unwrap();
    let damage = bench.replay(&example).unwrap();
    assert_eq!(damage, example.damage);
    // With nothing missing, the same moment shows no damage.
    example.state.lost_pages.clear();
    example.state.lost_operations.clear();
    assert_eq!(bench.replay(&example), None);
}

fn hanging() {
    let bench = Bench::new();
    let options = AuditOptions {
        state_limit: Duration::from_secs(1),
        // A torn write leaves the log with a rest, at which this recovery hangs.
        ..bench.options(StorageModel::Torn, 40)
    };
    let result = bench.audit_with(Durability::Sync, "recovery_hangs", &options);
    let found = only(&result);
    assert!(found.refuted > 0, "{result:?}");
    let example = found.counterexample.as_ref().unwrap();
    assert_eq!(example.damage.kind, DamageKind::Hang, "{example:?}");
}

fn repeated() {
    let bench = Bench::new();
    let fault = "commit_before_data";
    let first = bench.audit(fault, StorageModel::Torn, 200);
    let again = |threads| {
        let options = AuditOptions {
            is_recorded: true,
            threads,
            ..bench.options(StorageModel::Torn, 200)
        };
        bench.audit_with(Durability::Sync, fault, &options)
    };
    let counts = |result: &AuditResult| {
        let found = only(result);
        (
            found.states,
            found.distinct,
            found.refuted,
            found.recoveries,
        )
    };
    let (one, two) = (again(1), again(1));
    assert_eq!(counts(&one), counts(&two));
    let example = |result: &AuditResult| only(result).counterexample.clone();
    assert_eq!(example(&one), example(&two));
    // However many threads look for it, it is found.
    assert!(only(&first).refuted > 0 && only(&again(2)).refuted > 0);
}
