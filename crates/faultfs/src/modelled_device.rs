//! A storage device in virtual time: it says when each request completes, and waits for nothing.
//!
//! The queue of a [`StorageModel`]: a request waits for the limits on the rate, then for one of the
//! servers of the device. The server spends the log-normal part of the time; the bytes pass a
//! channel that all servers share. On a disk the arm and the turning platter take the place of the
//! channel. Writes go to the write cache, if there is one, as long as it has room; the cache is
//! written back whenever the medium is idle, and by a flush if it is volatile.
//!
//! A completion is known when the request is submitted: later requests never delay earlier ones.

mod disk_cache;
mod platter;
mod rate_limiter;
mod spread;
mod write_buffer;

use crate::storage_model::{CacheKind, ServiceTime, StorageModel, ns_per_byte, whole_ns};
use disk_cache::DiskCache;
use platter::{Access, Platter};
use rate_limiter::RateLimiter;
use spread::LogNormal;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trueput_record::random::SplitMix64;
use write_buffer::WriteBuffer;

/// A request to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRequest {
    /// Reads bytes from a position.
    Read {
        /// The first byte, counted from the beginning of the device.
        position: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// Writes bytes at a position.
    Write {
        /// The first byte, counted from the beginning of the device.
        position: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// Makes all writes that were submitted before persistent.
    Flush,
}

/// A device that behaves as its model says.
#[derive(Debug)]
pub struct ModelledDevice {
    /// The moment of the first request on the caller's clock, nanoseconds. All other times here are
    /// counted from it, so that the same requests take the same time whenever they come.
    origin_ns: Option<u64>,
    /// The latest moment at which a request was submitted.
    now_ns: u64,
    random: SplitMix64,
    /// When each server is free, the earliest first.
    servers: BinaryHeap<Reverse<u64>>,
    limiter: Option<RateLimiter>,
    read: RequestTime,
    write: RequestTime,
    flush: LogNormal,
    medium: Medium,
    cache_kind: Option<CacheKind>,
    /// The latest completion of a write.
    writes_end_ns: u64,
    /// The completion of the latest flush.
    flush_end_ns: u64,
}

/// The parts of a [`ServiceTime`], ready for computing.
#[derive(Debug, Clone, Copy)]
struct RequestTime {
    base: LogNormal,
    ns_per_byte: f64,
}

/// Where the bytes are.
#[derive(Debug)]
enum Medium {
    /// Without moving parts.
    Solid {
        /// When the channel that all requests share is free.
        channel_ns: u64,
        buffer: Option<WriteBuffer>,
    },
    Disk {
        platter: Platter,
        cache: Option<DiskCache>,
    },
}

impl ModelledDevice {
    /// Creates an idle device with an empty write cache and all credits of its limits.
    ///
    /// `capacity_bytes` is the size of the volume: some limits depend on it. `seed` decides the
    /// random part of the times: the same requests with the same seed take the same times.
    #[must_use]
    pub fn new(model: &StorageModel, capacity_bytes: u64, seed: u64) -> Self {
        let limits = model.limits.as_ref();
        let servers = (0..model.parallelism).map(|_| Reverse(0)).collect();
        Self {
            origin_ns: None,
            now_ns: 0,
            random: SplitMix64::new(seed),
            servers,
            limiter: limits.map(|limits| RateLimiter::new(limits, capacity_bytes)),
            read: RequestTime::new(&model.read),
            write: RequestTime::new(&model.write),
            flush: LogNormal::new(model.flush.base_us, model.flush.p99_us),
            medium: Medium::new(model, capacity_bytes),
            cache_kind: model.write_cache.map(|cache| cache.kind),
            writes_end_ns: 0,
            flush_end_ns: 0,
        }
    }

    /// Submits a request at a moment of the caller's clock, nanoseconds, and returns the moment of
    /// its completion on the same clock, never before the former.
    ///
    /// Moments should not go back; a request with an earlier moment than one before it counts as
    /// submitted together with that one.
    pub fn submit(&mut self, now_ns: u64, request: DeviceRequest) -> u64 {
        let origin_ns = *self.origin_ns.get_or_insert(now_ns);
        self.now_ns = self.now_ns.max(now_ns.saturating_sub(origin_ns));
        let completion_ns = match request {
            DeviceRequest::Read { position, bytes } => self.read(position, bytes),
            DeviceRequest::Write { position, bytes } => self.write(position, bytes),
            DeviceRequest::Flush => self.flush(),
        };
        origin_ns.saturating_add(completion_ns)
    }

    fn read(&mut self, position: u64, bytes: u64) -> u64 {
        let ready_ns = self.granted_ns(Access::Read, position, bytes);
        let start_ns = self.take_server(ready_ns);
        let base_ns = self.read.base.draw_ns(&mut self.random);
        let transfer_ns = self.read.transfer_ns(bytes);
        let end_ns = match &mut self.medium {
            Medium::Solid { channel_ns, .. } => {
                transfer(channel_ns, start_ns, transfer_ns).saturating_add(base_ns)
            }
            Medium::Disk { platter, cache } => {
                let start_ns = start_ns.saturating_add(base_ns);
                if let Some(cache) = cache {
                    cache.write_back_until(platter, start_ns);
                }
                platter.access(Access::Read, start_ns, [position, bytes], transfer_ns)
            }
        };
        self.release_server(end_ns)
    }

    fn write(&mut self, position: u64, bytes: u64) -> u64 {
        let ready_ns = self.granted_ns(Access::Write, position, bytes);
        let start_ns = self.take_server(ready_ns);
        let base_ns = self.write.base.draw_ns(&mut self.random);
        let transfer_ns = self.write.transfer_ns(bytes);
        let end_ns = match &mut self.medium {
            Medium::Solid { channel_ns, buffer } => {
                let room_ns = match buffer {
                    Some(buffer) => buffer.add(start_ns, bytes),
                    None => start_ns,
                };
                let transferred_ns = transfer(channel_ns, start_ns, transfer_ns);
                transferred_ns.max(room_ns).saturating_add(base_ns)
            }
            Medium::Disk {
                platter,
                cache: Some(cache),
            } => {
                let room_ns = cache.make_room(platter, start_ns, bytes);
                let transferred_ns = start_ns.saturating_add(transfer_ns);
                let end_ns = transferred_ns.max(room_ns).saturating_add(base_ns);
                cache.add(position, bytes, end_ns);
                end_ns
            }
            Medium::Disk {
                platter,
                cache: None,
            } => {
                let start_ns = start_ns.saturating_add(base_ns);
                platter.access(Access::Write, start_ns, [position, bytes], transfer_ns)
            }
        };
        self.writes_end_ns = self.writes_end_ns.max(end_ns);
        self.release_server(end_ns)
    }

    /// A flush waits for all writes before it. Those of a volatile cache follow each other.
    fn flush(&mut self) -> u64 {
        let is_volatile = self.cache_kind == Some(CacheKind::Volatile);
        let mut ready_ns = self.now_ns.max(self.writes_end_ns);
        if is_volatile {
            ready_ns = ready_ns.max(self.flush_end_ns);
        }
        let start_ns = self.take_server(ready_ns);
        let base_ns = self.flush.draw_ns(&mut self.random);
        let written_ns = match &mut self.medium {
            Medium::Solid {
                buffer: Some(buffer),
                ..
            } if is_volatile => buffer.empty_ns(start_ns),
            Medium::Disk {
                platter,
                cache: Some(cache),
            } if is_volatile => cache.write_back_all(platter, start_ns),
            Medium::Solid { .. } | Medium::Disk { .. } => start_ns,
        };
        self.flush_end_ns = written_ns.saturating_add(base_ns);
        self.release_server(self.flush_end_ns)
    }

    /// Returns when the limits let a request pass.
    fn granted_ns(&mut self, access: Access, position: u64, bytes: u64) -> u64 {
        let now_ns = self.now_ns;
        let limiter = self.limiter.as_mut();
        limiter.map_or(now_ns, |limiter| {
            limiter.grant_ns(access, now_ns, [position, bytes])
        })
    }

    /// Takes the server that is free first, and returns when it can start.
    fn take_server(&mut self, ready_ns: u64) -> u64 {
        let free_ns = self.servers.pop().map_or(0, |Reverse(free_ns)| free_ns);
        free_ns.max(ready_ns)
    }

    /// Gives the server back that was taken, at the completion of its request.
    fn release_server(&mut self, end_ns: u64) -> u64 {
        self.servers.push(Reverse(end_ns));
        end_ns
    }
}

impl RequestTime {
    fn new(time: &ServiceTime) -> Self {
        Self {
            base: LogNormal::new(time.base_us, time.p99_us),
            ns_per_byte: ns_per_byte(time.bandwidth_mib_per_s),
        }
    }

    fn transfer_ns(self, bytes: u64) -> u64 {
        whole_ns(bytes as f64 * self.ns_per_byte)
    }
}

impl Medium {
    fn new(model: &StorageModel, capacity_bytes: u64) -> Self {
        match &model.disk {
            None => Self::Solid {
                channel_ns: 0,
                buffer: model.write_cache.as_ref().map(WriteBuffer::new),
            },
            Some(disk) => Self::Disk {
                platter: Platter::new(disk, &model.read, capacity_bytes),
                cache: model.write_cache.as_ref().map(DiskCache::new),
            },
        }
    }
}

/// Passes bytes through the channel that is free at `channel_ns`, and returns when they are
/// through. Requests start in the order in which they were submitted, so that no gap is left in the
/// channel that a later one could have used.
fn transfer(channel_ns: &mut u64, start_ns: u64, transfer_ns: u64) -> u64 {
    *channel_ns = start_ns.max(*channel_ns).saturating_add(transfer_ns);
    *channel_ns
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod built_in_tests;
