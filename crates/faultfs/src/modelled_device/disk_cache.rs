//! The write cache of a disk: what it holds is written back in order of position.

use super::platter::{Access, Platter};
use crate::storage_model::{BYTES_PER_MIB, WriteCache, ns_per_byte, whole_ns};
use std::collections::BTreeMap;

/// The most that is written back at once: a read does not wait for more, bytes.
const CHUNK_BYTES: u64 = 1 << 20;

/// A cache that knows which bytes of the disk it holds.
#[derive(Debug)]
pub(super) struct DiskCache {
    capacity_bytes: u64,
    /// The time of a byte under the head.
    drain_ns_per_byte: f64,
    /// The bytes that are not written back, by the first of each extent. No two extents overlap or
    /// touch.
    extents: BTreeMap<u64, DirtyExtent>,
    dirty_bytes: u64,
    /// When the latest write-back is complete.
    written_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct DirtyExtent {
    /// The byte after the last.
    end: u64,
    /// When its oldest byte entered the cache.
    since_ns: u64,
}

impl DiskCache {
    /// Creates an empty cache.
    pub(super) fn new(cache: &WriteCache) -> Self {
        Self {
            capacity_bytes: (cache.capacity_mib * BYTES_PER_MIB) as u64,
            drain_ns_per_byte: ns_per_byte(cache.drain_mib_per_s),
            extents: BTreeMap::new(),
            dirty_bytes: 0,
            written_ns: 0,
        }
    }

    /// Adds the bytes of a write that are in the cache from `since_ns` on.
    pub(super) fn add(&mut self, position: u64, bytes: u64, since_ns: u64) {
        if bytes == 0 {
            return;
        }
        let mut first = position;
        let mut whole = DirtyExtent {
            end: position.saturating_add(bytes),
            since_ns,
        };
        // Whatever overlaps or touches it begins at its end or before.
        while let Some((other_first, other)) = self.last_extent(whole.end) {
            if other.end < first {
                break;
            }
            self.extents.remove(&other_first);
            self.dirty_bytes -= other.end - other_first;
            first = first.min(other_first);
            whole.end = whole.end.max(other.end);
            whole.since_ns = whole.since_ns.min(other.since_ns);
        }
        self.extents.insert(first, whole);
        self.dirty_bytes += whole.end - first;
    }

    /// Writes back as much as an otherwise idle head begins to write before `now_ns`.
    pub(super) fn write_back_until(&mut self, platter: &mut Platter, now_ns: u64) {
        while let Some((position, extent)) = self.next_extent(platter) {
            if platter.free_ns().max(extent.since_ns) >= now_ns {
                break;
            }
            self.write_back(platter, position, extent);
        }
    }

    /// Makes room for the bytes of a write that comes at a moment, and returns when there is room.
    pub(super) fn make_room(&mut self, platter: &mut Platter, now_ns: u64, bytes: u64) -> u64 {
        self.write_back_until(platter, now_ns);
        let mut room_ns = now_ns;
        while self.dirty_bytes.saturating_add(bytes) > self.capacity_bytes {
            let Some((position, extent)) = self.next_extent(platter) else {
                break;
            };
            self.write_back(platter, position, extent);
            room_ns = room_ns.max(self.written_ns);
        }
        room_ns
    }

    /// Writes everything back, and returns when it is on the platter.
    pub(super) fn write_back_all(&mut self, platter: &mut Platter, now_ns: u64) -> u64 {
        self.write_back_until(platter, now_ns);
        while let Some((position, extent)) = self.next_extent(platter) {
            self.write_back(platter, position, extent);
        }
        self.written_ns.max(now_ns)
    }

    fn write_back(&mut self, platter: &mut Platter, position: u64, extent: DirtyExtent) {
        let bytes = (extent.end - position).min(CHUNK_BYTES);
        self.extents.remove(&position);
        if position + bytes < extent.end {
            self.extents.insert(position + bytes, extent);
        }
        self.dirty_bytes -= bytes;
        let transfer_ns = whole_ns(bytes as f64 * self.drain_ns_per_byte);
        let range = [position, bytes];
        self.written_ns = platter.access(Access::Write, extent.since_ns, range, transfer_ns);
    }

    /// Returns the first extent from the head on, or the first of all: the arm sweeps the disk in
    /// one direction.
    fn next_extent(&self, platter: &Platter) -> Option<(u64, DirtyExtent)> {
        let ahead = self.extents.range(platter.position()..).next();
        let next = ahead.or_else(|| self.extents.first_key_value());
        next.map(|(position, extent)| (*position, *extent))
    }

    /// Returns the last extent whose first byte is not behind a position.
    fn last_extent(&self, position: u64) -> Option<(u64, DirtyExtent)> {
        let last = self.extents.range(..=position).next_back();
        last.map(|(position, extent)| (*position, *extent))
    }
}
