//! What a pass-through file system does besides passing through: it records, fails, or waits.

use crate::flush_watch::Thread;
use crate::inodes::InodeTable;
use crate::operation::{Inode, Operation};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where the data of a write come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOrigin {
    /// A call of write.
    Call,
    /// A call of this thread that writes and flushes.
    FlushingCall(Thread),
    /// A call of write past the kernel's cache, by direct I/O.
    DirectCall,
    /// A page of the kernel's cache, which is written back.
    Cache,
}

/// A file that a process has open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFile<'f> {
    pub(crate) inode: Inode,
    /// The number by which the kernel knows the opening.
    pub(crate) handle: u64,
    /// The file in the folder below.
    pub(crate) below: &'f File,
}

/// Sends the reply to a request.
pub(crate) type ReplySender = Box<dyn FnOnce() + Send>;

/// What a reply waits for after its request is done.
pub(crate) enum Stall {
    /// The return of a function.
    Wait {
        /// The function.
        wait: Box<dyn FnOnce() + Send>,
        /// Whether all other requests wait, too.
        holds_all: bool,
    },
    /// Whoever gets the reply, and sends it when it is due.
    HandOver(Box<dyn FnOnce(ReplySender) + Send>),
}

/// The result of a request, and when it is told.
pub(crate) struct Answer<T> {
    pub(crate) result: io::Result<T>,
    pub(crate) stall: Option<Stall>,
}

impl<T: Send + 'static> Answer<T> {
    /// The answer that is told at once.
    pub(crate) fn now(result: io::Result<T>) -> Self {
        Self {
            result,
            stall: None,
        }
    }

    /// Passes the result to `reply`, now or after the stall. Call it without a lock.
    pub(crate) fn deliver(self, reply: impl FnOnce(io::Result<T>) + Send + 'static) {
        let Self { result, stall } = self;
        match stall {
            None => reply(result),
            Some(Stall::HandOver(hand_over)) => hand_over(Box::new(move || reply(result))),
            // This is the only thread that serves.
            Some(Stall::Wait {
                wait,
                holds_all: true,
            }) => {
                wait();
                reply(result);
            }
            Some(Stall::Wait { wait, .. }) => {
                let later = move || {
                    wait();
                    reply(result);
                };
                // Without a thread the reply is dropped, which answers EIO.
                let _ = std::thread::Builder::new().spawn(later);
            }
        }
    }
}

/// What happens at the requests of a pass-through file system. Requests that change or read content
/// are done by the layer; it hears of the others before or after them.
pub(crate) trait Layer: Send + 'static {
    /// The requests that the kernel makes at once ahead of readers, and by direct I/O; `None`: the
    /// usual number, and by direct I/O one after the other for each client.
    const MAX_BACKGROUND: Option<u16> = None;

    /// Returns how a file below is opened for a process that asks for this access.
    fn access(asked: OFlags) -> OFlags {
        asked
    }

    /// Called before a name is created in a directory. An error refuses it.
    fn before_creation(&mut self, _inodes: &InodeTable, _directory: Inode) -> io::Result<()> {
        Ok(())
    }

    /// Called before a part of a file is allocated: `(position, bytes)`. An error refuses it.
    fn before_allocation(
        &mut self,
        _inodes: &InodeTable,
        _file: OpenFile<'_>,
        _range: (u64, u64),
    ) -> io::Result<()> {
        Ok(())
    }

    /// Returns how many bytes are free at most; `None`: as many as below.
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// Called after a change of anything but content.
    fn changed(&mut self, inodes: &InodeTable, change: Operation) -> io::Result<()>;

    /// Reads a part of a file, less at its end.
    fn read(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        size: u32,
    ) -> Answer<Vec<u8>> {
        Answer::now(read_up_to(file.below, offset, size))
    }

    /// Writes, and returns how many bytes were written.
    fn write(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        origin: WriteOrigin,
    ) -> Answer<u32>;

    /// Flushes a file for a thread: its data, and unless `data_only` the rest, too.
    fn flush(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        thread: Thread,
        data_only: bool,
    ) -> Answer<()>;

    /// Flushes a directory for a thread.
    fn flush_directory(
        &mut self,
        inodes: &InodeTable,
        directory: Inode,
        thread: Thread,
    ) -> Answer<()>;
}

/// Reads a part of a file, less at its end.
pub(crate) fn read_up_to(file: &File, offset: u64, size: u32) -> io::Result<Vec<u8>> {
    let mut data = vec![0; size as usize];
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    data.truncate(filled);
    Ok(data)
}
