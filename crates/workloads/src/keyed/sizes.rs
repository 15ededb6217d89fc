//! The settings that say how much data there is, and their mistakes.

use crate::IneffectiveSetting;
use crate::generate::value::MIN_VALUE_BYTES;
use trueput_record::Value;
use trueput_record::plan::Dimensions;

/// Refuses records beside a size of the data, which is in their place.
pub(crate) fn check_size(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_default = |value: &Value| matches!(value, Value::Integer(0));
    let sized = given
        .get("size")
        .is_some_and(|sizes| !sizes.iter().all(is_default));
    if sized && given.contains_key("records") {
        return Err(IneffectiveSetting {
            name: "records",
            message: "size and records both set how much is loaded, and size takes precedence: \
                      remove one of them, or set size=0"
                .to_owned(),
        });
    }
    Ok(())
}

/// The message about a value that has no room for its check and version.
pub(crate) fn short_value_message(value_bytes: usize) -> String {
    format!(
        "values of {value_bytes} bytes have no room for the check and the version by which reads \
         are verified; give value_bytes={MIN_VALUE_BYTES} or more"
    )
}

/// The number of records in a `size` of data, or `records` where that is 0.
///
/// # Errors
/// One sentence, if not even one record fits.
pub(crate) fn records(records: u64, size: u64, record_bytes: u64) -> Result<u64, String> {
    match size {
        0 => Ok(records),
        size if size < record_bytes => Err(format!(
            "size={size} is less than one record of {record_bytes} bytes; give more"
        )),
        size => Ok(size / record_bytes),
    }
}
