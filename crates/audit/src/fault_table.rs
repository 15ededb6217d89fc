//! The storage faults of one command: the controls, then every engine by every fault.

use crate::Error;
use crate::audit_all::{Scratch, check_fuse, create_folder, default_options, write_record};
use crate::control::NAME as CONTROL_ENGINE;
use crate::fault_outcome::describe_trouble;
use crate::fault_trial::{FaultCase, describe_limit};
use crate::options::AuditOptions;
use crate::subject::Subject;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trueput_host::read_facts;
use trueput_record::fault_record::{
    self, FAULT_CONTROLS, FAULT_FORMAT, FAULT_RECORD, FaultControl, FaultCourse, FaultOutcome,
    FaultRecord, FaultResult,
};
use trueput_record::plan::Contender;
use trueput_record::storage_fault::{FailedFlush, FaultEffect, FaultOperation, StorageFault};
use trueput_record::value::Settings;
use trueput_record::{Durability, Value};
use trueput_runner::{Registry, collect_program_facts};

/// The longest time without progress of an engine, and of one that has a server, which takes
/// seconds to start.
const HANG_LIMIT: Duration = Duration::from_secs(30);
const SERVER_HANG_LIMIT: Duration = Duration::from_secs(120);

/// The size of the controls' logs: no checkpoint repairs what a fault did.
const CONTROL_LOG: &str = "1GiB";

/// The faults that one command asks for.
#[derive(Debug, Clone)]
pub struct FaultRequest {
    /// The directory in which the folder of the record is made.
    pub results: PathBuf,
    /// The command that this one goes on with, in its folder; `None`: it begins.
    pub earlier: Option<EarlierFaults>,
    /// The directory for databases; `None`: in the folder of the record, in memory as root.
    pub work: Option<PathBuf>,
    /// The faults, each tried on its own.
    pub faults: Vec<StorageFault>,
    /// What becomes of the pages of a failed flush: each is tried.
    pub failed_fsync: Vec<FailedFlush>,
    /// The time after which no further fault is tried.
    pub budget: Option<Duration>,
    /// The seed of the transactions and of faults that come by chance.
    pub seed: u64,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Set when the user stops it.
    pub stop: Arc<AtomicBool>,
}

/// The faults of a command that ended before all were tried.
#[derive(Debug, Clone)]
pub struct EarlierFaults {
    /// The folder of its record, which the caller has locked.
    pub folder: PathBuf,
    /// The record. Its results stay, but for those that were not run.
    pub record: FaultRecord,
}

/// An event of the faults of a command.
pub enum FaultEvent<'a> {
    /// A control begins, the next of [`FAULT_CONTROLS`].
    Control(&'a FaultControl),
    /// The controls have come out as they must, and so many results are to follow.
    Planned(usize),
    /// An engine begins, under a fault, or without one to see that it works.
    Began(&'a Subject, Option<StorageFault>),
    /// It has ended under a fault.
    Ended(&'a FaultResult),
}

/// Tries the controls, then every fault on every subject, into a new folder. Returns the record,
/// with the subjects that were skipped and why, and the folder. Without valid controls it has no
/// results.
///
/// # Errors
/// An [`Error`] if nothing can be tried here, or a folder or the record cannot be written.
pub fn try_faults(
    request: &FaultRequest,
    subjects: &[Subject],
    skipped: BTreeMap<String, String>,
    registry: &Registry,
    observe: &dyn Fn(FaultEvent<'_>),
) -> Result<(FaultRecord, PathBuf), Error> {
    let (subjects, skipped) = skip_clusters(subjects, skipped, registry);
    let (folder, _lock) = match &request.earlier {
        Some(earlier) => (check_fuse().map(|()| earlier.folder.clone())?, None),
        None => {
            let folder = create_folder(&request.results, "faults")?;
            let lock = fault_record::lock(&folder)?;
            (folder, Some(lock))
        }
    };
    let scratch = Scratch::open(request.work.as_deref(), &folder)?;
    let facts = collect_program_facts(request.command.clone());
    let mut record = FaultRecord {
        format: FAULT_FORMAT,
        command: request.command.join(" "),
        started_at: jiff::Timestamp::now().to_string(),
        host: read_facts(scratch.path(), facts),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: request.seed,
        controls: Vec::new(),
        results: Vec::new(),
        skipped,
        interrupted: false,
    };
    if let Some(EarlierFaults { record: begun, .. }) = &request.earlier {
        record.command.clone_from(&begun.command);
        record.started_at.clone_from(&begun.started_at);
        let is_tried = |result: &&FaultResult| result.outcome != FaultOutcome::NotRun;
        record.results = begun.results.iter().filter(is_tried).cloned().collect();
    }
    let table = FaultTable {
        options: AuditOptions {
            seed: request.seed,
            ..default_options(scratch.path(), &request.stop)?
        },
        request,
        registry,
        observe,
        folder: &folder,
        deadline: request.budget.map(|budget| Instant::now() + budget),
    };
    let filled = table.fill(&subjects, &mut record);
    scratch.close();
    filled.map(|()| (record, folder))
}

/// Leaves out clusters, whose nodes would share one faulty disk.
fn skip_clusters(
    subjects: &[Subject],
    mut skipped: BTreeMap<String, String>,
    registry: &Registry,
) -> (Vec<Subject>, BTreeMap<String, String>) {
    let is_cluster = |subject: &&Subject| {
        let engine = subject.find_engine(registry);
        engine.is_ok_and(|engine| engine.cluster().is_some())
    };
    let (clusters, others): (Vec<_>, Vec<_>) = subjects.iter().partition(is_cluster);
    for subject in clusters {
        let name = format!("{} {}", subject.contender(), subject.durability);
        let reason = "is a cluster, whose nodes would share one faulty disk";
        skipped.insert(name, reason.to_owned());
    }
    (others.into_iter().cloned().collect(), skipped)
}

/// The table of a command, while it is filled.
struct FaultTable<'a> {
    request: &'a FaultRequest,
    registry: &'a Registry,
    observe: &'a dyn Fn(FaultEvent<'_>),
    options: AuditOptions,
    folder: &'a Path,
    deadline: Option<Instant>,
}

/// A subject, and what is known of its engine.
struct Candidate<'a> {
    subject: &'a Subject,
    version: String,
    max_value_bytes: usize,
    hang_limit: Duration,
}

impl Candidate<'_> {
    /// Returns whether a result is of its level and knobs, and of another version of its engine.
    fn has_other_version(&self, result: &FaultResult) -> bool {
        result.contender == self.subject.contender()
            && result.durability == self.subject.durability
            && result.given_knobs == self.subject.given_knobs
            && result.version != self.version
    }
}

impl FaultTable<'_> {
    fn fill(&self, subjects: &[Subject], record: &mut FaultRecord) -> Result<(), Error> {
        for control in &FAULT_CONTROLS {
            (self.observe)(FaultEvent::Control(control));
            let result = self.try_control(control)?;
            if self.options.is_stopped() {
                break;
            }
            record.controls.push(result);
        }
        if let (true, Some(earlier)) = (self.options.is_stopped(), &self.request.earlier)
            && !record.is_valid()
        {
            // The record in the folder, with controls that are complete, stays as it is.
            record.clone_from(&earlier.record);
            record.interrupted = true;
            return Ok(());
        }
        if record.is_valid() {
            let candidates = subjects.iter().map(|subject| self.candidate(subject));
            let candidates: Vec<_> = candidates.collect();
            // A row of the table is of one version.
            let is_replaced = |result: &FaultResult| {
                let mut candidates = candidates.iter();
                candidates.any(|candidate| candidate.has_other_version(result))
            };
            record.results.retain(|result| !is_replaced(result));
            let planned = candidates.iter();
            let planned = planned.map(|candidate| self.missing(candidate, record).len());
            (self.observe)(FaultEvent::Planned(planned.sum()));
            for candidate in &candidates {
                self.try_candidate(candidate, record)?;
            }
        }
        record.interrupted = self.options.is_stopped();
        self.write(record)
    }

    fn write(&self, record: &FaultRecord) -> Result<(), Error> {
        write_record(self.folder, FAULT_RECORD, record)
    }

    fn try_control(&self, control: &FaultControl) -> Result<FaultResult, Error> {
        let contender = Contender {
            engine: CONTROL_ENGINE.to_owned(),
            build: None,
        };
        let knobs = [
            ("fault", control.planted),
            ("flush_failure", control.flush_failure),
            ("log_size", CONTROL_LOG),
        ];
        let knobs = knobs.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let knobs = Settings::from(knobs);
        let subject = Subject::new(self.registry, &contender, Durability::Sync, None, knobs);
        let subject = subject.map_err(Error::Control)?;
        let candidate = self.candidate(&subject);
        Ok(self.try_fault(&candidate, control.fault, Some(control.failed_fsync)))
    }

    fn candidate<'s>(&self, subject: &'s Subject) -> Candidate<'s> {
        let engine = subject.find_engine(self.registry).ok();
        let build = engine.as_ref().and_then(|engine| engine.build().ok());
        let capabilities = engine.as_ref().map(|engine| engine.capabilities());
        let has_server = engine.is_some_and(|engine| engine.has_server());
        Candidate {
            subject,
            version: build.map(|build| build.version).unwrap_or_default(),
            max_value_bytes: capabilities.map_or(usize::MAX, |it| it.max_value_bytes),
            hang_limit: if has_server {
                SERVER_HANG_LIMIT
            } else {
                HANG_LIMIT
            },
        }
    }

    /// Tries every fault on a candidate that has no result yet, unless it fails without one.
    fn try_candidate(
        &self,
        candidate: &Candidate<'_>,
        record: &mut FaultRecord,
    ) -> Result<(), Error> {
        let missing = self.missing(candidate, record);
        if self.options.is_stopped() || missing.is_empty() {
            return Ok(());
        }
        let trouble = self.rehearse(candidate);
        for (fault, failed_fsync) in missing {
            let reason = trouble.clone().or_else(|| self.describe_end_of_time());
            let result = match reason {
                Some(reason) => FaultResult {
                    outcome: FaultOutcome::NotRun,
                    reason: Some(reason),
                    ..blank_result(candidate, fault, failed_fsync)
                },
                None => self.try_fault(candidate, fault, failed_fsync),
            };
            if self.options.is_stopped() {
                return Ok(());
            }
            (self.observe)(FaultEvent::Ended(&result));
            record.results.push(result);
            self.write(record)?;
        }
        Ok(())
    }

    /// Returns the faults of a candidate that have no result yet, each with what becomes of the
    /// pages of a failed flush.
    fn missing(
        &self,
        candidate: &Candidate<'_>,
        record: &FaultRecord,
    ) -> Vec<(StorageFault, Option<FailedFlush>)> {
        let faults = self.request.faults.iter();
        let cases = faults.flat_map(|&fault| {
            let behaviors = self.behaviors(fault).into_iter();
            behaviors.map(move |failed_fsync| (fault, failed_fsync))
        });
        let is_missing = |&(fault, failed_fsync): &(StorageFault, Option<FailedFlush>)| {
            let blank = blank_result(candidate, fault, failed_fsync);
            !record
                .results
                .iter()
                .any(|result| result.is_of_case(&blank))
        };
        cases.filter(is_missing).collect()
    }

    /// Returns the behaviors after a failed flush with which a fault is tried; one of `None` if no
    /// flush fails.
    fn behaviors(&self, fault: StorageFault) -> Vec<Option<FailedFlush>> {
        let fails = fault.effect == FaultEffect::InputOutputError
            && matches!(fault.operation, FaultOperation::Fsync | FaultOperation::Any);
        if fails {
            self.request
                .failed_fsync
                .iter()
                .copied()
                .map(Some)
                .collect()
        } else {
            vec![None]
        }
    }

    fn describe_end_of_time(&self) -> Option<String> {
        let is_over = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        is_over.then(|| "time budget exhausted; raise --budget".to_owned())
    }

    /// Lets a subject work without a fault, in each course, and returns what goes wrong.
    fn rehearse(&self, candidate: &Candidate<'_>) -> Option<String> {
        if let Some(reason) = self.describe_end_of_time() {
            return Some(reason);
        }
        (self.observe)(FaultEvent::Began(candidate.subject, None));
        let mut courses = [FaultCourse::Kill, FaultCourse::Reopen].into_iter();
        courses.find_map(|course| {
            let rehearsal = FaultCase {
                subject: candidate.subject,
                fault: None,
                failed_flush: FailedFlush::default(),
                course,
                hang_limit: candidate.hang_limit,
            };
            match rehearsal.run(&self.options) {
                Ok(seen) => {
                    let trouble = describe_trouble(&seen)?;
                    Some(format!("fails without a fault: {trouble}"))
                }
                Err(failure) => Some(failure.to_string()),
            }
        })
    }

    /// Tries a fault in each course that can show its effect.
    fn try_fault(
        &self,
        candidate: &Candidate<'_>,
        fault: StorageFault,
        failed_fsync: Option<FailedFlush>,
    ) -> FaultResult {
        if candidate.subject.engine != CONTROL_ENGINE {
            (self.observe)(FaultEvent::Began(candidate.subject, Some(fault)));
        }
        let began = Instant::now();
        let mut result = blank_result(candidate, fault, failed_fsync);
        for &course in courses(fault) {
            let case = FaultCase {
                subject: candidate.subject,
                fault: Some(fault),
                failed_flush: failed_fsync.unwrap_or_default(),
                course,
                hang_limit: candidate.hang_limit,
            };
            match case.run(&self.options) {
                Ok(seen) => {
                    if seen.outcome == FaultOutcome::NotRun {
                        result.reason = describe_trouble(&seen)
                            .map(|trouble| format!("fails before the fault came: {trouble}"));
                    }
                    result.outcome = result.outcome.max(seen.outcome);
                    result.trials.push(seen);
                }
                Err(failure) => {
                    result.outcome = result.outcome.max(FaultOutcome::NotRun);
                    result.reason = Some(failure.to_string());
                    break;
                }
            }
        }
        if result.outcome == FaultOutcome::NotTriggered {
            result.reason = describe_limit(fault, candidate.max_value_bytes);
        }
        result.elapsed_s = began.elapsed().as_secs_f64();
        result
    }
}

/// Returns the result of a fault that was not tried yet.
fn blank_result(
    candidate: &Candidate<'_>,
    fault: StorageFault,
    failed_fsync: Option<FailedFlush>,
) -> FaultResult {
    FaultResult {
        contender: candidate.subject.contender(),
        version: candidate.version.clone(),
        durability: candidate.subject.durability,
        given_knobs: candidate.subject.given_knobs.clone(),
        fault,
        failed_fsync,
        outcome: FaultOutcome::NotTriggered,
        reason: None,
        trials: Vec::new(),
        elapsed_s: 0.0,
    }
}

/// Returns the courses that can show the effect of a fault. What a flush did not store shows if the
/// workload is killed soon: a checkpoint would write it again. What is read shows when the database
/// is opened again.
fn courses(fault: StorageFault) -> &'static [FaultCourse] {
    match (fault.operation, fault.effect) {
        (_, FaultEffect::Lie) => &[FaultCourse::Kill],
        (FaultOperation::Read, _) | (_, FaultEffect::Stall { .. }) => &[FaultCourse::Reopen],
        _ => &[FaultCourse::Kill, FaultCourse::Reopen],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_was_tried_if_nothing_of_its_case_has_changed() {
        let subject = serde_json::from_str(
            r#"{"engine": "lmdb", "durability": "sync", "claim": "sync", "knobs": {},
                "given_knobs": {}}"#,
        );
        let subject: Subject = subject.unwrap();
        let candidate = |version: &str| Candidate {
            subject: &subject,
            version: version.to_owned(),
            max_value_bytes: usize::MAX,
            hang_limit: HANG_LIMIT,
        };
        let result = |version: &str, fault: &str, failed_fsync| {
            blank_result(&candidate(version), fault.parse().unwrap(), failed_fsync)
        };
        let dropped = Some(FailedFlush::Dropped);
        let tried = FaultResult {
            outcome: FaultOutcome::Reported,
            elapsed_s: 1.0,
            ..result("1.2", "fsync:eio@3", dropped)
        };
        assert!(tried.is_of_case(&result("1.2", "fsync:eio@3", dropped)));
        for other in [
            result("1.3", "fsync:eio@3", dropped),
            result("1.2", "fsync:eio@4", dropped),
            result("1.2", "fsync:eio@3", Some(FailedFlush::KeptDirty)),
        ] {
            assert!(!tried.is_of_case(&other), "{other:?}");
        }
        // What was tried on an earlier version is in no table with a later one.
        assert!(candidate("1.3").has_other_version(&tried));
        assert!(!candidate("1.2").has_other_version(&tried));
    }
}
