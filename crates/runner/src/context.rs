//! The state of a run.

use crate::evidence::database_size::SizeError;
use crate::evidence::summaries::HistogramError;
use crate::failure_reason::FailureReason;
use crate::fault_servers::{FaultServerError, FaultServers};
use crate::hosts::error::HostError;
use crate::hosts::workers::HostWorkers;
use crate::knowledge::{HashedFile, Knowledge};
use crate::plan::disk_space::NoRoom;
use crate::plan::refusal::Refusal;
use crate::plan::resolution::{ResolvedTrial, resolve_trial};
use crate::trial::conformance_cache::FileState;
use crate::trial::fault_injector::FaultError;
use crate::trial::kept_server::KeptServer;
use crate::trial::phase_limit::{ExpectedWork, LimitedPhase, PhaseClock, expected_bytes_per_s};
use crate::{Event, Options, Registry};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use trueput_host::cgroup::MemoryLimitError;
use trueput_host::folder_copy::CopyError;
use trueput_host::run_work_folder::{RunWorkFolder, TrialFolderError};
use trueput_host::service::SurvivingProcesses;
use trueput_record::conditions::HostList;
use trueput_record::value::format_bytes;
use trueput_record::{TrialRecord, TrialSpec};

/// The state that the parts of a run share.
pub(crate) struct RunContext<'a> {
    /// The engines and workloads.
    pub registry: &'a Registry,
    /// The options of the run.
    pub options: &'a Options,
    /// The receiver of events.
    pub observer: &'a mut dyn FnMut(&Event),
    /// The run's folder in the work folder.
    pub area: Arc<RunWorkFolder>,
    /// The servers of storage that fails.
    pub faults: Arc<FaultServers>,
    /// The databases that the last trials left for the next ones.
    pub reusable: Vec<ReusableDatabase>,
    /// The servers that run on them.
    pub kept_servers: Vec<KeptServer>,
    /// The thread, if tasks of the run go on at the same time.
    pub thread: Option<TaskThread>,
    /// What the run has found out so far.
    pub known: Knowledge,
}

/// A thread of several whose tasks go on at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskThread {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// A configuration that a search tries may prepare its database for so many times as long as the
/// default, and [`PREPARATION_MARGIN`] longer: some engines never end with some knobs.
const PREPARATION_FACTOR: u32 = 10;

/// Covers what other programs take of a short preparation.
const PREPARATION_MARGIN: Duration = Duration::from_secs(5);

/// Suites leave no more folders behind that cannot be removed.
const MAX_SUITE_FOLDERS: u32 = 10;

/// So many tasks go on at the same time at most: each starts processes that have threads of their
/// own, and all write to one disk.
pub(crate) const MAX_THREADS: usize = 4;

/// A disk with less free space is full.
const FULL_BYTES: u64 = 4 << 20;

/// Returns the longest preparation of a database with the default knobs, by contender of a search,
/// of trials that have ended.
pub(crate) fn default_preparations(trials: &[TrialRecord]) -> HashMap<u32, Duration> {
    let mut preparations = HashMap::new();
    for trial in trials {
        if let Some(load) = &trial.load {
            let took = Duration::try_from_secs_f64(load.elapsed_s).unwrap_or_default();
            note_preparation(&mut preparations, &trial.spec, took);
        }
    }
    preparations
}

/// Returns the longest load of each data set, of trials that have ended.
pub(crate) fn known_loads(trials: &[TrialRecord]) -> HashMap<String, Duration> {
    let mut loads = HashMap::new();
    for trial in trials {
        if let Some(load) = &trial.load {
            let took = Duration::try_from_secs_f64(load.elapsed_s).unwrap_or_default();
            note_load(&mut loads, &trial.spec, took);
        }
    }
    loads
}

fn note_load(loads: &mut HashMap<String, Duration>, spec: &TrialSpec, took: Duration) {
    let longest = loads.entry(name_data_set(spec)).or_default();
    *longest = took.max(*longest);
}

/// Returns how long the workers of each trial have worked on its database, of all its parts.
pub(crate) fn known_runs(trials: &[TrialRecord]) -> HashMap<String, Duration> {
    let mut runs = HashMap::new();
    for trial in trials {
        if let Some(measurement) = &trial.measurement {
            let took = Duration::try_from_secs_f64(measurement.elapsed_s).unwrap_or_default();
            note_run(&mut runs, &trial.spec, took);
        }
    }
    runs
}

/// Returns the engines' files of trials that have ended, as the first trial with each found it.
pub(crate) fn known_files(trials: &[TrialRecord]) -> HashMap<PathBuf, HashedFile> {
    let mut files = HashMap::new();
    for engine in trials.iter().filter_map(|trial| trial.engine.as_ref()) {
        let file = Path::new(&engine.origin);
        if !file.is_absolute() || engine.sha256.is_empty() {
            continue;
        }
        files.entry(file.to_owned()).or_insert_with(|| HashedFile {
            state: None,
            sha256: engine.sha256.clone(),
            first_sha256: engine.sha256.clone(),
        });
    }
    files
}

fn note_run(runs: &mut HashMap<String, Duration>, spec: &TrialSpec, took: Duration) {
    let whole = runs.entry(spec.id.clone()).or_default();
    *whole = whole.saturating_add(took);
}

/// Returns what decides which data a trial loads.
fn name_data_set(spec: &TrialSpec) -> String {
    format!("{} {:?}", spec.workload, spec.settings)
}

fn note_preparation(preparations: &mut HashMap<u32, Duration>, spec: &TrialSpec, took: Duration) {
    if let Some(role) = spec.role.filter(|role| !role.has_changes()) {
        let longest = preparations.entry(role.contender).or_default();
        *longest = took.max(*longest);
    }
}

/// Returns the name of the folder in which a thread runs suites; 0 is the run's own.
fn suite_folder(name: &str, thread: usize) -> String {
    match thread {
        0 => name.to_owned(),
        thread => format!("{name}.{thread}"),
    }
}

/// A loaded database that the next trial may use.
#[derive(Debug, Clone)]
pub(crate) struct ReusableDatabase {
    /// The load that it holds: engine, knobs, level, and data.
    pub key: String,
    /// The trial whose folder it is in.
    pub id: String,
    /// The number of trials that have run on it.
    pub generation: u32,
    /// The last of them.
    pub spec: TrialSpec,
}

impl RunContext<'_> {
    /// Returns whether the user stopped the run.
    pub fn stopped(&self) -> bool {
        self.options.stop.load(Relaxed)
    }

    /// Returns the time that a search's candidate may take to prepare its database, to verify it,
    /// or to open it after a crash; `None`: as long as it gets on.
    pub fn preparation_limit(&self, spec: &TrialSpec) -> Option<Duration> {
        let role = spec.role.filter(|role| role.is_candidate())?;
        let default = *self.known.preparations.get(&role.contender)?;
        Some(default * PREPARATION_FACTOR + PREPARATION_MARGIN)
    }

    /// Notes how long a trial has prepared its database.
    pub fn note_preparation(&mut self, spec: &TrialSpec, took: Duration) {
        note_preparation(&mut self.known.preparations, spec, took);
        note_load(&mut self.known.loads, spec, took);
    }

    /// Notes how long the workers of a trial have worked on its database.
    pub fn note_run(&mut self, spec: &TrialSpec, took: Duration) {
        note_run(&mut self.known.runs, spec, took);
    }

    /// Returns the longest time that the data of a trial took to load; zero if that is unknown.
    pub fn longest_load(&self, spec: &TrialSpec) -> Duration {
        let known = self.known.loads.get(&name_data_set(spec));
        known.copied().unwrap_or_default()
    }

    /// Resolves a trial, or returns it as it was resolved before.
    ///
    /// # Errors
    /// As [`resolve_trial`].
    pub fn resolve(&self, spec: &TrialSpec) -> Result<Arc<ResolvedTrial>, Refusal> {
        let mut known = self.known.resolved.borrow_mut();
        if let Some((_, resolved)) = known.iter().find(|(of, _)| of == spec) {
            return Ok(Arc::clone(resolved));
        }
        let resolved = Arc::new(resolve_trial(
            self.registry,
            &self.options.credentials,
            spec,
        )?);
        known.push((spec.clone(), Arc::clone(&resolved)));
        Ok(resolved)
    }

    /// Connects to the hosts of a trial.
    ///
    /// # Errors
    /// [`TrialError::Interrupted`] if their allocation has ended, [`TrialError::Failed`] with the
    /// host that cannot be used, and the remedy.
    pub fn connect_hosts(
        &mut self,
        spec: &TrialSpec,
        resolved: &ResolvedTrial,
    ) -> Result<HostWorkers, TrialError> {
        let sha256 = self.sha256(None)?;
        let names = spec
            .conditions
            .hosts
            .as_ref()
            .map_or(&[][..], HostList::names);
        let (access, program) = (&self.options.host_access, &self.options.worker_program);
        let connected = match HostWorkers::connect(names, access, program, &sha256) {
            Err(ended) if ended.is_end_of_allocation() => {
                // No trial has hosts any more: those that have not run can be resumed.
                self.options.stop.store(true, Relaxed);
                self.warn(ended.to_string());
                return Err(TrialError::Interrupted);
            }
            connected => connected?,
        };
        match connected.find_other_machine() {
            Some(host) if resolved.engine.service().is_some() => Err(TrialError::from(format!(
                "the private server of {engine} is reachable on this machine only, and host \
                 '{host}' is another one: name a server that the hosts reach, as \
                 {engine}@ADDRESS",
                engine = spec.engine
            ))),
            _ => Ok(connected),
        }
    }

    /// Forgets all resolved trials but that of `next`.
    pub fn forget_resolved(&self, next: Option<&TrialSpec>) {
        let mut known = self.known.resolved.borrow_mut();
        known.retain(|(spec, _)| Some(spec) == next);
    }

    /// Sends an event to the observer.
    pub fn emit(&mut self, event: &Event) {
        (self.observer)(event);
    }

    /// Removes the databases that were left for next trials, except those with these loads, unless
    /// databases are kept.
    pub fn drop_reusable_except(&mut self, keys: &[String]) {
        let is_wanted = |database: &ReusableDatabase| keys.contains(&database.key);
        let (wanted, others) = std::mem::take(&mut self.reusable)
            .into_iter()
            .partition(is_wanted);
        self.reusable = wanted;
        for database in others {
            self.drop_database(&database);
        }
    }

    /// Kills the server that was kept on the database of that trial, if there is one.
    pub fn kill_kept_server(&mut self, id: &str) {
        let its = self.kept_servers.extract_if(.., |kept| kept.is_of(id));
        its.for_each(KeptServer::kill);
    }

    /// Removes a database that was left for a next trial, unless databases are kept.
    pub fn drop_database(&mut self, database: &ReusableDatabase) {
        self.kill_kept_server(&database.id);
        let done = if self.options.keep_databases {
            self.area.unmount_trial(&database.id).map_err(Into::into)
        } else {
            self.remove_database(&database.id, &database.spec)
        };
        if let Err(error) = done {
            self.warn(error.to_string());
        }
    }

    /// Takes the database with that load that was left for a next trial; `None` if there is none.
    pub fn take_reusable(&mut self, key: &str) -> Option<ReusableDatabase> {
        let place = self.reusable.iter().position(|left| left.key == key)?;
        Some(self.reusable.swap_remove(place))
    }

    /// Removes the folder of a trial's database, within the limit of that phase.
    ///
    /// # Errors
    /// [`DatabaseFolderError`], if it cannot be removed in time, or a process that cannot be killed
    /// has it.
    pub fn remove_database(&self, id: &str, spec: &TrialSpec) -> Result<(), DatabaseFolderError> {
        self.area.end_storage_delays(id);
        if let Some(users) = self.area.describe_unkillable_users(id) {
            let id = id.to_owned();
            return Err(DatabaseFolderError::InUse { id, users });
        }
        let limit = self.begin_phase(LimitedPhase::Remove, spec).silence();
        Ok(self.area.remove_trial_within(id, limit)?)
    }

    /// Returns the processes that serve modeled storage, and storage that fails, to the trials of
    /// this run.
    pub fn storage_server_pids(&self) -> Vec<u32> {
        let mut pids = self.area.storage_server_pids();
        pids.extend(self.faults.server_pids());
        pids
    }

    /// Creates an empty folder for a suite, and returns its id. If that of an earlier suite cannot
    /// be removed, a process that cannot be killed has it, and another one is used.
    ///
    /// # Errors
    /// [`DatabaseFolderError`], if none can be created.
    pub fn create_suite_folder(
        &mut self,
        name: &str,
        spec: &TrialSpec,
    ) -> Result<(String, PathBuf), DatabaseFolderError> {
        let name = suite_folder(name, self.thread.map_or(0, |thread| thread.number));
        let mut id = name.clone();
        for number in 2..=MAX_SUITE_FOLDERS {
            let Err(error) = self.remove_database(&id, spec) else {
                break;
            };
            self.warn(error.to_string());
            id = format!("{name}-{number}");
        }
        match self.area.trial_folder(&id)? {
            (directory, false) => Ok((id, directory)),
            (directory, true) => Err(DatabaseFolderError::NotEmpty(directory)),
        }
    }

    /// Removes the folders of suites that a killed part of the run has left.
    pub fn remove_earlier_suites(&mut self, name: &str) {
        for thread in 0..=MAX_THREADS {
            let folder = suite_folder(name, thread);
            let removed = self
                .area
                .remove_trial_within(&folder, self.options.hang_limit);
            if let Err(error) = removed {
                self.warn(error.to_string());
            }
        }
    }

    /// Returns whether other tasks of the run go on at the same time.
    pub fn runs_concurrently(&self) -> bool {
        self.thread.is_some()
    }

    /// Sends a warning to the observer.
    pub fn warn(&mut self, message: String) {
        self.emit(&Event::Warning { message });
    }

    /// Returns whether this is the first trial of the run that uses the library.
    pub fn is_first_use(&mut self, library: Option<&Path>) -> bool {
        library.is_none_or(|path| self.known.used_libraries.insert(path.to_owned()))
    }

    /// Returns the SHA-256 of an engine's library, or of the worker program if the engine is
    /// compiled in, in hexadecimal; empty for a remote server, whose file cannot be read. It is
    /// computed again when the file has changed.
    ///
    /// # Errors
    /// [`HashError`], if the file cannot be read.
    pub fn sha256(&mut self, library: Option<&Path>) -> Result<String, HashError> {
        let file = library.unwrap_or(&self.options.worker_program);
        if trueput_engine::credentials::is_address(file) {
            return Ok(String::new());
        }
        let state = FileState::of(file);
        let unchanged = self
            .known
            .hashes
            .get(file)
            .filter(|known| known.state == state);
        if let Some(known) = unchanged {
            return Ok(known.sha256.clone());
        }
        let sha256 = sha256_of(file).map_err(|source| HashError {
            file: file.to_owned(),
            source,
        })?;
        let first_sha256 = match self.known.hashes.remove(file) {
            Some(known) => known.first_sha256,
            None => sha256.clone(),
        };
        let hashed = HashedFile {
            state,
            sha256: sha256.clone(),
            first_sha256,
        };
        self.known.hashes.insert(file.to_owned(), hashed);
        Ok(sha256)
    }

    /// Checks that the file of a trial's engine, which has this origin in the record, is the one
    /// that the run hashed first: its trials count as repeats of each other. An engine without a
    /// file of its own is in this program.
    ///
    /// # Errors
    /// [`TrialError::Failed`], if it was replaced or cannot be read.
    pub fn check_engine_file(&mut self, origin: &str) -> Result<(), TrialError> {
        let mut files = self.known.hashes.keys();
        let library = files.find(|file| file.display().to_string() == origin);
        let library = library.cloned();
        let sha256 = self.sha256(library.as_deref())?;
        let file = library.as_deref().unwrap_or(&self.options.worker_program);
        match self.known.hashes.get(file) {
            Some(known) if known.first_sha256 != sha256 => {
                Err(ReplacedFileError(file.to_owned()).into())
            }
            _ => Ok(()),
        }
    }
}

/// A file of an engine that is another one than at the beginning of the run.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} was replaced since the run first used it: finish what replaces it, and start a new run",
    .0.display()
)]
pub(crate) struct ReplacedFileError(PathBuf);

/// A file that cannot be read to compute its hash.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {} to compute its hash: {source}", file.display())]
pub(crate) struct HashError {
    file: PathBuf,
    source: std::io::Error,
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// The file system's own.
pub fn sha256_of(file: &Path) -> std::io::Result<String> {
    use sha2::Digest;
    use std::io::Read;
    let mut file = std::fs::File::open(file)?;
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// The reason why a trial did not run to its end.
#[derive(Debug)]
pub(crate) enum TrialError {
    /// The user stopped the run.
    Interrupted,
    /// A part of the trial failed.
    Failed(FailureReason),
    /// A phase of the trial exceeded its limit.
    Overrun(FailureReason),
}

impl TrialError {
    /// Changes the reason, if there is one.
    pub fn map_reason(self, change: impl FnOnce(FailureReason) -> FailureReason) -> Self {
        match self {
            Self::Interrupted => Self::Interrupted,
            Self::Failed(reason) => Self::Failed(change(reason)),
            Self::Overrun(reason) => Self::Overrun(change(reason)),
        }
    }
}

impl From<String> for TrialError {
    fn from(reason: String) -> Self {
        Self::Failed(reason.into())
    }
}

/// The reason why the folder of a database cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseFolderError {
    /// It cannot, or the file systems in it cannot.
    #[error(transparent)]
    Folder(#[from] TrialFolderError),
    /// Processes that cannot be killed have it.
    #[error("the database of {id} is left behind: {users}; 'trueput clean' removes it later")]
    InUse {
        /// The trial.
        id: String,
        /// The processes.
        users: String,
    },
    /// There are files in it.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A prepared database cannot be copied.
    #[error(transparent)]
    NotCopied(#[from] CopyError),
    /// Its storage cannot be made to fail.
    #[error(transparent)]
    Faulty(#[from] FaultServerError),
}

/// Errors that fail a trial with what they say.
macro_rules! fail_trials {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for TrialError {
            fn from(error: $error) -> Self {
                error.to_string().into()
            }
        }
    )*};
}

fail_trials!(
    DatabaseFolderError,
    FaultError,
    FaultServerError,
    HashError,
    HistogramError,
    HostError,
    MemoryLimitError,
    NoRoom,
    Refusal,
    ReplacedFileError,
    SizeError,
    SurvivingProcesses,
    TrialFolderError,
);

/// Adds to a failure that the file system of the database is full, if so: some engines wait for
/// room, and one that writes into a mapping is killed by SIGBUS.
pub(crate) fn explain_full_disk(error: TrialError, directory: &Path) -> TrialError {
    match describe_full_disk(directory) {
        Some(full) => error.map_reason(|reason| reason.followed_by(&format!("; {full}"))),
        None => error,
    }
}

/// Returns the words that the file system of a database is full; `None` if it has room.
pub(crate) fn describe_full_disk(directory: &Path) -> Option<String> {
    let space = trueput_host::read_free_space(directory)?;
    let free = if space.bytes < FULL_BYTES {
        format!("{} free", format_bytes(space.bytes))
    } else if space.inodes == Some(0) {
        "no inode is free".to_owned()
    } else {
        return None;
    };
    Some(format!("the disk of its database is full: {free}"))
}

impl<'a> RunContext<'a> {
    /// Closes the folder of databases, the threads that shared it having ended, and warns of what
    /// stays there. Returns the observer.
    pub fn close(self) -> &'a mut dyn FnMut(&Event) {
        let left = Arc::into_inner(self.area).map_or_else(Vec::new, RunWorkFolder::close);
        for error in left {
            let message = format!("{error}; 'trueput clean' removes what is left");
            (self.observer)(&Event::Warning { message });
        }
        self.observer
    }
}

impl RunContext<'_> {
    /// Adds to a failure what has happened to the storage of the database: it is full, or a server
    /// of modeled or faulty storage has ended.
    pub fn explain_storage(&self, error: TrialError, directory: &Path) -> TrialError {
        let error = explain_full_disk(error, directory);
        match self.ended_storage_server() {
            None => error,
            Some(server) => {
                error.map_reason(|reason| reason.followed_by(&format!("; {server} ended")))
            }
        }
    }

    /// Names the kind of storage server that has ended before its trial, as one does that was
    /// killed; `None` if all serve.
    pub fn ended_storage_server(&self) -> Option<&'static str> {
        if self.area.has_ended_storage_server() {
            Some("the server of its modeled storage")
        } else if self.faults.has_ended_server() {
            Some("the server of its faulty storage")
        } else {
            None
        }
    }

    /// Returns what a trial is expected to do.
    pub fn expected_work(&self, spec: &TrialSpec) -> ExpectedWork {
        let conditions = &spec.conditions;
        let run_s = conditions.warm_up_s + conditions.duration_s.unwrap_or_default();
        let resolved = self.resolve(spec);
        let scheduled = resolved.as_ref().map_or(Duration::ZERO, |resolved| {
            let is_scheduled = resolved.job.scheduled_per_s().is_some();
            let due_ns = is_scheduled.then(|| resolved.job.due_times(0, 1)).flatten();
            Duration::from_nanos(due_ns.and_then(Iterator::last).unwrap_or_default())
        });
        ExpectedWork {
            hang_limit: self.options.hang_limit,
            load: self.longest_load(spec),
            bytes: resolved.map_or(0, |resolved| resolved.job.expected_bytes()),
            bytes_per_s: expected_bytes_per_s(conditions),
            // A recorded workload states when its requests are due.
            run: scheduled.max(Duration::try_from_secs_f64(run_s).unwrap_or_default()),
            worked: self.known.runs.get(&spec.id).copied().unwrap_or_default(),
            is_candidate: spec.role.is_some_and(|role| role.is_candidate()),
            has_faults: !conditions.faults.is_empty(),
            at_once: self.thread.map_or(1, |thread| thread.of as u32),
        }
    }

    /// Begins to watch a phase of a trial. A search's candidate may prepare, verify and recover its
    /// database only for a multiple of the default's time.
    pub fn begin_phase(&self, phase: LimitedPhase, spec: &TrialSpec) -> PhaseClock {
        let total = match phase {
            LimitedPhase::Prepare
            | LimitedPhase::Verify
            | LimitedPhase::Recover
            | LimitedPhase::Compact => self.preparation_limit(spec),
            _ => None,
        };
        PhaseClock::begin(phase, &self.expected_work(spec), total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hashed_as_the_standard_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        // The example of FIPS 180-4.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(&file).unwrap(), expected);
    }
}
