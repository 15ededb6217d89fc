//! Passwords of users' servers do not come into the environment or the arguments of any process
//! that the program starts.

use crate::support::{Bench, ended_well};
use std::process::Child;
use std::time::{Duration, Instant};

/// What is not to be seen.
const PASSWORD: &str = "hush-4711";

/// A file of a process's in /proc; empty where it has gone.
fn file_of(pid: u32, name: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn tells(bytes: &[u8]) -> bool {
    let word = PASSWORD.as_bytes();
    bytes.windows(word.len()).any(|part| part == word)
}

/// The processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter();
    let lists = tasks
        .flatten()
        .flatten()
        .map(|task| task.path().join("children"));
    let lists: Vec<_> = lists
        .filter_map(|list| std::fs::read_to_string(list).ok())
        .collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().unwrap()).collect()
}

/// Watches a run's workers to its end: how many there were, and whether one of them had the
/// password where others can read it.
fn watch(child: &mut Child) -> (usize, bool) {
    let (mut seen, mut told) = (std::collections::BTreeSet::new(), false);
    let limit = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < limit, "it does not end");
        for pid in children(child.id()) {
            let arguments = file_of(pid, "cmdline");
            // Between fork and exec a child still looks like its parent.
            if !arguments.ends_with(b"\0worker\0") {
                continue;
            }
            seen.insert(pid);
            told |= tells(&file_of(pid, "environ")) || tells(&arguments);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (seen.len(), told)
}

#[test]
fn no_worker_has_a_password_in_its_environment_or_arguments() {
    let bench = Bench::new();
    let file = bench.path().join("data.db");
    let source = format!(
        "odbc@Driver={{SQLite3}};Database={};PWD={PASSWORD}",
        file.display()
    );
    let run = ["run", "micro", "--durability", "sync", "--duration", "1"];
    let small = ["--set", "test=overwrite", "--set", "records=200"];
    let engine = ["--engine", &source, "--workers", "2"];
    let arguments = [&run[..], &small, &engine].concat();
    let elsewhere = Bench::new();
    let probe = elsewhere.run(&arguments);
    let said = String::from_utf8_lossy(&probe.stderr);
    if said.contains("install") && !probe.status.success() {
        eprintln!("skipped: {said}");
        return;
    }
    let mut child = bench.spawn_with(&arguments, "");
    // The user wrote it on the program's own command line: that it is found there shows that the
    // search finds it.
    let mut own = file_of(child.id(), "cmdline");
    // It may be on its way between fork and exec.
    while own.is_empty() && child.try_wait().unwrap().is_none() {
        own = file_of(child.id(), "cmdline");
    }
    assert!(tells(&own), "{:?}", child.wait_with_output());
    let (workers, told) = watch(&mut child);
    assert!(workers >= 2, "{workers}");
    assert!(!told, "a worker has it where others can read it");
    let trials = bench.trials();
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
    for (path, content) in bench.snapshot() {
        let is_database = path.starts_with(&file);
        assert!(is_database || !tells(&content), "{}", path.display());
    }
}

/// Addresses that are wrong in some way, and passwords with every letter that means something.
#[test]
fn no_malformed_address_repeats_its_password() {
    let forms = [
        "postgresql@postgres:/u:{}@h/db",
        "postgresql@mysql:u:{}@h",
        "postgresql@u:{}@h/db",
        "postgresql@host=h password={}",
        "mariadb@mysql:u:{}@h",
        "mariadb@mysql://u:{}@h:many/trueput",
        "mariadb@mysql://u:{}@h/accounts",
        "odbc@Server=h;PWD={}",
        "odbc@Driver=none;UID=u;password = {}",
        "rocksdb@u:{}@h",
        "postgres://u:{}@h/db",
        "u:{}@h/db",
        "mysql:u:{}",
    ];
    let passwords = [
        "Zq9xWv7k",
        "Zq9x@Wv7k",
        "Zq9x/Wv7k?Jp3m",
        "Zq9x#Wv:7kJ%",
        "Zq9x&W=v7k",
    ];
    let bench = Bench::new();
    for (form, password) in forms
        .iter()
        .flat_map(|form| passwords.map(|password| (form, password)))
    {
        // Without a host, what follows an @ could be one.
        if form.ends_with("u:{}") && password.contains('@') {
            continue;
        }
        let engine = form.replace("{}", password);
        let plan = format!("workload = \"threen1\"\nengines = [{engine:?}]\n");
        bench.write("plan.toml", &plan);
        let word = format!("--engine={engine}");
        for arguments in [
            &["run", "threen1", "--engine", &engine][..],
            &["run", "threen1", "--json", &word],
            &["run", &engine],
            &["engines", &engine],
            &["threen1", &word, "--bad"],
            &["check", &engine],
            &["run", "plan.toml"],
            &["run", "plan.toml", "--trust-plan"],
            &["plan", "check", "plan.toml"],
        ] {
            let output = bench.run(arguments);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            let letters: Vec<char> = password.chars().collect();
            let told = letters
                .windows(4)
                .find(|part| said.contains(&part.iter().collect::<String>()));
            assert_eq!(told, None, "{arguments:?}: {said}");
        }
        assert!(!bench.path().join("results").exists(), "{engine}");
    }
}

#[test]
fn a_private_server_s_log_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let run = [
        "run",
        "micro",
        "--engine",
        "postgresql",
        "--durability",
        "sync",
    ];
    let small = [
        "--set",
        "test=overwrite",
        "--set",
        "records=200",
        "--keep-databases",
    ];
    let rest = ["--duration", "1", "--workers", "1"];
    let output = bench.run(&[&run[..], &small, &rest].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("cannot be used") || said.contains("pass") && output.status.code() == Some(2) {
        eprintln!("skipped: {said}");
        return;
    }
    let files = bench.snapshot();
    let logs: Vec<_> = files
        .keys()
        .filter(|path| path.ends_with("server.log"))
        .collect();
    assert!(!logs.is_empty(), "{said}");
    for log in logs {
        let mode = std::fs::metadata(log).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", log.display());
    }
}
