//! What becomes of a trial's database: a next trial with the same load uses it, or it is removed.

use crate::Options;
use crate::context::{ReusableDatabase, RunContext};
use crate::trial::database_folder::{begins_with_copy, compute_load_key};
use crate::trial::lifecycle::TrialResult;
use trueput_record::TrialSpec;
use trueput_record::measurement::Outcome;

/// The trials after another one.
pub(crate) enum Follower<'a> {
    /// The next ones, which run together; none after the last.
    Known(&'a [&'a TrialSpec]),
    /// Some that a search has not proposed yet.
    Unknown,
}

/// Keeps a trial's database if one of the next trials has the same load, or may have it; removes it
/// otherwise.
pub(crate) fn keep_or_remove_database(
    context: &mut RunContext<'_>,
    trial: &TrialResult,
    follower: &Follower<'_>,
) {
    let key = load_key_of_database(context, trial);
    let is_wanted = match follower {
        Follower::Unknown => true,
        Follower::Known(next) => {
            // One that begins with a copy needs none.
            let mut next = next.iter().filter(|next| !begins_with_copy(context, next));
            next.any(|next| compute_load_key(context, next) == key)
        }
    };
    match key.filter(|_| is_wanted) {
        Some(key) => keep_database(context, trial, key),
        None => remove_database(context, trial),
    }
}

/// The key of the load in a trial's database; `None` if no other trial can use that.
fn load_key_of_database(context: &RunContext<'_>, trial: &TrialResult) -> Option<String> {
    let outcome = &trial.record.outcome;
    let is_usable = outcome.objections().is_empty() && *outcome != Outcome::Interrupted;
    is_usable.then(|| compute_load_key(context, &trial.record.spec))?
}

fn keep_database(context: &mut RunContext<'_>, trial: &TrialResult, key: String) {
    context.reusable.push(ReusableDatabase {
        key,
        id: trial.database_id.clone(),
        generation: trial.generation + 1,
        spec: trial.record.spec.clone(),
    });
}

/// Removes what a killed part of the run has left in the folders of trials that have ended: a later
/// trial was at work there, and makes a folder of its own when it runs again.
pub(crate) fn remove_leftovers<'a>(
    context: &mut RunContext<'_>,
    ended: impl Iterator<Item = &'a String>,
) {
    if !context.area.has_leftovers() {
        return;
    }
    for id in ended {
        let limit = context.options.hang_limit;
        if let Err(error) = context.area.remove_trial_within(id, limit) {
            context.warn(error.to_string());
        }
    }
}

/// Removes a trial's database, unless databases are kept.
pub(crate) fn remove_database(context: &mut RunContext<'_>, trial: &TrialResult) {
    context.kill_kept_server(&trial.database_id);
    let Options {
        keep_databases,
        keep_unfinished,
        ..
    } = context.options;
    let unfinished = matches!(
        trial.record.outcome,
        Outcome::Failed { .. } | Outcome::Interrupted
    );
    let done = if *keep_databases || (*keep_unfinished && unfinished) {
        let unmounted = context.area.unmount_trial(&trial.database_id);
        unmounted.map_err(Into::into)
    } else {
        context.remove_database(&trial.database_id, &trial.record.spec)
    };
    if let Err(error) = done {
        context.warn(error.to_string());
    }
}
