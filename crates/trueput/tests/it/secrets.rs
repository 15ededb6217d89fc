//! Passwords of users' servers do not come into the environment or the arguments of any process
//! that the program starts.

use crate::support::{Bench, CommandLine, ended_well, stderr};
use std::process::Child;
use std::time::{Duration, Instant};

/// The text that must not appear.
const PASSWORD: &str = "hush-4711";

/// A file of a process in /proc; empty if the process has ended.
fn file_of(pid: u32, name: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn shows(bytes: &[u8]) -> bool {
    let word = PASSWORD.as_bytes();
    bytes.windows(word.len()).any(|part| part == word)
}

/// The processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter();
    let tasks = tasks.flatten().flatten();
    let lists: Vec<_> = tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().unwrap()).collect()
}

/// Watches a run's workers to its end: their number, and whether one of them had the password where
/// others can read it.
fn watch(child: &mut Child) -> (usize, bool) {
    let (mut seen, mut shown) = (std::collections::BTreeSet::new(), false);
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
            shown |= shows(&file_of(pid, "environ")) || shows(&arguments);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (seen.len(), shown)
}

#[test]
#[ignore = "slow: make test runs it"]
fn no_worker_has_a_password_in_its_environment_or_arguments() {
    let bench = Bench::new();
    let file = bench.path().join("data.db");
    let database = file.display();
    let source = format!("odbc@Driver={{SQLite3}};Database={database};PWD={PASSWORD}");
    let small = "--duration 1 --set test=overwrite --set records=200";
    let line = format!("run micro --durability sync --workers 2 {small} --engine {source}");
    let mut child = bench.spawn_with(&line, "");
    // The user wrote it on the program's own command line: that it is found there shows that the
    // search finds it.
    let mut own = file_of(child.id(), "cmdline");
    // It may be on its way between fork and exec.
    while own.is_empty() && child.try_wait().unwrap().is_none() {
        own = file_of(child.id(), "cmdline");
    }
    assert!(shows(&own), "{:?}", child.wait_with_output());
    let (workers, shown) = watch(&mut child);
    let output = child.wait_with_output().unwrap();
    let reason = stderr(&output);
    if reason.contains("install") && !output.status.success() {
        eprintln!("skipped: {reason}");
        return;
    }
    assert!(workers >= 2, "{workers}");
    assert!(!shown, "a worker has it where others can read it");
    let trials = bench.trials();
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
    for (path, content) in bench.snapshot() {
        let is_database = path.starts_with(&file);
        assert!(is_database || !shows(&content), "{}", path.display());
    }
}

/// Addresses that are wrong in some way, and passwords with every letter that means something.
#[test]
#[ignore = "slow: make test runs it"]
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
    let passwords = "Zq9xWv7k Zq9x@Wv7k Zq9x/Wv7k?Jp3m Zq9x#Wv:7kJ% Zq9x&W=v7k".words();
    let bench = Bench::new();
    let with_each = |form| passwords.iter().map(move |password| (form, password));
    for (form, password) in forms.into_iter().flat_map(with_each) {
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
            // No four letters of it; all of them are ASCII.
            let shown = (4..=password.len()).find(|&end| said.contains(&password[end - 4..end]));
            assert_eq!(shown, None, "{arguments:?}: {said}");
        }
        assert!(!bench.path().join("results").exists(), "{engine}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_private_server_s_log_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let output = bench.run(
        "run micro --engine postgresql --durability sync --set test=overwrite \
         --set records=200 --keep-databases --duration 1 --workers 1",
    );
    let said = stderr(&output);
    if said.contains("cannot be used") || said.contains("pass") && output.status.code() == Some(2) {
        eprintln!("skipped: {said}");
        return;
    }
    let files = bench.snapshot().into_keys();
    let logs: Vec<_> = files.filter(|path| path.ends_with("server.log")).collect();
    assert!(!logs.is_empty(), "{said}");
    for log in logs {
        let mode = std::fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", log.display());
    }
}
