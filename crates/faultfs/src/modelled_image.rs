//! An image file that is as slow as a modeled device: a FUSE file system with one file, below the
//! loop device of a trial's file system.
//!
//! ```text
//! engine -> ext4 -> loop device -> FUSE -> server: image file, and the time of a StorageModel
//! ```
//!
//! Each request is done on the image file at once, and answered when
//! [`ModelledDevice`](crate::modelled_device::ModelledDevice) says that it completes. The image
//! file is never flushed: the model's flush stands for that. Its bytes are in the page cache of
//! this machine, as far as that has room. A read that misses it waits for this machine's storage,
//! and the requests behind it with it; what that takes longer than the model, the
//! [`ServiceReport`] shows as lateness.
//!
//! # What the kernel is told, and why
//!
//! - The loop device asks for direct I/O (`LO_FLAGS_DIRECT_IO`), so that requests reach the server
//!   instead of the page cache of the FUSE file. A loop device sends its requests from one thread:
//!   without `FUSE_ASYNC_DIO` that thread waits for each reply, and the device has one request at
//!   a time. With it, a request is sent and the thread goes on.
//! - `FOPEN_DIRECT_IO` makes every other open file bypass the page cache, too, and spares the
//!   kernel the search for cached pages at each write. `FOPEN_PARALLEL_DIRECT_WRITES` lets writes
//!   hold the inode's lock together.
//! - The kernel sends at most `max_background` asynchronous requests, 12 by default. A loop device
//!   has 128, some of which are sent in several parts.
//!
//! # What this differs in from a device
//!
//! - A loop device flushes from the same one thread, synchronously (`vfs_fsync`): while a flush is
//!   under way, no other request reaches the server.
//! - It has no FUA. The commit block of a journal is written, then flushed, where a real NVMe
//!   device makes the write itself durable.
//! - It flushes even where the modeled device has no volatile cache and a kernel would send it no
//!   flush: such a model's flush takes its `flush.base_us`.
//! - It says that it does not rotate, and its requests are not sorted by an I/O scheduler.
//! - Discards (holes) take no time in the model. Zeroing by `FALLOC_FL_ZERO_RANGE` is a write.
//!
//! # Time
//!
//! The clock is `CLOCK_MONOTONIC`. Before the first client, the server attaches a loop device to
//! its own image, as a trial does, and detaches it again. Through it, it measures reads, writes and
//! flushes without delay, and what each kind takes longer than the server waits before it replies:
//! the way there, the lateness of the reply, and the time until the client has woken. This is
//! counted as part of the modeled time ([`OwnCost::transport`]): a request is submitted to the
//! model as if it had come so much earlier, so that the median of a client's requests is the time
//! of the model. Requests that come together share some of the way, so that each of them may
//! complete earlier by what it is spared. Where no loop device can be attached, the lowest tenth of
//! the round trips to the server alone is counted instead.
//!
//! A model that reads, or makes a write durable, faster than the way there and back is refused.
//! Reads and writes of several sizes, and several at once, are measured as well, for the report.
//!
//! [`OwnCost::transport`]: trueput_record::service_report::OwnCost::transport
//! [`ServiceReport`]: trueput_record::service_report::ServiceReport

mod delays;
mod file_system;
mod own_cost;
mod served_image;
mod server;
mod service_report;

pub(crate) use delays::{Answer, Delays, ServedRequest};
pub use own_cost::check_speed;
pub(crate) use own_cost::{measure_file, measure_for};
pub use served_image::ServedImage;
pub use server::{ImageFolders, SERVER_COMMAND, serve_image};
pub(crate) use server::{become_storage, serve_with_delays, set_model};
pub(crate) use service_report::RequestKind;
