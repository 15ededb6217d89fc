//! Block devices of a stack.

use super::{Resolver, file_name};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use trueput_record::storage::PowerLoss;

/// The beginnings of the names of devices that are memory.
const MEMORY: [&str; 4] = ["zram", "ram", "nullb", "brd"];

/// The beginnings of the names of devices that stand on those in their folder `slaves`.
const MAPPED: [&str; 3] = ["dm-", "md", "bcache"];

/// The beginnings of the names of devices that are trusted to keep what they acknowledge.
const REAL: [&str; 11] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dasd", "sr", "pmem", "ubiblock", "cciss",
];

impl Resolver {
    /// Follows the device with this folder below `/sys`, and returns whether it, or one below it,
    /// has a volatile write cache. A partition shares its disk's cache.
    pub(super) fn follow_device(&mut self, folder: &Path) -> bool {
        let is_partition = folder.join("partition").exists();
        let disk = folder.parent().filter(|_| is_partition).unwrap_or(folder);
        let name = file_name(disk);
        let cache = attribute(disk, "queue/write_cache").unwrap_or_default();
        let shown = match cache.as_str() {
            "" => "write cache unknown",
            "write through" => "no volatile write cache",
            _ => "volatile write cache",
        };
        let is_cached = cache == "write back";
        if !self.enter(format!("device {name}"), format!("device {name}, {shown}")) {
            return is_cached;
        }
        let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
        let is_cached_below = if name.starts_with("loop") {
            self.follow_loop(disk, &name);
            // The page cache, or the file system that holds the image, has to be flushed.
            true
        } else if begins(&MEMORY) {
            self.lose(format!("device {name} is memory"));
            false
        } else if begins(&MAPPED) {
            self.follow_parts(disk, &name)
        } else if begins(&REAL) {
            self.judge_real(disk, &name)
        } else {
            self.stop(format!(
                "device {name}, of a kind whose flushes are not known"
            ));
            false
        };
        if cache == "write through" && is_cached_below {
            self.lose(format!(
                "device {name} passes no flush on (its write_cache is 'write through'), although a \
                 volatile cache is below it"
            ));
        }
        is_cached || is_cached_below
    }

    /// Follows the devices that a mapped device stands on; returns whether one has a volatile
    /// cache.
    fn follow_parts(&mut self, disk: &Path, name: &str) -> bool {
        let entries = std::fs::read_dir(disk.join("slaves"));
        let parts = entries.into_iter().flatten().flatten();
        let mut parts: Vec<PathBuf> = parts
            .filter_map(|entry| entry.path().canonicalize().ok())
            .collect();
        parts.sort();
        if parts.is_empty() {
            self.stop(format!("device {name} names no device below it"));
        }
        let mut is_cached = false;
        for part in parts {
            is_cached |= self.follow_device(&part);
        }
        is_cached
    }

    /// Judges a disk; returns whether it states a volatile cache itself.
    fn judge_real(&mut self, disk: &Path, name: &str) -> bool {
        let of = |attribute_name| attribute(disk, attribute_name).unwrap_or_default();
        let stands_in = of("device/model") == "scsi_debug";
        let path = disk.to_string_lossy();
        let is_emulated = name.starts_with("pmem") && path.contains("e820");
        if stands_in || is_emulated {
            self.lose(format!("device {name} is memory"));
            return false;
        }
        let cache_types = std::fs::read_dir(disk.join("device/scsi_disk"));
        let cache_types = cache_types.into_iter().flatten().flatten();
        let of_scsi = cache_types.filter_map(|entry| attribute(&entry.path(), "cache_type"));
        let mut stated = of_scsi.chain(attribute(disk, "cache_type"));
        stated.any(|stated| stated.starts_with("write back"))
    }

    /// Follows the image of a loop device.
    fn follow_loop(&mut self, disk: &Path, name: &str) {
        let Some(image) = attribute(disk, "loop/backing_file") else {
            self.stop(format!("device {name} names no image"));
            return;
        };
        let before = std::mem::take(&mut self.power_loss);
        self.follow_image(name, &image);
        let below = std::mem::replace(&mut self.power_loss, before);
        self.add(match below {
            PowerLoss::Lost { reason, in_memory } => PowerLoss::Lost {
                reason: format!("{reason}, and the image of its loop device is there"),
                in_memory,
            },
            PowerLoss::Unresolved { reason } => PowerLoss::Unresolved {
                reason: format!("{reason} (below a loop device)"),
            },
            PowerLoss::Simulated => PowerLoss::Simulated,
            // The image's blocks are allocated, or flushed with their sizes: the loop device
            // flushes the file.
            PowerLoss::StaleUnflushed { .. } | PowerLoss::Survives => PowerLoss::Survives,
        });
    }
}

/// Reads a file of a device's folder.
fn attribute(folder: &Path, name: &str) -> Option<String> {
    let text = read_to_string(folder.join(name)).ok()?;
    Some(text.trim().to_owned())
}
