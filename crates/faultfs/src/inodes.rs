//! The inodes of the file system: a number of our own for each file of the folder below.

use crate::operation::{Access, Inode, InodeKind};
use fuser::{FileAttr, FileType, INodeNo};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Device and inode number in the folder below.
type Key = (u64, u64);

struct Entry {
    /// Opened with `O_PATH`. It keeps the number below from being used again.
    descriptor: OwnedFd,
    key: Key,
    lookups: u64,
}

/// An entry of a directory.
pub(crate) struct DirectoryEntry {
    pub(crate) inode: u64,
    pub(crate) kind: FileType,
    pub(crate) name: OsString,
}

/// The inodes that the kernel knows, or that have a name.
pub(crate) struct InodeTable {
    entries: HashMap<u64, Entry>,
    numbers: HashMap<Key, u64>,
    next: u64,
}

impl InodeTable {
    /// Creates the table with the root directory.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(folder, flags, Mode::empty())?;
        let mut table = Self {
            entries: HashMap::new(),
            numbers: HashMap::new(),
            next: Inode::ROOT.0,
        };
        table.insert(descriptor)?;
        Ok(table)
    }

    fn insert(&mut self, descriptor: OwnedFd) -> io::Result<Inode> {
        let status = rustix::fs::fstat(&descriptor)?;
        let key = (status.st_dev, status.st_ino);
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(Inode(number));
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(key, number);
        let lookups = 0;
        self.entries.insert(
            number,
            Entry {
                descriptor,
                key,
                lookups,
            },
        );
        Ok(Inode(number))
    }

    fn entry(&self, inode: Inode) -> io::Result<&Entry> {
        let entry = self.entries.get(&inode.0);
        entry.ok_or_else(|| rustix::io::Errno::STALE.into())
    }

    /// Returns the descriptor of an inode, which allows neither reading nor writing.
    pub(crate) fn descriptor(&self, inode: Inode) -> io::Result<impl AsFd + '_> {
        Ok(self.entry(inode)?.descriptor.as_fd())
    }

    /// Returns a path by which an inode can be opened, also after its last name was removed.
    pub(crate) fn path(&self, inode: Inode) -> io::Result<PathBuf> {
        let descriptor = self.entry(inode)?.descriptor.as_raw_fd();
        Ok(PathBuf::from(format!("/proc/self/fd/{descriptor}")))
    }

    /// Opens an inode.
    pub(crate) fn open(&self, inode: Inode, flags: OFlags) -> io::Result<File> {
        let path = self.path(inode)?;
        let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(File::from(opened))
    }

    /// Finds the inode of a name.
    pub(crate) fn find(&mut self, parent: Inode, name: &OsStr) -> io::Result<Inode> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = &self.entry(parent)?.descriptor;
        let descriptor = rustix::fs::openat(parent, name, flags, Mode::empty())?;
        self.insert(descriptor)
    }

    /// Counts a reference that the kernel holds from now on.
    pub(crate) fn remember(&mut self, inode: Inode) {
        if let Some(entry) = self.entries.get_mut(&inode.0) {
            entry.lookups += 1;
        }
    }

    /// Drops references of the kernel. An inode without references and without a name is gone.
    pub(crate) fn forget(&mut self, inode: Inode, lookups: u64) {
        let Some(entry) = self.entries.get_mut(&inode.0) else {
            return;
        };
        entry.lookups = entry.lookups.saturating_sub(lookups);
        let is_named = rustix::fs::fstat(&entry.descriptor).is_ok_and(|status| status.st_nlink > 0);
        if entry.lookups == 0 && !is_named {
            self.numbers.remove(&entry.key);
            self.entries.remove(&inode.0);
        }
    }

    /// Returns the status of an inode.
    pub(crate) fn status(&self, inode: Inode) -> io::Result<Stat> {
        let descriptor = &self.entry(inode)?.descriptor;
        Ok(rustix::fs::statat(descriptor, "", AtFlags::EMPTY_PATH)?)
    }

    /// Returns all inodes.
    pub(crate) fn all(&self) -> Vec<Inode> {
        self.entries.keys().copied().map(Inode).collect()
    }

    /// Returns the kind of an inode.
    pub(crate) fn kind(&self, inode: Inode) -> io::Result<InodeKind> {
        Ok(match file_type(&self.status(inode)?) {
            FileType::RegularFile => InodeKind::File,
            FileType::Directory => InodeKind::Directory,
            FileType::Symlink => InodeKind::Symlink(self.read_link(inode)?),
            _ => InodeKind::Special,
        })
    }

    /// Returns the path that a symbolic link leads to.
    pub(crate) fn read_link(&self, inode: Inode) -> io::Result<String> {
        let descriptor = self.descriptor(inode)?;
        let target = rustix::fs::readlinkat(&descriptor, "", Vec::new())?;
        let target = target.into_string();
        target.map_err(|_| rustix::io::Errno::ILSEQ.into())
    }

    /// Returns the entries of a directory.
    pub(crate) fn read_directory(&mut self, directory: Inode) -> io::Result<Vec<DirectoryEntry>> {
        let opened = self.open(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            let inode = self.find(directory, &name)?;
            entries.push(DirectoryEntry {
                inode: inode.0,
                kind: file_type(&self.status(inode)?),
                name,
            });
        }
        Ok(entries)
    }

    /// Returns owner and permissions of an inode.
    pub(crate) fn access(&self, inode: Inode) -> io::Result<Access> {
        let status = self.status(inode)?;
        Ok(Access {
            mode: status.st_mode & 0o7777,
            uid: status.st_uid,
            gid: status.st_gid,
        })
    }

    /// Returns the attributes of an inode, for the kernel.
    pub(crate) fn attributes(&self, inode: Inode) -> io::Result<FileAttr> {
        let status = self.status(inode)?;
        Ok(FileAttr {
            ino: INodeNo(inode.0),
            size: u64::try_from(status.st_size).unwrap_or_default(),
            blocks: u64::try_from(status.st_blocks).unwrap_or_default(),
            atime: time(status.st_atime, status.st_atime_nsec),
            mtime: time(status.st_mtime, status.st_mtime_nsec),
            ctime: time(status.st_ctime, status.st_ctime_nsec),
            crtime: SystemTime::UNIX_EPOCH,
            kind: file_type(&status),
            perm: u16::try_from(status.st_mode & 0o7777).unwrap_or_default(),
            nlink: u32::try_from(status.st_nlink).unwrap_or(u32::MAX),
            uid: status.st_uid,
            gid: status.st_gid,
            rdev: u32::try_from(status.st_rdev).unwrap_or_default(),
            blksize: 4096,
            flags: 0,
        })
    }
}

pub(crate) fn file_type(status: &Stat) -> FileType {
    match rustix::fs::FileType::from_raw_mode(status.st_mode) {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    SystemTime::UNIX_EPOCH + seconds + Duration::from_nanos(nanoseconds)
}
