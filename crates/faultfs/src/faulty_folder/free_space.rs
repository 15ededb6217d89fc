//! The space of a device of limited size: what the files of a folder hold.

use crate::operation::ByteRange;
use rustix::fs::SeekFrom;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a block in the status of a file.
const BLOCK_BYTES: u64 = 512;

/// Bytes of a block of the device. A file's last one is whole.
const DEVICE_BLOCK_BYTES: u64 = 4096;

/// What the files of a folder hold, as far as somebody asks.
#[derive(Debug)]
pub(super) struct FreeSpace {
    folder: PathBuf,
    /// The smallest number of bytes at which a device is full; `None`: it never is.
    limit: Option<u64>,
    /// The bytes that the files hold, or more: what grew is added, what was removed is not known
    /// before they are counted again. `None`: they are to be counted.
    held: Option<u64>,
}

impl FreeSpace {
    pub(super) fn new(folder: &Path, limit: Option<u64>) -> Self {
        Self {
            folder: folder.to_owned(),
            limit,
            held: None,
        }
    }

    /// Forgets what is known: the files grow unseen.
    pub(super) fn forget(&mut self) {
        self.held = None;
    }

    /// Returns how many bytes the files hold after a write to a part of a file; `None` if none is
    /// added, or no limit matters.
    pub(super) fn held_after_write(
        &mut self,
        file: &File,
        range: ByteRange,
    ) -> io::Result<Option<u64>> {
        if self.limit.is_none() || is_allocated(file, range)? {
            return Ok(None);
        }
        self.held_after(range.end - range.start)
    }

    /// Returns how many bytes the files can grow by; `None` if no limit matters.
    pub(super) fn left(&self) -> io::Result<Option<u64>> {
        let left = |limit: u64| Ok(limit.saturating_sub(held_bytes(&self.folder)?));
        self.limit.map(left).transpose()
    }

    /// Returns how many bytes the files hold with so many more; `None` if no limit matters.
    pub(super) fn held_after(&mut self, growth: u64) -> io::Result<Option<u64>> {
        let Some(limit) = self.limit else {
            return Ok(None);
        };
        let known = self.held.map(|held| held.saturating_add(growth));
        let held = match known.filter(|held| *held <= limit) {
            Some(held) => held,
            None => held_bytes(&self.folder)?.saturating_add(growth),
        };
        self.held = Some(held);
        Ok(Some(held))
    }
}

/// Returns whether all blocks of a part of a file are there. A block that is allocated and was not
/// written yet may count as missing in a file with holes.
fn is_allocated(file: &File, range: ByteRange) -> io::Result<bool> {
    let status = file.metadata()?;
    if range.end > status.len() {
        return Ok(false);
    }
    let has_holes = status.blocks() * BLOCK_BYTES < status.len();
    Ok(!has_holes || rustix::fs::seek(file, SeekFrom::Hole(range.start))? >= range.end)
}

/// Returns how many bytes the files of a folder and of those below it hold.
fn held_bytes(folder: &Path) -> io::Result<u64> {
    let mut folders = vec![folder.to_owned()];
    let mut held = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let status = entry.metadata()?;
            if status.is_dir() {
                folders.push(entry.path());
            } else if status.is_file() {
                held += file_bytes(&status);
            }
        }
    }
    Ok(held)
}

/// Returns how many bytes a file holds: without its holes, and without what a file system has
/// allocated ahead of its end.
fn file_bytes(status: &Metadata) -> u64 {
    let size = status.len().next_multiple_of(DEVICE_BLOCK_BYTES);
    size.min(status.blocks() * BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start, end }
    }

    #[test]
    fn what_grows_is_counted_and_what_is_removed_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        let path = folder.path().join("below/a");
        let file = File::create(&path).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        let mut space = FreeSpace::new(folder.path(), Some(2 * MIB));
        let after = |space: &mut FreeSpace, range| space.held_after_write(&file, range).unwrap();
        assert_eq!(after(&mut space, range(0, MIB)), None);
        assert_eq!(after(&mut space, range(MIB, 2 * MIB)), Some(2 * MIB));
        // The first one was announced and not done: it is not there when files are counted again.
        assert_eq!(after(&mut space, range(MIB, 2 * MIB)), Some(2 * MIB));
        assert_eq!(space.left().unwrap(), Some(MIB));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(space.held_after(3 * MIB).unwrap(), Some(3 * MIB));
    }

    #[test]
    fn a_hole_holds_nothing_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("a")).unwrap();
        file.set_len(64 * MIB).unwrap();
        let mut space = FreeSpace::new(folder.path(), Some(MIB));
        let inside = range(8 * MIB, 8 * MIB + 4096);
        assert_eq!(space.held_after_write(&file, inside).unwrap(), Some(4096));
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let mut space = FreeSpace::new(Path::new("/nowhere"), None);
        assert_eq!(space.held_after(1).unwrap(), None);
    }
}
