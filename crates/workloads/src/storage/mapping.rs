//! A file mapped into memory, written with plain stores and flushed with `msync`.

use nix::libc;
use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::ptr::NonNull;

/// The first bytes of a file, mapped and shared with every other mapping of it.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<libc::c_void>,
    length: NonZeroUsize,
    /// `msync` takes addresses at page boundaries only.
    page_bytes: usize,
}

impl Mapping {
    /// Maps the first `bytes` of a file, which is that long.
    pub(super) fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(ErrorKind::InvalidInput)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the address is the kernel's choice, so nothing of ours is mapped over.
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0) }?;
        // SAFETY: the call takes a number and has no other effect.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Ok(Self {
            start,
            length,
            page_bytes: usize::try_from(page_bytes).map_err(|_| ErrorKind::Unsupported)?,
        })
    }

    /// Stores bytes at an offset.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] beyond the mapping's end.
    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = self.checked_offset(offset, bytes.len())?;
        // SAFETY: `within` has shown that the bytes are in the mapping, which lives as long as
        // `self`; `bytes` is no part of it, for nobody is given a reference into it.
        unsafe {
            let to = self.start.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(())
    }

    /// Flushes the pages that hold these bytes, and waits.
    pub(super) fn flush(&self, offset: u64, bytes: usize) -> io::Result<()> {
        let offset = self.checked_offset(offset, bytes)?;
        let page = offset - offset % self.page_bytes;
        // SAFETY: the range begins at a page of the mapping and ends within it, as `within` has
        // shown.
        unsafe {
            let from = self.start.byte_add(page);
            msync(from, offset + bytes - page, MsFlags::MS_SYNC)?;
        }
        Ok(())
    }

    fn checked_offset(&self, offset: u64, bytes: usize) -> io::Result<usize> {
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::InvalidInput)?;
        let end = offset.checked_add(bytes);
        if end.is_some_and(|end| end <= self.length.get()) {
            Ok(offset)
        } else {
            Err(ErrorKind::InvalidInput.into())
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `mmap` returned, and nobody else has its address.
        let unmapped = unsafe { munmap(self.start, self.length.get()) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file_and_beyond_the_end_nothing_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10_000).unwrap();
        let mut mapping = Mapping::new(&file, 10_000).unwrap();
        mapping.store(5_000, b"stored").unwrap();
        mapping.flush(5_000, 6).unwrap();
        let mut found = [0; 6];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 5_000).unwrap();
        assert_eq!(&found, b"stored");
        assert!(mapping.store(9_995, b"stored").is_err());
        assert!(mapping.flush(9_995, 6).is_err());
        assert!(Mapping::new(&file, 0).is_err());
    }
}
