//! Checks a log that was read back: whoever wrote it, applying its operations stays within the
//! folder in which they are applied, and within the memory that its size suggests.

use crate::operation::{Access, Entry, FlushExtent, Inode, InodeKind, Operation};
use std::collections::HashSet;
use std::path::{Component, Path};

/// Bytes of a name at most, as in Linux.
const MAX_NAME_BYTES: usize = 255;

/// The largest file of Linux, bytes.
const MAX_FILE_BYTES: u64 = i64::MAX as u64;

/// The unit in which data are kept in memory, bytes.
const PAGE_BYTES: u64 = 4096;

/// Operations after which pages that are written again are kept a second time.
const INTERVAL: usize = 256;

/// The memory for the pages of a log may have so many times the bytes that one of its files may.
const MEMORY_FACTOR: u64 = 2;

/// What is wrong with a line of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LogDefect {
    #[error("{0}")]
    Syntax(String),
    #[error("a flush that began after {began} operations is operation {operation}")]
    EarlyFlush { began: usize, operation: usize },
    #[error("a symbolic link to '{0}' could lead out of the folder")]
    Link(String),
    #[error("it writes {length} bytes from {at} of a data file of {data_bytes} bytes")]
    MissingData {
        length: u64,
        at: u64,
        data_bytes: u64,
    },
    #[error("the writes so far take more than {max_mib} MiB of memory")]
    Memory { max_mib: u64 },
    #[error("'{0}' is not the name of a file")]
    Name(String),
    #[error("{0} is not the number of a user or group")]
    Owner(u32),
    #[error("no file has {length} bytes at {offset}")]
    Range { length: u64, offset: u64 },
    #[error("a flush ends at {end} and starts at {start}")]
    Extent { end: u64, start: u64 },
}

/// Checks the operations of a log, one after the other.
pub(crate) struct LogCheck {
    data_bytes: u64,
    /// The bytes that the writes so far have taken from the data file.
    taken_bytes: u64,
    max_pages: u64,
    pages: u64,
    /// The pages that were written in this interval.
    recent: HashSet<(Inode, u64)>,
    operations: usize,
    /// Whether links must stay below their folder.
    is_foreign: bool,
}

impl LogCheck {
    /// Creates the check for a log whose data file has `data_bytes`. With a limit on the bytes of
    /// each of its files, it comes from elsewhere.
    pub(crate) fn new(data_bytes: u64, max_bytes: Option<u64>) -> Self {
        let most = max_bytes.map(|bytes| (bytes / PAGE_BYTES).saturating_mul(MEMORY_FACTOR));
        Self {
            data_bytes,
            taken_bytes: 0,
            max_pages: most.unwrap_or(u64::MAX),
            pages: 0,
            recent: HashSet::new(),
            operations: 0,
            is_foreign: max_bytes.is_some(),
        }
    }

    /// Checks the next operation.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn add(&mut self, operation: &Operation) -> Result<(), LogDefect> {
        self.operations += 1;
        if self.operations.is_multiple_of(INTERVAL) {
            self.recent.clear();
        }
        match operation {
            Operation::Create {
                entry,
                kind,
                access,
                ..
            } => {
                check_name(entry)?;
                check_access(*access)?;
                self.check_kind(kind)
            }
            Operation::SetAccess { access, .. } => check_access(*access),
            Operation::Write {
                inode,
                offset,
                data_at,
                length,
                ..
            } => {
                check_range(*offset, *length)?;
                self.check_data(*data_at, *length)?;
                self.count_pages(*inode, *offset, *length)
            }
            Operation::Truncate { size, .. } => check_range(*size, 0),
            Operation::Allocate { offset, length, .. } => check_range(*offset, *length),
            Operation::Link { entry, .. }
            | Operation::Unlink { entry, .. }
            | Operation::RemoveDirectory { entry, .. } => check_name(entry),
            Operation::Rename { from, to, .. } => check_name(from).and_then(|()| check_name(to)),
            Operation::Flush { began, extent, .. } => {
                self.check_began(*began)?;
                check_extent(extent)
            }
            Operation::FlushAll { began } => self.check_began(Some(*began)),
            Operation::FlushDirectory { began, .. } => self.check_began(*began),
        }
    }

    /// A flush covers what was logged before it.
    fn check_began(&self, began: Option<usize>) -> Result<(), LogDefect> {
        let Some(began) = began.filter(|began| *began >= self.operations) else {
            return Ok(());
        };
        Err(LogDefect::EarlyFlush {
            began,
            operation: self.operations,
        })
    }

    fn check_kind(&self, kind: &InodeKind) -> Result<(), LogDefect> {
        match kind {
            InodeKind::Symlink(target) if self.is_foreign && !stays_below(target) => {
                Err(LogDefect::Link(target.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_data(&mut self, at: u64, length: u64) -> Result<(), LogDefect> {
        let end = at.checked_add(length);
        // Each write has data of its own, or a short file could fill the memory.
        self.taken_bytes = self.taken_bytes.saturating_add(length);
        let has_data = end.is_some_and(|end| end <= self.data_bytes);
        if has_data && self.taken_bytes <= self.data_bytes {
            Ok(())
        } else {
            Err(LogDefect::MissingData {
                length,
                at,
                data_bytes: self.data_bytes,
            })
        }
    }

    fn count_pages(&mut self, inode: Inode, offset: u64, length: u64) -> Result<(), LogDefect> {
        if length == 0 || !self.is_foreign {
            return Ok(());
        }
        for page in offset / PAGE_BYTES..=(offset + length - 1) / PAGE_BYTES {
            self.pages += u64::from(self.recent.insert((inode, page)));
        }
        if self.pages > self.max_pages {
            Err(LogDefect::Memory {
                max_mib: (self.max_pages * PAGE_BYTES) >> 20,
            })
        } else {
            Ok(())
        }
    }
}

fn check_name(Entry { name, .. }: &Entry) -> Result<(), LogDefect> {
    let is_name = (1..=MAX_NAME_BYTES).contains(&name.len())
        && !name.contains(['/', '\0'])
        && name != "."
        && name != "..";
    is_name
        .then_some(())
        .ok_or_else(|| LogDefect::Name(name.clone()))
}

fn check_access(access: Access) -> Result<(), LogDefect> {
    // This number means nobody to chown(2).
    if access.uid == u32::MAX || access.gid == u32::MAX {
        Err(LogDefect::Owner(u32::MAX))
    } else {
        Ok(())
    }
}

fn check_range(offset: u64, length: u64) -> Result<(), LogDefect> {
    let end = offset.checked_add(length);
    if end.is_some_and(|end| end <= MAX_FILE_BYTES) {
        Ok(())
    } else {
        Err(LogDefect::Range { length, offset })
    }
}

fn check_extent(extent: &FlushExtent) -> Result<(), LogDefect> {
    let FlushExtent::Ranges(ranges) = extent else {
        return Ok(());
    };
    ranges.iter().try_for_each(|range| {
        let length = range.end.checked_sub(range.start);
        length.map_or_else(
            || {
                Err(LogDefect::Extent {
                    end: range.end,
                    start: range.start,
                })
            },
            |length| check_range(range.start, length),
        )
    })
}

/// Whether a link leads below its own folder only. One that leads up and one to an absolute path
/// may leave the folder, also by way of other links.
fn stays_below(target: &str) -> bool {
    let mut parts = Path::new(target).components();
    !target.is_empty()
        && !target.contains('\0')
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            directory: Inode::ROOT,
            name: name.to_owned(),
        }
    }

    fn create(name: &str, kind: InodeKind) -> Operation {
        Operation::Create {
            inode: Inode(2),
            entry: entry(name),
            kind,
            access: Access {
                mode: 0o600,
                uid: 0,
                gid: 0,
            },
        }
    }

    fn write(offset: u64, data_at: u64, length: u64) -> Operation {
        Operation::Write {
            inode: Inode(2),
            offset,
            data_at,
            length,
            cached: false,
        }
    }

    fn check(operation: &Operation) -> Result<(), LogDefect> {
        LogCheck::new(100, Some(1 << 20)).add(operation)
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused_in_every_operation() {
        assert_eq!(check(&create("data.mdb", InodeKind::File)), Ok(()));
        for name in ["", ".", "..", "../x", "/etc/cron.d/x", "a/b", "a\0b"] {
            assert!(check(&create(name, InodeKind::File)).is_err(), "{name}");
            let renamed = Operation::Rename {
                inode: Inode(2),
                from: entry("a"),
                to: entry(name),
                replaced: None,
                exchanged: false,
            };
            let linked = Operation::Link {
                inode: Inode(2),
                entry: entry(name),
            };
            assert!(check(&renamed).is_err(), "{name}");
            assert!(check(&linked).is_err(), "{name}");
        }
    }

    #[test]
    fn a_link_of_a_foreign_log_leads_only_down() {
        for (target, is_fine) in [
            ("log/0001", true),
            ("./x", true),
            ("/etc/shadow", false),
            ("../x", false),
            ("a/../../x", false),
            ("", false),
        ] {
            let link = create("x", InodeKind::Symlink(target.to_owned()));
            assert_eq!(check(&link).is_ok(), is_fine, "{target}");
            assert_eq!(LogCheck::new(0, None).add(&link), Ok(()), "its own log");
        }
    }

    #[test]
    fn a_write_has_data_of_its_own_and_no_end_beyond_all_files() {
        for (offset, at, length, is_fine) in [
            (0, 0, 100, true),
            (0, 1, 100, false),
            (0, u64::MAX, 2, false),
            (u64::MAX, 0, 1, false),
            (1 << 63, 0, 1, false),
        ] {
            assert_eq!(
                check(&write(offset, at, length)).is_ok(),
                is_fine,
                "{offset} {at}"
            );
        }
        let mut log = LogCheck::new(100, None);
        assert_eq!(log.add(&write(0, 0, 60)), Ok(()));
        assert!(log.add(&write(0, 0, 60)).is_err(), "the same data twice");
        for size in [1 << 63, u64::MAX] {
            let inode = Inode(2);
            assert!(check(&Operation::Truncate { inode, size }).is_err());
        }
    }

    #[test]
    fn a_foreign_log_takes_no_more_memory_than_its_limit_suggests() {
        let writes = |most| {
            let mut log = LogCheck::new(1_000, most);
            (0..1_000).try_for_each(|page| log.add(&write(page << 12, page, 1)))
        };
        assert_eq!(writes(Some(4 << 20)), Ok(()));
        assert!(writes(Some(1 << 20)).is_err());
        assert_eq!(writes(None), Ok(()));
    }
}
