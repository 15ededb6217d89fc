//! Engines that are clusters: the program hosts their nodes, and leaves none behind.

use crate::support::{
    ALL_WELL, Bench, assert_answers, assert_contains, ended_well, is_installed, signal, stdout,
    unwrapped,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use trueput_record::failover::Failover;
use trueput_record::recovery::EventRecord;
use trueput_record::{Outcome, TrialRecord};

/// PostgreSQL with a leader that is replaced sooner than by default, and later than a busy machine
/// lets one wait.
const POSTGRESQL: &str = "postgresql-cluster --knob postgresql-cluster.failover_after=2000";

/// Every engine that is a cluster.
const CLUSTERS: [&str; 3] = ["postgresql-cluster", "etcd", "galera"];

/// Returns the processes whose command lines name a path below this folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    commands
        .filter(|command| command.contains(folder))
        .collect()
}

#[test]
fn every_cluster_of_the_registry_is_tested_here_and_none_runs_unasked() {
    let clusters = trueput::registry().engines.iter();
    let clusters = clusters.filter(|engine| engine.cluster().is_some());
    let names: Vec<_> = clusters.clone().map(|engine| engine.info().name).collect();
    assert_eq!(names, CLUSTERS);
    assert!(clusters.clone().all(|engine| !engine.is_default_engine()));
}

#[test]
#[ignore = "slow: make test runs it"]
fn postgresql_keeps_the_contract_at_every_level_on_three_nodes() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let output = bench.run_expecting(0, &format!("check postgresql-cluster --work {work}"));
    let text = stdout(&output);
    for level in ["sync", "buffered", "process"] {
        assert_contains(&text, &[&format!("postgresql-cluster {level}: ")]);
    }
    assert_contains(&text, &["isolation=serializable: serializable stated"]);
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn etcd_keeps_the_contract_at_every_level_on_three_nodes() {
    if !is_installed("etcd") {
        return;
    }
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let text = stdout(&bench.run_expecting(0, &format!("check etcd --work {work}")));
    let isolation = "reads=serializable: serializable stated";
    assert_contains(&text, &["etcd sync: ", "etcd process: ", isolation]);
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_workload_runs_on_nodes_that_choose_their_leader() {
    if !is_installed("etcd") {
        return;
    }
    let bench = Bench::new();
    let small = "--set finish=300 --set block=50 --workers 2";
    let line = format!("run threen1 --engine etcd --durability sync,process {small}");
    bench.run_expecting(ALL_WELL, &line);
    let records = bench.trials();
    assert_answers(&records[0], 1, 300);
    let engine = records[0].engine.as_ref().unwrap();
    let setting = |name: &str| engine.settings[name].to_string();
    assert_eq!(setting("election-timeout"), "1s");
    assert_eq!(setting("max-request-bytes"), "10485760");
    assert!(engine.promise.cluster.unwrap().majority_power);
    let unflushed = &records[1].engine.as_ref().unwrap().promise;
    assert!(!unflushed.cluster.unwrap().majority_power);
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_workload_runs_on_three_nodes_that_wait_for_each_other() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let small = "--set finish=300 --set block=50 --workers 2";
    let line = format!("run threen1 --engine postgresql-cluster --durability sync {small}");
    bench.run_expecting(ALL_WELL, &line);
    let records = bench.trials();
    assert_answers(&records[0], 1, 300);
    let promise = &records[0].engine.as_ref().unwrap().promise;
    assert_contains(
        &promise.mapped_to,
        &["synchronous_standby_names=ANY 1 of 2"],
    );
    let survival = promise.cluster.unwrap();
    assert!(survival.machine && survival.all_power, "{survival}");
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
fn knobs_of_a_cluster_that_contradict_each_other_are_refused() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let refusal =
        |rest: &str| bench.refusal_of(&format!("run micro --engine postgresql-cluster {rest}"));
    let reason = refusal("--durability sync --knob postgresql-cluster.synchronous_standbys=3");
    assert_contains(&reason, &["3 nodes have 2 followers"]);
    let reason = refusal("--durability buffered --knob postgresql-cluster.cluster_commit=on");
    assert_contains(&reason, &["cluster_commit", "'buffered'"]);
}

/// Runs a trial of three nodes under planned faults, and returns its record.
fn trial_with_faults(bench: &Bench, engine: &str, rest: &str) -> TrialRecord {
    let fixed = "--workers 4 --set test=overwrite --set records=2000";
    bench.run(&format!("run micro --engine {engine} {fixed} {rest}"));
    let mut trials = bench.trials();
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
    trials.pop().unwrap()
}

fn failover(record: &TrialRecord) -> &Failover {
    let measurement = record.measurement.as_ref();
    let measurement = measurement.unwrap_or_else(|| panic!("{:?}", record.outcome));
    measurement.failover.as_ref().unwrap()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_leader_is_replaced_and_no_synchronous_commit_is_missing() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let rest = "--durability sync --duration 8 --rate 200 --at 3s:kill=leader";
    let record = trial_with_faults(&bench, POSTGRESQL, rest);
    assert!(ended_well(&record), "{:?}", record.outcome);
    let found = failover(&record);
    assert_eq!(found.missing, 0, "{found:?}");
    assert_eq!(found.faults[0].nodes, [1]);
    // It takes failover_after to notice that the leader has gone.
    assert!(found.faults[0].gap_s > 0.5, "{found:?}");
    assert!(found.reconnections >= 4, "{found:?}");
    let events = record.measurement.as_ref().unwrap().events.clone().unwrap();
    let is_told = |text: &str| {
        let mut of_nodes = events
            .iter()
            .filter(|event| event.kind == EventRecord::NODE);
        of_nodes.any(|event| event.detail.contains(text))
    };
    assert!(is_told("kill=leader") && is_told("leads"), "{events:?}");
    let report = bench.stdout_of(&format!(
        "report {} --full",
        bench.run_folder().path().display()
    ));
    assert_contains(
        &unwrapped(&report),
        &["Planned faults", "kill=leader", "rate back after"],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_leader_that_nobody_reaches_loses_what_only_it_has_and_the_loss_is_found() {
    if !is_installed("postgresql-cluster") || !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: partitions need PostgreSQL and root");
        return;
    }
    let bench = Bench::new();
    // For two seconds the old leader acknowledges what no follower receives.
    let rest = "--durability buffered --duration 6 --at 2s:partition=leader";
    let record = trial_with_faults(&bench, POSTGRESQL, rest);
    let missing = failover(&record).missing;
    assert!(missing > 0, "{:?}", record.measurement);
    let Outcome::Invalid { reasons } = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    let told = format!("missing after a fault: {missing}; promised to survive: ");
    assert!(
        reasons.iter().any(|reason| reason.contains(&told)),
        "{reasons:?}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cluster_that_has_lost_its_majority_for_good_fails_the_trial_in_bounded_time() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    // The leader goes on, but its commits wait for followers that do not come back.
    let rest = "--durability sync --duration 3 --at 1s:kill=node-2,1.5s:kill=node-3";
    let began = Instant::now();
    let record = trial_with_faults(&bench, POSTGRESQL, rest);
    assert!(
        began.elapsed() < Duration::from_secs(150),
        "{:?}",
        began.elapsed()
    );
    let Outcome::Failed { reason, .. } = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    assert_contains(
        reason,
        &["no operation ended for 75 s, the limit of this phase (planned faults: 1s:kill=node-2"],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_workload_that_writes_nothing_shows_no_failover() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let line = "run micro --engine postgresql-cluster --durability sync --workers 2 --duration 3 \
                --set test=read-random --set records=1000 --at 1s:kill=follower";
    bench.run(line);
    let Outcome::Invalid { reasons } = &bench.trials()[0].outcome else {
        panic!("{:?}", bench.trials()[0].outcome);
    };
    let is_told = |reason: &String| reason.contains("choose a workload that writes");
    assert!(reasons.iter().any(is_told), "{reasons:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn histories_are_checked_alone_and_in_a_run() {
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let checked = format!("check lmdb --history --durability process --work {work}");
    let text = bench.stdout_of(&checked);
    assert_contains(
        &text,
        &[
            "lmdb process list-append: serializable is stated and not refuted",
            "register: ",
        ],
    );
    let line = "run history --engine lmdb --durability process --workers 2 \
                --set transactions=2000 --set model=register";
    bench.run_expecting(ALL_WELL, line);
    let record = &bench.trials()[0];
    let checks = &record.verification.as_ref().unwrap().checks;
    let names: Vec<_> = checks.iter().map(|check| &*check.name).collect();
    for name in ["acknowledged", "isolation", "recency"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let results = &record.measurement.as_ref().unwrap().results;
    assert_eq!(results["history_committed"].to_string(), "2000");
}

#[test]
fn a_check_that_is_interrupted_leaves_nothing() {
    let bench = Bench::new();
    let work = bench.path().join("checks");
    std::fs::create_dir(&work).unwrap();
    let line = format!(
        "check lmdb --history --durability sync --work {}",
        work.display()
    );
    let mut child = bench.command(&line).stdout(Stdio::null()).spawn().unwrap();
    let folders = || std::fs::read_dir(&work).unwrap().count();
    let until = Instant::now() + Duration::from_secs(30);
    while folders() == 0 {
        assert!(Instant::now() < until, "no check has begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(child.id().cast_signed(), SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folders(), 0);
}

#[test]
#[ignore = "slow: make test runs it"]
fn histories_of_a_cluster_keep_its_isolation_while_nodes_fail() {
    if !is_installed("postgresql-cluster") || !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: partitions need PostgreSQL and root");
        return;
    }
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let line = format!("check postgresql-cluster --cluster --durability sync --work {work}");
    let text = stdout(&bench.run_expecting(0, &line));
    assert_contains(&text, &["list-append", "register"]);
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn all_nodes_killed_and_started_again_have_every_commit() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let rest = "--durability sync --duration 8 --at 2s:kill=all,3s:start=all";
    let record = trial_with_faults(&bench, POSTGRESQL, rest);
    assert!(ended_well(&record), "{:?}", record.outcome);
    let found = failover(&record);
    assert_eq!((found.missing, found.faults.len()), (0, 2), "{found:?}");
}

/// Returns the folder of the cluster of a trial below a folder, once its nodes run.
fn cluster_folder(work: &Path) -> PathBuf {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = cluster_below(work) {
            return found;
        }
        assert!(Instant::now() < limit, "no cluster in {}", work.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn cluster_below(folder: &Path) -> Option<PathBuf> {
    // The host listens once every node answers.
    if folder.join("control").exists() {
        return Some(folder.to_owned());
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let folders = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    // The conformance suite has a cluster of its own.
    let is_suite = |path: &PathBuf| path.to_string_lossy().contains("/.conformance");
    let mut folders = folders.filter(|path| !is_suite(path));
    folders.find_map(|path| cluster_below(&path))
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_in_which_a_node_ended_by_itself_is_invalid() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let small = "--workers 2 --set test=overwrite --set records=2000 --duration 4";
    let line = format!("run micro --engine postgresql-cluster --durability sync {small}");
    let mut command = bench.command(&line);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    // Commits wait for one of two followers, so no session notices that one has gone.
    let lock = cluster_folder(bench.path()).join("node-3/data/postmaster.pid");
    let lock = std::fs::read_to_string(lock).unwrap();
    signal(lock.lines().next().unwrap().parse().unwrap(), SIGKILL);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let record = bench.trials().remove(0);
    let Outcome::Invalid { reasons } = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    let told = "node 3 has ended by itself";
    let is_told = reasons.iter().any(|reason| reason.contains(told));
    assert!(is_told, "{reasons:?}");
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cluster_of_the_users_is_reached_by_whichever_server_takes_writes() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let (bench, other) = (Bench::new(), Bench::new());
    let small = "--workers 2 --set test=overwrite --set records=2000 --durability sync";
    let line = format!("run micro --engine postgresql-cluster {small} --duration 600");
    let mut command = bench.command(&line);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let cluster = cluster_folder(bench.path());
    let host = |number: u32| {
        let folder = cluster.join(format!("node-{number}/data"));
        folder.to_str().unwrap().replace('/', "%2F")
    };
    // The first is not there, and the second follows.
    let hosts = ["%2Fno%2Fsuch%2Ffolder".to_owned(), host(2), host(1)].join("%2C");
    // The trial's own schema is in another database.
    let engine = format!("postgresql@postgres://postgres@{hosts}/template1");
    other.run_expecting(
        ALL_WELL,
        &format!("run micro --engine {engine} {small} --duration 1"),
    );
    let record = other.trials().remove(0);
    assert!(ended_well(&record), "{:?}", record.outcome);
    signal(child.id().cast_signed(), SIGINT);
    child.wait().unwrap();
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn nodes_that_lose_their_leader_choose_another_and_keep_every_commit() {
    if !is_installed("etcd") {
        return;
    }
    let bench = Bench::new();
    let rest = "--durability sync --duration 12 --rate 200 \
                --at 2s:kill=leader,6s:pause=leader,9s:kill=all,10s:start=all";
    let record = trial_with_faults(&bench, "etcd", rest);
    assert!(ended_well(&record), "{:?}", record.outcome);
    let found = failover(&record);
    assert_eq!((found.missing, found.faults.len()), (0, 4), "{found:?}");
    assert!(found.faults[0].gap_s > 0.0, "{found:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_leader_that_no_other_node_reaches_acknowledges_nothing() {
    if !is_installed("etcd") || !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: partitions need etcd and root");
        return;
    }
    let bench = Bench::new();
    let rest = "--durability sync --duration 9 --rate 200 --at 2s:partition=leader,6s:heal";
    let record = trial_with_faults(&bench, "etcd", rest);
    assert!(ended_well(&record), "{:?}", record.outcome);
    let found = failover(&record);
    assert_eq!(found.missing, 0, "{found:?}");
    assert!(found.faults[0].gap_s > 0.5, "{found:?}");
}

#[test]
fn faults_that_cannot_be_planned_are_refused() {
    let bench = Bench::new();
    let refusal = |rest: &str| bench.refusal_of(&format!("run micro {rest}"));
    let reason = refusal("--engine lmdb --durability sync --duration 5 --at 1s:kill=leader");
    assert_contains(&reason, &["lmdb is not a cluster"]);
    let reason = refusal("--engine lmdb --at 1s:kil=leader");
    assert_contains(&reason, &["--at", "did you mean 'kill'"]);
    if is_installed("postgresql-cluster") {
        let reason = refusal("--engine postgresql-cluster --duration 5 --at 7s:kill=leader");
        assert_contains(&reason, &["7s:kill=leader is not before the end"]);
        let reason = refusal("--engine postgresql-cluster --duration 5 --at 1s:kill=node-9");
        assert_contains(&reason, &["1s:kill=node-9: the cluster has 3 nodes"]);
    }
}
