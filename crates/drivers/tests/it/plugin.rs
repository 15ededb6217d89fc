//! Engines as plug-ins: the template in C keeps the contract, and what is wrong with one that does
//! not is said in one line.

use crate::support::{is_isolated_as_stated, keeps_the_contract, levels, open, resolve};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trueput_drivers::Plugins;
use trueput_engine::{
    Database, Direction, Durability, Engine, EngineSource, Error, KeyRange, Mode, Value,
    conformance, isolation,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../engines/template");

/// Compiles a file of C or C++ with the header's folder and this folder to be included.
fn compile(compiler: &str, options: &str, folder: &Path, source: &str, output: &str) -> PathBuf {
    let result = Command::new(compiler)
        .args(options.split_whitespace())
        .args([
            "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread",
        ])
        .arg("-fvisibility=hidden")
        .arg(format!("-I{ROOT}/include"))
        .args(["-o", output, source])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{source}: {said}");
    folder.join(output)
}

/// A plug-in that was built from the template.
struct BuiltPlugin {
    library: PathBuf,
    /// Removed with it.
    _folder: TempDir,
}

impl BuiltPlugin {
    /// The template with texts of its code and of its description replaced.
    fn with(code: &[(&str, &str)], description: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("engine.c", "c/engine.c", code),
            ("description.json", "description.json", description),
        ];
        for (file, template, changes) in files {
            let text = std::fs::read_to_string(Path::new(TEMPLATE).join(template)).unwrap();
            let mut text = text.replace("@NAME@", "mine").replace("@SCAN_BATCH@", "64");
            for (from, to) in changes {
                assert!(text.contains(from), "{file} has no {from}");
                text = text.replacen(from, to, 1);
            }
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let options = "-std=gnu11 -O1 -Wno-unused-function -Wno-unused-const-variable";
        let library = compile("cc", options, folder.path(), "engine.c", "libmine.so");
        Self {
            library,
            _folder: folder,
        }
    }

    fn template() -> Self {
        Self::with(&[], &[])
    }

    /// The engine; a source of its own, since all have the same name.
    fn engine(&self) -> &'static dyn Engine {
        Plugins::new(Vec::new).read(&self.library).unwrap()
    }

    /// Why the file is refused, without the folder.
    fn refusal(&self) -> String {
        self.without_folder(&Plugins::new(Vec::new).read(&self.library).err().unwrap())
    }

    /// Why the database is not opened, without the folder.
    fn refusal_of_open(&self) -> String {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(self.engine(), folder.path(), Durability::Process, "");
        self.without_folder(&opened.err().unwrap())
    }

    fn without_folder(&self, error: &Error) -> String {
        let folder = self.library.parent().unwrap().display().to_string();
        error.to_string().replace(&format!("{folder}/"), "")
    }
}

/// Does something in a database of a plug-in with one record.
fn with_record<T>(plugin: &BuiltPlugin, act: impl FnOnce(&dyn Database) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let database = open(plugin.engine(), folder.path(), Durability::Process, "").unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"key", b"value").unwrap();
    session.commit().unwrap();
    drop(session);
    act(&*database)
}

fn get_error(plugin: &BuiltPlugin) -> String {
    with_record(plugin, |database| {
        let mut session = database.session().unwrap();
        session.begin(Mode::Read).unwrap();
        session.get(b"key", &mut |_| ()).unwrap_err().to_string()
    })
}

fn scan_error(plugin: &BuiltPlugin) -> String {
    with_record(plugin, |database| {
        let mut session = database.session().unwrap();
        session.begin(Mode::Read).unwrap();
        let mut all = |_: &[u8], _: &[u8]| std::ops::ControlFlow::Continue(());
        let scanned = session.scan(KeyRange::ALL, Direction::Forward, &mut all);
        scanned.unwrap_err().to_string()
    })
}

#[test]
fn the_template_in_c_keeps_the_contract_at_every_level() {
    let plugin = BuiltPlugin::template();
    let engine = plugin.engine();
    assert_eq!(
        levels(engine).collect::<Vec<_>>(),
        [Durability::Sync, Durability::Process]
    );
    for level in levels(engine) {
        keeps_the_contract(engine, level, "");
    }
    keeps_the_contract(engine, Durability::Process, "log_step=64KiB");
    is_isolated_as_stated(engine, Durability::Process);
}

#[test]
fn a_plugin_is_described_without_being_loaded() {
    // Whoever loads it does not come back.
    let code = [(
        "    (void)host;\n    return &ENGINE;",
        "    (void)host;\n    _exit(3);",
    )];
    let plugin = BuiltPlugin::with(&code, &[]);
    let engine = plugin.engine();
    assert_eq!(engine.info().name, "mine");
    let build = engine.build().unwrap();
    assert_eq!(build.version, "0.1.0");
    assert_eq!(build.library, Some(plugin.library.clone()));
    let knobs = resolve(engine, "log_step=1MiB");
    assert_eq!(knobs.get("log_step"), Some(&Value::Integer(1 << 20)));
    let promise = engine.promise_with(Durability::Sync, &knobs).unwrap();
    assert_eq!(promise.mapped_to, "fdatasync=each commit");
}

#[test]
fn what_depends_on_knobs_is_described_by_rules() {
    let rules = r#""levels": [
        { "durability": "buffered", "mapped_to": "interval={interval}", "source": "s",
          "window": { "time_s": "interval", "until": "the next flush" },
          "when": { "mode": ["timer", "both"] } },
        { "durability": "sync", "mapped_to": "mode=each", "source": "s",
          "when": { "mode": "each" } },"#;
    let knobs = r#""knobs": [
        { "name": "mode", "type": "choice", "choices": ["each", "timer", "both"],
          "default": "each", "summary": "When to flush." },
        { "name": "interval", "type": "duration", "default": "50ms", "max": "1m",
          "summary": "The time between flushes." },"#;
    let isolation = r#""isolation": [
        { "level": "snapshot", "when": { "mode": "timer" } },
        { "level": "serializable" }],
        "workarounds": [{ "text": "flushes itself", "when": { "mode": "timer" } }]"#;
    let plugin = BuiltPlugin::with(
        &[],
        &[
            ("\"levels\": [", rules),
            ("\"knobs\": [", knobs),
            (
                "\"isolation\": [{ \"level\": \"serializable\" }]",
                isolation,
            ),
        ],
    );
    let engine = plugin.engine();
    let timer = resolve(engine, "mode=timer interval=2s");
    let promise = engine.promise_with(Durability::Buffered, &timer).unwrap();
    assert_eq!(promise.mapped_to, "interval=2");
    assert_eq!(promise.window.unwrap().time_s, Some(2.0));
    let each = resolve(engine, "mode=each");
    let refused = engine.promise_with(Durability::Buffered, &each);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains(": it needs mode=timer or both"),
        "{refused}"
    );
    let names = [&timer, &each].map(|knobs| engine.isolation(knobs).unwrap().name());
    assert_eq!(names, ["snapshot", "serializable"]);
    assert_eq!(engine.workaround(&timer).as_deref(), Some("flushes itself"));
    assert_eq!(engine.workaround(&each), None);
}

#[test]
fn a_wrong_description_is_refused_by_its_field() {
    let step = "\"name\": \"log_step\"";
    for (from, to, expected) in [
        ("\"title\"", "\"titel\"", "unknown field `titel`"),
        (
            "\"name\": \"mine\"",
            "\"name\": \"My Engine\"",
            "name: 'My Engine' is not",
        ),
        (
            "\"name\": \"mine\"",
            "\"name\": \"present\"",
            "has another meaning",
        ),
        ("\"sync\"", "\"durable\"", "unknown variant `durable`"),
        ("\"bytes\"", "\"size\"", "unknown variant `size`"),
        (
            "\"default\": \"0\"",
            "\"default\": \"2GiB\"",
            "knob 'log_step': default is out",
        ),
        (
            "\"default\": \"0\"",
            "\"default\": \"much\"",
            "knob 'log_step': default: ",
        ),
        (
            "\"scan_batch\": 64",
            "\"scan_batch\": 0",
            "scan_batch is 1 to 4096",
        ),
        (
            step,
            "\"name\": \"step\"",
            "audit_knobs: mine has no knob 'log_step'",
        ),
        (
            "\"isolation\": [{",
            "\"isolation\": [{ \"when\": { \"sync\": true },",
            "isolation: when: mine has no knob 'sync'",
        ),
        (
            "\"levels\": [",
            "\"levels\": [],\"no\": [",
            "unknown field `no`",
        ),
    ] {
        is_refused(from, to, expected);
    }
}

#[test]
fn a_promise_without_sense_is_refused_by_its_field() {
    let step = "\"name\": \"log_step\"";
    for (from, to, expected) in [
        ("\"0.1.0\"", "\" \"", "version: it is empty"),
        (step, "\"name\": \"a=b\"", "knob 'a=b': its name is not"),
        (
            "\"durability\": \"process\",",
            "\"durability\": \"sync\",",
            "levels: a second entry for sync never applies",
        ),
        (
            "\"durability\": \"process\",",
            "\"durability\": \"process\", \"window\": { \"until\": \"x\" },",
            "process: window: only async and buffered have one",
        ),
        (
            "\"durability\": \"process\",",
            "\"durability\": \"async\", \"window\": { \"until\": \"x\", \"time_s\": -5 },",
            "async: window: time_s: -5 is not a number above 0",
        ),
        (
            "\"durability\": \"process\",",
            "\"durability\": \"async\", \"window\": { \"until\": \"x\", \"commits\": 0.5 },",
            "async: window: commits: 0.5 is not a whole number above 0",
        ),
        (
            "\"durability\": \"process\",",
            "\"durability\": \"process\", \"when\": { \"log_step\": [] },",
            "levels: when: log_step has no values",
        ),
    ] {
        is_refused(from, to, expected);
    }
}

/// Requires that a description with a text replaced is refused with these words.
fn is_refused(from: &str, to: &str, expected: &str) {
    let refusal = BuiltPlugin::with(&[], &[(from, to)]).refusal();
    assert!(
        refusal.starts_with("libmine.so: description: "),
        "{refusal}"
    );
    assert!(refusal.contains(expected), "{to}: {refusal}");
}

#[test]
fn a_file_that_is_no_plugin_is_refused() {
    let is_refused = |path: &Path, expected: &str| {
        let refusal = Plugins::new(Vec::new).read(path).err().unwrap().to_string();
        assert!(refusal.contains(expected), "{refusal}");
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("other.c");
    std::fs::write(&source, "int other(void);\nint other(void) { return 1; }\n").unwrap();
    let other = compile("cc", "-std=c11", folder.path(), "other.c", "libother.so");
    is_refused(
        &other,
        "is not a plug-in of trueput: it lacks trueput_engine_v1_description",
    );
    is_refused(&source, "is not a shared library");
    is_refused(
        Path::new("/nowhere/libmine.so"),
        "cannot read /nowhere/libmine.so",
    );
    let newer = [(
        "TP_DESCRIPTION_FILE(\"description.json\");",
        concat!(
            "__attribute__((visibility(\"default\"))) extern const char ",
            "trueput_engine_v2_description[];\n",
            "const char trueput_engine_v2_description[] = \"{}\";",
        ),
    )];
    let newer = BuiltPlugin::with(&newer, &[]).refusal();
    let expected = "libmine.so is a plug-in of interface version 2; this trueput has version 1";
    assert!(newer.starts_with(expected), "{newer}");
}

#[test]
fn a_table_that_lacks_something_is_refused_by_its_name() {
    for (from, to, expected) in [
        (
            "    .commit = session_commit,\n",
            "",
            "has no function 'commit' in its table of sessions",
        ),
        (
            "    .open = database_open,\n",
            "",
            "has no function 'open' in its table of databases",
        ),
        (
            ".session = &SESSION,",
            ".session = NULL,",
            "has no table 'session'",
        ),
        (
            ".size = sizeof SESSION,",
            ".size = 16,",
            "has a table 'session' of 16 bytes; it is at least 88 bytes long",
        ),
        ("return &ENGINE;", "return NULL;", "returned no table"),
        (
            ".magic = TP_MAGIC,",
            ".magic = 7,",
            "returned a table with magic 0x7",
        ),
        (
            ".major = TP_MAJOR,",
            ".major = 2,",
            "returned a table of interface version 2",
        ),
    ] {
        let refusal = BuiltPlugin::with(&[(from, to)], &[]).refusal_of_open();
        assert!(
            refusal.starts_with(&format!("libmine.so {expected}")),
            "{refusal}"
        );
    }
}

#[test]
fn an_older_plugin_lacks_what_came_later_and_a_newer_one_is_read_as_far_as_it_is_known() {
    // A table of the first version ends before the optional functions.
    let older = (
        ".size = sizeof SESSION,",
        ".size = offsetof(tp_session_api, point_get),",
    );
    let newer = (".size = sizeof DATABASE,", ".size = sizeof DATABASE + 64,");
    let plugin = BuiltPlugin::with(&[older, newer], &[]);
    keeps_the_contract(plugin.engine(), Durability::Process, "");
}

#[test]
fn what_cannot_be_a_result_fails_the_call() {
    let long = [(
        "value->size = found->value_size;",
        "value->size = (size_t)1 << 30;",
    )];
    let error = get_error(&BuiltPlugin::with(&long, &[]));
    let expected = "the plug-in returned a value of 1073741824 bytes; it describes 16777216";
    assert!(error.starts_with(expected), "{error}");
    let nothing = [(
        "value->data = found->bytes + found->key_size;",
        "value->data = NULL;",
    )];
    let error = get_error(&BuiltPlugin::with(&nothing, &[]));
    assert_eq!(
        error,
        "the plug-in returned a value of 5 bytes at no address"
    );
    let many = [("*count = filled;", "*count = capacity + 1;")];
    let error = scan_error(&BuiltPlugin::with(&many, &[]));
    assert!(
        error.contains("returned 2 records of a scan that asked for 1"),
        "{error}"
    );
    let status = [
        ("return TP_NOT_FOUND;", "return 77;"),
        ("if (found == NULL)", "if (found != NULL)"),
    ];
    let error = get_error(&BuiltPlugin::with(&status, &[]));
    assert!(error.contains("unknown status 77"), "{error}");
}

#[test]
fn errors_have_the_plugins_code_and_text() {
    let refuse = |status: &str| {
        let put = "append_change(&session->changes, 'P', key, key_size, value, value_size);";
        let fail =
            format!("if (key_size == 5) return tp_fail(session->error, {status}, -7, \"no\");");
        BuiltPlugin::with(&[(put, &format!("{fail}\n    {put}"))], &[])
    };
    let error_of = |status: &str| {
        with_record(&refuse(status), |database| {
            let mut session = database.session().unwrap();
            session.begin(Mode::Write).unwrap();
            let error = session.put(b"other", b"value").unwrap_err();
            session.abort().unwrap();
            error
        })
    };
    let text = || "no".to_owned();
    assert_eq!(error_of("TP_CONFLICT"), Error::Conflict(text()));
    assert_eq!(error_of("TP_DEADLOCK"), Error::Deadlock(text()));
    assert_eq!(error_of("TP_FULL"), Error::Full(text()));
    assert_eq!(error_of("TP_UNSUPPORTED"), Error::Unsupported(text()));
    let engine = Error::Engine {
        code: -7,
        text: text(),
    };
    assert_eq!(error_of("TP_ENGINE"), engine);
}

#[test]
fn a_close_that_fails_is_an_error_and_fails_both_suites() {
    let close = "    tp_status status = TP_OK;\n    if (database->log >= 0";
    let fails = close.replace("TP_OK", "tp_fail(error, TP_ENGINE, 5, \"no room\")");
    let plugin = BuiltPlugin::with(&[(close, &fails)], &[]);
    let engine = plugin.engine();
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [alone, conforming, isolated] = folders.each_ref().map(TempDir::path);
    let database = open(engine, alone, Durability::Process, "").unwrap();
    let text = "no room".to_owned();
    assert_eq!(database.close(), Err(Error::Engine { code: 5, text }));
    let knobs = resolve(engine, "");
    let checks = conformance::run(engine, conforming, Durability::Process, &knobs);
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    // All but those of the promise and of other levels open a database.
    assert_eq!(failed.len(), checks.len() - 2);
    let expected = "closing the database: no room (code 5)";
    assert!(
        failed.iter().all(|check| check.detail == expected),
        "{failed:?}"
    );
    let observed = isolation::observe(engine, isolated, Durability::Process, &knobs);
    assert_eq!(observed.failure(), Some(expected));
}

#[test]
fn a_plugin_that_loses_or_reorders_records_does_not_conform() {
    let lost = (
        "    session->root = insert(session->root, new_node(key, key_size, value, value_size));\n",
        "",
    );
    let reversed = (
        "one = range->backward ? below",
        "one = !range->backward ? below",
    );
    for fault in [lost, reversed] {
        let plugin = BuiltPlugin::with(&[fault], &[]);
        let engine = plugin.engine();
        let folder = tempfile::tempdir().unwrap();
        let knobs = resolve(engine, "");
        let checks = conformance::run(engine, folder.path(), Durability::Process, &knobs);
        assert!(checks.iter().any(|check| !check.passed), "{fault:?}");
    }
}

#[test]
fn the_header_is_c_and_cpp_and_has_the_layout_that_the_host_expects() {
    // The host's own sizes are checked where they are declared.
    let layout = "#include \"trueput_engine.h\"\n\
        #define SAME(a, b) extern char same[(a) == (b) ? 1 : -1]\n\
        SAME(sizeof(tp_slice), 16);\n\
        SAME(sizeof(tp_error), 512);\n\
        SAME(sizeof(tp_value), 56);\n\
        SAME(sizeof(tp_open), 40);\n\
        SAME(sizeof(tp_range), 48);\n\
        SAME(sizeof(tp_values), 24);\n\
        SAME(sizeof(tp_session_api), 104);\n\
        SAME(sizeof(tp_database_api), 72);\n\
        SAME(sizeof(tp_engine), 32);\n\
        SAME(offsetof(tp_session_api, point_get), 88);\n\
        SAME(offsetof(tp_database_api, counters), 48);\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("layout.c"), layout).unwrap();
    std::fs::write(folder.path().join("layout.cpp"), layout).unwrap();
    for (compiler, standard, source) in [
        ("cc", "-std=c99 -pedantic", "layout.c"),
        ("cc", "-std=c11 -pedantic", "layout.c"),
        ("c++", "-std=c++11 -pedantic", "layout.cpp"),
    ] {
        compile(compiler, standard, folder.path(), source, "layout.so");
    }
}
