//! Workers on hosts that other launchers than ssh reach: commands of the test, a stand-in for
//! kubectl that enters namespaces, and a real Slurm of this machine.

use crate::support::{
    ALL_WELL, Bench, assert_contains, ended_well, expect_code, refusal, signal, stderr,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, TrialRecord};

/// A trial but for its hosts and its duration.
const TRIAL: [&str; 14] = [
    "run",
    "micro",
    "--set",
    "test=read-random",
    "--set",
    "records=1000",
    "--engine",
    "null",
    "--durability",
    "none",
    "--rate",
    "200",
    "--workers",
    "3",
];

/// The longest that a refusal may take.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The command line of a trial with more options.
fn trial<'a>(options: &[&'a str]) -> Vec<&'a str> {
    TRIAL.iter().chain(options).copied().collect()
}

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("trueput").to_path_buf()
}

/// A program of a test.
fn script(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.write(name, &format!("#!/bin/sh\n{text}"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn the_record(bench: &Bench) -> TrialRecord {
    let mut trials = bench.trials();
    assert_eq!(trials.len(), 1);
    trials.remove(0)
}

/// The reason why the one trial failed.
fn failure(bench: &Bench, output: &Output) -> String {
    match the_record(bench).outcome {
        Outcome::Failed { reason, .. } => reason,
        other => panic!("{other:?} {}", stderr(output)),
    }
}

fn names_of_hosts(bench: &Bench) -> Vec<String> {
    let measurement = the_record(bench).measurement.unwrap();
    let hosts = measurement.load_generators.iter();
    hosts.map(|host| host.host.clone()).collect()
}

/// Asserts that a command line is refused soon, in one line, and makes nothing.
fn assert_launcher_is_refused(options: &[&str], expected: &str) {
    let bench = Bench::new();
    let began = Instant::now();
    let mut command = bench.command(&trial(options));
    let output = command.env_remove("SLURM_JOB_ID").output().unwrap();
    assert_contains(&refusal(&output), &[expected]);
    assert!(began.elapsed() < REFUSAL_TIMEOUT, "{:?}", began.elapsed());
    assert!(!bench.path().join("results").exists());
}

#[test]
fn a_launcher_that_cannot_be_used_is_refused_in_one_line() {
    for (options, expected) in [
        (
            ["--launcher", "slrum", "--hosts", "a"],
            "did you mean 'slurm'?",
        ),
        (
            ["--launcher", "on {host}", "--hosts", "a"],
            "has no {command}",
        ),
        (
            ["--launcher", "on {hosts} {command}", "--hosts", "a"],
            "{hosts} is unknown",
        ),
        (
            ["--launcher", "/no/such {host} {command}", "--hosts", "a"],
            "no program /no/such",
        ),
        (
            ["--launcher", "false {host} {command}", "--hosts", "a"],
            "host 'a' ended",
        ),
        (
            ["--launcher", "slurm", "--hosts", "a"],
            "inside an allocation",
        ),
        (
            ["--launcher", "slurm", "--duration", "1"],
            "salloc --nodes=3",
        ),
        (
            ["--launcher", "kubernetes", "--ssh-config", "/c"],
            "--ssh-config is for",
        ),
    ] {
        assert_launcher_is_refused(&options, expected);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_command_of_the_users_starts_the_agents() {
    let bench = Bench::new();
    // Any program that connects standard input and output will do.
    let launcher = r#"sh -c 'test "$0" != c && exec {command}' {host}"#;
    let options = ["--launcher", launcher, "--hosts", "a,b", "--duration", "2"];
    expect_code(ALL_WELL, bench.run(&trial(&options)));
    assert!(ended_well(&the_record(&bench)));
    assert_eq!(names_of_hosts(&bench), ["a", "b"]);
    let options = ["--launcher", launcher, "--hosts", "a,c", "--duration", "2"];
    let line = bench.refusal_of(&trial(&options));
    assert_contains(&line, &["the connection to host 'c' ended"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_exit_code_of_zero_without_a_last_message_is_a_lost_host() {
    let bench = Bench::new();
    let killer = script(
        &bench,
        "killer",
        "shift\nexec 3<&0\n\"$@\" <&3 3<&- &\nagent=$!\nexec 3<&-\n\
         # The first agent is asked only who it is.\n\
         (sleep 4; kill -KILL $agent) 2>/dev/null >/dev/null &\nwait $agent\nexit 0\n",
    );
    let launcher = format!("{killer} {{host}} {{command}}");
    let options = [
        "--launcher",
        &launcher,
        "--hosts",
        "a,b",
        "--duration",
        "30",
    ];
    let began = Instant::now();
    let output = bench.run(&trial(&options));
    assert!(began.elapsed() < Duration::from_secs(60));
    let expected = ["without its last message, though", "killer reports success"];
    assert_contains(&failure(&bench, &output), &expected);
}

#[test]
#[ignore = "slow: make test runs it"]
fn output_that_a_launcher_loses_is_noticed() {
    let bench = Bench::new();
    let lossy = script(
        &bench,
        "lossy",
        "shift\n\"$@\" | grep --line-buffered -v '\"host_report\":\"heartbeat\"'\n",
    );
    let launcher = format!("{lossy} {{host}} {{command}}");
    let options = ["--launcher", &launcher, "--hosts", "a", "--duration", "2"];
    let output = bench.run(&trial(&options));
    let reason = failure(&bench, &output);
    assert_contains(
        &reason,
        &["messages of host 'a' did not arrive", "lossy has lost"],
    );
}

/// The processes with a word in their command line.
fn processes_of(word: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_word = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let first = line.split(|byte| *byte == 0).next();
        first.is_some_and(|first| first == word.as_os_str().as_encoded_bytes())
    };
    pids.filter(has_word).collect()
}

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_that_is_interrupted_or_killed_leaves_no_agent_of_a_launcher() {
    for sent in [SIGINT, SIGKILL] {
        let bench = Bench::new();
        let link = bench.path().join("agent");
        symlink(program(), &link).unwrap();
        let shown = link.display().to_string();
        let options = [
            "--launcher",
            "sh -c 'exec {command}' {host}",
            "--host-program",
            &shown,
            "--hosts",
            "a,b",
            "--duration",
            "300",
        ];
        let mut command = bench.command(&trial(&options));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let results = bench.path().join("results");
        await_that("no agent", || {
            results.exists() && processes_of(&link).len() == 2
        });
        std::thread::sleep(Duration::from_secs(1));
        signal(i32::try_from(child.id()).unwrap(), sent);
        let status = child.wait().unwrap();
        if sent == SIGINT {
            assert_eq!(status.code(), Some(130));
        }
        await_that("an agent is left", || processes_of(&link).is_empty());
    }
}

/// Pods of the test: a process each, in a network and a process namespace of its own.
struct Pods(Vec<Child>);

impl Pods {
    /// Starts pods, and writes a stand-in for kubectl that enters their namespaces to a folder;
    /// `None`, with a message, if that is not possible here.
    fn start(bench: &Bench, names: &[&str]) -> Option<Self> {
        if !trueput_host::is_root() {
            eprintln!("skipped: namespaces need root");
            return None;
        }
        let mut pods = Self(Vec::new());
        let mut cases = String::new();
        for name in names {
            let mut command = Command::new("unshare");
            command.args([
                "--net",
                "--pid",
                "--fork",
                "--kill-child",
                "sleep",
                "infinity",
            ]);
            let child = command.stdin(Stdio::null()).spawn().unwrap();
            cases += &format!("{name}) pid={};;\n", child.id());
            pods.0.push(child);
        }
        script(
            bench,
            "bin/kubectl",
            &format!(
                "[ \"$1 $2 $3 $5\" = 'exec --stdin --quiet --' ] || exit 64\ncase $4 in\n{cases}\
                 *) echo \"Error from server (NotFound): pods $4 not found\" >&2; exit 1;;\n\
                 esac\nshift 5\nfirst=$(cat /proc/$pid/task/$pid/children)\n\
                 exec nsenter --target ${{first% }} --net --pid -- \"$@\"\n"
            ),
        );
        Some(pods)
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        for pod in &mut self.0 {
            // It may have ended by itself.
            let _ = pod.kill();
            let _ = pod.wait();
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn pods_are_reached_by_a_stand_in_for_kubectl() {
    let bench = Bench::new();
    let Some(_pods) = Pods::start(&bench, &["trueput-0", "trueput-1"]) else {
        return;
    };
    let usual = std::env::var("PATH").unwrap();
    let path = format!("{}:{usual}", bench.path().join("bin").display());
    let run = |hosts: &str, options: &[&str]| {
        let line = [
            "--launcher",
            "kubernetes",
            "--hosts",
            hosts,
            "--duration",
            "2",
        ];
        let line: Vec<_> = line.iter().chain(options).copied().collect();
        bench
            .command(&trial(&line))
            .env("PATH", &path)
            .output()
            .unwrap()
    };
    let line = refusal(&run("trueput-0,trueput-7", &[]));
    let expected = ["host 'trueput-7': Error from server", "kubectl get pods"];
    assert_contains(&line, &expected);
    let line = refusal(&run("trueput-0", &["--host-program", "/no/trueput"]));
    assert_contains(&line, &["host 'trueput-0' has no program /no/trueput"]);
    expect_code(ALL_WELL, run("trueput-0,trueput-1", &[]));
    assert!(ended_well(&the_record(&bench)));
    assert_eq!(names_of_hosts(&bench), ["trueput-0", "trueput-1"]);
}

/// A Slurm with three nodes.
struct SlurmHosts {
    bench: Bench,
    folder: PathBuf,
}

fn slurm_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/slurm-hosts")
}

impl SlurmHosts {
    /// Starts it; `None`, with a message, if that is not possible here.
    fn start() -> Option<Self> {
        let needs = Command::new(slurm_script()).arg("needs").output().unwrap();
        if !needs.status.success() {
            eprintln!("skipped: {}", String::from_utf8_lossy(&needs.stdout).trim());
            return None;
        }
        let bench = Bench::new();
        let folder = bench.path().join("slurm");
        let slurm = Self { bench, folder };
        slurm.control(&["start"], &[]);
        Some(slurm)
    }

    fn control(&self, before: &[&str], after: &[&str]) {
        let mut command = Command::new(slurm_script());
        command.args(before).arg(&self.folder).args(after);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{before:?}");
    }

    /// A command of Slurm's.
    fn slurm(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .env("SLURM_CONF", self.folder.join("slurm.conf"));
        command.current_dir(self.bench.path()).stdin(Stdio::null());
        command
    }

    /// A trial in an allocation of all nodes.
    fn in_allocation(&self, options: &[&str]) -> Command {
        let inner = self.bench.command(options);
        let mut command =
            self.slurm("salloc --quiet --nodes=3 --exclusive --immediate=15 --no-kill");
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        // It would put the number of the step before each line.
        command.env("SLURM_LABELIO", "1");
        command
    }

    /// Starts a long trial, and waits until it is measured.
    fn start_trial(&self, name: &str, options: &[&str]) -> Child {
        let named = ["--launcher", "slurm", "--name", name];
        let options: Vec<_> = named.iter().chain(options).copied().collect();
        let mut command = self.in_allocation(&trial(&options));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        // The hosts are checked, the run's folder is made, and the agents start once more.
        await_that("no run", || self.folder_of(name).is_some());
        std::thread::sleep(Duration::from_secs(4));
        child.unwrap()
    }

    fn folder_of(&self, name: &str) -> Option<PathBuf> {
        let results = std::fs::read_dir(self.bench.path().join("results")).ok()?;
        let mut paths = results.flatten().map(|entry| entry.path());
        paths.find(|path| path.to_string_lossy().ends_with(name))
    }

    /// The lines of the trials of a run.
    fn lines_of(&self, name: &str) -> String {
        let folder = self.folder_of(name).unwrap();
        std::fs::read_to_string(folder.join("trials.jsonl")).unwrap_or_default()
    }
}

impl Drop for SlurmHosts {
    fn drop(&mut self) {
        self.control(&["stop"], &[]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn slurm_gives_the_hosts_and_starts_the_agents() {
    let Some(slurm) = SlurmHosts::start() else {
        return;
    };
    let options = trial(&["--launcher", "slurm", "--duration", "2"]);
    expect_code(ALL_WELL, slurm.in_allocation(&options).output().unwrap());
    assert!(ended_well(&the_record(&slurm.bench)));
    assert_eq!(names_of_hosts(&slurm.bench), ["n1", "n2", "n3"]);
    let options = trial(&["--launcher", "slurm", "--hosts", "n1,n9", "--duration", "2"]);
    let output = slurm.in_allocation(&options).output().unwrap();
    assert_contains(&stderr(&output), &["host 'n9'", "scontrol show hostnames"]);
    let options = trial(&["--launcher", "slurm", "--host-program", "/no/trueput"]);
    let output = slurm.in_allocation(&options).output().unwrap();
    assert_contains(&stderr(&output), &["has no program /no/trueput"]);
    // The queue is full: Slurm's own line, and nothing runs.
    let mut holder = slurm
        .slurm("salloc --quiet --nodes=3 --exclusive sleep 60")
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let full = slurm
        .slurm("salloc --nodes=3 --exclusive --immediate=2 true")
        .output()
        .unwrap();
    assert_eq!(full.status.code(), Some(1));
    assert_contains(&stderr(&full), &["Unable to allocate resources"]);
    signal(i32::try_from(holder.id()).unwrap(), SIGINT);
    holder.wait().unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_allocation_or_a_node_that_ends_in_the_middle_is_named_and_the_run_is_resumed() {
    let Some(slurm) = SlurmHosts::start() else {
        return;
    };
    // Three trials: the second is lost, and the third finds no host.
    let child = slurm.start_trial("cancelled", &["--duration", "10", "--repeat", "3"]);
    await_that("no trial has ended", || {
        slurm.lines_of("cancelled").contains("0001-")
    });
    std::thread::sleep(Duration::from_secs(4));
    let cancelled = slurm.slurm("scancel --user=root --state=RUNNING").status();
    assert!(cancelled.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (lines, said) = (slurm.lines_of("cancelled"), stderr(&output));
    let losses = |lines: &str| lines.matches("the allocation has ended").count();
    assert_eq!(losses(&lines), 1, "{lines} {said}");
    assert_eq!(output.status.code(), Some(130), "{said}");
    let folder = slurm.folder_of("cancelled").unwrap().display().to_string();
    // Outside of an allocation it is refused, and nothing is lost.
    let resume = [
        "run",
        "--resume",
        &folder,
        "--trust-plan",
        "--launcher",
        "slurm",
    ];
    let mut outside = slurm.bench.command(&resume);
    let refused = outside.env_remove("SLURM_JOB_ID").output().unwrap();
    let refused = expect_code(2, refused);
    assert_contains(&stderr(&refused), &["inside an allocation"]);
    assert_eq!(slurm.lines_of("cancelled"), lines);
    // In another one the rest is run.
    slurm.in_allocation(&resume).output().unwrap();
    let resumed = slurm.lines_of("cancelled");
    assert!(resumed.contains("0003-"), "{resumed}");
    assert_eq!(losses(&resumed), 1, "{resumed}");
    // A node whose slurmd and steps are killed says nothing more, and srun reports success.
    let began = Instant::now();
    let child = slurm.start_trial("killed", &["--duration", "300"]);
    slurm.control(&["kill"], &["n2"]);
    let output = child.wait_with_output().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(90),
        "{:?}",
        began.elapsed()
    );
    let lines = slurm.lines_of("killed");
    assert!(lines.contains("host 'n2'"), "{lines} {}", stderr(&output));
}
