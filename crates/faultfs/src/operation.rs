//! The operations that a file system records.

use serde::{Deserialize, Serialize};

/// The number of a file or directory in a log. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inode(pub u64);

impl Inode {
    /// The root directory.
    pub const ROOT: Self = Self(1);
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// The directory.
    pub directory: Inode,
    /// The name. The file system refuses names that are not UTF-8.
    pub name: String,
}

/// The kind of a new inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// One operation that changed a file or directory, or made changes persistent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A file whose changes so far are persistent: fsync, fdatasync, or a write through O_SYNC.
    Flush {
        /// The file.
        inode: Inode,
        /// Whether it was fdatasync.
        data_only: bool,
    },
    /// A directory whose names so far are persistent.
    FlushDirectory {
        /// The directory.
        inode: Inode,
    },
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedOperation {
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
    /// The phase of the workload in which it came ([`crate::clock::OperationClock::phase`]).
    pub phase: u32,
}
