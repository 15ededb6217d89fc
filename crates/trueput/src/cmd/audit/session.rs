//! One command's audits: the folders, the controls, the record.

use super::Arguments;
use super::progress::ProgressLine;
use super::scratch::Scratch;
use super::time_needed::{ElapsedTime, MIN_AUDIT_TIME, STORAGE_CONTROLS};
use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::{execute, output, signals};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trueput_audit::control::NAME as CONTROL_ENGINE;
use trueput_audit::{AuditOptions, Subject, audit};
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
use trueput_record::trial::Settings;
use trueput_record::{Durability, Survival, Value};
use trueput_report::audit_report;
use trueput_runner::{AuditStore, AuditSubject, Registry, collect_program_facts, sha256_of};

pub const PAGE: &str = "audit.html";

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

/// The audits of one command.
pub struct Session<'a> {
    arguments: &'a Arguments,
    registry: &'a Registry,
    folder: PathBuf,
    options: AuditOptions,
    scratch: Scratch,
    /// Where results are kept for rankings.
    audits: Option<AuditStore>,
}

impl<'a> Session<'a> {
    /// Creates the folder of the audit.
    ///
    /// # Errors
    /// A usage error if it cannot be created; [`Failure::Other`] without FUSE.
    pub fn begin(arguments: &'a Arguments, registry: &'a Registry) -> Result<Self, Failure> {
        if let Err(error) = fs::File::open("/dev/fuse") {
            let remedy = match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    "run it as root, or let root run 'chmod 666 /dev/fuse'"
                }
                _ => "load it with 'modprobe fuse', and without root install the package fuse3",
            };
            return Err(Failure::Other(format!(
                "an audit needs FUSE, and /dev/fuse cannot be opened ({error}); {remedy}"
            )));
        }
        if !trueput_host::is_root() && !is_in_path("fusermount3") {
            return Err(Failure::Other(
                "an audit without root needs fusermount3: install the package fuse3".to_owned(),
            ));
        }
        // The name of a run's folder: 20261124T140000Z-audit.
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        create(&arguments.results)?;
        let name = format!("{now}-audit");
        let folder = create_numbered(&arguments.results, &name, OPEN_MODE)?;
        private_files::create_folder(&folder.join(RECORDINGS)).map_err(Failure::usage)?;
        let scratch = Scratch::open(arguments.work.as_deref(), &folder)?;
        let options = options(arguments, scratch.path())?;
        Ok(Self {
            audits: AuditStore::of_user(&options.program),
            arguments,
            registry,
            folder,
            options,
            scratch,
        })
    }

    /// Runs the controls, then every audit.
    ///
    /// # Errors
    /// [`Failure::Other`] if the record cannot be written.
    pub fn audit_all(
        self,
        subjects: &[Subject],
        skipped: BTreeMap<String, String>,
    ) -> Result<(AuditRecord, PathBuf), Failure> {
        let mut record = AuditRecord {
            format: AUDIT_FORMAT,
            command: execute::command_line().join(" "),
            started_at: jiff::Timestamp::now().to_string(),
            host: Some(read_facts(
                self.scratch.path(),
                collect_program_facts(execute::command_line()),
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
            if self.is_stopped() || !record.is_valid() {
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
            self.say(&result);
            if !record.blames_storage() {
                self.remember(subject, &result);
            }
            record.results.push(result);
            self.write(&record)?;
        }
        taken.advise(&mut record.results);
        record.interrupted = self.is_stopped();
        for subject in &subjects[record.results.len()..] {
            let name = format!("{} {}", subject.contender(), subject.durability);
            let reason = "was not reached".to_owned();
            record.skipped.insert(name, reason);
        }
        self.write(&record)?;
        let page = audit_report::page(&record, &self.folder);
        let file = self.folder.join(PAGE);
        fs::write(&file, page)
            .map_err(|error| Failure::Other(format!("{}: {error}", file.display())))?;
        self.scratch.close();
        Ok((record, self.folder))
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::SeqCst)
    }

    /// The shares of the time that an audit has. A server takes seconds to start.
    fn shares(&self, subject: &Subject) -> u32 {
        let engine = subject.find_engine(self.registry);
        let is_server = engine.is_ok_and(|engine| engine.service().is_some());
        if is_server { SERVER_SHARES } else { 1 }
    }

    /// The time for all audits: what the user gave, or ten minutes unless states were given.
    fn budget(&self) -> Option<Duration> {
        let usual = self.arguments.states.is_none().then_some(DEFAULT_BUDGET);
        self.arguments.budget.or(usual)
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
    fn audit_controls(&self, storage: Option<&FileSystem>) -> Result<Vec<AuditResult>, Failure> {
        let mut results = Vec::new();
        let all = if storage.is_some() {
            STORAGE_CONTROLS
        } else {
            CONTROLS.len()
        };
        for control in &CONTROLS[..all] {
            let result = self.audit_control(control, storage)?;
            self.say(&result);
            let is_failed = result.verdict() == AuditVerdict::Failed;
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
    ) -> Result<AuditResult, Failure> {
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
        let subject = subject.map_err(Failure::Other)?;
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
    ) -> Result<AuditResult, Failure> {
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
    ) -> Result<AuditResult, Failure> {
        let recording = self.folder.join(RECORDINGS).join(id);
        let marked = MarkedFolder::create(&recording).map_err(Failure::Usage)?;
        let name = format!("{} {}", subject.contender(), subject.durability);
        let line = ProgressLine::new(name, options.states, options.budget);
        let mut result = audit(subject, id, &recording, options, &|progress| {
            line.show(progress);
        });
        line.finish();
        if result.version.is_empty() {
            // Killed processes leave no recording, which would say it.
            let engine = subject.find_engine(self.registry).ok();
            let build = engine.and_then(|engine| engine.build().ok());
            result.version = build.map(|build| build.version).unwrap_or_default();
        }
        result.build = build(subject, self.registry);
        let is_needed = |model: &trueput_record::audit::ModelResult| model.counterexample.is_some();
        // Only a counterexample is replayed.
        if result.models.iter().any(is_needed) {
            marked.keep();
        } else {
            marked.remove();
        }
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
            && match result.verdict() {
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
            output::note(&format!(
                "{folder}: {error}: rankings will not know of this audit"
            ));
        }
    }

    /// Writes one line about a result that is there.
    fn say(&self, result: &AuditResult) {
        if !self.arguments.json {
            output::note(&sentence(result));
        }
    }

    fn write(&self, record: &AuditRecord) -> Result<(), Failure> {
        let path = self.folder.join(AUDIT_RECORD);
        let partial = self.folder.join("audit.json.partial");
        let text = serde_json::to_vec_pretty(record);
        let written = text
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&partial, text))
            .and_then(|()| fs::rename(&partial, &path));
        written.map_err(|error| Failure::Other(format!("{}: {error}", path.display())))
    }
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
pub(super) fn build(subject: &Subject, registry: &Registry) -> String {
    let engine = registry.engine(&subject.engine);
    let engine = engine.ok().and_then(|engine| engine.build().ok());
    let library = subject.library.clone();
    let library = library.or_else(|| engine.and_then(|build| build.library));
    let file = library.or_else(|| std::env::current_exe().ok());
    let hash = file.and_then(|file| sha256_of(&file).ok());
    hash.unwrap_or_default()
}

/// # Errors
/// A usage error if it cannot be created.
pub(super) fn create(folder: &Path) -> Result<(), Failure> {
    let created = fs::create_dir_all(folder);
    created.map_err(|error| {
        let folder = folder.display();
        Failure::usage(format!(
            "the folder {folder} cannot be made: {error}; name another"
        ))
    })
}

/// Returns the options of audits whose states lie in a folder.
///
/// # Errors
/// If this program cannot be found, or no signal caught.
pub(super) fn options(arguments: &Arguments, scratch: &Path) -> Result<AuditOptions, Failure> {
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::Other(format!("cannot find this program's file: {error}")))?;
    let models = if arguments.model.is_empty() {
        StorageModel::ALL.to_vec()
    } else {
        arguments.model.clone()
    };
    Ok(AuditOptions {
        program,
        scratch: scratch.to_owned(),
        models,
        states: arguments.states.unwrap_or(DEFAULT_STATES),
        budget: None,
        seed: arguments.seed,
        workers: WORKERS,
        commits: arguments.commits,
        threads: trueput_host::count_cores() as usize,
        state_limit: STATE_TIMEOUT,
        memory_bytes: MEMORY_BYTES,
        file_system: arguments.block_form()?,
        is_recorded: false,
        stop: signals::stop_flag()?,
    })
}

/// Describes a result in one line.
fn sentence(result: &AuditResult) -> String {
    let name = audit_report::subject(result);
    let models: Vec<_> = result
        .models
        .iter()
        .map(|model| match model.refuted {
            0 if model.undecided.is_some() => {
                format!("{} UNDECIDED in {}", model.model, model.states)
            }
            0 => format!("{} {}", model.model, model.states),
            refuted => format!("{} REFUTED in {refuted} of {}", model.model, model.states),
        })
        .collect();
    let models = models.join(", ");
    match (&result.failure, result.verdict()) {
        (Some(failure), AuditVerdict::Failed) => format!("{name}: no result: {failure}"),
        (_, AuditVerdict::Refuted | AuditVerdict::Undecided) => format!("{name}: {models}"),
        _ => format!("{name}: not refuted ({models})"),
    }
}

/// Returns the exit code of a record. What only weaker storage refutes counts if the user chose the
/// models.
pub fn exit_code(record: &AuditRecord, chose_models: bool) -> ExitCode {
    let is_clean = |result: &AuditResult| match result.verdict() {
        AuditVerdict::NotRefuted => true,
        AuditVerdict::Refuted => !chose_models && !result.is_refuted_on_usual_storage(),
        AuditVerdict::Undecided | AuditVerdict::Failed => false,
    };
    let all_clean = !record.blames_storage() && record.results.iter().all(is_clean);
    match () {
        () if record.interrupted => ExitCode::from(INTERRUPTED),
        () if record.is_valid() && all_clean => ExitCode::SUCCESS,
        () => ExitCode::from(FAILED),
    }
}
