//! Shared parts of the end-to-end tests: the built program in a separate folder, and its records.

#[path = "../../../report/tests/it/support/browser.rs"]
pub mod browser;
pub mod copies;
pub mod json_schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, RunFolder, TrialRecord, Value};

/// The exit code of a run in which all went well. A debug build marks every trial as invalid.
pub const ALL_WELL: i32 = if cfg!(debug_assertions) { 1 } else { 0 };

/// The cache in which all tests remember the conformance that this build has passed. `caches.rs`
/// tests the checks without a cache.
pub const SHARED_CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// A command line: a text that is split at white space, or a list if words contain some.
pub trait CommandLine {
    fn words(&self) -> Vec<&str>;
}

impl CommandLine for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl CommandLine for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl<T: AsRef<str>> CommandLine for [T] {
    fn words(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<T: AsRef<str>, const N: usize> CommandLine for [T; N] {
    fn words(&self) -> Vec<&str> {
        self.as_slice().words()
    }
}

impl<T: AsRef<str>> CommandLine for Vec<T> {
    fn words(&self) -> Vec<&str> {
        self.as_slice().words()
    }
}

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
    pub fn plain_command(&self, line: &(impl CommandLine + ?Sized)) -> Command {
        let arguments = line.words();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("trueput"));
        command.args(&arguments).current_dir(self.path());
        // Text for people is in UTF-8, wherever the tests run.
        command.env("LC_ALL", "C.UTF-8");
        // Conformance that one test has checked with this program is not checked again by others,
        // and no test removes what others remember.
        let is_clean = arguments.first() == Some(&"clean");
        let caches = if is_clean { "/dev/null" } else { SHARED_CACHE };
        command.env("XDG_CACHE_HOME", caches);
        // Audits of one test are none of another's business.
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    /// The program without the measurements of hardware limits.
    pub fn command(&self, line: &(impl CommandLine + ?Sized)) -> Command {
        let mut command = self.plain_command(line);
        // They take two seconds a run, and only their own tests look at them.
        if let Some(&("run" | "threen1" | "capacity" | "tune")) = line.words().first() {
            command.arg("--no-hardware-limits");
        }
        command
    }

    /// Runs the program to its end with nothing on standard input.
    pub fn run(&self, line: &(impl CommandLine + ?Sized)) -> Output {
        let mut command = self.command(line);
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// Runs the program to its end, which must be with this exit code.
    #[track_caller]
    pub fn run_expecting(&self, code: i32, line: &(impl CommandLine + ?Sized)) -> Output {
        expect_code(code, self.run(line))
    }

    /// Runs the program to its end with a variable of its environment set.
    pub fn run_with_variable(
        &self,
        (name, value): (&str, &Path),
        line: &(impl CommandLine + ?Sized),
    ) -> Output {
        self.command(line).env(name, value).output().unwrap()
    }

    /// The program's standard output.
    pub fn stdout_of(&self, line: &(impl CommandLine + ?Sized)) -> String {
        stdout(&self.run(line))
    }

    /// The JSON document that the program writes to its standard output.
    #[track_caller]
    pub fn json_of(&self, line: &(impl CommandLine + ?Sized)) -> serde_json::Value {
        let output = self.run(line);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
    }

    /// The one line in which the program refuses.
    #[track_caller]
    pub fn refusal_of(&self, line: &(impl CommandLine + ?Sized)) -> String {
        refusal(&self.run(line))
    }

    /// Runs the program to its end with `input` on standard input.
    pub fn run_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Output {
        self.spawn_with(line, input).wait_with_output().unwrap()
    }

    /// Starts the program with `input` on standard input.
    pub fn spawn_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Child {
        use std::io::Write;
        let mut command = self.command(line);
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

    /// Puts here what a command line leaves in an empty folder. It is run once in this process, for
    /// all tests.
    pub fn run_once(&self, line: &str) {
        type Files = Arc<OnceLock<BTreeMap<PathBuf, Vec<u8>>>>;
        static MADE: Mutex<BTreeMap<String, Files>> = Mutex::new(BTreeMap::new());
        let files = MADE
            .lock()
            .unwrap()
            .entry(line.to_owned())
            .or_default()
            .clone();
        let files = files.get_or_init(|| {
            let bench = Self::new();
            bench.run_expecting(ALL_WELL, line);
            let files = bench.snapshot().into_iter();
            let below = |path: PathBuf| path.strip_prefix(bench.path()).unwrap().to_owned();
            files.map(|(path, bytes)| (below(path), bytes)).collect()
        });
        for (path, bytes) in files {
            let path = self.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// The path of the only run folder.
    pub fn run_path(&self) -> String {
        self.run_folder().path().to_str().unwrap().to_owned()
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

/// Asserts that a program that has ended did so with this exit code.
#[track_caller]
pub fn expect_code(code: i32, output: Output) -> Output {
    let (said, text) = (stderr(&output), stdout(&output));
    assert_eq!(output.status.code(), Some(code), "{said}{text}");
    output
}

/// Asserts that a command is refused in one line, with what would be right, before anything runs.
#[track_caller]
pub fn assert_refused(bench: &Bench, line: &str, right: &str) {
    assert_contains(&bench.refusal_of(line), &[right]);
    assert!(!bench.path().join("results").exists(), "{line}");
}

/// Asserts that a text contains each of the parts.
#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

/// A text with each run of white space replaced by one space: wrapped lines become one.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether an engine can be used on this machine; prints a message if not.
pub fn is_installed(engine: &str) -> bool {
    let mut registry = trueput::registry().engines.iter();
    let driver = registry.find(|driver| driver.info().name == engine);
    match driver.unwrap().build() {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            false
        }
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Whether the trial ended well. A debug build may be the only reason against it.
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

/// The output of a command that must succeed and leave standard error empty.
#[track_caller]
pub fn listing(line: &str) -> String {
    let output = Bench::new().run_expecting(0, line);
    assert_eq!(stderr(&output), "");
    stdout(&output)
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
    children_of(parent, |arguments| arguments.get(1) == Some(&"worker"))
}

/// The children of a process whose arguments, the program's name first, are those.
pub fn children_of(parent: u32, accepts: impl Fn(&[&str]) -> bool) -> Vec<i32> {
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
            let command_line = read("cmdline");
            is_child && accepts(&command_line.split('\0').collect::<Vec<_>>())
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
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            allocated(&path)
        } else if name.to_string_lossy().starts_with("reserve") {
            // Room for the records of a run, and no work.
            0
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

/// An ext4 file system of a test's own in an image, mounted as long as this lives.
pub struct LoopMount(PathBuf);

impl LoopMount {
    /// # Errors
    /// Why it cannot be had: only root may mount, and some containers have no loop devices.
    pub fn new(image: &Path, folder: &Path, size_bytes: u64) -> Result<Self, String> {
        std::fs::File::create(image)
            .unwrap()
            .set_len(size_bytes)
            .unwrap();
        std::fs::create_dir_all(folder).unwrap();
        let shown = [image, folder].map(|path| path.to_str().unwrap());
        let run = |program: &str, options: &[&str], paths: &[&str]| {
            let output = Command::new(program).args(options).args(paths).output();
            let output = output.map_err(|error| format!("{program}: {error}"))?;
            let is_well = output.status.success();
            is_well
                .then_some(())
                .ok_or_else(|| format!("{program}: {}", stderr(&output)))
        };
        run("mkfs.ext4", &["-q", "-F", "-m", "0"], &shown[..1])?;
        run("mount", &["-o", "loop"], &shown)?;
        Ok(Self(folder.to_owned()))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for LoopMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Copies a folder with all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Makes a named pipe.
pub fn make_fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

/// Whether a process with this id exists.
pub fn is_alive(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Sends a signal to a process of this test.
pub fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
}
