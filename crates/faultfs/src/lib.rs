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
//! cache, nor asynchronous direct I/O): each `write` arrives before the call returns, perhaps in
//! several parts, which end at pages. `fsync`, `fdatasync`, `msync`, `O_SYNC`, `O_DSYNC`,
//! `RWF_DSYNC` and flushes by io_uring arrive as FSYNC, which has no range (`fuse_fsync` drops it);
//! `msync` and the two with a D as `fdatasync`. `syncfs` and `sync` do not arrive at all, and do
//! not wait. Stores into a mapping arrive as writes of pages when the kernel writes them back.
//! Locks stay in the kernel.
//!
//! So the part that a flush covers is found in two ways. A write that flushes carries its flag
//! ([`mod@flush_watch`]). The other calls are seen by a filter of system calls (seccomp) in the
//! processes that are recorded: they wait until the server has noted them
//! ([`mount::Mount::watch`]).
//!
//! A model of a storage device ([`storage_model::StorageModel`]) says how long each request of a
//! run takes; [`modelled_device::ModelledDevice`] computes it in virtual time, and
//! [`modelled_image`] shows an image file with these delays, below the file system of a trial.
//!
//! The file systems of folders pass through by a layer: one records, one fails requests as faults
//! say, and knows what the storage would then hold ([`faulty_folder`]), one has the delays of a
//! model ([`modelled_folder`]).
//! [`model_fit`] fits a model to what [`device_probe`] measures of a real device.

mod check;
pub mod clock;
pub mod device_measurement;
pub mod device_probe;
pub mod faulty_folder;
mod file_system;
mod filter;
pub mod fit_comparison;
pub mod flush_watch;
mod inodes;
mod layer;
mod listener;
mod log;
mod mapped_ranges;
pub mod model_fit;
pub mod model_prediction;
pub mod modelled_device;
pub mod modelled_folder;
pub mod modelled_image;
pub mod modelled_probe;
pub mod mount;
pub mod named_model;
pub mod operation;
mod recorder;
mod report_file;
pub mod server;
mod server_process;
mod state;
pub mod storage_model;
mod write_back;

pub use log::{Recording, open_clock};
