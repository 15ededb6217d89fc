//! The environment of a trial's workers: a cold database if the plan says so, and a memory limit.

use crate::Phase;
use crate::context::{RunContext, TrialError};
use crate::plan::matrix::cache;
use crate::trial::crash_recovery::{RecoveryReport, recover};
use crate::trial::measured_part::WorkerGroup;
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::trial::worker_group::{WorkerGroupResult, WorkerGroupSpec};
use crate::workers::local::LocalWorkers;
use crate::workers::protocol::{Assignment, Report};
use crate::workers::task_process::run_task_in;
use trueput_host::cgroup::{MemoryController, MemoryGroup, MemoryLimitError};
use trueput_host::page_cache;
use trueput_record::accounting::{ColdStart, MemoryUse};
use trueput_record::conditions::Start;
use trueput_record::{Conditions, TrialSpec};

/// The start of the workers, the use of their memory limit and the recovery of their database.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EnvironmentReport {
    /// The state of the page cache; `None` for a warm start.
    pub cold_start: Option<ColdStart>,
    /// Use of the memory limit; `None` without one.
    pub memory: Option<MemoryUse>,
    /// The database's recovery after the processes were killed; `None` if they were not.
    pub recovery: Option<RecoveryReport>,
}

/// The start and the limits of running workers.
#[derive(Debug)]
pub(crate) struct Environment {
    cold_start: Option<ColdStart>,
    group: Option<MemoryGroup>,
}

impl Environment {
    /// Adds to a failure of the workers what the server's log says, and that the memory limit
    /// killed a process.
    pub fn explain(
        &self,
        context: &RunContext<'_>,
        spec: &TrialSpec,
        server: &mut ServerLifecycle<'_>,
        error: TrialError,
    ) -> TrialError {
        let memory = self.group.as_ref().map(MemoryGroup::usage);
        explain_failure(server.explain_failure(error), memory, || {
            memory_advice(context, spec)
        })
    }
}

/// Starts a trial's workers within its limits. Only the server may have the database open. It is
/// restarted for a cold start, and for a memory limit, which it shares with the workers.
///
/// # Errors
/// As [`WorkerGroup::start`]; the reason mentions the memory limit if that killed a process.
pub(crate) fn start_workers<'a>(
    context: &mut RunContext<'_>,
    spec: &'a TrialSpec,
    plan: &WorkerGroupSpec<'a>,
    server: &mut ServerLifecycle<'_>,
) -> Result<(WorkerGroup<'a>, Environment), TrialError> {
    let is_cold = starts_cold(&spec.conditions);
    if is_cold {
        server.stop(context, Phase::Prepare)?;
    }
    let cold_start = if is_cold {
        let dropped = drop_pages(plan);
        Some(dropped.map_err(|error| format!("dropping the database's pages: {error}"))?)
    } else {
        None
    };
    let group = memory_group(&spec.conditions)?;
    if is_cold {
        server.start(context, group.as_ref(), Phase::Prepare)?;
    }
    let workers = WorkerGroup::start(context, spec, plan, server.pid(), group.as_ref());
    let environment = Environment { cold_start, group };
    match workers {
        Ok(workers) => Ok((workers, environment)),
        Err(error) => Err(environment.explain(context, spec, server, error)),
    }
}

/// Drops the database's pages from the page cache, also those of its files below a folder that
/// shows them with delays or a fault.
fn drop_pages(plan: &WorkerGroupSpec<'_>) -> std::io::Result<ColdStart> {
    let dropped = page_cache::drop_pages(plan.directory)?;
    if plan.files != plan.directory {
        page_cache::drop_pages(plan.files)?;
    }
    Ok(dropped)
}

/// Reports on the workers' environment, and recovers the database if the plan crashed it.
///
/// # Errors
/// Errors of the workers, with the memory limit as the reason if it killed one; errors of the
/// crash.
pub(crate) fn finish_workers(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    plan: &WorkerGroupSpec<'_>,
    server: &mut ServerLifecycle<'_>,
    result: Result<WorkerGroupResult, TrialError>,
    environment: Environment,
) -> Result<(WorkerGroupResult, EnvironmentReport), TrialError> {
    // What follows reads what is stored.
    let disarmed = context.faults.disarm(&spec.id);
    let result = result.and_then(|result| {
        disarmed?;
        Ok(result)
    });
    let result = result.map_err(|error| environment.explain(context, spec, server, error));
    let Environment { cold_start, group } = environment;
    let memory = group.as_ref().map(MemoryGroup::usage);
    let recovery = match &result {
        Ok(result) if result.killed > 0 => {
            Some(recover(context, spec, plan, server, result.killed)?)
        }
        _ => None,
    };
    if group.is_some() && recovery.is_none() {
        // The group is removed, and the verification runs without the limit.
        let stopped = server.stop(context, Phase::Verify);
        if result.is_ok() {
            stopped?;
            server.start(context, None, Phase::Verify)?;
        }
    }
    let report = EnvironmentReport {
        cold_start,
        memory,
        recovery,
    };
    Ok((result?, report))
}

/// Runs the workers of a trial within its limits.
///
/// # Errors
/// As [`start_workers`] and [`finish_workers`].
pub(crate) fn run_workers(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    plan: &WorkerGroupSpec<'_>,
    server: &mut ServerLifecycle<'_>,
) -> Result<(WorkerGroupResult, EnvironmentReport), TrialError> {
    let (mut workers, environment) = start_workers(context, spec, plan, server)?;
    let released = workers.release(context);
    let result = released.and_then(|()| workers.follow(context));
    let result = result.and_then(|()| workers.end());
    finish_workers(context, spec, plan, server, result, environment)
}

/// Runs a task in a separate process within the trial's memory limit.
///
/// # Errors
/// As [`run_task_in`]; the reason mentions the memory limit if that killed the process.
pub(crate) fn run_limited_task(
    context: &mut RunContext<'_>,
    assignment: Assignment,
    limited: LimitedPhase,
) -> Result<Report, TrialError> {
    let group = memory_group(&assignment.spec.conditions)?;
    let workers = LocalWorkers::within(group.as_ref());
    let spec = assignment.spec.clone();
    let done = run_task_in(workers, context, assignment, limited);
    let memory = group.as_ref().map(MemoryGroup::usage);
    done.map_err(|error| explain_failure(error, memory, || memory_advice(context, &spec)))
}

/// Creates the control group that limits a trial's memory; `None` if there is no limit.
fn memory_group(conditions: &Conditions) -> Result<Option<MemoryGroup>, MemoryLimitError> {
    let limit = conditions.memory_bytes;
    let group = limit.map(|bytes| MemoryController::find()?.make(bytes));
    group.transpose()
}

/// Returns whether the workers start cold. A memory limit implies it, because pages that the load
/// left in the page cache are charged to another group.
fn starts_cold(conditions: &Conditions) -> bool {
    conditions.start == Start::Cold || conditions.memory_bytes.is_some()
}

/// Adds to a failure that the memory limit was its cause, with advice on what is too large.
fn explain_failure(
    error: TrialError,
    memory: Option<MemoryUse>,
    advice: impl Fn() -> String,
) -> TrialError {
    let Some(memory) = memory.filter(|memory| memory.kills > 0) else {
        return error;
    };
    error.map_reason(|reason| {
        let blamed = reason.blame_memory_limit(memory.limit_bytes);
        blamed.followed_by(&advice())
    })
}

/// Returns advice on the memory of a trial's engine, to follow a failure.
fn memory_advice(context: &RunContext<'_>, spec: &TrialSpec) -> String {
    let limit = spec.conditions.memory_bytes.unwrap_or_default();
    match context.resolve(spec) {
        Ok(resolved) if resolved.engine.capabilities().retains_data => {
            let text =
                cache::suggest_memory(&*resolved.engine, &resolved.knobs, spec.workers, limit);
            format!("; {text}")
        }
        _ => String::new(),
    }
}

/// Returns why the figures of a start that stayed warm are invalid.
pub(crate) fn explain_warm_start(cold_start: Option<ColdStart>) -> Option<String> {
    let warm = cold_start.filter(|start| !start.is_cold())?;
    let ColdStart { pages, pages_left } = warm;
    Some(format!(
        "cold start failed: {pages_left} of the database's {pages} pages stayed in the page cache"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure_reason::FailureReason;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn memory(kills: u64) -> Option<MemoryUse> {
        Some(MemoryUse {
            limit_bytes: 64 << 20,
            kills,
            ..MemoryUse::default()
        })
    }

    fn explained(reason: FailureReason, memory: Option<MemoryUse>) -> String {
        let advice = || "; advice".to_owned();
        match explain_failure(TrialError::Failed(reason), memory, advice) {
            TrialError::Failed(reason) | TrialError::Overrun(reason) => reason.to_string(),
            TrialError::Interrupted => String::new(),
        }
    }

    #[test]
    fn a_kill_by_the_memory_limit_is_named_and_no_other() {
        let end = FailureReason::of_end(ExitStatus::from_raw(9));
        let end = end.preceded_by("worker 0 (process 7) ");
        assert_eq!(
            explained(end.clone(), memory(1)),
            "worker 0 (process 7) was killed by the memory limit of 64 MiB; advice"
        );
        let killed = "worker 0 (process 7) was killed by SIGKILL";
        assert_eq!(explained(end.clone(), memory(0)), killed);
        assert_eq!(explained(end, None), killed);
        let other = "worker 0: the native program ended".to_owned();
        let other = explained(other.into(), memory(1));
        assert!(other.ends_with("was killed by the memory limit of 64 MiB; advice"));
    }

    #[test]
    fn a_limited_trial_starts_cold_whatever_it_says() {
        let limited = Conditions {
            memory_bytes: Some(1 << 30),
            ..Conditions::default()
        };
        assert!(starts_cold(&limited));
        assert!(!starts_cold(&Conditions::default()));
    }

    #[test]
    fn a_start_that_stayed_warm_is_doubted() {
        let start = |pages_left| {
            Some(ColdStart {
                pages: 1_000,
                pages_left,
            })
        };
        assert!(explain_warm_start(start(500)).unwrap().contains("500 of"));
        assert_eq!(explain_warm_start(start(10)), None);
        assert_eq!(explain_warm_start(None), None);
    }
}
