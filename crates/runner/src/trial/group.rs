//! Runs a trial, or the trials that share time slices: the suites that their engines must pass, the
//! trials themselves, and their outcomes.

use crate::concurrent_tasks::TaskThreads;
use crate::context::{RunContext, TrialError};
use crate::plan::time_slice_group::derive_group_key;
use crate::trial::conformance;
use crate::trial::conformance_result::{ConformanceResult, IsolationResult};
use crate::trial::database_reuse::Follower;
use crate::trial::isolation_check;
use crate::trial::lifecycle::{TrialResult, derive_outcome, run_trial};
use crate::trial::store::record_trial;
use crate::trial::time_slicing::run_in_time_slices;
use crate::{AuditSubject, Error};
use std::collections::{HashMap, HashSet};
use std::thread;
use trueput_record::audit_standing::AuditStanding;
use trueput_record::measurement::Outcome;
use trueput_record::stall::TrialStall;
use trueput_record::{RunFolder, RunManifest, TrialSpec};

/// Attempts at a trial of a search, if parts of the others did not run for a while.
const MAX_ATTEMPTS: u32 = 3;

/// Runs the trials of a group. Those of a search run again if a part of one did not run for a
/// while: that says nothing of what the search asks. The disturbed attempts are recorded as
/// interrupted.
///
/// # Errors
/// If the record of such an attempt cannot be written.
pub(crate) fn run_undisturbed_group(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    manifest: &RunManifest,
    group: &[&TrialSpec],
) -> Result<Vec<TrialResult>, Error> {
    let mut attempt = 1;
    loop {
        folder.reserve();
        let mut trials = run_checked_group(context, group);
        settle_group_outcomes(&mut trials, group, manifest);
        let disturbance = trials.iter().find_map(describe_disturbance);
        let Some(reason) = disturbance.filter(|_| attempt < MAX_ATTEMPTS) else {
            return Ok(trials);
        };
        attempt += 1;
        let id = group.first().map_or("", |spec| spec.id.as_str());
        context.warn(format!("trial {id} is repeated: {reason}"));
        for mut trial in trials {
            trial.record.outcome = Outcome::Interrupted;
            record_trial(context, folder, trial, &Follower::Known(&[]))?;
        }
    }
}

/// Describes why a trial of a search says nothing: a part of it did not run. `None` for any other
/// trial.
fn describe_disturbance(trial: &TrialResult) -> Option<String> {
    let record = &trial.record;
    let is_of_search = record.spec.role.is_some();
    let is_invalid = matches!(record.outcome, Outcome::Invalid { .. });
    let stalls = &record.measurement.as_ref()?.stalls;
    let stall = stalls.first().filter(|_| is_of_search && is_invalid);
    stall.map(TrialStall::doubt)
}

/// Returns whether the user stopped a trial.
pub(crate) fn is_interrupted(trial: &TrialResult) -> bool {
    trial.record.outcome == Outcome::Interrupted
}

/// Makes the outcomes of trials that shared time slices consistent: if one was interrupted, all run
/// again. A trial whose rivals ended in an earlier part of the run shared them with nobody.
fn settle_group_outcomes(trials: &mut [TrialResult], group: &[&TrialSpec], manifest: &RunManifest) {
    let Some(key) = group.first().and_then(|spec| derive_group_key(spec)) else {
        return;
    };
    let contenders = manifest.trials.iter();
    let contenders = contenders.filter(|spec| derive_group_key(spec).as_ref() == Some(&key));
    // A search proposes contenders that go on without those that have left it.
    let is_search = group.iter().any(|spec| spec.role.is_some());
    let is_whole = is_search || contenders.count() == group.len();
    let interrupted = trials.iter().any(is_interrupted);
    for trial in trials {
        let outcome = &mut trial.record.outcome;
        if interrupted {
            *outcome = Outcome::Interrupted;
        } else if !is_whole && *outcome == Outcome::Valid {
            let reason = "it ran without the contenders that had finished before the run was \
                interrupted";
            *outcome = Outcome::Invalid {
                reasons: vec![reason.to_owned()],
            };
        }
    }
}

/// Runs the suites of a group's engines that are not known yet, several at the same time, because
/// nothing is measured meanwhile. The trials find their results.
fn run_suites(context: &mut RunContext<'_>, group: &[&TrialSpec]) {
    let mut keys = HashSet::new();
    let is_new = |spec: &&TrialSpec| {
        let key = conformance::key_of(spec);
        let is_known = context.known.conformance.contains_key(&key);
        conformance::is_wanted(spec) && !is_known && keys.insert(key)
    };
    let new: Vec<&TrialSpec> = group.iter().copied().filter(is_new).collect();
    if new.len() < 2 {
        return;
    }
    // Hashed once for all. Each suite reports it if it cannot be read.
    let _ = context.sha256(None);
    thread::scope(|scope| {
        let threads = TaskThreads::start(scope);
        // What fails here runs again, and its trial says why.
        let new = threads.run(context, new, |context, spec| {
            if !context.stopped() {
                let _ = conformance::check(context, spec);
            }
        });
        // After those, which flush thousands of times: a schedule takes a step that lasts 100 ms
        // for one that waits.
        threads.run(context, new, |context, spec| {
            let found = context.known.conformance.get(&conformance::key_of(spec));
            let has_passed = matches!(found, Some(ConformanceResult::Passed(_)));
            if has_passed && !context.stopped() {
                let _ = isolation_check::check(context, spec);
            }
        });
    });
}

/// Runs the trials of a group whose engines pass the conformance suite.
fn run_checked_group(context: &mut RunContext<'_>, group: &[&TrialSpec]) -> Vec<TrialResult> {
    run_suites(context, group);
    let mut trials = Vec::new();
    let mut fit = Vec::new();
    let mut passed = HashMap::new();
    for &spec in group {
        match conformance::check(context, spec) {
            Ok(ConformanceResult::Passed(found)) => match isolation_check::check(context, spec) {
                Ok(IsolationResult::Stands(checked)) => {
                    passed.insert(spec.id.as_str(), (found, checked));
                    fit.push(spec);
                }
                Ok(IsolationResult::Refuted(reasons)) => {
                    let outcome = Outcome::Invalid { reasons };
                    trials.push(TrialResult::without_measurement(spec, outcome));
                }
                Err(error) => trials.push(TrialResult::without_measurement(
                    spec,
                    derive_outcome(Err(error)),
                )),
            },
            Ok(ConformanceResult::Failed { reasons, .. }) => {
                let outcome = Outcome::Invalid { reasons };
                trials.push(TrialResult::without_measurement(spec, outcome));
            }
            Ok(ConformanceResult::KnobsRefused(reason)) => {
                let outcome = Outcome::Failed {
                    reason,
                    bad_input: true,
                };
                trials.push(TrialResult::without_measurement(spec, outcome));
            }
            Ok(ConformanceResult::NotCompleted(reason) | ConformanceResult::Killed(reason)) => {
                let reason = format!("the conformance suite was not completed: {reason}");
                let outcome = derive_outcome(Err(TrialError::Failed(reason.into())));
                trials.push(TrialResult::without_measurement(spec, outcome));
            }
            Ok(ConformanceResult::Overrun(reason)) => {
                let outcome = derive_outcome(Err(TrialError::Overrun(reason.into())));
                trials.push(TrialResult::without_measurement(spec, outcome));
            }
            Err(error) => trials.push(TrialResult::without_measurement(
                spec,
                derive_outcome(Err(error)),
            )),
        }
    }
    match fit.as_slice() {
        [spec] if derive_group_key(spec).is_none() => trials.push(run_trial(context, spec)),
        fit => trials.extend(run_in_time_slices(context, fit)),
    }
    for trial in &mut trials {
        let checks = passed.remove(trial.record.spec.id.as_str());
        (trial.record.conformance, trial.record.isolation_check) = checks.unwrap_or_default();
        trial.record.audit = find_audit(context, &trial.record.spec);
    }
    trials
}

/// Returns what the user's audits say about the promise of a trial's engine.
fn find_audit(context: &RunContext<'_>, spec: &TrialSpec) -> Option<AuditStanding> {
    let audits = context.options.audits.as_ref()?;
    let resolved = context.resolve(spec).ok()?;
    audits.find(&AuditSubject {
        engine: &*resolved.engine,
        contender: spec.contender(),
        durability: spec.durability,
        knobs: &spec.knobs,
    })
}
