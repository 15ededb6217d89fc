//! Words of memory that processes share through a file.

use crate::private_files;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

const WORD_BYTES: usize = size_of::<AtomicU64>();

/// A file of 64-bit words, mapped into memory. Every process that opens it sees every store at
/// once, also the stores of a process that was killed since.
#[derive(Debug)]
pub struct SharedCounters {
    address: NonNull<AtomicU64>,
    words: usize,
    /// The file that has no name, open for others.
    file: Option<File>,
}

// SAFETY: the memory is only reached as atomics, and stays mapped as long as the value lives.
unsafe impl Send for SharedCounters {}
// SAFETY: as above.
unsafe impl Sync for SharedCounters {}

impl SharedCounters {
    /// Creates a file of `words` words, all zero, which only its owner may read and write.
    ///
    /// # Errors
    /// The file system's own; also if the file exists.
    pub fn create(path: &Path, words: usize) -> io::Result<Self> {
        let file = private_files::create_file(path)?;
        file.set_len((words * WORD_BYTES) as u64)?;
        Self::map(&file, words)
    }

    /// Creates words without a name in any file system, and returns the path by which other
    /// processes of this user open them as long as the value lives.
    ///
    /// # Errors
    /// The system's own.
    pub fn create_unnamed(words: usize) -> io::Result<(Self, PathBuf)> {
        let file = File::from(memfd_create("trueput", MemfdFlags::CLOEXEC)?);
        file.set_len((words * WORD_BYTES) as u64)?;
        let mut counters = Self::map(&file, words)?;
        let (process, number) = (std::process::id(), file.as_raw_fd());
        counters.file = Some(file);
        let path = format!("/proc/{process}/fd/{number}");
        Ok((counters, path.into()))
    }

    /// Opens a file of at least `words` words.
    ///
    /// # Errors
    /// The file system's own; also if the file is shorter.
    pub fn open(path: &Path, words: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < (words * WORD_BYTES) as u64 {
            let reason = format!("{}: shorter than {words} words", path.display());
            return Err(io::Error::other(reason));
        }
        Self::map(&file, words)
    }

    fn map(file: &File, words: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file that is as long.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                words * WORD_BYTES,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        let address = NonNull::new(address.cast());
        let address = address.ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self {
            address,
            words,
            file: None,
        })
    }

    /// Returns a word.
    ///
    /// # Panics
    /// If there are not as many words.
    #[must_use]
    pub fn get(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: the index is within the mapping, which is aligned to a page.
        unsafe { self.address.add(index).as_ref() }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; no reference to it outlives the value.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.words * WORD_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_store_is_seen_through_another_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let written = SharedCounters::create(&path, 3).unwrap();
        written.get(2).store(7, Ordering::SeqCst);
        let read = SharedCounters::open(&path, 3).unwrap();
        assert_eq!(read.get(2).load(Ordering::SeqCst), 7);
        assert!(SharedCounters::open(&path, 4).is_err());
        assert!(SharedCounters::create(&path, 3).is_err());
    }

    #[test]
    fn words_without_a_name_are_seen_by_another_process() {
        let (written, path) = SharedCounters::create_unnamed(2).unwrap();
        written.get(1).store(9, Ordering::SeqCst);
        let read = SharedCounters::open(&path, 2).unwrap();
        assert_eq!(read.get(1).load(Ordering::SeqCst), 9);
        let copied = std::process::Command::new("cat").arg(&path).output();
        assert_eq!(copied.unwrap().stdout[8], 9);
        drop(written);
        assert!(SharedCounters::open(&path, 2).is_err());
    }
}
