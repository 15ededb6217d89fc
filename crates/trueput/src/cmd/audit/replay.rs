//! `trueput audit --replay`: reproduces a counterexample. The folder may come from anybody.

use super::{Arguments, check_block_form};
use crate::failure::{FAILED, Failure};
use crate::size_limit::explained;
use crate::trust::UntrustedInputs;
use crate::{output, signals};
use std::path::Path;
use std::process::ExitCode;
use trueput_audit::{ReplayRequest, Subject};
use trueput_engine::parameter;
use trueput_record::audit::{AuditRecord, AuditResult, Counterexample};
use trueput_record::audit_folder::{self, AUDIT_RECORD};
use trueput_record::filesystem::FileSystem;
use trueput_record::plan::Contender;
use trueput_runner::Registry;

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
    let record = read_record(folder, arguments.size.max_bytes)?;
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
pub fn find_record(folder: &Path, max_bytes: u64) -> Result<Option<AuditRecord>, Failure> {
    audit_folder::read(folder, max_bytes).map_err(explained)
}

fn read_record(folder: &Path, max_bytes: u64) -> Result<AuditRecord, Failure> {
    find_record(folder, max_bytes)?.ok_or_else(|| {
        Failure::usage(format!(
            "{} is not the folder of an audit: it has no {AUDIT_RECORD}",
            folder.display()
        ))
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
            .map_err(|error| self.refuse(&error))?;
        let subject = self.subject(file_system.as_ref())?;
        if let Some(file_system) = &file_system {
            check_block_form(file_system)?;
        }
        let request = ReplayRequest {
            folder: self.folder,
            result: self.result,
            subject: &subject,
            file_system,
            work: self.arguments.work.as_deref(),
            max_bytes: self.arguments.size.max_bytes,
            stop: signals::stop_flag(signals::LEFT_OF_AUDIT)?,
        };
        if let Some(note) = request.describe_other_build(self.registry) {
            output::note(&note);
        }
        let replay = request.replay(counterexample)?;
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
    fn refuse(&self, reason: &dyn std::fmt::Display) -> Failure {
        let path = self.folder.join(AUDIT_RECORD);
        Failure::usage(format!("{}: {reason}", path.display()))
    }
}
