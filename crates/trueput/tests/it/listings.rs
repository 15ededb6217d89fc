//! The commands that only tell: engines, workloads, knobs, plans, completions, the man page.

use crate::support::{Bench, stderr, stdout, words};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Runs a command that must succeed in silence on standard error.
fn told(arguments: &[&str]) -> String {
    let output = Bench::new().run(arguments);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        stderr(&output)
    );
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

#[test]
fn built_in_plans_are_listed_shown_and_run_by_name_from_any_folder() {
    let table = told(&["plan", "list"]);
    assert!(table.lines().nth(1).unwrap().starts_with("first-look "));
    // A workload has that name, too.
    assert!(table.contains("\nplans/log-flush "), "{table}");
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 100, "{table}");
    let listed: serde_json::Value =
        serde_json::from_str(&told(&["plan", "list", "--json"])).unwrap();
    let plans = listed.as_array().unwrap();
    assert_eq!(plans[0]["command"], "trueput run first-look");

    let text = told(&["plan", "show", "threen1-words"]);
    let bench = Bench::new();
    std::fs::write(bench.path().join("mine.toml"), text).unwrap();
    let trials = |plan: &str| {
        let output = bench.run(&["plan", "check", plan, "--engine", "lmdb", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        document["trials"].clone()
    };
    assert_eq!(trials("threen1-words"), trials("mine.toml"));
    assert_eq!(trials("plans/threen1-words.toml"), trials("mine.toml"));
    // What is in the folder comes first.
    std::fs::write(
        bench.path().join("ycsb"),
        "workload = \"micro\"\nengines = [\"lmdb\"]\n",
    )
    .unwrap();
    assert_eq!(trials("ycsb")[0]["workload"], "micro");
    assert_eq!(trials("plans/ycsb")[0]["workload"], "ycsb");
}

#[test]
fn the_engines_are_listed_with_their_levels() {
    let table = told(&["engines"]);
    for engine in ["null", "lmdb", "sqlite", "redb", "fjall"] {
        assert!(
            table.lines().any(|line| line.starts_with(engine)),
            "{table}"
        );
    }
    let engines: serde_json::Value = serde_json::from_str(&told(&["engines", "--json"])).unwrap();
    let lmdb = engines
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "lmdb")
        .unwrap();
    assert_eq!(lmdb["workers"], "processes");
    assert_eq!(lmdb["promises"][0]["durability"], "sync");
    assert_ne!(lmdb["promises"][0]["source"], "");
}

#[test]
fn the_engines_fit_a_hundred_columns_and_narrower_terminals() {
    let widths: [(&[&str], usize); 3] = [
        (&[], 100),
        (&["--width", "72"], 72),
        (&["--width", "40"], 40),
    ];
    for (options, width) in widths {
        let table = told(&[&["engines"], options].concat());
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{table}");
        for engine in ["lmdb", "sqlite", "redb", "fjall"] {
            assert!(
                table.lines().any(|line| line.starts_with(engine)),
                "{table}"
            );
        }
        assert!(table.contains("--full"), "{table}");
    }
}

#[test]
fn every_build_that_can_be_installed_has_one_line_wherever_it_is_missing() {
    // Nothing is installed for a user whose home is empty.
    let bench = Bench::new();
    let engines = |json: &[&str]| {
        let mut command = bench.command(&[&["engines", "--full"][..], json].concat());
        let home = command
            .env("HOME", bench.path())
            .env_remove("XDG_DATA_HOME");
        stdout(&home.output().unwrap())
    };
    let table = engines(&[]);
    let document: serde_json::Value = serde_json::from_str(&engines(&["--json"])).unwrap();
    let to_install = |name: &str| {
        let mut all = document.as_array().unwrap().iter();
        let engine = all.find(|one| one["name"] == name).unwrap();
        let builds = engine["to_install"].as_array().unwrap().iter();
        let titles = builds.map(|one| one["title"].as_str().unwrap().to_owned());
        titles.collect::<Vec<_>>()
    };
    let relatives = ["HyperLevelDB", "Basho's LevelDB"];
    for (title, engine, install) in [
        (relatives[0], "leveldb", "make engines-all"),
        (relatives[1], "leveldb", "make engines-all"),
        ("WiredTiger 11.3", "wiredtiger", "make engines-all"),
    ] {
        let lines: Vec<_> = table.lines().filter(|line| line.contains(title)).collect();
        // A build that is in a system-wide folder is here, whatever the home.
        match to_install(engine).iter().any(|one| one == title) {
            true => {
                assert_eq!(lines.len(), 1, "{title}: {table}");
                assert!(lines[0].starts_with(engine), "{table}");
                assert!(
                    lines[0].ends_with(&format!("{title}: {install}")),
                    "{table}"
                );
            }
            false => assert_eq!(lines.len(), 0, "{title}: {table}"),
        }
    }
    // The control: what is compiled in is not to be installed.
    assert_eq!(to_install("redb"), Vec::<String>::new());
    assert!(!table.contains("to install: "), "{table}");
}

#[test]
fn workloads_and_knobs_are_listed_with_defaults_and_ranges() {
    assert!(told(&["workloads"]).contains("per-store, per-start, per-block"));
    assert!(told(&["knobs", "lmdb"]).contains("map_size"));
    assert!(told(&["knobs", "threen1"]).contains("finish"));
    assert_eq!(told(&["knobs", "null"]), "null has no knobs\n");
    let knobs: serde_json::Value =
        serde_json::from_str(&told(&["knobs", "lmdb", "--json"])).unwrap();
    assert!(knobs[0]["default"].is_number());
}

#[test]
fn lists_fit_80_columns_in_a_pipe_and_lose_nothing() {
    let registry: [&[&str]; 9] = [
        &["published"],
        &["published", "symas-2014-load"],
        &["knobs", "rocksdb"],
        &["knobs", "lmdb"],
        &["knobs", "micro"],
        &["workloads"],
        &["plan", "list"],
        &["plan", "check", "threen1", "--engine", "lmdb,redb"],
        &words("plan check micro --engine redb --knob redb.cache_size=64MiB"),
    ];
    for arguments in registry {
        let text = told(arguments);
        let wide = text.lines().filter(|line| line.chars().count() > 80);
        assert_eq!(
            wide.collect::<Vec<_>>(),
            Vec::<&str>::new(),
            "{arguments:?}"
        );
    }
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Every word of JSON is in the list.
    let knobs = flat(told(&["knobs", "rocksdb"]));
    let json: serde_json::Value =
        serde_json::from_str(&told(&["knobs", "rocksdb", "--json"])).unwrap();
    for knob in json.as_array().unwrap() {
        for field in ["name", "range", "unit", "summary", "cost"] {
            let said = flat(knob[field].as_str().unwrap().to_owned());
            assert!(knobs.contains(&said), "{said}: {knobs}");
        }
    }
    let turned = [
        "plan",
        "check",
        "micro",
        "--engine",
        "redb",
        "--knob",
        "redb.cache_size=64MiB",
    ];
    let turned = flat(told(&turned));
    assert!(turned.contains("knobs: cache_size=67108864 "), "{turned}");
    assert!(
        turned.contains("Settings of every trial: ") && turned.contains("value_bytes="),
        "{turned}"
    );
    let usual = told(&["plan", "check", "micro", "--engine", "redb"]);
    assert!(!usual.contains("cache_size="), "{usual}");
}

/// Phrases that no other benchmark uses and no reader knows: each has a plain one in their place.
const PRIVATE_PHRASES: [&str; 16] = [
    "came to the same",
    "not to be had",
    "asked for, but",
    "what held",
    "beside the ceilings",
    "leads for certain",
    "for certain",
    "what surrounds",
    "what came of it",
    "what the knobs did",
    "repeat by repeat\"",
    "machine's own noise",
    "even twice the rate",
    "lies off",
    "no gain seen",
    "it gives up",
];

/// Every file below a folder whose name ends so.
fn files_below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files_below(&path, ending, found),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            false => {}
        }
    }
}

/// The private phrases of a text, whose comments are passed over where it is code.
fn private_phrases(text: &str, is_code: bool) -> Vec<&'static str> {
    let is_read = |line: &&str| !is_code || !line.trim_start().starts_with("//");
    let lines: Vec<_> = text.lines().filter(is_read).map(str::trim).collect();
    let read = lines.join(" ").replace("\\ ", "").to_lowercase();
    let phrases = PRIVATE_PHRASES.into_iter();
    phrases.filter(|one| read.contains(one)).collect()
}

#[test]
fn what_people_read_is_in_the_words_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    files_below(&root.join("docs"), ".md", &mut files);
    for folder in ["plans", "published"] {
        files_below(&root.join(folder), ".toml", &mut files);
    }
    let prose = files.len();
    for name in [
        "record",
        "engine",
        "drivers",
        "workloads",
        "runner",
        "findings",
        "report",
        "trueput",
    ] {
        files_below(
            &root.join("crates").join(name).join("src"),
            ".rs",
            &mut files,
        );
    }
    assert!(prose > 40 && files.len() > prose + 300, "{}", files.len());
    let mut found = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).unwrap();
        let phrases = private_phrases(&text, index >= prose);
        found.extend(phrases.into_iter().map(|one| (file, one)));
    }
    assert_eq!(found, []);
    // The controls: a phrase over two lines of a text, and one in a comment of code.
    assert_eq!(
        private_phrases("All came\nto the same.", false),
        [PRIVATE_PHRASES[0]]
    );
    assert!(
        private_phrases(
            "// What held them
let a = 1;",
            true
        )
        .is_empty()
    );
}

#[test]
fn every_plan_that_comes_with_the_program_is_sound() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(plans).unwrap().flatten() {
        let text = told(&["plan", "check", entry.path().to_str().unwrap()]);
        assert!(
            text.contains(" trials; databases need up to about "),
            "{text}"
        );
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn the_conformance_suite_can_be_run_alone() {
    let text = told(&["check", "lmdb", "--durability", "process", "--verbose"]);
    assert!(text.starts_with("lmdb process: "), "{text}");
    assert!(!text.contains("FAILED"), "{text}");
}

#[test]
fn completions_and_the_man_page_are_valid() {
    for shell in ["bash", "zsh", "fish"] {
        let script = told(&["completions", shell]);
        assert!(script.contains("threen1"), "{shell}");
    }
    let bash = told(&["completions", "bash"]);
    let bench = Bench::new();
    let path = bench.write("completion.bash", &bash);
    let parsed = std::process::Command::new("bash")
        .arg("-n")
        .arg(path)
        .status()
        .unwrap();
    assert!(parsed.success(), "bash cannot parse its completions");
    let man = told(&["man"]);
    assert!(
        man.contains(".TH trueput 1"),
        "{}",
        man.lines().next().unwrap()
    );
    assert!(man.contains("Exit codes"));
    assert!(told(&["man", "run"]).contains(".TH trueput-run 1"));
    assert!(told(&["man", "plan", "check"]).contains(".TH trueput-plan-check 1"));
}

#[test]
fn where_the_locale_is_not_utf_8_people_read_ascii_and_programs_read_what_is_there() {
    let bench = Bench::new();
    let listed = |locale: Option<&str>, arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command
            .env_remove("LC_ALL")
            .env_remove("LC_CTYPE")
            .env_remove("LANG");
        if let Some(locale) = locale {
            command.env("LC_ALL", locale);
        }
        stdout(&command.output().unwrap())
    };
    let list: &[&str] = &["ledger", "--help"];
    let in_utf8 = listed(Some("en_US.UTF-8"), list);
    assert!(!in_utf8.is_ascii(), "{in_utf8}");
    // What is no terminal and has no locale is as it was.
    assert_eq!(listed(None, list), in_utf8);
    for locale in ["C", "POSIX", "en_US.ISO-8859-1"] {
        let text = listed(Some(locale), list);
        assert!(
            text.is_ascii() && text.contains(" ...,"),
            "{locale}: {text}"
        );
    }
    let json = ["plan", "list", "--json"];
    assert_eq!(listed(Some("C"), &json), listed(None, &json));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    assert!(told(&["--help"]).contains("130  interrupted by Ctrl-C"));
    assert!(told(&["run", "--help"]).contains("trueput run first-look"));
    assert!(told(&["threen1", "--help"]).contains("start finish [workers [block]]"));
    assert!(told(&["--version"]).starts_with("trueput "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let mut command = bench.command(&["man"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said, "");
}

#[test]
fn what_is_drawn_in_place_on_a_terminal_is_ascii_in_an_ascii_locale() {
    let bench = Bench::new();
    let program = bench.command(&[]).get_program().to_owned();
    let run = format!(
        "stty cols 40 rows 24; {} run threen1 --engine lmdb --set finish=200 --repeat 2",
        program.to_string_lossy()
    );
    let drawn = |locale: &str| {
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &run, "/dev/null"]);
        script.current_dir(bench.path()).env("LC_ALL", locale);
        script.stdin(std::process::Stdio::null()).output()
    };
    // util-linux, which makes the terminal.
    let Ok(ascii) = drawn("C") else {
        return;
    };
    let shown = String::from_utf8_lossy(&ascii.stdout).into_owned();
    assert!(
        shown.contains("[      ] trial 1 of 2"),
        "no bar of 40 columns: {shown}"
    );
    assert!(shown.is_ascii(), "{shown}");
    let utf8 = drawn("C.UTF-8").unwrap();
    let shown = String::from_utf8_lossy(&utf8.stdout).into_owned();
    assert!(!shown.is_ascii(), "the control: nothing is cut: {shown}");
}

#[test]
fn a_chosen_path_is_printed_such_that_it_can_be_used_in_an_ascii_locale() {
    let bench = Bench::new();
    let results = "my – runs…";
    let mut command = bench.command(&[
        "run",
        "threen1",
        "--engine",
        "lmdb",
        "--set",
        "finish=20",
        "--results",
        results,
    ]);
    let output = command.env("LC_ALL", "C").output().unwrap();
    for text in [stdout(&output), stderr(&output)] {
        let unbroken = text.replace("\n  ", " ").replace('\n', " ");
        assert!(unbroken.contains("my – runs…/2"), "{text}");
        assert!(!unbroken.contains("my - runs"), "{text}");
    }
}
