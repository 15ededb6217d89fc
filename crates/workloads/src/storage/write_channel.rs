//! The ways to bring bytes to storage: each a write and the call that makes it durable.

use super::io_ring::Ring;
use super::mapping::Mapping;
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use trueput_engine::choices;
use trueput_record::Durability;

choices! {
    /// The way to make a write durable.
    pub(super) enum FlushMethod {
        /// `write`, then `fsync`: data and every attribute.
        Fsync = "fsync",
        /// `write`, then `fdatasync`: the data, and the metadata needed to find it.
        Fdatasync = "fdatasync",
        /// `write` to a file opened with `O_DSYNC`: as if `fdatasync` followed.
        Dsync = "dsync",
        /// The same past the page cache, with `O_DIRECT`.
        DirectDsync = "direct-dsync",
        /// `write`, then `sync_file_range`: neither the file's length nor the device's cache is
        /// flushed.
        SyncFileRange = "sync-file-range",
        /// A store to a mapping, then `msync`.
        Msync = "msync",
        /// A write and an `fsync` linked to it, handed to the kernel at once by io_uring.
        IoUring = "io-uring",
        /// `write` and nothing more.
        None = "none",
    }
}

impl FlushMethod {
    /// The durability that a commit promises.
    pub(super) fn durability(self) -> Durability {
        match self {
            Self::SyncFileRange | Self::None => Durability::None,
            _ => Durability::Sync,
        }
    }

    fn open_flags(self) -> i32 {
        match self {
            Self::Dsync => libc::O_DSYNC,
            Self::DirectDsync => libc::O_DSYNC | libc::O_DIRECT,
            _ => 0,
        }
    }
}

/// One worker's way to a file.
pub(super) struct WriteChannel {
    flush: FlushMethod,
    file: File,
    mapping: Option<Mapping>,
    ring: Option<Ring>,
}

impl WriteChannel {
    /// Opens a file that has been laid out. `bytes` is the length that a mapping covers.
    pub(super) fn open(path: &Path, flush: FlushMethod, bytes: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.custom_flags(flush.open_flags()).open(path)?;
        let mapping = match flush {
            FlushMethod::Msync => Some(Mapping::new(&file, bytes)?),
            _ => None,
        };
        let ring = match flush {
            FlushMethod::IoUring => Some(Ring::new()?),
            _ => None,
        };
        Ok(Self {
            flush,
            file,
            mapping,
            ring,
        })
    }

    /// Writes each part at its offset, and returns when all of it is durable, as far as the method
    /// goes. A part may be empty.
    pub(super) fn commit(&mut self, parts: [(u64, &[u8]); 2]) -> io::Result<()> {
        let filled = || parts.iter().filter(|(_, bytes)| !bytes.is_empty());
        if let Some(ring) = &mut self.ring {
            return ring.commit(&self.file, parts);
        }
        if let Some(mapping) = &mut self.mapping {
            filled().try_for_each(|(offset, bytes)| mapping.store(*offset, bytes))?;
            return filled().try_for_each(|(offset, bytes)| mapping.flush(*offset, bytes.len()));
        }
        for (offset, bytes) in filled() {
            self.file.write_all_at(bytes, *offset)?;
        }
        match self.flush {
            FlushMethod::Fsync => self.file.sync_all(),
            FlushMethod::Fdatasync => self.file.sync_data(),
            FlushMethod::SyncFileRange => {
                filled().try_for_each(|(offset, bytes)| self.sync_range(*offset, bytes.len()))
            }
            _ => Ok(()),
        }
    }

    /// Has the pages of a range written, and waits for that.
    fn sync_range(&self, offset: u64, bytes: usize) -> io::Result<()> {
        let beyond = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let (offset, bytes) = (
            i64::try_from(offset).map_err(beyond)?,
            i64::try_from(bytes).map_err(beyond)?,
        );
        let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        // SAFETY: the call takes numbers only, and the descriptor is open while `self` lives.
        match unsafe { libc::sync_file_range(self.file.as_raw_fd(), offset, bytes, how) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_writes_every_part_where_it_belongs() {
        let folder = tempfile::tempdir().unwrap();
        for flush in FlushMethod::ALL {
            let name = flush.word();
            let path = folder.path().join(name);
            std::fs::write(&path, [0; 16_384]).unwrap();
            let mut channel = match WriteChannel::open(&path, flush, 16_384) {
                // Some file systems in memory have no direct writes.
                Err(_) if flush == FlushMethod::DirectDsync => continue,
                channel => channel.unwrap(),
            };
            let mut bytes = trueput_host::page_buffer::PageBuffer::zeroed(8_192);
            bytes.bytes_mut()[..4_096].fill(1);
            bytes.bytes_mut()[4_096..].fill(2);
            let (one, two) = bytes.bytes().split_at(4_096);
            channel.commit([(8_192, one), (0, two)]).unwrap();
            channel.commit([(12_288, two), (0, &[])]).unwrap();
            let found = std::fs::read(&path).unwrap();
            let firsts: Vec<u8> = found.chunks(4_096).map(|block| block[0]).collect();
            assert_eq!(firsts, [2, 0, 1, 2], "{name}");
        }
    }
}
