//! The block device below a folder, and its counters.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_record::accounting::Device;

/// The kernel counts device sectors in units of 512 bytes, whatever the device's own are
/// (Documentation/block/stat.rst).
const SECTOR_BYTES: u64 = 512;

/// The counters of one block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    stat: PathBuf,
}

impl Disk {
    /// Returns the disk below the file system of `directory`; `None` for overlay, tmpfs, network,
    /// and btrfs, which may span several.
    pub fn below(directory: &Path) -> Option<Self> {
        let device = std::fs::metadata(directory).ok()?.dev();
        let (major, minor) = (nix::libc::major(device), nix::libc::minor(device));
        let entry = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
        Self::at(&entry.canonicalize().ok()?)
    }

    /// Returns the disk of a device's folder under `/sys`. The flushes of a partition are counted
    /// only on its disk.
    fn at(device: &Path) -> Option<Self> {
        let disk = if device.join("partition").exists() {
            device.parent()?
        } else {
            device
        };
        let stat = disk.join("stat");
        stat.exists().then_some(Self { stat })
    }

    /// Returns the disks of a mounted btrfs, one of which is `source`; `None` if the kernel does
    /// not report them.
    pub fn of_btrfs(source: &Path) -> Option<Vec<Self>> {
        let source = source.canonicalize().ok()?;
        let file_systems = std::fs::read_dir("/sys/fs/btrfs").ok()?;
        let folders = file_systems
            .flatten()
            .map(|entry| entry.path().join("devices"));
        let mut with_source = folders.filter(|folder| {
            let name = source.file_name();
            name.is_some_and(|name| folder.join(name).exists())
        });
        let devices = std::fs::read_dir(with_source.next()?).ok()?;
        let mut disks = Vec::new();
        for device in devices {
            let disk = Self::at(&device.ok()?.path().canonicalize().ok()?)?;
            if !disks.contains(&disk) {
                disks.push(disk);
            }
        }
        Some(disks)
    }

    fn folder(&self) -> &Path {
        self.stat.parent().unwrap_or(Path::new("/"))
    }

    /// Its name in `/sys/block`.
    pub fn name(&self) -> String {
        let name = self.folder().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns the name that its maker gave it; `None` if it says none, as a virtual disk.
    pub fn model(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.folder().join("device/model")).ok()?;
        Some(text.trim().to_owned()).filter(|model| !model.is_empty())
    }

    fn queue(&self, attribute: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder().join("queue").join(attribute));
        text.ok().map(|text| text.trim().to_owned())
    }

    /// Returns whether writes may be lost until they are flushed: the device has a volatile cache
    /// and no way to write through it (FUA).
    pub fn needs_flushes(&self) -> bool {
        self.is_cached() && self.queue("fua").as_deref() == Some("0")
    }

    /// Returns whether the device has a volatile write cache.
    pub fn is_cached(&self) -> bool {
        self.queue("write_cache").as_deref() == Some("write back")
    }

    /// Returns whether the kernel counts the flushes that this device gets. Those of mapped devices
    /// may be counted only on the devices below them.
    pub fn counts_flushes(&self) -> bool {
        let name = self.name();
        let mapped = ["dm-", "md", "bcache"];
        !mapped.iter().any(|begin| name.starts_with(begin))
    }

    /// Returns whether it is memory to which a process can write without a request (DAX).
    pub fn is_memory(&self) -> bool {
        self.queue("dax").as_deref() == Some("1")
    }

    /// Returns its counters since the machine started; `None` if unreadable.
    pub fn counters(&self) -> Option<Device> {
        parse_stat(&std::fs::read_to_string(&self.stat).ok()?)
    }
}

/// Parses `/sys/block/NAME/stat` (Documentation/block/stat.rst). Of its 17 fields the flushes and
/// their milliseconds are the last two, since Linux 5.5.
fn parse_stat(text: &str) -> Option<Device> {
    let numbers = text.split_whitespace().map(str::parse);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
    let field = |number: usize| numbers.get(number - 1).copied();
    Some(Device {
        reads: field(1)?,
        read_bytes: field(3)?.saturating_mul(SECTOR_BYTES),
        writes: field(5)?,
        written_bytes: field(7)?.saturating_mul(SECTOR_BYTES),
        busy_s: field(10)? as f64 / 1e3,
        queue_s: Some(field(11)? as f64 / 1e3),
        flushes: field(16),
        flush_s: field(17).map(|ms| ms as f64 / 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = " 390 14 1780 77 1058 33 4375 75 0 7520 15536 73 18 441 13 21 16\n";

    #[test]
    fn counters_are_read_in_the_kernels_order() {
        let device = parse_stat(STAT).unwrap();
        assert_eq!((device.reads, device.read_bytes), (390, 1780 * 512));
        assert_eq!((device.writes, device.written_bytes), (1058, 4375 * 512));
        assert_eq!((device.flushes, device.busy_s), (Some(21), 7.52));
        assert_eq!(
            (device.queue_s, device.flush_s),
            (Some(15.536), Some(0.016))
        );
    }

    #[test]
    fn an_older_kernel_counts_no_flushes_and_nonsense_is_no_counter() {
        let old = parse_stat("390 14 1780 77 1058 33 4375 75 0 7520 15536").unwrap();
        assert_eq!((old.reads, old.flushes, old.flush_s), (390, None, None));
        assert_eq!(parse_stat("no counters"), None);
    }

    #[test]
    fn a_partition_counts_on_its_disk() {
        let folder = tempfile::tempdir().unwrap();
        let partition = folder.path().join("vda/vda1");
        std::fs::create_dir_all(&partition).unwrap();
        std::fs::write(folder.path().join("vda/stat"), STAT).unwrap();
        std::fs::write(partition.join("stat"), "1 1 1 1 1 1 1 1 1 1 1").unwrap();
        std::fs::write(partition.join("partition"), "1\n").unwrap();
        let disk = Disk::at(&partition).unwrap();
        assert_eq!(disk.counters().unwrap().reads, 390);
        assert_eq!(Disk::at(folder.path()).map(|_| ()), None);
    }

    #[test]
    fn what_is_written_and_flushed_here_shows_on_the_device() {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = Disk::below(folder.path()) else {
            eprintln!("skipped: the temporary folder is on no block device");
            return;
        };
        let before = disk.counters().unwrap();
        let file = folder.path().join("file");
        let mut options = std::fs::OpenOptions::new();
        let options = options.write(true).create(true).mode(0o600);
        let mut file = options.open(file).unwrap();
        for _ in 0..8 {
            file.write_all(&vec![7; 1 << 20]).unwrap();
            file.sync_all().unwrap();
        }
        let done = disk.counters().unwrap().since(&before);
        assert!(done.written_bytes >= 8 << 20, "{done:?}");
        assert!(done.writes >= 8, "{done:?}");
        match done.flushes {
            // The kernel sends no flushes to a disk without a volatile cache.
            Some(0) | None => eprintln!("skipped: this device is sent no flushes"),
            Some(flushes) => assert!(flushes >= 8, "{done:?}"),
        }
    }
}
