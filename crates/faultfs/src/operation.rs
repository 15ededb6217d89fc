//! The operations that a file system records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;

/// The number of a file or directory in a log. Numbers are not used again.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Inode(pub u64);

impl Inode {
    /// The root directory.
    pub const ROOT: Self = Self(1);
}

/// A name in a directory.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Entry {
    /// The directory.
    pub directory: Inode,
    /// The name. The file system refuses names that are not UTF-8.
    pub name: String,
}

impl Entry {
    pub(crate) fn new(directory: Inode, name: &OsStr) -> io::Result<Self> {
        let name = name.to_str().ok_or(rustix::io::Errno::ILSEQ)?.to_owned();
        Ok(Self { directory, name })
    }
}

/// The kind of a new inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link to this path.
    Symlink(String),
    /// A socket or a pipe, which holds no data and is not rebuilt.
    Special,
}

/// Owner and permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// One operation that changed a file or directory, or made changes persistent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// A new inode under a name.
    Create {
        /// The new inode.
        inode: Inode,
        /// Its name.
        entry: Entry,
        /// Its kind.
        kind: InodeKind,
        /// Owner and permissions.
        access: Access,
    },
    /// Bytes of a file.
    Write {
        /// The file.
        inode: Inode,
        /// Position in the file, bytes.
        offset: u64,
        /// Position of the data in the log's data file, bytes.
        data_at: u64,
        /// Number of bytes.
        length: u64,
        /// Whether the kernel wrote back pages of its cache: stores into a mapping.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cached: bool,
    },
    /// A new size of a file.
    Truncate {
        /// The file.
        inode: Inode,
        /// The size, bytes.
        size: u64,
    },
    /// A range of a file that was allocated.
    Allocate {
        /// The file.
        inode: Inode,
        /// Position, bytes.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// Whether the size grows to the end of the range.
        grows: bool,
    },
    /// Another name of an inode.
    Link {
        /// The inode.
        inode: Inode,
        /// The name.
        entry: Entry,
    },
    /// A name that was removed.
    Unlink {
        /// The inode that it named.
        inode: Inode,
        /// The name.
        entry: Entry,
    },
    /// A directory that was removed.
    RemoveDirectory {
        /// The directory.
        inode: Inode,
        /// Its name.
        entry: Entry,
    },
    /// A new name in the place of another.
    Rename {
        /// The inode.
        inode: Inode,
        /// The name that it had.
        from: Entry,
        /// The name that it has now.
        to: Entry,
        /// The inode that had the new name before; where the names were exchanged, it has `from`.
        replaced: Option<Inode>,
        /// Whether both inodes changed places.
        exchanged: bool,
    },
    /// Owner and permissions that were set.
    SetAccess {
        /// The inode.
        inode: Inode,
        /// Its new owner and permissions.
        access: Access,
    },
    /// A file of which changes are persistent: fsync, fdatasync, msync, or a write that flushes.
    /// Recordings of earlier versions have the first two fields only.
    Flush {
        /// The file.
        inode: Inode,
        /// Whether it was fdatasync, or does no more than that.
        data_only: bool,
        /// The operations that were logged when it began: it covers these, and pages of the cache
        /// that were written since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<usize>,
        /// The part of the file.
        #[serde(default)]
        extent: FlushExtent,
        /// The call.
        #[serde(default)]
        cause: FlushCause,
    },
    /// Everything that was logged when it began is persistent, and pages of the cache that were
    /// written since: syncfs or sync.
    FlushAll {
        /// The operations that were logged when it began.
        began: usize,
    },
    /// A directory whose names so far are persistent.
    FlushDirectory {
        /// The directory.
        inode: Inode,
        /// The operations that were logged when it began; absent in recordings of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<usize>,
    },
}

/// The part of a file that a flush covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushExtent {
    /// All of it.
    Whole,
    /// These bytes. The kernel flushes the pages in which they lie.
    Ranges(Vec<ByteRange>),
    /// The request that arrives has no range, and nobody saw the call.
    #[default]
    Unknown,
}

/// Bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByteRange {
    /// The first.
    pub start: u64,
    /// The position behind the last.
    pub end: u64,
}

/// The call behind a flush of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushCause {
    /// fsync, as it was called, or without a watch as it arrived.
    Fsync,
    /// fdatasync.
    Fdatasync,
    /// msync.
    Msync,
    /// A write through `O_SYNC` or `O_DSYNC`, or with `RWF_SYNC` or `RWF_DSYNC`.
    MarkedWrite,
    /// A worker of the kernel: a flush by libaio, or of a loop device.
    KernelWorker,
    /// A thread of io_uring, whose flushes may have a range.
    IoUring,
    /// A thread whose calls are watched, and which did not announce it, or a process that is not.
    Unannounced,
    /// Calls were not watched: fdatasync, or msync of any part.
    #[default]
    Unwatched,
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedOperation {
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
    /// The phase of the workload in which it came ([`crate::clock::OperationClock::phase`]).
    pub phase: u32,
}
