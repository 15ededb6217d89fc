//! The arm and the turning platter of a disk.

use crate::storage_model::{DiskGeometry, ServiceTime, ns_per_byte, whole_ns};

const NS_PER_MS: f64 = 1e6;
const NS_PER_MINUTE: f64 = 60e9;
const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// Whether bytes are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The place of the head, and when it has nothing to do.
///
/// Bytes lie along one track that winds through the disk from its first byte to its last, as far as
/// angles are concerned: what a skewed layout does for sequential transfers. The angle of the
/// platter follows from the time.
#[derive(Debug)]
pub(super) struct Platter {
    seek: SeekCurve,
    capacity_bytes: f64,
    turn_ns: f64,
    /// The bytes that pass the head in a turn.
    track_bytes: f64,
    /// The byte after the last that was read or written.
    position: u64,
    /// The kind of the last access.
    last_access: Access,
    /// When the last access was over.
    free_ns: u64,
    /// When the head was past `position`. The disk reads ahead after a read, at most a track.
    passed_ns: u64,
}

/// The time of a seek by its distance: the curve of Lee and Katz, "An analytic performance model of
/// disk arrays" (SIGMETRICS 1993), which is a square root for short seeks, mostly a line for long
/// ones, and has a given shortest, mean and longest seek. The mean is that of independent random
/// positions.
#[derive(Debug)]
struct SeekCurve {
    min_ns: f64,
    root_ns: f64,
    linear_ns: f64,
}

impl Platter {
    /// Creates the platter of a disk, or of a volume if that is larger, with the head at its
    /// beginning.
    pub(super) fn new(disk: &DiskGeometry, read: &ServiceTime, volume_bytes: u64) -> Self {
        let turn_ns = NS_PER_MINUTE / disk.rpm;
        Self {
            seek: SeekCurve::new(disk),
            capacity_bytes: (disk.capacity_gib * BYTES_PER_GIB).max(volume_bytes as f64),
            turn_ns,
            track_bytes: turn_ns / ns_per_byte(read.bandwidth_mib_per_s),
            position: 0,
            last_access: Access::Write,
            free_ns: 0,
            passed_ns: 0,
        }
    }

    /// Returns the byte after the last that was read or written.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns when the last access is over.
    pub(super) fn free_ns(&self) -> u64 {
        self.free_ns
    }

    /// Reads or writes the bytes from a position, at `start_ns` or when the head is free, and
    /// returns when they are transferred.
    pub(super) fn access(
        &mut self,
        access: Access,
        start_ns: u64,
        [position, bytes]: [u64; 2],
        transfer_ns: u64,
    ) -> u64 {
        let start_ns = start_ns.max(self.free_ns);
        let continues = position == self.position && access == self.last_access;
        let end_ns = if continues && access == Access::Read {
            // The disk went on reading when the read before was over.
            let passed_ns = self.passed_ns.saturating_add(transfer_ns);
            let end_ns = start_ns.max(passed_ns);
            let earliest_ns = end_ns.saturating_sub(whole_ns(self.turn_ns));
            self.passed_ns = passed_ns.max(earliest_ns);
            end_ns
        } else {
            let is_in_place = continues && start_ns == self.free_ns;
            let reached_ns = if is_in_place {
                start_ns
            } else {
                self.reached_ns(start_ns, position)
            };
            self.passed_ns = reached_ns.saturating_add(transfer_ns);
            self.passed_ns
        };
        self.position = position.saturating_add(bytes);
        self.last_access = access;
        self.free_ns = end_ns;
        end_ns
    }

    /// Returns when the head is over a position, if it leaves its place at `start_ns`.
    fn reached_ns(&self, start_ns: u64, position: u64) -> u64 {
        let distance = position.abs_diff(self.position) as f64;
        let seek_ns = if distance < self.track_bytes {
            0.0
        } else {
            let fraction = (distance / self.capacity_bytes).min(1.0);
            self.seek.time_ns(fraction)
        };
        let arrived_ns = start_ns as f64 + seek_ns;
        let platter_angle = arrived_ns / self.turn_ns;
        let target_angle = position as f64 / self.track_bytes;
        let turn = (target_angle - platter_angle).rem_euclid(1.0);
        start_ns.saturating_add(whole_ns(seek_ns + turn * self.turn_ns))
    }
}

impl SeekCurve {
    fn new(disk: &DiskGeometry) -> Self {
        let milliseconds = [disk.seek_min_ms, disk.seek_mean_ms, disk.seek_max_ms];
        let [min, mean, max] = milliseconds.map(|ms| ms * NS_PER_MS);
        Self {
            min_ns: min,
            root_ns: (15.0 * mean - 10.0 * min - 5.0 * max) / 3.0,
            linear_ns: (7.0 * min - 15.0 * mean + 8.0 * max) / 3.0,
        }
    }

    /// Returns the time of a seek over a fraction of the disk, nanoseconds.
    fn time_ns(&self, fraction: f64) -> f64 {
        self.min_ns + self.root_ns * fraction.sqrt() + self.linear_ns * fraction
    }
}
