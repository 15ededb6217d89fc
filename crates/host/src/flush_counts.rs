//! The storage below a trial's folders, whose writes and flushes can be counted.
//!
//! A count is trusted only if the file system is known to write to no other devices, and if
//! requests of a probe have been counted.

use super::disk::Disk;
use super::file_system::find_file_system;
use super::storage_stack::{Ext4State, may_have_external_journal};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use trueput_record::flush_evidence::FlushBasis;
use trueput_record::host::FileSystemFacts;

/// File systems that are only on the device that `stat` names.
const ON_ONE_DEVICE: [&str; 10] = [
    "ext2", "ext3", "ext4", "xfs", "jfs", "reiserfs", "nilfs2", "vfat", "exfat", "ntfs3",
];

/// File systems whose `fdatasync` ends in a flush of the device.
const FLUSHING: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "btrfs"];

/// Mount options under which a file's data may go elsewhere, or to memory without a request.
const ELSEWHERE: [&str; 5] = [
    "rtdev=",
    "data=journal",
    "dax",
    "journal_path=",
    "journal_dev=",
];

/// The number of writes and flushes of the probe. The last of them may not be counted yet when the
/// probe has ended.
const PROBES: u64 = 5;

/// Written and removed in a trial's folder before its database is made.
const PROBE: &str = ".flush-probe";

/// Counters of writes and flushes of the devices below a trial's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlushCounts {
    disks: Vec<Disk>,
    basis: FlushBasis,
    /// Whether no flush of the probe reached a device with a volatile write cache.
    is_unflushed: bool,
}

/// Requests that devices have completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletedRequests {
    /// Writes.
    pub writes: u64,
    /// Flushes; `None` if they are not counted.
    pub flushes: Option<u64>,
    /// The number of intervals in these sums; 0 for the values of counters.
    pub intervals: u64,
}

impl CompletedRequests {
    /// Returns the requests completed since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let flushes = self.flushes.zip(before.flushes);
        Self {
            writes: self.writes.saturating_sub(before.writes),
            flushes: flushes.map(|(now, then)| now.saturating_sub(then)),
            intervals: 1,
        }
    }

    /// Adds two counts.
    pub fn plus(&self, other: &Self) -> Self {
        let flushes = self.flushes.zip(other.flushes);
        Self {
            writes: self.writes.saturating_add(other.writes),
            flushes: flushes.map(|(one, other)| one.saturating_add(other)),
            intervals: self.intervals.saturating_add(other.intervals),
        }
    }
}

/// Why the flushes below a folder are not counted: the end of "flushes are not counted: …".
#[derive(Debug, thiserror::Error)]
pub enum UncountedFlushes {
    /// The disk of that name is memory.
    #[error("{0} is memory that needs no request")]
    MemoryDisk(String),
    /// The file system of that kind is memory.
    #[error("{0} is memory")]
    Memory(String),
    /// Nothing can be written to the folder.
    #[error("a trial write: {0}")]
    TrialWrite(std::io::Error),
    /// The devices do not count writes.
    #[error("{devices} below {kind} does not count what is written")]
    UncountedWrites {
        /// Their names.
        devices: String,
        /// The kind of the file system.
        kind: String,
    },
    /// The file system may write to other devices than its own.
    #[error("{kind} may write elsewhere, with the options {options}")]
    Elsewhere {
        /// The kind of the file system.
        kind: String,
        /// Its mount options.
        options: String,
    },
    /// The devices of a file system of that kind are not known.
    #[error("which devices {0} writes to is not known")]
    UnknownDevices(String),
}

impl FlushCounts {
    /// Finds the devices below these folders: the database's, and the log's if it is apart.
    /// Writes to each folder for a moment.
    ///
    /// # Errors
    /// Why it cannot, as the end of "flushes are not counted: …".
    pub fn below(folders: &[&Path]) -> Result<Self, UncountedFlushes> {
        let mut all = Self {
            disks: Vec::new(),
            basis: FlushBasis::WritesAndFlushes,
            is_unflushed: false,
        };
        for folder in folders {
            let one = Self::below_one(folder)?;
            all.is_unflushed |= one.is_unflushed;
            if one.basis == FlushBasis::Writes {
                all.basis = FlushBasis::Writes;
            }
            let new = one
                .disks
                .into_iter()
                .filter(|disk| !all.disks.contains(disk));
            let new: Vec<Disk> = new.collect();
            all.disks.extend(new);
        }
        Ok(all)
    }

    fn below_one(folder: &Path) -> Result<Self, UncountedFlushes> {
        let facts = find_file_system(folder);
        let disks = disks_of(&facts, folder)?;
        if let Some(disk) = disks.iter().find(|disk| disk.is_memory()) {
            return Err(UncountedFlushes::MemoryDisk(disk.name()));
        }
        let mut one = Self {
            disks,
            basis: FlushBasis::Writes,
            is_unflushed: false,
        };
        let probed = probe(folder, &one).map_err(UncountedFlushes::TrialWrite)?;
        let shows = |count: u64| count + 1 >= PROBES;
        if !shows(probed.writes) {
            return Err(UncountedFlushes::UncountedWrites {
                devices: one.names().join(" and "),
                kind: facts.kind,
            });
        }
        let is_flushing = FLUSHING.contains(&facts.kind.as_str());
        let is_cached = |disk: &Disk| disk.counts_flushes() && disk.is_cached();
        if is_flushing && probed.flushes == Some(0) && one.disks.iter().any(is_cached) {
            one.is_unflushed = true;
        }
        let flushes = is_flushing
            && !has_option(&facts, &["nobarrier", "barrier=0"])
            && !may_have_external_journal(
                &facts.kind,
                &device_name(&facts, folder),
                &Ext4State::of_this_kernel(),
            )
            && probed.flushes.is_some_and(shows);
        if flushes && one.disks.iter().all(Disk::needs_flushes) {
            one.basis = FlushBasis::WritesAndFlushes;
        }
        Ok(one)
    }

    /// Returns the names of the devices, as in `/sys/block`.
    pub fn names(&self) -> Vec<String> {
        self.disks.iter().map(Disk::name).collect()
    }

    /// Returns whether flushes of its own never reached a device with a volatile write cache, as
    /// where barriers are off.
    pub fn is_unflushed(&self) -> bool {
        self.is_unflushed
    }

    /// Returns the names of those devices that have a volatile write cache and count flushes.
    pub fn cached_devices(&self) -> Vec<String> {
        let disks = self.disks.iter();
        let cached = disks.filter(|disk| disk.is_cached() && disk.counts_flushes());
        cached.map(Disk::name).collect()
    }

    /// Returns the requests that a commit needs of these devices.
    pub fn basis(&self) -> FlushBasis {
        self.basis
    }

    /// Returns the requests completed since the machine started; `None` if a counter cannot be
    /// read.
    pub fn completed(&self) -> Option<CompletedRequests> {
        let none = CompletedRequests {
            writes: 0,
            flushes: Some(0),
            intervals: 0,
        };
        self.disks.iter().try_fold(none, |sum, disk| {
            let device = disk.counters()?;
            Some(sum.plus(&CompletedRequests {
                writes: device.writes,
                flushes: device.flushes,
                intervals: 0,
            }))
        })
    }
}

/// Returns the disks to which a file system writes.
fn disks_of(facts: &FileSystemFacts, folder: &Path) -> Result<Vec<Disk>, UncountedFlushes> {
    let kind = facts.kind.as_str();
    if kind == "tmpfs" || kind == "ramfs" {
        return Err(UncountedFlushes::Memory(facts.kind.clone()));
    }
    if has_option(facts, &ELSEWHERE) {
        return Err(UncountedFlushes::Elsewhere {
            kind: facts.kind.clone(),
            options: facts.options.clone(),
        });
    }
    let unknown = || UncountedFlushes::UnknownDevices(facts.kind.clone());
    if kind == "btrfs" {
        let disks = Disk::of_btrfs(Path::new(&facts.source));
        return disks.filter(|disks| !disks.is_empty()).ok_or_else(unknown);
    }
    if ON_ONE_DEVICE.contains(&kind) {
        Ok(vec![Disk::below(folder).ok_or_else(unknown)?])
    } else {
        Err(unknown())
    }
}

/// Returns the name of the device of a file system's folder, as the kernel has it; the mount table
/// may name it otherwise (`/dev/root`).
fn device_name(facts: &FileSystemFacts, folder: &Path) -> String {
    let number = std::fs::metadata(folder).map(|found| found.dev());
    let of_kernel = number.ok().and_then(|number| {
        let (major, minor) = (nix::libc::major(number), nix::libc::minor(number));
        let entry = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
        entry.canonicalize().ok()
    });
    let source = Path::new(&facts.source);
    let device = of_kernel.unwrap_or_else(|| source.to_owned());
    let name = device.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns whether a file system is mounted with an option that has one of these prefixes.
fn has_option(facts: &FileSystemFacts, beginnings: &[&str]) -> bool {
    let mut options = facts.options.split(',');
    options.any(|option| beginnings.iter().any(|begin| option.starts_with(begin)))
}

/// Counts requests while an existing part of a file is written and flushed a few times: the minimum
/// of a durable commit.
fn probe(folder: &Path, counts: &FlushCounts) -> std::io::Result<CompletedRequests> {
    let path = folder.join(PROBE);
    let probed = probe_in(&path, counts);
    let removed = std::fs::remove_file(&path);
    let probed = probed?;
    removed.map(|()| probed)
}

fn probe_in(path: &Path, counts: &FlushCounts) -> std::io::Result<CompletedRequests> {
    let unreadable = || std::io::Error::other("cannot read the device's counters");
    let mut options = OpenOptions::new();
    let mut file: File = options.write(true).create(true).truncate(true).open(path)?;
    file.write_all(&[0; 8 << 10])?;
    file.sync_all()?;
    let before = counts.completed().ok_or_else(unreadable)?;
    for number in 0..PROBES {
        file.write_all_at(&[number as u8 + 1; 4 << 10], 0)?;
        file.sync_data()?;
    }
    Ok(counts.completed().ok_or_else(unreadable)?.since(&before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: &str, options: &str) -> FileSystemFacts {
        FileSystemFacts {
            kind: kind.to_owned(),
            source: "/dev/nothing".to_owned(),
            options: options.to_owned(),
            ..FileSystemFacts::default()
        }
    }

    #[test]
    fn memory_networks_and_what_may_write_elsewhere_are_not_counted() {
        let cases = [
            ("tmpfs", "rw", "is memory"),
            ("nfs4", "rw", "is not known"),
            ("overlay", "rw,lowerdir=/a", "is not known"),
            ("fuse.sshfs", "rw", "is not known"),
            ("f2fs", "rw", "is not known"),
            ("btrfs", "rw", "is not known"),
            ("xfs", "rw,rtdev=/dev/sdb", "elsewhere"),
            ("ext4", "rw,dax=always", "elsewhere"),
            ("ext4", "rw,data=journal", "elsewhere"),
        ];
        for (kind, options, reason) in cases {
            let found = disks_of(&facts(kind, options), Path::new("/proc"));
            let found = found.unwrap_err().to_string();
            assert!(found.contains(reason), "{kind}: {found}");
        }
    }

    #[test]
    fn what_is_flushed_here_is_counted_or_it_is_said_why_not() {
        let folder = tempfile::tempdir().unwrap();
        match FlushCounts::below(&[folder.path(), folder.path()]) {
            Ok(counts) => {
                assert!(!counts.names().is_empty() && counts.completed().is_some());
                let mut once = counts.names();
                once.dedup();
                assert_eq!(counts.names(), once, "one disk is counted once");
            }
            Err(reason) => eprintln!("not counted here: {reason}"),
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_in_memory_has_nothing_to_count() {
        let memory = Path::new("/dev/shm");
        if find_file_system(memory).kind != "tmpfs" {
            eprintln!("skipped: /dev/shm is no tmpfs here");
            return;
        }
        assert!(
            FlushCounts::below(&[memory])
                .unwrap_err()
                .to_string()
                .contains("memory")
        );
    }
}
