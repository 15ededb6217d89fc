//! How `trueput engines install` gets engines: what goes wrong with a registry is played by a
//! client of its name, what goes well is installed.

use crate::support::{ALL_WELL, Bench, assert_contains, expect_code, signal, stderr, stdout};
use nix::sys::signal::Signal::SIGTERM;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The time that a client has to begin.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// A bench with an empty folder of engines and programs of its own before the system's.
struct Installation {
    bench: Bench,
    engines: PathBuf,
    programs: PathBuf,
}

impl Installation {
    /// The compilers are there, whatever this machine has: nothing gets as far as them.
    fn new() -> Self {
        let bench = Bench::new();
        let [engines, programs] = ["engines", "programs"].map(|name| bench.path().join(name));
        fs::create_dir(&programs).unwrap();
        let own = Self {
            bench,
            engines,
            programs,
        };
        own.put("g++", "exit 0");
        own.put("gcc", "exit 0");
        own
    }

    fn put(&self, name: &str, script: &str) {
        let file = self.programs.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.bench.command(line);
        command.env("TRUEPUT_ENGINES", &self.engines);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.programs.display()));
        command.env_remove("CC").env_remove("CXX");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// The names in the folder of engines, in order.
    fn installed(&self) -> Vec<String> {
        names(&self.engines)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.engines.join("install.log")).unwrap()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Whether a process runs; one that ended may wait for its parent.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn another_file_than_the_pinned_one_is_refused_and_the_other_engines_go_on() {
    let own = Installation::new();
    own.put(
        "npm",
        "echo 'fetched as told'; echo other >leveldown-hyper-2.0.0.tgz",
    );
    fs::create_dir_all(own.engines.join("mdbx-0.14.4")).unwrap();
    let output = expect_code(1, own.run("engines install hyperleveldb mdbx"));
    let reason = "FAILED: leveldown-hyper-2.0.0.tgz has SHA-256 ";
    let expected = "not a68babb9f256d0651fcbcfe3ef8e45ee3f7a7fb3e4bcbe865e4566f0ac14e035";
    let last = "not installed: hyperleveldb\n";
    assert_contains(
        &stderr(&output),
        &["hyperleveldb  ", reason, expected, last],
    );
    assert_contains(
        &stdout(&output),
        &["mdbx          is there already: 0.14.4\n"],
    );
    assert_eq!(own.installed(), ["install.log", "mdbx-0.14.4"]);
    let command = "+ npm pack --silent leveldown-hyper@2.0.0\nfetched as told\n";
    assert_contains(&own.log(), &[command]);
}

#[test]
fn a_registry_that_fails_or_brings_nothing_is_one_line_and_the_rest_is_in_the_log() {
    let own = Installation::new();
    own.put("npm", "echo 'no such host' >&2; exit 7");
    let failed = expect_code(1, own.run("engines install basho-leveldb"));
    let reason = "FAILED: npm cannot get leveldown-basho-andris@1.5.0-andris.6; see ";
    assert_contains(&stderr(&failed), &[reason, "install.log"]);
    assert_eq!(stderr(&failed).lines().count(), 2, "{}", stderr(&failed));
    assert_contains(&own.log(), &["no such host\n", "exit status: 7"]);
    own.put("npm", "exit 0");
    let failed = expect_code(1, own.run("engines install basho-leveldb"));
    let reason = "FAILED: the download has no leveldown-basho-andris-1.5.0-andris.6.tgz";
    assert_contains(&stderr(&failed), &[reason]);
    assert!(!own.log().contains("no such host"), "a log is of one call");
    assert_eq!(own.installed(), ["install.log"]);
}

#[test]
fn an_interrupted_installation_ends_its_clients_and_leaves_no_half_of_an_engine() {
    let own = Installation::new();
    let file = own.bench.path().join("pid");
    let script = "touch leveldown-hyper-2.0.0.tgz; sleep 600 & echo $! >";
    own.put("npm", &format!("{script}'{}'; wait", file.display()));
    let mut command = own.command("engines install hyperleveldb basho-leveldb");
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id().cast_signed();
    let began = Instant::now();
    let sleeper = loop {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<i32>() {
            break pid;
        }
        assert!(began.elapsed() < BEGIN_TIMEOUT, "npm was not run");
        std::thread::sleep(Duration::from_millis(10));
    };
    // The folder is of one installation at a time.
    let refused = expect_code(1, own.run("engines install mdbx"));
    assert_contains(
        &stderr(&refused),
        &["another installation uses", "wait until it ends"],
    );
    signal(pid, SIGTERM);
    let output = expect_code(130, child.wait_with_output().unwrap());
    assert_eq!(own.installed(), ["install.log"]);
    assert!(
        !own.log().contains("basho"),
        "the next engine did not begin"
    );
    assert_eq!(stdout(&output), "");
    let ended = Instant::now();
    while runs(sleeper) {
        assert!(ended.elapsed() < BEGIN_TIMEOUT, "{sleeper} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_a_killed_installation_left_is_removed_by_the_next() {
    let own = Installation::new();
    own.put("npm", "exit 1");
    fs::create_dir_all(own.engines.join(".installing.abc/placed")).unwrap();
    fs::create_dir_all(own.engines.join(".other")).unwrap();
    expect_code(1, own.run("engines install hyperleveldb"));
    assert_eq!(own.installed(), [".other", "install.log"]);
}

#[test]
fn a_log_is_no_way_to_another_file_and_a_file_is_no_folder_of_engines() {
    let own = Installation::new();
    let precious = own.bench.write("precious", "text");
    fs::create_dir(&own.engines).unwrap();
    std::os::unix::fs::symlink(&precious, own.engines.join("install.log")).unwrap();
    let refused = expect_code(1, own.run("engines install mdbx"));
    assert_contains(&stderr(&refused), &["cannot write to", "TRUEPUT_ENGINES"]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "text");
    let mut command = own.command("engines install mdbx");
    let refused = command.env("TRUEPUT_ENGINES", &precious).output().unwrap();
    let refused = expect_code(1, refused);
    assert_contains(&stderr(&refused), &["cannot write to", "precious"]);
}

#[test]
fn a_group_stands_alone() {
    let own = Installation::new();
    let refused = expect_code(2, own.run("engines install mdbx quick"));
    assert_contains(&stderr(&refused), &["'quick' stands alone"]);
    assert!(!own.engines.exists());
}

/// The C source of libmdbx, from crates.io: the smallest that is compiled from a registry.
#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_from_a_registry_is_compiled_installed_and_measured() {
    let own = Installation::new();
    fs::remove_dir_all(&own.programs).unwrap();
    let installed = own.run("engines install mdbx");
    let log = own.log();
    let is_offline = [
        "Could not resolve",
        "failed to download",
        "failed to query",
        "Connection",
    ];
    if !installed.status.success() && is_offline.iter().any(|it| log.contains(it)) {
        eprintln!("skipped: no registry of crates can be reached: {log}");
        return;
    }
    assert_contains(
        &stdout(&expect_code(0, installed)),
        &["mdbx          compiling", "installed 0.14.4 in "],
    );
    assert_eq!(own.installed(), ["install.log", "mdbx-0.14.4"]);
    let folder = own.engines.join("mdbx-0.14.4");
    assert_eq!(
        names(&folder),
        ["LICENSE", "NOTICE", "libmdbx.so", "mdbx.h"]
    );
    let line = "run micro --engine mdbx --durability process --set test=overwrite \
                --set records=200 --set operations=200";
    expect_code(ALL_WELL, own.run(line));
    // What is there is left, and with --reinstall it is made again.
    let library = || folder.join("libmdbx.so").metadata().unwrap().modified();
    let first = library().unwrap();
    let again = expect_code(0, own.run("engines install mdbx"));
    assert_contains(&stdout(&again), &["is there already: 0.14.4"]);
    assert_eq!(library().unwrap(), first);
    expect_code(0, own.run("engines install mdbx --reinstall"));
    assert!(library().unwrap() > first);
    assert_eq!(own.installed(), ["install.log", "mdbx-0.14.4"]);
}
