//! `trueput audit --replay`: reproduces a counterexample. The folder may come from anybody.

use super::scratch::Scratch;
use super::session::{build, options};
use super::{Arguments, check_block_form};
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::size_limit::explained;
use crate::trust::UntrustedInputs;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_audit::{ReplayError, StoredRecording, Subject};
use trueput_engine::parameter;
use trueput_host::trial_file_system::RECORDINGS;
use trueput_record::audit::{AuditRecord, AuditResult, Counterexample};
use trueput_record::audit_folder::{self, AUDIT_RECORD};
use trueput_record::filesystem::FileSystem;
use trueput_record::folder::create_numbered;
use trueput_record::plan::Contender;
use trueput_runner::Registry;

/// The folder for replays, in that of the audit.
const REPLAYS: &str = "replays";

/// The mode of a replay's folder: it holds files of whoever made the recording.
const PRIVATE: u32 = 0o700;

/// Reproduces a counterexample, and keeps its state for a look.
///
/// # Errors
/// A usage error if there is no such counterexample, its record or recording says what cannot be,
/// or it names code that the user does not trust.
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
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let record = read_record(folder, arguments.size.most_bytes)?;
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
    Replay {
        folder,
        result: &result,
        arguments,
        registry,
    }
    .run(&counterexample)
}

/// Reads the record of an audit; `None` if the folder has none.
///
/// # Errors
/// A usage error if it cannot be read, or says what cannot be.
pub fn find_record(folder: &Path, most_bytes: u64) -> Result<Option<AuditRecord>, Failure> {
    audit_folder::read(folder, most_bytes).map_err(explained)
}

fn read_record(folder: &Path, most_bytes: u64) -> Result<AuditRecord, Failure> {
    find_record(folder, most_bytes)?.ok_or_else(|| {
        Failure::usage(format!(
            "{} is not the folder of an audit: it has no {AUDIT_RECORD}",
            folder.display()
        ))
    })
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

/// A replay of a result.
struct Replay<'a> {
    /// The folder of the audit.
    folder: &'a Path,
    result: &'a AuditResult,
    arguments: &'a Arguments,
    registry: &'a Registry,
}

impl Replay<'_> {
    fn run(&self, counterexample: &Counterexample) -> Result<ExitCode, Failure> {
        let file_system = self
            .result
            .file_system
            .as_deref()
            .map(str::parse::<FileSystem>);
        let file_system = file_system
            .transpose()
            .map_err(|reason: String| self.refuse(&reason))?;
        let subject = self.subject(file_system.as_ref())?;
        if let Some(file_system) = &file_system {
            check_block_form(file_system)?;
        }
        let target = self.create_target(&counterexample.id)?;
        if let Some(note) = other_build(&subject, self.result, self.registry) {
            output::note(&note);
        }
        let scratch = Scratch::open(self.arguments.work.as_deref(), &target)?;
        let mut options = options(self.arguments, &scratch.path().join(&self.result.id))?;
        options.seed = self.result.seed;
        options.commits = self.result.commits_per_phase;
        options.file_system = file_system;
        let recording = StoredRecording {
            folder: self.folder,
            within: &Path::new(RECORDINGS).join(&self.result.id),
            most_bytes: self.arguments.size.most_bytes,
        };
        let replay = trueput_audit::replay(&subject, counterexample, recording, &target, &options);
        scratch.close();
        let replay = replay.map_err(|error| {
            // Nothing is in it that could be looked at.
            let _ = fs::remove_dir_all(&target);
            match error {
                ReplayError::BadRecording(reason) => Failure::Usage(reason),
                ReplayError::Other(reason) => Failure::Other(reason),
            }
        })?;
        for line in &counterexample.words {
            output::line(line)?;
        }
        match &replay.damage {
            Some(damage) => output::line(&format!("reproduced: {damage}"))?,
            None => output::line("not reproduced: the engine opened the state without damage")?,
        }
        output::line(&format!("the state: {}", replay.state.display()))?;
        Ok(if replay.damage.is_some() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(FAILED)
        })
    }

    /// Returns what was audited, once the user trusts it.
    fn subject(&self, file_system: Option<&FileSystem>) -> Result<Subject, Failure> {
        let result = self.result;
        let contender = Contender::parse(&result.contender);
        let foreign = UntrustedInputs::of_replay(self.folder, &contender, file_system);
        let shown = self.folder.display().to_string();
        self.arguments.trust.check(&shown, &foreign)?;
        let (level, claim) = (result.durability, result.claim);
        let given = result.given_knobs.clone();
        let subject = Subject::new(self.registry, &contender, level, claim, given);
        let mut subject = subject.map_err(|reason| self.refuse(&reason))?;
        let engine = subject.find_engine(self.registry);
        let engine = engine.map_err(|reason| self.refuse(&reason))?;
        parameter::resolve(&subject.engine, engine.knobs(), &result.knobs)
            .map_err(|reason| self.refuse(&reason))?;
        subject.knobs.clone_from(&result.knobs);
        Ok(subject)
    }

    /// Refuses the record for a reason.
    fn refuse(&self, reason: &str) -> Failure {
        let path = self.folder.join(AUDIT_RECORD);
        Failure::usage(format!("{}: {reason}", path.display()))
    }

    /// Creates a folder for the replay. Former replays stay.
    fn create_target(&self, id: &str) -> Result<PathBuf, Failure> {
        let replays = self.folder.join(REPLAYS);
        let failed = |error| Failure::usage(format!("{}: {error}", replays.display()));
        match fs::create_dir(&replays) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        if !replays.symlink_metadata().map_err(failed)?.is_dir() {
            return Err(Failure::usage(format!(
                "{} is a link or a file, not a directory: remove it",
                replays.display()
            )));
        }
        Ok(create_numbered(&replays, id, PRIVATE)?)
    }
}
