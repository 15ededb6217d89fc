//! A worker: this program again, started by the runner for one task of a trial.

mod cluster_database;
mod commit_numbers;
mod compact;
mod error;
mod failover;
mod first_start;
mod host_agent;
mod native;
mod pipe;
mod recording;
mod recover;
mod threads;
mod trial_agent;

use crate::Registry;
use crate::evidence::hardware_limits;
use crate::plan::resolution::{ResolvedTrial, resolve_trial};
use crate::workers::delegated::DelegatedTask;
use crate::workers::protocol::{
    Assignment, EngineState, LoadResult, Report, TrialTotals, VerificationResult, WorkerTask,
};
use cluster_database::{ClusterDatabase, retry, with_leader};
use error::WorkerError;
use pipe::{Mission, Reporter, WorkerControl};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trueput_engine::{Database, OpenSpec, panics};
use trueput_host::process::{list_loaded_files, read_own_usage};
use trueput_host::{placement, process};
use trueput_record::{Survival, VerifyLevel};
use trueput_workloads::{ExecutionSummary, ExistingDatabase, JobDatabase};

/// Runs the task that standard input assigns, a trial's or one of `delegated`, and reports on
/// standard output.
pub fn main(registry: &Registry, delegated: &[DelegatedTask]) -> ExitCode {
    // A runner that is killed cannot stop its workers: the kernel does.
    let died_with_runner = if has_foreign_parent() {
        Ok(())
    } else {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
    };
    let reporter = match (died_with_runner, Reporter::take_standard_output()) {
        (Ok(()), Ok(reporter)) => Arc::new(reporter),
        (Err(error), _) => return refuse(&format!("cannot be tied to the runner: {error}")),
        (_, Err(error)) => return refuse(&format!("cannot take standard output: {error}")),
    };
    let work = || match pipe::read_mission()? {
        Mission::Work(credentials, assignment, control) => {
            let resolved = resolve_trial(registry, &credentials, &assignment.spec)?;
            serve(&resolved, &assignment, &control, &reporter)
        }
        Mission::Delegate(name, assignment) => {
            let task = delegated.iter().find(|task| task.name == name);
            let task = task.ok_or(WorkerError::NoTask(name))?;
            let answer = (task.serve)(registry, assignment).map_err(WorkerError::Delegated)?;
            Ok(reporter.send(&Report::Delegated { answer })?)
        }
        Mission::Host(input) => host_agent::serve(registry, input, &reporter),
    };
    let done = panics::caught(work).unwrap_or_else(|panic| Err(WorkerError::Panic(panic)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where even this cannot be said, the exit code says it.
            let _ = reporter.send(&Report::Failed {
                message: error.to_string(),
            });
            ExitCode::FAILURE
        }
    }
}

/// Whether the parent is outside of this container: its runtime, which leaves at once. An agent in
/// a container ends with its input, or with the runner's signs of life.
fn has_foreign_parent() -> bool {
    nix::unistd::getppid().as_raw() == 0
}

fn refuse(message: &str) -> ExitCode {
    eprintln!("worker: {}", trueput_record::text::escape_line(message));
    ExitCode::FAILURE
}

fn serve(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    control: &WorkerControl,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    placement::verify_own(&assignment.spec.conditions).map_err(WorkerError::of_setup)?;
    match &assignment.task {
        WorkerTask::Conformance => {
            let checks = trueput_engine::conformance::run(
                &*resolved.engine,
                &assignment.directory,
                assignment.spec.durability,
                &resolved.knobs,
            );
            let loaded = list_loaded_files("self");
            reporter.send(&Report::Conformed { checks, loaded })?;
        }
        WorkerTask::Isolation => {
            let observed = trueput_engine::isolation::observe(
                &*resolved.engine,
                &assignment.directory,
                assignment.spec.durability,
                &resolved.knobs,
            );
            reporter.send(&Report::Isolated {
                schedules: observed.observations.len(),
                refutations: observed.refutations(),
                failure: observed.failure().map(str::to_owned),
                loaded: list_loaded_files("self"),
            })?;
        }
        WorkerTask::HardwareLimits {
            log_directory,
            stores,
            committers,
            commit_bytes,
        } => {
            let site = hardware_limits::MeasurementSite {
                data: &assignment.directory,
                log: log_directory,
                stores: *stores,
                committers: *committers,
                commit_bytes: *commit_bytes,
                memory_bytes: assignment.spec.conditions.memory_bytes,
            };
            let measured = hardware_limits::measure(&site).map_err(WorkerError::HardwareLimits)?;
            reporter.send(&Report::HardwareLimits(Box::new(measured)))?;
        }
        WorkerTask::Prepare { existing } => {
            return prepare(resolved, assignment, *existing, reporter);
        }
        WorkerTask::Measure {
            first, sessions, ..
        } => {
            let sessions = *first..first.saturating_add(*sessions);
            return threads::run_threads(resolved, assignment, sessions, control, reporter);
        }
        WorkerTask::Recover => return recover::recover(resolved, assignment, reporter),
        WorkerTask::Compact => return compact::compact(resolved, assignment, reporter),
        WorkerTask::Verify(totals) => return conclude(resolved, assignment, totals, reporter),
    }
    Ok(())
}

fn open(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    sessions: u32,
) -> Result<Box<dyn Database>, WorkerError> {
    let opened = resolved
        .engine
        .open(&open_spec(resolved, assignment, sessions));
    opened.map_err(WorkerError::of_engine(OPENING))
}

/// Opens the database for one process alone. That of a cluster waits for a node that takes
/// sessions.
fn open_alone(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
) -> Result<Box<dyn Database>, WorkerError> {
    if resolved.engine.cluster().is_none() {
        return open(resolved, assignment, exclusive_sessions());
    }
    let spec = open_spec(resolved, assignment, exclusive_sessions());
    let opened = with_leader(|| resolved.engine.open(&spec));
    let opened = opened.map_err(WorkerError::of_engine(OPENING))?;
    Ok(Box::new(ClusterDatabase(opened)))
}

/// Closes the database.
fn close(database: Box<dyn Database>) -> Result<(), WorkerError> {
    let closed = database.close();
    closed.map_err(WorkerError::of_engine("closing the database"))
}

fn open_spec<'a>(
    resolved: &'a ResolvedTrial,
    assignment: &'a Assignment,
    sessions: u32,
) -> OpenSpec<'a> {
    OpenSpec {
        directory: &assignment.directory,
        durability: assignment.spec.durability,
        knobs: &resolved.knobs,
        sessions,
    }
}

/// The action of opening a database.
const OPENING: &str = "opening the database";

/// The time that a cluster may be without a leader when it is asked for its settings.
const STATE_TIMEOUT: Duration = Duration::from_secs(30);

fn state(database: &dyn Database) -> Result<EngineState, WorkerError> {
    let settings_failed = WorkerError::of_engine("reading the engine's settings");
    let settings = retry(STATE_TIMEOUT, || database.settings()).map_err(&settings_failed)?;
    let counters = retry(STATE_TIMEOUT, || database.counters());
    let counters = counters.map_err(WorkerError::of_engine("reading the engine's counters"))?;
    let contradictions = retry(STATE_TIMEOUT, || database.contradictions());
    let contradictions = contradictions.map_err(settings_failed)?;
    Ok(EngineState {
        settings,
        counters,
        contradictions: contradictions.iter().map(ToString::to_string).collect(),
    })
}

/// Returns the number of sessions of a process that has the database to itself: one per thread of
/// the job, and one of its own.
fn exclusive_sessions() -> u32 {
    trueput_host::count_cores().saturating_add(1)
}

fn prepare(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    left: ExistingDatabase,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    let build = resolved
        .engine
        .build()
        .map_err(WorkerError::of_engine("loading the engine"))?;
    let before = read_own_usage()?;
    let began = Instant::now();
    let database = open_alone(resolved, assignment)?;
    let loaded = with_target(resolved, assignment, &*database, reporter, |target| {
        Ok(resolved.job.prepare(target, left)?)
    })?;
    let engine = state(&*database)?;
    let memory = process::read_memory(std::process::id()).unwrap_or_default();
    // The database is closed before the runner hears of it: workers open it next.
    close(database)?;
    let usage = read_own_usage()? - before;
    let load = loaded.map(|load| {
        Box::new(LoadResult {
            records: load.records,
            user_bytes: load.user_bytes,
            elapsed_s: began.elapsed().as_secs_f64(),
            usage,
            memory,
        })
    });
    reporter.send(&Report::Prepared {
        name: resolved.engine.info().name.to_owned(),
        version: build.version,
        library: build.library,
        assertions: build.assertions,
        engine,
        load,
    })?;
    Ok(())
}

fn conclude(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    totals: &TrialTotals,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    let database = open_alone(resolved, assignment)?;
    let survival = assignment.spec.durability.after_killed_processes();
    let crashed = totals.crashed.then_some(survival);
    let ended = ExecutionSummary {
        counts: totals.counts.clone(),
        conflicts: totals.conflicts,
        findings: totals.findings.clone(),
        attachments: totals.attachments.iter().map(|one| one.0.clone()).collect(),
        resumed: totals.resumed,
        verify: match crashed {
            Some(Survival::Nothing) => VerifyLevel::Off,
            _ => assignment.spec.verify,
        },
        crashed,
    };
    let began = Instant::now();
    let conclusion = with_target(resolved, assignment, &*database, reporter, |target| {
        Ok(resolved.job.verify(target, &ended)?)
    })?;
    let elapsed_s = began.elapsed().as_secs_f64();
    let engine = state(&*database)?;
    close(database)?;
    let (results, checks) = (conclusion.results, conclusion.checks);
    reporter.send(&Report::Verified(Box::new(VerificationResult {
        results,
        checks,
        elapsed_s,
        engine,
    })))?;
    Ok(())
}

/// Runs `work` with a target that reports progress at most twice a second.
fn with_target<T>(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    database: &dyn Database,
    reporter: &Reporter,
    work: impl FnOnce(&JobDatabase<'_>) -> Result<T, WorkerError>,
) -> Result<T, WorkerError> {
    let next = Mutex::new(Instant::now());
    let progress = |fraction: f64| {
        // If another thread is reporting, this one has nothing to add.
        let Ok(mut next) = next.try_lock() else {
            return;
        };
        let now = Instant::now();
        if now >= *next {
            *next = now + Duration::from_millis(500);
            // A runner that has gone shows at the next report that matters.
            let _ = reporter.send(&Report::Progress { fraction });
        }
    };
    work(&JobDatabase {
        database,
        directory: &assignment.directory,
        capabilities: resolved.engine.capabilities(),
        isolation: resolved.isolation(),
        reads_are_recent: resolved.engine.reads_are_recent(&resolved.knobs),
        workers: assignment.spec.workers,
        threads: trueput_host::count_cores(),
        generation: assignment.generation,
        seed: assignment.spec.seed,
        progress: &progress,
    })
}
