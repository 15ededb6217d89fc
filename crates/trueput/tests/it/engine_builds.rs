//! Engines in libraries: several builds in one run, libraries that will not do, missing engines.

use crate::support::{ALL_WELL, Bench, assert_answers, refusal, stderr, stdout, words};
use crate::trust::Trap;
use serde_json::Value;
use std::path::PathBuf;
use trueput_record::TrialRecord;
use trueput_record::flush_evidence::FlushVerdict;

/// What `trueput engines --json` says of an engine.
fn listed(engine: &str) -> Value {
    let output = Bench::new().run(&["engines", "--json"]);
    let engines: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut all = engines.as_array().unwrap().iter();
    all.find(|one| one["name"] == engine).unwrap().clone()
}

/// The usable libraries of an engine on this machine, with the versions that they report.
fn libraries(engine: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let builds = listed(engine)["builds"].clone();
    let usable = builds.as_array().unwrap().iter();
    usable
        .filter_map(|build| Some((text(&build["library"])?, text(&build["version"])?)))
        .collect()
}

/// Every engine that comes in a library.
const IN_LIBRARIES: [&str; 7] = [
    "rocksdb",
    "leveldb",
    "berkeleydb",
    "wiredtiger",
    "tokudb",
    "mdbx",
    "gtm",
];

/// What the line of a missing engine names, to install it.
fn installed_by(engine: &str) -> &'static str {
    match engine {
        "tokudb" | "mdbx" => "`make engines-all`",
        _ => "`make engines`",
    }
}

/// A run of a short problem on the given engines, at a level that all of them have.
pub fn short_run(engines: &str) -> Vec<&str> {
    let run = [
        "run",
        "threen1",
        "--engine",
        engines,
        "--durability",
        "sync",
    ];
    let short = ["--set", "finish=300", "--set", "block=50", "--workers", "2"];
    run.into_iter().chain(short).collect()
}

#[test]
fn every_build_found_says_its_version_and_the_table_its_file() {
    let table = stdout(&Bench::new().run(&["engines", "--full"]));
    for engine in IN_LIBRARIES {
        let builds = libraries(engine);
        for (library, version) in &builds {
            let row = table.lines().find(|line| line.contains(library.as_str()));
            let row = row.unwrap_or_else(|| panic!("{library} is not in:\n{table}"));
            assert!(row.starts_with(engine) && !version.is_empty(), "{row}");
        }
        if builds.is_empty() {
            let mut rows = table.lines().filter(|text| text.starts_with(engine));
            let install = installed_by(engine).trim_matches('`');
            assert!(
                rows.any(|row| row.contains("not installed") && row.ends_with(install)),
                "{table}"
            );
        }
    }
}

#[test]
fn two_builds_of_an_engine_run_in_one_plan_each_labelled_with_its_version() {
    let builds = libraries("rocksdb");
    let [(first, first_version), (second, second_version), ..] = builds.as_slice() else {
        eprintln!("skipped: fewer than two builds of RocksDB on this machine");
        return;
    };
    let bench = Bench::new();
    let engines = format!("rocksdb,rocksdb@{second}");
    let output = bench.run(&short_run(&engines));
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    for (trial, (library, version)) in trials.iter().zip(&builds) {
        let engine = trial.engine.as_ref().unwrap();
        assert_eq!((&engine.origin, &engine.version), (library, version));
        assert_answers(trial, 1, 300);
    }
    let hash = |trial: &TrialRecord| trial.engine.as_ref().unwrap().sha256.clone();
    assert_ne!(hash(&trials[0]), hash(&trials[1]));
    let report = bench.run(&[
        "report",
        bench.run_folder().path().to_str().unwrap(),
        "--format",
        "json",
    ]);
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
    let named: Vec<_> = document["rankings"][0]["builds"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    for (build, (library, version)) in named
        .iter()
        .zip([(first, first_version), (second, second_version)])
    {
        assert_eq!(build["contender"], format!("rocksdb {version}"));
        assert_eq!(build["origin"], **library);
    }
}

#[test]
fn a_plan_names_builds_as_the_command_line_does() {
    let builds = libraries("rocksdb");
    let Some((library, _)) = builds.last() else {
        eprintln!("skipped: no RocksDB on this machine");
        return;
    };
    let bench = Bench::new();
    let plan = format!("workload = \"threen1\"\nengines = [\"lmdb\", \"rocksdb@{library}\"]\n");
    bench.write("two.toml", &plan);
    let output = bench.run(&["plan", "check", "two.toml", "--json"]);
    let matrix: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(matrix["trials"][1]["build"], **library);
    let wrong = plan.replace(library.as_str(), "/nowhere/librocksdb.so");
    bench.write("two.toml", &wrong);
    let line = refusal(&bench.run(&["run", "two.toml"]));
    assert!(line.contains("two.toml:2: "), "{line}");
    assert!(line.contains("/nowhere/librocksdb.so"), "{line}");
}

/// A shared library of this machine that is no engine.
fn no_engine() -> Option<PathBuf> {
    let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let here = [folder.as_str(), "/usr/lib64", "/lib64", "/usr/lib"];
    let found = here
        .iter()
        .map(|folder| PathBuf::from(folder).join("libm.so.6"));
    found.into_iter().find(|path| path.is_file())
}

#[test]
fn a_library_that_will_not_do_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    let text = bench.write("text.so", "INPUT(librocksdb.so.9)");
    let mut program = std::fs::read(assert_cmd::cargo::cargo_bin!("trueput")).unwrap();
    // `e_machine` of the ELF header: 183 is AArch64, 62 is x86-64.
    program[18] = if cfg!(target_arch = "aarch64") {
        62
    } else {
        183
    };
    program.truncate(1 << 20);
    let foreign = bench.path().join("foreign.so");
    std::fs::write(&foreign, program).unwrap();
    let before = bench.snapshot();
    let mut cases = vec![
        (bench.path().join("absent.so"), "No such file"),
        (bench.path().to_owned(), "is not a "),
        (text, "is not a shared library"),
        (foreign, "foreign.so"),
    ];
    cases.extend(no_engine().map(|path| (path, "it is no ")));
    for engine in IN_LIBRARIES {
        for (path, words) in &cases {
            let named = format!("{engine}@{}", path.display());
            let line = refusal(&bench.run(&short_run(&named)));
            assert!(line.contains(words), "{named}: {line}");
            assert!(!line.contains("code 0"), "{line}");
        }
    }
    let line = refusal(&bench.run(&short_run("redb@/lib/libredb.so")));
    assert!(line.contains("redb is compiled in"), "{line}");
    assert_eq!(bench.snapshot(), before, "nothing ran");
}

#[test]
fn the_library_of_another_engine_is_refused() {
    let (rocksdb, leveldb) = (libraries("rocksdb"), libraries("leveldb"));
    let (Some((rocksdb, _)), Some((leveldb, _))) = (rocksdb.first(), leveldb.first()) else {
        eprintln!("skipped: this needs both RocksDB and LevelDB on this machine");
        return;
    };
    let bench = Bench::new();
    for (engine, title, library) in [
        ("rocksdb", "RocksDB", leveldb),
        ("leveldb", "LevelDB", rocksdb),
    ] {
        let line = refusal(&bench.run(&short_run(&format!("{engine}@{library}"))));
        assert!(line.contains(&format!("it is no {title}")), "{line}");
        assert!(line.contains(library), "{line}");
    }
}

#[test]
fn an_engine_that_is_missing_is_left_out_of_present_and_named_once() {
    let bench = Bench::new();
    let nowhere = bench.path().join("nowhere");
    let arguments = short_run("present");
    let mut check = vec!["plan", "check"];
    check.extend(&arguments[1..]);
    // Nothing that was installed for this user is found; what the system has still is.
    let said = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        let output = command.env("TRUEPUT_ENGINES", &nowhere).output().unwrap();
        stdout(&output)
    };
    let missing: Vec<String> = {
        let mut command = bench.command(&["engines", "--json"]);
        let output = command.env("TRUEPUT_ENGINES", &nowhere).output().unwrap();
        let engines: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = engines.as_array().unwrap().iter();
        all.filter(|engine| engine["present"] == false)
            .map(|engine| engine["name"].as_str().unwrap().to_owned())
            .collect()
    };
    if missing.is_empty() {
        eprintln!("skipped: the system itself has every engine");
        return;
    }
    // What is skipped is wrapped.
    let text: Vec<_> = said(&check).split_whitespace().map(str::to_owned).collect();
    let text = text.join(" ");
    for engine in &missing {
        let line = format!("skipped: {engine} is not installed: ");
        // What works on a data source of the user's alone is never one of those that are there.
        let is_left_out = engine != "odbc";
        assert_eq!(
            text.matches(&line).count(),
            usize::from(is_left_out),
            "{text}"
        );
        if is_left_out {
            let told = text.split_once(&line).unwrap().1;
            let told = told.split("skipped: ").next().unwrap();
            assert!(told.contains(installed_by(engine)), "{told}");
        }
        let refused = format!("lmdb,{engine}");
        let mut command = bench.command(&short_run(&refused));
        let line = refusal(&command.env("TRUEPUT_ENGINES", &nowhere).output().unwrap());
        assert!(
            line.contains(&format!("{engine} cannot be used: ")),
            "{line}"
        );
    }
}

#[test]
fn an_engine_that_needs_a_data_source_is_refused_by_name_and_no_part_of_present() {
    let bench = Bench::new();
    let mut check = vec!["plan", "check"];
    let present = short_run("present");
    check.extend(&present[1..]);
    let text = stdout(&bench.run(&check));
    assert!(text.contains("lmdb") && !text.contains("odbc"), "{text}");
    let line = refusal(&bench.run(&short_run("odbc")));
    assert!(line.contains("a data source must be named: "), "{line}");
    let listed = stdout(&bench.run(&["engines"]));
    assert!(listed.contains("ODBC"), "{listed}");
}

/// The sources of LMDB that this program compiles in.
fn lmdb_sources() -> PathBuf {
    // The packages of other platforms need not be here.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", &platform])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "lmdb-master-sys");
    let manifest = package.unwrap()["manifest_path"].as_str().unwrap();
    PathBuf::from(manifest).with_file_name("lmdb/libraries/liblmdb")
}

/// LMDB as a shared library, compiled with these definitions.
fn compiled_lmdb(bench: &Bench, name: &str, definitions: &[&str]) -> String {
    let (library, sources) = (bench.path().join(name), lmdb_sources());
    let status = std::process::Command::new("cc")
        .args(["-O2", "-w", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .args(["mdb.c", "midl.c"].map(|file| sources.join(file)))
        .args(definitions)
        .arg("-lpthread")
        .status();
    assert!(status.unwrap().success());
    library.to_str().unwrap().to_owned()
}

/// A build that opens nothing with O_DSYNC and skips each fdatasync and msync keeps every record of
/// every trial, and the check of its data has nothing to find.
#[test]
fn a_build_that_skips_every_flush_is_invalid_at_sync_and_an_honest_one_is_not() {
    let bench = Bench::new();
    let skips = [
        "-DMDB_DSYNC=0",
        "-DMDB_FDATASYNC_WORKS",
        "-DMDB_FDATASYNC(file)=((void)(file),0)",
        "-DMDB_MSYNC(at,bytes,flags)=((void)(at),0)",
    ];
    let liar = compiled_lmdb(&bench, "liblmdb-liar.so", &skips);
    let honest = compiled_lmdb(&bench, "liblmdb-honest.so", &[]);
    let engines = format!("lmdb@{liar},lmdb@{honest}");
    let arguments = ["run", "threen1", "--trust-plan", "--engine", &engines];
    let small = [
        "--set",
        "finish=400",
        "--workers",
        "1",
        "--durability",
        "sync",
    ];
    let output = bench.run(&[&arguments[..], &small].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let records = bench.trials();
    assert_eq!(records.len(), 2, "{}", stderr(&output));
    for (record, is_liar) in records.iter().zip([true, false]) {
        assert!(record.verification.as_ref().unwrap().passed);
        let measured = record.measurement.as_ref().unwrap();
        let evidence = measured.flush_evidence.as_ref().unwrap();
        if let Some(reason) = &evidence.reason {
            eprintln!("passed over: flushes are not counted here: {reason}");
            return;
        }
        let outcome = format!("{:?}", record.outcome);
        let accused = outcome.contains("flushes cannot explain its commits");
        assert_eq!(accused, is_liar, "{outcome} {evidence:?}");
    }
}

/// Who has only a shared library of his own engine checks it as those that are installed.
#[test]
fn a_build_that_is_named_is_checked() {
    let bench = Bench::new();
    let library = compiled_lmdb(&bench, "liblmdb-mine.so", &[]);
    let named = format!("lmdb@{library}");
    let said = stdout(&bench.run(&["check", &named, "--durability", "async"]));
    assert!(said.contains(&format!("{named} async: ")), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
    for (named, expected) in [
        ("lmdb@/nowhere/liblmdb.so", "/nowhere/liblmdb.so"),
        ("redb@/lib/libredb.so", "redb is compiled in"),
        ("lmbd@/nowhere/liblmdb.so", "lmdb"),
    ] {
        let line = refusal(&bench.run(&["check", named]));
        assert!(line.contains(expected), "{line}");
    }
}

/// A program of one's own that adds an engine and calls the library is trueput with that engine,
/// and starts its own workers.
#[test]
fn a_program_with_an_engine_of_its_own_checks_it_and_verifies_its_trials() {
    let bench = Bench::new();
    let build = [
        "build",
        "--workspace",
        "--locked",
        "--offline",
        "--example",
        "own_engine",
    ];
    let built = std::process::Command::new(env!("CARGO"))
        .args(build)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    let program = assert_cmd::cargo::cargo_bin!("trueput").with_file_name("examples/own_engine");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.current_dir(bench.path()).args(arguments);
        command.output().unwrap()
    };
    let checked = stdout(&run(&["check", "toy"]));
    assert!(checked.contains("toy none: "), "{checked}");
    // It keeps its records in the memory of one process, and another one verifies them.
    let fill = ["--set", "test=fill-random", "--set", "records=10"];
    let arguments = [
        "run",
        "micro",
        "--engine",
        "toy",
        "--durability",
        "none",
        "--workers",
        "1",
    ];
    let measured = run(&[&arguments[..], &fill].concat());
    assert_eq!(measured.status.code(), Some(1), "{}", stderr(&measured));
    let outcome = format!("{:?}", bench.trials()[0].outcome);
    assert!(outcome.contains("records: 10 wrong"), "{outcome}");
}

#[test]
fn a_changed_home_changes_no_engine_and_a_lesser_build_is_told() {
    let bench = Bench::new();
    let said = |variables: &[(&str, &str)]| {
        let mut command = bench.command(&["engines", "--json"]);
        command
            .env_remove("TRUEPUT_ENGINES")
            .env_remove("XDG_DATA_HOME");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let engines: Value = serde_json::from_slice(&output.stdout).unwrap();
        let builds = |one: &Value| (one["name"].clone(), one["builds"].clone());
        engines
            .as_array()
            .unwrap()
            .iter()
            .map(builds)
            .collect::<Vec<_>>()
    };
    let elsewhere = bench.path().to_str().unwrap();
    assert_eq!(said(&[]), said(&[("HOME", elsewhere)]));
    let nowhere = bench.path().join("nowhere");
    let mut command = bench.command(&["engines"]);
    let output = command.env("TRUEPUT_ENGINES", &nowhere).output().unwrap();
    let table = stdout(&output);
    let told = stderr(&output);
    for engine in ["rocksdb", "leveldb"] {
        let mut rows = table.lines();
        let is_lesser = rows.any(|row| row.starts_with(engine) && row.contains("assertions"));
        let mut lines = told.lines();
        let is_told =
            lines.any(|line| line.contains(&format!("{engine}: ")) && line.contains("nowhere"));
        assert_eq!(is_lesser, is_told, "{told}");
    }
}

#[test]
fn engines_in_a_folder_that_others_write_to_are_passed_over_and_that_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let trap = Trap::new();
    trap.library("open/rocksdb-99.0.0/librocksdb.so");
    let open = trap.bench.path().join("open");
    let said = |mode| {
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = trap.bench.command(&["engines"]);
        stderr(&command.env("TRUEPUT_ENGINES", &open).output().unwrap())
    };
    let line = said(0o777);
    assert!(
        line.contains("are not used") && line.contains("others may write"),
        "{line}"
    );
    assert!(!trap.has_sprung());
    said(0o755);
    assert!(
        trap.has_sprung(),
        "the control: it is used where only the user writes"
    );
}

#[test]
fn commits_that_may_have_changed_nothing_vouch_for_no_flushes() {
    let bench = Bench::new();
    bench.run(&words(
        "run micro --engine lmdb --durability sync --set test=mix --set delete_percent=50 \
         --set records=200 --set operations=100",
    ));
    let trials = bench.trials();
    let measured = trials[0].measurement.as_ref().unwrap();
    let evidence = measured.flush_evidence.as_ref().unwrap();
    assert!(measured.commits.is_some_and(|commits| commits > 0));
    assert_eq!(evidence.verdict, FlushVerdict::NotCounted, "{evidence:?}");
    assert!(evidence.reason.is_some(), "{evidence:?}");
}
