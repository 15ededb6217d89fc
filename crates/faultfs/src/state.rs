//! The effects of operations on the folder below.

use crate::flush_watch::Thread;
use crate::inodes::{DirectoryEntry, InodeTable, file_type};
use crate::layer::{Answer, Layer, OpenFile, WriteOrigin};
use crate::operation::{Entry, Inode, Operation};
use fuser::{FileAttr, FileHandle, FileType, INodeNo, RenameFlags, Request, TimeOrNow};
use rustix::fs::{AtFlags, FallocateFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::time::UNIX_EPOCH;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// A file or directory that a process has open.
pub(crate) enum Handle {
    File(File),
    Directory(Vec<DirectoryEntry>),
}

/// The files and directories that processes have open.
#[derive(Default)]
pub(crate) struct HandleTable {
    handles: HashMap<u64, Handle>,
    last: u64,
}

impl HandleTable {
    pub(crate) fn add(&mut self, handle: Handle) -> FileHandle {
        self.last += 1;
        self.handles.insert(self.last, handle);
        FileHandle(self.last)
    }

    pub(crate) fn replace(&mut self, handle: FileHandle, with: Handle) {
        self.handles.insert(handle.0, with);
    }

    pub(crate) fn remove(&mut self, handle: FileHandle) {
        self.handles.remove(&handle.0);
    }

    /// Returns the entries of a directory as they were when it was opened or read from its
    /// beginning.
    pub(crate) fn entries(&self, handle: FileHandle) -> Option<&[DirectoryEntry]> {
        match self.handles.get(&handle.0) {
            Some(Handle::Directory(entries)) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn file(&self, handle: FileHandle) -> io::Result<&File> {
        match self.handles.get(&handle.0) {
            Some(Handle::File(file)) => Ok(file),
            _ => Err(rustix::io::Errno::BADF.into()),
        }
    }

    /// Returns a file for the layer.
    pub(crate) fn open_file(&self, inode: Inode, handle: FileHandle) -> io::Result<OpenFile<'_>> {
        Ok(OpenFile {
            inode,
            handle: handle.0,
            below: self.file(handle)?,
        })
    }
}

/// State that one request at a time uses, so that what the layer sees has the order of effect.
pub(crate) struct State<L> {
    pub(crate) inodes: InodeTable,
    pub(crate) handles: HandleTable,
    pub(crate) layer: L,
}

impl<L: Layer> State<L> {
    pub(crate) fn new(inodes: InodeTable, layer: L) -> Self {
        Self {
            inodes,
            handles: HandleTable::default(),
            layer,
        }
    }

    /// Returns the entry for a name that is about to be created.
    pub(crate) fn new_entry(&mut self, parent: INodeNo, name: &OsStr) -> io::Result<Entry> {
        let entry = Entry::new(Inode(parent.0), name)?;
        self.layer.before_creation(&self.inodes, entry.directory)?;
        Ok(entry)
    }

    /// Notes a change for the layer.
    pub(crate) fn changed(&mut self, change: Operation) -> io::Result<()> {
        self.layer.changed(&self.inodes, change)
    }

    /// Finishes the creation of a name: tells the layer, and returns the attributes.
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
        let creation = Operation::Create {
            inode,
            entry,
            kind: self.inodes.kind(inode)?,
            access: self.inodes.access(inode)?,
        };
        self.changed(creation)?;
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
        let entry = Entry::new(Inode(parent.0), name)?;
        let inode = self.existing(&entry)?;
        let directory = self.inodes.descriptor(entry.directory)?;
        rustix::fs::unlinkat(directory, name, flags)?;
        self.changed(if flags.contains(AtFlags::REMOVEDIR) {
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
        self.changed(Operation::Rename {
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
        &mut self,
        inode: Inode,
        handle: Option<FileHandle>,
        size: u64,
    ) -> io::Result<()> {
        match handle {
            Some(handle) => self.handles.file(handle)?.set_len(size)?,
            None => self.inodes.open(inode, OFlags::WRONLY)?.set_len(size)?,
        }
        self.changed(Operation::Truncate { inode, size })
    }

    pub(crate) fn set_access(
        &mut self,
        inode: Inode,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
    ) -> io::Result<()> {
        self.change_access(inode, mode, owner)?;
        let access = self.inodes.access(inode)?;
        self.changed(Operation::SetAccess { inode, access })
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

    pub(crate) fn read(
        &mut self,
        inode: Inode,
        handle: FileHandle,
        offset: u64,
        size: u32,
    ) -> Answer<Vec<u8>> {
        match self.handles.open_file(inode, handle) {
            Ok(file) => self.layer.read(&self.inodes, file, offset, size),
            Err(error) => Answer::now(Err(error)),
        }
    }

    pub(crate) fn write(
        &mut self,
        inode: Inode,
        (handle, offset): (FileHandle, u64),
        data: &[u8],
        origin: WriteOrigin,
    ) -> Answer<u32> {
        match self.handles.open_file(inode, handle) {
            Ok(file) => self.layer.write(&self.inodes, file, offset, data, origin),
            Err(error) => Answer::now(Err(error)),
        }
    }

    pub(crate) fn flush(
        &mut self,
        (thread, handle): (Thread, FileHandle),
        inode: Inode,
        data_only: bool,
    ) -> Answer<()> {
        match self.handles.open_file(inode, handle) {
            Ok(file) => self.layer.flush(&self.inodes, file, thread, data_only),
            Err(error) => Answer::now(Err(error)),
        }
    }

    pub(crate) fn flush_directory(&mut self, thread: Thread, directory: Inode) -> Answer<()> {
        self.layer.flush_directory(&self.inodes, directory, thread)
    }

    pub(crate) fn allocate(
        &mut self,
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
        let file = self.handles.open_file(inode, handle)?;
        self.layer.before_allocation(&self.inodes, file, range)?;
        rustix::fs::fallocate(file.below, flags, offset, length)?;
        self.changed(Operation::Allocate {
            inode,
            offset,
            length,
            grows: mode == 0,
        })
    }
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
