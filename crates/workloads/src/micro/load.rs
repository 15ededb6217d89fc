//! The load: every record once, in the order of the keys, in transactions of a thousand.

use super::problem::{LOAD_BATCH, Problem, Test};
use super::track::MAX_GENERATION;
use super::transaction::{Unmetered, transact};
use crate::generate::key::Buffer;
use crate::{Doing, Error, Load, Target};
use trueput_engine::{Capabilities, Mode};
use trueput_record::value::format_bytes;

/// Refuses what the engine has no room for.
///
/// # Errors
/// A sentence.
pub(super) fn check_room(problem: &Problem, capabilities: &Capabilities) -> Result<(), String> {
    let refuse = |what: &str, given: usize, most: usize, setting: &str| {
        let (given, most_bytes) = (format_bytes(given as u64), format_bytes(most as u64));
        Err(format!(
            "{what} of {given} are longer than the {most_bytes} that this engine takes; give \
             {setting}={most} or less"
        ))
    };
    // A missing key has a byte more than the others.
    let key_bytes = problem.key_bytes + usize::from(problem.test == Test::Missing);
    if key_bytes > capabilities.max_key_bytes {
        return refuse("keys", key_bytes, capabilities.max_key_bytes, "key_bytes");
    }
    if problem.value_bytes > capabilities.max_value_bytes {
        let most = capabilities.max_value_bytes;
        return refuse("values", problem.value_bytes, most, "value_bytes");
    }
    Ok(())
}

/// Refuses what the engine, or a version, has no room for.
///
/// # Errors
/// A sentence.
pub(super) fn check_fit(problem: &Problem, target: &Target<'_>) -> Result<(), Error> {
    check_room(problem, &target.capabilities).map_err(Error::Workload)?;
    if target.generation > MAX_GENERATION {
        return Err(Error::Workload(format!(
            "{} trials ran on this load already, and a value's version counts no more; split the \
             plan",
            target.generation
        )));
    }
    Ok(())
}

/// Loads every record.
///
/// # Errors
/// Whatever the engine says.
pub(super) fn load(problem: &Problem, target: &Target<'_>) -> Result<Load, Error> {
    let values = problem.values(target.seed)?;
    let session = target.database.session();
    let mut session = session.doing(|| "making a session to load with".to_owned())?;
    let mut key = Buffer::default();
    let mut value = vec![0; problem.value_bytes];
    let mut next = 0;
    while next < problem.records {
        let end = problem.records.min(next + LOAD_BATCH);
        let doing = "loading the records";
        transact(
            &mut *session,
            &mut Unmetered,
            Mode::Write,
            doing,
            |session, _| {
                (next..end).try_for_each(|item| {
                    values.write(item, 0, &mut value);
                    session.put(problem.format.write(item, &mut key), &value)
                })
            },
        )?;
        next = end;
        (target.progress)(next as f64 / problem.records as f64);
    }
    Ok(Load {
        records: problem.records,
        user_bytes: problem.records * (problem.key_bytes + problem.value_bytes) as u64,
    })
}
