//! An engine that is a server: the program runs a private one for each trial, and leaves none
//! behind, however the trial ends.

use crate::support::{
    Bench, assert_contains, ended_well, expect_code, is_alive, is_installed, signal, stderr,
    stdout, wait_for_work,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL, SIGTERM};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use trueput_record::Outcome;

/// A trial on a server, but for its engine and its end.
const TRIAL: &str = "run micro --durability process --workers 2 --set test=overwrite \
                     --set records=2000";

/// The same in SQL: each client has connections that wait for each other.
const SQL_TRIAL: &str = "run insert-benchmark --durability process --workers 2 --set tables=2 \
                         --set rows=1000 --set step=l.i1 --set insert_rows=0";

/// A server that the program makes for a trial, and how its processes and files are known.
pub struct Kind {
    pub engine: &'static str,
    /// The file that a running server keeps its process's number in, in its folder.
    pid: &'static str,
    /// A file that each instance has.
    file: &'static str,
}

pub const POSTGRESQL: Kind = Kind {
    engine: "postgresql",
    pid: "data/postmaster.pid",
    file: "PG_VERSION",
};

pub const MARIADB: Kind = Kind {
    engine: "mariadb",
    pid: "data/server.pid",
    file: "ibdata1",
};

/// The arguments of a trial on a server of this kind that takes this many seconds.
fn trial(kind: &Kind, seconds: u32) -> String {
    // The suite first, so that a server that is there is not one that was just started.
    format!(
        "{TRIAL} --engine {} --duration {seconds} --check-again",
        kind.engine
    )
}

/// The file that a running server keeps its process's number in, below a folder.
fn pid_file(kind: &Kind, folder: &Path) -> Option<PathBuf> {
    let file = folder.join(kind.pid);
    if file.exists() {
        return Some(file);
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .filter(|entry| entry.file_name() != "data")
        .find_map(|entry| pid_file(kind, &entry.path()))
}

/// The process of the server of a trial below a folder, if it has said so.
pub fn find_server(kind: &Kind, work: &Path) -> Option<i32> {
    let text = std::fs::read_to_string(pid_file(kind, work)?).ok()?;
    text.lines().next()?.parse().ok()
}

/// Waits until the workers are at work on the server, and says which process that is.
fn server_at_work(kind: &Kind, child: &mut Child, work: &Path) -> i32 {
    // Both workers are threads of one process.
    wait_for_work(child, work, 1 << 20, 1);
    find_server(kind, work).unwrap()
}

/// Waits until a process is gone.
pub fn assert_gone(pid: i32) {
    let limit = Instant::now() + Duration::from_secs(60);
    while is_alive(pid) {
        assert!(Instant::now() < limit, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asserts that a run has removed its work folder.
pub fn assert_nothing_is_left(bench: &Bench) {
    let work = bench.run_folder().path().join("work");
    assert!(!work.exists(), "something is left");
}

/// A long trial on a private server, running, with the processes of `trueput` and the server;
/// `None`, with a message, if there is no such server.
fn trial_at_work(kind: &Kind) -> Option<(Bench, Child, i32)> {
    if !is_installed(kind.engine) {
        return None;
    }
    let bench = Bench::new();
    // It does not end before somebody ends it.
    let mut child = bench.spawn_with(&trial(kind, 300), "");
    let server = server_at_work(kind, &mut child, &bench.path().join("results"));
    Some((bench, child, server))
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_on_a_server_is_verified_and_what_the_server_used_is_reported() {
    if !is_installed(POSTGRESQL.engine) {
        return;
    }
    let bench = Bench::new();
    let output = bench.run(&trial(&POSTGRESQL, 1));
    let trials = bench.trials();
    assert!(
        ended_well(&trials[0]),
        "{:?}\n{output:?}",
        trials[0].outcome
    );
    let measurement = trials[0].measurement.as_ref().unwrap();
    let (all, server) = (measurement.resources, measurement.server.unwrap());
    assert!(server.user_cpu_s + server.system_cpu_s > 0.0);
    assert!(all.user_cpu_s > server.user_cpu_s && all.system_cpu_s > server.system_cpu_s);
    assert!(server.voluntary_context_switches > 0 && server.peak_rss_bytes > 0);
    assert!(all.read_calls > server.read_calls);
    let engine = trials[0].engine.as_ref().unwrap();
    assert!(engine.origin.ends_with("/postgres") && engine.sha256.len() == 64);
    assert_eq!(engine.settings["fsync"], "off".into());
    assert_nothing_is_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_whose_server_is_killed_fails_with_the_reason_and_leaves_nothing() {
    for kind in [&POSTGRESQL, &MARIADB] {
        for work in [TRIAL, SQL_TRIAL] {
            failed_once_killed(kind, work);
        }
    }
}

fn failed_once_killed(kind: &Kind, work: &str) {
    if !is_installed(kind.engine) {
        return;
    }
    let bench = Bench::new();
    let results = bench.path().join("results");
    // Its suites are remembered then: one whose server is killed runs again.
    let line = |seconds: u32| format!("{work} --engine {} --duration {seconds}", kind.engine);
    bench.run(&format!("{} --check-again", line(1)));
    std::fs::remove_dir_all(&results).unwrap();
    let mut child = bench.spawn_with(&line(300), "");
    let server = server_at_work(kind, &mut child, &results);
    signal(server, SIGKILL);
    expect_code(1, child.wait_with_output().unwrap());
    let trials = bench.trials();
    let Outcome::Failed { reason, .. } = &trials[0].outcome else {
        panic!("{:?}", trials[0].outcome);
    };
    let said = format!("the server (process {server}) was killed by SIGKILL");
    assert_contains(reason, &[&said]);
    assert_nothing_is_left(&bench);
    assert_gone(server);
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_stops_the_server_and_clears_up() {
    for kind in [&POSTGRESQL, &MARIADB] {
        stopped_by_ctrl_c(kind);
    }
}

fn stopped_by_ctrl_c(kind: &Kind) {
    let Some((bench, child, server)) = trial_at_work(kind) else {
        return;
    };
    signal(i32::try_from(child.id()).unwrap(), SIGINT);
    expect_code(130, child.wait_with_output().unwrap());
    assert_gone(server);
    assert_nothing_is_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_server_of_a_killed_run_goes_with_it_and_clean_removes_its_folder() {
    for kind in [&POSTGRESQL, &MARIADB] {
        gone_with_its_run(kind);
    }
}

fn gone_with_its_run(kind: &Kind) {
    let Some((bench, mut child, server)) = trial_at_work(kind) else {
        return;
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(server);
    bench.run_expecting(0, "clean --yes --results results");
    let mut left = bench.snapshot().into_keys();
    assert!(
        !left.any(|path| path.ends_with(kind.file)),
        "something is left"
    );
}

/// Whether a process is stopped, by a signal or by the freezer of control groups.
pub fn is_stopped(pid: i32) -> bool {
    let read = |file: String| std::fs::read_to_string(file).unwrap_or_default();
    let groups = read(format!("/proc/{pid}/cgroup"));
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let is_frozen = own.is_some_and(|own| {
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let mut events = mounts
            .map(|mount| read(format!("{mount}{own}/cgroup.events")))
            .into_iter();
        events.any(|events| events.contains("frozen 1"))
    });
    is_frozen || read(format!("/proc/{pid}/stat")).contains(") T ")
}

/// A run of a server beside a library in time slices, with the process of the server while it is
/// stopped.
fn server_between_its_slices(bench: &Bench) -> (Child, i32) {
    let line = format!("{TRIAL} --engine postgresql,lmdb --duration 300 --time-slice 1s");
    let mut child = bench.spawn_with(&line, "");
    let limit = Instant::now() + Duration::from_secs(120);
    loop {
        assert!(Instant::now() < limit, "the server was never stopped");
        assert_eq!(child.try_wait().unwrap(), None, "the program ended early");
        let server = find_server(&POSTGRESQL, &bench.path().join("results"));
        if let Some(server) = server.filter(|server| is_stopped(*server)) {
            return (child, server);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_is_stopped_between_its_time_slices_goes_however_its_run_ends() {
    if !is_installed(POSTGRESQL.engine) {
        return;
    }
    for signals in [&[SIGINT][..], &[SIGINT, SIGINT], &[SIGKILL]] {
        let bench = Bench::new();
        let (mut child, server) = server_between_its_slices(&bench);
        for one in signals {
            signal(i32::try_from(child.id()).unwrap(), *one);
            std::thread::sleep(Duration::from_millis(100));
        }
        let code = child.wait().unwrap().code();
        if signals == [SIGINT] {
            assert_eq!(code, Some(130));
            assert_nothing_is_left(&bench);
        } else {
            bench.run_expecting(0, "clean --yes --results results");
        }
        assert_gone(server);
    }
}

/// A bench with a folder `home` that only root may enter, so that root's PostgreSQL, which runs as
/// another user, cannot reach its data; `None`, with a message, if that is not possible.
fn bench_with_a_closed_home() -> Option<Bench> {
    use std::os::unix::fs::PermissionsExt;
    if !is_installed(POSTGRESQL.engine) {
        return None;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root's servers run as somebody else");
        return None;
    }
    let bench = Bench::new();
    let home = bench.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    Some(bench)
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_cannot_reach_its_folder_is_left_out_of_a_plan_and_refused_by_name() {
    let Some(bench) = bench_with_a_closed_home() else {
        return;
    };
    for (name, engines) in [
        ("both.toml", r#""postgresql", "lmdb""#),
        ("only.toml", r#""postgresql""#),
    ] {
        let text = format!(
            "name = \"closed\"\nworkload = \"threen1\"\nengines = [{engines}]\n\
             durability = \"process\"\nunsupported = \"skip\"\n\
             [settings]\nfinish = 100\n"
        );
        bench.write(name, &text);
    }
    let reason = "postgresql: the server runs as";
    let results = "--results home/results --full";
    let output = bench.run(&format!("run both.toml {results}"));
    assert_contains(&stderr(&output), &["trial 1 of 1"]);
    assert_contains(&stdout(&output), &[reason]);
    let only = bench.refusal_of(&format!("run only.toml {results}"));
    assert_contains(&only, &["nothing to run", reason]);
    let threen1 = "run threen1 --engine postgresql --durability process";
    let named = bench.refusal_of(&format!("{threen1} {results}"));
    assert_contains(&named, &[reason, "--work"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_cannot_be_reached_is_bad_input_and_its_password_is_not_shown() {
    let bench = Bench::new();
    for (address, reason) in [
        (
            "postgres://me:hush@127.0.0.1:9/db",
            "cannot reach postgres://me@127.0.0.1:9/db",
        ),
        (
            "mysql://me:hush@host/db",
            "is the address of another kind of server",
        ),
        ("postgres://me:hush@host:many/db", "has an invalid port"),
    ] {
        let engine = format!("postgresql@{address}");
        let line = bench.refusal_of(&format!("run micro --engine {engine}"));
        assert!(line.contains(reason) && !line.contains("hush"), "{line}");
        assert!(!line.contains("to install"), "{line}");
    }
    assert!(!bench.path().join("results").exists());
}

#[test]
#[ignore = "slow: make test runs it"]
fn check_runs_both_suites_on_the_server_that_an_engine_needs_and_leaves_nothing() {
    for kind in [&POSTGRESQL, &MARIADB] {
        if !is_installed(kind.engine) {
            continue;
        }
        let bench = Bench::new();
        std::fs::create_dir(bench.path().join("checks")).unwrap();
        let engine = kind.engine;
        let line = format!("check {engine} --durability process --work checks");
        let text = stdout(&bench.run_expecting(0, &line));
        let passed = format!("{engine} process: 37 of 37 checks passed\n");
        assert!(text.starts_with(&passed), "{text}");
        assert_contains(&text, &[&format!("{engine} isolation with ")]);
        assert!(!text.contains("FAILED"), "{text}");
        let left = std::fs::read_dir(bench.path().join("checks")).unwrap();
        assert_eq!(left.count(), 0, "something is left");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_cannot_be_started_fails_its_check_in_one_line() {
    let Some(bench) = bench_with_a_closed_home() else {
        return;
    };
    let check = "check postgresql --durability process --work home";
    let text = stdout(&bench.run_expecting(1, check));
    let failed = "postgresql process: FAILED: the server runs as";
    assert!(text.starts_with(failed), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// The commands that ask a user's server, which listens at this port, who it is.
fn questions(port: u16) -> Vec<String> {
    let engines = [
        format!("mariadb@mysql://u:p@127.0.0.1:{port}/trueput"),
        format!("postgresql@postgres://u@127.0.0.1:{port}/db"),
    ];
    let lines = engines.iter().map(|engine| {
        let run = format!("{TRIAL} --duration 1 --engine {engine}");
        [format!("check {engine}"), run]
    });
    lines.flatten().collect()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_users_server_that_never_answers_is_refused_and_not_waited_for() {
    let bench = Bench::new();
    // The system accepts connections for it.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let lines = questions(silent.local_addr().unwrap().port());
    let children = lines.iter().map(|line| bench.spawn_with(line, ""));
    let children: Vec<Child> = children.collect();
    for child in children {
        let refusal = stderr(&expect_code(2, child.wait_with_output().unwrap()));
        assert_contains(&refusal, &["cannot be used"]);
        assert_eq!(refusal.trim().lines().count(), 1, "{refusal}");
    }
}

/// Waits for a connection, for a minute at most.
fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let mut tries = 0..1200;
    let connection = tries.find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        listener.accept().ok()
    });
    connection.unwrap().0
}

#[test]
#[ignore = "slow: make test runs it"]
fn one_signal_ends_a_question_to_a_server_that_never_answers() {
    let bench = Bench::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for line in questions(silent.local_addr().unwrap().port()) {
        let child = bench.spawn_with(&line, "");
        let _connection = accept(&silent);
        signal(child.id().cast_signed(), SIGTERM);
        let output = expect_code(130, child.wait_with_output().unwrap());
        assert_eq!(stderr(&output), "");
    }
}
