//! One trial: prepare, run, measure, verify.

use crate::aggregate::{self, NamedHistograms};
use crate::context::{RunContext, TrialError};
use crate::engine_events;
use crate::environment::{self, EnvironmentReport, execute_within};
use crate::execution::{ExecutionPlan, ExecutionResult};
use crate::flush_evidence::{self, FlushCounting};
use crate::log_directory::log_folder;
use crate::protocol::{
    Assignment, EngineState, ExecutionTotals, ExistingDatabase, Report, VerificationResult,
    WorkerTask,
};
use crate::resolution::{ResolvedTrial, resolve_trial};
use crate::server_lifecycle::ServerLifecycle;
use crate::worker_task::alone;
use crate::{Phase, Registry};
use std::path::{Path, PathBuf};
use trueput_host::trial_file_system::{self, TrialFileSystems};
use trueput_host::usage::ResourceUsage;
use trueput_host::{self as host, placement};
use trueput_record::Survival;
use trueput_record::address::is_address_for;
use trueput_record::ceiling::Ceilings;
use trueput_record::flush_evidence::FlushEvidence;
use trueput_record::measurement::{DatabaseSize, EngineReport, Outcome, Verification};
use trueput_record::value::format_bytes;
use trueput_record::{Conditions, FORMAT_VERSION, TrialRecord, TrialSpec, VerifyLevel, WorkerKind};

/// A trial that has ended: its line, and its latencies by kind where there are any.
pub(crate) struct TrialResult {
    /// The line.
    pub record: TrialRecord,
    /// Kind and latencies.
    pub histograms: NamedHistograms,
    /// The trial whose folder its database lies in: itself, or the one that loaded it.
    pub place: String,
    /// How many trials ran on its load before.
    pub generation: u32,
}

impl TrialResult {
    /// A trial that has measured nothing.
    pub fn without_measurement(spec: &TrialSpec, outcome: Outcome) -> Self {
        let record = TrialRecord {
            format: FORMAT_VERSION,
            spec: spec.clone(),
            outcome,
            resumed: false,
            file_system: None,
            log_file_system: None,
            started_at: jiff::Timestamp::now().to_string(),
            engine: None,
            conformance: None,
            ceilings: None,
            load: None,
            measurement: None,
            verification: None,
        };
        Self {
            record,
            histograms: Vec::new(),
            place: spec.id.clone(),
            generation: 0,
        }
    }
}

/// Runs a trial. Whatever goes wrong is its outcome; what was measured until then is kept.
pub(crate) fn run_trial(context: &mut RunContext<'_>, spec: &TrialSpec) -> TrialResult {
    let mut trial = TrialResult::without_measurement(spec, Outcome::Interrupted);
    trial.record.outcome = outcome(attempt(context, spec, &mut trial));
    trial
}

/// How a trial ended that halted, or ran to its end and has these reasons for doubt.
pub(crate) fn outcome(ended: Result<Vec<String>, TrialError>) -> Outcome {
    match ended {
        Ok(reasons) if reasons.is_empty() => Outcome::Valid,
        Ok(reasons) => Outcome::Invalid { reasons },
        Err(TrialError::Interrupted) => Outcome::Interrupted,
        Err(TrialError::Failed(reason)) => Outcome::Failed {
            reason,
            bad_input: false,
        },
    }
}

/// Where a trial works, and what it is bound to.
pub(crate) struct TrialSetup {
    /// What its names mean.
    pub bound: ResolvedTrial,
    /// Its database's folder.
    pub directory: PathBuf,
    /// What is in it.
    left: ExistingDatabase,
    /// What can be counted of the storage below; `None` where that says nothing.
    countable: Option<FlushCounting>,
    /// What must be free where its database is made.
    needed_bytes: u64,
}

impl TrialSetup {
    /// Binds a trial, makes its folder where it needs one, and has the machine's ceilings measured
    /// there.
    ///
    /// # Errors
    /// [`TrialError`] as it says itself.
    pub fn find(
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        trial: &mut TrialResult,
    ) -> Result<Self, TrialError> {
        let bound = resolve_trial(context.registry, spec)?;
        let (directory, left) = database_folder(context, spec, &bound, trial)?;
        trial.record.resumed = left == ExistingDatabase::Unfinished;
        if left == ExistingDatabase::Nothing {
            check_room(context, spec, &bound, &directory)?;
        }
        if left != ExistingDatabase::Unfinished {
            trial.record.ceilings = ceilings(context, spec, &bound, &directory)?;
        }
        let needed_bytes = needed_bytes(context, spec, &bound);
        Ok(Self {
            countable: flush_evidence::countable(spec, &bound, &directory),
            bound,
            directory,
            left,
            needed_bytes,
        })
    }

    /// What the workers of a trial there are to do.
    pub fn work(&self, spec: &TrialSpec, trial: &TrialResult) -> ExecutionPlan<'_> {
        ExecutionPlan {
            directory: &self.directory,
            generation: trial.generation,
            sessions: self.bound.job.sessions(spec.workers),
            total_units: self.bound.job.total_units(),
            bound: &self.bound,
            countable: self.countable.as_ref(),
        }
    }

    /// Bytes that must be free where its database is made: none where that is there already, or has
    /// a file system of its own.
    pub fn needed_bytes(&self, spec: &TrialSpec) -> u64 {
        match self.left == ExistingDatabase::Nothing && spec.conditions.file_system.is_none() {
            true => self.needed_bytes,
            false => 0,
        }
    }

    fn assignment(&self, spec: &TrialSpec, trial: &TrialResult, part: WorkerTask) -> Assignment {
        Assignment {
            spec: spec.clone(),
            directory: self.directory.clone(),
            generation: trial.generation,
            part,
        }
    }

    /// Makes and fills the database, with its server running.
    ///
    /// # Errors
    /// [`TrialError`] as it says itself.
    pub fn prepare(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        hosting: &mut ServerLifecycle<'_>,
        trial: &mut TrialResult,
    ) -> Result<(), TrialError> {
        let before = hosting.usage();
        let part = WorkerTask::Prepare { remains: self.left };
        let prepared = alone(
            context,
            self.assignment(spec, trial, part),
            Some(Phase::Prepare),
            None,
            "preparing the database",
        );
        let prepared = prepared.map_err(|halt| hosting.explained(halt))?;
        let used = before.zip(hosting.usage());
        let used = used.map(|(before, after)| after - before);
        describe_prepared(context, &self.bound, &self.directory, prepared, used, trial)
    }

    /// Measures what the workers did and checks the outcome, with the server running.
    ///
    /// # Errors
    /// [`TrialError`] as it says itself.
    pub fn conclude(
        &self,
        context: &mut RunContext<'_>,
        spec: &TrialSpec,
        hosting: &mut ServerLifecycle<'_>,
        (ran, began): (ExecutionResult, EnvironmentReport),
        trial: &mut TrialResult,
    ) -> Result<(), TrialError> {
        let totals = measure(&self.bound, &ran, &self.directory, trial)?;
        if let Some(measurement) = &mut trial.record.measurement {
            (measurement.cold_start, measurement.memory) = (began.cold_start, began.memory);
            if let Some(aftermath) = began.aftermath {
                measurement.recovery = Some(aftermath.recovery);
                measurement.database = aftermath.database;
            }
        }
        if ran.interrupted {
            return Err(TrialError::Interrupted);
        }
        let concluded = alone(
            context,
            self.assignment(spec, trial, WorkerTask::Conclude(totals)),
            Some(Phase::Verify),
            None,
            "verification",
        );
        let Report::Verified(concluded) = concluded.map_err(|halt| hosting.explained(halt))? else {
            return Err(TrialError::Failed(
                "verification returned an unexpected result".to_owned(),
            ));
        };
        conclude(spec, &self.bound, *concluded, trial);
        if let Some(measurement) = &mut trial.record.measurement {
            measurement.flush_evidence = flush_evidence::evidence(
                spec,
                &self.bound,
                measurement,
                self.countable.as_ref(),
                ran.completed,
            );
        }
        Ok(())
    }
}

/// Runs a trial to its end and says why its numbers must not be believed, if so.
fn attempt(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    trial: &mut TrialResult,
) -> Result<Vec<String>, TrialError> {
    let place = TrialSetup::find(context, spec, trial)?;
    let mut hosting = ServerLifecycle::new(&place.bound, spec, &place.directory);
    hosting.start(context, None, Phase::Prepare)?;
    let ended = attempt_at(context, spec, &place, &mut hosting, trial);
    // The first failure is the one to tell.
    let stopped = hosting.stop(context, Phase::Verify);
    ended?;
    stopped?;
    Ok(reasons_for_doubt(&place.bound, trial))
}

/// Prepares a trial, runs it and checks its outcome, with its server running.
fn attempt_at(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    place: &TrialSetup,
    hosting: &mut ServerLifecycle<'_>,
    trial: &mut TrialResult,
) -> Result<(), TrialError> {
    place.prepare(context, spec, hosting, trial)?;
    let work = place.work(spec, trial);
    let ran = execute_within(context, spec, &work, hosting)?;
    place.conclude(context, spec, hosting, ran, trial)
}

/// The ceilings of a trial, measured by a process that is placed and limited as its workers, or
/// taken from an earlier trial in the same circumstances. Where they cannot be measured the trial
/// goes on without.
fn ceilings(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    bound: &ResolvedTrial,
    directory: &Path,
) -> Result<Option<Ceilings>, TrialError> {
    if !context.options.ceilings {
        return Ok(None);
    }
    let log = log_folder(&spec.knobs, directory).filter(|folder| folder.is_dir());
    let part = WorkerTask::Ceilings {
        log_directory: log.unwrap_or_else(|| directory.to_owned()),
        stores: bound.engine.capabilities().retains_data
            && lies_here(&spec.engine, spec.build.as_deref()),
        committers: bound.job.sessions(spec.workers),
        commit_bytes: bound.job.commit_bytes(),
    };
    let key = ceilings_key(spec, &part);
    if let Some(known) = context.ceilings.get(&key) {
        return Ok(Some(known.clone()));
    }
    let assignment = Assignment {
        spec: spec.clone(),
        directory: directory.to_owned(),
        generation: 0,
        part,
    };
    let why = match environment::alone_within(context, assignment, "measuring the hardware limits")
    {
        Ok(Report::Ceilings(measured)) => {
            context.ceilings.insert(key, (*measured).clone());
            return Ok(Some(*measured));
        }
        Ok(_) => "the process returned an unexpected result".to_owned(),
        Err(TrialError::Failed(reason)) => reason,
        Err(TrialError::Interrupted) => return Err(TrialError::Interrupted),
    };
    context.warn(format!("cannot measure the hardware limits: {why}"));
    Ok(None)
}

/// Whether a database of that build lies in files of this machine's, whose flushes and blocks bound
/// it. A user's server keeps its own, perhaps elsewhere.
fn lies_here(engine: &str, build: Option<&Path>) -> bool {
    !build.is_some_and(|build| is_address_for(engine, build))
}

/// All that ceilings depend on: the part without its folder, which is another for each trial, and
/// what surrounds the workers.
fn ceilings_key(spec: &TrialSpec, part: &WorkerTask) -> String {
    let WorkerTask::Ceilings {
        stores,
        committers,
        commit_bytes,
        ..
    } = part
    else {
        return String::new();
    };
    let Conditions {
        cpus,
        numa,
        allocator,
        memory_bytes,
        file_system,
        log_file_system,
        ..
    } = &spec.conditions;
    let place = format!("{file_system:?} {log_file_system:?}");
    let environment = format!("{cpus:?} {numa:?} {allocator} {memory_bytes:?}");
    format!("{stores} {committers} {commit_bytes} {place} {environment}")
}

/// What the process that prepared the database says: the engine as it describes itself, and what was
/// loaded. That a library was compiled with assertions is said once per run.
fn describe_prepared(
    context: &mut RunContext<'_>,
    bound: &ResolvedTrial,
    directory: &Path,
    prepared: Report,
    server: Option<ResourceUsage>,
    trial: &mut TrialResult,
) -> Result<(), TrialError> {
    let Report::Prepared {
        version,
        library,
        assertions,
        engine,
        load,
    } = prepared
    else {
        return Err(TrialError::Failed(
            "preparing the database returned an unexpected result".to_owned(),
        ));
    };
    if let Some(done) = load {
        trial.record.load = Some(aggregate::load(&done, server, database_size(directory)?));
    }
    let origin = library
        .as_deref()
        .map_or("compiled in".to_owned(), |path| path.display().to_string());
    if assertions == Some(true) && context.is_first_use(library.as_deref()) {
        context.warn(format!(
            "{} {version} ({origin}) is built with assertions: it is not ranked with builds \
             without them",
            trial.record.spec.engine
        ));
    }
    trial.record.engine = Some(EngineReport {
        version,
        origin,
        sha256: context.sha256(library.as_deref())?,
        assertions,
        workaround: bound.engine.workaround(&bound.knobs),
        known_defect: bound.engine.known_defect(&bound.knobs),
        promise: bound.promise.clone(),
        isolation: bound.isolation(),
        settings: engine.settings,
        counters: engine.counters,
    });
    Ok(())
}

fn database_size(directory: &Path) -> Result<DatabaseSize, String> {
    aggregate::database_size(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// What the database of a trial is good for: trials of one key that follow each other share it.
pub(crate) fn load_key(registry: &Registry, spec: &TrialSpec) -> Option<String> {
    let bound = resolve_trial(registry, spec).ok()?;
    key_of(spec, &bound)
}

fn key_of(spec: &TrialSpec, bound: &ResolvedTrial) -> Option<String> {
    // What a crash leaves is no load for others.
    if spec.conditions.crash_and_recover {
        return None;
    }
    let load = bound.job.load_key()?;
    let knobs = serde_json::to_string(&spec.knobs).ok()?;
    let (contender, workload, seed) = (spec.contender(), &spec.workload, spec.seed);
    let durability = spec.durability;
    // The load decides on which node each page of the page cache lies.
    let Conditions {
        cpus,
        numa,
        file_system,
        log_file_system,
        ..
    } = &spec.conditions;
    let place = format!("{cpus:?} {numa:?} {file_system:?} {log_file_system:?}");
    Some(format!(
        "{contender} {durability} {knobs} {workload} {load} {seed} {place}"
    ))
}

/// The folder of the trial's database, and what is in it.
fn database_folder(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    bound: &ResolvedTrial,
    trial: &mut TrialResult,
) -> Result<(PathBuf, ExistingDatabase), String> {
    let key = key_of(spec, bound);
    if let Some(held) = context.held.take_if(|held| key.as_ref() == Some(&held.key)) {
        trial.place.clone_from(&held.id);
        trial.generation = held.generation;
        let folder = context.area.trial(&held.id)?.0;
        return Ok((
            stand_on(trial_file_system::found(&folder), trial),
            ExistingDatabase::Loaded,
        ));
    }
    context.drop_held();
    let (directory, left) = context.area.trial(&spec.id)?;
    let conditions = &spec.conditions;
    let apart = conditions.file_system.is_some() || conditions.log_file_system.is_some();
    if left && !apart && context.options.resume_databases && bound.job.is_resumable() {
        return Ok((directory, ExistingDatabase::Unfinished));
    }
    if left {
        context.area.remove(&spec.id)?;
    }
    let (directory, _) = context.area.trial(&spec.id)?;
    let needed = needed_bytes(context, spec, bound);
    let ground = trial_file_system::make(&directory, conditions, needed)?;
    Ok((stand_on(ground, trial), ExistingDatabase::Nothing))
}

/// Records the file systems of a trial, and says where its database is.
fn stand_on(ground: TrialFileSystems, trial: &mut TrialResult) -> PathBuf {
    trial.record.file_system = ground.data;
    trial.record.log_file_system = ground.log;
    ground.database
}

fn needed_bytes(context: &RunContext<'_>, spec: &TrialSpec, bound: &ResolvedTrial) -> u64 {
    let factor = context.options.disk_factor;
    bound.disk_space(spec, factor).needed_bytes
}

fn check_room(
    context: &RunContext<'_>,
    spec: &TrialSpec,
    bound: &ResolvedTrial,
    directory: &Path,
) -> Result<(), String> {
    let factor = context.options.disk_factor;
    let space = bound.disk_space(spec, factor);
    match host::free_bytes(directory) {
        Some(free) if free < space.needed_bytes => Err(format!(
            "too little disk space in {}: {}, {} free",
            directory.display(),
            space.explained(factor),
            format_bytes(free)
        )),
        _ => Ok(()),
    }
}

/// Puts the measurement into the trial's line, and returns what the conclusion must know.
fn measure(
    bound: &ResolvedTrial,
    ran: &ExecutionResult,
    directory: &Path,
    trial: &mut TrialResult,
) -> Result<ExecutionTotals, String> {
    let conditions = &trial.record.spec.conditions;
    let (mut measurement, histograms) = aggregate::measurement(&*bound.job, conditions, ran)?;
    measurement.database = database_size(directory)?;
    let interval = (ran.started_at.as_str(), measurement.elapsed_s);
    let (spec, seen) = (&trial.record.spec, ran.seen.clone());
    // An engine that waits for its turn goes on by itself, at times that are not the trial's.
    if conditions.turn_s.is_none() {
        measurement.events = engine_events::events(bound, spec, directory, interval, seen);
    }
    let shares = || {
        ran.executions
            .iter()
            .flat_map(|execution| &execution.workers)
    };
    let totals = ExecutionTotals {
        counts: measurement
            .operations
            .iter()
            .map(|operation| operation.count)
            .collect(),
        conflicts: measurement.conflicts,
        findings: shares().map(|share| share.findings.clone()).collect(),
        resumed: trial.record.resumed,
        crashed: ran.killed > 0,
    };
    // Counters of one process that did all the work are better than those of a later one.
    if let (Some(report), [execution]) = (&mut trial.record.engine, ran.executions.as_slice()) {
        describe(report, execution.engine.clone());
    }
    trial.record.started_at.clone_from(&ran.started_at);
    trial.record.measurement = Some(measurement);
    trial.histograms = histograms;
    Ok(totals)
}

fn describe(report: &mut EngineReport, engine: EngineState) {
    report.settings = engine.settings;
    report.counters = engine.counters;
}

fn conclude(
    spec: &TrialSpec,
    bound: &ResolvedTrial,
    concluded: VerificationResult,
    trial: &mut TrialResult,
) {
    let VerificationResult {
        mut results,
        mut checks,
        elapsed_s,
        engine,
    } = concluded;
    if let Some(measurement) = &trial.record.measurement {
        let appraised = bound.job.appraise(measurement);
        results.extend(appraised.results);
        checks.extend(appraised.checks);
    }
    let several = spec.worker_kind == WorkerKind::Processes && spec.workers > 1;
    if let (Some(report), true) = (&mut trial.record.engine, several) {
        describe(report, engine);
    }
    if let Some(measurement) = &mut trial.record.measurement {
        measurement.results = results;
    }
    // An engine that keeps nothing leaves nothing to check, nor does a crash where nothing is
    // promised: unverified, and so never ranked.
    let measured = trial.record.measurement.as_ref();
    let crashed = measured.is_some_and(|measured| measured.recovery.is_some());
    let unpromised = spec.durability.after_killed_processes() == Survival::Nothing;
    let keeps_nothing = !bound.engine.capabilities().retains_data;
    let nothing_to_check = checks.is_empty() && (keeps_nothing || (crashed && unpromised));
    if spec.verify != VerifyLevel::Off && !nothing_to_check {
        let verification = Verification::from_checks(spec.verify, checks, elapsed_s);
        trial.record.verification = Some(verification);
    }
}

/// Why the numbers of a trial that ran to its end must not be believed; empty where they may.
pub(crate) fn reasons_for_doubt(bound: &ResolvedTrial, trial: &TrialResult) -> Vec<String> {
    let mut reasons = Vec::new();
    if cfg!(debug_assertions) {
        reasons.push("debug build: its figures do not apply to a release build".to_owned());
    }
    let version = trial
        .record
        .engine
        .as_ref()
        .map_or("", |engine| engine.version.trim());
    if version.is_empty() {
        reasons.push(format!(
            "{} does not report its version",
            bound.engine.info().name
        ));
    }
    let measurement = trial.record.measurement.as_ref();
    let found = measurement.and_then(|m| Some((m.placement.as_ref()?, m.allocator.as_ref()?)));
    if let Some((placement, allocator)) = found {
        let conditions = &trial.record.spec.conditions;
        reasons.extend(placement::doubts(conditions, placement, allocator));
    }
    let measurement = trial.record.measurement.as_ref();
    reasons.extend(measurement.and_then(|measured| environment::doubts(measured.cold_start)));
    let flushes = measurement.and_then(|measured| measured.flush_evidence.as_ref());
    reasons.extend(flushes.and_then(FlushEvidence::doubt));
    if let Some(verification) = trial.record.verification.as_ref().filter(|v| !v.passed) {
        let failures = verification.failures();
        match failures.is_empty() {
            true => reasons.push("the workload checked nothing".to_owned()),
            false => reasons.extend(failures),
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_users_server_are_not_looked_for_on_this_machine() {
        assert!(lies_here("lmdb", None));
        assert!(lies_here("lmdb", Some(Path::new("/usr/lib/liblmdb.so"))));
        assert!(lies_here("lmdb", Some(Path::new("a=b/liblmdb.so"))));
        assert!(!lies_here(
            "postgresql",
            Some(Path::new("postgres://me@host/db"))
        ));
        assert!(!lies_here(
            "odbc",
            Some(Path::new("Driver={Any};Server=host"))
        ));
    }
}
