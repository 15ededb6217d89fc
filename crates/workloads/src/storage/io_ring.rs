//! Writes linked to a flush in one call to the kernel, by io_uring.

use io_uring::squeue::Flags;
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

/// Two writes and a flush.
const ENTRIES: u32 = 4;

/// The mark of the flush; writes have theirs by their order.
const FLUSH: u64 = u64::MAX;

/// A submission and a completion queue, shared with the kernel.
pub(super) struct Ring(IoUring);

impl Ring {
    /// Sets the queues up.
    ///
    /// # Errors
    /// Errors of the operating system: some systems forbid io_uring.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(IoUring::new(ENTRIES)?))
    }

    /// Writes each part at its offset and then flushes the file, each linked to the one before, and
    /// waits for all of them.
    ///
    /// # Errors
    /// The kernel's error for the first failed operation; [`ErrorKind::WriteZero`] for a short
    /// write, after which the kernel drops the flush.
    pub(super) fn commit(&mut self, file: &File, parts: [(u64, &[u8]); 2]) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let parts = || parts.iter().filter(|(_, bytes)| !bytes.is_empty());
        let mut entries = 0;
        for (mark, (offset, bytes)) in (0..).zip(parts()) {
            let length = u32::try_from(bytes.len()).map_err(|_| ErrorKind::InvalidInput)?;
            let write = opcode::Write::new(fd, bytes.as_ptr(), length).offset(*offset);
            let write = write.build().flags(Flags::IO_LINK).user_data(mark);
            self.push(&write)?;
            entries += 1;
        }
        self.push(&opcode::Fsync::new(fd).build().user_data(FLUSH))?;
        entries += 1;
        // Every entry completes, the failed ones and those linked to them too, so that the kernel
        // has let go of the bytes when this returns.
        let mut seen = 0;
        let mut result = Ok(());
        while seen < entries {
            match self.0.submit_and_wait(entries - seen) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                submitted => submitted?,
            };
            for completion in self.0.completion() {
                seen += 1;
                let length = match completion.user_data() {
                    FLUSH => 0,
                    mark => parts().nth(mark as usize).map_or(0, |part| part.1.len()),
                };
                result = first_failure(result, completion.result(), length);
            }
        }
        result
    }

    fn push(&mut self, entry: &io_uring::squeue::Entry) -> io::Result<()> {
        // SAFETY: the file and the bytes that an entry names outlive `commit`, which waits until
        // every entry has completed.
        let pushed = unsafe { self.0.submission().push(entry) };
        pushed.map_err(|_| ErrorKind::OutOfMemory.into())
    }
}

/// Keeps the original error: operations linked to a failed one are only canceled.
fn first_failure(so_far: io::Result<()>, result: i32, length: usize) -> io::Result<()> {
    let cancelled = |error: &io::Error| error.raw_os_error() == Some(nix::libc::ECANCELED);
    let this = match result {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        written if written as usize != length => Err(ErrorKind::WriteZero.into()),
        _ => Ok(()),
    };
    match (so_far, this) {
        (Ok(()), this) => this,
        (Err(error), Err(other)) if cancelled(&error) => Err(other),
        (Err(error), _) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn both_parts_are_written_and_a_failure_names_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring");
        let file = File::create_new(&path).unwrap();
        let mut ring = Ring::new().unwrap();
        let long = vec![7; 100_000];
        for _ in 0..100 {
            ring.commit(&file, [(200_000, b"end"), (0, &long)]).unwrap();
        }
        ring.commit(&file, [(5, b"one"), (0, b"")]).unwrap();
        let read_only = File::open(&path).unwrap();
        let (mut found, mut start) = ([0; 3], [0; 9]);
        read_only.read_exact_at(&mut found, 200_000).unwrap();
        read_only.read_exact_at(&mut start, 0).unwrap();
        assert_eq!((&found, &start), (b"end", b"\x07\x07\x07\x07\x07one\x07"));
        let refused = ring.commit(&read_only, [(0, b"x"), (0, b"")]).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::libc::EBADF));
        ring.commit(&file, [(0, b"x"), (0, b"")]).unwrap();
    }
}
