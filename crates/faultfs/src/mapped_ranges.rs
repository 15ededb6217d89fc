//! The parts of files behind a range of a process's memory.

use crate::operation::{ByteRange, FlushExtent, Inode};

/// A device, as /proc/PID/maps names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// Returns the parts of the files on a device that a process has mapped, shared, at these
/// addresses, in the order of addresses. `maps` is the text of its /proc/PID/maps.
///
/// The kernel flushes no part of a file that was opened to be read only, and the text does not tell
/// it from one that can be written. Of a file with several parts, and such a one among them, it is
/// not known which flush is whose.
pub(crate) fn mapped_ranges(
    maps: &str,
    device: Device,
    (start, end): (u64, u64),
) -> Vec<(Inode, FlushExtent)> {
    let mappings = maps.lines().filter_map(Mapping::parse);
    let mappings: Vec<Mapping> = mappings
        .filter(|mapping| start.max(mapping.start) < end.min(mapping.end))
        .filter(|mapping| mapping.is_shared && mapping.device == device)
        .collect();
    let is_ambiguous = |inode: Inode| {
        let of_file = || mappings.iter().filter(|mapping| mapping.inode == inode);
        of_file().count() > 1 && !of_file().all(|mapping| mapping.is_writable)
    };
    let parts = mappings.iter().map(|mapping| {
        let extent = if is_ambiguous(mapping.inode) {
            FlushExtent::Unknown
        } else {
            FlushExtent::Ranges(vec![mapping.range_within(start, end)])
        };
        (mapping.inode, extent)
    });
    parts.collect()
}

struct Mapping {
    start: u64,
    end: u64,
    is_shared: bool,
    is_writable: bool,
    offset: u64,
    device: Device,
    inode: Inode,
}

impl Mapping {
    /// Reads a line such as `7f00-8f00 rw-s 00001000 00:34 17    /path` (proc_pid_maps(5)).
    fn parse(line: &str) -> Option<Self> {
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let offset = fields.next()?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let inode = fields.next()?;
        Some(Self {
            start: hexadecimal(start)?,
            end: hexadecimal(end)?,
            is_shared: permissions.ends_with('s'),
            is_writable: permissions.contains('w'),
            offset: hexadecimal(offset)?,
            device: Device {
                major: u32::try_from(hexadecimal(major)?).ok()?,
                minor: u32::try_from(hexadecimal(minor)?).ok()?,
            },
            inode: Inode(inode.parse().ok()?),
        })
    }

    /// Returns the part of the file at these addresses, of which some are the mapping's.
    fn range_within(&self, start: u64, end: u64) -> ByteRange {
        let (from, to) = (start.max(self.start), end.min(self.end));
        let offset = self.offset.saturating_add(from - self.start);
        ByteRange {
            start: offset,
            end: offset.saturating_add(to - from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_parts_of_files() {
        let maps = "\
1000-5000 rw-s 00002000 00:34 17                          /mnt/a b
5000-6000 rw-p 00000000 00:34 17                          /mnt/a b
6000-7000 rw-s 00000000 00:35 17                          /other
7000-8000 rw-s 00000000 00:34 18                          /mnt/c (deleted)
8000-9000 rw-p 00000000 00:00 0
";
        let device = Device {
            major: 0,
            minor: 0x34,
        };
        let found = mapped_ranges(maps, device, (0x2000, 0x7800));
        let range = |start, end| FlushExtent::Ranges(vec![ByteRange { start, end }]);
        let expected = [
            (Inode(17), range(0x3000, 0x6000)),
            (Inode(18), range(0, 0x800)),
        ];
        assert_eq!(found, expected);
        assert!(mapped_ranges(maps, device, (0x8000, 0x9000)).is_empty());
    }

    #[test]
    fn parts_of_a_file_that_may_be_read_only_are_not_told_apart() {
        let maps = "\
1000-2000 r--s 00000000 00:34 17                          /mnt/a
2000-3000 rw-s 00001000 00:34 17                          /mnt/a
3000-4000 r--s 00000000 00:34 18                          /mnt/b
4000-5000 rw-s 00000000 00:34 19                          /mnt/c
5000-6000 rw-s 00001000 00:34 19                          /mnt/c
";
        let device = Device {
            major: 0,
            minor: 0x34,
        };
        let found = mapped_ranges(maps, device, (0x1000, 0x6000));
        let unknown = |number| (Inode(number), FlushExtent::Unknown);
        assert_eq!(found[..2], [unknown(17), unknown(17)]);
        assert!(!found[2..].iter().any(|(_, it)| *it == FlushExtent::Unknown));
        // Of one part alone it is known.
        let found = mapped_ranges(maps, device, (0x2000, 0x3000));
        let part = ByteRange {
            start: 0x1000,
            end: 0x2000,
        };
        assert_eq!(found, [(Inode(17), FlushExtent::Ranges(vec![part]))]);
    }
}
