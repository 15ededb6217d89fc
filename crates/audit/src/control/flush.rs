//! Calls that flush a part of a file.

use io_uring::{IoUring, opcode, types};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use crate::image::PAGE_BYTES;

/// Flushes the pages in which some bytes of a file lie, through a mapping.
pub(super) fn mapped_pages(file: &File, part: Range<u64>) -> io::Result<()> {
    let start = part.start / PAGE_BYTES * PAGE_BYTES;
    let length = usize::try_from(part.end - start).map_err(io::Error::other)?;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    let nowhere = std::ptr::null_mut();
    // SAFETY: a new mapping at an address that the kernel chooses; nothing is read through it.
    let at = unsafe { mmap(nowhere, length, both, MapFlags::SHARED, file, start) }?;
    // SAFETY: the range is the mapping just made.
    let flushed = unsafe { msync(at, length, MsyncFlags::SYNC) };
    // SAFETY: nothing refers to the mapping.
    unsafe { munmap(at, length) }?;
    Ok(flushed?)
}

/// Flushes some bytes of a file by io_uring.
pub(super) fn by_ring(file: &File, part: Range<u64>) -> io::Result<()> {
    let mut ring = IoUring::new(2)?;
    let length = u32::try_from(part.end - part.start).map_err(io::Error::other)?;
    let flush = opcode::Fsync::new(types::Fd(file.as_raw_fd()));
    let flush = flush.flags(types::FsyncFlags::DATASYNC);
    let flush = flush.offset(part.start).len(length).build();
    // SAFETY: the file stays open until the flush has completed.
    unsafe { ring.submission().push(&flush) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    let result = ring.completion().next().map_or(-1, |entry| entry.result());
    match result {
        0 => Ok(()),
        failed => Err(io::Error::from_raw_os_error(-failed)),
    }
}
