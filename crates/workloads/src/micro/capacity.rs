//! Checks before the load that the engine has room for the keys and values, and the versions for a
//! further trial.

use super::config::{MicroConfig, Test};
use crate::keyed::write_tracker::MAX_GENERATION;
use crate::{Error, JobDatabase, Result};
use trueput_engine::Capabilities;
use trueput_record::value::format_bytes;

/// Refuses records that are too large for the engine.
///
/// # Errors
/// One sentence with the size and the limit.
pub(super) fn check_room(config: &MicroConfig, capabilities: &Capabilities) -> Result<(), String> {
    let refuse = |what: &str, given: usize, most: usize, setting: &str| {
        let (given, most_bytes) = (format_bytes(given as u64), format_bytes(most as u64));
        Err(format!(
            "{what} of {given} are longer than the {most_bytes} that this engine takes; give \
             {setting}={most} or less"
        ))
    };
    // A missing key has a byte more than the others.
    let key_bytes = config.key_bytes + usize::from(config.test == Test::Missing);
    if key_bytes > capabilities.max_key_bytes {
        return refuse("keys", key_bytes, capabilities.max_key_bytes, "key_bytes");
    }
    if config.value_bytes > capabilities.max_value_bytes {
        let most = capabilities.max_value_bytes;
        return refuse("values", config.value_bytes, most, "value_bytes");
    }
    Ok(())
}

/// Refuses records that are too large for the engine, and a trial beyond the number that a
/// value's version can tell apart.
///
/// # Errors
/// One sentence with the size and the limit.
pub(super) fn check_fit(config: &MicroConfig, target: &JobDatabase<'_>) -> Result<()> {
    check_room(config, &target.capabilities).map_err(Error::Workload)?;
    if target.generation > MAX_GENERATION {
        return Err(Error::Workload(format!(
            "{} trials ran on this load already, and a value's version counts no more; split the \
             plan",
            target.generation
        )));
    }
    Ok(())
}
