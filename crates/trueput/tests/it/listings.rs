//! The commands that only list: engines, workloads, knobs, plans, completions, the man page.

use crate::support::{
    Bench, CommandLine, SHARED_CACHE, assert_contains, expect_code, listing, stderr, stdout,
    unwrapped,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The document in JSON that a command of listing prints.
fn listed(line: &str) -> Value {
    serde_json::from_str(&listing(line)).unwrap()
}

fn widest(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap()
}

fn assert_lists(table: &str, engines: &[&str]) {
    for engine in engines {
        let mut lines = table.lines();
        assert!(lines.any(|line| line.starts_with(engine)), "{table}");
    }
}

#[test]
fn built_in_plans_are_listed_shown_and_run_by_name_from_any_folder() {
    let table = listing("plan list");
    assert!(table.lines().nth(1).unwrap().starts_with("first-look "));
    // A workload has that name, too.
    assert_contains(&table, &["\nplans/log-flush "]);
    assert!(widest(&table) <= 100, "{table}");
    let plans = listed("plan list --json");
    assert_eq!(plans[0]["command"], "trueput run first-look");

    let text = listing("plan show threen1-words");
    let bench = Bench::new();
    bench.write("mine.toml", &text);
    let trials = |plan: &str| {
        let document = bench.json_of(&format!("plan check {plan} --engine lmdb --json"));
        document["trials"].clone()
    };
    assert_eq!(trials("threen1-words"), trials("mine.toml"));
    assert_eq!(trials("plans/threen1-words.toml"), trials("mine.toml"));
    // A file in the folder takes precedence.
    bench.write("ycsb", "workload = \"micro\"\nengines = [\"lmdb\"]\n");
    assert_eq!(trials("ycsb")[0]["workload"], "micro");
    assert_eq!(trials("plans/ycsb")[0]["workload"], "ycsb");
}

#[test]
fn the_engines_are_listed_with_their_levels() {
    let engines = ["null", "lmdb", "sqlite", "redb", "fjall"];
    assert_lists(&listing("engines"), &engines);
    let engines = listed("engines --json");
    let mut engines = engines.as_array().unwrap().iter();
    let lmdb = engines.find(|one| one["name"] == "lmdb").unwrap();
    assert_eq!(lmdb["workers"], "processes");
    assert_eq!(lmdb["promises"][0]["durability"], "sync");
    assert_ne!(lmdb["promises"][0]["source"], "");
}

#[test]
fn an_engine_is_described_with_the_settings_and_sources_of_its_levels() {
    let described = unwrapped(&listing("engines lmdb fjall"));
    let parts = [
        "async: ",
        "MDB_NOSYNC",
        "until ",
        "Source: ",
        "trueput knobs lmdb",
        "fjall ",
    ];
    assert_contains(&described, &parts);
    let described = listed("engines lmdb --json");
    assert_eq!(described.as_array().unwrap().len(), 1);
    assert_eq!(described[0]["name"], "lmdb");
}

#[test]
fn the_engines_fit_a_hundred_columns_and_narrower_terminals() {
    for (options, width) in [("", 100), ("--width 72", 72), ("--width 40", 40)] {
        let table = listing(&format!("engines {options}"));
        assert!(widest(&table) <= width, "{table}");
        assert_lists(&table, &["lmdb", "sqlite", "redb", "fjall"]);
        assert_contains(&table, &["--full"]);
        let clusters = "named: postgresql-cluster, etcd, galera";
        assert_contains(&unwrapped(&table), &[clusters]);
    }
}

#[test]
fn every_build_that_can_be_installed_has_one_line_wherever_it_is_missing() {
    // Nothing is installed for a user whose home is empty.
    let bench = Bench::new();
    let engines = |line: &str| {
        let mut command = bench.command(line);
        command
            .env("HOME", bench.path())
            .env_remove("XDG_DATA_HOME");
        stdout(&command.output().unwrap())
    };
    let table = engines("engines --full");
    let document: Value = serde_json::from_str(&engines("engines --full --json")).unwrap();
    let to_install = |name: &str| {
        let mut all = document.as_array().unwrap().iter();
        let engine = all.find(|one| one["name"] == name).unwrap();
        let builds = engine["to_install"].as_array().unwrap().iter();
        let titles = builds.map(|one| one["title"].as_str().unwrap().to_owned());
        titles.collect::<Vec<_>>()
    };
    for (title, engine, name) in [
        ("HyperLevelDB", "leveldb", "hyperleveldb"),
        ("Basho's LevelDB", "leveldb", "basho-leveldb"),
        ("WiredTiger 11.3", "wiredtiger", "wiredtiger-11"),
    ] {
        let lines: Vec<_> = table.lines().filter(|line| line.contains(title)).collect();
        // A build that is in a system-wide folder is here, whatever the home.
        if to_install(engine).iter().any(|one| one == title) {
            assert_eq!(lines.len(), 1, "{title}: {table}");
            assert!(lines[0].starts_with(engine), "{table}");
            let install = format!("{title}: trueput engines install {name}");
            assert!(lines[0].ends_with(&install), "{table}");
        } else {
            assert_eq!(lines.len(), 0, "{title}: {table}");
        }
    }
    // The control: what is compiled in is not to be installed.
    assert_eq!(to_install("redb"), Vec::<String>::new());
    assert!(!table.contains("to install: "), "{table}");
}

#[test]
fn workloads_and_knobs_are_listed_with_defaults_and_ranges() {
    for (line, part) in [
        ("workloads", "per-store, per-start, per-block"),
        ("workloads threen1", "per-store, per-start, per-block"),
        ("workloads queue", "queue"),
        ("knobs lmdb", "map_size"),
        ("knobs threen1", "finish"),
    ] {
        assert_contains(&listing(line), &[part]);
    }
    assert_eq!(listing("knobs null"), "null has no knobs\n");
    // One workload is listed alone.
    let one = listing("workloads sysbench");
    assert!(
        one.starts_with("sysbench: ") && !one.contains("threen1: "),
        "{one}"
    );
    assert_eq!(
        listed("workloads sysbench micro --json")
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(listed("knobs lmdb --json")[0]["default"].is_number());
}

#[test]
fn lists_fit_80_columns_in_a_pipe_and_lose_nothing() {
    let plan = "plan check micro --engine redb --knob redb.cache_size=64MiB";
    for line in [
        "published",
        "published symas-2014-load",
        "knobs rocksdb",
        "knobs lmdb",
        "knobs micro",
        "workloads",
        "plan list",
        "plan check threen1 --engine lmdb,redb",
        plan,
    ] {
        let text = listing(line);
        assert!(widest(&text) <= 80, "{line}: {text}");
    }
    // Every word of JSON is in the list.
    let knobs = unwrapped(&listing("knobs rocksdb"));
    for knob in listed("knobs rocksdb --json").as_array().unwrap() {
        for field in ["name", "range", "unit", "summary", "cost"] {
            assert_contains(&knobs, &[&unwrapped(knob[field].as_str().unwrap())]);
        }
    }
    let changed = unwrapped(&listing(plan));
    let settings = "Settings of every trial: ";
    assert_contains(
        &changed,
        &["knobs: cache_size=67108864 ", settings, "value_bytes="],
    );
    let usual = listing("plan check micro --engine redb");
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
        if path.is_dir() {
            files_below(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The private phrases of a text; in code, comments are ignored.
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
    let crates = "record engine drivers workloads runner findings report trueput";
    for name in crates.split(' ') {
        let sources = root.join("crates").join(name).join("src");
        files_below(&sources, ".rs", &mut files);
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
    let found = private_phrases("All came\nto the same.", false);
    assert_eq!(found, [PRIVATE_PHRASES[0]]);
    assert!(private_phrases("// What held them\nlet a = 1;", true).is_empty());
}

#[test]
fn every_plan_that_comes_with_the_program_is_sound() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(plans).unwrap().flatten() {
        let text = listing(&format!("plan check {}", entry.path().display()));
        assert_contains(&text, &[" trials; databases need up to about "]);
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn the_conformance_suite_can_be_run_alone() {
    let text = listing("check lmdb --durability process --verbose");
    assert!(text.starts_with("lmdb process: "), "{text}");
    assert!(!text.contains("FAILED"), "{text}");
    let bench = Bench::new();
    for (line, reason) in [
        ("check lmdb --knob redb.cache_size=1MiB", "name redb"),
        ("check lmdb --knob lmdb.sub_page=1,2", "give one"),
        (
            "check lmdb --knob lmdb.mapsize=1GiB",
            "did you mean 'map_size'",
        ),
    ] {
        assert_contains(&bench.refusal_of(line), &[reason]);
    }
}

#[test]
fn completions_and_the_man_page_are_valid() {
    for shell in ["bash", "zsh", "fish"] {
        assert_contains(&listing(&format!("completions {shell}")), &["threen1"]);
    }
    let bench = Bench::new();
    let path = bench.write("completion.bash", &listing("completions bash"));
    let parsed = Command::new("bash").arg("-n").arg(path).status();
    assert!(
        parsed.unwrap().success(),
        "bash cannot parse its completions"
    );
    for (line, part) in [
        ("man", ".TH trueput 1"),
        ("man", "Exit codes"),
        ("man run", ".TH trueput-run 1"),
        ("man plan check", ".TH trueput-plan-check 1"),
    ] {
        assert_contains(&listing(line), &[part]);
    }
}

#[test]
fn where_the_locale_is_not_utf_8_people_read_ascii_and_programs_read_what_is_there() {
    let bench = Bench::new();
    let listed = |locale: Option<&str>, line: &str| {
        let mut command = bench.command(line);
        for variable in ["LC_ALL", "LC_CTYPE", "LANG"] {
            command.env_remove(variable);
        }
        command.envs(locale.map(|locale| ("LC_ALL", locale)));
        stdout(&command.output().unwrap())
    };
    let list = "ledger --help";
    let in_utf8 = listed(Some("en_US.UTF-8"), list);
    assert!(!in_utf8.is_ascii(), "{in_utf8}");
    // Output that is not a terminal is unchanged without a locale.
    assert_eq!(listed(None, list), in_utf8);
    for locale in ["C", "POSIX", "en_US.ISO-8859-1"] {
        let text = listed(Some(locale), list);
        assert!(text.is_ascii(), "{locale}: {text}");
        assert_contains(&text, &[" ...,"]);
    }
    let json = "plan list --json";
    assert_eq!(listed(Some("C"), json), listed(None, json));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    for (line, part) in [
        ("--help", "130  interrupted by Ctrl-C"),
        ("run --help", "trueput run first-look"),
        ("threen1 --help", "start finish [workers [block]]"),
    ] {
        assert_contains(&listing(line), &[part]);
    }
    let version = listing("--version");
    assert!(version.starts_with("trueput 0."), "{version}");
    assert_contains(
        &version,
        &["(commit ", "compiled in: lmdb 0.9", ", sqlite 3."],
    );
    assert!(!version.contains("rocksdb"), "{version}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let mut command = bench.command("man");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = expect_code(0, child.wait_with_output().unwrap());
    assert_eq!(output.stderr, b"");
}

#[test]
fn what_is_drawn_in_place_on_a_terminal_is_ascii_in_an_ascii_locale() {
    let bench = Bench::new();
    let program = assert_cmd::cargo::cargo_bin!("trueput").display();
    let run = format!(
        "stty cols 40 rows 24; {program} run threen1 --engine lmdb --durability process \
         --set finish=20000 --repeat 2 --no-hardware-limits"
    );
    let drawn = |locale: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", &run, "/dev/null"]);
        // Nothing is drawn in place on a terminal without a name.
        script.current_dir(bench.path()).env("TERM", "xterm");
        script.env("LC_ALL", locale);
        script.env("XDG_CACHE_HOME", SHARED_CACHE);
        script.stdin(Stdio::null()).output()
    };
    // util-linux, which makes the terminal.
    let Ok(ascii) = drawn("C") else {
        return;
    };
    let shown = String::from_utf8_lossy(&ascii.stdout).into_owned();
    // A bar of 40 columns, however far the trial was when it was drawn.
    assert_contains(&shown, &["[", "] trial 1 of 2"]);
    assert!(shown.is_ascii(), "{shown}");
    let utf8 = drawn("C.UTF-8").unwrap();
    let shown = String::from_utf8_lossy(&utf8.stdout).into_owned();
    assert!(!shown.is_ascii(), "the control: nothing is cut: {shown}");
}

#[test]
fn a_chosen_path_is_printed_such_that_it_can_be_used_in_an_ascii_locale() {
    let bench = Bench::new();
    let results = "my – runs…";
    let run = "run threen1 --engine lmdb --set finish=20 --results".words();
    let mut command = bench.command(&[&run[..], &[results]].concat());
    let output = command.env("LC_ALL", "C").output().unwrap();
    for text in [stdout(&output), stderr(&output)] {
        let unbroken = text.replace("\n  ", " ").replace('\n', " ");
        assert!(unbroken.contains("my – runs…/2"), "{text}");
        assert!(!unbroken.contains("my - runs"), "{text}");
    }
}
