//! Engines as plug-ins, as a user sees them: new ones in each language, and ones that go wrong.

use crate::audit::can_audit;
use crate::support::{
    ALL_WELL, Bench, CommandLine, assert_contains, ended_well, expect_code, stderr, stdout,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, TrialRecord};

/// The folder of a new engine, called `mine`.
struct NewEngine(Bench);

impl NewEngine {
    fn in_language(language: &str) -> Self {
        let bench = Bench::new();
        let line = format!("engines new mine --language {language}");
        let said = stdout(&bench.run_expecting(0, &line));
        assert_contains(&said, &["cd mine", "make test"]);
        Self(bench)
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("mine")
    }

    /// Makes what the folder's Makefile makes.
    fn make(&self, target: &[&str]) -> Output {
        let mut command = Command::new("make");
        command.args(target).current_dir(self.folder());
        command.env("TRUEPUT", assert_cmd::cargo::cargo_bin!("trueput"));
        command.env("XDG_CACHE_HOME", self.0.path().join("cache"));
        // The folder builds as a user's does, whatever the tests are built with.
        for name in ["RUSTC_WORKSPACE_WRAPPER", "CARGO_TARGET_DIR", "MAKEFLAGS"] {
            command.env_remove(name);
        }
        command.env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"));
        command.output().unwrap()
    }

    /// A plug-in in C with a text of its code replaced, which is built.
    fn changed(from: &str, to: &str) -> Self {
        Self::changed_in("c", "engine.c", from, to)
    }

    /// The same in another language.
    fn changed_in(language: &str, file: &str, from: &str, to: &str) -> Self {
        let new = Self::in_language(language);
        let file = new.folder().join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        expect_code(0, new.make(&["CFLAGS=-O1"]));
        new
    }

    /// Runs the program in the folder above.
    fn run(&self, line: &(impl CommandLine + ?Sized)) -> Output {
        self.0.run(line)
    }
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("version").output().is_ok();
    if !found {
        eprintln!("skipped: no {program} on this machine");
    }
    found
}

/// A new engine in that language builds, conforms, and is measured beside another one.
fn is_measured_at_once(language: &str) -> NewEngine {
    let new = NewEngine::in_language(language);
    expect_code(0, new.make(&[]));
    let checked = expect_code(0, new.make(&["test"]));
    assert_contains(&stdout(&checked), &["isolation"]);
    let line = "run micro --engine ./mine/libmine.so,lmdb --durability sync,process --workers 2 \
                --set test=overwrite --set records=500 --set operations=500 \
                --knob mine.log_step=64KiB";
    expect_code(ALL_WELL, new.run(line));
    let trials = new.0.trials();
    assert_eq!(trials.len(), 4);
    for trial in &trials {
        assert!(ended_well(trial), "{}: {:?}", trial.spec.id, trial.outcome);
    }
    let mine = trials.iter().find(|trial| trial.spec.engine == "mine");
    let engine = mine.unwrap().engine.as_ref().unwrap();
    assert_eq!(engine.version, "0.1.0");
    assert!(Path::new(&engine.origin).ends_with("mine/libmine.so"));
    new
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_new_engine_in_c_is_measured_at_once() {
    let new = is_measured_at_once("c");
    // Where a command fails, the exit code of make is 2.
    let code = if ALL_WELL == 0 { 0 } else { 2 };
    let measured = expect_code(code, new.make(&["run"]));
    assert_contains(&stdout(&measured), &["12 trials", "mine", "lmdb"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_new_engine_in_cpp_is_measured_at_once() {
    is_measured_at_once("cpp");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_new_engine_in_go_is_measured_at_once() {
    if has("go") {
        is_measured_at_once("go");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_new_engine_in_rust_is_measured_at_once() {
    is_measured_at_once("rust");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_is_audited_and_an_unflushed_log_is_refuted() {
    if !can_audit() {
        return;
    }
    let honest = NewEngine::changed("/* ", "/* ");
    let line = "audit --engine ./mine/libmine.so --durability sync --commits 60";
    expect_code(0, honest.run(line));
    let liar = NewEngine::changed(
        "database->is_sync && fdatasync",
        "database->is_sync && 0 && fdatasync",
    );
    let refuted = expect_code(1, liar.run(line));
    assert_contains(&stdout(&refuted), &["refuted"]);
}

/// Runs a plug-in in C that goes wrong before LMDB, and returns why its trial failed.
fn failure_of(from: &str, to: &str) -> String {
    failure(&NewEngine::changed(from, to))
}

fn failure(new: &NewEngine) -> String {
    failure_in(new, "test=read-random --set operations=200")
}

/// The same with these settings of the workload.
fn failure_in(new: &NewEngine, settings: &str) -> String {
    let line = format!(
        "run micro --engine ./mine/libmine.so,lmdb --durability process --set records=200 \
         --set {settings} --hang-limit 8s"
    );
    let output = expect_code(1, new.run(&line));
    let trials = new.0.trials();
    let of = |name: &str| trials.iter().find(|trial| trial.spec.engine == name);
    // Another engine's trial is not affected.
    assert!(of("lmdb").is_some_and(ended_well), "{}", stderr(&output));
    reason(of("mine").unwrap())
}

fn reason(trial: &TrialRecord) -> String {
    match &trial.outcome {
        Outcome::Failed { reason, .. } => reason.clone(),
        // The conformance suite met it first.
        Outcome::Invalid { reasons } => reasons.join("; "),
        other => panic!("{other:?}"),
    }
}

/// Where the template looks a key up.
const GET: &str = "    const node *found = find(session->root, key, key_size);\n";

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_crashes_fails_its_trial_with_the_signal() {
    let reason = failure_of(GET, &format!("    *(volatile int *)0 = 1;\n{GET}"));
    assert_contains(&reason, &["SIGSEGV"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_ends_the_process_fails_its_trial_with_the_code() {
    let reason = failure_of(GET, &format!("    _exit(3);\n{GET}"));
    assert_contains(&reason, &["exited with code 3"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_hangs_is_ended_at_the_limit() {
    let reason = failure_of(GET, &format!("    for (;;) pause();\n{GET}"));
    // The suites have three times the limit.
    assert_contains(&reason, &["24 s"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_exception_is_an_error_of_its_call_and_one_that_escapes_ends_the_worker() {
    let found = "    if (found == nullptr) {\n        return TP_NOT_FOUND;\n";
    let caught = NewEngine::changed_in(
        "cpp",
        "engine.cpp",
        "        std::string key_text = text_of(key, key_size);\n        std::string value_text",
        "        throw Failure{TP_ENGINE, 7, \"thrown\"};\n        std::string key_text = \
         text_of(key, key_size);\n        std::string value_text",
    );
    assert_contains(&failure(&caught), &["thrown (code 7)"]);
    let escaped = format!("    throw 1;\n{found}");
    let escaped = NewEngine::changed_in("cpp", "engine.cpp", found, &escaped);
    assert_contains(&failure(&escaped), &["SIGABRT"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_panic_of_go_is_an_error_of_its_call_and_one_elsewhere_ends_the_worker() {
    if !has("go") {
        return;
    }
    let get = "\tfound := find(s.root, key)\n\tif found == nil {\n\t\treturn nil, nil\n";
    let panics = |code: &str| {
        let changed = format!("{code}{get}");
        failure(&NewEngine::changed_in("go", "store.go", get, &changed))
    };
    assert_contains(&panics("\tpanic(\"in Go\")\n"), &["panic: in Go"]);
    let elsewhere = "\tgo panic(\"elsewhere\")\n\tselect {}\n";
    assert_contains(&panics(elsewhere), &["panic: elsewhere", "SIGABRT"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_cannot_run_here_fails_its_trial_with_its_own_words() {
    let refuse = "    (void)host;\n    fprintf(stderr, \"mine: needs a moon\\n\");\n    \
                  return NULL;\n";
    let reason = failure_of("    (void)host;\n    return &ENGINE;\n", refuse);
    let said = "; it last wrote: mine: needs a moon";
    assert_contains(&reason, &["returned no table", said]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_breaks_the_contract_fails_its_trial_and_no_other() {
    for (from, to, expected) in [
        (
            ".major = TP_MAJOR,",
            ".major = 2,",
            "returned a table of interface version 2; this trueput has version 1",
        ),
        (
            "    .commit = session_commit,\n",
            "",
            "has no function 'commit' in its table of sessions",
        ),
        (
            "value->size = found->value_size;",
            "value->size = (size_t)1 << 30;",
            "returned a value of 1073741824 bytes; it describes",
        ),
        (
            "value->data = found->bytes + found->key_size;",
            "value->data = NULL;",
            "bytes at no address",
        ),
    ] {
        assert_contains(&failure_of(from, to), &[expected]);
    }
}

#[test]
fn a_plugin_of_another_version_is_refused_before_the_run() {
    let newer = "__attribute__((visibility(\"default\"))) extern const char \
                 trueput_engine_v2_description[];\n\
                 const char trueput_engine_v2_description[] = \"{}\";";
    let new = NewEngine::changed("TP_DESCRIPTION_FILE(\"description.json\");", newer);
    let line = "run micro --engine ./mine/libmine.so,lmdb --durability process --duration 1";
    let refused = expect_code(2, new.run(line));
    let reason = "is a plug-in of interface version 2; this trueput has version 1";
    assert_contains(&stderr(&refused), &[reason]);
}

/// Where the template begins to close a database.
const CLOSE: &str = "    tp_status status = TP_OK;\n    if (database->log >= 0";

/// The reason for which a close fails in the tests.
const NOT_CLOSED: &str = "closing the database: no room (code 5)";

/// A plug-in in C that cannot close a database of a trial with at least so many commits of the
/// process that closes it. It conforms.
fn fails_to_close_after(commits: u32) -> NewEngine {
    let fails = format!(
        "    tp_status status = TP_OK;\n    char link_name[32], path[4096];\n    \
         snprintf(link_name, sizeof link_name, \"/proc/self/fd/%d\", database->log);\n    \
         ssize_t size = readlink(link_name, path, sizeof path);\n    \
         if (size > 0 && memmem(path, (size_t)size, \".conformance\", 12) == NULL &&\n        \
         database->commits >= {commits}) {{\n        \
         status = tp_fail(error, TP_ENGINE, 5, \"no room\");\n    }}\n    \
         if (database->log >= 0"
    );
    NewEngine::changed(CLOSE, &fails)
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_that_cannot_close_its_database_does_not_conform() {
    let fails = CLOSE.replace("TP_OK", "tp_fail(error, TP_ENGINE, 5, \"no room\")");
    let new = NewEngine::changed(CLOSE, &fails);
    assert_contains(&failure(&new), &["conformance", NOT_CLOSED]);
    let checked = expect_code(1, new.run("check ./mine/libmine.so --durability process"));
    assert_contains(&stdout(&checked), &[NOT_CLOSED]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_database_that_is_not_closed_fails_its_trial_after_the_load_and_after_the_measurement() {
    let overwrites = "test=overwrite --set operations=1000";
    let of_load = failure_in(&fails_to_close_after(1), overwrites);
    assert_contains(&of_load, &[NOT_CLOSED]);
    assert!(!of_load.contains("workers"), "{of_load}");
    // The load has 200 records.
    let of_workers = failure_in(&fails_to_close_after(300), overwrites);
    assert_contains(&of_workers, &["the workers' process", NOT_CLOSED]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_plugin_starts_ends_with_its_process() {
    let begin = "    const tp_value *step = tp_knob(open_as, \"log_step\");\n";
    for server in ["", "\"server\": true, "] {
        let new = NewEngine::in_language("c");
        let description = new.folder().join("description.json");
        let text = std::fs::read_to_string(&description).unwrap();
        let text = text.replacen("\"levels\"", &format!("{server}\"levels\""), 1);
        std::fs::write(&description, text).unwrap();
        let children = new.folder().join("children");
        let starts = format!(
            "    pid_t child = fork();\n    if (child == 0) {{\n        \
             execlp(\"sleep\", \"sleep\", \"300\", (char *)NULL);\n        _exit(1);\n    }}\n    \
             FILE *children = fopen(\"{}\", \"a\");\n    \
             if (children == NULL) return TP_ENGINE;\n    \
             fprintf(children, \"%d\\n\", (int)child);\n    fclose(children);\n{begin}",
            children.display()
        );
        let file = new.folder().join("engine.c");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(begin));
        std::fs::write(&file, text.replacen(begin, &starts, 1)).unwrap();
        expect_code(0, new.make(&["CFLAGS=-O1"]));
        let line = "run micro --engine ./mine/libmine.so --durability process \
                    --set test=overwrite --set records=200 --set operations=200";
        expect_code(ALL_WELL, new.run(line));
        let pids = std::fs::read_to_string(&children).unwrap();
        // The suites, the load, the workers and the verification open databases.
        assert!(pids.lines().count() > 4, "{pids}");
        let is_left = || pids.lines().any(is_sleeping);
        let began = Instant::now();
        // A killed process may take a moment.
        while is_left() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_left(), "{pids}");
    }
}

/// Whether a process of that number runs `sleep`.
fn is_sleeping(pid: &str) -> bool {
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
    command.is_ok_and(|command| command.starts_with("sleep"))
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_a_plugin_starts_is_counted() {
    // It waits for its server, as an engine does. Until then the child has the log's lock, too.
    let shell = "execl(\"/bin/sh\", \"sh\", \"-c\", \"echo; while :; do sleep 0.05; done\", NULL);";
    let starts = format!(
        "    int ready[2];\n    char byte;\n    if (pipe(ready) != 0) return TP_ENGINE;\n    \
         if (fork() == 0) {{\n        prctl(PR_SET_PDEATHSIG, SIGKILL);\n        \
         dup2(ready[1], 1);\n        {shell}\n    }}\n    close(ready[1]);\n    \
         if (read(ready[0], &byte, 1) != 1) return TP_ENGINE;\n    close(ready[0]);\n    \
         *opened = database;\n"
    );
    let new = NewEngine::in_language("c");
    let description = new.folder().join("description.json");
    let text = std::fs::read_to_string(&description).unwrap();
    let text = text.replacen("\"levels\"", "\"server\": true, \"levels\"", 1);
    std::fs::write(&description, text).unwrap();
    let file = new.folder().join("engine.c");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen("    *opened = database;\n", &starts, 1);
    let headers = "#include <signal.h>\n#include <sys/prctl.h>\n#include <unistd.h>\n";
    std::fs::write(&file, text.replacen("#include <unistd.h>\n", headers, 1)).unwrap();
    expect_code(0, new.make(&["CFLAGS=-O1"]));
    let line = "run micro --engine ./mine/libmine.so --durability process --duration 1 \
                --set test=overwrite --set records=200";
    expect_code(ALL_WELL, new.run(line));
    let trial = &new.0.trials()[0];
    assert!(ended_well(trial), "{:?}", trial.outcome);
    let server = trial.measurement.as_ref().unwrap().server.as_ref().unwrap();
    assert!(server.voluntary_context_switches > 5, "{server:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_is_searched_like_any_engine() {
    let new = NewEngine::changed("/* ", "/* ");
    let work = "micro --engine ./mine/libmine.so --durability process --duration 200ms \
                --set test=overwrite --set records=200";
    let tuned = new.run(&format!("tune {work} --budget 1m --results tuned"));
    let tuned = expect_code(ALL_WELL, tuned);
    assert_contains(&stdout(&tuned), &["log_step"]);
    let objective = "--objective p99<50ms --budget 30s --results capacity";
    let found = expect_code(ALL_WELL, new.run(&format!("capacity {work} {objective}")));
    assert_contains(&stdout(&found), &["mine"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plugin_is_chosen_from_like_any_engine() {
    let new = NewEngine::changed("/* ", "/* ");
    let line = "choose micro --engine ./mine/libmine.so,lmdb --durability process \
                --duration 200ms --set test=overwrite --set records=200 \
                --objective p99<50ms --budget 50s --no-tuning --results chosen";
    let chosen = expect_code(ALL_WELL, new.run(line));
    assert_contains(&stdout(&chosen), &["mine", "lmdb", "closed loop"]);
}

#[test]
fn a_plugin_is_described_by_its_file() {
    let new = NewEngine::changed("/* ", "/* ");
    let knobs = expect_code(0, new.run("knobs ./mine/libmine.so"));
    assert_contains(&stdout(&knobs), &["log_step", "fewer flushes"]);
    let described = expect_code(0, new.run("engines ./mine/libmine.so"));
    assert_contains(&stdout(&described), &["sync: ", "process: ", "Source: "]);
    let line = "run micro --engine ./mine/libmine.so --durability async --duration 1";
    let refused = expect_code(2, new.run(line));
    assert_contains(
        &stderr(&refused),
        &["mine does not support durability 'async'"],
    );
    let line = "run micro --engine ./mine/libmine.so --knob mine.step=1 --duration 1";
    let refused = expect_code(2, new.run(line));
    assert_contains(&stderr(&refused), &["mine has no knob 'step'"]);
    let line = "run micro --engine yours@./mine/libmine.so --duration 1";
    let refused = expect_code(2, new.run(line));
    assert_contains(&stderr(&refused), &["is the plug-in of mine, not of yours"]);
    let refused = expect_code(2, new.run("check ./mine/engine.c"));
    assert_contains(&stderr(&refused), &["is not a shared library"]);
    let refused = expect_code(2, new.run("check ./mine/libother.so"));
    assert_contains(&stderr(&refused), &["cannot read ./mine/libother.so"]);
}

#[test]
fn a_level_that_needs_a_knob_is_checked_with_it() {
    let new = NewEngine::in_language("c");
    let file = new.folder().join("description.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let level = "\"durability\": \"process\",";
    assert!(text.contains(level));
    let condition = format!("{level} \"when\": {{ \"log_step\": \"64KiB\" }},");
    std::fs::write(&file, text.replace(level, &condition)).unwrap();
    expect_code(0, new.make(&["CFLAGS=-O1"]));
    let line = "check ./mine/libmine.so --durability process";
    let refused = expect_code(2, new.run(line));
    let reason = "mine does not support durability 'process': it needs log_step=65536";
    assert_contains(&stderr(&refused), &[reason]);
    let with_knob = format!("{line} --knob mine.log_step=64KiB");
    assert_contains(&stdout(&expect_code(0, new.run(&with_knob))), &["37 of 37"]);
    let line = "run micro --engine ./mine/libmine.so --durability process --set records=200 \
                --set operations=200 --set test=overwrite --knob mine.log_step=64KiB";
    expect_code(ALL_WELL, new.run(line));
}

#[test]
fn a_plugin_with_the_name_of_an_engine_is_refused() {
    let new = NewEngine::in_language("c");
    let file = new.folder().join("description.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("\"name\": \"mine\"", "\"name\": \"lmdb\""),
    )
    .unwrap();
    expect_code(0, new.make(&["CFLAGS=-O1"]));
    let refused = expect_code(
        2,
        new.run("run micro --engine ./mine/libmine.so --duration 1"),
    );
    assert_contains(&stderr(&refused), &["calls itself lmdb", "another name"]);
}

#[test]
fn a_plan_that_names_a_plugin_is_not_run_before_it_is_trusted() {
    let new = NewEngine::changed("/* ", "/* ");
    let plan = std::fs::read_to_string(new.folder().join("plan.toml")).unwrap();
    new.0
        .write("plan.toml", &plan.replace("./lib", "./mine/lib"));
    let refused = expect_code(2, new.run("run plan.toml"));
    assert_contains(&stderr(&refused), &["code to load or run", "--trust-plan"]);
}

#[test]
fn a_new_engine_is_not_written_over_anything() {
    let new = NewEngine::in_language("c");
    let again = expect_code(2, new.run("engines new mine --language c"));
    assert_contains(&stderr(&again), &["mine exists: nothing is written over"]);
    let taken = expect_code(2, new.run("engines new lmdb --language c"));
    assert_contains(&stderr(&taken), &["lmdb is an engine of trueput"]);
    let wrong = expect_code(2, new.run("engines new Mine --language c"));
    assert_contains(&stderr(&wrong), &["'Mine' is not 1 to 32 of a-z"]);
}

/// Where the template begins to open a database.
const OPEN: &str = "    *opened = database;\n";

#[test]
fn a_plugin_that_ends_the_process_of_its_check_has_failed_and_the_next_engine_is_checked() {
    let line = "check ./mine/libmine.so lmdb --durability process --work .";
    for (code, end) in [
        ("exit(0);", "exit code 0"),
        ("*(volatile int *)0 = 1;", "SIGSEGV"),
    ] {
        let new = NewEngine::changed(OPEN, &format!("    {code}\n{OPEN}"));
        let checked = expect_code(1, new.run(line));
        let said = stdout(&checked);
        let library = new.folder().join("libmine.so").canonicalize().unwrap();
        let ended = format!(
            "mine@{} process: FAILED: it ended its process",
            library.display()
        );
        assert_contains(
            &said,
            &[&ended, end, "lmdb process: 37 of 37 checks passed"],
        );
        let left = std::fs::read_dir(new.0.path()).unwrap().flatten();
        let mut left = left.filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("trueput-check-")
        });
        assert!(left.next().is_none(), "{left:?}");
    }
}

#[test]
fn a_value_that_a_plugin_reports_with_an_impossible_size_is_an_error() {
    let report = "    tp_report_integer(values, \"log_step\", (int64_t)database->step);\n";
    let huge = "    tp_value huge = {.size = sizeof huge, .kind = TP_INTEGER,\n        \
                .name = {.data = \"log_step\", .size = (size_t)1 << 63}};\n    \
                values->value(values->context, &huge);\n";
    let new = NewEngine::changed(report, huge);
    let checked = expect_code(1, new.run("check ./mine/libmine.so --durability process"));
    assert_contains(&stdout(&checked), &["of 9223372036854775808 bytes"]);
}

#[test]
fn a_run_is_not_resumed_without_its_plugin() {
    let new = NewEngine::changed("/* ", "/* ");
    let line = "run micro --engine ./mine/libmine.so --durability process --repeat 2 \
                --set test=overwrite --set records=200 --set operations=200";
    expect_code(ALL_WELL, new.run(line));
    let folder = PathBuf::from(new.0.run_path());
    // As if the second repeat had not been run.
    let trials = folder.join("trials.jsonl");
    let text = std::fs::read_to_string(&trials).unwrap();
    let first = text.lines().next().unwrap();
    std::fs::write(&trials, format!("{first}\n")).unwrap();
    let library = new.folder().join("libmine.so");
    std::fs::rename(&library, new.folder().join("away.so")).unwrap();
    let resume = format!("run --resume {} --trust-plan", folder.display());
    let refused = expect_code(2, new.run(&resume));
    assert_contains(
        &stderr(&refused),
        &["cannot be run", "libmine.so", "nothing changed"],
    );
    std::fs::rename(new.folder().join("away.so"), &library).unwrap();
    expect_code(ALL_WELL, new.run(&resume));
    assert_eq!(new.0.trials().len(), 2);
}
