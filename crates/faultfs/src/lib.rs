//! A file system that records: it passes every operation through to a folder and logs it.
//!
//! The log holds all that changed the folder, in the order of effect, with the data that was
//! written and with every flush. From it, the state in which a power cut could have left the folder
//! can be rebuilt at any moment, any number of times.
//!
//! The file system is a FUSE server in a process of its own ([`server::serve`]), which
//! [`mount::Mount`] starts and ends. Workers read from a shared counter ([`clock::OperationClock`])
//! how many operations were logged before a commit began and after it was acknowledged.
//!
//! Facts that it relies on (Linux 6, default caching; neither `FOPEN_DIRECT_IO` nor the write-back
//! cache): each `write` arrives before the call returns, perhaps in several parts, which end at
//! pages. `fsync`, `fdatasync`, `msync`, `O_SYNC`, `O_DSYNC`, `RWF_DSYNC` and flushes by io_uring
//! arrive as FSYNC; `msync` and the two with a D as `fdatasync`. Stores into a mapping arrive as
//! writes of pages when the kernel writes them back. Locks stay in the kernel.

pub mod clock;
mod file_system;
mod inodes;
mod log;
pub mod mount;
pub mod operation;
pub mod server;
mod state;

pub use log::{Recording, open_clock};
