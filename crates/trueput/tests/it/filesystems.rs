//! File systems made for trials, and the leftovers of a killed run, with the built program. Tests
//! that need root are skipped with a message without it.

use crate::support::{
    Bench, CommandLine, LoopMount, assert_answers, assert_contains, ended_well, is_installed,
    refusal, stderr, stdout,
};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use trueput_host::work_folder::WorkFolder;
use trueput_record::storage::PowerLoss;
use trueput_record::{Outcome, RunFolder, TrialRecord};

/// Leftovers of others on this machine are not a concern of a test.
const CLEAN: &str = "clean --results results";

fn may_mount() -> bool {
    let root = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !root {
        eprintln!("skipped: mounting takes root and loop devices");
    }
    root
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap()
}

fn assert_unmounted(bench: &Bench) {
    assert!(
        !mounts().contains(bench.path().to_str().unwrap()),
        "all is unmounted"
    );
}

/// Runs a short trial on each file system.
fn run(bench: &Bench, systems: &[&str]) -> Vec<TrialRecord> {
    let mut arguments = "run threen1 --engine lmdb --durability sync --workers 1 --image 384MiB \
                         --set finish=50"
        .words();
    arguments.extend(systems.iter().flat_map(|system| ["--filesystem", system]));
    let output = bench.run(&arguments);
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
    bench.trials()
}

/// The common kinds. Those that the machine lacks are reported as skipped.
const KINDS: &str = "ext2,ext3,ext4,xfs,btrfs,tmpfs";

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_runs_on_each_file_system_that_is_to_be_had() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let records = run(&bench, &[KINDS]);
    let (_, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert_eq!(records.len() + manifest.skipped.len(), 6);
    for record in &records {
        assert_answers(record, 1, 50);
        let asked = record.spec.conditions.file_system.as_ref().unwrap();
        let asked = asked.to_string();
        let kind = asked.split(':').next().unwrap();
        let stood_on = record.file_system.as_ref().unwrap();
        assert_eq!(stood_on.mounted.kind, kind);
        let made = stood_on.mkfs.as_deref().unwrap_or("tmpfs");
        assert_contains(made, &[kind]);
        assert!(stood_on.mounted.size_bytes <= 384 << 20);
    }
    assert_unmounted(&bench);
    assert!(!bench.run_folder().path().join("work").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn options_reach_the_file_system_and_a_wrong_one_fails_its_trial_in_the_kernel_s_words() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let records = run(
        &bench,
        &[
            "ext4:mkfs=-O ^has_journal -b 1024;mount=noatime",
            "ext4:mount=noatime,nonsense=3",
            "ext4:journal=external;mount=data=journal,barrier=0",
        ],
    );
    assert_eq!(records.len(), 3);
    assert!(ended_well(&records[0]) && ended_well(&records[2]));
    let stood_on = |index: usize| records[index].file_system.as_ref().unwrap();
    let made = stood_on(0).mkfs.as_ref().unwrap();
    assert_contains(made, &["^has_journal -b 1024"]);
    assert_contains(&stood_on(0).mounted.options, &["noatime"]);
    let options = ["data=journal", "nobarrier"];
    assert_contains(&stood_on(2).mounted.options, &options);
    assert!(stood_on(2).journal_bytes.is_some());
    let lost = lost_by(&records[2]).unwrap();
    assert_contains(&lost, &["its ext4 is mounted with nobarrier"]);
    assert_eq!(lost_by(&records[0]), None);
    let Outcome::Failed { reason, .. } = &records[1].outcome else {
        panic!("{:?}", records[1].outcome);
    };
    assert_contains(reason, &["Unknown parameter 'nonsense'"]);
    assert!(!reason.contains('\n'), "{reason}");
    assert_unmounted(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_cannot_be_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let run = "run threen1 --engine lmdb --filesystem";
    for (given, says) in [
        ("ext5", "unknown file system 'ext5'"),
        ("folder:/nowhere", "is not a directory"),
        ("btrfs:journal=external", "external journal"),
        ("ext4:mont=x", "did you mean 'mount'"),
    ] {
        let message = bench.refusal_of(&format!("{run} {given}"));
        // Without btrfs it is left out, and then there is nothing to run.
        let missing = message.contains("nothing to run");
        assert!(message.contains(says) || missing, "{given}: {message}");
    }
    if may_mount() {
        let large = refusal(&bench.run(&format!("{run} ext4:size=900TiB")));
        assert_contains(&large, &["900 TiB needed"]);
    }
    assert_eq!(bench.snapshot().len(), 0);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_log_lies_on_a_file_system_of_its_own_where_the_engine_can_place_it() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\", \"present\"]\nworkers = 1\n\
                unsupported = \"skip\"\nfilesystem = \"ext4\"\nlog_filesystem = \"tmpfs\"\n\
                image = \"384MiB\"\n[settings]\nfinish = 20\n";
    bench.write("logs.toml", plan);
    let mut command = bench.plain_command("run logs.toml");
    let output = command.output().unwrap();
    let (folder, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    let without = |reason: &String| reason.contains("lmdb has no knob log_directory");
    assert!(manifest.skipped.iter().any(without), "{}", stderr(&output));
    for record in folder.trials().unwrap().trials {
        let id = record.spec.id.as_str();
        assert!(ended_well(&record), "{id}: {:?}", record.outcome);
        assert_eq!(record.spec.knobs["log_directory"], "log".into());
        let log = record.log_file_system.unwrap().mounted;
        assert_eq!(log.kind, "tmpfs");
        assert!(log.mount_point.ends_with("/log"));
        assert_eq!(record.file_system.unwrap().mounted.kind, "ext4");
        // The data's loop device is watched, and of a log in memory there is none to watch.
        let measurement = record.measurement.unwrap();
        assert!(measurement.device.is_some() && measurement.log_flushes().is_none());
        assert!(record.hardware_limits.unwrap().flush.is_some(), "{id}");
    }
}

/// The reason why nothing on the storage of a trial survives lost power; `None` if something may.
fn lost_by(record: &TrialRecord) -> Option<String> {
    match &record.storage.as_ref().unwrap().power_loss {
        PowerLoss::Lost { reason, .. } => Some(reason.clone()),
        _ => None,
    }
}

/// A mount of the test, removed at its end.
struct OwnMount(PathBuf);

impl OwnMount {
    fn new(at: PathBuf, options: &[&str]) -> Self {
        std::fs::create_dir_all(&at).unwrap();
        let mount = Command::new("mount").args(options).arg(&at).output();
        let mount = mount.unwrap();
        assert!(mount.status.success(), "{}", stderr(&mount));
        Self(at)
    }
}

impl Drop for OwnMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// ext4 writes back what was not flushed some seconds later. An abort loses it, as lost power does.
#[test]
#[ignore = "slow: make test runs it"]
fn the_mark_of_a_work_folder_survives_lost_power() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let at = bench.path().join("mounted");
    let image = bench.path().join("image");
    let mounted = LoopMount::new(&image, &at, 64 << 20).unwrap();
    let work = at.join("work");
    std::mem::forget(WorkFolder::claim(&work).unwrap());
    let mut abort = Command::new("mount");
    abort.args(["-o", "remount,abort"]).arg(&at);
    assert!(abort.status().unwrap().success());
    drop(mounted);
    let _mounted = OwnMount::new(at, &["-o", "loop", image.to_str().unwrap()]);
    assert!(WorkFolder::open_marked(&work).is_some());
}

#[test]
#[ignore = "slow: make test runs it"]
fn memory_below_a_layer_a_volatile_overlay_and_a_superblock_without_barriers_keep_nothing() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let at = |name: &str| bench.path().join(name);
    let _memory = OwnMount::new(at("memory"), &["-t", "tmpfs", "-o", "size=512m", "none"]);
    let below = ["lower", "upper", "work", "memory/upper", "memory/work"];
    for folder in below {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    let layers = |name: &str, more: &str| {
        let [lower, upper, work] = ["lower", &format!("{name}upper"), &format!("{name}work")]
            .map(|folder| at(folder).display().to_string());
        format!("lowerdir={lower},upperdir={upper},workdir={work}{more}")
    };
    let overlay = |place: &str, options: &str| {
        OwnMount::new(at(place), &["-t", "overlay", "-o", options, "none"])
    };
    let _volatile = overlay("volatile", &layers("", ",volatile"));
    let _above = overlay("above", &layers("memory/", ""));
    let _image = LoopMount::new(&at("memory/image"), &at("loop"), 200 << 20).unwrap();
    // The superblock turns barriers off, and the mount table does not show it.
    let unbarred = LoopMount::new(&at("image"), &at("unbarred"), 200 << 20).unwrap();
    drop(unbarred);
    let image = at("image").display().to_string();
    let mut tune = Command::new("tune2fs");
    let tuned = tune.args(["-o", "nobarrier", &image]).status().unwrap();
    assert!(tuned.success());
    let _unbarred = OwnMount::new(at("unbarred"), &["-o", "loop", &image]);
    for (work, says) in [
        ("unbarred", "its ext4 is mounted with nobarrier"),
        ("volatile", "its overlay is mounted with "),
        ("above", "memory is memory"),
        (
            "loop",
            "memory is memory, and the image of its loop device is there",
        ),
    ] {
        let line = "run threen1 --engine lmdb --durability sync --workers 1 --set finish=20 \
                    --disk-factor 1 --work";
        let mut arguments = line.words();
        let work = at(work).join("databases");
        arguments.push(work.to_str().unwrap());
        bench.run(&arguments);
        let records = bench.trials();
        let lost = lost_by(records.last().unwrap()).unwrap();
        assert_contains(&lost, &[says]);
        std::fs::remove_dir_all(at("results")).unwrap();
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_memory_limit_in_memory_is_no_failed_cold_start_and_a_cold_start_there_is_refused() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let line = "run micro --engine lmdb --durability sync --workers 1 --duration 0.2 \
                --set records=2000 --filesystem tmpfs";
    let refused = bench.refusal_of(&format!("{line} --start cold"));
    assert_contains(
        &refused,
        &["tmpfs is always in memory and cannot start cold"],
    );
    let output = bench.run(&format!("{line} --memory 256MiB").words());
    if output.status.code() == Some(2) {
        eprintln!("skipped: no memory limit here: {}", stderr(&output));
        return;
    }
    let records = bench.trials();
    assert!(ended_well(&records[0]), "{:?}", records[0].outcome);
}

/// A user's own file system, with a file.
fn own_mount(image: &Path, folder: &Path) -> LoopMount {
    let mount = LoopMount::new(image, folder, 32 << 20).unwrap();
    std::fs::write(folder.join("thesis"), "ten years").unwrap();
    mount
}

fn is_whole(mount: &LoopMount) -> bool {
    let text = std::fs::read_to_string(mount.folder().join("thesis"));
    text.is_ok_and(|text| text == "ten years")
}

/// Starts a long run on ext4, kills it once it is mounted, and returns the mount point.
fn killed_run(bench: &Bench) -> PathBuf {
    let mut child = bench
        .command(
            "run threen1 --engine lmdb --durability sync --set finish=200000 --filesystem ext4 \
             --image 384MiB --verify off",
        )
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let below = bench.path().canonicalize().unwrap().join("results");
    let until = Instant::now() + Duration::from_secs(120);
    let mounted = loop {
        let mounts = mounts();
        let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        if let Some(point) = points.find(|point| Path::new(point).starts_with(&below)) {
            break PathBuf::from(point);
        }
        assert!(Instant::now() < until, "the file system is never mounted");
        std::thread::sleep(Duration::from_millis(20));
    };
    // A run at work is no left-over.
    bench.run_expecting(0, CLEAN);
    child.kill().unwrap();
    child.wait().unwrap();
    mounted
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_killed_run_leaves_is_listed_then_removed_and_a_user_s_own_mount_stays() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let theirs = own_mount(&bench.path().join("own.img"), &bench.path().join("own"));
    let mounted = killed_run(&bench);
    let listed = stdout(&bench.run_expecting(1, CLEAN));
    let is_mounted = || mounts().contains(mounted.to_str().unwrap());
    let words = ["mount", "loop device", "image", "folder"];
    assert_contains(&listed, &words);
    assert_contains(&listed, &[mounted.to_str().unwrap()]);
    assert!(!listed.contains("own.img"));
    assert!(is_mounted(), "listing removes nothing");
    let json = bench.json_of(&format!("{CLEAN} --json"));
    assert_eq!(json[0]["items"][0]["what"], "mount");

    // A mount of the user inside the folder prevents its removal.
    let inside = mounted.parent().unwrap().join("inside");
    let second = own_mount(&bench.path().join("second.img"), &inside);
    let clean = format!("{CLEAN} --yes");
    let refused = stderr(&bench.run_expecting(1, &clean));
    assert_contains(&refused, &["does not belong to trueput"]);
    assert!(is_whole(&second) && is_mounted());
    drop(second);

    bench.run_expecting(0, &clean);
    assert!(!is_mounted() && !mounted.exists() && is_whole(&theirs));
    let again = bench.run_expecting(0, CLEAN);
    assert_eq!(stdout(&again), "nothing to clean\n");
}

#[test]
#[ignore = "slow: make test runs it"]
fn without_root_its_cells_are_left_out_and_the_others_run() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    // Readable and writable by anyone, for the program runs as nobody.
    let everyone = Permissions::from_mode(0o777);
    std::fs::set_permissions(bench.path(), everyone).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("trueput");
    let copy = bench.path().join("program");
    std::fs::copy(program, &copy).unwrap();
    let run = |line: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command
            .arg(&copy)
            .args(line.words())
            .current_dir(bench.path());
        command.output().unwrap()
    };
    let output =
        run("run threen1 --engine lmdb --workers 1 --set finish=20 --filesystem here,ext4 --full");
    let records = bench.trials();
    assert_eq!(records.len(), 1, "{}", stderr(&output));
    assert_answers(&records[0], 1, 20);
    let said = stdout(&output).replace("\n  ", " ");
    assert_contains(&said, &["needs root (CAP_SYS_ADMIN)"]);
    let is_cluster_installed = is_installed("postgresql-cluster");
    let cluster = "run micro --engine postgresql-cluster --durability sync --duration 6";
    for (more, says) in [
        (
            "--at 2s:partition=leader",
            "at: 2s:partition=leader: network namespaces need root",
        ),
        (
            "--knob postgresql-cluster.network_delay=500",
            "remove network_delay",
        ),
    ] {
        if is_cluster_installed {
            let refused = stderr(&run(&format!("{cluster} {more}")));
            assert_contains(&refused, &[says]);
        }
    }
    let output = run("plan check published/fis-2011-threen1-gtm-tuning");
    let (said, trials) = (stderr(&output), stdout(&output));
    if let Some((_, count)) = said.split_once("running on the current file system instead: ") {
        let (_, reason) = said.split_once("\n").unwrap();
        assert!(reason.starts_with("ext4 "), "{said}");
        assert_contains(reason, &["jfs "]);
        let count = count.lines().next().unwrap();
        assert_contains(&trials, &[&format!("\n{count}; databases need ")]);
    }
}
