//! What the end-to-end tests share: the built program in a folder of its own, and its records.

pub mod copies;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, RunFolder, TrialRecord, Value};

/// The exit code of a run in which all went well. A debug build marks every trial as invalid.
pub const ALL_WELL: i32 = if cfg!(debug_assertions) { 1 } else { 0 };

/// Where the conformance that this build of the program has passed is remembered for all tests.
/// That it is checked without a cache is for `caches.rs` to show.
const SHARED_CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// An empty folder in which the program runs.
pub struct Bench(tempfile::TempDir);

impl Bench {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The program as a user calls it.
    pub fn plain_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("trueput"));
        command.args(arguments).current_dir(self.path());
        // What people read is in UTF-8, wherever the tests run.
        command.env("LC_ALL", "C.UTF-8");
        // What one test has checked, of this very program, no other test checks again; nor does one
        // remove what others remember.
        let is_clean = arguments.first() == Some(&"clean");
        let caches = if is_clean { "/dev/null" } else { SHARED_CACHE };
        command.env("XDG_CACHE_HOME", caches);
        command
    }

    /// The program without the measurements of hardware limits.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.plain_command(arguments);
        // They take two seconds a run, and only their own tests look at them.
        if let Some(&("run" | "threen1")) = arguments.first() {
            command.arg("--no-hardware-limits");
        }
        command
    }

    /// Runs the program to its end with nothing on standard input.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs the program to its end with `input` on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        self.spawn_with(arguments, input)
            .wait_with_output()
            .unwrap()
    }

    /// Starts the program with `input` on standard input.
    pub fn spawn_with(&self, arguments: &[&str], input: &str) -> Child {
        use std::io::Write;
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(input.as_bytes());
        // A command line that is refused ends the program before it reads, perhaps before this.
        let refused = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
        assert!(
            written.is_ok() || written.as_ref().is_err_and(refused),
            "{written:?}"
        );
        child
    }

    /// The one run folder in the results.
    pub fn run_folder(&self) -> RunFolder {
        let mut entries: Vec<_> = std::fs::read_dir(self.path().join("results"))
            .unwrap()
            .collect();
        assert_eq!(entries.len(), 1, "one run folder");
        RunFolder::open(&entries.remove(0).unwrap().path())
            .unwrap()
            .0
    }

    /// Every line of the one run folder.
    pub fn trials(&self) -> Vec<TrialRecord> {
        let stored = self.run_folder().trials().unwrap();
        assert_eq!(stored.damaged, []);
        stored.trials
    }

    /// Every file below the folder with its content.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        gather(self.path(), &mut files);
        files
    }
}

fn gather(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            files.insert(path, content);
        }
    }
}

/// The words of a command line, as a shell splits one without quotes.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Whether the trial ended well. In a debug build that it is one is the only thing against it.
pub fn ended_well(record: &TrialRecord) -> bool {
    match &record.outcome {
        Outcome::Valid => true,
        Outcome::Invalid { reasons } if cfg!(debug_assertions) => {
            reasons.len() == 1 && reasons[0].starts_with("debug build")
        }
        _ => false,
    }
}

/// The answers of 3n+1 for a range, computed as simply as can be: longest sequence, largest number.
pub fn answers(start: u64, finish: u64) -> (u64, u64) {
    let (mut longest, mut largest) = (0, 0);
    for first in start..=finish {
        let (mut number, mut steps) = (first, 0);
        while number != 1 {
            number = if number % 2 == 0 {
                number / 2
            } else {
                3 * number + 1
            };
            largest = largest.max(number);
            steps += 1;
        }
        longest = longest.max(steps);
    }
    (longest, largest)
}

/// Asserts that the trial ended well, was verified, and found the answers of its range.
pub fn assert_answers(record: &TrialRecord, start: u64, finish: u64) {
    assert!(
        ended_well(record),
        "{}: {:?}",
        record.spec.id,
        record.outcome
    );
    let verification = record.verification.as_ref().unwrap();
    assert!(verification.passed, "{:?}", verification.failures());
    let results = &record.measurement.as_ref().unwrap().results;
    let (longest, largest) = answers(start, finish);
    assert_eq!(
        results["longest"],
        Value::from(longest),
        "{}",
        record.spec.id
    );
    assert_eq!(
        results["largest"],
        Value::from(largest),
        "{}",
        record.spec.id
    );
}

/// Asserts that the program refused: code 2, one line on standard error, nothing on standard
/// output. Returns the line.
pub fn refusal(output: &Output) -> String {
    let (line, said) = (stderr(output), stdout(output));
    assert_eq!(output.status.code(), Some(2), "{line}{said}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("trueput: "), "{line}");
    assert_eq!(said, "");
    line
}

/// The worker processes of a running program: its children that are this program again.
pub fn workers_of(parent: u32) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| {
            let read = |file: &str| {
                std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
            };
            let stat = read("stat");
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            let is_child = after_name.split(' ').nth(1) == Some(parent.to_string().as_str());
            is_child && read("cmdline").split('\0').nth(1) == Some("worker")
        })
        .collect()
}

/// Waits until the running trial has stored something: a file below `folder` has that many bytes
/// on disk. Returns the workers of that moment.
pub fn wait_for_work(child: &mut Child, folder: &Path, bytes: u64, workers: usize) -> Vec<i32> {
    let give_up = Instant::now() + Duration::from_secs(120);
    loop {
        assert!(Instant::now() < give_up, "the trial stored nothing");
        assert_eq!(child.try_wait().unwrap(), None, "the program ended early");
        let pids = workers_of(child.id());
        if pids.len() == workers && allocated(folder) >= bytes {
            return pids;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn allocated(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |path: PathBuf| {
        if path.is_dir() {
            allocated(&path)
        } else {
            std::fs::metadata(&path).map_or(0, |metadata| metadata.blocks() * 512)
        }
    };
    entries
        .flatten()
        .map(|entry| size(entry.path()))
        .max()
        .unwrap_or(0)
}

/// Sends a signal to a process of this test.
pub fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
}
