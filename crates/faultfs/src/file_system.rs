//! The file system: passes each request through to the folder below, by its layer, and replies.

use crate::inodes::InodeTable;
use crate::layer::{Layer, WriteOrigin};
use crate::operation::{Entry, Inode, Operation};
use crate::state::{Handle, State};
use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite,
    Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Nobody else changes the folder below, so the kernel may remember what it was told.
const VALID: Duration = Duration::from_secs(3600);

const GENERATION: Generation = Generation(0);

/// A file system that passes operations through to a folder, by a layer.
pub(crate) struct PassThroughFileSystem<L>(SharedState<L>);

/// The state of a file system, shared with the server's main thread.
pub(crate) struct SharedState<L>(Arc<Mutex<State<L>>>);

impl<L> SharedState<L> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<L>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Layer> PassThroughFileSystem<L> {
    /// Creates the file system over a folder.
    pub(crate) fn new(inodes: InodeTable, layer: L) -> Self {
        Self(SharedState(Arc::new(Mutex::new(State::new(inodes, layer)))))
    }

    pub(crate) fn shared_state(&self) -> SharedState<L> {
        SharedState(Arc::clone(&self.0.0))
    }

    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.0.lock()
    }
}

/// Keeps the access mode of an open call. The rest concerns the kernel above: it computes the
/// position of an append, asks for a flush where a flag does, and aligns direct I/O.
fn access_mode(flags: OpenFlags) -> OFlags {
    let flags = OFlags::from_bits_retain(flags.0.cast_unsigned());
    flags & OFlags::ACCMODE
}

/// Returns whether a write flushes what it wrote: the kernel adds the flags of the file and of the
/// call, and sends an FSYNC after the write.
fn flushes(flags: OpenFlags) -> bool {
    // rustix has the value of O_SYNC, which includes this one, under the name of O_DSYNC.
    flags.0 & nix::libc::O_DSYNC != 0
}

/// Returns whether a write is past the kernel's cache.
fn is_direct(flags: OpenFlags) -> bool {
    flags.0 & nix::libc::O_DIRECT != 0
}

fn error(error: io::Error) -> Errno {
    Errno::from(error)
}

impl<L: Layer> Filesystem for PassThroughFileSystem<L> {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        if let Some(requests) = L::MAX_BACKGROUND {
            // Only zero is refused.
            let _ = config.set_max_background(requests);
            // A kernel without it waits for the reply to each.
            let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut state = self.state();
        let found = state.inodes.find(Inode(parent.0), name);
        let found = found.and_then(|inode| {
            let attributes = state.inodes.attributes(inode)?;
            state.inodes.remember(inode);
            Ok(attributes)
        });
        match found {
            Ok(attributes) => reply.entry(&VALID, &attributes, GENERATION),
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn forget(&self, _request: &Request, inode: INodeNo, lookups: u64) {
        self.state().inodes.forget(Inode(inode.0), lookups);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.state().inodes.attributes(Inode(inode.0)) {
            Ok(attributes) => reply.attr(&VALID, &attributes),
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _flags_changed: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        let inode = Inode(inode.0);
        let mut set = || {
            if let Some(size) = size {
                state.set_size(inode, handle, size)?;
            }
            if mode.is_some() || uid.is_some() || gid.is_some() {
                state.set_access(inode, mode, (uid, gid))?;
            }
            if accessed.is_some() || modified.is_some() {
                state.set_times(inode, accessed, modified)?;
            }
            state.inodes.attributes(inode)
        };
        match set() {
            Ok(attributes) => reply.attr(&VALID, &attributes),
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn readlink(&self, _request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.state().inodes.read_link(Inode(inode.0)) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let mut state = self.state();
        let made = state.new_entry(parent, name).and_then(|entry| {
            let directory = state.inodes.descriptor(entry.directory)?;
            let kind = rustix::fs::FileType::from_raw_mode(mode);
            let permissions = Mode::from_raw_mode(mode & 0o7777);
            rustix::fs::mknodat(directory, name, kind, permissions, u64::from(device))?;
            state.created(request, entry)
        });
        reply_entry(made, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let mut state = self.state();
        let made = state.new_entry(parent, name).and_then(|entry| {
            let directory = state.inodes.descriptor(entry.directory)?;
            rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(mode & 0o7777))?;
            state.created(request, entry)
        });
        reply_entry(made, reply);
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.state().remove(parent, name, AtFlags::empty()), reply);
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.state().remove(parent, name, AtFlags::REMOVEDIR), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let mut state = self.state();
        let made = state.new_entry(parent, name).and_then(|entry| {
            let directory = state.inodes.descriptor(entry.directory)?;
            rustix::fs::symlinkat(target, directory, name)?;
            state.created(request, entry)
        });
        reply_entry(made, reply);
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = Entry::new(Inode(parent.0), name).and_then(|from| {
            let to = Entry::new(Inode(new_parent.0), new_name)?;
            self.state().rename(from, to, flags)
        });
        reply_empty(renamed, reply);
    }

    fn link(
        &self,
        _request: &Request,
        inode: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        let mut state = self.state();
        let inode = Inode(inode.0);
        let linked = Entry::new(Inode(new_parent.0), new_name).and_then(|entry| {
            let directory = state.inodes.descriptor(entry.directory)?;
            let path = state.inodes.path(inode)?;
            let follow = AtFlags::SYMLINK_FOLLOW;
            rustix::fs::linkat(rustix::fs::CWD, path, directory, new_name, follow)?;
            state.changed(Operation::Link { inode, entry })?;
            state.inodes.remember(inode);
            Ok((inode, state.inodes.attributes(inode)?))
        });
        reply_entry(linked, reply);
    }

    fn open(&self, _request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        let opened = state
            .inodes
            .open(Inode(inode.0), L::access(access_mode(flags)));
        match opened {
            Ok(file) => {
                let handle = state.handles.add(Handle::File(file));
                reply.opened(handle, FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.state();
        let made = state.new_entry(parent, name).and_then(|entry| {
            let directory = state.inodes.descriptor(entry.directory)?;
            let access = L::access(access_mode(OpenFlags(flags)));
            let flags = access | OFlags::CREATE | OFlags::EXCL;
            let mode = Mode::from_raw_mode(mode & 0o7777);
            let file = rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, mode)?;
            let (_, attributes) = state.created(request, entry)?;
            let handle = state.handles.add(Handle::File(File::from(file)));
            Ok((attributes, handle))
        });
        match made {
            Ok((attributes, handle)) => {
                let flags = FopenFlags::FOPEN_KEEP_CACHE;
                reply.created(&VALID, &attributes, GENERATION, handle, flags);
            }
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let answer = self.state().read(Inode(inode.0), handle, offset, size);
        answer.deliver(|read| match read {
            Ok(data) => reply.data(&data),
            Err(cause) => reply.error(error(cause)),
        });
    }

    fn write(
        &self,
        request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let origin = match () {
            () if write_flags.contains(WriteFlags::FUSE_WRITE_CACHE) => WriteOrigin::Cache,
            () if flushes(flags) => WriteOrigin::FlushingCall(request.pid()),
            () if is_direct(flags) => WriteOrigin::DirectCall,
            () => WriteOrigin::Call,
        };
        let at = (handle, offset);
        let answer = self.state().write(Inode(inode.0), at, data, origin);
        answer.deliver(|written| match written {
            Ok(written) => reply.written(written),
            Err(cause) => reply.error(error(cause)),
        });
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.state().handles.remove(handle);
        reply.ok();
    }

    fn fsync(
        &self,
        request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        let by = (request.pid(), handle);
        let answer = self.state().flush(by, Inode(inode.0), data_only);
        answer.deliver(|flushed| reply_empty(flushed, reply));
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        match state.inodes.read_directory(Inode(inode.0)) {
            Ok(entries) => {
                let handle = state.handles.add(Handle::Directory(entries));
                reply.opened(handle, FopenFlags::empty());
            }
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut state = self.state();
        // A directory that is read again from its beginning shows what it holds now.
        if offset == 0 {
            match state.inodes.read_directory(Inode(inode.0)) {
                Ok(entries) => state.handles.replace(handle, Handle::Directory(entries)),
                Err(cause) => return reply.error(error(cause)),
            }
        }
        let Some(entries) = state.handles.entries(handle) else {
            reply.error(Errno::EBADF);
            return;
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, entry) in entries.iter().enumerate().skip(start) {
            let next = index as u64 + 1;
            if reply.add(INodeNo(entry.inode), next, entry.kind, &entry.name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.state().handles.remove(handle);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        let answer = self.state().flush_directory(request.pid(), Inode(inode.0));
        answer.deliver(|flushed| reply_empty(flushed, reply));
    }

    fn statfs(&self, _request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        let state = self.state();
        let root = state.inodes.descriptor(Inode::ROOT);
        let statistics = root.and_then(|root| Ok(rustix::fs::fstatvfs(root)?));
        let statistics = statistics.and_then(|of| Ok((of, state.layer.free_bytes()?)));
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        match statistics {
            Ok((of, free_bytes)) => reply.statfs(
                of.f_blocks,
                of.f_bfree.min(free_blocks(free_bytes, of.f_frsize)),
                of.f_bavail.min(free_blocks(free_bytes, of.f_frsize)),
                of.f_files,
                of.f_ffree,
                narrow(of.f_bsize),
                narrow(of.f_namemax),
                narrow(of.f_frsize),
            ),
            Err(cause) => reply.error(error(cause)),
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let range = (offset, length);
        let allocated = self.state().allocate(Inode(inode.0), handle, range, mode);
        reply_empty(allocated, reply);
    }

    fn lseek(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        const SEEK_DATA: i32 = 3;
        const SEEK_HOLE: i32 = 4;
        let state = self.state();
        let offset = u64::try_from(offset).unwrap_or_default();
        let position = match whence {
            SEEK_DATA => SeekFrom::Data(offset),
            SEEK_HOLE => SeekFrom::Hole(offset),
            // The kernel answers the other ones itself.
            _ => {
                reply.error(Errno::EINVAL);
                return;
            }
        };
        let found = state
            .handles
            .file(handle)
            .and_then(|file| Ok(rustix::fs::seek(file, position)?));
        match found {
            Ok(found) => reply.offset(i64::try_from(found).unwrap_or(i64::MAX)),
            Err(cause) => reply.error(error(cause)),
        }
    }
}

/// Returns how many blocks of a size are free at most.
fn free_blocks(free_bytes: Option<u64>, block_bytes: u64) -> u64 {
    free_bytes.map_or(u64::MAX, |bytes| bytes / block_bytes.max(1))
}

fn reply_entry(made: io::Result<(Inode, FileAttr)>, reply: ReplyEntry) {
    match made {
        Ok((_, attributes)) => reply.entry(&VALID, &attributes, GENERATION),
        Err(cause) => reply.error(error(cause)),
    }
}

fn reply_empty(done: io::Result<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(cause) => reply.error(error(cause)),
    }
}
