//! One trial: prepare, run, measure, verify.

use crate::Phase;
use crate::context::{RunContext, TrialError};
use crate::evidence::aggregate::{self, NamedHistograms};
use crate::evidence::database_size::measure_database;
use crate::evidence::flush_evidence::{self, FlushCountsResult};
use crate::evidence::storage_stack::{resolve_stack, worse_stack};
use crate::evidence::{contradictions, engine_events, failover};
use crate::plan::disk_space::NoRoom;
use crate::plan::log_directory::find_log_folder;
use crate::plan::resolution::ResolvedTrial;
use crate::trial::compaction::compact;
use crate::trial::database_folder::{TrialDatabase, needed_bytes, open_database_folder};
use crate::trial::environment::{self, EnvironmentReport, run_workers};
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::prepared_copy;
use crate::trial::prepared_database::PreparedDatabase;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::trial::trace_folder;
use crate::trial::trial_storage::storage_key;
use crate::trial::worker_group::{WorkerGroupResult, WorkerGroupSpec};
use crate::workers::protocol::{
    Assignment, EngineState, Report, TrialTotals, VerificationResult, WorkerTask,
};
use crate::workers::task_process::run_task;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use trueput_host::usage::ResourceUsage;
use trueput_host::{self as host, placement};
use trueput_record::flush_evidence::FlushEvidence;
use trueput_record::hardware_limits::HardwareLimits;
use trueput_record::interval_log::Interval;
use trueput_record::load_generator::LoadGenerator;
use trueput_record::measurement::{DEBUG_BUILD, DatabaseSize, EngineReport, Outcome, Verification};
use trueput_record::stall::TrialStall;
use trueput_record::storage_model::is_in_folder;
use trueput_record::{
    Conditions, FORMAT_VERSION, Survival, TrialRecord, TrialSpec, VerifyLevel, WorkerKind,
};
use trueput_workloads::ExistingDatabase;

/// A trial that has ended: its record and its latencies.
pub(crate) struct TrialResult {
    /// The record.
    pub record: TrialRecord,
    /// Latencies by kind.
    pub histograms: NamedHistograms,
    /// Latencies second by second.
    pub intervals: Vec<Interval>,
    /// The trial whose folder holds the database: this one, or the one that loaded it.
    pub database_id: String,
    /// The number of trials that ran on this load before.
    pub generation: u32,
    /// The database's size before its workers opened it; `None` if it was not prepared.
    size_at_start: Option<DatabaseSize>,
}

impl TrialResult {
    /// Returns the result of a trial without a measurement.
    pub fn without_measurement(spec: &TrialSpec, outcome: Outcome) -> Self {
        let record = TrialRecord {
            format: FORMAT_VERSION,
            spec: spec.clone(),
            outcome,
            resumed: false,
            file_system: None,
            log_file_system: None,
            storage: None,
            fault_counts: None,
            host: None,
            started_at: jiff::Timestamp::now().to_string(),
            engine: None,
            conformance: None,
            isolation_check: None,
            audit: None,
            hardware_limits: None,
            load: None,
            measurement: None,
            verification: None,
        };
        Self {
            record,
            histograms: Vec::new(),
            intervals: Vec::new(),
            database_id: spec.id.clone(),
            generation: 0,
            size_at_start: None,
        }
    }
}

/// Runs a trial. A failure is its outcome; measurements so far are kept.
pub(crate) fn run_trial(context: &mut RunContext<'_>, spec: &TrialSpec) -> TrialResult {
    let mut trial = TrialResult::without_measurement(spec, Outcome::Interrupted);
    trial.record.outcome = derive_outcome(run_to_end(context, spec, &mut trial));
    trial
}

/// Returns the outcome of a trial that failed, or ended with these reasons for doubt.
pub(crate) fn derive_outcome(ended: Result<Vec<String>, TrialError>) -> Outcome {
    match ended {
        Ok(reasons) if reasons.is_empty() => Outcome::Valid,
        Ok(reasons) => Outcome::Invalid { reasons },
        Err(TrialError::Interrupted) => Outcome::Interrupted,
        Err(TrialError::Failed(reason) | TrialError::Overrun(reason)) => Outcome::Failed {
            reason: reason.to_string(),
            bad_input: false,
        },
    }
}

/// A resolved trial with its folder.
pub(crate) struct TrialSetup {
    /// The resolved trial.
    pub resolved: Arc<ResolvedTrial>,
    /// The database's folder.
    pub directory: PathBuf,
    /// The folder in which its files lie: another one if that shows them with delays or a fault.
    files: PathBuf,
    /// The time since which it has been used for this trial.
    pub began: SystemTime,
    /// The database that is in it.
    existing: ExistingDatabase,
    /// The counters of the storage below; `None` if they prove nothing.
    flush_counting: Option<FlushCountsResult>,
    /// Bytes that must be free on the file system of its database.
    needed_bytes: u64,
    /// The folder for the workers' parts of a trace; `None` if none is recorded.
    trace_folder: Option<PathBuf>,
    /// The copy with which it begins, prepared by an earlier repeat.
    prepared: Option<PreparedDatabase>,
}

impl TrialSetup {
    /// Resolves a trial, creates its folder if it needs one, and measures the hardware limits
    /// there.
    ///
    /// # Errors
    /// Any [`TrialError`].
    pub fn set_up(
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        trial: &mut TrialResult,
    ) -> Result<Self, TrialError> {
        let resolved = context.resolve(spec)?;
        let TrialDatabase {
            id,
            generation,
            place,
            existing,
            prepared,
        } = open_database_folder(context, spec, &resolved)?;
        (trial.database_id, trial.generation) = (id, generation);
        trial.record.file_system = place.data;
        trial.record.log_file_system = place.log;
        let directory = place.database;
        let files = place.files.unwrap_or_else(|| directory.clone());
        trial.record.resumed = existing == ExistingDatabase::Unfinished;
        trial.record.storage = resolve_stack(spec, &resolved, &files);
        if existing == ExistingDatabase::Nothing {
            check_room(context, spec, &resolved, &files)?;
        }
        if existing != ExistingDatabase::Unfinished {
            trial.record.hardware_limits = hardware_limits(context, spec, &resolved, &directory)?;
        }
        let needed_bytes = needed_bytes(context, spec, &resolved);
        let trace_folder = trace_folder::make(context, spec)?;
        Ok(Self {
            trace_folder,
            flush_counting: flush_evidence::prepare_flush_counting(spec, &resolved, &files),
            resolved,
            directory,
            files,
            began: SystemTime::now(),
            existing,
            needed_bytes,
            prepared,
        })
    }

    /// Returns whether it begins with a copy of what an earlier repeat prepared.
    pub fn has_copy(&self) -> bool {
        self.prepared.is_some()
    }

    /// Returns the work of the trial's workers.
    pub fn specify_workers(&self, spec: &TrialSpec, trial: &TrialResult) -> WorkerGroupSpec<'_> {
        WorkerGroupSpec {
            directory: &self.directory,
            files: &self.files,
            generation: trial.generation,
            sessions: self.resolved.job.sessions(spec.workers),
            total_units: self.resolved.job.total_units(),
            resolved: &self.resolved,
            flush_counting: self.flush_counting.as_ref(),
            trace_folder: self.trace_folder.as_deref(),
        }
    }

    /// Returns the bytes that must be free: none if the database exists already, or has its own
    /// file system.
    pub fn needed_bytes(&self, spec: &TrialSpec) -> u64 {
        let Conditions {
            file_system,
            storage_model,
            ..
        } = &spec.conditions;
        let is_in_image = storage_model.is_some() && !is_in_folder(storage_model.as_deref());
        let is_apart = file_system.is_some() || is_in_image;
        if self.existing == ExistingDatabase::Nothing && !is_apart {
            self.needed_bytes
        } else {
            0
        }
    }

    fn assignment(&self, spec: &TrialSpec, trial: &TrialResult, task: WorkerTask) -> Assignment {
        Assignment {
            spec: spec.clone(),
            directory: self.directory.clone(),
            generation: trial.generation,
            task,
        }
    }

    /// Creates and fills the database, with its server running, and notes its size.
    ///
    /// # Errors
    /// Any [`TrialError`].
    pub fn prepare(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        server: &mut ServerLifecycle<'_>,
        trial: &mut TrialResult,
    ) -> Result<(), TrialError> {
        self.fill(context, spec, server, trial)?;
        trial.size_at_start = Some(measure_database(&self.directory)?);
        Ok(())
    }

    fn fill(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        server: &mut ServerLifecycle<'_>,
        trial: &mut TrialResult,
    ) -> Result<(), TrialError> {
        if let Some(copy) = &self.prepared {
            trial.record.engine = Some(copy.engine.clone());
            return check_engine_file(context, trial);
        }
        let before = server.usage();
        let task = WorkerTask::Prepare {
            existing: self.existing,
        };
        let (began, assignment) = (Instant::now(), self.assignment(spec, trial, task));
        let prepared = run_task(context, assignment, LimitedPhase::Prepare);
        let prepared = prepared.map_err(|error| server.explain_failure(error))?;
        context.note_preparation(spec, began.elapsed());
        let used = before.zip(server.usage());
        let used = used.map(|(before, after)| after - before);
        describe_prepared(
            context,
            &self.resolved,
            &self.directory,
            prepared,
            used,
            trial,
        )?;
        check_engine_file(context, trial)?;
        self.keep_copy(context, spec, server, trial)
    }

    /// Keeps a copy of the prepared database if a later repeat begins with it. The server stops
    /// meanwhile, as it does before it starts on the copy.
    fn keep_copy(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        server: &mut ServerLifecycle<'_>,
        trial: &TrialResult,
    ) -> Result<(), TrialError> {
        let is_new = self.existing == ExistingDatabase::Nothing;
        let retains_data = self.resolved.engine.capabilities().retains_data;
        let Some(engine) = &trial.record.engine else {
            return Ok(());
        };
        if !is_new || !retains_data || !prepared_copy::is_wanted(context, spec) {
            return Ok(());
        }
        let runs = server.pid().is_some();
        server.stop(context, Phase::Prepare)?;
        let place = (trial.database_id.as_str(), self.directory.as_path());
        prepared_copy::keep(context, spec, place, engine.clone());
        if runs {
            server.start(context, None, Phase::Prepare)?;
        }
        Ok(())
    }

    /// Aggregates the workers' results and verifies them, with the server running. A compaction
    /// comes in between, so that the verification finds what it has lost.
    ///
    /// # Errors
    /// Any [`TrialError`].
    pub fn verify(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        server: &mut ServerLifecycle<'_>,
        (result, report): (WorkerGroupResult, EnvironmentReport),
        trial: &mut TrialResult,
    ) -> Result<(), TrialError> {
        let totals = measure(&self.resolved, &result, &self.directory, trial)?;
        if let Some(measurement) = &mut trial.record.measurement {
            (measurement.cold_start, measurement.memory) = (report.cold_start, report.memory);
            if let Some(recovery) = report.recovery {
                measurement.recovery = Some(recovery.recovery);
                measurement.database = recovery.database;
            }
        }
        if result.interrupted {
            return Err(TrialError::Interrupted);
        }
        if spec.conditions.compact {
            let assignment = self.assignment(spec, trial, WorkerTask::Compact);
            let compaction = compact(context, assignment, server)?;
            if let Some(measurement) = &mut trial.record.measurement {
                measurement.compaction = compaction;
            }
        }
        let assignment = self.assignment(spec, trial, WorkerTask::Verify(totals));
        let verified = run_task(context, assignment, LimitedPhase::Verify);
        // A file that was replaced meanwhile explains what the verification finds.
        check_engine_file(context, trial)?;
        let Report::Verified(verified) = verified.map_err(|error| server.explain_failure(error))?
        else {
            return Err(TrialError::from(
                "verification returned an unexpected result".to_owned(),
            ));
        };
        verify(spec, &self.resolved, *verified, trial);
        let at_end = resolve_stack(spec, &self.resolved, &self.files);
        trial.record.storage = worse_stack(trial.record.storage.take(), at_end);
        if let Some(measurement) = &mut trial.record.measurement {
            measurement.flush_evidence = flush_evidence::derive_evidence(
                spec,
                &self.resolved,
                measurement,
                self.flush_counting.as_ref(),
                result.completed_requests,
            );
        }
        Ok(())
    }
}

/// Runs a trial to its end; returns the reasons for which its numbers are invalid.
fn run_to_end(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    trial: &mut TrialResult,
) -> Result<Vec<String>, TrialError> {
    let setup = TrialSetup::set_up(context, spec, trial)?;
    let mut server = ServerLifecycle::new(&setup.resolved, spec, &setup.directory);
    let started = server.start(context, None, Phase::Prepare);
    started.map_err(|error| context.explain_storage(error, &setup.directory))?;
    let ended = run_with_server(context, spec, &setup, &mut server, trial);
    let ended = ended.map_err(|error| context.explain_storage(error, &setup.directory));
    // The first failure is the one to report.
    let stopped = server.stop_after(context, &ended);
    ended?;
    stopped?;
    Ok(list_reasons_for_doubt(context, &setup, trial))
}

/// Prepares a trial, runs it and verifies its results, with its server running.
fn run_with_server(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    setup: &TrialSetup,
    server: &mut ServerLifecycle<'_>,
    trial: &mut TrialResult,
) -> Result<(), TrialError> {
    setup.prepare(context, spec, server, trial)?;
    let workers = setup.specify_workers(spec, trial);
    let result = run_workers(context, spec, &workers, server)?;
    setup.verify(context, spec, server, result, trial)
}

/// Returns the hardware limits of a trial, measured by a process with the placement and limits of
/// its workers, or taken from an earlier trial under the same conditions. If they cannot be
/// measured the trial continues without them.
fn hardware_limits(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    directory: &Path,
) -> Result<Option<HardwareLimits>, TrialError> {
    if !context.options.hardware_limits {
        return Ok(None);
    }
    let log = find_log_folder(&spec.knobs, directory).filter(|folder| folder.is_dir());
    // A user's server may keep its database elsewhere: the flushes and blocks of this machine's
    // files do not limit it.
    let is_local = !spec.is_on_users_server();
    let task = WorkerTask::HardwareLimits {
        log_directory: log.unwrap_or_else(|| directory.to_owned()),
        stores: resolved.engine.capabilities().retains_data && is_local,
        committers: resolved.job.sessions(spec.workers),
        commit_bytes: resolved.job.commit_bytes(),
    };
    let key = hardware_limits_key(spec, &task);
    if let Some(known) = context.known.hardware_limits.get(&key) {
        return Ok(Some(known.clone()));
    }
    let assignment = Assignment {
        spec: spec.clone(),
        directory: directory.to_owned(),
        generation: 0,
        task,
    };
    let reason =
        match environment::run_limited_task(context, assignment, LimitedPhase::HardwareLimits) {
            Ok(Report::HardwareLimits(measured)) => {
                context
                    .known
                    .hardware_limits
                    .insert(key, (*measured).clone());
                return Ok(Some(*measured));
            }
            Ok(_) => "the process returned an unexpected result".to_owned(),
            Err(TrialError::Failed(reason) | TrialError::Overrun(reason)) => reason.to_string(),
            Err(TrialError::Interrupted) => return Err(TrialError::Interrupted),
        };
    context.warn(format!("cannot measure the hardware limits: {reason}"));
    Ok(None)
}

/// Returns all that the hardware limits depend on: the task without its folder, which differs
/// between trials, and the conditions of the workers.
fn hardware_limits_key(spec: &TrialSpec, task: &WorkerTask) -> String {
    let WorkerTask::HardwareLimits {
        stores,
        committers,
        commit_bytes,
        ..
    } = task
    else {
        return String::new();
    };
    let Conditions {
        cpus,
        numa,
        allocator,
        memory_bytes,
        ..
    } = &spec.conditions;
    let setup = storage_key(&spec.conditions);
    let environment = format!("{cpus:?} {numa:?} {allocator} {memory_bytes:?}");
    format!("{stores} {committers} {commit_bytes} {setup} {environment}")
}

/// Records the report of the process that prepared the database: the engine's description and the
/// load. Warns once per run of a library compiled with assertions.
fn describe_prepared(
    context: &mut RunContext<'_>,
    resolved: &ResolvedTrial,
    directory: &Path,
    prepared: Report,
    server: Option<ResourceUsage>,
    trial: &mut TrialResult,
) -> Result<(), TrialError> {
    let Report::Prepared {
        name,
        version,
        library,
        assertions,
        engine,
        load,
    } = prepared
    else {
        return Err(TrialError::from(
            "preparing the database returned an unexpected result".to_owned(),
        ));
    };
    if let Some(done) = load {
        trial.record.load = Some(aggregate::build_load_report(
            &done,
            server,
            measure_database(directory)?,
        ));
    }
    let origin = library
        .as_deref()
        .map_or("compiled in".to_owned(), |path| path.display().to_string());
    if assertions == Some(true) && context.is_first_use(library.as_deref()) {
        context.warn(format!(
            "{name} {version} ({origin}) is built with assertions: it is not ranked with builds \
             without them"
        ));
    }
    trial.record.engine = Some(EngineReport {
        name,
        version,
        origin,
        sha256: context.sha256(library.as_deref())?,
        assertions,
        workaround: resolved.engine.workaround(&resolved.knobs),
        known_defect: resolved.engine.known_defect(&resolved.knobs),
        promise: resolved.promise.clone(),
        isolation: resolved.isolation(),
        contradictions: engine.contradictions,
        settings: engine.settings,
        counters: engine.counters,
    });
    Ok(())
}

/// Checks that the file of a trial's engine is still the one with which the run began: each process
/// of the trial loads it.
fn check_engine_file(context: &mut RunContext<'_>, trial: &TrialResult) -> Result<(), TrialError> {
    match &trial.record.engine {
        Some(report) => context.check_engine_file(&report.origin),
        None => Ok(()),
    }
}

/// Checks the room for a trial's database. The copies of others are given up for it.
fn check_room(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    directory: &Path,
) -> Result<(), NoRoom> {
    let factor = context.options.disk_factor;
    let space = resolved.disk_space(spec, factor);
    if host::read_free_bytes(directory).is_some_and(|free| free < space.needed_bytes) {
        prepared_copy::remove_copies(context);
    }
    match host::read_free_bytes(directory) {
        Some(free_bytes) if free_bytes < space.needed_bytes => Err(NoRoom::Trial {
            directory: directory.to_owned(),
            space,
            factor,
            free_bytes,
        }),
        _ => Ok(()),
    }
}

/// Puts the measurement into the trial's line, and returns the facts needed for the outcome.
fn measure(
    resolved: &ResolvedTrial,
    result: &WorkerGroupResult,
    directory: &Path,
    trial: &mut TrialResult,
) -> Result<TrialTotals, TrialError> {
    let conditions = &trial.record.spec.conditions;
    let aggregated = aggregate::build_measurement(&*resolved.job, conditions, result)?;
    let mut measurement = aggregated.measurement;
    measurement.database_at_start = trial.size_at_start;
    measurement.database = measure_database(directory)?;
    let interval = (result.started_at.as_str(), measurement.elapsed_s);
    let (spec, seen) = (&trial.record.spec, result.engine_events.clone());
    let slices = &result.slices;
    measurement.events =
        engine_events::list_events(resolved, spec, directory, interval, slices, seen);
    let shares = || result.process_results.iter().flat_map(|part| &part.workers);
    let totals = TrialTotals {
        counts: measurement
            .operations
            .iter()
            .map(|operation| operation.count)
            .collect(),
        conflicts: measurement.conflicts,
        findings: shares().map(|share| share.findings.clone()).collect(),
        attachments: shares().map(|share| share.attachment.clone()).collect(),
        resumed: trial.record.resumed,
        crashed: result.killed > 0,
    };
    let states = result.process_results.iter().map(|part| &part.engine);
    contradictions::note(&mut trial.record, states);
    // Counters of one process that did all the work are better than those of a later one.
    if let (Some(report), [part]) = (&mut trial.record.engine, result.process_results.as_slice()) {
        describe(report, part.engine.clone());
    }
    trial.record.started_at.clone_from(&result.started_at);
    trial.record.measurement = Some(measurement);
    trial.histograms = aggregated.histograms;
    trial.intervals = aggregated.intervals;
    Ok(totals)
}

fn describe(report: &mut EngineReport, engine: EngineState) {
    report.settings = engine.settings;
    report.counters = engine.counters;
}

fn verify(
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    verified: VerificationResult,
    trial: &mut TrialResult,
) {
    let VerificationResult {
        mut results,
        mut checks,
        elapsed_s,
        engine,
    } = verified;
    if let Some(measurement) = &trial.record.measurement {
        let appraised = resolved.job.derive_metrics(measurement);
        results.extend(appraised.results);
        checks.extend(appraised.checks);
    }
    contradictions::note(&mut trial.record, [&engine]);
    let several = spec.worker_kind == WorkerKind::Processes && spec.workers > 1;
    if let (Some(report), true) = (&mut trial.record.engine, several) {
        describe(report, engine);
    }
    if let Some(measurement) = &mut trial.record.measurement {
        measurement.results = results;
    }
    // There is nothing to verify if an engine retains no data, or after a crash without a promise:
    // unverified, and so never ranked.
    let measured = trial.record.measurement.as_ref();
    let crashed = measured.is_some_and(|measured| measured.recovery.is_some());
    let unpromised = spec.durability.after_killed_processes() == Survival::Nothing;
    let keeps_nothing = !resolved.engine.capabilities().retains_data;
    let nothing_to_check = checks.is_empty() && (keeps_nothing || (crashed && unpromised));
    if spec.verify != VerifyLevel::Off && !nothing_to_check {
        let verification = Verification::from_checks(spec.verify, checks, elapsed_s);
        trial.record.verification = Some(verification);
    }
}

/// Returns why the numbers of a finished trial are invalid; empty if they are valid.
pub(crate) fn list_reasons_for_doubt(
    context: &RunContext<'_>,
    setup: &TrialSetup,
    trial: &TrialResult,
) -> Vec<String> {
    let resolved = &*setup.resolved;
    let mut reasons = Vec::new();
    if cfg!(debug_assertions) {
        reasons.push(DEBUG_BUILD.to_owned());
    }
    let version = trial
        .record
        .engine
        .as_ref()
        .map_or("", |engine| engine.version.trim());
    if version.is_empty() {
        reasons.push(format!(
            "{} does not report its version",
            resolved.engine.info().name
        ));
    }
    reasons.extend(contradictions::list(
        resolved,
        &trial.record,
        &setup.directory,
        setup.began,
    ));
    let measurement = trial.record.measurement.as_ref();
    let found = measurement.and_then(|m| Some((m.placement.as_ref()?, m.allocator.as_ref()?)));
    if let Some((placement, allocator)) = found {
        let conditions = &trial.record.spec.conditions;
        reasons.extend(placement::list_doubts(conditions, placement, allocator));
    }
    let measurement = trial.record.measurement.as_ref();
    reasons.extend(
        measurement.and_then(|measured| environment::explain_warm_start(measured.cold_start)),
    );
    let hosts = measurement.map_or(&[][..], |measured| &measured.load_generators);
    reasons.extend(hosts.iter().flat_map(LoadGenerator::doubts));
    let stalls = measurement.map_or(&[][..], |measured| &measured.stalls);
    reasons.extend(stalls.iter().map(TrialStall::doubt));
    let ended = context.ended_storage_server();
    reasons.extend(ended.map(|server| format!("{server} ended before it")));
    let flushes = measurement.and_then(|measured| measured.flush_evidence.as_ref());
    reasons.extend(flushes.and_then(FlushEvidence::doubt));
    reasons.extend(failover::list_doubts(resolved, &trial.record));
    if let Some(verification) = trial.record.verification.as_ref().filter(|v| !v.passed) {
        let failures = verification.failures();
        if failures.is_empty() {
            reasons.push("the workload checked nothing".to_owned());
        } else {
            reasons.extend(failures);
        }
    }
    reasons
}
