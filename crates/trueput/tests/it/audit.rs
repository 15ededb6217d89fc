//! Audits at the command line: verdicts, replays, bad input.

use crate::support::{ALL_WELL, Bench, assert_contains, expect_code, signal, stdout};
use nix::sys::signal::Signal::{SIGINT, SIGKILL, SIGSTOP};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueput_host::work_folder::WorkFolder;
use trueput_record::RunFolder;
use trueput_record::audit::{AuditRecord, AuditResult, StorageModel};

/// Whether audits can run here. If not, says why.
pub fn can_audit() -> bool {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: without root, FUSE depends on how fusermount3 is set up");
        return false;
    }
    let opened = std::fs::File::open("/dev/fuse");
    if let Err(error) = &opened {
        println!("skipped: /dev/fuse: {error}");
    }
    // Root in a container may be refused what mounting takes.
    let output = Command::new("unshare").args(["--mount", "true"]).output();
    let may_mount = output.is_ok_and(|output| output.status.success());
    if !may_mount {
        println!("skipped: this root may not mount ('unshare --mount' fails)");
    }
    opened.is_ok() && may_mount
}

fn record(bench: &Bench, code: i32, line: &str) -> AuditRecord {
    let output = bench.run_expecting(code, line);
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn only(record: &AuditRecord) -> &AuditResult {
    assert!(record.is_valid(), "{record:?}");
    assert_eq!(record.results.len(), 1, "{record:?}");
    &record.results[0]
}

#[test]
#[ignore = "slow: make test runs it"]
fn sqlite_keeps_its_promise_and_nothing_is_left_behind() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "audit --engine sqlite --durability sync --states 40 --commits 30 --json";
    let record = record(&bench, 0, line);
    let result = only(&record);
    assert_eq!(result.models.len(), StorageModel::ALL.len());
    assert!(
        result.flushes > 0 && result.commits == 3 * 3 * 30,
        "{result:?}"
    );
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let path = bench.path().to_str().unwrap();
    assert!(!mounts.contains(path), "{mounts}");
    let folder = std::fs::read_dir(bench.path().join("results")).unwrap();
    let folder = folder.map(|entry| entry.unwrap().path()).next().unwrap();
    assert!(folder.join("audit.json").exists());
    assert!(!folder.join("work").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_false_claim_is_refuted_and_its_counterexample_replayed() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "audit --engine lmdb --durability process --claim sync --model journal --states 120 \
                --commits 40 --json";
    let record = record(&bench, 1, line);
    let result = only(&record);
    let model = &result.models[0];
    let example = model.counterexample.as_ref().unwrap();
    assert!(model.refuted > 0 && model.model == StorageModel::Journal);
    let folder = std::fs::read_dir(bench.path().join("results")).unwrap();
    let folder = folder.map(|entry| entry.unwrap().path()).next().unwrap();
    let replay = format!("audit --replay {}/{}", folder.display(), example.id);
    let replayed = stdout(&bench.run_expecting(0, &replay));
    let damage = format!("reproduced: {}", example.damage);
    assert_contains(&replayed, &[&damage, "the state: "]);
    let unknown = format!("audit --replay {}/nothing", folder.display());
    let reason = bench.refusal_of(&unknown);
    assert_contains(&reason, &["no counterexample 'nothing'", &example.id]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn below_a_file_system_of_its_own_a_promise_is_kept_unless_barriers_are_off() {
    if !can_audit() {
        return;
    }
    let mkfs = Command::new("mkfs.ext4").arg("-V").output();
    if mkfs.is_err() || !std::path::Path::new("/dev/loop-control").exists() {
        println!("skipped: no mkfs.ext4 or no loop devices here");
        return;
    }
    let bench = Bench::new();
    let line = "audit --engine sqlite --durability sync,process --form block --model journal \
                --states 60 --commits 40 --json --filesystem";
    let kept = record(&bench, 0, &format!("{line} ext4"));
    // Nothing is promised of lost power at `process`, so there is nothing to test.
    let reason = &kept.skipped["sqlite process"];
    assert!(reason.contains("choose --model kill"), "{kept:?}");
    let models = &only(&kept).models;
    assert!(
        models[0].distinct > 20 && models[0].refuted == 0,
        "{models:?}"
    );
    let lost = record(&bench, 1, &format!("{line} ext4:mount=barrier=0"));
    assert!(only(&lost).models[0].refuted > 0, "{lost:?}");
    // A log engine that flushes is told to lose commits there, too.
    assert!(!kept.blames_storage() && lost.blames_storage(), "{lost:?}");
    assert_eq!(kept.storage_controls.len(), 2);
    let attached = Command::new("losetup").arg("-a").output().unwrap();
    let path = bench.path().to_str().unwrap();
    assert!(!String::from_utf8_lossy(&attached.stdout).contains(path));
    let engines = bench.json_of("engines --json");
    let sqlite = engines.as_array().unwrap().iter();
    let sqlite = sqlite.clone().find(|it| it["name"] == "sqlite").unwrap();
    // Rankings know of every form, and not of what storage that loses data refutes.
    let audit = &sqlite["builds"][0]["audits"][0]["audit"];
    assert_eq!(audit["state"], "not_refuted", "{audit}");
    assert_eq!(audit["models"][0]["file_system"], "ext4", "{audit}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_ends_an_audit_and_refutes_nothing() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let mut command = bench.command("audit --engine lmdb --durability sync --json");
    // A terminal sends its signal to a whole group of processes.
    let child = command.process_group(0).stdout(Stdio::piped()).spawn();
    let child = child.unwrap();
    let group = i32::try_from(child.id()).unwrap();
    let results = bench.path().join("results");
    let has_begun = |folder: std::fs::DirEntry| folder.path().join("recordings/lmdb-sync").exists();
    while !std::fs::read_dir(&results).is_ok_and(|all| all.flatten().any(has_begun)) {
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_secs(1));
    signal(-group, SIGINT);
    let output = expect_code(130, child.wait_with_output().unwrap());
    let record: AuditRecord = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(record.interrupted && record.is_valid(), "{record:?}");
    let models = record.results.iter().flat_map(|result| &result.models);
    assert!(models.clone().all(|model| model.refuted == 0), "{record:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_knows_what_was_audited_and_can_skip_the_rest() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let threen1 = "run threen1 --durability sync --set finish=300 --repeat 1 --results runs";
    let nothing = format!("{threen1} --engine lmdb --audited-only");
    let reason = bench.refusal_of(&nothing);
    let command = "trueput audit --engine lmdb --durability sync";
    assert_contains(&reason, &["no promise was audited", command]);
    let line = "audit --engine sqlite --durability sync --model journal --states 30 --commits 20";
    let audit = stdout(&bench.run_expecting(0, line));
    assert_contains(
        &audit,
        &[
            "1 promise audited in",
            "none is refuted",
            "audit.html",
            "Controls: ",
        ],
    );
    bench.run_expecting(
        ALL_WELL,
        &format!("{threen1} --engine lmdb,sqlite --audited-only"),
    );
    let runs = std::fs::read_dir(bench.path().join("runs")).unwrap();
    let folder = runs.map(|entry| entry.unwrap().path()).next().unwrap();
    let (folder, manifest) = RunFolder::open(&folder).unwrap();
    let trials = folder.trials().unwrap().trials;
    assert_eq!(trials.len(), 1);
    let standing = trials[0].audit.as_ref().unwrap();
    assert!(
        standing.states() >= 30 && !standing.is_refuted(),
        "{standing:?}"
    );
    let skipped = manifest.skipped.join("\n");
    assert_contains(
        &skipped,
        &["lmdb sync is not audited with these knobs", command],
    );
    let engines = bench.json_of("engines --json");
    let engines = engines.as_array().unwrap();
    let sqlite = engines.iter().find(|it| it["name"] == "sqlite").unwrap();
    let audits = &sqlite["builds"][0]["audits"];
    assert_eq!(audits[0]["durability"], "sync", "{audits}");
    assert_eq!(audits[0]["audit"]["state"], "not_refuted", "{audits}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn sqlites_delete_mode_keeps_its_promise_though_names_persist_late() {
    if !can_audit() {
        return;
    }
    // The journal's removal is the commit. Without a flush of the directory it can be undone, so
    // the driver sets synchronous=EXTRA.
    let bench = Bench::new();
    let line = "audit --engine sqlite --durability sync --knob sqlite.journal_mode=delete \
                --model posix --states 150 --commits 30 --json";
    let record = record(&bench, 0, line);
    assert!(only(&record).models[0].distinct > 50, "{record:?}");
}

/// The folder of an audit that was killed, in a work folder.
fn killed_audit(bench: &Bench) -> PathBuf {
    let work = bench.path().join("work");
    drop(WorkFolder::claim(&work).unwrap());
    let run = work.canonicalize().unwrap().join("run");
    for folder in ["backing", "mount", "log"] {
        std::fs::create_dir_all(run.join("states").join(folder)).unwrap();
    }
    let marker = serde_json::json!({
        "magic": "The trueput run of this name creates databases here and removes them",
        "folder": run,
        // No process has such a number.
        "pid": u32::MAX,
    });
    std::fs::write(run.join(".trueput-run"), marker.to_string()).unwrap();
    run
}

/// Waits for a command that could wait for ever.
fn end_of(mut command: Command) -> i32 {
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap();
        }
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{command:?} hangs"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_recording_whose_server_does_not_answer_is_cleaned() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let run = killed_audit(&bench);
    let [backing, mount, log] = ["backing", "mount", "log"].map(|name| {
        let folder = run.join("states").join(name);
        folder.to_str().unwrap().to_owned()
    });
    let line = ["faultfs", &backing, &mount, &log];
    let mut server = bench.plain_command(&line);
    let mut server = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let pid = i32::try_from(server.id()).unwrap();
    signal(pid, SIGSTOP);
    // Everything that is mounted is looked at, but for what may not answer.
    end_of(bench.plain_command("clean"));
    let work = run.parent().unwrap().to_str().unwrap();
    let clean = bench.plain_command(&["clean", "--yes", "--work", work]);
    let code = end_of(clean);
    signal(pid, SIGKILL);
    server.wait().unwrap();
    assert_eq!(code, 0);
    assert!(!run.exists());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&mount), "{mounts}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let bench = Bench::new();
    for (line, words) in [
        ("audit --engine sqlit", "sqlite"),
        (
            "audit --engine sqlite --durability buffered",
            "nothing to run",
        ),
        ("audit --engine sqlite --model jornal", "journal"),
        ("audit --engine sqlite --budget 0s", "a second or more"),
        (
            "audit --engine sqlite --durability sync --budget 1s",
            "give 2s or more",
        ),
        (
            "audit --engine sqlite --knob sqlite.journal=x",
            "journal_mode",
        ),
        ("audit --replay nowhere/x", "nowhere"),
        (
            "audit --engine sqlite --form block --filesystem tmpfs",
            "write ext4, xfs or btrfs",
        ),
        ("audit --engine sqlite --filesystem xfs", "add --form block"),
        (
            "audit --engine sqlite --form block --model posix",
            "the models prefix, journal and torn",
        ),
    ] {
        let reason = bench.refusal_of(line);
        assert_contains(&reason, &[words]);
    }
}
