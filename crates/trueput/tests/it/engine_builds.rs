//! Engines in libraries: several builds in one run, libraries that will not do, missing engines.

use crate::support::{
    ALL_WELL, Bench, CommandLine, assert_answers, assert_contains, expect_code, refusal, stderr,
    stdout, unwrapped,
};
use crate::trust::Trap;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;
use trueput_record::TrialRecord;
use trueput_record::flush_evidence::FlushVerdict;

/// The entry of an engine in `trueput engines --json`.
fn listed(engine: &str) -> Value {
    static ENGINES: OnceLock<Value> = OnceLock::new();
    let engines = ENGINES.get_or_init(|| Bench::new().json_of("engines --json"));
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

#[test]
#[ignore = "slow: make test runs it"]
fn speedb_is_a_build_of_rocksdb() {
    let builds = libraries("rocksdb");
    let mut builds = builds.iter();
    let Some((library, version)) = builds.find(|(path, _)| path.contains("/speedb-")) else {
        eprintln!("skipped: no Speedb on this machine; `trueput engines install speedb`");
        return;
    };
    assert!(version.starts_with("Speedb 2."), "{version}");
    Bench::new().run_expecting(0, &format!("check rocksdb@{library}"));
}

/// A run of a short problem on the given engines, at a level that all of them have.
pub fn short_run(engines: &str) -> String {
    format!("run {}", short(engines))
}

/// A plan of a short run of these engines.
fn short(engines: &str) -> String {
    let small = "--set finish=300 --set block=50 --workers 2";
    format!("threen1 --engine {engines} --durability sync {small}")
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_build_found_says_its_version_and_the_table_its_file() {
    let table = Bench::new().stdout_of("engines --full");
    for engine in IN_LIBRARIES {
        let builds = libraries(engine);
        for (library, version) in &builds {
            let row = table.lines().find(|line| line.contains(library.as_str()));
            let row = row.unwrap_or_else(|| panic!("{library} is not in:\n{table}"));
            assert!(row.starts_with(engine) && !version.is_empty(), "{row}");
        }
        if builds.is_empty() {
            let mut rows = table.lines().filter(|text| text.starts_with(engine));
            let install = format!("trueput engines install {engine}");
            let is_named = |row: &str| row.contains("not installed") && row.ends_with(&install);
            assert!(rows.any(is_named), "{table}");
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn two_builds_of_an_engine_run_in_one_plan_each_labelled_with_its_version() {
    let builds = libraries("rocksdb");
    let [_, (second, _), ..] = builds.as_slice() else {
        eprintln!("skipped: fewer than two builds of RocksDB on this machine");
        return;
    };
    let bench = Bench::new();
    let engines = format!("rocksdb,rocksdb@{second}");
    bench.run_expecting(ALL_WELL, &short_run(&engines));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    for (trial, (library, version)) in trials.iter().zip(&builds) {
        let engine = trial.engine.as_ref().unwrap();
        assert_eq!((&engine.origin, &engine.version), (library, version));
        assert_answers(trial, 1, 300);
    }
    let hash = |trial: &TrialRecord| trial.engine.as_ref().unwrap().sha256.clone();
    assert_ne!(hash(&trials[0]), hash(&trials[1]));
    let document = bench.json_of(&format!("report {} --format json", bench.run_path()));
    let named = document["rankings"][0]["builds"].as_array().unwrap();
    for (build, (library, version)) in named.iter().zip(&builds) {
        assert_eq!(build["contender"], format!("rocksdb {version}"));
        assert_eq!(build["origin"], **library);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_names_builds_as_the_command_line_does() {
    let builds = libraries("rocksdb");
    let Some((library, _)) = builds.last() else {
        eprintln!("skipped: no RocksDB on this machine");
        return;
    };
    let bench = Bench::new();
    let plan = format!("workload = \"threen1\"\nengines = [\"lmdb\", \"rocksdb@{library}\"]\n");
    bench.write("two.toml", &plan);
    let matrix = bench.json_of("plan check two.toml --json");
    assert_eq!(matrix["trials"][1]["build"], **library);
    let wrong = plan.replace(library.as_str(), "/nowhere/librocksdb.so");
    bench.write("two.toml", &wrong);
    let line = bench.refusal_of("run two.toml");
    assert_contains(&line, &["two.toml:2: "]);
    assert_contains(&line, &["/nowhere/librocksdb.so"]);
}

/// A shared library of this machine that is no engine.
fn no_engine() -> Option<PathBuf> {
    let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let here = [folder.as_str(), "/usr/lib64", "/lib64", "/usr/lib"];
    let mut found = here
        .map(|folder| PathBuf::from(folder).join("libm.so.6"))
        .into_iter();
    found.find(|path| path.is_file())
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_library_that_will_not_do_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    let text = bench.write("text.so", "INPUT(librocksdb.so.9)");
    let mut program = std::fs::read(assert_cmd::cargo::cargo_bin!("trueput")).unwrap();
    // `e_machine` of the ELF header: 183 is AArch64, 62 is x86-64.
    program[18] = [183, 62][usize::from(cfg!(target_arch = "aarch64"))];
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
    cases.extend(no_engine().map(|path| (path, "it is not ")));
    for engine in IN_LIBRARIES {
        for (path, words) in &cases {
            let named = format!("{engine}@{}", path.display());
            let line = bench.refusal_of(&short_run(&named));
            assert_contains(&line, &[words]);
            assert!(!line.contains("code 0"), "{line}");
        }
    }
    let line = bench.refusal_of(&short_run("redb@/lib/libredb.so"));
    assert_contains(&line, &["redb is compiled in"]);
    assert_eq!(bench.snapshot(), before, "nothing ran");
}

#[test]
#[ignore = "slow: make test runs it"]
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
        let line = bench.refusal_of(&short_run(&format!("{engine}@{library}")));
        assert_contains(&line, &[&format!("it is not {title}")]);
        assert_contains(&line, &[library]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_that_is_missing_is_left_out_of_present_and_named_once() {
    let bench = Bench::new();
    let nowhere = bench.path().join("nowhere");
    // Nothing that was installed for this user is found; what the system has still is.
    let run = |line: &str| bench.run_with_variable(("TRUEPUT_ENGINES", &nowhere), line);
    let engines: Value = serde_json::from_slice(&run("engines --json").stdout).unwrap();
    let all = engines.as_array().unwrap().iter();
    let missing = all.filter(|engine| engine["present"] == false);
    let missing: Vec<_> = missing
        .map(|engine| engine["name"].as_str().unwrap())
        .collect();
    if missing.is_empty() {
        eprintln!("skipped: the system itself has every engine");
        return;
    }
    // The list of skipped parts is wrapped.
    let text = unwrapped(&stdout(&run(&format!("plan check {}", short("present")))));
    for engine in missing {
        let line = format!("skipped: {engine} is not installed: ");
        // An engine that works only on a data source of the user's, and a cluster, run only where
        // they are named.
        let is_left_out = !["odbc", "etcd"].contains(&engine);
        let count = text.matches(&line).count();
        assert_eq!(count, usize::from(is_left_out), "{text}");
        if is_left_out {
            let reason = text.split_once(&line).unwrap().1;
            let reason = reason.split("skipped: ").next().unwrap();
            assert_contains(reason, &[&format!("trueput engines install {engine}")]);
        }
        let line = refusal(&run(&short_run(&format!("lmdb,{engine}"))));
        assert_contains(&line, &[&format!("{engine} cannot be used: ")]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_engine_that_needs_a_data_source_is_refused_by_name_and_no_part_of_present() {
    let bench = Bench::new();
    let text = bench.stdout_of(&format!("plan check {}", short("present")));
    assert!(text.contains("lmdb") && !text.contains("odbc"), "{text}");
    let line = bench.refusal_of(&short_run("odbc"));
    assert_contains(&line, &["a data source must be named: "]);
    let listed = bench.stdout_of("engines");
    assert_contains(&listed, &["ODBC"]);
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
        .args(["-O1", "-w", "-shared", "-fPIC", "-o"])
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
#[ignore = "slow: make test runs it"]
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
    let small = "--set finish=400 --workers 1 --durability sync";
    let run = format!("run threen1 --trust-plan --engine {engines} {small}");
    let output = bench.run_expecting(1, &run);
    let records = bench.trials();
    assert_eq!(records.len(), 2, "{}", stderr(&output));
    for (record, is_liar) in records.iter().zip([true, false]) {
        assert!(record.verification.as_ref().unwrap().passed);
        let measured = record.measurement.as_ref().unwrap();
        let evidence = measured.flush_evidence.as_ref().unwrap();
        if let Some(reason) = &evidence.reason {
            eprintln!("skipped: flushes are not counted here: {reason}");
            return;
        }
        let outcome = format!("{:?}", record.outcome);
        let accused = outcome.contains("flushes cannot explain its commits");
        assert_eq!(accused, is_liar, "{outcome} {evidence:?}");
    }
}

/// A user's own engine in a shared library is checked like the installed ones.
#[test]
#[ignore = "slow: make test runs it"]
fn a_build_that_is_named_is_checked() {
    let bench = Bench::new();
    let library = compiled_lmdb(&bench, "liblmdb-mine.so", &[]);
    let named = format!("lmdb@{library}");
    let said = bench.stdout_of(&["check", &named, "--durability", "async"]);
    assert_contains(&said, &[&format!("{named} async: ")]);
    assert!(!said.contains("FAILED"), "{said}");
    for (named, expected) in [
        ("lmdb@/nowhere/liblmdb.so", "/nowhere/liblmdb.so"),
        ("redb@/lib/libredb.so", "redb is compiled in"),
        ("lmbd@/nowhere/liblmdb.so", "lmdb"),
    ] {
        let line = bench.refusal_of(&["check", named]);
        assert_contains(&line, &[expected]);
    }
}

/// A program of one's own that adds an engine and calls the library is trueput with that engine,
/// and starts its own workers.
#[test]
#[ignore = "slow: make test runs it"]
fn a_program_with_an_engine_of_its_own_checks_it_and_verifies_its_trials() {
    let bench = Bench::new();
    let build = "build --workspace --locked --offline --example own_engine";
    let mut cargo = std::process::Command::new(env!("CARGO"));
    expect_code(0, cargo.args(build.words()).output().unwrap());
    let program = assert_cmd::cargo::cargo_bin!("trueput").with_file_name("examples/own_engine");
    let run = |line: &str| {
        let mut command = std::process::Command::new(&program);
        command.current_dir(bench.path()).args(line.words());
        command.output().unwrap()
    };
    let checked = stdout(&run("check toy"));
    assert_contains(&checked, &["toy none: "]);
    // It keeps its records in the memory of one process, and another one verifies them.
    let fill = "--workers 1 --set test=fill-random --set records=10";
    let measured = run(&format!("run micro --engine toy --durability none {fill}"));
    expect_code(1, measured);
    let outcome = format!("{:?}", bench.trials()[0].outcome);
    assert_contains(&outcome, &["records: 10 wrong"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_changed_home_changes_no_engine_and_a_lesser_build_is_reported() {
    let bench = Bench::new();
    let said = |variables: &[(&str, &str)]| {
        let mut command = bench.command("engines --json");
        command
            .env_remove("TRUEPUT_ENGINES")
            .env_remove("XDG_DATA_HOME");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let engines: Value = serde_json::from_slice(&output.stdout).unwrap();
        let builds = |one: &Value| (one["name"].clone(), one["builds"].clone());
        let engines = engines.as_array().unwrap().iter();
        engines.map(builds).collect::<Vec<_>>()
    };
    let elsewhere = bench.path().to_str().unwrap();
    assert_eq!(said(&[]), said(&[("HOME", elsewhere)]));
    let nowhere = bench.path().join("nowhere");
    let output = bench.run_with_variable(("TRUEPUT_ENGINES", &nowhere), "engines --full");
    let (table, notes) = (stdout(&output), stderr(&output));
    for engine in ["rocksdb", "leveldb"] {
        let mut rows = table.lines();
        let is_lesser = rows.any(|row| row.starts_with(engine) && row.contains("assertions"));
        let name = format!("{engine}: ");
        let is_named = |line: &str| line.contains(&name) && line.contains("nowhere");
        assert_eq!(is_lesser, notes.lines().any(is_named), "{notes}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn engines_in_a_folder_that_others_write_to_are_skipped_with_a_note() {
    use std::os::unix::fs::PermissionsExt;
    let trap = Trap::new();
    trap.library("open/rocksdb-99.0.0/librocksdb.so");
    let open = trap.bench.path().join("open");
    let said = |mode| {
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
        stderr(
            &trap
                .bench
                .run_with_variable(("TRUEPUT_ENGINES", &open), "engines"),
        )
    };
    let line = said(0o777);
    assert_contains(&line, &["are not used", "others may write"]);
    assert!(!trap.has_sprung());
    said(0o755);
    assert!(
        trap.has_sprung(),
        "the control: it is used where only the user writes"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn commits_that_may_have_changed_nothing_vouch_for_no_flushes() {
    let bench = Bench::new();
    bench.run(
        "run micro --engine lmdb --durability sync --set test=mix --set delete_percent=50 \
         --set records=200 --set operations=100",
    );
    let trials = bench.trials();
    let measured = trials[0].measurement.as_ref().unwrap();
    let evidence = measured.flush_evidence.as_ref().unwrap();
    assert!(measured.commits.is_some_and(|commits| commits > 0));
    assert_eq!(evidence.verdict, FlushVerdict::NotCounted, "{evidence:?}");
    assert!(evidence.reason.is_some(), "{evidence:?}");
}
