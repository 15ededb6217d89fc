//! The parts of files behind a range of a process's memory.

use crate::operation::{ByteRange, Inode};

/// A device, as /proc/PID/maps names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// Returns the parts of the files on a device that a process has mapped, shared, at these
/// addresses, in the order of addresses. `maps` is the text of its /proc/PID/maps.
pub(crate) fn mapped_ranges(
    maps: &str,
    device: Device,
    (start, end): (u64, u64),
) -> Vec<(Inode, ByteRange)> {
    let parts = maps.lines().filter_map(|line| {
        let mapping = Mapping::parse(line)?;
        let (from, to) = (start.max(mapping.start), end.min(mapping.end));
        (from < to && mapping.is_shared && mapping.device == device).then(|| {
            let offset = mapping.offset + (from - mapping.start);
            let range = ByteRange {
                start: offset,
                end: offset + (to - from),
            };
            (mapping.inode, range)
        })
    });
    parts.collect()
}

struct Mapping {
    start: u64,
    end: u64,
    is_shared: bool,
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
            offset: hexadecimal(offset)?,
            device: Device {
                major: u32::try_from(hexadecimal(major)?).ok()?,
                minor: u32::try_from(hexadecimal(minor)?).ok()?,
            },
            inode: Inode(inode.parse().ok()?),
        })
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
        let range = |start, end| ByteRange { start, end };
        let expected = [
            (Inode(17), range(0x3000, 0x6000)),
            (Inode(18), range(0, 0x800)),
        ];
        assert_eq!(found, expected);
        assert!(mapped_ranges(maps, device, (0x8000, 0x9000)).is_empty());
    }
}
