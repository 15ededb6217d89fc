//! How much data a job loads and is expected to add, and whether the engine has room for it.

use super::error::RecordError;
use crate::IneffectiveSetting;
use trueput_engine::Capabilities;
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Value};

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
/// [`RecordError::TooLong`].
pub(crate) fn check_room(
    key_bytes: usize,
    value_bytes: usize,
    capabilities: &Capabilities,
) -> Result<(), RecordError> {
    let keys = ("keys", key_bytes, capabilities.max_key_bytes, "key_bytes");
    let values = (
        "values",
        value_bytes,
        capabilities.max_value_bytes,
        "value_bytes",
    );
    for (subject, bytes, max_bytes, setting) in [keys, values] {
        if bytes > max_bytes {
            return Err(RecordError::TooLong {
                subject,
                bytes,
                max_bytes,
                setting,
            });
        }
    }
    Ok(())
}

/// Refuses the setting of a number of records, by its name, beside a size of the data, which takes
/// precedence.
pub(crate) fn check_size(given: &Dimensions, name: &'static str) -> Result<(), IneffectiveSetting> {
    let is_default = |value: &Value| matches!(value, Value::Integer(0));
    let sized = given
        .get("size")
        .is_some_and(|sizes| !sizes.iter().all(is_default));
    if sized && given.contains_key(name) {
        let message = format!(
            "size and {name} both set how much is loaded, and size takes precedence: remove one of \
             them, or set size=0"
        );
        return Err(IneffectiveSetting { name, message });
    }
    Ok(())
}

/// The number of records in a `size` of data, or `records` where that is 0.
///
/// # Errors
/// [`RecordError::NoRecord`].
pub(crate) fn records_of_size(
    records: u64,
    size: u64,
    record_bytes: u64,
) -> Result<u64, RecordError> {
    match size {
        0 => Ok(records),
        size if size < record_bytes => Err(RecordError::NoRecord { size, record_bytes }),
        size => Ok(size / record_bytes),
    }
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
