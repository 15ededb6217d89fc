//! Trials on modeled storage, and what is left of them when a part of a run is killed. They need
//! root, FUSE and loop devices, and are skipped with a message without them.

use crate::support::{ALL_WELL, Bench, assert_answers, assert_contains, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use trueput_record::service_report::ServiceReport;
use trueput_record::storage::PowerLoss;
use trueput_record::{Outcome, TrialRecord};

/// Leftovers of others on this machine are not a concern of a test.
const CLEAN: &str = "clean --results results";

/// A run that takes long enough to be killed.
const LONG_RUN: &str = "run threen1 --engine lmdb --durability sync --workers 1 \
                        --set finish=200000 --verify off --storage-model ebs-gp3";

fn may_serve() -> bool {
    let is_root = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    let may_serve = is_root && fuse.is_ok();
    if !may_serve {
        eprintln!("skipped: modeled storage takes root, loop devices and FUSE");
    }
    may_serve
}

/// The mount points below a folder.
fn mount_points(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let points = points.map(PathBuf::from);
    points.filter(|point| point.starts_with(&folder)).collect()
}

/// The servers of images below a folder.
fn servers(folder: &Path) -> Vec<Pid> {
    let folder = folder.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let servers = pids.filter(|pid: &i32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = words.split('\0').skip(1);
        let is_server = words.next() == Some("storage-server");
        is_server
            && words
                .next()
                .is_some_and(|image| Path::new(image).starts_with(&folder))
    });
    servers.map(Pid::from_raw).collect()
}

fn wait_until(failure: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < until, "{failure}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a long run, and waits until its workers write to their database.
fn started_run(bench: &Bench) -> Child {
    let mut command = bench.command(LONG_RUN);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_until("the database is never written", || {
        let mut mounted = mount_points(bench.path()).into_iter();
        mounted.any(|point| {
            let database = point.join("database").read_dir();
            database.is_ok_and(|mut files| files.next().is_some())
        })
    });
    assert_eq!(servers(bench.path()).len(), 1);
    child
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_on_a_storage_model_waits_for_its_flushes_and_says_what_the_server_cost() {
    if !may_serve() {
        return;
    }
    let bench = Bench::new();
    let run = "run threen1 --engine lmdb --durability sync --workers 1 --set finish=100 \
               --storage-model none,hdd-7200-no-cache --filesystem ext4 --image 384MiB";
    let output = bench.run(run);
    let records = bench.trials();
    assert_eq!(records.len(), 2, "{}", stderr(&output));
    let on = |model: Option<&str>| {
        let of = |record: &&TrialRecord| record.spec.conditions.storage_model.as_deref() == model;
        let record = records.iter().find(of).unwrap();
        assert_answers(record, 1, 100);
        let stood_on = record.file_system.as_ref().unwrap();
        assert_eq!(stood_on.mounted.kind, "ext4");
        let elapsed_s = record.measurement.as_ref().unwrap().elapsed_s;
        (elapsed_s, stood_on.direct_io)
    };
    let model = "hdd-7200-no-cache";
    let ((plain_s, _), (modeled_s, direct_io)) = (on(None), on(Some(model)));
    assert_eq!(direct_io, Some(true));
    // A turn takes 8.33 ms, and each of the commits waits for one at least.
    assert!(
        modeled_s > 0.4 && modeled_s > plain_s,
        "{modeled_s}, {plain_s}"
    );
    // Its flushes are simulated: it is no storage that could not be resolved.
    let is_on_it = |it: &&TrialRecord| it.spec.conditions.storage_model.is_some();
    let on_it = records.iter().find(is_on_it).unwrap();
    let storage = on_it.storage.as_ref().unwrap();
    assert_eq!(storage.power_loss, PowerLoss::Simulated, "{storage:?}");
    let folder = bench.run_folder().path().join("storage");
    let reports = std::fs::read_dir(&folder).unwrap().flatten();
    let reports: Vec<PathBuf> = reports.map(|entry| entry.path()).collect();
    assert_eq!(reports.len(), 1, "only the trial on the model has one");
    let report = ServiceReport::of_trial(bench.run_folder().path(), &on_it.spec.id, "data");
    let report = report.unwrap().unwrap();
    assert_eq!(report.model, model);
    assert!(
        report.flushes.requests >= 50 && report.writes.bytes > 0,
        "{report:?}"
    );
    let own = &report.own_cost;
    assert!(own.read.median_ns > 0 && own.by_size.len() == 9);
    assert!(
        own.through_loop
            .is_some_and(|cost| cost.flush.median_ns > 0)
    );
    assert!(report.writes.modeled_ns > 0 && report.late_share().is_some());
    let device = on_it.measurement.as_ref().unwrap().device.unwrap();
    assert!(device.flush_s.is_some(), "{device:?}");
    assert_eq!(mount_points(bench.path()), [] as [PathBuf; 0]);
    assert_eq!(servers(bench.path()), []);
    assert!(!bench.run_folder().path().join("work").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_in_a_folder_with_delays_waits_for_its_flushes_and_counts_no_disk() {
    if !may_serve() {
        return;
    }
    let bench = Bench::new();
    let run = "run threen1 --engine lmdb --durability sync --workers 1 --set finish=100 \
               --storage-model folder:hdd-7200-no-cache,none";
    bench.run_expecting(ALL_WELL, run);
    let records = bench.trials();
    assert_eq!(records.len(), 2);
    let is_on_model = |it: &&TrialRecord| it.spec.conditions.storage_model.is_some();
    let plain = records.iter().find(|it| !is_on_model(it)).unwrap();
    let modeled = records.iter().find(is_on_model).unwrap();
    let measured = [plain, modeled].map(|record| {
        assert_answers(record, 1, 100);
        record.measurement.as_ref().unwrap()
    });
    let [plain_s, modeled_s] = measured.map(|it| it.elapsed_s);
    // A turn takes 8.33 ms, and each of the commits waits for one at least.
    assert!(
        modeled_s > 0.4 && modeled_s > plain_s,
        "{modeled_s}, {plain_s}"
    );
    // No flush reaches a disk of this machine.
    let storage = modeled.storage.as_ref().unwrap();
    assert_eq!(storage.power_loss, PowerLoss::Simulated, "{storage:?}");
    assert!(measured[1].device.is_none() && measured[1].flush_evidence.is_none());
    assert_eq!(modeled.file_system, None);
    let report = ServiceReport::of_trial(bench.run_folder().path(), &modeled.spec.id, "data");
    let report = report.unwrap().unwrap();
    assert_eq!(report.model, "hdd-7200-no-cache");
    assert!(report.flushes.requests >= 50 && report.writes.bytes > 0);
    assert!(report.late_share().is_some(), "{report:?}");
    assert_eq!(mount_points(bench.path()), [] as [PathBuf; 0]);
    assert_eq!(servers(bench.path()), []);
    assert!(!bench.run_folder().path().join("work").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_server_fails_its_trial_with_an_error_and_leaves_nothing() {
    if !may_serve() {
        return;
    }
    let bench = Bench::new();
    let mut run = started_run(&bench);
    kill(servers(bench.path())[0], Signal::SIGKILL).unwrap();
    let mut status = None;
    wait_until("the run does not end", || {
        status = run.try_wait().unwrap();
        status.is_some()
    });
    assert!(!status.unwrap().success());
    let [record] = &bench.trials()[..] else {
        panic!("one trial");
    };
    let Outcome::Failed { reason, .. } = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    let has_error = ["error", "Read-only", "SIGBUS"]
        .iter()
        .any(|word| reason.contains(word));
    assert!(has_error, "{reason}");
    let cause = "; the server of its modeled storage ended";
    assert!(reason.contains(cause), "{reason}");
    assert_eq!(mount_points(bench.path()), [] as [PathBuf; 0]);
    let cleaned = bench.run_expecting(0, CLEAN);
    assert_eq!(stdout(&cleaned), "nothing to clean\n");
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_server_of_a_killed_run_ends_and_what_it_leaves_is_listed_and_removed() {
    if !may_serve() {
        return;
    }
    let bench = Bench::new();
    let mut run = started_run(&bench);
    // A run at work is no left-over.
    bench.run_expecting(0, CLEAN);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the server outlives its run", || {
        servers(bench.path()).is_empty()
    });
    // The file system is still mounted, on a device that answers no more.
    assert_eq!(mount_points(bench.path()).len(), 2);
    let listed = stdout(&bench.run_expecting(1, CLEAN));
    assert_contains(
        &listed,
        &["mount", "loop device", "image", "data.storage", "folder"],
    );
    assert_eq!(
        mount_points(bench.path()).len(),
        2,
        "listing removes nothing"
    );
    bench.run_expecting(0, &format!("{CLEAN} --yes"));
    assert_eq!(mount_points(bench.path()), [] as [PathBuf; 0]);
    let again = bench.run_expecting(0, CLEAN);
    assert_eq!(stdout(&again), "nothing to clean\n");
}
