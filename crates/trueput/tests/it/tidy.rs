//! The house rules that a program can check: lengths, plain words, types that are nouns, crates
//! that use only the crates above them, and modules that do not use each other in circles.
//!
//! `tidy/known.txt` lists the findings of the day on which a rule came, with their number. A number
//! may only fall. `TRUEPUT_TIDY=shrink cargo test -p trueput --test it tidy` lowers the numbers
//! that are too high; nothing raises one.

mod circles;
mod documents;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MAX_FILE_LINES: usize = 700;
const MAX_FUNCTION_LINES: usize = 70;
const MAX_LINE_COLUMNS: usize = 100;

/// The workspace's crates: each uses only those before it, also in its tests.
const CRATES: [&str; 13] = [
    "record",
    "engine",
    "host",
    "faultfs",
    "drivers",
    "odbc",
    "workloads",
    "runner",
    "audit",
    "findings",
    "report",
    "tuner",
    "trueput",
];

/// Private words, and what the literature says.
const WORDS: [(&str, &str); 16] = [
    ("aftermath", "recovery"),
    ("appraise", "derive"),
    ("breathe", "yield"),
    ("contestant", "contender"),
    ("crew", "workers"),
    ("gives up", "cost"),
    ("gives_up", "cost"),
    ("happening", "event"),
    ("happenings", "events"),
    ("must_be_named", "requires_address"),
    ("retract", "uncount"),
    ("rival", "contender"),
    ("surroundings", "conditions"),
    ("tell_counts", "flush_counters"),
    ("what held it", "bottleneck"),
    ("what surrounds", "conditions"),
];

/// Endings that are rare in nouns.
const ENDINGS: [&str; 8] = ["ed", "ing", "ly", "ful", "less", "able", "ible", "ous"];

/// Nouns that end so.
const NOUNS: &str = "Accounting Anomaly Assembly Binding Building Drawing Embed Encoding Family \
    Feed Heading Listing Logging Mapping Ordering Padding Paging Ranking Rating Reading \
    Recording Reply Ring Sampling Scaling Scheduling Seed Setting Slicing Speed Standing String \
    Table Timing Variable Warning";

/// Participles without an ending, adverbs, pronouns, adjectives, verbs and metaphors.
const NO_NOUNS: &str = "Across Alone Apart At Bare Began Begun Beside Both Broken By Card Chosen \
    Crew Deck Due Each Enough Every Few Foreign Found Given Gone Heard Held Holds Kept Known Lane \
    Left Looks Lost Made Many Meant Met Native Nearest Needs Nothing Of Other Over Own Paid Pen \
    Place Places Ran Rests Said Same Scene Seat Seen Silent Some Spent Spoken Such Taken Theirs \
    Told Under Unmet Until What Which Who Within Written";

/// Findings, and how often each occurs.
type Findings = BTreeMap<String, usize>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The source files below a folder, with their text; by path from the root.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() && !path.is_symlink() {
            sources(&path, found);
        } else if is_source {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, text));
        }
    }
}

fn add(findings: &mut Findings, finding: String, times: usize) {
    if times > 0 {
        *findings.entry(finding).or_default() += times;
    }
}

/// Reports lines, functions and files that are too long.
fn lengths(file: &str, text: &str, findings: &mut Findings) {
    let lines: Vec<&str> = text.lines().collect();
    let is_long = usize::from(lines.len() > MAX_FILE_LINES);
    add(
        findings,
        format!("file over {MAX_FILE_LINES} lines: {file}"),
        is_long,
    );
    let wide = lines
        .iter()
        .filter(|line| line.chars().count() > MAX_LINE_COLUMNS);
    let columns = format!("lines over {MAX_LINE_COLUMNS} columns");
    add(findings, columns, wide.count());
    for name in long_functions(&lines) {
        let finding = format!("function over {MAX_FUNCTION_LINES} lines: {file} {name}");
        add(findings, finding, 1);
    }
}

/// The functions that are too long, including comments. A function ends at the brace in the column
/// where it begins, and a declaration where its parameters end: `rustfmt` ensures that.
fn long_functions<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let mut long = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some((before, rest)) = code.split_once("fn ") else {
            continue;
        };
        let keywords = ["pub", "const", "async", "unsafe", "extern", "\"C\""];
        let is_keyword = |word: &str| keywords.iter().any(|keyword| word.starts_with(keyword));
        if !before.split_whitespace().all(is_keyword) || line.ends_with([';', '}']) {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let ends = |line: &str| line == "}" || line.starts_with(')') && line.ends_with(';');
        let body = lines[first..]
            .iter()
            .position(|line| line.strip_prefix(indent).is_some_and(ends));
        if body.is_some_and(|last| last + 1 > MAX_FUNCTION_LINES) {
            long.extend(rest.split(['(', '<']).next());
        }
    }
    long
}

/// The private words of a text, in sentences and in names.
fn words(text: &str, findings: &mut Findings) {
    let text = snake(text);
    for (word, instead) in WORDS {
        let is_whole = |at: usize| {
            let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
            let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
            !letter(before) && !letter(text.as_bytes().get(at + word.len()))
        };
        let times = text.match_indices(word).filter(|(at, _)| is_whole(*at));
        add(
            findings,
            format!("'{word}', not '{instead}'"),
            times.count(),
        );
    }
}

/// A type's name in the style of functions: `TwoWords` is `two_words`.
fn snake(text: &str) -> String {
    let mut snake = String::with_capacity(text.len() + text.len() / 8);
    let mut is_lower = false;
    for letter in text.chars() {
        if letter.is_ascii_uppercase() && is_lower {
            snake.push('_');
        }
        is_lower = letter.is_ascii_lowercase();
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The types that a text declares and whose names are no nouns.
fn types(text: &str, findings: &mut Findings) {
    for line in text.lines() {
        let mut rest = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub"));
        let is_type = matches!(
            rest.next(),
            Some("struct" | "enum" | "trait" | "union" | "type")
        );
        let name = rest.next().unwrap_or_default();
        let name = name
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        if is_type && !is_noun(name) {
            add(findings, format!("type that is no noun: {name}"), 1);
        }
    }
}

fn is_noun(name: &str) -> bool {
    let last = name
        .rfind(|c: char| c.is_ascii_uppercase())
        .map_or(name, |at| &name[at..]);
    let ends = ENDINGS.iter().any(|ending| last.ends_with(ending));
    let is_in = |list: &str| list.split_whitespace().any(|word| word == last);
    !is_in(NO_NOUNS) && (!ends || is_in(NOUNS))
}

/// The crates that a crate's manifest names and that are not above it.
fn order(name: &str, manifest: &str, findings: &mut Findings) {
    let place = |name: &str| CRATES.iter().position(|known| *known == name);
    let own = place(name).unwrap_or_else(|| panic!("the list of crates lacks {name}"));
    let used = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("trueput-"));
    for used in used.filter_map(|line| line.split(['.', ' ', '=']).next()) {
        let is_above = place(used).is_some_and(|used| used < own);
        add(
            findings,
            format!("crate {name} uses {used}"),
            usize::from(!is_above),
        );
    }
}

fn found() -> Findings {
    let mut files = Vec::new();
    for folder in ["crates", "bench/harness/src", "bench/redb-table/src"] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut findings = Findings::new();
    for (file, text) in &files {
        lengths(file, text, &mut findings);
        types(text, &mut findings);
        // Two tests say the words that they forbid.
        if !file.ends_with("it/tidy.rs") && !file.ends_with("it/listings.rs") {
            words(text, &mut findings);
        }
    }
    for name in CRATES {
        let source = format!("crates/{name}/src/");
        let files = files.iter().filter_map(|(file, text)| {
            let path = file.strip_prefix(&source)?;
            Some((path, text.as_str()))
        });
        for circle in circles::circles(&files.collect()) {
            add(&mut findings, format!("circle in {name}: {circle}"), 1);
        }
    }
    for entry in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        if let Ok(manifest) = std::fs::read_to_string(entry.path().join("Cargo.toml")) {
            let name = entry.file_name();
            order(name.to_str().unwrap(), &manifest, &mut findings);
        }
    }
    findings
}

/// A line of `known.txt`: a number, a space, a finding.
fn read(known: &str) -> Findings {
    let lines = known.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(times, finding)| (finding.to_owned(), times.parse().unwrap()))
        .collect()
}

#[test]
fn nothing_is_less_tidy_than_the_list_of_what_is_known() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tidy/known.txt");
    let (found, mut known) = (found(), read(&std::fs::read_to_string(&path).unwrap()));
    let times = |findings: &Findings, finding| findings.get(finding).copied().unwrap_or(0);
    let worse = found
        .iter()
        .filter(|(finding, now)| **now > times(&known, *finding));
    let worse: Vec<_> = worse
        .map(|(finding, now)| format!("{finding}: {now}, was {}", times(&known, finding)))
        .collect();
    assert!(
        worse.is_empty(),
        "less tidy than before:\n{}",
        worse.join("\n")
    );
    if std::env::var("TRUEPUT_TIDY").as_deref() == Ok("shrink") {
        known = found.clone();
        let lines = known
            .iter()
            .map(|(finding, times)| format!("{times} {finding}\n"));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
    }
    let better = known
        .iter()
        .filter(|(finding, was)| times(&found, finding) < **was);
    let better: Vec<_> = better.map(|(finding, _)| finding).collect();
    assert!(
        better.is_empty(),
        "write it down with TRUEPUT_TIDY=shrink: {better:?}"
    );
}

#[test]
fn each_rule_finds_its_control_and_passes_the_other() {
    for (noun, other) in [
        ("TrialError", "Began"),
        ("ResourceUsage", "Measured"),
        ("Ranking", "Measuring"),
        ("RatioTable", "Installable"),
        ("Family", "OnlyBriefly"),
    ] {
        assert!(is_noun(noun) && !is_noun(other), "{noun}, {other}");
    }
    let mut findings = Findings::new();
    types(
        "pub(crate) struct Held<'t> {\nenum Kind {\n    type Error = Told;",
        &mut findings,
    );
    words(
        "fn surroundings(of: Contestant) // his rivals, a rival",
        &mut findings,
    );
    let body = "    x();\n".repeat(70);
    lengths(
        "a.rs",
        &format!("fn short() {{}}\npub fn long(\n{body}}}\n"),
        &mut findings,
    );
    lengths("b.rs", &"x\n".repeat(701), &mut findings);
    lengths(
        "c.rs",
        &format!("fn f() {{\n{}}}\n{}\n", &body[..68 * 9], "x".repeat(101)),
        &mut findings,
    );
    order(
        "engine",
        "[dependencies]\ntrueput-record.workspace = true\n",
        &mut findings,
    );
    order(
        "engine",
        "trueput-runner = { path = \"x\" }\n",
        &mut findings,
    );
    let expected = [
        "'contestant', not 'contender'",
        "'rival', not 'contender'",
        "'surroundings', not 'conditions'",
        "crate engine uses runner",
        "file over 700 lines: b.rs",
        "function over 70 lines: a.rs long",
        "lines over 100 columns",
        "type that is no noun: Held",
    ];
    assert_eq!(findings.keys().collect::<Vec<_>>(), expected);
}
