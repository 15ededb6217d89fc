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

/// The names of the flags that are set, joined by `+`.
pub(crate) fn flag_names(names: &[(&str, u32)], flags: u32) -> String {
    let set = names.iter().filter(|(_, flag)| flags & flag != 0);
    set.map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

/// Combines the flags that are on.
pub(crate) fn flags_of<const N: usize>(flags: [(bool, u32); N]) -> u32 {
    let on = flags.into_iter().filter(|(is_on, _)| *is_on);
    on.fold(0, |flags, (_, flag)| flags | flag)
}
