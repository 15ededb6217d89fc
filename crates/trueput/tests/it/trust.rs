//! Libraries and folders that a plan or a run folder names are not used before they are trusted.

use crate::engine_builds::short_run;
use crate::support::{ALL_WELL, Bench, assert_contains, stderr, stdout};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

/// Version texts of servers.
const POSTGRESQL: &str = "postgres (PostgreSQL) 15.1";
const MARIADB: &str = "mariadbd  Ver 10.11.6-MariaDB for Linux";

/// Code that leaves a file behind when it is loaded or run.
pub struct Trap {
    pub bench: Bench,
}

impl Trap {
    pub fn new() -> Self {
        Self {
            bench: Bench::new(),
        }
    }

    pub fn marker(&self) -> PathBuf {
        self.bench.path().join("was-run")
    }

    /// Whether the code ran since the last call.
    pub fn has_sprung(&self) -> bool {
        std::fs::remove_file(self.marker()).is_ok()
    }

    /// A shared library whose constructor leaves the file.
    pub fn library(&self, name: &str) -> String {
        let source = self.bench.write(
            "trap.c",
            &format!(
                "#include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ FILE \
                 *file = fopen(\"{}\", \"w\"); if (file) fclose(file); }}\n",
                self.marker().display()
            ),
        );
        let library = self.bench.write(name, "");
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]);
        let status = compiler.arg(&library).arg(&source).status().unwrap();
        assert!(status.success());
        library.to_str().unwrap().to_owned()
    }

    /// A script that passes for a server's program, and leaves the file when it is asked its
    /// version.
    pub fn server(&self, name: &str, version: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let text = format!(
            "#!/bin/sh\ntouch {}\necho '{version}'\n",
            self.marker().display()
        );
        let program = self.bench.write(&format!("bin/{name}"), &text);
        self.bench.write("bin/initdb", "");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        program.to_str().unwrap().to_owned()
    }

    /// A plan that names it.
    pub fn plan(&self, contender: &str) {
        let plan = format!("workload = \"threen1\"\nengines = [\"{contender}\"]\n");
        let small = "durability = \"sync\"\n[settings]\nfinish = 20\n";
        self.bench.write("plan.toml", &(plan + small));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_plan_names_is_not_loaded_or_run_before_it_is_trusted() {
    let trap = Trap::new();
    let library = trap.library("libevil.so");
    let postgres = trap.server("postgres", POSTGRESQL);
    let mariadb = trap.server("mariadbd", MARIADB);
    for (engine, code) in [
        ("rocksdb", &library),
        ("lmdb", &library),
        ("sqlite", &library),
        ("wiredtiger", &library),
        ("gtm", &library),
        ("postgresql", &postgres),
        ("mariadb", &mariadb),
    ] {
        let contender = format!("{engine}@{code}");
        trap.plan(&contender);
        let checked = stdout(&trap.bench.run_expecting(0, "plan check plan.toml"));
        let note = format!("build {contender} is not loaded by this command");
        assert_contains(&checked, &[&note]);
        let line = trap.bench.refusal_of("run plan.toml");
        assert_contains(&line, &[&contender, "--trust-plan"]);
        let ablation = trap
            .bench
            .refusal_of("ledger plan.toml --step settings.finish=30");
        assert_contains(&ablation, &["--trust-plan"]);
        assert!(!trap.has_sprung(), "{contender} was run");
        // The controls: trusted, it is; and what the user types is their own word.
        if engine != "gtm" {
            let said = stderr(&trap.bench.run("run plan.toml --trust-plan"));
            assert_contains(&said, &[&contender]);
            assert!(trap.has_sprung(), "{contender}: {said}");
            trap.bench.run(&short_run(&contender));
            assert!(trap.has_sprung(), "{contender}");
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_address_is_neither_a_program_of_that_name_nor_read_for_its_password_before_it_is_trusted() {
    let trap = Trap::new();
    for (engine, scheme, version) in [
        ("mariadb", "mysql", MARIADB),
        ("postgresql", "postgres", POSTGRESQL),
    ] {
        let program = trap.server("server", version);
        let named = format!("{scheme}://me@127.0.0.1:1/trueput");
        let of_that_name = trap.bench.write(&named.replace("//", "/"), "");
        std::fs::rename(&program, &of_that_name).unwrap();
        trap.plan(&format!("{engine}@{named}"));
        let line = trap.bench.refusal_of("run plan.toml");
        assert_contains(&line, &["a server to connect to"]);
        let trusted = trap.bench.run("run plan.toml --trust-plan");
        assert!(!trap.has_sprung(), "{}", stderr(&trusted));
        // The control: named as the file that it is, it is run.
        let file = format!("{engine}@{}", of_that_name.display());
        trap.bench.run(&short_run(&file));
        assert!(trap.has_sprung(), "{engine}");

        let file = "/nowhere/token";
        trap.plan(&format!("{engine}@{named}?password_file={file}"));
        trap.bench.run_expecting(0, "plan check plan.toml");
        let line = trap.bench.refusal_of("run plan.toml");
        assert_contains(&line, &[&format!("first line of {file}")]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_plan_names_is_asked_for_on_a_terminal() {
    let trap = Trap::new();
    let library = trap.library("libevil.so");
    trap.plan(&format!("rocksdb@{library}"));
    let answered = |answer: &str| {
        let program = assert_cmd::cargo::cargo_bin!("trueput").display();
        let mut script = std::process::Command::new("script");
        let line = format!("{program} run --no-hardware-limits plan.toml");
        script.args(["-qec", &line, "/dev/null"]);
        script.current_dir(trap.bench.path());
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().ok()?;
        let mut input = child.stdin.take().unwrap();
        input.write_all(answer.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((output.status.code(), said))
    };
    let Some((code, said)) = answered("n\n") else {
        eprintln!("skipped: no program 'script' on this machine");
        return;
    };
    assert_eq!(code, Some(2), "{said}");
    assert_contains(&said, &["[y/N]", "nothing was run"]);
    assert!(!trap.has_sprung(), "{said}");
    let (_, said) = answered("y\n").unwrap();
    assert!(trap.has_sprung(), "{said}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_is_checked_without_loading_what_is_installed() {
    let trap = Trap::new();
    let library = "data/trueput/engines/rocksdb-99.0.0/librocksdb.so";
    trap.library(library);
    let data = trap.bench.path().join("data");
    let run = |line: &str| trap.bench.run_with_variable(("XDG_DATA_HOME", &data), line);
    for engine in ["rocksdb", "present"] {
        let output = run(&format!("plan check threen1 --engine {engine}"));
        assert!(stdout(&output).contains("rocksdb"), "{}", stderr(&output));
        assert!(!trap.has_sprung(), "{engine}");
    }
    run("plan check published/symas-2014-load");
    run("published");
    assert!(!trap.has_sprung());
    // Control: commands that inspect builds load it.
    run("engines");
    assert!(trap.has_sprung());
}

/// A run folder of one trial that has not ended, whose manifest is then changed.
fn unfinished(bench: &Bench, change: impl Fn(&mut Value)) -> String {
    bench.run_once(&short_run("lmdb"));
    let folder = bench.run_folder().path().to_owned();
    std::fs::write(folder.join("trials.jsonl"), "").unwrap();
    std::fs::remove_file(folder.join("end.json")).unwrap();
    std::fs::remove_file(folder.join("report.html")).unwrap();
    for file in std::fs::read_dir(folder.join("histograms")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let file = folder.join("run.json");
    let mut manifest = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(&file, manifest.to_string()).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_run_folder_names_is_not_loaded_before_it_is_trusted() {
    let trap = Trap::new();
    let library = trap.library("libevil.so");
    let folder = unfinished(&trap.bench, |manifest| {
        manifest["trials"][0]["build"] = library.clone().into();
    });
    let line = trap.bench.refusal_of(&["run", "--resume", &folder]);
    assert_contains(&line, &[&library, "--trust-plan"]);
    assert!(!trap.has_sprung());
    trap.bench
        .run(&["run", "--resume", &folder, "--trust-plan"]);
    assert!(trap.has_sprung(), "the control: trusted, it is loaded");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_folder_does_not_say_where_else_to_write() {
    let bench = Bench::new();
    let elsewhere = bench.path().join("elsewhere");
    let folder = unfinished(&bench, |manifest| {
        manifest["work"] = elsewhere.to_str().unwrap().into();
    });
    let line = bench.refusal_of(&format!("run --resume {folder}"));
    assert_contains(&line, &["elsewhere", "--work"]);
    assert!(!elsewhere.exists());
    let resume = format!("run --resume {folder} --work here");
    let target = bench.write("precious", "kept");
    let path = PathBuf::from(&folder);
    for link in ["report.html", "histograms/0001-lmdb-sync-w2-r1.hlog"] {
        std::os::unix::fs::symlink(&target, path.join(link)).unwrap();
        let line = bench.refusal_of(&resume);
        assert_contains(&line, &["is a link"]);
        std::fs::remove_file(path.join(link)).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    // Control: with the user's consent it continues.
    bench.run_expecting(ALL_WELL, &resume);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_s_options_of_mkfs_that_name_devices_are_asked_for() {
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\"]\ndurability = \"process\"\n";
    let device = bench.path().join("device").display().to_string();
    let wanted = format!("filesystem = \"ext4:mkfs=-J device={device}\"\n");
    bench.write("plan.toml", &format!("{plan}{wanted}"));
    let line = bench.refusal_of("run plan.toml");
    let can_mount = !line.contains("nothing to run");
    if can_mount {
        assert_contains(&line, &[&device, "--trust-plan"]);
    }
}
