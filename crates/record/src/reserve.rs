//! Room in a run folder for what a run must still write when the disk is full: the record of the
//! trial that filled it.
//!
//! While a run works, its folder holds some files `reserve-N` with allocated blocks. A write that
//! finds the disk full removes them and is tried again. Several files also keep some inodes.

use crate::Error;
use crate::regular_file::{self, OpenMode};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The number of files: as many as a trial adds to a run folder, and the end of the run.
const FILES: u32 = 6;

/// The most bytes of a file: of the line of a trial of some hours.
const MAX_BYTES: u64 = 2 << 20;

/// The fewest bytes of a file: of the line of a trial that failed, with its neighbors.
const MIN_BYTES: u64 = 64 << 10;

/// The part of the free space that a file may take.
const FREE_DIVISOR: u64 = 64;

/// Allocates the reserve of a run folder where it is missing. What cannot be had is done without:
/// the disk may be full already.
pub(crate) fn fill(folder: &Path) {
    let free_bytes = free_bytes(folder).unwrap_or(u64::MAX);
    let bytes = (free_bytes / FREE_DIVISOR).clamp(MIN_BYTES, MAX_BYTES);
    for name in names() {
        if folder.join(&name).symlink_metadata().is_ok() {
            continue;
        }
        let made = regular_file::open(folder, &name, OpenMode::Overwrite)
            .and_then(|file| allocate(&file, bytes));
        if made.is_err() {
            let _ = std::fs::remove_file(folder.join(&name));
            return;
        }
    }
}

/// Removes the reserve of a run folder; returns whether there was any.
pub(crate) fn release(folder: &Path) -> bool {
    let removed = names().filter(|name| std::fs::remove_file(folder.join(name)).is_ok());
    removed.count() > 0
}

/// Writes, and once more with the reserve removed if the disk is full.
///
/// # Errors
/// Those of `write`.
pub(crate) fn write_with_reserve<T>(
    folder: &Path,
    write: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    match write() {
        Err(error) if error.is_disk_full() && release(folder) => write(),
        done => done,
    }
}

/// Returns whether an error means that there is no room: no block, no inode, or no quota.
#[must_use]
pub fn is_disk_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

fn names() -> impl Iterator<Item = PathBuf> {
    (1..=FILES).map(|number| PathBuf::from(format!("reserve-{number}")))
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let facts = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(facts.blocks_available() * facts.fragment_size())
}

/// Gives a file blocks of its own.
fn allocate(mut file: &File, bytes: u64) -> std::io::Result<()> {
    let length = i64::try_from(bytes).map_err(std::io::Error::other)?;
    let flags = nix::fcntl::FallocateFlags::empty();
    match nix::fcntl::fallocate(file, flags, 0, length) {
        Ok(()) => Ok(()),
        Err(nix::errno::Errno::EOPNOTSUPP) => {
            // Not zeros, which a file system may compress away.
            let mut state = bytes | 1;
            let words = std::iter::repeat_with(|| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            });
            let words = words.take(usize::try_from(bytes / 8).unwrap_or_default());
            let noise: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            file.write_all(&noise)?;
            file.sync_all()
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn full() -> Error {
        let source = std::io::Error::from(ErrorKind::StorageFull);
        Error::io("trials.jsonl", source)
    }

    #[test]
    fn a_write_that_finds_the_disk_full_gets_the_reserve_once() {
        let folder = tempfile::tempdir().unwrap();
        let reserved = || std::fs::read_dir(folder.path()).unwrap().count();
        fill(folder.path());
        assert_eq!(reserved(), FILES as usize);
        let tries = Cell::new(0);
        let written = write_with_reserve(folder.path(), || {
            tries.set(tries.get() + 1);
            (tries.get() > 1).then_some(()).ok_or_else(full)
        });
        assert!(written.is_ok());
        assert_eq!((tries.get(), reserved()), (2, 0));
        // Without a reserve there is nothing to try again for.
        let refused = write_with_reserve(folder.path(), || {
            tries.set(tries.get() + 1);
            Err::<(), _>(full())
        });
        assert!(refused.unwrap_err().is_disk_full());
        assert_eq!(tries.get(), 3);
    }

    #[test]
    fn another_error_leaves_the_reserve_alone() {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let denied = || Err::<(), _>(Error::io("x", ErrorKind::PermissionDenied.into()));
        assert!(
            !write_with_reserve(folder.path(), denied)
                .unwrap_err()
                .is_disk_full()
        );
        assert!(release(folder.path()));
    }

    #[test]
    fn the_reserve_has_blocks() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        for name in names() {
            let blocks = folder.path().join(name).metadata().unwrap().blocks();
            assert!(blocks * 512 >= MIN_BYTES);
        }
    }
}
