//! The knob that sizes an engine's own cache.

use trueput_record::Value;

/// The knob that sizes an engine's own cache, and how it says a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKnob {
    /// The knob's name.
    pub name: &'static str,
    /// The number of bytes in one unit of the knob: 1 if it is in bytes.
    pub unit_bytes: u64,
    /// Whether every session has its own cache of that size, instead of sharing one.
    pub per_session: bool,
    /// The size of the cache with the given knobs, bytes.
    pub size_bytes: u64,
}

impl CacheKnob {
    /// Creates a knob in bytes, of a cache that all sessions of a process share, with its value.
    #[must_use]
    pub const fn bytes(name: &'static str, size_bytes: u64) -> Self {
        Self {
            name,
            unit_bytes: 1,
            per_session: false,
            size_bytes,
        }
    }

    /// Returns the knob's value for a cache of this many bytes, rounded down to whole units.
    #[must_use]
    pub fn value(self, bytes: u64) -> Value {
        Value::from(bytes / self.unit_bytes.max(1))
    }
}
