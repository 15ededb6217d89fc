//! One trial: prepare, run, measure, verify.

use crate::Phase;
use crate::assemble;
use crate::bind::{Bound, bind};
use crate::context::{Context, Halt};
use crate::execution::{Ran, execute};
use crate::phase::alone;
use crate::protocol::{Assignment, Concluded, EngineState, Part, Report, Totals};
use hdrhistogram::Histogram;
use std::path::{Path, PathBuf};
use trueput_record::measurement::{EngineReport, Outcome, Verification};
use trueput_record::value::format_bytes;
use trueput_record::{FORMAT_VERSION, TrialRecord, TrialSpec, VerifyLevel, WorkerKind};

/// How many times a frugal engine's size must be free before a trial: engines that copy on write or
/// compact in the background hold several versions of a page or a level at once. Some outgrow even
/// that (LMDB under long-lived readers has no bound); their trial then fails with the engine's words.
const DISK_FACTOR: u64 = 4;

/// Bytes that must be free for a workload that expects `expected_bytes`.
pub(crate) fn needed_bytes(expected_bytes: u64) -> u64 {
    expected_bytes.saturating_mul(DISK_FACTOR)
}

/// A trial that has ended: its line, and its latencies by kind where there are any.
pub(crate) struct Trial {
    /// The line.
    pub record: TrialRecord,
    /// Kind and latencies.
    pub histograms: Vec<(&'static str, Histogram<u64>)>,
}

impl Trial {
    /// A trial that has measured nothing.
    pub fn without_measurement(spec: &TrialSpec, outcome: Outcome) -> Self {
        let record = TrialRecord {
            format: FORMAT_VERSION,
            spec: spec.clone(),
            outcome,
            resumed: false,
            started_at: jiff::Timestamp::now().to_string(),
            engine: None,
            measurement: None,
            verification: None,
        };
        Self {
            record,
            histograms: Vec::new(),
        }
    }
}

/// Runs a trial. Whatever goes wrong is its outcome; what was measured until then is kept.
pub(crate) fn run_trial(context: &mut Context<'_>, spec: &TrialSpec) -> Trial {
    let mut trial = Trial::without_measurement(spec, Outcome::Interrupted);
    trial.record.outcome = match attempt(context, spec, &mut trial) {
        Ok(reasons) if reasons.is_empty() => Outcome::Valid,
        Ok(reasons) => Outcome::Invalid { reasons },
        Err(Halt::Interrupted) => Outcome::Interrupted,
        Err(Halt::Failed(reason)) => Outcome::Failed { reason },
    };
    trial
}

/// Runs a trial to its end and says why its numbers must not be believed, if so.
fn attempt(
    context: &mut Context<'_>,
    spec: &TrialSpec,
    trial: &mut Trial,
) -> Result<Vec<String>, Halt> {
    let bound = bind(context.registry, spec)?;
    let (directory, resumed) = database_folder(context, spec)?;
    trial.record.resumed = resumed;
    if !resumed {
        check_room(context, &bound, &directory)?;
    }
    let prepared = assignment(spec, &directory, Part::Prepare { resume: resumed });
    let prepared = alone(
        context,
        prepared,
        Some(Phase::Prepare),
        None,
        "preparing the database",
    )?;
    trial.record.engine = Some(described(context, spec, &bound, prepared)?);
    let ran = execute(context, spec, &directory, bound.job.total_units())?;
    let totals = measure(&bound, &ran, &directory, trial)?;
    if ran.interrupted {
        return Err(Halt::Interrupted);
    }
    let concluded = assignment(spec, &directory, Part::Conclude(totals));
    let concluded = alone(
        context,
        concluded,
        Some(Phase::Verify),
        None,
        "checking the outcome",
    )?;
    let Report::Concluded(concluded) = concluded else {
        return Err(Halt::Failed(
            "checking the outcome gave another answer".to_owned(),
        ));
    };
    conclude(spec, &bound, *concluded, trial);
    Ok(reasons_for_doubt(&bound, trial))
}

/// The engine as the process that prepared the database describes it. That its library was compiled
/// with assertions is said once per run.
fn described(
    context: &mut Context<'_>,
    spec: &TrialSpec,
    bound: &Bound,
    prepared: Report,
) -> Result<EngineReport, Halt> {
    let Report::Prepared {
        version,
        library,
        assertions,
        engine,
    } = prepared
    else {
        return Err(Halt::Failed(
            "preparing the database gave another answer".to_owned(),
        ));
    };
    let origin = library
        .as_deref()
        .map_or("compiled in".to_owned(), |path| path.display().to_string());
    if assertions == Some(true) && !context.knows(library.as_deref()) {
        context.warn(format!(
            "{} {version} ({origin}) was compiled with assertions: its figures are no fair \
             baseline",
            spec.engine
        ));
    }
    Ok(EngineReport {
        version,
        origin,
        sha256: context.sha256(library.as_deref())?,
        assertions,
        promise: bound.promise.clone(),
        settings: engine.settings,
        counters: engine.counters,
    })
}

fn assignment(spec: &TrialSpec, directory: &Path, part: Part) -> Assignment {
    Assignment {
        spec: spec.clone(),
        directory: directory.to_owned(),
        part,
    }
}

/// The folder of the trial's database, and whether it holds one that is to be continued.
fn database_folder(context: &Context<'_>, spec: &TrialSpec) -> Result<(PathBuf, bool), String> {
    let (directory, left) = context.area.trial(&spec.id)?;
    if !left || context.options.resume_databases {
        return Ok((directory, left));
    }
    context.area.remove(&spec.id)?;
    context.area.trial(&spec.id)
}

fn check_room(context: &Context<'_>, bound: &Bound, directory: &Path) -> Result<(), String> {
    let needed = needed_bytes(bound.job.expected_bytes());
    match context.area.free_bytes() {
        Some(free) if free < needed => Err(format!(
            "too little room in {}: {} needed, {} free",
            directory.display(),
            format_bytes(needed),
            format_bytes(free)
        )),
        _ => Ok(()),
    }
}

/// Puts the measurement into the trial's line, and returns what the conclusion must know.
fn measure(
    bound: &Bound,
    ran: &Ran,
    directory: &Path,
    trial: &mut Trial,
) -> Result<Totals, String> {
    let (mut measurement, histograms) = assemble::measurement(bound.job.kinds(), ran)?;
    measurement.database = assemble::database_size(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let shares = || {
        ran.executions
            .iter()
            .flat_map(|execution| &execution.workers)
    };
    let totals = Totals {
        counts: measurement
            .operations
            .iter()
            .map(|operation| operation.count)
            .collect(),
        conflicts: measurement.conflicts,
        findings: shares().map(|share| share.findings.clone()).collect(),
        resumed: trial.record.resumed,
    };
    // Counters of one process that did all the work are better than those of a later one.
    if let (Some(report), [execution]) = (&mut trial.record.engine, ran.executions.as_slice()) {
        describe(report, execution.engine.clone());
    }
    trial.record.started_at.clone_from(&ran.started_at);
    trial.record.measurement = Some(measurement);
    trial.histograms = bound.job.kinds().iter().copied().zip(histograms).collect();
    Ok(totals)
}

fn describe(report: &mut EngineReport, engine: EngineState) {
    report.settings = engine.settings;
    report.counters = engine.counters;
}

fn conclude(spec: &TrialSpec, bound: &Bound, concluded: Concluded, trial: &mut Trial) {
    let Concluded {
        results,
        checks,
        elapsed_s,
        engine,
    } = concluded;
    let several = spec.worker_kind == WorkerKind::Processes && spec.workers > 1;
    if let (Some(report), true) = (&mut trial.record.engine, several) {
        describe(report, engine);
    }
    if let Some(measurement) = &mut trial.record.measurement {
        measurement.results = results;
    }
    // An engine that keeps nothing leaves nothing to check: unverified, and so never ranked.
    let nothing_to_check = checks.is_empty() && !bound.engine.capabilities().retains_data;
    if spec.verify != VerifyLevel::Off && !nothing_to_check {
        let verification = Verification::from_checks(spec.verify, checks, elapsed_s);
        trial.record.verification = Some(verification);
    }
}

fn reasons_for_doubt(bound: &Bound, trial: &Trial) -> Vec<String> {
    let mut reasons = Vec::new();
    if cfg!(debug_assertions) {
        reasons.push("debug build: its figures say nothing of a release build".to_owned());
    }
    let version = trial
        .record
        .engine
        .as_ref()
        .map_or("", |engine| engine.version.trim());
    if version.is_empty() {
        reasons.push(format!(
            "{} does not say its version",
            bound.engine.info().name
        ));
    }
    if let Some(verification) = trial.record.verification.as_ref().filter(|v| !v.passed) {
        let failures = verification.failures();
        match failures.is_empty() {
            true => reasons.push("the workload checked nothing".to_owned()),
            false => reasons.extend(failures),
        }
    }
    reasons
}
