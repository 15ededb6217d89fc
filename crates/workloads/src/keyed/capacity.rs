//! Checks before the load that the engine has room for the keys and values.

use trueput_engine::Capabilities;
use trueput_record::Conditions;
use trueput_record::value::format_bytes;

/// Operations of a closed loop that are expected at most, per second: several times what the
/// fastest engines did with some workers.
const MAX_OPERATIONS_PER_S: f64 = 2_000_000.0;

/// Bytes of new records that a closed loop is expected to write at most, per second. What an engine
/// writes beyond, the factor for its space covers.
const MAX_INSERTED_BYTES_PER_S: f64 = 200e6;

/// The operations that a count expects, 0 without one: no more than the duration, if there is one,
/// has time for. An operation inserts `inserted_bytes` on average. Sizes that are estimated before
/// a trial go by it.
pub(crate) fn expected_operations(
    count: Option<u64>,
    inserted_bytes: f64,
    conditions: &Conditions,
) -> u64 {
    let count = count.unwrap_or(0);
    let Some(duration_s) = conditions.duration_s else {
        return count;
    };
    let closed_per_s = MAX_OPERATIONS_PER_S.min(MAX_INSERTED_BYTES_PER_S / inserted_bytes);
    let per_s = conditions.rate.map_or(closed_per_s, |rate| rate.per_s);
    count.min(((duration_s + conditions.warm_up_s) * per_s).ceil() as u64)
}

/// Refuses records that are too large for the engine: the longest key and the longest value.
///
/// # Errors
/// One sentence with the size and the limit.
pub(crate) fn check_room(
    key_bytes: usize,
    value_bytes: usize,
    capabilities: &Capabilities,
) -> Result<(), String> {
    let refuse = |subject: &str, given: usize, most: usize, setting: &str| {
        let (given, most_bytes) = (format_bytes(given as u64), format_bytes(most as u64));
        Err(format!(
            "{subject} of {given} are longer than the {most_bytes} that this engine takes; give \
             {setting}={most} or less"
        ))
    };
    if key_bytes > capabilities.max_key_bytes {
        return refuse("keys", key_bytes, capabilities.max_key_bytes, "key_bytes");
    }
    if value_bytes > capabilities.max_value_bytes {
        let most = capabilities.max_value_bytes;
        return refuse("values", value_bytes, most, "value_bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_limits_the_operations_that_are_expected() {
        let timed = Conditions {
            duration_s: Some(2.0),
            ..Conditions::default()
        };
        assert_eq!(expected_operations(Some(1 << 60), 0.0, &timed), 4_000_000);
        assert_eq!(expected_operations(Some(1 << 60), 100.0, &timed), 4_000_000);
        // Records of 1 kB: 200,000 a second.
        assert_eq!(expected_operations(Some(1 << 60), 1e3, &timed), 400_000);
        assert_eq!(expected_operations(Some(1_000), 1e3, &timed), 1_000);
        assert_eq!(expected_operations(None, 1e3, &timed), 0);
        assert_eq!(
            expected_operations(Some(1 << 60), 1e3, &Conditions::default()),
            1 << 60
        );
    }
}
