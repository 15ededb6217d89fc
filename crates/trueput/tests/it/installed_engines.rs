//! Plug-ins that are installed, and how they get there.

use crate::support::{
    ALL_WELL, Bench, assert_contains, ended_well, expect_code, refusal, stderr, stdout, unwrapped,
};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A bench with engines of its own.
struct OwnEngines {
    bench: Bench,
    folder: PathBuf,
}

impl OwnEngines {
    fn new() -> Self {
        let bench = Bench::new();
        let folder = bench.path().join("engines");
        Self { bench, folder }
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.bench.command(line);
        command.env("TRUEPUT_ENGINES", &self.folder);
        command.env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"));
        command
    }

    /// Installs the template's engine in C, under a version.
    fn with_template(&self, version: &str) {
        let bench = &self.bench;
        let folder = format!("mine-{version}");
        let line = format!("engines new mine --language c --folder {folder}");
        expect_code(0, bench.run(&line));
        let sources = bench.path().join(&folder);
        let description = sources.join("description.json");
        let text = std::fs::read_to_string(&description).unwrap();
        std::fs::write(&description, text.replace("0.1.0", version)).unwrap();
        let mut make = Command::new("make");
        make.current_dir(&sources).env_remove("MAKEFLAGS");
        let made = make.output().unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
        let library = std::fs::read(sources.join("libmine.so")).unwrap();
        self.place(&folder, "libtrueput-mine.so", &library);
    }

    fn place(&self, folder: &str, file: &str, bytes: &[u8]) {
        let folder = self.folder.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), bytes).unwrap();
    }
}

#[test]
fn an_installed_plugin_is_an_engine_by_its_name() {
    let own = OwnEngines::new();
    own.with_template("0.2.0");
    own.with_template("0.10.0");
    let listed = expect_code(0, own.run("engines"));
    assert_contains(&stdout(&listed), &["\nmine", "0.10.0"]);
    let knobs = expect_code(0, own.run("knobs mine"));
    assert_contains(&stdout(&knobs), &["log_step"]);
    let present = expect_code(0, own.run("plan check micro --engine present"));
    assert_contains(&stdout(&present), &["mine"]);
    let line = "run micro --engine mine --durability process --set test=overwrite \
                --set records=200 --set operations=200 --knob mine.log_step=64KiB";
    expect_code(ALL_WELL, own.run(line));
    let trial = &own.bench.trials()[0];
    assert!(ended_well(trial), "{:?}", trial.outcome);
    assert_eq!(trial.engine.as_ref().unwrap().version, "0.10.0");
    // Another build of it is named by its file.
    let other = format!("{}/mine-0.2.0/libtrueput-mine.so", own.folder.display());
    let line = format!("check mine@{other} --durability process");
    expect_code(0, own.run(&line));
}

#[test]
fn a_plugin_that_is_named_by_its_file_comes_before_an_installed_one() {
    let own = OwnEngines::new();
    own.with_template("0.2.0");
    let sources = own.bench.path().join("mine-0.2.0");
    let description = sources.join("description.json");
    let text = std::fs::read_to_string(&description).unwrap();
    std::fs::write(&description, text.replace("log_step", "step")).unwrap();
    let made = Command::new("make").current_dir(&sources).output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let plan = "plan check micro --engine ./mine-0.2.0/libmine.so --durability process";
    expect_code(0, own.run(&format!("{plan} --knob mine.step=64KiB")));
    let refused = own.run(&format!("{plan} --knob mine.log_step=64KiB"));
    expect_code(2, refused);
    let knobs = expect_code(0, own.run("knobs ./mine-0.2.0/libmine.so"));
    assert!(!stdout(&knobs).contains("log_step"));
}

#[test]
fn what_is_no_plugin_among_the_engines_is_named_and_left_out() {
    let own = OwnEngines::new();
    own.place("broken-1.0", "libtrueput-broken.so", b"no library");
    own.place("lmdb-1.0", "libtrueput-lmdb.so", b"no library");
    own.with_template("0.2.0");
    let mine = std::fs::read(own.folder.join("mine-0.2.0/libtrueput-mine.so")).unwrap();
    own.place("yours-1.0", "libtrueput-yours.so", &mine);
    let listed = expect_code(0, own.run("engines"));
    let other = "libtrueput-yours.so is the plug-in of mine";
    assert_contains(&stderr(&listed), &["libtrueput-broken.so", other]);
    assert_contains(&stdout(&listed), &["\nlmdb"]);
    let broken = "libtrueput-broken.so is not a shared library";
    for (line, reason) in [
        ("knobs broken", broken),
        ("run micro --engine broken --duration 1", broken),
        ("knobs yours", other),
        // The control: no file has this name.
        ("knobs nosuch", "unknown engine or workload 'nosuch'"),
    ] {
        assert_contains(&refusal(&own.run(line)), &[reason]);
    }
}

#[test]
fn an_installed_plugin_that_others_may_write_is_refused_with_the_reason() {
    let own = OwnEngines::new();
    own.place("open-1.0", "libtrueput-open.so", b"no library");
    let file = own.folder.join("open-1.0/libtrueput-open.so");
    std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    let reason = "libtrueput-open.so is not used: others may write to";
    let listed = expect_code(0, own.run("engines"));
    assert_contains(&stderr(&listed), &[reason]);
    for line in ["knobs open", "run micro --engine open --duration 1"] {
        assert_contains(&refusal(&own.run(line)), &[reason]);
    }
}

#[test]
fn the_names_of_engines_are_checked_before_anything_is_installed() {
    let own = OwnEngines::new();
    let listed = expect_code(0, own.run("engines install --list"));
    assert_contains(&stdout(&listed), &["rocksdb ", "bbolt ", "11.8.1", "quick"]);
    let refused = expect_code(2, own.run("engines install bbolt nosuch"));
    assert_contains(&stderr(&refused), &["no engine 'nosuch'", "bbolt"]);
    assert!(!own.folder.exists());
    let refused = expect_code(2, own.run("engines install"));
    assert_contains(&stderr(&refused), &["<NAMES>"]);
    let refused = expect_code(2, own.run("engines bbolt"));
    assert_contains(&stderr(&refused), &["trueput engines install bbolt"]);
    let overview = unwrapped(&stdout(&own.run("engines")));
    assert_contains(&overview, &["\"trueput engines install NAME\": b"]);
}

/// A folder with the programs that the installer needs, without Go.
fn programs_without_go(bench: &Bench) -> PathBuf {
    let folder = bench.path().join("programs");
    std::fs::create_dir(&folder).unwrap();
    let names =
        "bash basename cat cc cp cut date dirname dpkg find gcc grep id make mkdir mv rm sed";
    for name in names.split_whitespace() {
        let found = ["/usr/bin", "/bin"].map(|of| Path::new(of).join(name));
        // A distribution need not have all of them.
        if let Some(found) = found.iter().find(|path| path.exists()) {
            std::os::unix::fs::symlink(found, folder.join(name)).unwrap();
        }
    }
    folder
}

#[test]
fn a_plugin_whose_tools_are_not_here_is_left_out_with_the_reason() {
    let own = OwnEngines::new();
    let mut command = own.command("engines install bbolt");
    command.env("PATH", programs_without_go(&own.bench));
    command.env_remove("CC");
    let refused = expect_code(1, command.output().unwrap());
    assert_contains(&stdout(&refused), &["bbolt", "left out: needs Go"]);
    assert_contains(&stderr(&refused), &["not installed: bbolt"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_comes_with_trueput_is_installed_once() {
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("skipped: no go on this machine");
        return;
    }
    let own = OwnEngines::new();
    let installed = own.run("engines install bbolt");
    let log = std::fs::read_to_string(own.folder.join("install.log")).unwrap_or_default();
    let is_offline = ["dial tcp", "lookup ", "proxyconnect", "connection refused"];
    let is_old = stdout(&installed).contains("left out: needs Go");
    if is_old || !installed.status.success() && is_offline.iter().any(|it| log.contains(it)) {
        eprintln!("skipped: {}{log}", stdout(&installed));
        return;
    }
    assert_contains(&stdout(&expect_code(0, installed)), &["bbolt", "installed"]);
    let again = expect_code(0, own.run("engines install bbolt"));
    assert_contains(&stdout(&again), &["is there already"]);
    let line = "run micro --engine bbolt --durability sync,process --set test=overwrite \
                --set records=200 --set operations=200";
    expect_code(ALL_WELL, own.run(line));
}
