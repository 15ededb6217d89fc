//! The write cache of a device without moving parts: it drains at a steady rate.

use crate::storage_model::{BYTES_PER_MIB, WriteCache, ns_per_byte, whole_ns};

/// A cache of which only the number of bytes matters.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    capacity_bytes: f64,
    /// The time in which the medium takes a byte.
    drain_ns_per_byte: f64,
    /// The bytes in it at [`Self::at_ns`]; more than the capacity if writes wait.
    dirty_bytes: f64,
    at_ns: u64,
}

impl WriteBuffer {
    /// Creates an empty cache.
    pub(super) fn new(cache: &WriteCache) -> Self {
        Self {
            capacity_bytes: cache.capacity_mib * BYTES_PER_MIB,
            drain_ns_per_byte: ns_per_byte(cache.drain_mib_per_s),
            dirty_bytes: 0.0,
            at_ns: 0,
        }
    }

    /// Adds the bytes of a write that starts at a moment, and returns when there is room for all of
    /// them. Writes find room in the order in which they are added.
    pub(super) fn add(&mut self, start_ns: u64, bytes: u64) -> u64 {
        self.dirty_bytes = self.dirty_bytes(start_ns) + bytes as f64;
        self.at_ns = self.at_ns.max(start_ns);
        let excess = (self.dirty_bytes - self.capacity_bytes).max(0.0);
        let wait_ns = whole_ns(excess * self.drain_ns_per_byte);
        self.at_ns.saturating_add(wait_ns)
    }

    /// Returns when the medium has taken all that is in the cache at a moment.
    pub(super) fn empty_ns(&self, start_ns: u64) -> u64 {
        let drain_ns = self.dirty_bytes(start_ns) * self.drain_ns_per_byte;
        start_ns.saturating_add(whole_ns(drain_ns))
    }

    fn dirty_bytes(&self, now_ns: u64) -> f64 {
        let drained = now_ns.saturating_sub(self.at_ns) as f64 / self.drain_ns_per_byte;
        (self.dirty_bytes - drained).max(0.0)
    }
}
