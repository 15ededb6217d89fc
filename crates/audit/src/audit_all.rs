//! The audits of one command: the folders, the controls, the record.

mod scratch;
mod time_needed;

use crate::Error;
use crate::audit::{Progress, audit, choose_models};
use crate::control::NAME as CONTROL_ENGINE;
use crate::options::AuditOptions;
use crate::subject::Subject;
pub(crate) use scratch::Scratch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use time_needed::{ElapsedTime, MIN_AUDIT_TIME, STORAGE_CONTROLS, check_budget};
use trueput_host::run_marker::MarkedFolder;
use trueput_host::trial_file_system::RECORDINGS;
use trueput_host::{private_files, read_facts};
use trueput_record::audit::{
    AuditControl, AuditRecord, AuditResult, AuditVerdict, CONTROLS, StorageModel,
};
use trueput_record::audit_folder::{AUDIT_FORMAT, AUDIT_RECORD};
use trueput_record::audit_standing::AuditStanding;
use trueput_record::filesystem::FileSystem;
use trueput_record::folder::{OPEN_MODE, create_numbered};
use trueput_record::plan::Contender;
use trueput_record::value::Settings;
use trueput_record::{Durability, Survival, Value};
use trueput_runner::{AuditStore, AuditSubject, Registry, collect_program_facts, sha256_of};

/// The time for all audits if nothing else is said.
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);

/// The shares of the time that a server has, where an engine in the process has one.
const SERVER_SHARES: u32 = 3;

/// The most states of each model if nothing else is said.
const DEFAULT_STATES: u64 = 1000;

/// The states of each control.
const CONTROL_STATES: u64 = 60;

/// The sessions that commit at once.
const WORKERS: u32 = 3;

/// The time that an engine has for one state.
const STATE_TIMEOUT: Duration = Duration::from_secs(90);

/// The memory that an engine's process may have for itself.
const MEMORY_BYTES: u64 = 2 << 30;

/// The audits that one command asks for.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// The directory in which the folder of the audits is made.
    pub results: PathBuf,
    /// The directory for states; `None`: in the folder of the audits, in memory as root.
    pub work: Option<PathBuf>,
    /// The models to try; all if it is empty.
    pub models: Vec<StorageModel>,
    /// The most states of each model; `None`: a thousand.
    pub states: Option<u64>,
    /// The time for all audits; `None`: ten minutes, or no limit if `states` are given.
    pub budget: Option<Duration>,
    /// The seed of the transactions and of the choice of states.
    pub seed: u64,
    /// The commits of each worker in each of the three phases.
    pub commits: u64,
    /// The file system of the block form; `None`: files are recorded.
    pub file_system: Option<FileSystem>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Set when the user stops the audits.
    pub stop: Arc<AtomicBool>,
}

/// An event of the audits of a command.
pub enum AuditEvent<'a> {
    /// An audit, or a control, begins.
    Began(&'a Subject, &'a AuditOptions),
    /// It goes on.
    Progress(Progress),
    /// It has ended.
    Ended(&'a AuditResult),
    /// Something that the user should know, one sentence.
    Warning(String),
}

/// Runs the controls, then an audit of every subject, into a new folder. Returns the record, with
/// the subjects that were skipped and why, and the folder.
///
/// # Errors
/// An [`Error`] if nothing can be audited here, or a folder or the record cannot be written.
pub fn audit_all(
    request: &AuditRequest,
    subjects: &[Subject],
    skipped: BTreeMap<String, String>,
    registry: &Registry,
    observe: &(dyn Fn(AuditEvent<'_>) + Sync),
) -> Result<(AuditRecord, PathBuf), Error> {
    let options = request.options(&request.results)?;
    let (subjects, skipped) = skip_untestable(&options, subjects, skipped);
    if let Some(budget) = request.budget {
        check_budget(budget, subjects.len(), request.file_system.is_some())?;
    }
    AuditCommand::begin(request, registry, observe)?.audit_all(&subjects, skipped)
}

/// Leaves out the promises that no chosen model tests, unless there are no others: of a level
/// that promises nothing at lost power the block form tests nothing.
fn skip_untestable(
    options: &AuditOptions,
    subjects: &[Subject],
    mut skipped: BTreeMap<String, String>,
) -> (Vec<Subject>, BTreeMap<String, String>) {
    let failure = |subject: &Subject| choose_models(subject, options).err();
    if subjects.iter().all(|subject| failure(subject).is_some()) {
        return (subjects.to_vec(), skipped);
    }
    let mut tested = Vec::new();
    for subject in subjects {
        match failure(subject) {
            Some(reason) => {
                let name = format!("{} {}", subject.contender(), subject.durability);
                skipped.insert(name, reason.to_string());
            }
            None => tested.push(subject.clone()),
        }
    }
    (tested, skipped)
}

/// The audits of one command.
struct AuditCommand<'a> {
    request: &'a AuditRequest,
    registry: &'a Registry,
    observe: &'a (dyn Fn(AuditEvent<'_>) + Sync),
    folder: PathBuf,
    options: AuditOptions,
    scratch: Scratch,
    /// Where results are kept for rankings.
    audits: Option<AuditStore>,
}

impl<'a> AuditCommand<'a> {
    /// Creates the folder of the audits.
    fn begin(
        request: &'a AuditRequest,
        registry: &'a Registry,
        observe: &'a (dyn Fn(AuditEvent<'_>) + Sync),
    ) -> Result<Self, Error> {
        let folder = create_folder(&request.results, "audit")?;
        let recordings = private_files::create_folder(&folder.join(RECORDINGS));
        recordings.map_err(Error::Recordings)?;
        let scratch = Scratch::open(request.work.as_deref(), &folder)?;
        let options = request.options(scratch.path())?;
        Ok(Self {
            audits: AuditStore::of_user(&options.program),
            request,
            registry,
            observe,
            folder,
            options,
            scratch,
        })
    }

    /// Runs the controls, then every audit.
    fn audit_all(
        self,
        subjects: &[Subject],
        skipped: BTreeMap<String, String>,
    ) -> Result<(AuditRecord, PathBuf), Error> {
        let mut record = AuditRecord {
            format: AUDIT_FORMAT,
            command: self.request.command.join(" "),
            started_at: jiff::Timestamp::now().to_string(),
            host: Some(read_facts(
                self.scratch.path(),
                collect_program_facts(self.request.command.clone()),
            )),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            controls: Vec::new(),
            storage_controls: Vec::new(),
            results: Vec::new(),
            skipped,
            interrupted: false,
        };
        let began = Instant::now();
        record.controls = self.audit_controls(None)?;
        if self.options.file_system.is_some() && record.is_valid() {
            record.storage_controls = self.audit_controls(self.options.file_system.as_ref())?;
        }
        let mut taken = ElapsedTime {
            controls: began.elapsed(),
            shares: subjects.iter().map(|one| self.shares(one)).sum(),
            ..ElapsedTime::default()
        };
        let deadline = self.budget().map(|budget| began + budget);
        for (index, subject) in subjects.iter().enumerate() {
            if self.options.is_stopped() || !record.is_valid() {
                break;
            }
            let left: u32 = subjects[index..].iter().map(|left| self.shares(left)).sum();
            let budget = deadline.map(|deadline| {
                let left_in_all = deadline.saturating_duration_since(Instant::now());
                (left_in_all * self.shares(subject) / left).max(MIN_AUDIT_TIME)
            });
            let began = Instant::now();
            let result = self.audit_one(subject, &self.id(subject, &record), budget)?;
            taken.note(&result, began.elapsed(), self.shares(subject));
            if !record.blames_storage() {
                self.remember(subject, &result);
            }
            record.results.push(result);
            self.write(&record)?;
        }
        taken.advise(&mut record.results);
        record.interrupted = self.options.is_stopped();
        for subject in &subjects[record.results.len()..] {
            let name = format!("{} {}", subject.contender(), subject.durability);
            let reason = "was not reached".to_owned();
            record.skipped.insert(name, reason);
        }
        self.write(&record)?;
        self.scratch.close();
        Ok((record, self.folder))
    }

    /// The shares of the time that an audit has. A server takes seconds to start.
    fn shares(&self, subject: &Subject) -> u32 {
        let engine = subject.find_engine(self.registry);
        let is_server = engine.is_ok_and(|engine| engine.service().is_some());
        if is_server { SERVER_SHARES } else { 1 }
    }

    /// The time for all audits: what the user gave, or ten minutes unless states were given.
    fn budget(&self) -> Option<Duration> {
        let usual = self.request.states.is_none().then_some(DEFAULT_BUDGET);
        self.request.budget.or(usual)
    }

    /// Returns a name that no other result has.
    fn id(&self, subject: &Subject, record: &AuditRecord) -> String {
        let engine = subject.contender();
        let file = engine.rsplit('/').next().unwrap_or(&engine).to_owned();
        let prefix = if subject.library.is_some() {
            format!("{}-{file}", subject.engine)
        } else {
            subject.engine.clone()
        };
        let mut id = format!("{prefix}-{}", subject.durability);
        if subject.claim != subject.durability {
            id.push_str(&format!("-as-{}", subject.claim));
        }
        if let Some(file_system) = &self.options.file_system {
            id.push_str(&format!("-on-{file_system}"));
        }
        for (name, value) in &subject.given_knobs {
            id.push_str(&format!("-{name}={value}"));
        }
        let id = as_file_name(&id);
        let same = record
            .results
            .iter()
            .filter(|result| result.id == id)
            .count();
        match same {
            0 => id,
            more => format!("{id}-{}", more + 1),
        }
    }

    /// Audits the log engines of [`CONTROLS`]; on the file system of the block form, the one that
    /// flushes and the one that does not.
    fn audit_controls(&self, storage: Option<&FileSystem>) -> Result<Vec<AuditResult>, Error> {
        let mut results = Vec::new();
        let all = if storage.is_some() {
            STORAGE_CONTROLS
        } else {
            CONTROLS.len()
        };
        for control in &CONTROLS[..all] {
            let result = self.audit_control(control, storage)?;
            let is_failed = result.verdict_on_tried_models() == AuditVerdict::Failed;
            results.push(result);
            // What stops the first control stops everything else.
            if is_failed {
                break;
            }
        }
        Ok(results)
    }

    fn audit_control(
        &self,
        control: &AuditControl,
        storage: Option<&FileSystem>,
    ) -> Result<AuditResult, Error> {
        let contender = Contender {
            engine: CONTROL_ENGINE.to_owned(),
            build: None,
        };
        let text = |value: &str| Value::Text(value.to_owned());
        let knobs = Settings::from([
            ("fault".to_owned(), text(control.fault)),
            ("flush".to_owned(), text(control.flush)),
        ]);
        let subject = Subject::new(self.registry, &contender, Durability::Sync, None, knobs);
        let subject = subject.map_err(Error::Control)?;
        let options = AuditOptions {
            models: vec![StorageModel::Journal],
            states: CONTROL_STATES,
            file_system: storage.cloned(),
            ..self.options.clone()
        };
        let on = storage.map_or_else(String::new, |kind| format!("-on-{kind}"));
        self.audit_with(
            &subject,
            &as_file_name(&format!("control-{}{on}", control.name)),
            &options,
        )
    }

    fn audit_one(
        &self,
        subject: &Subject,
        id: &str,
        budget: Option<Duration>,
    ) -> Result<AuditResult, Error> {
        let options = AuditOptions {
            budget,
            ..self.options.clone()
        };
        self.audit_with(subject, id, &options)
    }

    fn audit_with(
        &self,
        subject: &Subject,
        id: &str,
        options: &AuditOptions,
    ) -> Result<AuditResult, Error> {
        let recording = self.folder.join(RECORDINGS).join(id);
        let marked = MarkedFolder::create(&recording)?;
        (self.observe)(AuditEvent::Began(subject, options));
        let mut result = audit(subject, id, &recording, options, &|progress| {
            (self.observe)(AuditEvent::Progress(progress));
        });
        if result.version.is_empty() {
            // Killed processes leave no recording, which would say it.
            let engine = subject.find_engine(self.registry).ok();
            let build = engine.and_then(|engine| engine.build().ok());
            result.version = build.map(|build| build.version).unwrap_or_default();
        }
        result.build = hash_build(subject, self.registry);
        let is_needed = |model: &trueput_record::audit::ModelResult| model.counterexample.is_some();
        // Only a counterexample is replayed.
        if result.models.iter().any(is_needed) {
            marked.keep();
        } else {
            marked.remove();
        }
        (self.observe)(AuditEvent::Ended(&result));
        Ok(result)
    }

    /// Keeps a result for the rankings of later runs, in whatever form it was made. The promise of
    /// another level, an audit without a result, and one that leaves out `journal` where lost power
    /// was to be survived, say nothing about them: an engine that never flushes passes `prefix`.
    fn remember(&self, subject: &Subject, result: &AuditResult) {
        let mut models = result.models.iter();
        let has_journal = models.any(|model| model.model == StorageModel::Journal);
        let needs_journal = result.durability.after_lost_power() != Survival::Nothing;
        let is_complete = has_journal || !needs_journal;
        let is_of_level = result.claim.is_none()
            && match result.verdict_on_tried_models() {
                AuditVerdict::Failed => false,
                AuditVerdict::Undecided => is_complete,
                AuditVerdict::Refuted => is_complete || result.is_refuted_on_usual_storage(),
                AuditVerdict::NotRefuted => is_complete,
            };
        let folder = self.folder.canonicalize();
        let standing = folder.ok().filter(|_| is_of_level);
        let standing = standing.and_then(|folder| AuditStanding::of(result, &folder));
        let (Some(standing), Some(audits)) = (standing, &self.audits) else {
            return;
        };
        let Ok(engine) = subject.find_engine(self.registry) else {
            return;
        };
        if subject.replaces_audit_sizes(&*engine) {
            return;
        }
        let subject = AuditSubject {
            engine: &*engine,
            contender: subject.contender(),
            durability: subject.durability,
            knobs: &subject.given_knobs,
        };
        if let Err(error) = audits.store(&subject, standing) {
            let folder = audits.folder().display();
            (self.observe)(AuditEvent::Warning(format!(
                "{folder}: {error}: rankings will not know of this audit"
            )));
        }
    }

    fn write(&self, record: &AuditRecord) -> Result<(), Error> {
        write_record(&self.folder, AUDIT_RECORD, record)
    }
}

/// Checks that file systems can be mounted here, and creates the folder of a command in the one for
/// results.
pub(crate) fn create_folder(results: &Path, command: &str) -> Result<PathBuf, Error> {
    check_fuse()?;
    // The name of a run's folder: 20261124T140000Z-audit.
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    fs::create_dir_all(results).map_err(|source| Error::Results {
        folder: results.to_owned(),
        source,
    })?;
    let name = format!("{now}-{command}");
    Ok(create_numbered(results, &name, OPEN_MODE)?)
}

/// Checks that this user can mount FUSE file systems.
///
/// # Errors
/// [`Error::NoFuse`], [`Error::NoMountHelper`].
pub(crate) fn check_fuse() -> Result<(), Error> {
    fs::File::open("/dev/fuse").map_err(|source| Error::NoFuse { source })?;
    if !trueput_host::is_root() && !is_in_path("fusermount3") {
        return Err(Error::NoMountHelper);
    }
    Ok(())
}

/// Writes the record of a command into its folder, as a whole or not at all.
pub(crate) fn write_record(
    folder: &Path,
    name: &str,
    record: &impl Serialize,
) -> Result<(), Error> {
    let path = folder.join(name);
    let partial = folder.join(format!("{name}.partial"));
    let text = serde_json::to_vec_pretty(record);
    let written = text
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(&partial, text))
        .and_then(|()| fs::rename(&partial, &path));
    if written.is_err() {
        // Half a record is worse than none.
        let _ = fs::remove_file(&partial);
    }
    written.map_err(|source| Error::File { path, source })
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn as_file_name(name: &str) -> String {
    name.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"-_.=".contains(c),
        "_",
    )
}

/// Returns the hash of the engine's library, or of this program.
pub(crate) fn hash_build(subject: &Subject, registry: &Registry) -> String {
    let engine = registry.engine(&subject.engine);
    let engine = engine.ok().and_then(|engine| engine.build().ok());
    let library = subject.library.clone();
    let library = library.or_else(|| engine.and_then(|build| build.library));
    let file = library.or_else(|| std::env::current_exe().ok());
    let hash = file.and_then(|file| sha256_of(&file).ok());
    hash.unwrap_or_default()
}

impl AuditRequest {
    /// Returns the options of audits whose states lie in a folder.
    fn options(&self, scratch: &Path) -> Result<AuditOptions, Error> {
        let models = if self.models.is_empty() {
            StorageModel::ALL.to_vec()
        } else {
            self.models.clone()
        };
        Ok(AuditOptions {
            models,
            states: self.states.unwrap_or(DEFAULT_STATES),
            seed: self.seed,
            commits: self.commits,
            file_system: self.file_system.clone(),
            ..default_options(scratch, &self.stop)?
        })
    }
}

/// Returns the options of audits whose states lie in a folder, for one state of one commit.
pub(crate) fn default_options(
    scratch: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<AuditOptions, Error> {
    Ok(AuditOptions {
        program: std::env::current_exe().map_err(Error::Program)?,
        scratch: scratch.to_owned(),
        models: Vec::new(),
        states: 1,
        budget: None,
        seed: 1,
        workers: WORKERS,
        commits: 1,
        threads: trueput_host::count_cores() as usize,
        state_limit: STATE_TIMEOUT,
        memory_bytes: MEMORY_BYTES,
        file_system: None,
        is_recorded: false,
        stop: Arc::clone(stop),
    })
}
