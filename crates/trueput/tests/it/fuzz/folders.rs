//! Folders of searches and audits, changed at random: files, links, and what their JSON says.

use super::{Random, command, mutate};
use crate::audit::can_audit;
use crate::support::{Bench, copy_folder, signal};
use nix::sys::signal::Signal::SIGINT;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use trueput_record::audit::AuditRecord;

/// The time for each of the searches.
const SEARCHED_FOR: Duration = Duration::from_secs(20);

/// The folder beside the one in which the program runs: nothing may be written to it.
pub const OUTSIDE: &str = "outside";

/// Its only file, and what that says.
const KEPT: (&str, &str) = ("kept", "kept\n");

/// Folders from which cases are made.
pub struct Folders {
    /// The folder of a run that searches, with the command that continues it.
    pub searches: Vec<(&'static str, PathBuf)>,
    /// An audit's folder, with the names of its counterexamples; `None` where none can be made.
    pub audit: Option<(PathBuf, Vec<String>)>,
}

/// Makes small folders of real searches and of an audit.
pub fn make_folders(bench: &Bench) -> Folders {
    let of_search = [
        ("capacity", "--objective p99<2s --precision 50% --budget 5m"),
        ("tune", "--budget 40s"),
        (
            "choose",
            "--objective p99<2s --precision 50% --budget 5m --no-tuning",
        ),
    ];
    let searches = of_search.map(|(command, options)| {
        let results = format!("of-{command}");
        let line = format!(
            "{command} ycsb --engine sqlite --durability process --workers 1 --set workload=a \
             --set recordcount=100 --duration 100ms --results {results} {options}"
        );
        run_for_a_while(bench, &line);
        (command, only_folder(&bench.path().join(results)))
    });
    Folders {
        searches: searches.into(),
        audit: can_audit().then(|| make_audit(bench)),
    }
}

/// Runs a search, and interrupts it if it takes long: a part of a search is a case, too.
fn run_for_a_while(bench: &Bench, line: &str) {
    let mut command = bench.command(line);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > SEARCHED_FOR {
            signal(child.id().cast_signed(), SIGINT);
            child.wait().unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn make_audit(bench: &Bench) -> (PathBuf, Vec<String>) {
    bench.run(
        "audit --engine sqlite --durability process --claim sync --model journal --states 30 \
         --commits 5 --results of-audit",
    );
    let folder = only_folder(&bench.path().join("of-audit"));
    let text = std::fs::read_to_string(folder.join("audit.json")).unwrap();
    let record: AuditRecord = serde_json::from_str(&text).unwrap();
    let models = record.controls.iter().chain(&record.results);
    let models = models.flat_map(|result| &result.models);
    let examples = models.filter_map(|model| Some(model.counterexample.as_ref()?.id.clone()));
    let examples: Vec<String> = examples.collect();
    assert_eq!(examples.len(), 3, "two controls and the claim: {text}");
    (folder, examples)
}

fn only_folder(results: &Path) -> PathBuf {
    let mut all = std::fs::read_dir(results).unwrap();
    all.next().unwrap().unwrap().path()
}

/// Makes the folder that must stay as it is.
pub fn make_outside(place: &Path) {
    let outside = place.join(OUTSIDE);
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join(KEPT.0), KEPT.1).unwrap();
}

/// Returns what changed in the folder that must stay as it is.
pub fn change_outside(place: &Path) -> Option<String> {
    let outside = place.join(OUTSIDE);
    let entries = std::fs::read_dir(&outside).unwrap().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let kept = std::fs::read_to_string(outside.join(KEPT.0));
    let is_same = names.len() == 1 && kept.is_ok_and(|text| text == KEPT.1);
    (!is_same).then(|| format!("it wrote outside: {names:?}"))
}

/// Changes the folder of a search, and says by which command it is read.
pub fn make_search(place: &Path, folders: &Folders, random: &mut Random) -> String {
    let (resume, folder) = random.one(&folders.searches);
    let input = place.join("input");
    copy_folder(folder, &input);
    let files = ["run.json", "run.json", "trials.jsonl", "end.json"].map(|name| input.join(name));
    let file = random.one(&files).clone();
    change_file(&file, place, random);
    match random.below(2) {
        0 if *resume == "choose" => "choose --resume input".to_owned(),
        0 => format!("{resume} --resume input --no-hardware-limits"),
        _ => command("input", random),
    }
}

/// Changes the folder of an audit, and says by which command it is read.
pub fn make_audit_case(
    place: &Path,
    (folder, examples): &(PathBuf, Vec<String>),
    random: &mut Random,
) -> String {
    let input = place.join("input");
    copy_folder(folder, &input);
    let example = random.one(examples);
    let recordings = std::fs::read_dir(input.join("recordings"))
        .unwrap()
        .flatten();
    let mut files = vec![input.join("audit.json"), input.join("audit.json")];
    for recording in recordings.map(|entry| entry.path()) {
        let log = [
            "log/operations.jsonl",
            "log/operations.jsonl",
            "log/data.bin",
            "log/clock.bin",
        ];
        files.extend(log.map(|name| recording.join(name)));
        files.push(recording.join("history.bin"));
    }
    match random.below(12) {
        0 => {
            let link = ["replays", "work", "audit.json.partial"].map(|name| input.join(name));
            let outside = place.parent().unwrap().join(OUTSIDE);
            let _ = symlink(outside, random.one(&link));
        }
        _ => {
            let file = random.one(&files).clone();
            change_file(&file, place, random);
        }
    }
    let replay = format!("audit --replay input/{example}");
    let commands = [
        replay.clone(),
        replay.clone(),
        replay,
        "report input".to_owned(),
        "report input --format json".to_owned(),
        command("input", random),
    ];
    random.one(&commands).clone()
}

/// Changes the bytes of a file, a text in it, or puts something else in its place.
fn change_file(file: &Path, place: &Path, random: &mut Random) {
    let outside = place.parent().unwrap().join(OUTSIDE);
    match random.below(12) {
        0 => {
            std::fs::remove_file(file).unwrap();
            let targets = ["/dev/zero".into(), outside.join(KEPT.0), outside];
            symlink(random.one(&targets), file).unwrap();
        }
        1 => {
            std::fs::remove_file(file).unwrap();
            let mode = nix::sys::stat::Mode::S_IRUSR;
            nix::unistd::mkfifo(file, mode).unwrap();
        }
        change => {
            let mut bytes = std::fs::read(file).unwrap();
            match change {
                2..=5 => replace_text(&mut bytes, &outside, random),
                _ => mutate(&mut bytes, random),
            }
            std::fs::write(file, bytes).unwrap();
        }
    }
}

/// Replaces a text of a JSON file by one that names a place.
fn replace_text(bytes: &mut Vec<u8>, outside: &Path, random: &mut Random) {
    let outside = outside.join("x").display().to_string();
    let texts = [
        outside.as_str(),
        "../../outside/x",
        "../outside/x",
        "..",
        ".",
        "",
        "/",
        "a/b",
        "x\\u0000y",
        "sqlite@/dev/zero",
        "symlink",
    ];
    let at = random.below(bytes.len());
    let quotes = bytes
        .iter()
        .enumerate()
        .skip(at)
        .filter(|(_, byte)| **byte == b'"');
    let [begin, end] = quotes.map(|(at, _)| at).take(2).collect::<Vec<_>>()[..] else {
        return;
    };
    let text = random.one(&texts).bytes();
    bytes.splice(begin + 1..end, text);
}
