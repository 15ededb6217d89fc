//! Puts an engine through the conformance suite before anything of it is measured.

use crate::context::{RunContext, TrialError, describe_full_disk};
use crate::trial::conformance_cache::{ConformanceCache, ConformanceKey, FileState};
use crate::trial::conformance_result::ConformanceResult;
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::workers::protocol::{Assignment, Report, WorkerTask};
use crate::workers::task_process::run_task;
use crate::{Event, Phase};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use trueput_host as host;
use trueput_host::process::list_loaded_files;
use trueput_record::measurement::{Check, Conformance};
use trueput_record::search::{TrialPurpose, TrialRole};
use trueput_record::{TrialSpec, Value};

/// The name of the folder; no trial has this id.
pub(crate) const FOLDER: &str = ".conformance";

/// The prefix of a failure whose cause is the trial's own input.
const BAD_INPUT: &str = "bad input: ";

/// Runs the conformance suite on a trial's engine at its level, with its knobs and its allocator.
/// It runs once per run for each combination, in a separate process: an engine that crashes has
/// failed. It runs again if a process of it was killed, because the engine may not be the cause,
/// and for the next trial if the disk was full. It is skipped if the same program has passed it on
/// the same files before and the user accepts that, and for the configurations that a search tries:
/// their trials are verified, and the one that the holdout claims is checked after it.
///
/// # Errors
/// [`TrialError::Interrupted`] if the user stopped the run, [`TrialError::Failed`] if the folder
/// for it cannot be created.
pub(crate) fn check(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
) -> Result<ConformanceResult, TrialError> {
    if !is_wanted(spec) {
        return Ok(ConformanceResult::Passed(None));
    }
    let key = key_of(spec);
    if let Some(known) = context.known.conformance.get(&key) {
        return Ok(known.clone());
    }
    let cache_key = cache_key(context, spec);
    let cache = context.options.conformance_cache.clone();
    let cached = cache.zip(cache_key);
    let found = match cached.as_ref().and_then(|(cache, key)| cache.find(key)) {
        Some(passed) => ConformanceResult::Passed(Some(passed)),
        None => {
            let found = run_suite(context, spec, cached.clone())?;
            if context.runs_concurrently() && !matches!(found, ConformanceResult::Passed(_)) {
                // The others may be the cause: it runs again without them.
                return Ok(found);
            }
            let found = repeat_killed(context, spec, cached, found)?;
            find_refused_knob(context, spec, found)?
        }
    };
    report_result(context, spec, &found);
    if !matches!(found, ConformanceResult::NotCompleted(_)) {
        context.known.conformance.insert(key, found.clone());
    }
    Ok(found)
}

/// Returns the key of a configuration at its level in a run.
pub(crate) fn key_of(spec: &TrialSpec) -> String {
    let knobs = serde_json::to_string(&spec.knobs).unwrap_or_default();
    let (contender, allocator) = (spec.contender(), spec.conditions.allocator);
    format!("{contender} {} {allocator} {knobs}", spec.durability)
}

/// Returns whether the suite runs before a trial: not if its engine has no records that it could
/// mishandle, and not for a configuration that a search only tries.
pub(crate) fn is_wanted(spec: &TrialSpec) -> bool {
    spec.engine != trueput_engine::storage::NAME && !is_candidate_only(spec)
}

/// Returns whether a search only tries the configuration of a trial.
pub(crate) fn is_candidate_only(spec: &TrialSpec) -> bool {
    let is_candidate =
        |role: TrialRole| role.is_candidate() && role.purpose != TrialPurpose::Acceptance;
    spec.role.is_some_and(is_candidate)
}

fn report_result(context: &mut RunContext<'_>, spec: &TrialSpec, found: &ConformanceResult) {
    let (passed, failures, remembered_from) = match found {
        ConformanceResult::Passed(Some(passed)) => {
            let from = passed.cached.then(|| passed.passed_at.clone());
            (passed.checks, Vec::new(), from)
        }
        ConformanceResult::Passed(None) => (0, Vec::new(), None),
        ConformanceResult::Failed { passed, reasons } => (*passed, reasons.clone(), None),
        // The trial's own line says it.
        ConformanceResult::KnobsRefused(_)
        | ConformanceResult::NotCompleted(_)
        | ConformanceResult::Killed(_)
        | ConformanceResult::Overrun(_) => return,
    };
    context.emit(&Event::ConformanceChecked {
        contender: spec.contender(),
        durability: spec.durability,
        passed,
        failures,
        remembered_from,
    });
}

/// Returns the key under which the suite's result is remembered; `None` if that is unknown, as
/// for a remote server.
pub(crate) fn cache_key(context: &mut RunContext<'_>, spec: &TrialSpec) -> Option<ConformanceKey> {
    context.options.conformance_cache.as_ref()?;
    let resolved = context.resolve(spec).ok()?;
    let library = resolved.engine.build().ok()?.library;
    let library = context.sha256(library.as_deref()).ok()?;
    Some(ConformanceKey {
        program: context.sha256(None).ok()?,
        library: Some(library).filter(|hash| !hash.is_empty())?,
        contender: spec.contender(),
        durability: spec.durability.to_string(),
        knobs: spec.knobs.clone(),
        allocator: spec.conditions.allocator.to_string(),
        kernel: host::read_kernel_version(),
        file_system: context.area.file_system(),
        linker: linker_settings(),
    })
}

/// Returns the environment variables that the dynamic linker obeys.
fn linker_settings() -> BTreeMap<String, String> {
    let all = std::env::vars_os().map(|(name, value)| {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        (text(name), text(value))
    });
    all.filter(|(name, _)| name.starts_with("LD_")).collect()
}

/// Runs the suite and remembers that it was passed.
fn run_suite(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    cached: Option<(ConformanceCache, ConformanceKey)>,
) -> Result<ConformanceResult, TrialError> {
    let (folder, directory) = context.create_suite_folder(FOLDER, spec)?;
    let suite = (WorkerTask::Conformance, LimitedPhase::Conformance);
    let answer = run_checks(context, spec, &directory, suite);
    // The removal makes room.
    let full_disk = describe_full_disk(&directory);
    let removed = context.remove_database(&folder, spec);
    if answer.is_ok() {
        removed?;
    } else if let Err(error) = removed {
        context.warn(error.to_string());
    }
    let (report, loaded) = match answer {
        Ok(answer) => answer,
        Err(TrialError::Failed(reason)) => {
            let found = judge_failure(0, vec![reason.to_string()], full_disk);
            return Ok(match found {
                ConformanceResult::Failed { .. } if reason.is_kill() => {
                    ConformanceResult::Killed(reason.to_string())
                }
                found => found,
            });
        }
        Err(TrialError::Overrun(reason)) => {
            return Ok(ConformanceResult::Overrun(reason.to_string()));
        }
        Err(TrialError::Interrupted) => return Err(TrialError::Interrupted),
    };
    let Report::Conformed { checks, .. } = report else {
        let reason = "the conformance suite returned an unexpected result".to_owned();
        return Ok(failed(0, vec![reason]));
    };
    let reasons = failures(&checks);
    if !reasons.is_empty() {
        let passed = checks.iter().filter(|check| check.passed).count();
        return Ok(judge_failure(passed, reasons, full_disk));
    }
    let passed = Conformance {
        passed_at: jiff::Timestamp::now().to_string(),
        checks: checks.len(),
        cached: false,
    };
    if let (Some((cache, key)), Some(loaded)) = (cached, loaded) {
        cache.store(key, &passed, loaded);
    }
    Ok(ConformanceResult::Passed(Some(passed)))
}

/// Runs a suite once more of which a process was killed. Where that happens again, the engine does
/// it.
///
/// # Errors
/// As [`check`].
fn repeat_killed(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    cached: Option<(ConformanceCache, ConformanceKey)>,
    found: ConformanceResult,
) -> Result<ConformanceResult, TrialError> {
    let ConformanceResult::Killed(reason) = found else {
        return Ok(found);
    };
    let (contender, level) = (spec.contender(), spec.durability);
    context.warn(format!(
        "{contender} {level}: the conformance suite was not completed and runs again: {reason}"
    ));
    match run_suite(context, spec, cached)? {
        ConformanceResult::Killed(reason) => Ok(failed(0, vec![reason])),
        found => Ok(found),
    }
}

/// If an engine could not open any database, finds out whether it can with the default of a knob
/// that the trial sets. Then the engine does not accept the knob's value, and its conformance is
/// unknown.
///
/// # Errors
/// As [`check`].
fn find_refused_knob(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    found: ConformanceResult,
) -> Result<ConformanceResult, TrialError> {
    let ConformanceResult::Failed { reasons, .. } = &found else {
        return Ok(found);
    };
    // A check that expects a refusal passes if no database can be opened.
    let opens_nothing = match reasons.as_slice() {
        [reason] => engine_message(reason).starts_with("open: "),
        _ => false,
    };
    if !opens_nothing {
        return Ok(found);
    }
    let defaults = defaults_of_changed_knobs(context, spec);
    let each = defaults.iter().map(|knob| vec![knob.clone()]);
    let together = (defaults.len() > 1).then(|| defaults.clone());
    for knobs in each.chain(together) {
        let mut other = spec.clone();
        for (name, default) in &knobs {
            other.knobs.insert(name.clone(), default.clone());
        }
        let found_with_defaults = run_suite(context, &other, None)?;
        if matches!(found_with_defaults, ConformanceResult::Passed(_)) {
            let given = |(name, _): &(String, Value)| {
                let value = spec.knobs.get(name).map(ToString::to_string);
                format!("{}.{name}={}", spec.engine, value.unwrap_or_default())
            };
            let given: Vec<_> = knobs.iter().map(given).collect();
            let said = reasons
                .first()
                .map_or("nothing", |reason| engine_message(reason));
            return Ok(ConformanceResult::KnobsRefused(format!(
                "{BAD_INPUT}{} is not supported here; the engine says: {said}",
                given.join(" with ")
            )));
        }
    }
    Ok(found)
}

/// Returns the defaults of the knobs that a trial changes.
fn defaults_of_changed_knobs(context: &RunContext<'_>, spec: &TrialSpec) -> Vec<(String, Value)> {
    let Ok(resolved) = context.resolve(spec) else {
        return Vec::new();
    };
    let defaults = resolved.engine.knobs().iter();
    let defaults = defaults.map(|knob| (knob.name.to_owned(), knob.kind.default_value()));
    defaults
        .filter(|(name, default)| spec.knobs.get(name).is_some_and(|value| value != default))
        .collect()
}

/// Returns the engine's message without the names of the checks.
fn engine_message(reason: &str) -> &str {
    let after_checks = reason.strip_prefix("conformance, ");
    let words = after_checks.and_then(|rest| rest.split_once(": "));
    words.map_or(reason, |(_, words)| words)
}

/// Returns the result of a suite that failed for these reasons: not the engine's fault if its disk
/// was full, as the engine or the disk itself says.
fn judge_failure(
    passed: usize,
    reasons: Vec<String>,
    full_disk: Option<String>,
) -> ConformanceResult {
    let by_engine = reasons.iter().find(|reason| names_full_disk(reason));
    let said = by_engine.or_else(|| full_disk.as_ref().and(reasons.first()));
    match said {
        None => failed(passed, reasons),
        Some(reason) => {
            let full = full_disk.map_or_else(String::new, |full| format!("; {full}"));
            ConformanceResult::NotCompleted(format!("{}{full}", engine_message(reason)))
        }
    }
}

/// Returns whether an engine says that the disk is full, by the number or the text of the error.
fn names_full_disk(reason: &str) -> bool {
    const WORDS: [&str; 6] = [
        "no space left on device",
        "disk is full",
        "disk full",
        "error 28",
        "errno: 28",
        "errcode: 28",
    ];
    let reason = reason.to_ascii_lowercase();
    let goes_on = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_digit());
    let names = |words: &str| reason.split(words).skip(1).any(|rest| !goes_on(rest));
    WORDS.into_iter().any(names)
}

fn failed(passed: usize, reasons: Vec<String>) -> ConformanceResult {
    ConformanceResult::Failed { passed, reasons }
}

/// Runs a suite in that folder, on a server where the engine needs one, and returns the files
/// that the engine had loaded, where those of all processes are known.
pub(crate) fn run_checks(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    directory: &Path,
    (task, limited): (WorkerTask, LimitedPhase),
) -> Result<(Report, Option<Vec<FileState>>), TrialError> {
    let resolved = context.resolve(spec)?;
    let mut server = ServerLifecycle::new(&resolved, spec, directory);
    server.start(context, None, Phase::Prepare)?;
    let assignment = Assignment {
        spec: spec.clone(),
        directory: directory.to_owned(),
        generation: 0,
        task,
    };
    let answer = run_task(context, assignment, limited);
    let answer = match answer.map_err(|error| server.explain_failure(error)) {
        Ok(answer) => answer,
        Err(error) => {
            let ended = Err(error);
            let _ = server.stop_after(context, &ended);
            return ended;
        }
    };
    let of_server = server.pid().map(|pid| list_loaded_files(&pid.to_string()));
    server.stop(context, Phase::Prepare)?;
    let loaded = match &answer {
        Report::Conformed { loaded, .. } | Report::Isolated { loaded, .. } => loaded.clone(),
        _ => None,
    };
    let states = loaded.zip(of_server.unwrap_or_else(|| Some(Vec::new())));
    let states = states.and_then(|(own, of_server)| {
        let files = own.iter().chain(&of_server);
        files.map(|file| FileState::of(file)).collect()
    });
    Ok((answer, states))
}

/// Returns the failed checks, one sentence each.
fn failures(checks: &[Check]) -> Vec<String> {
    if checks.is_empty() {
        return vec!["the conformance suite checked nothing".to_owned()];
    }
    // A database that does not even open fails every check with one reason: it is said once.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for check in checks.iter().filter(|check| !check.passed) {
        match reasons
            .iter_mut()
            .find(|(detail, _)| *detail == check.detail)
        {
            Some((_, names)) => names.push(&check.name),
            None => reasons.push((&check.detail, vec![&check.name])),
        }
    }
    let said = |(detail, names): (&str, Vec<&str>)| match names.as_slice() {
        [name] => format!("conformance, {name}: {detail}"),
        [name, others @ ..] => format!("conformance, {name} and {} more: {detail}", others.len()),
        [] => format!("conformance: {detail}"),
    };
    reasons.into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_named_and_no_check_at_all_is_a_failure() {
        let checks = [
            Check::new("order", false, "b before a"),
            Check::new("puts", true, "10"),
        ];
        assert_eq!(failures(&checks), ["conformance, order: b before a"]);
        assert!(failures(&checks[1..]).is_empty());
        let closed = ["puts", "gets", "scans"].map(|name| Check::new(name, false, "no such file"));
        assert_eq!(
            failures(&closed),
            ["conformance, puts and 2 more: no such file"]
        );
        assert_eq!(failures(&[]).len(), 1);
        assert_eq!(engine_message(&failures(&closed)[0]), "no such file");
        assert_eq!(engine_message("no server: full"), "no server: full");
    }

    #[test]
    fn a_full_disk_is_not_blamed_on_the_engine() {
        let judged = |reason: &str, full: Option<&str>| {
            judge_failure(3, vec![reason.to_owned()], full.map(str::to_owned))
        };
        let said = "conformance, puts: OS error 28: cannot write";
        let expected = "OS error 28: cannot write".to_owned();
        assert_eq!(
            judged(said, None),
            ConformanceResult::NotCompleted(expected)
        );
        let expected = "b before a; the disk is full".to_owned();
        assert_eq!(
            judged("conformance, order: b before a", Some("the disk is full")),
            ConformanceResult::NotCompleted(expected)
        );
        // Controls: failures on a disk that has room.
        for reason in ["conformance, order: b before a", "mariadb: error 2801"] {
            let found = judged(reason, None);
            assert_eq!(found, failed(3, vec![reason.to_owned()]));
        }
    }
}
