//! Workers on several hosts: each a real sshd in a network namespace of the test.

use crate::support::{
    ALL_WELL, Bench, assert_contains, ended_well, expect_code, is_installed, refusal, signal,
    stderr, stdout, unwrapped,
};
use nix::sys::signal::Signal::{SIGCONT, SIGINT, SIGKILL, SIGSTOP};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use trueput_host::testing::ssh_hosts::{SshHosts, make_key};
use trueput_record::load_generator::LoadGenerator;
use trueput_record::measurement::Measurement;
use trueput_record::{Outcome, TrialRecord, histogram};

/// A trial on hosts, but for its engine, its workers and its end.
const TRIAL: &str = "run micro --set test=read-random --set records=1000";

/// The longest that a refusal may take.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(30);

/// A bench, and hosts that are reached from it.
struct HostBench {
    bench: Bench,
    hosts: SshHosts,
}

impl HostBench {
    /// Starts hosts `a` and `b`; `None`, with a message, if that is not possible here.
    fn start() -> Option<Self> {
        if let Some(reason) = SshHosts::reason_for_none() {
            eprintln!("skipped: {reason}");
            return None;
        }
        let bench = Bench::new();
        let folder = bench.path().join("ssh");
        std::fs::create_dir(&folder).unwrap();
        let hosts = SshHosts::start(&folder, 2).unwrap();
        Some(Self { bench, hosts })
    }

    /// The program, with the hosts' configuration of ssh.
    fn command(&self, line: &str) -> Command {
        let config = self.hosts.ssh_config();
        let line = if line.contains("--ssh-config") {
            line.to_owned()
        } else {
            format!("{line} --ssh-config {}", config.display())
        };
        let mut command = self.bench.command(&line);
        self.hosts.enter_runner(&mut command).unwrap();
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Starts a trial on both hosts, and waits until both have two processes that run: their
    /// agent and a worker.
    fn start_trial(&self, line: &str) -> Child {
        let child = self.command(line).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while (0..2).any(|host| self.programs(host).len() < 2) {
            assert!(Instant::now() < until, "no worker has started");
            std::thread::sleep(Duration::from_millis(20));
        }
        // The release follows within milliseconds.
        std::thread::sleep(Duration::from_millis(700));
        child
    }

    /// The processes of this program on a host.
    fn programs(&self, host: u32) -> Vec<i32> {
        let processes = self.hosts.processes(host).into_iter();
        let is_program = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"worker")
        };
        processes.filter(is_program).collect()
    }

    /// Asserts that no process of a run is left on a host.
    fn assert_nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while (0..2).any(|host| !self.programs(host).is_empty()) {
            assert!(Instant::now() < until, "a process is left on a host");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The configuration of ssh with another value of a key.
    fn configuration_with(&self, key: &str, value: &str) -> PathBuf {
        let text = std::fs::read_to_string(self.hosts.ssh_config()).unwrap();
        let lines = text.lines().map(|line| {
            if line.trim().starts_with(key) {
                format!(" {key} {value}\n")
            } else {
                format!("{line}\n")
            }
        });
        self.bench
            .write("changed_config", &lines.collect::<String>())
    }

    /// Asserts that a trial on host `a` with an option is refused soon, in one line, and that
    /// nothing is made.
    fn assert_refused(&self, option: &str, expected: &[&str]) {
        let began = Instant::now();
        let line = refusal(&self.run(&format!("{} {option}", null_trial(2, 1, "a"))));
        let elapsed = began.elapsed();
        assert!(elapsed < REFUSAL_TIMEOUT, "{option}: {elapsed:?}");
        assert_contains(&line, expected);
        assert!(!self.bench.path().join("results").exists());
    }

    /// Asserts that the one run is not resumed when its hosts cannot be reached.
    fn assert_resume_is_refused_without_hosts(&self) {
        let run = self.bench.run_path();
        let line = format!("run --resume {run} --trust-plan --ssh-config /nonexistent/config");
        let said = stderr(&expect_code(2, self.run(&line)));
        assert_contains(&said, &["cannot be reached: Can't open user config file"]);
    }

    fn record(&self) -> TrialRecord {
        let mut trials = self.bench.trials();
        assert_eq!(trials.len(), 1);
        trials.remove(0)
    }

    /// A program file that a host can be told to run.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.bench.write(name, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("trueput").to_path_buf()
}

fn null_trial(workers: u32, duration_s: u32, hosts: &str) -> String {
    format!(
        "{TRIAL} --engine null --durability none --workers {workers} --hosts {hosts} --rate 200 \
         --duration {duration_s}"
    )
}

fn measured(record: &TrialRecord) -> &Measurement {
    record.measurement.as_ref().unwrap()
}

/// The reasons against a trial, apart from the build.
fn doubts(record: &TrialRecord) -> Vec<String> {
    match &record.outcome {
        Outcome::Valid => Vec::new(),
        Outcome::Invalid { reasons } => {
            let others = reasons
                .iter()
                .filter(|reason| !reason.starts_with("debug build"));
            others.cloned().collect()
        }
        other => panic!("{other:?}"),
    }
}

fn total(host: &LoadGenerator) -> u64 {
    host.operations
        .iter()
        .map(|operation| operation.count)
        .sum()
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_hosts_rows_add_up_to_the_trial_and_are_shown() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    expect_code(ALL_WELL, bench.run(&null_trial(3, 3, "a,b")));
    let record = bench.record();
    assert!(ended_well(&record), "{:?}", record.outcome);
    let measurement = measured(&record);
    let [a, b] = &measurement.load_generators[..] else {
        panic!("{:?}", measurement.load_generators);
    };
    assert_eq!((&*a.host, a.workers, &*b.host, b.workers), ("a", 2, "b", 1));
    // Workers take turns, so that the host of two has two thirds of the arrivals.
    assert_eq!(measurement.operations[0].count, total(a) + total(b));
    let ratio = total(a) as f64 / total(b) as f64;
    assert!((1.8..2.2).contains(&ratio), "{} {}", total(a), total(b));
    // Counts of histograms are added, never percentiles.
    let folder = bench.bench.run_folder();
    let stored = folder.histograms(&record.spec.id).unwrap().unwrap();
    let sum = [a, b].iter().fold(histogram::new(), |mut sum, host| {
        sum.add(histogram::decode(&host.histograms[0]).unwrap())
            .unwrap();
        sum
    });
    let merged = stored.iter().find(|logged| logged.kind == "read").unwrap();
    assert_eq!(merged.histogram, sum);
    // Each second's row is that of both hosts, from the common release on.
    for (second, row) in measurement.timeline.iter().take(2).enumerate() {
        assert_eq!(row.counts[0], a.seconds[second][0] + b.seconds[second][0]);
    }
    let report = bench
        .bench
        .stdout_of(&format!("report {} --full", bench.bench.run_path()));
    let report = unwrapped(&report);
    assert_contains(&report, &["Load from several hosts", "clock offset", "±"]);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert_contains(&page, &["Load from several hosts"]);
    bench.assert_nothing_is_left();
}

/// Compiles a library that shifts the wall clock of a process by 5 s.
fn compile_clock_shift(folder: &Path) -> PathBuf {
    const SOURCE: &str = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <time.h>\n\
        int clock_gettime(clockid_t id, struct timespec *t) {\n\
        int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, \"clock_gettime\");\n\
        int result = next(id, t);\nif (id == CLOCK_REALTIME) t->tv_sec += 5;\nreturn result;\n}\n";
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_whose_clocks_are_five_seconds_ahead_harms_nothing() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    // Only root makes time namespaces, and only newer kernels have them.
    if !Path::new("/proc/self/ns/time").exists() {
        eprintln!("skipped: the kernel has no time namespaces");
        return;
    }
    let library = compile_clock_shift(bench.bench.path());
    let (program, library) = (program(), library.display().to_string());
    let script = bench.script(
        "shifted",
        &format!(
            "#!/bin/sh\ncase \"$SSH_CONNECTION\" in\n*' {address} '*) LD_PRELOAD={library} exec \
             unshare --time --monotonic 5 --fork --kill-child -- {program} \"$@\";;\nesac\n\
             exec {program} \"$@\"\n",
            address = bench.hosts.address(1),
            program = program.display(),
        ),
    );
    let line = format!(
        "{} --host-program {}",
        null_trial(2, 3, "a,b"),
        script.display()
    );
    let output = bench.run(&line);
    let record = bench.record();
    assert!(
        doubts(&record).is_empty(),
        "{:?} {}",
        record.outcome,
        stderr(&output)
    );
    let measurement = measured(&record);
    let elapsed_s = measurement.elapsed_s;
    // The clock of the other host, which is 5 s ahead, adds nothing.
    assert!((2.9..7.9).contains(&elapsed_s), "{elapsed_s}");
    let [a, b] = &measurement.load_generators[..] else {
        panic!("{:?}", measurement.load_generators);
    };
    for (host, ahead_ns) in [(a, 0_i64), (b, 5_000_000_000)] {
        for clock in [host.clock_before, host.clock_after] {
            let allowed_ns = clock.error_ns + 1_000_000;
            for found_ns in [clock.monotonic_ns, clock.wall_ns] {
                assert!(found_ns.abs_diff(ahead_ns) <= allowed_ns, "{host:?}");
            }
        }
        assert_eq!(host.seconds.len(), a.seconds.len());
        assert!((250..=350).contains(&total(host)), "{}", total(host));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_paused_host_is_named() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    let child = bench.start_trial(&null_trial(2, 8, "a,b"));
    let paused = bench.hosts.processes(1);
    paused.iter().for_each(|pid| signal(*pid, SIGSTOP));
    std::thread::sleep(Duration::from_secs(4));
    paused.iter().for_each(|pid| signal(*pid, SIGCONT));
    let output = child.wait_with_output().unwrap();
    let doubts = doubts(&bench.record());
    let [doubt] = &doubts[..] else {
        panic!("{doubts:?} {}", stderr(&output));
    };
    assert_contains(doubt, &["host b did not run for ", " s, from second "]);
    assert_contains(&stdout(&output), &["host b did not run for"]);
    // What came due meanwhile was late by the host's fault, and not by the engine's.
    let hosts = &measured(&bench.record()).load_generators.clone();
    assert!(hosts[1].late_share() > 0.2, "{hosts:?}");
    // One worker, while its host goes on.
    let child = bench.start_trial(&format!("{} --name worker", null_trial(2, 8, "a,b")));
    let agent_first = bench.programs(0);
    let worker = *agent_first.iter().max().unwrap();
    signal(worker, SIGSTOP);
    std::thread::sleep(Duration::from_secs(5));
    signal(worker, SIGCONT);
    child.wait_with_output().unwrap();
    let results = std::fs::read_dir(bench.bench.path().join("results"))
        .unwrap()
        .flatten();
    let mut folders = results.map(|entry| entry.path());
    let folder = folders
        .find(|path| path.to_string_lossy().ends_with("worker"))
        .unwrap();
    let lines = std::fs::read_to_string(folder.join("trials.jsonl")).unwrap();
    assert_contains(&lines, &["worker 0 on host a did not run for "]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_that_uses_all_of_its_processors_is_marked_as_a_limit() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    // A closed loop on an engine that does nothing: a worker per processor uses all of it.
    let processors = std::thread::available_parallelism().unwrap().get().max(2);
    let line = format!(
        "{TRIAL} --engine null --durability none --workers {processors} --hosts a,b --duration 3"
    );
    expect_code(ALL_WELL, bench.run(&line));
    let hosts = measured(&bench.record()).load_generators.clone();
    assert!(
        hosts.iter().all(|host| host.cpu_share.unwrap() > 0.8),
        "{hosts:?}"
    );
    assert!(hosts.iter().all(LoadGenerator::is_limit));
    let report = bench
        .bench
        .stdout_of(&format!("report {} --full", bench.bench.run_path()));
    let said = ["host a may have been the limit", "of its CPU was used"];
    assert_contains(&unwrapped(&report), &said);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_that_stays_paused_fails_the_trial_in_bounded_time() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    let began = Instant::now();
    let child = bench.start_trial(&null_trial(2, 300, "a,b"));
    bench
        .programs(1)
        .iter()
        .for_each(|pid| signal(*pid, SIGSTOP));
    let output = child.wait_with_output().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    let Outcome::Failed { reason, .. } = bench.record().outcome else {
        panic!("{}", stdout(&output));
    };
    assert_contains(&reason, &["host 'b' has sent nothing for 20 s"]);
    // Though they are stopped.
    bench.assert_nothing_is_left();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_whose_network_is_cut_fails_the_trial_and_leaves_nothing_there() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    let began = Instant::now();
    let child = bench.start_trial(&null_trial(2, 300, "a,b"));
    bench.hosts.cut(1).unwrap();
    let output = child.wait_with_output().unwrap();
    let Outcome::Failed { reason, .. } = bench.record().outcome else {
        panic!("{}", stdout(&output));
    };
    // Whoever notices first: ssh, or the runner.
    assert_contains(&reason, &["host 'b'"]);
    // Nobody can tell the host: it notices that the runner is silent.
    while !bench.programs(1).is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "a process is left"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    bench.assert_nothing_is_left();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_that_is_interrupted_or_killed_leaves_nothing_on_its_hosts() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    for (name, sent) in [("interrupted", SIGINT), ("killed", SIGKILL)] {
        let mut child = bench.start_trial(&format!("{} --name {name}", null_trial(4, 300, "a,b")));
        signal(i32::try_from(child.id()).unwrap(), sent);
        let status = child.wait().unwrap();
        if sent == SIGINT {
            assert_eq!(status.code(), Some(130));
            bench.assert_resume_is_refused_without_hosts();
        }
        bench.assert_nothing_is_left();
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_without_a_login_is_one_clear_line_in_bounded_time() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    let other_key = bench.bench.path().join("other_key");
    make_key(&other_key).unwrap();
    let other_key = other_key.display().to_string();
    let refused = "host 'a' refuses the login";
    for (key, value, expected) in [
        (
            "HostName",
            "10.177.23.99",
            vec!["host 'a' cannot be reached"],
        ),
        (
            "HostName",
            "no.such.invalid",
            vec!["host 'a' cannot be reached"],
        ),
        (
            "IdentityFile",
            "/nonexistent/key",
            vec![refused, "no such identity", "ssh a true"],
        ),
        ("IdentityFile", &other_key, vec![refused]),
        (
            "UserKnownHostsFile",
            "/dev/null",
            vec!["the key of host 'a'", "ssh a"],
        ),
    ] {
        let config = bench.configuration_with(key, value);
        bench.assert_refused(&format!("--ssh-config {}", config.display()), &expected);
    }
    let expected = ["host 'a' cannot be reached: Can't open user config file"];
    bench.assert_refused("--ssh-config /nonexistent/config", &expected);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_host_without_this_program_is_one_clear_line_in_bounded_time() {
    let Some(bench) = HostBench::start() else {
        return;
    };
    let mut other = std::fs::read(program()).unwrap();
    other.push(b'x');
    let copy = bench.script("copy", "");
    std::fs::write(&copy, other).unwrap();
    let echo = bench.script("echo", "#!/bin/sh\necho hello\n");
    let mute = bench.script("mute", "#!/bin/sh\nsleep 100\n");
    let another = "host 'a' has another program";
    for (program, expected) in [
        (
            Path::new("/nonexistent/trueput"),
            vec![
                "host 'a' has no program /nonexistent/trueput",
                "--host-program",
            ],
        ),
        (&copy, vec![another, "SHA-256", "copy this program there"]),
        (&echo, vec![another, "'hello'"]),
        (&mute, vec!["host 'a' has not answered within 20 s"]),
    ] {
        bench.assert_refused(&format!("--host-program {}", program.display()), &expected);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_cannot_run_on_other_hosts_is_refused() {
    let bench = Bench::new();
    let hosts = "run micro --durability none --hosts a,b";
    for (line, expected) in [
        (
            "run micro --engine lmdb --durability process --hosts a,b".to_owned(),
            "lmdb is a library whose database is on this host",
        ),
        (
            format!("{hosts} --engine null --workers 1"),
            "1 workers on 2 hosts",
        ),
        (
            format!("{hosts} --engine null --worker-kind threads"),
            "give --worker-kind processes",
        ),
        (
            format!("{hosts} --engine null --memory 1GiB"),
            "memory is for workers on this host",
        ),
        (
            "run micro --engine null --durability none --hosts a,a".to_owned(),
            "host 'a' is named twice",
        ),
        (
            "run micro --engine null --durability none --hosts=-oProxyCommand=x".to_owned(),
            "is not a host name",
        ),
        (
            "run history --engine null --durability none --worker-kind processes --hosts a,b"
                .to_owned(),
            "orders transactions by one clock",
        ),
        (
            "run log-flush --hosts a".to_owned(),
            "measures the storage of this host",
        ),
    ] {
        let output = bench.run(&line);
        assert_eq!(output.status.code(), Some(2), "{line}: {}", stderr(&output));
        assert_contains(&unwrapped(&stderr(&output)), &[expected]);
    }
    assert!(!bench.path().join("results").exists(), "nothing was made");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_of_others_that_names_hosts_is_shown_first() {
    let bench = Bench::new();
    let plan = "workload = \"micro\"\nengines = [\"null\"]\ndurability = [\"none\"]\n\
                hosts = [\"a,b\"]\n";
    bench.write("plan.toml", plan);
    let line = bench.refusal_of("run plan.toml");
    assert_contains(
        &line,
        &["a (a host on which workers are started)", "--trust-plan"],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_database_of_workers_on_hosts_is_compacted_once_they_have_ended() {
    if !is_installed("postgresql") {
        return;
    }
    let Some(bench) = HostBench::start() else {
        return;
    };
    let output = bench.run(
        "run micro --engine postgresql --durability process --workers 4 --hosts a,b \
         --set test=delete-random --set records=20000 --set value_bytes=1000 \
         --set operations=10000 --compact",
    );
    let record = bench.record();
    let said = stderr(&output);
    assert!(ended_well(&record), "{:?} {said}", record.outcome);
    // In the compacted database.
    assert!(record.verification.as_ref().unwrap().passed);
    let measured = measured(&record);
    assert_eq!(measured.load_generators.len(), 2);
    let compaction = measured.compaction.as_ref().unwrap();
    assert_eq!(compaction.means, "VACUUM (FULL)");
    assert!(compaction.elapsed_s > 0.0, "{compaction:?}");
    assert!(compaction.database.allocated_bytes > 0, "{compaction:?}");
    bench.assert_nothing_is_left();
}

#[test]
#[ignore = "slow: make test runs it"]
fn workers_on_hosts_reach_the_private_server_of_the_same_machine() {
    if !is_installed("postgresql") {
        return;
    }
    let Some(bench) = HostBench::start() else {
        return;
    };
    let output = bench.run(
        "run micro --engine postgresql --durability process --workers 4 --hosts a,b \
         --set test=overwrite --set records=2000 --duration 2",
    );
    let record = bench.record();
    assert!(
        ended_well(&record),
        "{:?} {}",
        record.outcome,
        stderr(&output)
    );
    assert!(record.verification.as_ref().unwrap().passed);
    let hosts = &measured(&record).load_generators;
    assert!(
        hosts
            .iter()
            .all(|host| host.workers == 2 && total(host) > 0),
        "{hosts:?}"
    );
    bench.assert_nothing_is_left();
}
