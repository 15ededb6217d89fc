//! The layer that records: it logs what changed the folder, and each flush.

use crate::flush_watch::{Thread, kind_of};
use crate::inodes::InodeTable;
use crate::layer::{Answer, Layer, OpenFile, WriteOrigin};
use crate::log::LogWriter;
use crate::operation::{ByteRange, Entry, Inode, InodeKind, Operation};
use rustix::fs::OFlags;
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a file that are logged at once when its initial content is recorded.
const CHUNK: usize = 1 << 20;

/// The log, shared with the server's main thread, which finishes it.
#[derive(Clone)]
pub(crate) struct SharedLog(Arc<Mutex<LogWriter>>);

impl SharedLog {
    /// Creates the log in a folder.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(LogWriter::create(folder)?))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, LogWriter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layer that records.
pub(crate) struct Recorder {
    log: SharedLog,
    /// The thread of this server that writes back: nobody asked for its flushes.
    own_thread: Thread,
}

impl Recorder {
    /// Creates the layer and logs what the folder holds already. Flushes of `own_thread` are left
    /// out.
    pub(crate) fn new(
        log: SharedLog,
        own_thread: Thread,
        inodes: &mut InodeTable,
    ) -> io::Result<Self> {
        let recorder = Self { log, own_thread };
        let root = Inode::ROOT;
        recorder.append(Operation::SetAccess {
            inode: root,
            access: inodes.access(root)?,
        })?;
        recorder.log_tree(inodes, root, &mut HashSet::new())?;
        recorder.log.lock().mark_base();
        Ok(recorder)
    }

    fn append(&self, operation: Operation) -> io::Result<()> {
        self.log.lock().append(operation)
    }

    /// Logs everything below a directory as if it were created now.
    fn log_tree(
        &self,
        inodes: &mut InodeTable,
        directory: Inode,
        created: &mut HashSet<u64>,
    ) -> io::Result<()> {
        for entry in inodes.read_directory(directory)? {
            let inode = Inode(entry.inode);
            let entry = Entry::new(directory, &entry.name)?;
            if !created.insert(inode.0) {
                self.append(Operation::Link { inode, entry })?;
                continue;
            }
            let kind = inodes.kind(inode)?;
            self.append(Operation::Create {
                inode,
                entry,
                kind: kind.clone(),
                access: inodes.access(inode)?,
            })?;
            match kind {
                InodeKind::Directory => self.log_tree(inodes, inode, created)?,
                InodeKind::File => self.log_content(inodes, inode)?,
                InodeKind::Symlink(_) | InodeKind::Special => {}
            }
        }
        Ok(())
    }

    fn log_content(&self, inodes: &InodeTable, inode: Inode) -> io::Result<()> {
        let file = inodes.open(inode, OFlags::RDONLY)?;
        let size = file.metadata()?.len();
        let mut chunk = vec![0; CHUNK];
        let mut offset = 0;
        while offset < size {
            let read = file.read_at(&mut chunk, offset)?;
            let data = &chunk[..read];
            if data.is_empty() {
                break;
            }
            if data.iter().any(|byte| *byte != 0) {
                self.log_write(inode, offset, data, false)?;
            }
            offset += read as u64;
        }
        self.append(Operation::Truncate { inode, size })
    }

    fn log_write(&self, inode: Inode, offset: u64, data: &[u8], is_cached: bool) -> io::Result<()> {
        let mut log = self.log.lock();
        let data_at = log.append_data(data)?;
        log.append(Operation::Write {
            inode,
            offset,
            data_at,
            length: data.len() as u64,
            cached: is_cached,
        })
    }

    fn write_and_log(
        &self,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        origin: WriteOrigin,
    ) -> io::Result<u32> {
        // A full disk may take a part.
        let written = file.below.write_at(data, offset)?;
        let is_cached = origin == WriteOrigin::Cache;
        self.log_write(file.inode, offset, &data[..written], is_cached)?;
        if let WriteOrigin::FlushingCall(thread) = origin {
            let range = ByteRange {
                start: offset,
                end: offset + written as u64,
            };
            let mut log = self.log.lock();
            let began = log.length();
            log.flushes.mark(thread, file.handle, range, began);
        }
        Ok(u32::try_from(written).unwrap_or(u32::MAX))
    }
}

impl Layer for Recorder {
    fn changed(&mut self, _inodes: &InodeTable, change: Operation) -> io::Result<()> {
        self.append(change)
    }

    fn write(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        origin: WriteOrigin,
    ) -> Answer<u32> {
        Answer::now(self.write_and_log(file, offset, data, origin))
    }

    /// Logs a flush. The folder below is not flushed: lost power is simulated from the log.
    fn flush(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        thread: Thread,
        data_only: bool,
    ) -> Answer<()> {
        if thread == self.own_thread {
            return Answer::now(Ok(()));
        }
        let mut log = self.log.lock();
        let length = log.length();
        let (by, flushed) = ((thread, file.handle), (file.inode, data_only));
        let flush = log.flushes.flush(by, flushed, length, || kind_of(thread));
        Answer::now(log.append(flush))
    }

    fn flush_directory(
        &mut self,
        _inodes: &InodeTable,
        directory: Inode,
        thread: Thread,
    ) -> Answer<()> {
        let mut log = self.log.lock();
        let length = log.length();
        let began = log.flushes.flush_directory(thread, length);
        Answer::now(log.append(Operation::FlushDirectory {
            inode: directory,
            began: Some(began),
        }))
    }
}
