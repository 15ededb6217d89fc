//! The effects of operations on the folder below, and their log.

use crate::flush_watch::{Thread, kind_of};
use crate::inodes::{InodeTable, access, file_type};
use crate::log::LogWriter;
use crate::operation::{ByteRange, Entry, Inode, InodeKind, Operation};
use fuser::{FileAttr, FileHandle, FileType, INodeNo, RenameFlags, Request, TimeOrNow};
use rustix::fs::{AtFlags, FallocateFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// Bytes of a file that are logged at once when its initial content is recorded.
const CHUNK: usize = 1 << 20;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

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

/// A file or directory that a process has open.
pub(crate) enum Handle {
    File(File),
    Directory(Vec<DirectoryEntry>),
}

pub(crate) struct DirectoryEntry {
    pub(crate) inode: u64,
    pub(crate) kind: FileType,
    pub(crate) name: std::ffi::OsString,
}

/// Where the data of a write come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOrigin {
    /// A call of write.
    Call,
    /// A call of this thread that writes and flushes.
    FlushingCall(Thread),
    /// A page of the kernel's cache, which is written back.
    Cache,
}

/// State that one request at a time uses, so that the log has the order of effect.
pub(crate) struct State {
    pub(crate) inodes: InodeTable,
    pub(crate) handles: HashMap<u64, Handle>,
    pub(crate) next_handle: u64,
    pub(crate) log: SharedLog,
}

impl State {
    /// Logs what the folder `backing` holds already.
    pub(crate) fn new(backing: &Path, log: SharedLog) -> io::Result<Self> {
        let mut state = Self {
            inodes: InodeTable::new(backing)?,
            handles: HashMap::new(),
            next_handle: 1,
            log,
        };
        state.log_access(Inode::ROOT)?;
        state.log_tree(Inode::ROOT, &mut HashSet::new())?;
        state.log.lock().mark_base();
        Ok(state)
    }

    pub(crate) fn append(&self, operation: Operation) -> io::Result<()> {
        self.log.lock().append(operation)
    }

    fn log_access(&self, inode: Inode) -> io::Result<()> {
        let access = access(&self.inodes.status(inode)?);
        self.append(Operation::SetAccess { inode, access })
    }

    /// Logs everything below a directory as if it were created now.
    fn log_tree(&mut self, directory: Inode, created: &mut HashSet<u64>) -> io::Result<()> {
        for entry in self.read_directory(directory)? {
            let inode = Inode(entry.inode);
            let entry = named(directory, &entry.name)?;
            if !created.insert(inode.0) {
                self.append(Operation::Link { inode, entry })?;
                continue;
            }
            let kind = self.log_create(inode, entry)?;
            match kind {
                InodeKind::Directory => self.log_tree(inode, created)?,
                InodeKind::File => self.log_content(inode)?,
                InodeKind::Symlink(_) | InodeKind::Special => {}
            }
        }
        Ok(())
    }

    fn log_create(&self, inode: Inode, entry: Entry) -> io::Result<InodeKind> {
        let status = self.inodes.status(inode)?;
        let kind = match file_type(&status) {
            FileType::RegularFile => InodeKind::File,
            FileType::Directory => InodeKind::Directory,
            FileType::Symlink => InodeKind::Symlink(self.read_link(inode)?),
            _ => InodeKind::Special,
        };
        self.append(Operation::Create {
            inode,
            entry,
            kind: kind.clone(),
            access: access(&status),
        })?;
        Ok(kind)
    }

    fn log_content(&self, inode: Inode) -> io::Result<()> {
        let file = self.inodes.open(inode, OFlags::RDONLY)?;
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

    pub(crate) fn read_link(&self, inode: Inode) -> io::Result<String> {
        let descriptor = self.inodes.descriptor(inode)?;
        let target = rustix::fs::readlinkat(&descriptor, "", Vec::new())?;
        target.into_string().map_err(|_| not_utf8())
    }

    pub(crate) fn read_directory(&mut self, directory: Inode) -> io::Result<Vec<DirectoryEntry>> {
        let opened = self
            .inodes
            .open(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            let inode = self.inodes.find(directory, &name)?;
            entries.push(DirectoryEntry {
                inode: inode.0,
                kind: file_type(&self.inodes.status(inode)?),
                name,
            });
        }
        Ok(entries)
    }

    pub(crate) fn add_handle(&mut self, handle: Handle) -> FileHandle {
        let number = self.next_handle;
        self.next_handle += 1;
        self.handles.insert(number, handle);
        FileHandle(number)
    }

    pub(crate) fn file(&self, handle: FileHandle) -> io::Result<&File> {
        match self.handles.get(&handle.0) {
            Some(Handle::File(file)) => Ok(file),
            _ => Err(rustix::io::Errno::BADF.into()),
        }
    }

    /// Finishes the creation of a name: logs it, and returns the attributes.
    pub(crate) fn created(
        &mut self,
        request: &Request,
        entry: Entry,
    ) -> io::Result<(Inode, FileAttr)> {
        let name = OsStr::new(&entry.name);
        let inode = self.inodes.find(entry.directory, name)?;
        if rustix::process::geteuid().is_root() {
            self.give(inode, entry.directory, request)?;
        }
        self.log_create(inode, entry)?;
        self.inodes.remember(inode);
        Ok((inode, self.inodes.attributes(inode)?))
    }

    /// Gives a new inode to the user who asked for it.
    fn give(&self, inode: Inode, directory: Inode, request: &Request) -> io::Result<()> {
        // In a directory with the set-group-ID bit, a new inode has the directory's group already.
        let is_inherited = self.inodes.status(directory)?.st_mode & SET_GROUP_ID != 0;
        let gid = (!is_inherited).then(|| request.gid());
        let status = self.inodes.status(inode)?;
        if status.st_uid == request.uid() && gid.is_none_or(|gid| gid == status.st_gid) {
            return Ok(());
        }
        // Another owner clears the set-ID bits of a file.
        let is_cleared = status.st_mode & (SET_USER_ID | SET_GROUP_ID) != 0
            && file_type(&status) == FileType::RegularFile;
        let mode = is_cleared.then_some(status.st_mode & 0o7777);
        self.change_access(inode, mode, (Some(request.uid()), gid))
    }

    /// Returns the inode of a name that must exist.
    fn existing(&mut self, entry: &Entry) -> io::Result<Inode> {
        let inode = self.inodes.find(entry.directory, OsStr::new(&entry.name))?;
        Ok(inode)
    }

    pub(crate) fn remove(
        &mut self,
        parent: INodeNo,
        name: &OsStr,
        flags: AtFlags,
    ) -> io::Result<()> {
        let entry = named(Inode(parent.0), name)?;
        let inode = self.existing(&entry)?;
        let directory = self.inodes.descriptor(entry.directory)?;
        rustix::fs::unlinkat(directory, name, flags)?;
        self.append(if flags.contains(AtFlags::REMOVEDIR) {
            Operation::RemoveDirectory { inode, entry }
        } else {
            Operation::Unlink { inode, entry }
        })?;
        self.inodes.forget(inode, 0);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: Entry, to: Entry, flags: RenameFlags) -> io::Result<()> {
        // A whiteout would leave a device under the old name.
        if flags.contains(RenameFlags::RENAME_WHITEOUT) {
            return Err(rustix::io::Errno::INVAL.into());
        }
        let inode = self.existing(&from)?;
        let replaced = self.existing(&to).ok();
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let (old, new) = (
            self.inodes.descriptor(from.directory)?,
            self.inodes.descriptor(to.directory)?,
        );
        rustix::fs::renameat_with(&old, &from.name, &new, &to.name, flags)?;
        drop((old, new));
        self.append(Operation::Rename {
            inode,
            from,
            to,
            replaced,
            exchanged: flags.contains(rustix::fs::RenameFlags::EXCHANGE),
        })?;
        if let Some(replaced) = replaced {
            self.inodes.forget(replaced, 0);
        }
        Ok(())
    }

    pub(crate) fn set_size(
        &self,
        inode: Inode,
        handle: Option<FileHandle>,
        size: u64,
    ) -> io::Result<()> {
        match handle {
            Some(handle) => self.file(handle)?.set_len(size)?,
            None => self.inodes.open(inode, OFlags::WRONLY)?.set_len(size)?,
        }
        self.append(Operation::Truncate { inode, size })
    }

    pub(crate) fn set_access(
        &self,
        inode: Inode,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
    ) -> io::Result<()> {
        self.change_access(inode, mode, owner)?;
        self.log_access(inode)
    }

    fn change_access(
        &self,
        inode: Inode,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
    ) -> io::Result<()> {
        if owner != (None, None) {
            let (uid, gid) = (owner.0.map(Uid::from_raw), owner.1.map(Gid::from_raw));
            let descriptor = self.inodes.descriptor(inode)?;
            rustix::fs::chownat(descriptor, "", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = mode {
            rustix::fs::chmod(self.inodes.path(inode)?, Mode::from_raw_mode(mode))?;
        }
        Ok(())
    }

    /// Sets times, which are not logged: no database depends on them after a crash.
    pub(crate) fn set_times(
        &self,
        inode: Inode,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
    ) -> io::Result<()> {
        let times = Timestamps {
            last_access: timespec(accessed),
            last_modification: timespec(modified),
        };
        let path = self.inodes.path(inode)?;
        Ok(rustix::fs::utimensat(
            rustix::fs::CWD,
            path,
            &times,
            AtFlags::empty(),
        )?)
    }

    pub(crate) fn write(
        &self,
        inode: Inode,
        (handle, offset): (FileHandle, u64),
        data: &[u8],
        origin: WriteOrigin,
    ) -> io::Result<u32> {
        // A full disk may take a part.
        let written = self.file(handle)?.write_at(data, offset)?;
        let is_cached = origin == WriteOrigin::Cache;
        self.log_write(inode, offset, &data[..written], is_cached)?;
        if let WriteOrigin::FlushingCall(thread) = origin {
            let range = ByteRange {
                start: offset,
                end: offset + written as u64,
            };
            let mut log = self.log.lock();
            let began = log.length();
            log.flushes.mark(thread, handle.0, range, began);
        }
        Ok(u32::try_from(written).unwrap_or(u32::MAX))
    }

    /// Logs a flush. The folder below is not flushed: lost power is simulated from the log.
    pub(crate) fn flush(&self, by: (Thread, u64), inode: Inode, data_only: bool) -> io::Result<()> {
        let mut log = self.log.lock();
        let length = log.length();
        let flush = log
            .flushes
            .flush(by, (inode, data_only), length, || kind_of(by.0));
        log.append(flush)
    }

    /// Logs a flush of a directory.
    pub(crate) fn flush_directory(&self, thread: Thread, inode: Inode) -> io::Result<()> {
        let mut log = self.log.lock();
        let length = log.length();
        let began = log.flushes.flush_directory(thread, length);
        log.append(Operation::FlushDirectory {
            inode,
            began: Some(began),
        })
    }

    pub(crate) fn allocate(
        &self,
        inode: Inode,
        handle: FileHandle,
        range: (u64, u64),
        mode: i32,
    ) -> io::Result<()> {
        // Other modes would be loop devices' discards, and holes that a log must describe.
        let keep_size = i32::try_from(FallocateFlags::KEEP_SIZE.bits()).unwrap_or_default();
        if mode != 0 && mode != keep_size {
            return Err(rustix::io::Errno::OPNOTSUPP.into());
        }
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let (offset, length) = range;
        rustix::fs::fallocate(self.file(handle)?, flags, offset, length)?;
        self.append(Operation::Allocate {
            inode,
            offset,
            length,
            grows: mode == 0,
        })
    }
}

fn not_utf8() -> io::Error {
    rustix::io::Errno::ILSEQ.into()
}

pub(crate) fn named(directory: Inode, name: &OsStr) -> io::Result<Entry> {
    let name = name.to_str().ok_or_else(not_utf8)?.to_owned();
    Ok(Entry { directory, name })
}

fn timespec(time: Option<TimeOrNow>) -> Timespec {
    let (seconds, nanoseconds) = match time {
        None => (0, rustix::fs::UTIME_OMIT),
        Some(TimeOrNow::Now) => (0, rustix::fs::UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
            (seconds, i64::from(since.subsec_nanos()))
        }
    };
    Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    }
}
