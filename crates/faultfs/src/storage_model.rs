//! Models of storage devices: how long reads, writes and flushes take, and what limits their rate.
//!
//! A model is a TOML file. The built-in ones are in `devices/*.toml` and are embedded in the
//! program; each figure there has its source, or says that it is an estimate. A model says nothing
//! of contents: [`crate::modelled_device::ModelledDevice`] turns it into times.
//!
//! Simplifications: a log-normal distribution has no least value, so a few requests are faster than
//! any of the real device; a disk has the same data rate on all tracks and serves requests in their
//! order of arrival (only its write cache is written back in order of position).

mod file;
mod validation;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use trueput_record::regular_file;
use trueput_record::suggest::UnknownName;
use trueput_record::text::decode_utf8;

/// The name of a model and the text of its file in `devices/`.
macro_rules! embedded {
    ($name:literal) => {
        ($name, include_str!(concat!("../devices/", $name, ".toml")))
    };
}

/// Every built-in model, in listing order.
const FILES: [(&str, &str); 9] = [
    embedded!("hdd-7200"),
    embedded!("hdd-7200-no-cache"),
    embedded!("sata-ssd"),
    embedded!("nvme-consumer"),
    embedded!("nvme-datacenter"),
    embedded!("ebs-gp2"),
    embedded!("ebs-gp3"),
    embedded!("ebs-io2"),
    embedded!("sd-card"),
];

/// A longer file is no model, bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The size of the small read and write of [`MinimumServiceTimes`], bytes.
const SMALL_REQUEST_BYTES: f64 = 4096.0;

pub(crate) const NS_PER_US: f64 = 1e3;
pub(crate) const NS_PER_S: f64 = 1e9;
pub(crate) const BYTES_PER_MIB: f64 = 1_048_576.0;

/// An error in finding or reading a model.
#[derive(Debug, thiserror::Error)]
pub enum StorageModelError {
    /// No built-in model has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The file cannot be read, or is no model: the message names file, line, key and remedy.
    #[error(transparent)]
    File(#[from] trueput_record::Error),
}

/// A model of a storage device.
///
/// Every key of the file is a field here. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageModel {
    /// The name in conditions, rankings and reports: 1 to 60 letters, digits, `-`, `_` or `.`.
    pub name: String,
    /// The device, in a sentence.
    pub about: String,
    /// The number of requests that the device serves at once; 1 for a disk, which has one arm.
    pub parallelism: u32,
    /// The sources of the figures.
    pub sources: Vec<ModelSource>,
    /// The time of a read.
    pub read: ServiceTime,
    /// The time of a write: until the write cache has taken it, or the medium if there is no cache.
    pub write: ServiceTime,
    /// The time of a flush when nothing is left to write.
    pub flush: FlushTime,
    /// The mechanics of a disk; `None`: no moving parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskGeometry>,
    /// The write cache; `None`: a write is on the medium when it is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// Limits that the seller of the storage enforces; `None`: only the device itself is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RateLimits>,
}

/// The source of figures of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSource {
    /// The document, and what it says.
    pub text: String,
    /// Its address, or a note that it has none.
    pub address: String,
}

/// The time that a device takes for a request: a log-normally distributed part that requests can
/// spend at once, and the transfer of the bytes, one request after the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceTime {
    /// The median without the transfer, microseconds. For a disk: without seek and rotation.
    pub base_us: f64,
    /// The 99th percentile of the same, microseconds; `base_us` for no spread.
    pub p99_us: f64,
    /// The bandwidth of the device, which all its requests share, MiB/s.
    pub bandwidth_mib_per_s: f64,
}

/// The time of a flush without what is left to write, log-normally distributed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushTime {
    /// The median, microseconds.
    pub base_us: f64,
    /// The 99th percentile, microseconds; `base_us` for no spread.
    pub p99_us: f64,
}

/// The mechanics of a disk. Its tracks hold what passes the head in a turn at the bandwidth of
/// reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskGeometry {
    /// Turns a minute.
    pub rpm: f64,
    /// The seek to a neighboring track, milliseconds.
    pub seek_min_ms: f64,
    /// The mean seek between random positions, milliseconds.
    pub seek_mean_ms: f64,
    /// The seek over all tracks, milliseconds.
    pub seek_max_ms: f64,
    /// The bytes of the whole disk, GiB: a database on a part of it has shorter seeks.
    pub capacity_gib: f64,
}

/// The write cache of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteCache {
    /// Whether its contents survive lost power.
    pub kind: CacheKind,
    /// The most that it holds, MiB. A write that finds no room waits.
    pub capacity_mib: f64,
    /// The rate at which the medium takes what the cache holds, MiB/s; for a disk without seeks and
    /// rotation.
    pub drain_mib_per_s: f64,
}

/// Whether the contents of a write cache survive lost power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// They do not: a flush writes them to the medium.
    Volatile,
    /// They do, by a battery or capacitors: a flush has nothing to write.
    Protected,
}

/// Limits on the rate of reads and writes. Flushes are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// Sustained I/O operations a second; with `iops_per_gib`, of the smallest volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Sustained I/O operations a second for each GiB of the volume, where that is more than
    /// `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_per_gib: Option<f64>,
    /// The most that `iops_per_gib` comes to, I/O operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_max: Option<f64>,
    /// I/O operations a second while there are credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_iops: Option<f64>,
    /// The credits of a new volume, and the most that it collects, I/O operations. Each operation
    /// costs one; they come back at the sustained rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_credits: Option<f64>,
    /// The largest I/O that counts as one operation, KiB: larger ones count for each part, and
    /// waiting ones that continue each other count as one up to this size. `None`: a request is an
    /// operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_kib: Option<f64>,
    /// Bytes of reads and writes together, MiB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_mib_per_s: Option<f64>,
}

/// The median service times of an idle device in the best case: no queue, no seek, no wait for a
/// turn, nothing left to write. What takes longer than this to pass a request on cannot stand for
/// the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumServiceTimes {
    /// A read of 4 KiB, nanoseconds.
    pub read_ns: u64,
    /// A write of 4 KiB, nanoseconds.
    pub write_ns: u64,
    /// A flush, nanoseconds.
    pub flush_ns: u64,
}

impl StorageModel {
    /// Returns the names of the built-in models, in listing order.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// Returns a built-in model.
    ///
    /// # Errors
    /// [`StorageModelError::Unknown`]: there is none of that name; `none` is no model.
    /// [`StorageModelError::File`]: its file is damaged.
    pub fn built_in(name: &str) -> Result<Self, StorageModelError> {
        let Some((_, text)) = FILES.iter().find(|(known, _)| *known == name) else {
            return Err(StorageModelError::Unknown(UnknownName {
                kind: "storage model",
                given: name.to_owned(),
                lead: "a file is named by its path, as ./my.toml; the built-in models are",
                known: Self::built_in_names().collect(),
            }));
        };
        Self::parse(Path::new(&format!("devices/{name}.toml")), text)
    }

    /// Returns the text of a built-in model's file, with its sources; `None` if there is none of
    /// that name.
    #[must_use]
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        let file = FILES.iter().find(|(known, _)| *known == name);
        file.map(|(_, text)| *text)
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    /// [`StorageModelError::File`]: it cannot be read, is no regular file, is longer than 1 MiB, or
    /// is no model.
    pub fn read(path: &Path) -> Result<Self, StorageModelError> {
        Self::parse(path, &Self::read_text(path)?)
    }

    /// Reads the text of a model's file, without checking it.
    ///
    /// # Errors
    /// [`StorageModelError::File`]: it cannot be read, is no regular file, is longer than 1 MiB, or
    /// is not in UTF-8.
    pub fn read_text(path: &Path) -> Result<String, StorageModelError> {
        let io = |source| trueput_record::Error::io(path, source);
        // The user may name a model by a link.
        let real = path.canonicalize().map_err(io)?;
        let folder = real.parent().unwrap_or(&real);
        let name = Path::new(real.file_name().unwrap_or_default());
        let bytes = regular_file::read(folder, name, MAX_FILE_BYTES)?;
        let text = decode_utf8(&bytes).map_err(|error| {
            trueput_record::Error::invalid(path, format!("it is no UTF-8 text: {error}"))
        })?;
        Ok(text.to_owned())
    }

    /// Reads a model from its text; messages show `path`.
    ///
    /// # Errors
    /// [`StorageModelError::File`]: it is no model.
    pub fn parse(path: &Path, text: &str) -> Result<Self, StorageModelError> {
        Ok(file::parse(path, text)?)
    }

    /// Returns the median service times of the idle device in the best case.
    #[must_use]
    pub fn minimum_service_times(&self) -> MinimumServiceTimes {
        let small = |time: &ServiceTime| {
            let transfer_ns = SMALL_REQUEST_BYTES * ns_per_byte(time.bandwidth_mib_per_s);
            whole_ns(time.base_us * NS_PER_US + transfer_ns)
        };
        MinimumServiceTimes {
            read_ns: small(&self.read),
            write_ns: small(&self.write),
            flush_ns: whole_ns(self.flush.base_us * NS_PER_US),
        }
    }
}

impl DiskGeometry {
    /// Returns the lowest and the highest mean seek, milliseconds, for which no part of the curve
    /// of seek times by distance (a constant, a square root and a line) falls.
    fn seek_mean_range_ms(&self) -> [f64; 2] {
        let (min, max) = (self.seek_min_ms, self.seek_max_ms);
        [(2.0 * min + max) / 3.0, (7.0 * min + 8.0 * max) / 15.0]
    }
}

/// Returns the time of a byte at a bandwidth in MiB/s, nanoseconds.
pub(crate) fn ns_per_byte(mib_per_s: f64) -> f64 {
    NS_PER_S / (mib_per_s * BYTES_PER_MIB)
}

/// Rounds a time to whole nanoseconds; times beyond 584 years become the longest one.
pub(crate) fn whole_ns(ns: f64) -> u64 {
    // The conversion saturates.
    ns.round() as u64
}

#[cfg(test)]
mod tests;
