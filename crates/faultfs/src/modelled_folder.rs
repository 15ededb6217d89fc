//! A folder that is as slow as a modeled device: a FUSE file system that passes everything through
//! to another folder, without an image, a loop device or a file system of its own.
//!
//! ```text
//! engine -> kernel's page cache -> FUSE -> server: folder, and the time of a StorageModel
//! ```
//!
//! Each request is done on the folder at once. What a real machine would ask its device for waits
//! until [`ModelledDevice`](crate::modelled_device::ModelledDevice) has completed that, by the same
//! thread as in [`modelled_image`](crate::modelled_image). The files below are never flushed: the
//! model's flushes stand for that.
//!
//! # What reaches the device
//!
//! - *A write* does not: a kernel would put it into its page cache. It makes pages of the file
//!   dirty. Direct I/O, and pages that the kernel writes back (stores into a mapping), are writes
//!   to the device at once.
//! - *A flush of a file* (fsync, fdatasync, a write through `O_SYNC` or `O_DSYNC`) writes all of
//!   its dirty pages, neighbors together and 1 MiB at most in a request, and flushes the device. If
//!   the file is new, or has another size, name or owner since its last flush, or if it was written
//!   and this is not fdatasync, a journal's commit follows: a block of 4 KiB, and another flush.
//! - *A flush of a directory* writes a block of the journal and flushes.
//! - *A read* does, unless the kernel has the pages, or all of them are dirty.
//! - *The rest* (names, sizes, attributes) takes no time until a flush.
//!
//! Dirty pages that nobody flushes are never written: no kernel's write-back after 30 s, and no
//! limit on what is dirty. A file is on the device in extents of 8 MiB, in the order in which they
//! are first used, behind 64 MiB of the journal.
//!
//! # What this differs in from a file system on a device
//!
//! - FUSE holds the lock of a file while it flushes it: writes to the same file wait until the
//!   flush has ended, and so does another flush of it. Reads do not.
//! - It holds this lock for a write by direct I/O as well, unless that is asynchronous.
//! - A write through the page cache costs a request to the server, some tens of microseconds, which
//!   are not taken off: it has no time of the model that they could be part of.
//! - A write into a hole, or into what was allocated and never written, changes no metadata.
//! - A page that was written in part is read from the device when it is next read after its flush.
//! - `sync` and `syncfs` do not arrive.
//!
//! Before the first client, the server measures reads and writes by direct I/O, and flushes, of a
//! file of its own. The lowest tenth of the quickest of them is counted as part of the modeled time
//! of what waits.

mod device_layout;
mod dirty_files;
mod modelled_layer;
mod server;

pub use server::serve_modelled_folder;
