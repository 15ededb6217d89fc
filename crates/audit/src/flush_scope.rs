//! What a flush covers, as the models of storage take it.

use crate::image::PAGE_BYTES;
use trueput_faultfs::operation::{ByteRange, FlushExtent, Inode, Operation};

/// How a flush is read of which nobody knows the part that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It covers its whole file: what is damaged then is damaged whatever it covered.
    Generous,
    /// It covers nothing: what is whole then is whole whatever it covered.
    Strict,
}

/// What a flush covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    File(Inode),
    /// The pages in which these bytes of a file lie.
    Parts(Inode, &'a [ByteRange]),
    /// The names in a directory.
    Directory(Inode),
    Everything,
}

/// A flush. It covers what was logged before it began, and pages of the cache that were written
/// until its place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlushEffect<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) began: usize,
    pub(crate) data_only: bool,
}

impl<'a> FlushEffect<'a> {
    /// Returns what the operation at an index flushes; `None` if it is no flush or, in this
    /// reading, covers nothing. The flushes of a device concern all of it.
    pub(crate) fn of(
        operation: &'a Operation,
        index: usize,
        is_device: bool,
        reading: Reading,
    ) -> Option<Self> {
        let (scope, began, data_only) = match operation {
            Operation::Flush {
                inode,
                data_only,
                began,
                extent,
                ..
            } => {
                let scope = match extent {
                    _ if is_device => Scope::File(*inode),
                    FlushExtent::Whole => Scope::File(*inode),
                    FlushExtent::Ranges(parts) => Scope::Parts(*inode, parts),
                    FlushExtent::Unknown if reading == Reading::Strict => return None,
                    FlushExtent::Unknown => Scope::File(*inode),
                };
                (scope, *began, *data_only)
            }
            Operation::FlushDirectory { inode, began } => (Scope::Directory(*inode), *began, false),
            Operation::FlushAll { began } => (Scope::Everything, Some(*began), false),
            _ => return None,
        };
        Some(Self {
            scope,
            // Recordings of earlier versions do not say it. There, a flush begins where it ends.
            began: began.map_or(index, |began| began.min(index)),
            data_only,
        })
    }
}

/// Returns whether the part of a file that a flush covers is not known.
pub(crate) fn is_unknown(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Flush {
            extent: FlushExtent::Unknown,
            ..
        }
    )
}

/// Returns the inode that an operation concerns.
pub(crate) fn subject(operation: &Operation) -> Inode {
    match operation {
        Operation::Create { inode, .. }
        | Operation::Write { inode, .. }
        | Operation::Truncate { inode, .. }
        | Operation::Allocate { inode, .. }
        | Operation::Link { inode, .. }
        | Operation::Unlink { inode, .. }
        | Operation::RemoveDirectory { inode, .. }
        | Operation::Rename { inode, .. }
        | Operation::SetAccess { inode, .. }
        | Operation::Flush { inode, .. }
        | Operation::FlushDirectory { inode, .. } => *inode,
        Operation::FlushAll { .. } => Inode::ROOT,
    }
}

/// Returns the pages of a range, as the first and the one behind the last.
pub(crate) fn pages_in(range: ByteRange) -> std::ops::Range<u64> {
    range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES)
}

/// Returns the pages in which the bytes of a write lie.
pub(crate) fn pages_of(offset: u64, length: u64) -> Vec<u64> {
    match length {
        0 => Vec::new(),
        _ => (offset / PAGE_BYTES..=(offset + length - 1) / PAGE_BYTES).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_of_an_earlier_version_covers_what_came_before_it() {
        let lines = [
            (r#"{"operation":"flush","inode":2,"data_only":true}"#, 7),
            (r#"{"operation":"flush_directory","inode":1}"#, 7),
            (
                r#"{"operation":"flush","inode":2,"data_only":true,"began":3}"#,
                3,
            ),
        ];
        for (line, began) in lines {
            let operation: Operation = serde_json::from_str(line).unwrap();
            let effect = FlushEffect::of(&operation, 7, false, Reading::Generous);
            assert_eq!(effect.unwrap().began, began, "{line}");
        }
    }

    #[test]
    fn a_write_touches_the_pages_in_which_its_bytes_lie() {
        assert_eq!(pages_of(4000, 200), [0, 1]);
        assert_eq!(pages_of(4096, 4096), [1]);
        assert!(pages_of(4096, 0).is_empty());
        let range = ByteRange {
            start: 4095,
            end: 4097,
        };
        assert_eq!(pages_in(range), 0..2);
    }
}
