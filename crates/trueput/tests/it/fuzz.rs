//! Plans, folders of runs, searches and audits, bundles and histogram logs that were changed at
//! random: whatever they say, the program ends by itself with 0, 1 or 2, in little memory, and
//! writes nothing outside of its folder.
//!
//! Seconds by default. `TRUEPUT_FUZZ_SECONDS=3600 cargo test -p trueput --test it fuzz --
//! --nocapture` goes on for as long as that; `TRUEPUT_FUZZ_SEED` begins with another case. A case
//! that fails is named by its seed, and its input is kept.

mod folders;

use crate::support::{Bench, CommandLine, SHARED_CACHE, assert_contains, copy_folder, signal};
use base64::Engine as _;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use folders::{Folders, change_outside, make_audit_case, make_folders, make_outside, make_search};
use nix::sys::signal::Signal::SIGINT;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, RunFolder};

/// Number of cases if no time is given.
const CASES: u64 = 60;

/// The program's address space, KiB.
const MEMORY_KIB: u64 = 1 << 20;

/// After this it hangs. A debug build on a busy machine takes a second or two.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// A search that goes on is interrupted after this: what a folder asks for may take its time.
const INTERRUPTED_AFTER: Duration = Duration::from_secs(5);

/// The folder in which the program runs.
const INSIDE: &str = "inside";

/// Bytes of a list that is made long: what a debug build reads in seconds.
const MAX_REPEATED_BYTES: usize = 24 << 20;

/// A second of a timeline in the fewest bytes: in memory it has about fifty times as many.
const SHORT_SECOND: &str = "[0,[],[],0,0,0,0,0]";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Replacements for numbers.
const NUMBERS: &str = "0 -1 1 -0.0 1e308 -1e308 1e-308 1e999 0.1 255 4294967295 4294967296 \
    9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 null \"NaN\"";

/// Words that are inserted anywhere.
const WORDS: [&str; 14] = [
    "\u{1b}[31m",
    "\u{202e}",
    "\0",
    "\n",
    "\"",
    "{",
    "[",
    "]",
    "}",
    ",",
    "../../x",
    "=1+1",
    "<script>",
    "\u{e4}\u{1f600}",
];

/// Changes bytes at random, numbers in text among them.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let length = bytes.len();
        let at = random.below(length);
        let end = (at + 1 + random.below(64)).min(length);
        match random.below(10) {
            _ if length == 0 => bytes.extend(b"{}"),
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => bytes.truncate(at),
            5 => {
                let word = random.one(&WORDS).repeat(1 + random.below(3));
                bytes.splice(at..at, word.into_bytes());
            }
            6 => {
                let word = random.one(&WORDS).repeat(50_000);
                bytes.splice(at..at, word.into_bytes());
            }
            7 => repeat_element(bytes, at, random),
            _ => replace_number(bytes, at, random),
        }
    }
}

/// Repeats the first element of the next list up to a million times, or one that is shorter.
fn repeat_element(bytes: &mut Vec<u8>, from: usize, random: &mut Random) {
    let Some(begin) = bytes[from..].iter().position(|byte| *byte == b'[') else {
        return;
    };
    let begin = from + begin + 1;
    let (mut depth, mut end) = (0_usize, begin);
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'[' | b'{' => depth += 1,
            b',' | b']' if depth == 0 => break,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        end += 1;
    }
    let short = [SHORT_SECOND, "\"\"", "0", "[]"];
    let mut element = match random.below(2) {
        0 => bytes[begin..end].to_vec(),
        _ => random.one(&short).as_bytes().to_vec(),
    };
    element.push(b',');
    let times = 100_000 * (1 + random.below(10));
    let times = times.min(MAX_REPEATED_BYTES / element.len());
    bytes.splice(begin..begin, element.repeat(times));
}

/// Replaces the next number by one at an end of some range.
fn replace_number(bytes: &mut Vec<u8>, from: usize, random: &mut Random) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let begin = bytes.iter().skip(from).position(u8::is_ascii_digit);
    let Some(begin) = begin.map(|begin| begin + from) else {
        return;
    };
    let length = bytes[begin..]
        .iter()
        .take_while(|byte| is_part(byte))
        .count();
    let number = random.one(&NUMBERS.words()).bytes();
    bytes.splice(begin..begin + length, number);
}

/// Changes a histogram log: its text, or what a histogram in it says once it is inflated.
fn mutate_log(bytes: &mut Vec<u8>, random: &mut Random) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let Some(at) = text.find("HIST").filter(|_| random.below(4) > 0) else {
        mutate(bytes, random);
        return;
    };
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let base64 = base64::engine::general_purpose::STANDARD;
    let whole = base64.decode(&text[at..end]).unwrap();
    let mut plain = Vec::new();
    let mut decoder = ZlibDecoder::new(&whole[8..]);
    decoder.read_to_end(&mut plain).unwrap();
    match random.below(4) {
        // The header: lengths, digits, bounds.
        0 => {
            let field = 4 * random.below(10);
            let value = *random.one(&[0, 1, 2, 5, 255, 1 << 20, 1 << 30, u32::MAX]);
            plain[field..field + 4].copy_from_slice(&value.to_be_bytes());
        }
        1 => plain.extend(vec![*random.one(&[0, 1, 0xff]); 1 << random.below(24)]),
        _ => mutate(&mut plain, random),
    }
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(&plain).unwrap();
    let deflated = deflated.finish().unwrap();
    let mut whole = whole[..4].to_vec();
    whole.extend((deflated.len() as u32).to_be_bytes());
    whole.extend(deflated);
    *bytes = format!("{}{}{}", &text[..at], base64.encode(whole), &text[end..]).into_bytes();
}

/// Changes a bundle: its bytes, or the archive in it, with check sums that are right again.
fn mutate_bundle(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.below(4) == 0 {
        mutate(bytes, random);
        return;
    }
    let mut plain = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    let is_header = |block: &[u8]| block.len() == 512 && &block[257..262] == b"ustar";
    if random.below(2) == 0 {
        mutate(&mut plain, random);
    } else {
        let blocks = plain.chunks(512).enumerate();
        let headers = blocks.filter(|(_, block)| is_header(block));
        let headers: Vec<usize> = headers.map(|(number, _)| number).collect();
        let header = 512 * random.one(&headers);
        match random.below(3) {
            0 => plain[header + 156] = *random.one(b"01234567LKxgSZ"),
            1 => {
                let sizes: [&[u8; 12]; 3] = [
                    b"77777777777\0",
                    b"00000000000\0",
                    b"\x80\0\0\0\0\xff\xff\xff\xff\xff\xff\xff",
                ];
                let size = sizes[random.below(sizes.len())];
                plain[header + 124..header + 136].copy_from_slice(size);
            }
            _ => plain[header + random.below(257)] = random.next() as u8,
        }
    }
    for block in plain.chunks_mut(512).filter(|block| is_header(block)) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    // Sometimes endless zeros follow.
    if random.below(8) == 0 {
        plain.resize(plain.len() + (1 << (20 + random.below(10))), 0);
    }
    let mut deflated = GzEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(&plain).unwrap();
    *bytes = deflated.finish().unwrap();
}

/// The inputs from which cases are made.
struct Corpus {
    plans: Vec<Vec<u8>>,
    runs: Vec<PathBuf>,
    bundles: Vec<Vec<u8>>,
    folders: Folders,
}

fn corpus(bench: &Bench) -> Corpus {
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let plans = std::fs::read_dir(plans).unwrap().flatten();
    let plans = plans.filter_map(|entry| std::fs::read(entry.path()).ok());
    for run in [
        "threen1 --set finish=30 --repeat 3",
        "ycsb --rate 2000 --duration 1s",
    ] {
        bench.run(&format!(
            "run {run} --engine lmdb,sqlite --durability process"
        ));
    }
    let results = std::fs::read_dir(bench.path().join("results")).unwrap();
    let runs: Vec<PathBuf> = results.flatten().map(|entry| entry.path()).collect();
    assert_eq!(runs.len(), 2);
    runs.iter().for_each(|run| make_valid(run));
    let bundles = runs.iter().map(|run| {
        let line = format!("bundle {} --output seed.tar.gz", run.display());
        bench.run_expecting(0, &line);
        let file = bench.path().join("seed.tar.gz");
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        bytes
    });
    Corpus {
        plans: plans.collect(),
        bundles: bundles.collect(),
        folders: make_folders(bench),
        runs,
    }
}

/// Makes a run's trials valid, which in a debug build they are not: what ranks and compares them is
/// to be reached.
fn make_valid(run: &Path) {
    let (folder, _) = RunFolder::open(run).unwrap();
    let mut trials = folder.trials().unwrap().trials;
    std::fs::write(run.join("trials.jsonl"), "").unwrap();
    for trial in &mut trials {
        trial.outcome = Outcome::Valid;
        folder.append(trial).unwrap();
    }
}

/// Makes the case's input at `place`, and says by which command it is read.
fn make(place: &Path, corpus: &Corpus, random: &mut Random) -> String {
    let folders = &corpus.folders;
    let input = match (random.below(16), &folders.audit) {
        (8..=11, _) | (12.., None) => return make_search(place, folders, random),
        (12.., Some(audit)) => return make_audit_case(place, audit, random),
        (0 | 1, _) => {
            let mut plan = random.one(&corpus.plans).clone();
            mutate(&mut plan, random);
            std::fs::write(place.join("plan.toml"), plan).unwrap();
            return "plan check plan.toml".to_owned();
        }
        (2 | 3, _) => {
            let mut bundle = random.one(&corpus.bundles).clone();
            mutate_bundle(&mut bundle, random);
            std::fs::write(place.join("input.tar.gz"), bundle).unwrap();
            "input.tar.gz"
        }
        (case, _) => {
            let run = random.one(&corpus.runs);
            copy_folder(run, &place.join("input"));
            let logs = place.join("input/histograms");
            let logs: Vec<_> = std::fs::read_dir(logs).unwrap().flatten().collect();
            let (file, is_log) = match case {
                4 | 5 => (place.join("input/trials.jsonl"), false),
                6 => (random.one(&logs).path(), true),
                _ => (
                    place.join(random.one(&["input/run.json", "input/end.json"])),
                    false,
                ),
            };
            let mut bytes = std::fs::read(&file).unwrap();
            if is_log {
                mutate_log(&mut bytes, random);
            } else {
                mutate(&mut bytes, random);
            }
            std::fs::write(file, bytes).unwrap();
            "input"
        }
    };
    command(input, random)
}

fn command(input: &str, random: &mut Random) -> String {
    let commands = [
        "report RUN",
        "report RUN --charts always",
        "report RUN --format markdown",
        "report RUN --format csv",
        "report RUN --format json",
        "report RUN --html page.html",
        "compare RUN --contenders lmdb,sqlite",
        "history RUN",
        "predict RUN --nodes 3 --network-delay 1ms",
        "export RUN --format jsonl",
        "export RUN --format openmetrics",
        "bundle RUN --output made.tar.gz",
    ];
    random.one(&commands).replace("RUN", input)
}

/// Runs the program within its limits; how it ended, or what is wrong with how it did.
fn outcome(place: &Path, line: &str) -> Result<i32, String> {
    let said = std::fs::File::create(place.join("stderr")).unwrap();
    let temporary = place.join("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let limited = format!("ulimit -v {MEMORY_KIB} && exec \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &limited, "sh"])
        .arg(assert_cmd::cargo::cargo_bin!("trueput"))
        .args(line.words())
        .current_dir(place)
        .env("HOME", place)
        .env("TMPDIR", temporary)
        .env("XDG_CACHE_HOME", SHARED_CACHE)
        .env("XDG_STATE_HOME", place.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .unwrap();
    let began = Instant::now();
    let mut is_interrupted = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let is_long = line.contains("--resume") && began.elapsed() > INTERRUPTED_AFTER;
        if is_long && !is_interrupted {
            signal(child.id().cast_signed(), SIGINT);
            is_interrupted = true;
        }
        if began.elapsed() > HANGS_AFTER {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err("it hangs".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = std::fs::read(place.join("stderr")).unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    match status.code() {
        Some(code @ 0..=2) if !said.contains("panicked") => Ok(code),
        Some(130) if is_interrupted && !said.contains("panicked") => Ok(130),
        _ => {
            let said: String = said.chars().take(600).collect();
            Err(format!("{status}: {said}"))
        }
    }
}

/// The command of a line, with the option that makes it another one.
fn named(line: &str) -> String {
    let words = line.words();
    let is_option = |word: &&&str| ["--replay", "--resume"].contains(*word);
    let option = words.iter().find(is_option);
    [words[0], option.copied().unwrap_or_default()]
        .join(" ")
        .trim()
        .to_owned()
}

fn number_from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[ignore = "slow: make test runs it"]
fn whatever_a_file_says_the_program_ends_by_itself_within_its_memory() {
    let bench = Bench::new();
    let corpus = corpus(&bench);
    let time = number_from_environment("TRUEPUT_FUZZ_SECONDS").map(Duration::from_secs);
    let first = number_from_environment("TRUEPUT_FUZZ_SEED").unwrap_or(1);
    let (began, mut failures) = (Instant::now(), Vec::new());
    let mut endings: BTreeMap<(String, i32), u64> = BTreeMap::new();
    let mut cases = 0;
    while time.map_or(cases < CASES, |time| began.elapsed() < time) {
        let seed = first + cases;
        cases += 1;
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join(INSIDE);
        std::fs::create_dir(&inside).unwrap();
        make_outside(place.path());
        let line = make(&inside, &corpus, &mut Random(seed));
        let ended = outcome(&inside, &line);
        match change_outside(place.path()).map_or(ended, Err) {
            Ok(code) => *endings.entry((named(&line), code)).or_default() += 1,
            Err(reason) => {
                let kept = place.keep();
                let kept = kept.display();
                failures.push(format!("seed {seed}, in {kept}: {line}: {reason}"));
            }
        }
    }
    println!("{cases} cases, by command and exit code: {endings:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_program_that_dies_of_its_memory_is_caught() {
    // The control: what the limit is for is seen, and what ends well is not accused.
    let place = tempfile::tempdir().unwrap();
    assert_eq!(outcome(place.path(), "--version"), Ok(0));
    assert_eq!(outcome(place.path(), "--nonsense"), Ok(2));
    let limited = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -v")])
        .output()
        .unwrap();
    assert_eq!(limited.stdout, format!("{MEMORY_KIB}\n").into_bytes());
}

/// A run folder whose first trial's timeline has so many seconds, each in the fewest bytes.
fn with_seconds(place: &Path, run: &Path, seconds: usize) {
    copy_folder(run, &place.join("input"));
    let file = place.join("input/trials.jsonl");
    let trials = std::fs::read_to_string(&file).unwrap();
    let list = "\"timeline\":[";
    let elements = format!("{SHORT_SECOND},").repeat(seconds);
    let made = trials.replacen(list, &format!("{list}{elements}"), 1);
    assert!(made.len() > trials.len());
    std::fs::write(file, made).unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_list_of_a_million_short_elements_is_refused_before_it_fills_the_memory() {
    let bench = Bench::new();
    bench.run("run threen1 --set finish=30 --engine lmdb --durability process");
    let run = bench.run_folder().path().to_owned();
    make_valid(&run);
    let report = "report input";
    let refused = |place: &Path, file: &str| {
        assert_eq!(outcome(place, report), Ok(2));
        let said = std::fs::read_to_string(place.join("stderr")).unwrap();
        let expected = format!("{file}: it has more than 2097152 JSON values; raise the limit");
        assert_contains(&said, &[&expected]);
    };
    let place = tempfile::tempdir().unwrap();
    with_seconds(place.path(), &run, 1_000_000);
    refused(place.path(), "trials.jsonl");
    let place = tempfile::tempdir().unwrap();
    copy_folder(&run, &place.path().join("input"));
    let manifest = place.path().join("input/run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let skipped = "\"skipped\": [";
    let empty = format!("{skipped}{}\"\"", "\"\",".repeat(10_000_000));
    let made = text.replacen(&format!("{skipped}]"), &format!("{empty}]"), 1);
    assert!(made.len() > text.len());
    std::fs::write(&manifest, made).unwrap();
    refused(place.path(), "run.json");
    // A file just within the limit is read in that memory.
    let place = tempfile::tempdir().unwrap();
    with_seconds(place.path(), &run, 185_000);
    assert_eq!(outcome(place.path(), report), Ok(0));
}
