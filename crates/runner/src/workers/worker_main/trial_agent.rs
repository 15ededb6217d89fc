//! The trials that a host runs by itself, with its own engines and storage, in a private run folder
//! that is removed at the end.

use super::pipe::Reporter;
use crate::hosts::connection::HostAccess;
use crate::hosts::protocol::HostReport;
use crate::hosts::trial_protocol::{
    ContenderBuild, MAX_FILE_BYTES, RemoteRun, TrialFile, TrialInstruction, TrialReport, file_names,
};
use crate::plan::resolution::resolve_trial;
use crate::program::collect_program_facts;
use crate::run::{check_proposals, run_search};
use crate::{AuditStore, ConformanceCache, Error, Event, Options, Registry, sha256_of};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueput_engine::Credentials;
use trueput_record::regular_file;
use trueput_record::trial::Proposal;
use trueput_record::{RunFolder, RunManifest, TrialSpec};

/// This program, which workers are, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// The interval at which a host that waits for trials notices that there are none.
const TICK: Duration = Duration::from_millis(100);

/// The time that a trial may take to stop once the runner has gone.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How the name of a private folder begins.
const PREFIX: &str = ".trueput-host-";

/// The file by whose lock a private folder is known to be in use.
const LOCK: &str = "lock";

/// The reason why a host cannot run trials by itself.
#[derive(Debug, thiserror::Error)]
enum TrialAgentError {
    /// A text of the runner's is not what it should be.
    #[error("the runner's plan cannot be read: {0}")]
    Plan(#[from] serde_json::Error),
    /// There is no private folder.
    #[error("{path}: {source}: name a folder that every host has with --results, or --work")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The run.
    #[error(transparent)]
    Run(#[from] Error),
    /// The private run folder.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
}

/// The trials that this host runs by itself, on a thread.
pub(super) struct TrialAgent {
    registry: Registry,
    trials: Option<Sender<Vec<TrialSpec>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TrialAgent {
    /// An agent without trials.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            trials: None,
            stop: Arc::default(),
            thread: None,
        }
    }

    /// Follows an instruction. What cannot be done is reported.
    pub fn follow(&mut self, instruction: TrialInstruction, reporter: &Arc<Reporter>) {
        match instruction {
            TrialInstruction::Begin { run } => self.begin(*run, Arc::clone(reporter)),
            TrialInstruction::Run { trials } => {
                let sent = serde_json::from_str(&trials).map(|trials| {
                    let to = self.trials.as_ref();
                    to.is_some_and(|to| to.send(trials).is_ok())
                });
                if let Err(error) = sent {
                    let message = error.to_string();
                    send(reporter, TrialReport::Failed { message });
                }
            }
            TrialInstruction::Stop => {
                self.stop.store(true, Ordering::SeqCst);
                self.trials = None;
            }
            TrialInstruction::End => self.trials = None,
        }
    }

    fn begin(&mut self, run: RemoteRun, reporter: Arc<Reporter>) {
        // This process must outlive what started it: it removes its folder. It still ends with its
        // input, or when the runner is silent. An old kernel without this has nothing to forget.
        let _ = nix::sys::prctl::set_pdeathsig(None);
        let (sender, trials) = channel();
        self.trials = Some(sender);
        let (registry, stop) = (self.registry, Arc::clone(&self.stop));
        self.thread = Some(std::thread::spawn(move || {
            let report = match run_there(&run, registry, &trials, &stop, &reporter) {
                Ok(()) => TrialReport::Finished,
                Err(error) => TrialReport::Failed {
                    message: error.to_string(),
                },
            };
            send(&reporter, report);
        }));
    }

    /// Stops what runs, and waits until nothing is left.
    pub fn close(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.trials = None;
        let until = Instant::now() + STOP_TIMEOUT;
        let is_running =
            |thread: &Option<JoinHandle<()>>| thread.as_ref().is_some_and(|it| !it.is_finished());
        while is_running(&self.thread) && Instant::now() < until {
            std::thread::sleep(TICK / 10);
        }
    }
}

impl Drop for TrialAgent {
    fn drop(&mut self) {
        self.close();
    }
}

/// Sends a report. A runner that has gone shows at the end of the input.
fn send(reporter: &Reporter, report: TrialReport) {
    let _ = reporter.send(&HostReport::Trials { report });
}

/// Runs the trials that come, until no more do.
fn run_there(
    run: &RemoteRun,
    registry: Registry,
    trials: &Receiver<Vec<TrialSpec>>,
    stop: &Arc<AtomicBool>,
    reporter: &Reporter,
) -> Result<(), TrialAgentError> {
    let (registry, _) = registry.with_installed();
    let mut manifest: RunManifest = serde_json::from_str(&run.manifest)?;
    let private = PrivateFolder::create(&run.results)?;
    let options = options(run, &private.path, stop);
    check_proposals(&manifest.trials, &options, &registry)?;
    let place = run.work.as_deref().unwrap_or(&private.path);
    let place = trueput_host::find_nearest_existing(place);
    let command = std::env::args().collect();
    manifest.host = trueput_host::read_facts(&place, collect_program_facts(command));
    let facts = serde_json::to_string(&manifest.host)?;
    let builds = builds(&manifest.trials, &options.credentials, &registry);
    send(reporter, TrialReport::Ready { facts, builds });
    let Some(first) = next_trials(trials, stop) else {
        return Ok(());
    };
    manifest.trials = first;
    let folder = RunFolder::create(&private.path, &manifest)?;
    let observer = &mut |event: &Event| {
        if let Some(report) = report_of(event, &folder) {
            send(reporter, report);
        }
    };
    let source = &mut |_: &[trueput_record::TrialRecord]| {
        send(reporter, TrialReport::Waiting);
        next_trials(trials, stop).map(Proposal::Trials)
    };
    run_search(&folder, &manifest, &registry, &options, observer, source)?;
    Ok(())
}

/// Waits for the next trials; `None` if there are no more.
fn next_trials(trials: &Receiver<Vec<TrialSpec>>, stop: &AtomicBool) -> Option<Vec<TrialSpec>> {
    loop {
        match trials.recv_timeout(TICK) {
            Ok(trials) => return Some(trials),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::SeqCst) => {}
            Err(_) => return None,
        }
    }
}

fn options(run: &RemoteRun, private: &Path, stop: &Arc<AtomicBool>) -> Options {
    let worker_program = PathBuf::from(OWN_PROGRAM);
    Options {
        credentials: Credentials::import(run.exported.clone()),
        audits: AuditStore::of_user(&worker_program),
        worker_program,
        host_access: HostAccess::default(),
        across: Vec::new(),
        results: private.to_owned(),
        work: run.work.clone(),
        keep_databases: false,
        keep_unfinished: false,
        resume_databases: false,
        disk_factor: run.disk_factor,
        hang_limit: Duration::try_from_secs_f64(run.hang_limit_s).unwrap_or(crate::HANG_TIMEOUT),
        hardware_limits: run.hardware_limits,
        conformance_cache: ConformanceCache::of_user(run.reuses_suites),
        checks_isolation: run.checks_isolation,
        until: None,
        stop: Arc::clone(stop),
    }
}

/// Returns the build of each contender here.
fn builds(
    trials: &[TrialSpec],
    credentials: &Credentials,
    registry: &Registry,
) -> Vec<ContenderBuild> {
    let mut found: Vec<ContenderBuild> = Vec::new();
    for spec in trials {
        let contender = spec.contender();
        if spec.is_on_users_server() || found.iter().any(|one| one.contender == contender) {
            continue;
        }
        let Ok(resolved) = resolve_trial(registry, credentials, spec) else {
            continue;
        };
        found.push(match resolved.engine.build() {
            Ok(build) => ContenderBuild {
                contender,
                sha256: build
                    .library
                    .as_deref()
                    .and_then(|library| sha256_of(library).ok())
                    .unwrap_or_default(),
                version: build.version,
            },
            Err(error) => ContenderBuild {
                contender,
                version: error.to_string(),
                sha256: String::new(),
            },
        });
    }
    found
}

/// Returns what the runner is told of an event.
fn report_of(event: &Event, folder: &RunFolder) -> Option<TrialReport> {
    Some(match event {
        Event::TrialStarted { spec, .. } => TrialReport::Started {
            id: spec.id.clone(),
        },
        Event::TrialProgress {
            id,
            phase,
            fraction,
            rate_per_s,
        } => TrialReport::Progress {
            id: id.clone(),
            phase: *phase,
            fraction: *fraction,
            rate_per_s: *rate_per_s,
        },
        Event::TrialEnded { record } => TrialReport::Ended {
            record: serde_json::to_string(record).ok()?,
            files: read_files(folder, &record.spec.id),
        },
        Event::Warning { message } => TrialReport::Note {
            message: message.clone(),
        },
        Event::RunStarted { .. }
        | Event::ConformanceChecked { .. }
        | Event::IsolationChecked { .. }
        | Event::RunEnded { .. } => return None,
    })
}

/// Reads the files of a trial that there are.
fn read_files(folder: &RunFolder, id: &str) -> Vec<TrialFile> {
    let read = |name: String| {
        let bytes = regular_file::read(folder.path(), Path::new(&name), MAX_FILE_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(TrialFile { name, text })
    };
    file_names(id).into_iter().filter_map(read).collect()
}

/// A folder of this process alone, which is removed with it. What killed ones have left on this
/// host is removed, too.
struct PrivateFolder {
    path: PathBuf,
    /// The folder around it, if it was made for it.
    made_parent: Option<PathBuf>,
    _lock: File,
}

impl PrivateFolder {
    fn create(parent: &Path) -> Result<Self, TrialAgentError> {
        let refuse = |source| TrialAgentError::Folder {
            path: parent.to_owned(),
            source,
        };
        let is_new = !parent.exists();
        std::fs::create_dir_all(parent).map_err(refuse)?;
        let host = nix::unistd::gethostname().unwrap_or_default();
        let prefix = format!("{PREFIX}{}-", host.to_string_lossy());
        remove_leftovers(parent, &prefix);
        let path = parent.join(format!("{prefix}{}", std::process::id()));
        std::fs::create_dir(&path).map_err(refuse)?;
        let lock = File::create(path.join(LOCK)).map_err(refuse)?;
        // A file system without locks can still be measured; its leftovers stay.
        let _ = lock.try_lock();
        Ok(Self {
            path,
            made_parent: is_new.then(|| parent.to_owned()),
            _lock: lock,
        })
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the next run here.
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(parent) = &self.made_parent {
            // Others may use it by now.
            let _ = std::fs::remove_dir(parent);
        }
    }
}

/// Removes the private folders of processes that were killed.
fn remove_leftovers(parent: &Path, prefix: &str) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_private = entry.file_name().to_string_lossy().starts_with(prefix);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_private || !is_folder {
            continue;
        }
        let path = entry.path();
        let lock = regular_file::open(&path, Path::new(LOCK), regular_file::OpenMode::Read);
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_goes_with_its_process_and_those_of_killed_ones_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let results = parent.path().join("results");
        let host = nix::unistd::gethostname().unwrap();
        let left = results.join(format!("{PREFIX}{}-1", host.to_string_lossy()));
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join(LOCK), "").unwrap();
        let used = results.join(format!("{PREFIX}{}-2", host.to_string_lossy()));
        std::fs::create_dir(&used).unwrap();
        let lock = File::create(used.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        let private = PrivateFolder::create(&results).unwrap();
        assert!(!left.exists() && used.exists() && private.path.exists());
        let path = private.path.clone();
        drop(private);
        assert!(!path.exists() && results.exists());
        // A folder for results that was made for it goes, too.
        let other = parent.path().join("other");
        drop(PrivateFolder::create(&other).unwrap());
        assert!(!other.exists());
    }
}
