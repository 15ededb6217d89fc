//! An engine and a workload that do what a test of the runner needs, and nothing else.

use crate::hooks::{HookedDatabase, Hooks};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_engine::{
    Build, Capabilities, Database, Durability, Engine, Info, Isolation, Mode, Null, OpenSpec,
    Parameter, ParameterValues, Promise, Result, Value, ValueVisitor, parameters,
};
use trueput_record::measurement::Check;
use trueput_record::{Conditions, Survival, TrialSpec, VerifyLevel};
use trueput_workloads::{
    Error, ErrorContext, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError,
    JobResults, JobTask, LoadSummary, WorkerFindings, Workload,
};

/// The null engine, with a log in the database's folder of who was ready and who stored.
pub struct Toy {
    name: &'static str,
    version: &'static str,
    /// Whether it claims to keep what it does not keep.
    boasts: bool,
    /// Where it hangs.
    hangs: Option<Hang>,
}

/// A moment at which an engine hangs, waits or fails.
#[derive(Clone, Copy, PartialEq)]
pub enum Hang {
    /// When the conformance suite opens a database.
    Conformance,
    /// When workers open the database.
    Open,
    /// When a worker that has stored closes the database.
    Close,
    /// For all [`SLOW_STEPS`], when a worker that has stored closes the database.
    SlowClose,
    /// For [`SLOW_STEP`], when a worker that has stored asks for the engine's counters.
    Counters,
    /// For [`MEETING_TIMEOUT`], when the conformance suite opens a database, unless that of another
    /// engine does, too.
    Alone,
    /// It fails when a suite opens a database that runs at the same time as others.
    Concurrent,
    /// Its process is killed when the conformance suite opens a database: the first time.
    KilledOnce,
    /// Its process is killed whenever the conformance suite opens a database.
    Killed,
}

impl Toy {
    pub const fn new(name: &'static str, version: &'static str, boasts: bool) -> Self {
        Self {
            name,
            version,
            boasts,
            hangs: None,
        }
    }

    pub const fn hanging(name: &'static str, hang: Hang) -> Self {
        Self {
            hangs: Some(hang),
            ..Self::new(name, "1.0", false)
        }
    }

    /// Hangs, if it is to hang when this folder is opened.
    fn hang_at_open(&self, directory: &Path) {
        let is_suite = is_of_suite(directory);
        let is_loaded = directory.join(LOADED).exists();
        let hangs = match self.hangs {
            Some(Hang::Conformance) => is_suite,
            Some(Hang::Open) => !is_suite && is_loaded,
            _ => false,
        };
        if hangs {
            let work = directory.ancestors().find(|it| it.ends_with("work"));
            work.into_iter().for_each(note_hang);
            hang();
        }
    }

    /// Is killed, as by somebody else, if that is to happen when the suite opens this folder.
    fn be_killed(&self, directory: &Path) {
        let work = directory.ancestors().find(|it| it.ends_with("work"));
        let was_killed = |work: &Path| work.with_file_name(HANGS).exists();
        let dies = match self.hangs {
            Some(Hang::Killed) => true,
            Some(Hang::KilledOnce) => !work.is_some_and(was_killed),
            _ => false,
        };
        if dies {
            work.into_iter().for_each(note_hang);
            nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
        }
    }
}

/// Whether a folder is that of the conformance suite, or in it.
fn is_of_suite(directory: &Path) -> bool {
    let mut names = directory.iter();
    names.any(|name| name.to_string_lossy().starts_with(".conformance"))
}

/// The folder beside the work folder in which processes note that they have come to a point.
pub const MEETINGS: &str = "meetings";

/// The file in it of a process that has waited for another one in vain.
pub const ALONE: &str = "alone";

/// Longer than a busy machine takes to start a process.
const MEETING_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits at a point until another process has come to it, too.
fn wait_for_another(directory: &Path, point: &str) {
    let work = directory.ancestors().find(|it| it.ends_with("work"));
    let folder = work.unwrap().with_file_name(MEETINGS).join(point);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(std::process::id().to_string()), "").unwrap();
    let until = Instant::now() + MEETING_TIMEOUT;
    while std::fs::read_dir(&folder).unwrap().count() < 2 {
        if Instant::now() >= until {
            std::fs::write(folder.join(ALONE), "").unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The file beside the work folder that has a byte for each time that an engine hung at opening.
pub const HANGS: &str = "hangs";

fn note_hang(work: &Path) {
    let mut options = std::fs::File::options();
    let file = options.create(true).append(true);
    let mut file = file.open(work.with_file_name(HANGS)).unwrap();
    file.write_all(b"!").unwrap();
}

/// The file that says that somebody hangs.
pub const HANGING: &str = "hanging";

fn hang_visibly(directory: &Path) -> ! {
    std::fs::write(directory.join(HANGING), "").unwrap();
    hang()
}

pub fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// The toy whose libraries are the toy itself.
pub const DISGUISED: &str = "disguised";

pub const LOG: &str = "toy.log";

/// The steps of a slow load.
pub const SLOW_STEPS: u32 = 8;
pub const SLOW_STEP: Duration = Duration::from_secs(1);

/// The file of the load in the database's folder, and its size.
pub const LOADED: &str = "loaded";
pub const LOADED_BYTES: usize = 1 << 20;

/// The memory that the act `hoard` allocates.
pub const HOARD_BYTES: usize = 256 << 20;

/// The bytes that the act `flush` writes, and the number of parts in which it flushes them.
pub const FLUSHED_BYTES: usize = 64 << 20;
pub const FLUSHES: usize = 16;

impl Engine for Toy {
    fn info(&self) -> Info {
        Info {
            name: self.name,
            title: self.name,
            ..Null.info()
        }
    }

    /// Whatever the library, it is another toy.
    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        if self.name == DISGUISED {
            Ok(Box::new(Self::new("toy", "1.0", false)))
        } else {
            Null.with_library(library)
        }
    }

    fn build(&self) -> Result<Build> {
        Ok(Build {
            version: self.version.to_owned(),
            library: None,
            assertions: None,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            retains_data: self.boasts,
            ..Null.capabilities()
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        Null.promise_with(durability, knobs)
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Null.isolation(knobs)
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        println!("an engine that prints must not disturb the runner");
        self.hang_at_open(spec.directory);
        if is_of_suite(spec.directory) {
            self.be_killed(spec.directory);
        }
        if self.hangs == Some(Hang::Alone) && is_of_suite(spec.directory) {
            wait_for_another(spec.directory, "suites");
        }
        let is_concurrent = |name: &OsStr| name.to_string_lossy().starts_with(".conformance.");
        if self.hangs == Some(Hang::Concurrent) && spec.directory.iter().any(is_concurrent) {
            return Err(trueput_engine::Error::engine("others are in the way"));
        }
        let inner = Null.open(spec)?;
        Ok(Box::new(HookedDatabase {
            inner,
            hooks: ToyLog {
                path: spec.directory.join(LOG),
                has_slow_counters: self.hangs == Some(Hang::Counters),
                hang_at_close: self.hangs.filter(|_| !is_of_suite(spec.directory)),
                has_stored: AtomicBool::new(false),
            },
            settings: BTreeMap::from([("printed".to_owned(), Value::from(true))]),
        }))
    }
}

/// The log of who was ready and who stored.
struct ToyLog {
    path: PathBuf,
    hang_at_close: Option<Hang>,
    has_slow_counters: bool,
    has_stored: AtomicBool,
}

impl Drop for ToyLog {
    fn drop(&mut self) {
        if !self.has_stored.load(Ordering::Relaxed) {
            return;
        }
        match self.hang_at_close {
            Some(Hang::Close) => hang(),
            Some(Hang::SlowClose) => std::thread::sleep(SLOW_STEP * SLOW_STEPS),
            _ => {}
        }
    }
}

fn note(log: &Path, word: &str) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    file.write_all(format!("{word} {}\n", std::process::id()).as_bytes())
        .unwrap();
}

impl Hooks for ToyLog {
    fn before_session(&self) {
        // Sessions become ready at different times, so that a barrier has something to do.
        let delay_ms = u64::from(std::process::id() % 4) * 40;
        std::thread::sleep(Duration::from_millis(delay_ms));
        note(&self.path, "ready");
    }

    /// Shows the log.
    fn before_get(&self, key: &[u8], visitor: &mut ValueVisitor<'_>) {
        if key == LOG.as_bytes() {
            visitor(&std::fs::read(&self.path).unwrap());
        }
    }

    fn before_first_put(&self) {
        note(&self.path, "put");
        self.has_stored.store(true, Ordering::Relaxed);
    }

    fn before_flush_counters(&self) {
        if self.has_slow_counters && self.has_stored.load(Ordering::Relaxed) {
            std::thread::sleep(SLOW_STEP);
        }
    }
}

/// A workload whose setting `act` says what its workers do.
pub struct Play;

parameters! {
    /// The settings of [`Play`].
    struct PlaySettings {
        /// The action of the workers.
        act: Choice = "store" of [
            "store", "abort", "exit", "fail", "panic", "callback", "wrong", "endless", "hang",
            "hoard", "flush", "hang-prepare", "slow-prepare", "hang-prime", "hang-verify",
            "meet-verify", "begin", "continue",
        ],
        /// Wait after each operation.
        pause_ms: Integer = 0 in 0..=1_000, unit "ms",
        /// Expected size of the database.
        bytes: Integer = 1 in 0.., unit "bytes",
    }
}

/// Stores of each worker that come to an end.
pub const STORES: u64 = 100;

impl Workload for Play {
    fn info(&self) -> trueput_workloads::WorkloadInfo {
        trueput_workloads::WorkloadInfo {
            name: "play",
            summary: "plays",
            headline: "store",
            worker_kind: trueput_record::WorkerKind::Processes,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        PlaySettings::PARAMETERS
    }

    fn job(
        &self,
        settings: &ParameterValues,
        _conditions: &Conditions,
    ) -> std::result::Result<Box<dyn Job>, JobError> {
        let settings = PlaySettings::from(settings);
        Ok(Box::new(Act {
            act: settings.act,
            pause: Duration::from_millis(settings.pause_ms),
            bytes: settings.bytes,
        }))
    }
}

struct Act {
    act: &'static str,
    pause: Duration,
    bytes: u64,
}

impl Act {
    /// Loads the machine rather than the engine.
    fn burden(&self, directory: &Path) -> std::io::Result<()> {
        match self.act {
            "hoard" => drop(std::hint::black_box(vec![1_u8; HOARD_BYTES])),
            "flush" => {
                let mut file = std::fs::File::create(directory.join("flushed"))?;
                for _ in 0..FLUSHES {
                    file.write_all(&vec![1; FLUSHED_BYTES / FLUSHES])?;
                    file.sync_all()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn misbehave(&self, worker: u32, directory: &Path) -> std::result::Result<(), Error> {
        match (self.act, worker) {
            ("abort", 1) => std::process::abort(),
            ("exit", 1) => {
                eprintln!("the toy's last words");
                std::process::exit(7)
            }
            ("panic", 1) => panic!("the toy is out of its depth"),
            ("callback", 1) => {
                panic_in_callback();
                Ok(())
            }
            ("hang", 1) => hang_visibly(directory),
            ("fail", 1) => Err(Error::Workload("the toy is tired".to_owned())),
            _ => Ok(()),
        }
    }
}

/// Panics in a function that C calls, which cannot unwind.
extern "C" fn panic_in_callback() {
    panic!("the toy's callback fell over")
}

impl Job for Act {
    fn kinds(&self) -> &'static [&'static str] {
        &["look", "store"]
    }

    fn total_units(&self) -> u64 {
        STORES
    }

    fn expected_bytes(&self) -> u64 {
        self.bytes
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        counts.get(1).copied()
    }

    fn is_resumable(&self) -> bool {
        true
    }

    fn check_crash(&self, _survival: Survival) -> std::result::Result<(), JobError> {
        Ok(())
    }

    fn load_key(&self) -> Option<String> {
        let shares = ["begin", "continue"].contains(&self.act);
        shares.then(|| "begun".to_owned())
    }

    fn goes_on_after(&self, before: &TrialSpec, trial: &TrialSpec) -> bool {
        self.is_continuation() && before.repeat == trial.repeat
    }

    fn is_continuation(&self) -> bool {
        self.act == "continue"
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> std::result::Result<Option<LoadSummary>, Error> {
        (target.progress)(1.0);
        match self.act {
            "hang-prepare" => hang_visibly(target.directory),
            "slow-prepare" => (1..=SLOW_STEPS).for_each(|step| {
                std::thread::sleep(SLOW_STEP);
                (target.progress)(f64::from(step) / f64::from(SLOW_STEPS));
            }),
            _ => {}
        }
        std::fs::write(target.directory.join(LOADED), [1; LOADED_BYTES])
            .map_err(|error| Error::Workload(error.to_string()))?;
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> std::result::Result<WorkerFindings, Error> {
        let ends = !["endless", "abort", "exit", "fail", "panic", "callback"].contains(&self.act);
        let mut stores = 0;
        self.burden(task.directory)
            .map_err(|error| Error::Workload(error.to_string()))?;
        // A misbehaving act leaves the others waiting until they are stopped.
        while (!ends || stores < STORES) && task.meter.next_unit() {
            task.meter.start();
            task.session
                .begin(Mode::Write)
                .context(|| "beginning".to_owned())?;
            task.meter.finish(0);
            task.session
                .put(b"key", b"value")
                .context(|| "storing".to_owned())?;
            task.session.commit().context(|| "committing".to_owned())?;
            task.meter.finish(1);
            task.meter.finish_unit(1);
            task.meter.advance(1);
            std::thread::sleep(self.pause);
            stores += 1;
            if stores == 3 {
                self.misbehave(task.worker, task.directory)?;
            }
        }
        Ok(WorkerFindings::from([("stores".to_owned(), stores)]))
    }

    fn prime(&self, _task: &mut JobTask<'_>) -> std::result::Result<(), Error> {
        if self.act == "hang-prime" {
            hang();
        }
        Ok(())
    }

    fn verify(
        &self,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> std::result::Result<JobResults, Error> {
        if self.act == "hang-verify" {
            hang_visibly(target.directory);
        }
        if self.act == "meet-verify" {
            wait_for_another(target.directory, "verifications");
        }
        let log = Mutex::new(String::new());
        let mut session = target
            .database
            .session()
            .context(|| "a session".to_owned())?;
        session
            .begin(Mode::Read)
            .context(|| "beginning".to_owned())?;
        let mut keep = |bytes: &[u8]| *log.lock().unwrap() = String::from_utf8_lossy(bytes).into();
        session
            .get(LOG.as_bytes(), &mut keep)
            .context(|| "reading".to_owned())?;
        session.abort().context(|| "ending".to_owned())?;
        let found = ended
            .findings
            .iter()
            .filter_map(|findings| findings.get("stores"))
            .sum();
        let expected = if self.act == "wrong" {
            ended.counts[1] + 1
        } else {
            ended.counts[1]
        };
        let checks = match ended.verify {
            VerifyLevel::Off => Vec::new(),
            _ => vec![Check::equal("stores", &expected, &found)],
        };
        let log = log.into_inner().unwrap();
        Ok(JobResults {
            results: BTreeMap::from([("log".to_owned(), Value::Text(log))]),
            checks,
        })
    }
}
