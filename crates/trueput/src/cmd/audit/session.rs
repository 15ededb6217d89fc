//! One command's audits: the folders, the controls, the record.

use super::progress::ProgressLine;
use super::scratch::Scratch;
use super::{Arguments, check_block_form};
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
use trueput_host::read_facts;
use trueput_record::audit::{
    AUDIT_FORMAT, AuditControl, AuditRecord, AuditResult, AuditVerdict, CONTROLS, Counterexample,
    StorageModel,
};
use trueput_record::audit_standing::AuditStanding;
use trueput_record::filesystem::FileSystem;
use trueput_record::plan::Contender;
use trueput_record::text::without_byte_order_mark;
use trueput_record::trial::Settings;
use trueput_record::{Durability, Survival, Value};
use trueput_report::audit_report;
use trueput_runner::{AuditStore, AuditSubject, Registry, collect_program_facts, sha256_of};

const RECORD: &str = "audit.json";
pub const PAGE: &str = "audit.html";
const RECORDINGS: &str = "recordings";

/// The time for all audits if nothing else is said.
const USUAL_BUDGET: Duration = Duration::from_secs(600);

/// The shares of the time that a server has, where an engine in the process has one.
const SERVER_SHARES: u32 = 3;

/// The most states of each model if nothing else is said.
const USUAL_STATES: u64 = 1000;

/// The states of each control.
const CONTROL_STATES: u64 = 60;

/// The sessions that commit at once.
const WORKERS: u32 = 3;

/// The time that an engine has for one state.
const STATE_LIMIT: Duration = Duration::from_secs(90);

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
        let folder = arguments.results.join(format!("{now}-audit"));
        create(&folder)?;
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
        let budget = self
            .budget()
            .map(|budget| budget.saturating_sub(began.elapsed()));
        let deadline = budget.map(|budget| Instant::now() + budget);
        for (index, subject) in subjects.iter().enumerate() {
            if self.is_stopped() || !record.is_valid() {
                break;
            }
            let left: u32 = subjects[index..].iter().map(|left| self.shares(left)).sum();
            let budget = deadline.map(|deadline| {
                let left_in_all = deadline.saturating_duration_since(Instant::now());
                (left_in_all * self.shares(subject) / left).max(Duration::from_secs(1))
            });
            let result = self.audit_one(subject, &self.id(subject, &record), budget)?;
            self.say(&result);
            if !record.blames_storage() {
                self.remember(subject, &result);
            }
            record.results.push(result);
            self.write(&record)?;
        }
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

    /// The time for all audits: what the user gave, or ten minutes unless he gave states.
    fn budget(&self) -> Option<Duration> {
        let usual = self.arguments.states.is_none().then_some(USUAL_BUDGET);
        self.arguments.budget.or(usual)
    }

    /// Returns a name that no other result has.
    fn id(&self, subject: &Subject, record: &AuditRecord) -> String {
        let engine = subject.contender();
        let file = engine.rsplit('/').next().unwrap_or(&engine).to_owned();
        let prefix = match subject.library.is_some() {
            true => format!("{}-{file}", subject.engine),
            false => subject.engine.clone(),
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
        let all = if storage.is_some() { 2 } else { CONTROLS.len() };
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
        create(&recording)?;
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
        if !result.models.iter().any(is_needed) {
            // Only a counterexample is replayed.
            let _ = fs::remove_dir_all(&recording);
        }
        Ok(result)
    }

    /// Keeps a result for the rankings of later runs, in whatever form it was made. The promise of another level, an audit
    /// without a result, and one that leaves out `journal` where lost power was to be survived, say
    /// nothing about them: an engine that never flushes passes `prefix`.
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
        let path = self.folder.join(RECORD);
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
fn build(subject: &Subject, registry: &Registry) -> String {
    let engine = registry.engine(&subject.engine);
    let engine = engine.ok().and_then(|engine| engine.build().ok());
    let library = subject.library.clone();
    let library = library.or_else(|| engine.and_then(|build| build.library));
    let file = library.or_else(|| std::env::current_exe().ok());
    let hash = file.and_then(|file| sha256_of(&file).ok());
    hash.unwrap_or_default()
}

/// Says that the build that is here is not the audited one, if so.
fn other_build(subject: &Subject, result: &AuditResult, registry: &Registry) -> Option<String> {
    let here = build(subject, registry);
    let short = |hash: &str| hash.chars().take(16).collect::<String>();
    (here != result.build).then(|| {
        format!(
            "this build of {} is another than the audited one (SHA-256 {}…, not {}…): it may show \
             other damage",
            subject.contender(),
            short(&here),
            short(&result.build)
        )
    })
}

fn create(folder: &Path) -> Result<(), Failure> {
    let created = fs::create_dir_all(folder);
    created.map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))
}

fn options(arguments: &Arguments, scratch: &Path) -> Result<AuditOptions, Failure> {
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::Other(format!("cannot find this program's file: {error}")))?;
    let models = match arguments.model.is_empty() {
        true => StorageModel::ALL.to_vec(),
        false => arguments.model.clone(),
    };
    Ok(AuditOptions {
        program,
        scratch: scratch.to_owned(),
        models,
        states: arguments.states.unwrap_or(USUAL_STATES),
        budget: None,
        seed: arguments.seed,
        workers: WORKERS,
        commits: arguments.commits,
        threads: trueput_host::count_cores() as usize,
        state_limit: STATE_LIMIT,
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

/// Reproduces a counterexample, and keeps its state for a look.
///
/// # Errors
/// A usage error if there is no such counterexample, or its build is another one.
pub fn replay(
    path: &Path,
    arguments: &Arguments,
    registry: &Registry,
) -> Result<ExitCode, Failure> {
    let (Some(folder), Some(id)) = (path.parent(), path.file_name().and_then(|id| id.to_str()))
    else {
        return Err(Failure::usage(format!(
            "{}: write the folder of an audit, a slash, and the name of a counterexample",
            path.display()
        )));
    };
    let record = read_record(folder)?;
    let all = (record.controls.iter().chain(&record.storage_controls)).chain(&record.results);
    let of_result = |result: &AuditResult| {
        let models = result.models.iter();
        let models = models.filter(|model| model.model.loses_power());
        let mut examples = models.filter_map(|model| model.counterexample.clone());
        let found = examples.find(|counterexample| counterexample.id == id);
        found.map(|found| (result.clone(), found))
    };
    let Some((result, counterexample)) = all.clone().find_map(of_result) else {
        let ids: Vec<_> = all
            .flat_map(|result| &result.models)
            .filter(|model| model.model.loses_power())
            .filter_map(|model| model.counterexample.as_ref())
            .map(|counterexample| counterexample.id.as_str())
            .collect();
        return Err(Failure::usage(format!(
            "{} has no counterexample '{id}'; it has {}",
            folder.display(),
            ids.join(", ")
        )));
    };
    replay_one(folder, &result, &counterexample, arguments, registry)
}

/// Reads the record of an audit; `None` if the folder has none.
///
/// # Errors
/// A usage error if it cannot be read.
pub fn find_record(folder: &Path) -> Result<Option<AuditRecord>, Failure> {
    match folder.join(RECORD).is_file() {
        true => read_record(folder).map(Some),
        false => Ok(None),
    }
}

fn read_record(folder: &Path) -> Result<AuditRecord, Failure> {
    let path = folder.join(RECORD);
    let text = fs::read(&path).map_err(|error| {
        Failure::usage(format!(
            "{} is not the folder of an audit: {RECORD} in it: {error}",
            folder.display()
        ))
    })?;
    serde_json::from_slice(without_byte_order_mark(&text))
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn replay_one(
    folder: &Path,
    result: &AuditResult,
    counterexample: &Counterexample,
    arguments: &Arguments,
    registry: &Registry,
) -> Result<ExitCode, Failure> {
    let contender = Contender::parse(&result.contender);
    let given = result.given_knobs.clone();
    let subject = Subject::new(registry, &contender, result.durability, result.claim, given);
    let mut subject = subject.map_err(Failure::Usage)?;
    subject.knobs = result.knobs.clone();
    let target = folder.join("replays").join(&counterexample.id);
    if target.exists() {
        fs::remove_dir_all(&target).map_err(Failure::usage)?;
    }
    create(&target)?;
    if let Some(note) = other_build(&subject, result, registry) {
        output::note(&note);
    }
    let scratch = Scratch::open(arguments.work.as_deref(), &target)?;
    let mut options = options(arguments, &scratch.path().join(&result.id))?;
    options.seed = result.seed;
    options.commits = result.commits_per_phase;
    let file_system = result.file_system.as_deref().map(str::parse);
    options.file_system = file_system.transpose().map_err(Failure::Usage)?;
    if let Some(file_system) = &options.file_system {
        check_block_form(file_system)?;
    }
    let recording = folder.join(RECORDINGS).join(&result.id);
    let replay = trueput_audit::replay(&subject, counterexample, &recording, &target, &options);
    scratch.close();
    let replay = replay.map_err(Failure::Other)?;
    for line in &counterexample.words {
        output::line(line)?;
    }
    match &replay.damage {
        Some(damage) => output::line(&format!("reproduced: {damage}"))?,
        None => output::line("not reproduced: the engine opened the state without damage")?,
    }
    output::line(&format!("the state: {}", replay.state.display()))?;
    Ok(match replay.damage.is_some() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    })
}
