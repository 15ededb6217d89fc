//! Counters and settings by their names.

use std::collections::BTreeMap;
use trueput_engine::Value;

/// Returns the values by their names.
pub(crate) fn named_values<const N: usize>(
    pairs: [(&str, impl Into<Value>); N],
) -> BTreeMap<String, Value> {
    let named = pairs.map(|(name, value)| (name.to_owned(), value.into()));
    named.into()
}
