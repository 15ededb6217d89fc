//! Puts an engine whose driver states an isolation through the anomaly suite before anything of it
//! is measured.

use crate::Event;
use crate::context::{RunContext, TrialError};
use crate::trial::conformance::{FOLDER, cache_key, is_candidate_only, run_checks};
use crate::trial::conformance_cache::FileState;
use crate::trial::conformance_result::{HungSuite, IsolationResult};
use crate::trial::phase_limit::LimitedPhase;
use crate::workers::protocol::{Report, WorkerTask};
use std::collections::HashMap;
use std::time::Duration;
use trueput_record::measurement::{Conformance, IsolationCheck};
use trueput_record::{TrialRecord, TrialSpec};

/// In place of a level, in the key under which a suite is remembered: isolation is the same at
/// every level.
const ANY_LEVEL: &str = "isolation";

/// Runs the anomaly suite on a trial's engine with its knobs and its allocator, once per run for
/// each combination and whatever the level, and remembers it as
/// [`crate::trial::conformance::check`] does its suite.
///
/// # Errors
/// [`TrialError::Interrupted`] if the user stopped the run, [`TrialError::Failed`] if the folder
/// for it cannot be created.
pub(crate) fn check(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
) -> Result<IsolationResult, TrialError> {
    let is_storage = spec.engine == trueput_engine::storage::NAME;
    if !context.options.checks_isolation || is_storage || is_candidate_only(spec) {
        return Ok(IsolationResult::Stands(None));
    }
    let resolved = context.resolve(spec)?;
    let is_stated = resolved.engine.isolation(&resolved.knobs).is_some();
    if !is_stated || !resolved.engine.capabilities().retains_data {
        return Ok(IsolationResult::Stands(None));
    }
    let key = key_of(spec);
    if let Some(known) = context.known.isolation.get(&key) {
        return Ok(known.clone());
    }
    let found = match find_hang(context, spec, &key) {
        Some(hung) => IsolationResult::Stands(Some(hung)),
        None => find_or_run(context, spec)?,
    };
    if context.runs_concurrently() && has_not_run(&found) {
        // The others may be the cause: it runs again without them.
        return Ok(found);
    }
    report_result(context, spec, &found);
    context.known.isolation.insert(key, found.clone());
    Ok(found)
}

/// Returns whether a suite could not be run, or hung.
fn has_not_run(found: &IsolationResult) -> bool {
    matches!(found, IsolationResult::Stands(Some(check)) if check.not_run.is_some())
}

/// Returns the key of a configuration in a run.
fn key_of(spec: &TrialSpec) -> String {
    let knobs = serde_json::to_string(&spec.knobs).unwrap_or_default();
    format!("{} {} {knobs}", spec.contender(), spec.conditions.allocator)
}

/// Returns the suites that hung, by their keys, from the records of a run.
pub(crate) fn hung_suites(records: &[TrialRecord]) -> HashMap<String, HungSuite> {
    let hung = records.iter().filter_map(|record| {
        let check = record.isolation_check.as_ref()?;
        let suite = HungSuite {
            sha256: record.engine.as_ref()?.sha256.clone(),
            limit: Duration::from_secs(check.hung_after_s?),
            check: check.clone(),
        };
        Some((key_of(&record.spec), suite))
    });
    hung.collect()
}

/// Returns the check of a suite that hung earlier in this run, in the same file of the engine. With
/// a longer limit it runs again.
fn find_hang(context: &mut RunContext<'_>, spec: &TrialSpec, key: &str) -> Option<IsolationCheck> {
    let hung = context.known.hung_suites.get(key).cloned()?;
    let limit = context.begin_phase(LimitedPhase::Isolation, spec).silence();
    let library = context.resolve(spec).ok()?.engine.build().ok()?.library;
    let sha256 = context.sha256(library.as_deref()).ok()?;
    (limit <= hung.limit && sha256 == hung.sha256).then_some(hung.check)
}

fn find_or_run(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
) -> Result<IsolationResult, TrialError> {
    let key = cache_key(context, spec).map(|mut key| {
        ANY_LEVEL.clone_into(&mut key.durability);
        key
    });
    let cached = context.options.conformance_cache.clone().zip(key);
    if let Some(passed) = cached.as_ref().and_then(|(cache, key)| cache.find(key)) {
        return Ok(IsolationResult::Stands(Some(IsolationCheck {
            checked_at: passed.passed_at,
            schedules: passed.checks,
            cached: true,
            ..IsolationCheck::default()
        })));
    }
    let answer = run_suite(context, spec)?;
    let checked_at = jiff::Timestamp::now().to_string();
    let unchecked = |reason: String, limit: Option<Duration>| {
        IsolationResult::Stands(Some(IsolationCheck {
            checked_at: checked_at.clone(),
            not_run: Some(reason),
            hung_after_s: limit.map(|limit| limit.as_secs_f64().ceil() as u64),
            ..IsolationCheck::default()
        }))
    };
    let not_run = |reason| unchecked(reason, None);
    let (schedules, refutations, failure, files) = match answer {
        Err(TrialError::Interrupted) => return Err(TrialError::Interrupted),
        Err(TrialError::Failed(reason)) => return Ok(not_run(reason.to_string())),
        Err(TrialError::Overrun(reason)) => {
            let clock = context.begin_phase(LimitedPhase::Isolation, spec);
            return Ok(unchecked(reason.to_string(), Some(clock.silence())));
        }
        Ok((
            Report::Isolated {
                schedules,
                refutations,
                failure,
                ..
            },
            files,
        )) => (schedules, refutations, failure, files),
        Ok(_) => return Ok(not_run("it returned an unexpected result".to_owned())),
    };
    if !refutations.is_empty() {
        let reason = refutation(context, spec, &refutations);
        return Ok(IsolationResult::Refuted(vec![reason]));
    }
    if let Some(failure) = failure {
        return Ok(not_run(failure));
    }
    let passed = Conformance {
        passed_at: checked_at.clone(),
        checks: schedules,
        cached: false,
    };
    if let (Some((cache, key)), Some(files)) = (cached, files) {
        cache.store(key, &passed, files);
    }
    Ok(IsolationResult::Stands(Some(IsolationCheck {
        checked_at,
        schedules,
        ..IsolationCheck::default()
    })))
}

/// What the suite's process reports, with the files that it used.
type SuiteAnswer = (Report, Option<Vec<FileState>>);

/// Runs the suite in a folder of its own, which is removed.
fn run_suite(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
) -> Result<Result<SuiteAnswer, TrialError>, TrialError> {
    let (folder, directory) = context.create_suite_folder(FOLDER, spec)?;
    let suite = (WorkerTask::Isolation, LimitedPhase::Isolation);
    let answer = run_checks(context, spec, &directory, suite);
    let removed = context.remove_database(&folder, spec);
    if answer.is_ok() {
        removed?;
    } else if let Err(error) = removed {
        context.warn(error.to_string());
    }
    Ok(answer)
}

/// Returns the reason why the trials of an engine that showed anomalies are invalid.
fn refutation(context: &RunContext<'_>, spec: &TrialSpec, anomalies: &[String]) -> String {
    let resolved = context.resolve(spec).ok();
    let stated = resolved.and_then(|resolved| resolved.engine.isolation(&resolved.knobs));
    let stated = stated.map_or_else(String::new, |level| format!(" {level}"));
    let others = match anomalies.len() {
        0 | 1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    let first = anomalies.first().map_or("", String::as_str);
    format!(
        "its isolation is not{stated}, as stated: {first}{others}; 'trueput check {} --isolation' \
         shows all",
        spec.contender()
    )
}

fn report_result(context: &mut RunContext<'_>, spec: &TrialSpec, found: &IsolationResult) {
    let check = match found {
        IsolationResult::Stands(check) => check.as_ref(),
        IsolationResult::Refuted(_) => None,
    };
    let refutations = match found {
        IsolationResult::Refuted(refutations) => refutations.clone(),
        IsolationResult::Stands(_) => Vec::new(),
    };
    context.emit(&Event::IsolationChecked {
        contender: spec.contender(),
        schedules: check.map_or(0, |check| check.schedules),
        refutations,
        not_run: check.and_then(|check| check.not_run.clone()),
        remembered_from: check
            .filter(|check| check.cached)
            .map(|check| check.checked_at.clone()),
    });
}
