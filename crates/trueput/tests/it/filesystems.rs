//! File systems made for trials, and what a killed run leaves: with the built program. What takes
//! root is passed over, with a word, where the test does not run as root.

use crate::support::{Bench, assert_answers, ended_well, stderr, stdout, words};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use trueput_record::{Outcome, TrialRecord};

/// What others left on this machine is none of a test's business.
const CLEAN: [&str; 3] = ["clean", "--results", "results"];

fn may_mount() -> bool {
    let root = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !root {
        eprintln!("passed over: mounting takes root and loop devices");
    }
    root
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap()
}

fn run<'a>(bench: &Bench, options: &[&'a str]) -> Vec<TrialRecord> {
    let common: [&'a str; 9] = [
        "run",
        "threen1",
        "--engine",
        "lmdb",
        "--durability",
        "sync",
        "--workers",
        "1",
        "--image",
    ];
    let arguments = [&common[..], &["384MiB"], options].concat();
    let output = bench.run(&arguments);
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
    bench.trials()
}

/// Those of the usual kinds that this machine has; the others are named as left out.
const KINDS: &str = "ext2,ext3,ext4,xfs,btrfs,tmpfs";

#[test]
fn a_trial_runs_on_each_file_system_that_is_to_be_had() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let records = run(&bench, &["--set", "finish=50", "--filesystem", KINDS]);
    let manifest = trueput_record::RunFolder::open(bench.run_folder().path())
        .unwrap()
        .1;
    assert_eq!(records.len() + manifest.skipped.len(), 6);
    for record in &records {
        assert_answers(record, 1, 50);
        let asked = record
            .spec
            .conditions
            .file_system
            .as_ref()
            .unwrap()
            .to_string();
        let kind = asked.split(':').next().unwrap();
        let stood_on = record.file_system.as_ref().unwrap();
        assert_eq!(stood_on.mounted.kind, kind);
        let made = stood_on.mkfs.as_deref().unwrap_or("tmpfs");
        assert!(made.contains(kind), "{made}");
        assert!(stood_on.mounted.size_bytes <= 384 << 20);
    }
    assert!(
        !mounts().contains(bench.path().to_str().unwrap()),
        "all is unmounted"
    );
    assert!(!bench.run_folder().path().join("work").exists());
}

#[test]
fn options_reach_the_file_system_and_a_wrong_one_fails_its_trial_in_the_kernel_s_words() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let records = run(
        &bench,
        &[
            "--set",
            "finish=50",
            "--filesystem",
            "ext4:mkfs=-O ^has_journal -b 1024;mount=noatime",
            "--filesystem",
            "ext4:mount=noatime,nonsense=3",
            "--filesystem",
            "ext4:journal=external;mount=data=journal,barrier=0",
        ],
    );
    assert_eq!(records.len(), 3);
    assert!(ended_well(&records[0]) && ended_well(&records[2]));
    let stood_on = |index: usize| records[index].file_system.as_ref().unwrap();
    assert!(stood_on(0).mounted.options.contains("noatime"));
    assert!(
        stood_on(0)
            .mkfs
            .as_ref()
            .unwrap()
            .contains("^has_journal -b 1024")
    );
    assert!(stood_on(2).mounted.options.contains("data=journal"));
    assert!(stood_on(2).mounted.options.contains("nobarrier"));
    assert!(stood_on(2).journal_bytes.is_some());
    let Outcome::Failed { reason, .. } = &records[1].outcome else {
        panic!("{:?}", records[1].outcome);
    };
    assert!(
        reason.contains("Unknown parameter 'nonsense'") && !reason.contains('\n'),
        "{reason}"
    );
    assert!(
        !mounts().contains(bench.path().to_str().unwrap()),
        "all is unmounted"
    );
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let bench = Bench::new();
    for (given, says) in [
        ("ext5", "unknown file system 'ext5'"),
        ("folder:/nowhere", "is not a directory"),
        ("btrfs:journal=external", "external journal"),
        ("ext4:mont=x", "did you mean 'mount'"),
    ] {
        let output = bench.run(&["run", "threen1", "--engine", "lmdb", "--filesystem", given]);
        assert_eq!(output.status.code(), Some(2), "{given}");
        let message = stderr(&output);
        // Where there is no btrfs it is left out, and then nothing is left to run.
        let missing = message.contains("nothing to run");
        assert!(message.contains(says) || missing, "{given}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    if may_mount() {
        let large = [
            "run",
            "threen1",
            "--engine",
            "lmdb",
            "--filesystem",
            "ext4:size=900TiB",
        ];
        let output = bench.run(&large);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("900 TiB needed"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(bench.snapshot().len(), 0);
}

#[test]
fn the_log_lies_on_a_file_system_of_its_own_where_the_engine_can_place_it() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\", \"present\"]\nworkers = 1\n\
                unsupported = \"leave-out\"\nfilesystem = \"ext4\"\nlog_filesystem = \"tmpfs\"\n\
                image = \"384MiB\"\n[settings]\nfinish = 20\n";
    bench.write("logs.toml", plan);
    let mut command = bench.plain_command(&["run", "logs.toml"]);
    let output = command.output().unwrap();
    let (folder, manifest) = trueput_record::RunFolder::open(bench.run_folder().path()).unwrap();
    let without = "lmdb has no knob log_directory";
    assert!(
        manifest.skipped.iter().any(|why| why.contains(without)),
        "{}",
        stderr(&output)
    );
    for record in folder.trials().unwrap().trials {
        assert!(
            ended_well(&record),
            "{}: {:?}",
            record.spec.id,
            record.outcome
        );
        assert_eq!(record.spec.knobs["log_directory"], "log".into());
        let log = record.log_file_system.unwrap().mounted;
        assert_eq!(log.kind, "tmpfs");
        assert!(log.mount_point.ends_with("/log"));
        assert_eq!(record.file_system.unwrap().mounted.kind, "ext4");
        // The data's loop device is watched, and of a log in memory there is none to watch.
        let measurement = record.measurement.unwrap();
        assert!(measurement.device.is_some() && measurement.log_flushes().is_none());
        assert!(
            record.hardware_limits.unwrap().flush.is_some(),
            "{}",
            record.spec.id
        );
    }
}

fn succeeds(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", stderr(&output));
}

/// A user's own image, mounted by way of a loop device; unmounted at the end.
struct OwnMount(PathBuf);

impl OwnMount {
    fn mount(image: &Path, at: &Path) -> Self {
        std::fs::File::create(image)
            .unwrap()
            .set_len(32 << 20)
            .unwrap();
        std::fs::create_dir_all(at).unwrap();
        succeeds("mkfs.ext4", &["-q", image.to_str().unwrap()]);
        succeeds(
            "mount",
            &["-o", "loop", image.to_str().unwrap(), at.to_str().unwrap()],
        );
        std::fs::write(at.join("thesis"), "ten years").unwrap();
        Self(at.to_owned())
    }

    fn is_whole(&self) -> bool {
        std::fs::read_to_string(self.0.join("thesis")).is_ok_and(|text| text == "ten years")
    }
}

impl Drop for OwnMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Starts a long run on ext4, kills it once it is mounted, and returns the mount point.
fn killed_run(bench: &Bench) -> PathBuf {
    let mut child = bench
        .command(&words(
            "run threen1 --engine lmdb --durability sync --set finish=200000 --filesystem ext4 \
             --image 384MiB --verify off",
        ))
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
        assert!(
            Instant::now() < until,
            "the trial's file system is never mounted"
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    let at_work = bench.run(&CLEAN);
    assert_eq!(
        at_work.status.code(),
        Some(0),
        "a run at work is no left-over"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    mounted
}

#[test]
fn what_a_killed_run_leaves_is_listed_then_removed_and_a_user_s_own_mount_stays() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    let theirs = OwnMount::mount(&bench.path().join("own.img"), &bench.path().join("own"));
    let mounted = killed_run(&bench);
    let listed = bench.run(&CLEAN);
    assert_eq!(listed.status.code(), Some(1), "{}", stderr(&listed));
    for word in [
        "mount",
        "loop device",
        "image",
        "folder",
        mounted.to_str().unwrap(),
    ] {
        assert!(stdout(&listed).contains(word), "{}", stdout(&listed));
    }
    assert!(!stdout(&listed).contains("own.img"));
    assert!(
        mounts().contains(mounted.to_str().unwrap()),
        "listing removes nothing"
    );
    let json = bench.run(&[&CLEAN[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json[0]["items"][0]["what"], "mount");

    // What a user mounted in the very folder keeps all of it from being removed.
    let inside = mounted.parent().unwrap().join("inside");
    let second = OwnMount::mount(&bench.path().join("second.img"), &inside);
    let refused = bench.run(&[&CLEAN[..], &["--yes"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("does not belong to trueput"),
        "{}",
        stderr(&refused)
    );
    assert!(second.is_whole() && mounts().contains(mounted.to_str().unwrap()));
    drop(second);

    let removed = bench.run(&[&CLEAN[..], &["--yes"]].concat());
    assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
    assert!(!mounts().contains(mounted.to_str().unwrap()));
    assert!(!mounted.exists() && theirs.is_whole());
    let again = bench.run(&CLEAN);
    assert_eq!(stdout(&again), "nothing to clean\n");
    assert_eq!(again.status.code(), Some(0));
}

#[test]
fn without_root_its_cells_are_left_out_and_the_others_run() {
    if !may_mount() {
        return;
    }
    let bench = Bench::new();
    // Readable and writable by anyone, for the program runs as nobody.
    std::process::Command::new("chmod")
        .args(["a+rwx"])
        .arg(bench.path())
        .status()
        .unwrap();
    let program = assert_cmd::cargo::cargo_bin!("trueput");
    let copy = bench.path().join("program");
    std::fs::copy(program, &copy).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&copy)
        .args([
            "run",
            "threen1",
            "--engine",
            "lmdb",
            "--workers",
            "1",
            "--set",
            "finish=20",
        ])
        .args(["--filesystem", "here,ext4", "--full"])
        .current_dir(bench.path())
        .output()
        .unwrap();
    let records = bench.trials();
    assert_eq!(records.len(), 1, "{}", stderr(&output));
    assert_answers(&records[0], 1, 20);
    let said = stdout(&output).replace("\n  ", " ");
    assert!(said.contains("needs root (CAP_SYS_ADMIN)"), "{said}");
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&copy)
        .args(["plan", "check", "published/fis-2011-threen1-gtm-tuning"])
        .current_dir(bench.path())
        .output()
        .unwrap();
    let (said, trials) = (stderr(&output), stdout(&output));
    if let Some((_, count)) = said.split_once("running on the current file system instead: ") {
        let (_, reason) = said.split_once("\n").unwrap();
        assert!(
            reason.starts_with("ext4 ") && reason.contains("jfs "),
            "{said}"
        );
        let count = count.lines().next().unwrap();
        assert!(
            trials.contains(&format!("\n{count}; databases need ")),
            "{said}{trials}"
        );
    }
}
