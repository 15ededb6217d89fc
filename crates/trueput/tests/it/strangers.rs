//! Folders that somebody else made, or could change: recordings are their owner's alone, replays
//! stay in their folder, and numbers out of their ranges are refused where they are read.

use crate::audit::can_audit;
use crate::support::{Bench, assert_contains, copy_folder, refusal, stderr, stdout};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const AUDIT: &str = "audit --engine lmdb --durability process --claim sync --model journal \
    --states 60 --commits 15";

/// The counterexample of that audit, and its recording.
const EXAMPLE: &str = "lmdb-process-as-sync-journal";
const RECORDING: &str = "recordings/lmdb-process-as-sync";

/// The only folder in a results folder.
fn only_folder(results: &Path) -> PathBuf {
    let mut all = std::fs::read_dir(results).unwrap();
    all.next().unwrap().unwrap().path()
}

/// Every file and folder below one, with the bits of its mode.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let metadata = entry.path().symlink_metadata().unwrap();
        if !metadata.is_symlink() {
            found.push((entry.path(), metadata.permissions().mode() & 0o7777));
        }
        if metadata.is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}

/// An audit made with a umask of 0, and copies of its folder.
struct AuditedFolder {
    bench: Bench,
    folder: PathBuf,
}

impl AuditedFolder {
    fn new() -> Self {
        let bench = Bench::new();
        let mut command = bench.command(AUDIT);
        let mut careless = Command::new("sh");
        careless.args(["-c", "umask 0; exec \"$@\"", "sh"]);
        careless.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            careless.env(name, value.unwrap());
        }
        careless.current_dir(bench.path()).stdin(Stdio::null());
        command = careless;
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let folder = only_folder(&bench.path().join("results"));
        std::fs::create_dir(bench.path().join("outside")).unwrap();
        Self { bench, folder }
    }

    /// Replays in a copy of the folder that `change` has changed.
    fn replay(&self, change: impl Fn(&Path)) -> std::process::Output {
        let copy = self.bench.path().join("copy");
        let _ = std::fs::remove_dir_all(&copy);
        copy_folder(&self.folder, &copy);
        change(&copy);
        self.bench.run(&format!("audit --replay copy/{EXAMPLE}"))
    }

    fn outside(&self) -> PathBuf {
        self.bench.path().join("outside")
    }

    #[track_caller]
    fn assert_nothing_outside(&self, case: &str) {
        let outside: Vec<_> = std::fs::read_dir(self.outside()).unwrap().collect();
        assert!(outside.is_empty(), "{case}: {outside:?}");
    }
}

fn change_json(file: &Path, change: impl Fn(&mut Value)) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    change(&mut record);
    std::fs::write(file, serde_json::to_string_pretty(&record).unwrap()).unwrap();
}

/// Changes each operation of a recording.
fn change_operations(folder: &Path, change: impl Fn(&mut Value)) {
    let file = folder.join(RECORDING).join("log/operations.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| {
        let mut operation = serde_json::from_str(line).unwrap();
        change(&mut operation);
        format!("{operation}\n")
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_recording_is_its_owners_alone_and_a_replay_of_it_has_no_privileged_files() {
    if !can_audit() {
        return;
    }
    let audited = AuditedFolder::new();
    for (path, mode) in modes(&audited.folder) {
        assert_eq!(
            mode & 0o022,
            0,
            "others may write {}: {mode:o}",
            path.display()
        );
        if path.starts_with(audited.folder.join("recordings")) {
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
        }
    }
    let set_ids = |operation: &mut Value| {
        if let Some(mode) = operation.pointer_mut("/access/mode") {
            *mode = json!(mode.as_u64().unwrap() | 0o6022);
        }
    };
    let replayed = audited.replay(|folder| change_operations(folder, set_ids));
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));
    for (path, mode) in modes(&audited.bench.path().join("copy/replays")) {
        assert_eq!(mode & 0o7022, 0, "{}: {mode:o}", path.display());
    }
    // A second replay keeps the first one's state.
    let id = EXAMPLE;
    let again = audited.bench.run(&format!("audit --replay copy/{id}"));
    assert_contains(&stdout(&again), &[&format!("replays/{id}-2/state")]);
}

/// A change to a copy of an audit's folder.
type Change = Box<dyn Fn(&Path)>;

/// Changes to what the record says of its result, with words of the refusal.
fn changed_records(outside: &str) -> Vec<(&'static str, Change)> {
    let record = |change: fn(&mut Value, &str)| -> Change {
        let outside = outside.to_owned();
        Box::new(move |folder: &Path| {
            change_json(&folder.join("audit.json"), |record| {
                change(&mut record["results"][0], &outside);
            });
        })
    };
    let state = |change: fn(&mut Value)| -> Change {
        Box::new(move |folder: &Path| {
            change_json(&folder.join("audit.json"), |record| {
                let model = &mut record["results"][0]["models"][0];
                change(&mut model["counterexample"]["state"]);
            });
        })
    };
    let line = "copy/audit.json:";
    vec![
        (
            "--trust-plan",
            record(|it, outside| it["contender"] = json!(format!("lmdb@{outside}/evil.so"))),
        ),
        (line, record(|it, outside| it["id"] = json!(outside))),
        (line, record(|it, _| it["id"] = json!("../../outside"))),
        (
            line,
            record(|it, _| it["commits_per_phase"] = json!(1_u64 << 60)),
        ),
        (
            "lmdb.map_size",
            record(|it, _| it["knobs"]["map_size"] = json!(-5)),
        ),
        (
            line,
            state(|it| it["lost_operations"] = json!([1_u64 << 62])),
        ),
        (
            "counterexample is cut after",
            state(|it| it["cut"] = json!(1_u64 << 63)),
        ),
    ]
}

/// Changes to the recording, and links in the place of files, with words of the refusal.
fn changed_files(outside: &str) -> Vec<(&'static str, Change)> {
    let named = |name: String| -> Change {
        Box::new(move |folder: &Path| {
            change_operations(folder, |operation| {
                if operation["kind"] == "file" {
                    operation["entry"]["name"] = json!(name);
                }
            });
        })
    };
    let linked = |within: &'static str, target: &str| -> Change {
        let target = target.to_owned();
        Box::new(move |folder: &Path| {
            let link = folder.join(within);
            let _ = std::fs::remove_file(&link);
            symlink(&target, link).unwrap();
        })
    };
    let data = "recordings/lmdb-process-as-sync/log/data.bin";
    vec![
        ("operations.jsonl:", named(format!("{outside}/file"))),
        (
            "operations.jsonl:",
            named("../../../outside/file".to_owned()),
        ),
        ("data.bin: it is a symbolic link", linked(data, "/dev/zero")),
        (
            "audit.json: it is a symbolic link",
            linked("audit.json", "/dev/zero"),
        ),
        ("replays is a link", linked("replays", outside)),
    ]
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_replay_reads_and_writes_only_in_its_folder_and_asks_before_it_loads_code() {
    if !can_audit() {
        return;
    }
    let audited = AuditedFolder::new();
    let outside = audited.outside().display().to_string();
    let mut cases = changed_records(&outside);
    cases.extend(changed_files(&outside));
    for (expected, change) in cases {
        let line = refusal(&audited.replay(change));
        assert_contains(&line, &[expected]);
        audited.assert_nothing_outside(expected);
    }
    // The control: what was not changed is replayed.
    let replayed = audited.replay(|_| {});
    assert_contains(&stdout(&replayed), &["reproduced: "]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_recorded_link_that_leads_out_is_refused() {
    if !can_audit() {
        return;
    }
    let audited = AuditedFolder::new();
    let outside = audited.outside();
    for target in [outside.to_str().unwrap(), "../../../outside"] {
        let to_link = |operation: &mut Value| {
            if operation["kind"] == "file" {
                operation["kind"] = json!({ "symlink": target });
            }
        };
        let replayed = audited.replay(|folder| change_operations(folder, to_link));
        assert_contains(&refusal(&replayed), &["could lead out of the folder"]);
        audited.assert_nothing_outside(target);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn clean_finds_what_a_killed_audit_recorded_and_nothing_of_one_that_ended() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let mut child = bench.command("audit --engine sqlite --durability sync --states 100000");
    let mut child = child
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let results = bench.path().join("results");
    let is_recording = |folder: std::fs::DirEntry| {
        folder
            .path()
            .join("recordings/sqlite-sync/log/clock.bin")
            .exists()
    };
    while !std::fs::read_dir(&results).is_ok_and(|all| all.flatten().any(is_recording)) {
        sleep(Duration::from_millis(50));
    }
    let active = stdout(&bench.run("clean --results results"));
    assert!(
        !active.contains("recordings/sqlite-sync"),
        "it is at work: {active}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    sleep(Duration::from_secs(2));
    let listed = stdout(&bench.run_expecting(1, "clean --results results"));
    assert_contains(&listed, &["recording ", "recordings/sqlite-sync"]);
    // The control that was refuted has a counterexample, which is kept.
    bench.run_expecting(0, "clean --results results --yes");
    let recordings = only_folder(&results).join("recordings");
    assert!(!recordings.join("sqlite-sync").exists());
    assert!(recordings.join("control-flushes-nothing/log").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_number_out_of_its_range_is_refused_with_its_file_and_line_wherever_it_is_read() {
    let bench = Bench::new();
    bench.run("run ycsb --engine lmdb --durability process --duration 200ms --set recordcount=50");
    let run = only_folder(&bench.path().join("results"));
    for (pointer, value, words) in [
        (
            "/trials/0/conditions/duration_s",
            json!(-1),
            "trials.0.conditions.duration_s is -1",
        ),
        (
            "/trials/0/conditions/duration_s",
            json!(1e300),
            "duration_s is 1e300; it must be 0s to",
        ),
        (
            "/trials/0/conditions/warm_up_s",
            json!(1e300),
            "warm_up_s is 1e300",
        ),
        (
            "/trials/0/workers",
            json!(4_000_000),
            "workers is 4000000; it must be between 1 and",
        ),
        (
            "/trials/0/repeat",
            json!(0),
            "repeat is 0; it must be between 1 and 1000",
        ),
    ] {
        let copy = copy_with(&bench, &run, pointer, &value);
        for command in [
            "report copy",
            "run --resume copy",
            "compare copy",
            "history copy",
        ] {
            let line = bench.refusal_of(command);
            assert_contains(&line, &["copy/run.json:", words]);
        }
        std::fs::remove_dir_all(copy).unwrap();
    }
    for (pointer, value, words) in [
        ("/trials/0/knobs/map_size", json!(-5), "lmdb.map_size: "),
        (
            "/trials/0/settings/recordcount",
            json!(-5),
            "ycsb.recordcount: -5 is out of range",
        ),
    ] {
        let copy = copy_with(&bench, &run, pointer, &value);
        let line = bench.refusal_of("run --resume copy");
        assert_contains(&line, &["copy/run.json:", words]);
        std::fs::remove_dir_all(copy).unwrap();
    }
    let copy = bench.path().join("copy");
    copy_folder(&run, &copy);
    let trials = copy.join("trials.jsonl");
    let text = std::fs::read_to_string(&trials).unwrap();
    std::fs::write(&trials, text.replace("\"workers\":4,", "\"workers\":0,")).unwrap();
    let line = bench.refusal_of("report copy");
    assert_contains(&line, &["copy/trials.jsonl:1: spec.workers is 0"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_search_believes_no_number_that_its_options_would_refuse() {
    let bench = Bench::new();
    bench.run(
        "capacity ycsb --engine lmdb --durability process --workers 1 --set recordcount=50 \
         --duration 100ms --objective p99<9s --precision 50% --budget 10m",
    );
    let run = only_folder(&bench.path().join("results"));
    for (pointer, value, words) in [
        (
            "/search/precision",
            json!(-5),
            "search.precision is -5; it must be between 0.01 and",
        ),
        (
            "/search/precision",
            json!(1e300),
            "search.precision is 1e300",
        ),
        ("/search/budget_s", json!(-1), "search.budget_s is -1"),
        ("/search/budget_s", json!(1e300), "search.budget_s is 1e300"),
    ] {
        let copy = copy_with(&bench, &run, pointer, &value);
        for command in ["capacity --resume copy", "report copy"] {
            assert_contains(&bench.refusal_of(command), &["copy/run.json:", words]);
        }
        std::fs::remove_dir_all(copy).unwrap();
    }
    // A rate that was multiplied by hand does not win.
    let copy = bench.path().join("copy");
    copy_folder(&run, &copy);
    for file in ["run.json", "trials.jsonl"] {
        let text = std::fs::read_to_string(copy.join(file)).unwrap();
        let forged = ["\"per_s\":", "\"per_s\": ", "\"rate_per_s\":"]
            .iter()
            .fold(text, |text, key| forge(&text, key));
        std::fs::write(copy.join(file), forged).unwrap();
    }
    let report = stdout(&bench.run("report copy --full"));
    assert_contains(&report, &["requests became due in"]);
}

/// Writes another rate after each occurrence of a key of a rate.
fn forge(text: &str, key: &str) -> String {
    let mut parts = text.split(key);
    let mut forged = parts.next().unwrap().to_owned();
    for part in parts {
        let number = part.find([',', '}', '\n']).unwrap();
        let is_of_rate = forged.ends_with("\"rate\":{") || key.contains("rate");
        let is_of_rate = is_of_rate || forged.trim_end().ends_with("\"rate\": {");
        forged.push_str(key);
        forged.push_str(if is_of_rate {
            "99999.0"
        } else {
            &part[..number]
        });
        forged.push_str(&part[number..]);
    }
    forged
}

/// A copy of a run folder with one value changed.
fn copy_with(bench: &Bench, run: &Path, pointer: &str, value: &Value) -> PathBuf {
    let copy = bench.path().join("copy");
    copy_folder(run, &copy);
    change_json(&copy.join("run.json"), |record| {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        record.pointer_mut(parent).unwrap()[field] = value.clone();
    });
    copy
}
