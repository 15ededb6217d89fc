//! Where the files of a folder are on its modeled device: extents in the order in which they were
//! first used, behind the journal of a file system.

use crate::modelled_device::DeviceRequest;
use crate::operation::{ByteRange, Inode};
use std::collections::{BTreeMap, HashMap};

/// The bytes of a file that are one after the other on the device.
const EXTENT_BYTES: u64 = 8 << 20;

/// Bytes of the largest request; an extent has a whole number of them.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Bytes of the journal, on a device that is large enough.
const JOURNAL_BYTES: u64 = 64 << 20;

/// Bytes of a commit in the journal.
const BLOCK_BYTES: u64 = 4096;

/// The places of files on a device.
#[derive(Debug)]
pub(super) struct DeviceLayout {
    device_bytes: u64,
    journal_bytes: u64,
    /// The place of the next commit.
    journal_position: u64,
    /// The place of the next extent. Behind the last one of the device comes the first one again:
    /// space that files have given back is not looked for.
    next_extent: u64,
    /// By file, the places of its extents by their numbers.
    extents: HashMap<Inode, BTreeMap<u64, u64>>,
}

impl DeviceLayout {
    /// Creates the layout of an empty device of that size.
    pub(super) fn new(device_bytes: u64) -> Self {
        let journal_bytes = JOURNAL_BYTES.min(device_bytes / 4).max(BLOCK_BYTES);
        Self {
            device_bytes,
            journal_bytes,
            journal_position: 0,
            next_extent: journal_bytes,
            extents: HashMap::new(),
        }
    }

    /// Returns the place of a byte of a file.
    pub(super) fn position(&mut self, inode: Inode, offset: u64) -> u64 {
        let (number, within) = (offset / EXTENT_BYTES, offset % EXTENT_BYTES);
        let known = self.extents.get(&inode).and_then(|file| file.get(&number));
        if let Some(extent) = known {
            return extent + within;
        }
        let extent = self.take_extent();
        let file = self.extents.entry(inode).or_default();
        file.insert(number, extent);
        extent + within
    }

    fn take_extent(&mut self) -> u64 {
        if self.next_extent + EXTENT_BYTES > self.device_bytes {
            self.next_extent = self.journal_bytes;
        }
        let extent = self.next_extent;
        self.next_extent += EXTENT_BYTES;
        extent
    }

    /// Returns the requests that write these parts of a file.
    pub(super) fn writes(&mut self, inode: Inode, ranges: &[ByteRange]) -> Vec<DeviceRequest> {
        let mut writes = Vec::new();
        for range in ranges {
            let mut start = range.start;
            while start < range.end {
                let boundary = (start + 1).next_multiple_of(MAX_REQUEST_BYTES);
                let end = boundary.min(range.end);
                writes.push(DeviceRequest::Write {
                    position: self.position(inode, start),
                    bytes: end - start,
                });
                start = end;
            }
        }
        writes
    }

    /// Returns the request that writes a block of the journal.
    pub(super) fn journal_write(&mut self) -> DeviceRequest {
        let position = self.journal_position;
        self.journal_position = (position + BLOCK_BYTES) % self.journal_bytes;
        DeviceRequest::Write {
            position,
            bytes: BLOCK_BYTES,
        }
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(&mut self, inode: Inode) {
        self.extents.remove(&inode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE_BYTES: u64 = 1 << 30;

    const MIB: u64 = 1 << 20;

    fn write(position: u64, bytes: u64) -> DeviceRequest {
        DeviceRequest::Write { position, bytes }
    }

    #[test]
    fn what_is_in_order_in_a_file_is_in_order_on_the_device() {
        let mut layout = DeviceLayout::new(DEVICE_BYTES);
        let (one, other) = (Inode(2), Inode(3));
        assert_eq!(layout.position(one, 5), JOURNAL_BYTES + 5);
        assert_eq!(layout.position(other, 0), JOURNAL_BYTES + EXTENT_BYTES);
        assert_eq!(layout.position(one, MIB), JOURNAL_BYTES + MIB);
        let behind = layout.position(one, EXTENT_BYTES);
        assert_eq!(behind, JOURNAL_BYTES + 2 * EXTENT_BYTES);
        assert_eq!(layout.position(one, 5), JOURNAL_BYTES + 5);
    }

    #[test]
    fn parts_of_a_file_are_written_by_requests_that_are_not_too_large() {
        let mut layout = DeviceLayout::new(DEVICE_BYTES);
        let ranges = [
            ByteRange {
                start: 4096,
                end: 2 * MIB + 4096,
            },
            ByteRange {
                start: 4 * MIB,
                end: 4 * MIB + 8192,
            },
        ];
        let expected = [
            write(JOURNAL_BYTES + 4096, MIB - 4096),
            write(JOURNAL_BYTES + MIB, MIB),
            write(JOURNAL_BYTES + 2 * MIB, 4096),
            write(JOURNAL_BYTES + 4 * MIB, 8192),
        ];
        assert_eq!(layout.writes(Inode(2), &ranges), expected);
        assert_eq!(layout.writes(Inode(2), &[]), []);
    }

    #[test]
    fn a_full_device_and_a_full_journal_begin_again() {
        let mut layout = DeviceLayout::new(64 * MIB);
        let first = layout.position(Inode(2), 0);
        assert_eq!(first, 16 * MIB);
        let others = (1..6).map(|number| layout.position(Inode(2), number * EXTENT_BYTES));
        let others: Vec<u64> = others.collect();
        assert!(others.iter().all(|other| *other + EXTENT_BYTES <= 64 * MIB));
        assert_eq!(layout.position(Inode(3), 0), first);
        let commits = (0..16 * MIB / BLOCK_BYTES).map(|_| layout.journal_write());
        let commits: Vec<_> = commits.collect();
        assert_eq!(commits[1], write(BLOCK_BYTES, BLOCK_BYTES));
        assert_eq!(layout.journal_write(), commits[0]);
    }

    #[test]
    fn a_file_that_is_gone_has_no_place() {
        let mut layout = DeviceLayout::new(DEVICE_BYTES);
        let first = layout.position(Inode(2), 0);
        layout.forget(Inode(2));
        assert_ne!(layout.position(Inode(2), 0), first);
    }
}
