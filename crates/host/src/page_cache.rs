//! The page cache of a database's files: dropping pages, counting those that stay, and writing them
//! back.

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::libc;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use trueput_record::accounting::ColdStart;

/// The number of attempts to drop a file's pages. Pages that the kernel has not yet put on its LRU
/// lists survive the first.
const ATTEMPTS: u32 = 3;

/// The part of a file that is mapped at once, bytes.
const WINDOW_BYTES: u64 = 1 << 30;

/// Writes out the files of `directory` and drops them from the page cache. Files that a process has
/// open may keep pages. Those on file systems in memory have no other place, and are not counted.
///
/// # Errors
/// The error of the operating system, with the file's name.
pub fn drop_pages(directory: &Path) -> Result<ColdStart> {
    let mut sum = ColdStart::default();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        if is_in_memory(&folder)? {
            continue;
        }
        let entries = std::fs::read_dir(&folder).map_err(|error| named(&folder, &error))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path: PathBuf = entry.path();
                let dropped = drop_file(&path).map_err(|error| named(&path, &error))?;
                sum.pages += dropped.pages;
                sum.pages_left += dropped.pages_left;
            }
        }
    }
    Ok(sum)
}

/// Returns whether a folder is on a file system in memory (statfs(2), `linux/magic.h`).
fn is_in_memory(folder: &Path) -> Result<bool> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58F6;
    const HUGETLBFS: i64 = 0x9584_58F6;
    let status = rustix::fs::statfs(folder).map_err(|error| named(folder, &error.into()))?;
    let number = status.f_type & 0xFFFF_FFFF;
    Ok([TMPFS, RAMFS, HUGETLBFS].contains(&number))
}

/// Starts to write the dirty pages of every file below `directory` to its storage, without a flush
/// of the storage's cache (sync_file_range(2)). Files that are gone meanwhile are passed over.
pub fn start_write_back(directory: &Path) {
    let how = libc::SYNC_FILE_RANGE_WRITE;
    visit_files(directory, &|file| {
        // SAFETY: the call takes numbers only, and the descriptor is open.
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) };
    });
}

/// Drops the clean pages of every file below `directory`, without a flush. Pages that a process has
/// mapped stay, and files that are gone meanwhile are passed over.
pub fn drop_clean_pages(directory: &Path) {
    visit_files(directory, &|file| {
        // What stays is read from memory, which is no error.
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    });
}

/// Opens every file below a folder that can be opened.
fn visit_files(directory: &Path, visit: &dyn Fn(&File)) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => visit_files(&entry.path(), visit),
            Ok(kind) if kind.is_file() => {
                if let Ok(file) = File::open(entry.path()) {
                    visit(&file);
                }
            }
            _ => {}
        }
    }
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn drop_file(path: &Path) -> Result<ColdStart> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ColdStart::default()),
        file => file?,
    };
    // Only clean pages can be dropped.
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    let mut left = ColdStart::default();
    for _ in 0..ATTEMPTS {
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        left = resident(&file, bytes)?;
        if left.pages_left == 0 {
            break;
        }
    }
    Ok(left)
}

/// Counts the pages of a file and those that are in the page cache.
fn resident(file: &File, bytes: u64) -> Result<ColdStart> {
    let mut sum = ColdStart::default();
    let mut offset = 0;
    while offset < bytes {
        let length = WINDOW_BYTES.min(bytes - offset);
        let states = page_states(file, offset, length)?;
        sum.pages += states.len() as u64;
        // The lowest bit says that the page is resident; the others are undefined (mincore(2)).
        sum.pages_left += states.iter().filter(|&state| state & 1 == 1).count() as u64;
        offset += length;
    }
    Ok(sum)
}

/// Returns the state of each page of a part of a file, as reported by mincore(2). Mapping reads
/// nothing.
fn page_states(file: &File, offset: u64, length: u64) -> Result<Vec<u8>> {
    use nix::unistd::{SysconfVar, sysconf};
    let too_large = |_| Error::from(ErrorKind::FileTooLarge);
    let length = usize::try_from(length).map_err(too_large)?;
    let offset = libc::off_t::try_from(offset).map_err(too_large)?;
    let page = sysconf(SysconfVar::PAGE_SIZE)?.unwrap_or(4096);
    let page_bytes = usize::try_from(page).unwrap_or(4096);
    let mut states = vec![0; length.div_ceil(page_bytes)];
    // SAFETY: a new mapping, at an address that the kernel chooses, of an open file; it is never
    // read through.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset,
        )
    };
    if mapped == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    // SAFETY: the range is the mapping just made, and `states` has a byte for each page of it.
    let looked = unsafe { libc::mincore(mapped, length, states.as_mut_ptr()) };
    let failure = Error::last_os_error();
    // SAFETY: the range is the mapping created above, and nothing refers to it.
    unsafe { libc::munmap(mapped, length) };
    match looked {
        0 => Ok(states),
        _ => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;

    #[test]
    fn pages_that_are_the_files_themselves_are_neither_dropped_nor_counted() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: there is no /dev/shm");
            return;
        };
        if !is_in_memory(folder.path()).unwrap() {
            eprintln!("skipped: /dev/shm is not in memory");
            return;
        }
        std::fs::create_dir(folder.path().join("log")).unwrap();
        std::fs::write(folder.path().join("log/file"), vec![7; 1 << 20]).unwrap();
        let dropped = drop_pages(folder.path()).unwrap();
        assert_eq!(dropped, ColdStart::default());
        assert!(dropped.is_cold());
    }

    const BYTES: u64 = 8 << 20;

    fn database() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        let file = folder.path().join("below/data");
        std::fs::write(&file, vec![1; BYTES as usize]).unwrap();
        std::fs::write(folder.path().join("empty"), "").unwrap();
        folder
    }

    #[test]
    fn pages_that_were_just_written_are_there_until_they_are_dropped() {
        let folder = database();
        if Disk::below(folder.path()).is_none() {
            eprintln!("skipped: the temporary folder is on no block device");
            return;
        }
        let file = File::open(folder.path().join("below/data")).unwrap();
        let warm = resident(&file, BYTES).unwrap();
        assert_eq!(warm.pages, warm.pages_left);
        assert!(!warm.is_cold());
        drop(file);
        let cold = drop_pages(folder.path()).unwrap();
        assert_eq!(cold.pages, warm.pages);
        assert!(cold.is_cold(), "{cold:?}");
    }

    #[test]
    fn pages_in_use_stay_and_are_counted() {
        let folder = database();
        let file = File::open(folder.path().join("below/data")).unwrap();
        // SAFETY: a new mapping of an open file, locked into memory and removed below.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BYTES as usize,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(mapped, libc::MAP_FAILED);
        let held = drop_pages(folder.path()).unwrap();
        // SAFETY: the mapping just made.
        unsafe { libc::munmap(mapped, BYTES as usize) };
        assert!(!held.is_cold(), "{held:?}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = drop_pages(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
