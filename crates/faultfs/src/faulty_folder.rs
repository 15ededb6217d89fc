//! A folder on storage that fails: a FUSE file system that passes everything through to another
//! folder, and fails, delays or forgets requests as [`StorageFault`]s say.
//!
//! ```text
//! engine -> kernel's page cache -> FUSE -> server: faults, and what is not yet stored -> folder
//! ```
//!
//! Faults come only while the folder is armed ([`FaultyFolder::arm`]), and only at requests that
//! reach the server. Reads that the kernel answers from its page cache do not:
//! [`FaultyFolder::lose_caches`] empties it. A read that fails may be one that the kernel makes
//! ahead, and nobody then sees its error; it is read again when it is needed.
//!
//! # What a flush stores
//!
//! The server knows for each file which pages were written since its last flush, and what the
//! storage holds in their place. A page (4 KiB) is
//!
//! - *clean*: the storage holds it;
//! - *dirty*: written, and not flushed. The next flush of the file that succeeds stores it. One
//!   that fails with [`FailedFlush::KeptDirty`], or that lies, leaves it so;
//! - *lost*: dirty when a flush failed with [`FailedFlush::Dropped`]. Reads give the new content,
//!   as from the cache of a kernel that takes the page for clean, and no later flush stores it. A
//!   write into the page makes all of it dirty again.
//!
//! [`FaultyFolder::lose_caches`] is a machine that is shut down in good order and starts again:
//! dirty pages are stored, lost ones are as the storage has them. [`FaultyFolder::lose_power`] is a
//! power cut: dirty pages are not stored either. All of them are gone; which subset of them a real
//! device would keep, the audit explores with its recordings.
//!
//! # What this differs in from a disk
//!
//! - Names are durable at once: creating, renaming and removing them, a new size that is set
//!   (truncate, allocation), owners and permissions. What a flush stores is content, and the size
//!   that writes have given. A flush of a directory stores nothing; that it fails shows all the
//!   same.
//! - A flush that succeeds stores the file's size also where an earlier flush lost its last pages:
//!   they are zeros then.
//! - A whole file is flushed by each flush, as FSYNC has no range (see the crate's own words).
//!   `sync` and `syncfs` do not arrive.
//! - What the storage holds in place of written pages is kept in memory, up to
//!   [`MAX_PRE_IMAGE_BYTES`]. An engine that writes more in place between two flushes gets all its
//!   pages as without faults from then on: [`FaultReport::untracked`] says so, and to lose caches
//!   or power is refused. So it is from the start where nothing is to be lost
//!   ([`FaultyFolders::can_lose`]): nothing is remembered then.
//! - One thread serves all requests, so that a flush keeps other requests waiting as a disk without
//!   a queue does.

mod counted_faults;
mod faulty_layer;
mod free_space;
mod mounted_folder;
mod report;
mod server;
mod switch;
mod volatile_pages;

pub use mounted_folder::FaultyFolder;
pub use report::{FaultCount, FaultReport, InjectedFault};
pub use server::{FaultyFolders, SERVER_COMMAND, serve_folder};
pub use trueput_record::storage_fault::{FailedFlush, StorageFault};
pub use volatile_pages::MAX_PRE_IMAGE_BYTES;
